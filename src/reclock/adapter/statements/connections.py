"""Secrets and connections: CREATE, ALTER and VALIDATE."""

from __future__ import annotations

from dataclasses import replace

from reclock.adapter.context.results import Result
from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.statement_context import StatementContext, executes
from reclock.adapter.statements.definition import change_catalog, check_permanent
from reclock.adapter.transaction.catalog_change import CatalogChange, defines
from reclock.catalog.objects import ItemType, Kind
from reclock.connectors.validation import validate
from reclock.sql.statements.connections.plan import (
    AlterConnection,
    AlterSecret,
    CreateConnection,
    CreateSecret,
    ValidateConnection,
)


@requires(CreateSecret)
def _(statement: CreateSecret, context: AuthorizationContext) -> Requirements:
    return context.require(*context.creating(statement.name))


@defines(CreateSecret)
def _(statement: CreateSecret, change: CatalogChange) -> None:
    change.store_secret(statement.secret)
    id = change.insert(statement.name, ItemType.SECRET, statement.create_sql)
    change.audit("create", "secret", statement.name, id=id)


@requires(AlterSecret)
def _(statement: AlterSecret, context: AuthorizationContext) -> Requirements:
    return context.require(owner_of=((Kind.ITEM, statement.id),))


@defines(AlterSecret)
def _(statement: AlterSecret, change: CatalogChange) -> None:
    change.store_secret(statement.secret)
    item = change.tx.snapshot.items[statement.id]
    change.replace_secret(item)
    change.tx.update(replace(item, create_sql=statement.create_sql))
    change.audit("alter", "secret", statement.name, id=statement.id)


@requires(CreateConnection)
def _(statement: CreateConnection, context: AuthorizationContext) -> Requirements:
    return context.require(*context.creating(statement.name), *context.using(statement.depends_on))


@executes(CreateConnection)
def _(statement: CreateConnection, context: StatementContext) -> Result:
    check_permanent(statement, context)
    _validate(statement, context)
    return change_catalog(statement, context)


@defines(CreateConnection)
def _(statement: CreateConnection, change: CatalogChange) -> None:
    id = change.insert(statement.name, ItemType.CONNECTION, statement.create_sql)
    change.audit("create", "connection", statement.name, id=id, create_sql=statement.create_sql)


@requires(AlterConnection)
def _(statement: AlterConnection, context: AuthorizationContext) -> Requirements:
    return context.require(
        *context.using(statement.depends_on), owner_of=((Kind.ITEM, statement.id),)
    )


@executes(AlterConnection)
def _(statement: AlterConnection, context: StatementContext) -> Result:
    _validate(statement, context)
    return change_catalog(statement, context)


@defines(AlterConnection)
def _(statement: AlterConnection, change: CatalogChange) -> None:
    change.redefine(statement.id, statement.create_sql)
    change.audit(
        "alter", "connection", statement.name, id=statement.id, create_sql=statement.create_sql
    )


def _validate(statement: CreateConnection | AlterConnection, context: StatementContext) -> None:
    if statement.is_validated:
        validate(
            statement.connection, context.environment.runtime.connection_context.resolve_secret
        )


@requires(ValidateConnection)
def _(statement: ValidateConnection, context: AuthorizationContext) -> Requirements:
    return context.require(*context.using([statement.id]))


@executes(ValidateConnection)
def _(statement: ValidateConnection, context: StatementContext) -> Result:
    validate(statement.connection, context.environment.runtime.connection_context.resolve_secret)
    return Result(statement.tag)
