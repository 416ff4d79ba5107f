"""Statements that change the catalog, each as a change of one transaction."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.catalog.objects import Item, ItemType, SourceProgress
from reclock.catalog.transaction import Transaction
from reclock.environment import Environment
from reclock.errors import InternalError
from reclock.sql import statements
from reclock.sql.names import QualifiedName

OWNER_ROLE_ID = "u1"
USER = "reclock"


class Change:
    """One attempt to carry out a definition: a transaction and the moment, of the data timeline, that new items begin at."""

    def __init__(self, environment: Environment) -> None:
        self.tx: Transaction = environment.catalog.transaction()
        self.begins_at: Timestamp = environment.oracle.read_ts(EPOCH_MS)
        self.now = environment.clock()

    def audit(self, event_type: str, object_type: str, name: QualifiedName, **details: object) -> None:
        self.tx.audit(event_type, object_type, str(name), user=USER, occurred_at=self.now, details=details)

    def schema_id(self, name: QualifiedName) -> int:
        snapshot = self.tx.snapshot
        database = snapshot.database_by_name(name.database) if name.database else None
        schema = snapshot.schema_by_name(database.id if database else None, name.schema)
        if schema is None:
            raise InternalError(f'schema of "{name}" is gone')
        return schema.id

    def insert(
        self, name: QualifiedName, type_: ItemType, create_sql: str | None, progress: SourceProgress | None = None
    ) -> GlobalId:
        id_ = self.tx.allocate_user_id()
        self.tx.insert(Item(id_, self.schema_id(name), name.item, type_, create_sql, OWNER_ROLE_ID, self.begins_at, progress))
        return id_


@singledispatch
def define(statement: object, change: Change) -> None:
    """Enter the definition into the change's transaction. Raises what the transaction raises."""
    raise InternalError(f"{type(statement).__name__} is no definition")


@define.register
def _(statement: statements.CreateSource, change: Change) -> None:
    id_ = change.insert(statement.name, ItemType.SOURCE, statement.create_sql)
    progress = SourceProgress(id_, statement.source.progress_desc)
    change.insert(statement.progress_name, ItemType.SOURCE_PROGRESS, None, progress)
    change.audit("create", "source", statement.name, id=id_, create_sql=statement.create_sql)
    if statement.index is not None:
        define(statement.index, change)


@define.register
def _(statement: statements.CreateTable, change: Change) -> None:
    id_ = change.insert(statement.name, ItemType.TABLE, statement.create_sql)
    change.audit("create", "table", statement.name, id=id_, create_sql=statement.create_sql)


@define.register
def _(statement: statements.CreateView, change: Change) -> None:
    for replaced in statement.replaces:
        _drop(change, replaced)
    id_ = change.insert(statement.name, ItemType.VIEW, statement.create_sql)
    change.audit("create", "view", statement.name, id=id_, create_sql=statement.create_sql)
    if statement.index is not None:
        define(statement.index, change)


@define.register
def _(statement: statements.CreateIndex, change: Change) -> None:
    id_ = change.insert(statement.name, ItemType.INDEX, statement.create_sql)
    change.audit("create", "index", statement.name, id=id_, create_sql=statement.create_sql)


@define.register
def _(statement: statements.Drop, change: Change) -> None:
    for id_ in statement.ids:
        _drop(change, id_)


@define.register
def _(statement: statements.Rename, change: Change) -> None:
    for id_, create_sql in statement.create_sql:
        item = change.tx.snapshot.items[id_]
        name = statement.to.item if id_ == statement.id else item.name
        change.tx.update(replace(item, name=name, create_sql=create_sql))
    change.audit("alter", statement.kind, statement.name, renamed_to=str(statement.to))


def _drop(change: Change, id_: GlobalId) -> None:
    snapshot = change.tx.snapshot
    item = snapshot.items[id_]
    schema = snapshot.schemas[item.schema_id]
    database = snapshot.databases[schema.database_id].name if schema.database_id is not None else None
    change.tx.delete(item)
    change.audit("drop", item.type.value, QualifiedName(database, schema.name, item.name), id=id_)
