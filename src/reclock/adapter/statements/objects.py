"""Statements about objects of any kind: DROP, RENAME, SET SCHEMA, and statements that have nothing to
do."""

from __future__ import annotations

from dataclasses import replace

from reclock.adapter.context.results import Result
from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.statement_context import StatementContext, executes
from reclock.adapter.statements.definition import change_catalog, send_notices
from reclock.adapter.transaction.catalog_change import CatalogChange, defines
from reclock.catalog.objects import Kind
from reclock.sql.names import QualifiedName
from reclock.sql.planning.registry import Skipped
from reclock.sql.statements.objects.plan import Drop, Rename
from reclock.sql.statements.objects.set_schema_plan import SetSchema


@requires(Drop)
def _(statement: Drop, context: AuthorizationContext) -> Requirements:
    return context.require(owner_of=tuple((Kind.ITEM, id) for id in sorted(statement.named)))


@executes(Drop)
def _(statement: Drop, context: StatementContext) -> Result:
    if not any(id.startswith("t") for id in statement.named):
        return change_catalog(statement, context)
    context.transactions.temporary.drop(statement.ids)
    send_notices(statement, context)
    return Result(statement.tag)


@defines(Drop)
def _(statement: Drop, change: CatalogChange) -> None:
    for id in statement.ids:
        change.drop_item(id)
    for id, create_sql in statement.redefined:
        change.redefine(id, create_sql)


@requires(Rename)
def _(statement: Rename, context: AuthorizationContext) -> Requirements:
    return context.require(owner_of=((Kind.ITEM, statement.id),))


@executes(Rename)
def _(statement: Rename, context: StatementContext) -> Result:
    if not statement.id.startswith("t"):
        return change_catalog(statement, context)
    temporary = context.transactions.temporary
    temporary.redefine(dict(statement.create_sql))
    temporary.rename(statement.id, statement.to.item)
    return Result(statement.tag)


@defines(Rename)
def _(statement: Rename, change: CatalogChange) -> None:
    for id, create_sql in statement.create_sql:
        item = change.tx.snapshot.items[id]
        name = statement.to.item if id == statement.id else item.name
        change.tx.update(replace(item, name=name, create_sql=create_sql))
    change.audit("alter", statement.kind, statement.name, renamed_to=str(statement.to))


@requires(SetSchema)
def _(statement: SetSchema, context: AuthorizationContext) -> Requirements:
    to = QualifiedName(*statement.to, statement.name.item)
    return context.require(*context.creating(to), owner_of=((Kind.ITEM, statement.id),))


@defines(SetSchema)
def _(statement: SetSchema, change: CatalogChange) -> None:
    schema_id = change.schema_id(QualifiedName(*statement.to, statement.name.item))
    for id, create_sql in statement.redefined:
        change.redefine(id, create_sql)
    for id in statement.moved:
        change.tx.update(replace(change.tx.snapshot.items[id], schema_id=schema_id))
    change.audit("alter", statement.kind, statement.name, moved_to=statement.to[1])


@requires(Skipped)
def _(statement: Skipped, context: AuthorizationContext) -> Requirements:
    return context.require()


@executes(Skipped)
def _(statement: Skipped, context: StatementContext) -> Result:
    context.notice(statement.notice)
    return Result(statement.tag)
