"""User-defined functions: CREATE FUNCTION."""

from __future__ import annotations

from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.transaction.catalog_change import CatalogChange, defines
from reclock.catalog.objects import ItemType, Kind
from reclock.sql.statements.functions.plan import CreateFunction


@requires(CreateFunction)
def _(statement: CreateFunction, context: AuthorizationContext) -> Requirements:
    return context.require(
        *context.creating(statement.name),
        owner_of=tuple((Kind.ITEM, id) for id in statement.replacement.dropped),
    )


@defines(CreateFunction)
def _(statement: CreateFunction, change: CatalogChange) -> None:
    replaced = change.item(statement.name)
    for replaced_id in statement.replacement.dropped:
        change.drop_item(replaced_id)
    id = change.insert(statement.name, ItemType.FUNCTION, statement.create_sql, replaced=replaced)
    change.audit("create", "function", statement.name, id=id, create_sql=statement.create_sql)
    for dependent_id, create_sql in statement.replacement.recreated:
        change.replace_item(dependent_id, create_sql)
