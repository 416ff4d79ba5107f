"""User-defined types: CREATE and ALTER of a TYPE or a DOMAIN."""

from __future__ import annotations

from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.transaction.catalog_change import CatalogChange, defines
from reclock.catalog.objects import ItemType, Kind
from reclock.sql.statements.types.domains_plan import AlterDomain, CreateDomain
from reclock.sql.statements.types.plan import AlterType, CreateType


@requires(CreateType, CreateDomain)
def _(statement: CreateType | CreateDomain, context: AuthorizationContext) -> Requirements:
    return context.require(*context.creating(statement.name))


@defines(CreateType, CreateDomain)
def _(statement: CreateType | CreateDomain, change: CatalogChange) -> None:
    id = change.insert(statement.name, ItemType.TYPE, statement.create_sql)
    change.audit("create", "type", statement.name, id=id, create_sql=statement.create_sql)


@requires(AlterType, AlterDomain)
def _(statement: AlterType | AlterDomain, context: AuthorizationContext) -> Requirements:
    return context.require(owner_of=((Kind.ITEM, statement.id),))


@defines(AlterType, AlterDomain)
def _(statement: AlterType | AlterDomain, change: CatalogChange) -> None:
    change.redefine(statement.id, statement.create_sql)
    for id, create_sql in statement.built_again:
        change.replace_item(id, create_sql)
    change.audit("alter", "type", statement.name, create_sql=statement.create_sql)
