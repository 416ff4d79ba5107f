"""Secrets and connections, as changes of one transaction; and a look at the other end of a connection."""

from __future__ import annotations

from dataclasses import replace

from reclock.adapter.transaction.ddl import Change, define
from reclock.catalog.objects import ItemType
from reclock.sql.statements.connections.plan import AlterSecret, CreateConnection, CreateSecret


@define.register
def _(statement: CreateSecret, change: Change) -> None:
    change.keep_secret(statement.secret)
    id_ = change.insert(statement.name, ItemType.SECRET, statement.create_sql)
    change.audit("create", "secret", statement.name, id=id_)


@define.register
def _(statement: AlterSecret, change: Change) -> None:
    change.keep_secret(statement.secret)
    item = change.tx.snapshot.items[statement.id]
    change.forget_secret(item)
    change.tx.update(replace(item, create_sql=statement.create_sql))
    change.audit("alter", "secret", statement.name, id=statement.id)


@define.register
def _(statement: CreateConnection, change: Change) -> None:
    id_ = change.insert(statement.name, ItemType.CONNECTION, statement.create_sql)
    change.audit("create", "connection", statement.name, id=id_, create_sql=statement.create_sql)
