"""User-defined types: CREATE TYPE and ALTER TYPE."""

from __future__ import annotations

from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.transaction.catalog_change import CatalogChange, defines
from reclock.catalog.objects import ItemType, Kind
from reclock.sql.statements.types.plan import AlterType, CreateType


@requires(CreateType)
def _(statement: CreateType, context: AuthorizationContext) -> Requirements:
    return context.require(*context.creating(statement.name))


@defines(CreateType)
def _(statement: CreateType, change: CatalogChange) -> None:
    id = change.insert(statement.name, ItemType.TYPE, statement.create_sql)
    change.audit("create", "type", statement.name, id=id, create_sql=statement.create_sql)


@requires(AlterType)
def _(statement: AlterType, context: AuthorizationContext) -> Requirements:
    return context.require(owner_of=((Kind.ITEM, statement.id),))


@defines(AlterType)
def _(statement: AlterType, change: CatalogChange) -> None:
    change.redefine(statement.id, statement.create_sql)
    for id, create_sql in statement.built_again:
        change.replace_item(id, create_sql)
    change.audit("alter", "type", statement.name, create_sql=statement.create_sql)
