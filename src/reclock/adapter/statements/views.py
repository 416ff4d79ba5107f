"""Views and indexes: CREATE."""

from __future__ import annotations

from reclock.adapter.context.results import Result
from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.statement_context import StatementContext, executes
from reclock.adapter.statements.definition import change_catalog, send_notices
from reclock.adapter.transaction.catalog_change import CatalogChange, defines
from reclock.catalog.acl import Privilege
from reclock.catalog.objects import ItemType, Kind
from reclock.catalog.roles import Target
from reclock.sql.statements.views.plan import CreateIndex, CreateView


@requires(CreateView)
def _(statement: CreateView, context: AuthorizationContext) -> Requirements:
    needs = list(context.creating(statement.name))
    if statement.index is not None:
        needs.append(context.need((Kind.CLUSTER, statement.index.cluster_id), Privilege.CREATE))
    return context.require(
        *needs, owner_of=tuple((Kind.ITEM, id) for id in statement.replacement.dropped)
    )


@executes(CreateView)
def _(statement: CreateView, context: StatementContext) -> Result:
    if not statement.name.is_temporary:
        return change_catalog(statement, context)
    temporary = context.transactions.temporary
    temporary.create(
        statement.name,
        ItemType.VIEW,
        statement.create_sql,
        context.users,
        replaces=statement.replacement.dropped,
    )
    send_notices(statement, context)
    return Result(statement.tag)


@defines(CreateView)
def _(statement: CreateView, change: CatalogChange) -> None:
    replaced_view = change.item(statement.name)
    for replaced_id in statement.replacement.dropped:
        change.drop_item(replaced_id)
    id = change.insert(statement.name, ItemType.VIEW, statement.create_sql, replaced=replaced_view)
    change.audit("create", "view", statement.name, id=id, create_sql=statement.create_sql)
    if statement.index is not None:
        change.insert_index(statement.index)
    for dependent_id, create_sql in statement.replacement.recreated:
        change.replace_item(dependent_id, create_sql)


@requires(CreateIndex)
def _(statement: CreateIndex, context: AuthorizationContext) -> Requirements:
    on: tuple[Target, ...] = ((Kind.ITEM, statement.on),) if statement.on is not None else ()
    cluster = context.need((Kind.CLUSTER, statement.cluster_id), Privilege.CREATE)
    return context.require(*context.creating(statement.name), cluster, owner_of=on)


@executes(CreateIndex)
def _(statement: CreateIndex, context: StatementContext) -> Result:
    if not statement.on_name.is_temporary:
        return change_catalog(statement, context)
    context.notice(
        f'index "{statement.name.item}" is not needed: the rows of a temporary table are in memory'
    )
    return Result(statement.tag)


@defines(CreateIndex)
def _(statement: CreateIndex, change: CatalogChange) -> None:
    change.insert_index(statement)
