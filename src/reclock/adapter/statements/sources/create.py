"""CREATE SOURCE, and ALTER SOURCE … SET (RETAIN HISTORY …)."""

from __future__ import annotations

from dataclasses import replace

from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.statement_context import StatementContext
from reclock.adapter.statements.definition import completes
from reclock.adapter.statements.sources.missing_topic import missing_topic
from reclock.adapter.statements.sources.purify import purify
from reclock.adapter.transaction.catalog_change import CatalogChange, defines
from reclock.adapter.transaction.ddl_transaction import DdlStatement
from reclock.catalog.acl import Privilege
from reclock.catalog.objects import ItemType, Kind, SourceProgress
from reclock.errors import InvalidOption
from reclock.sql.statements.sources.alter_plan import SetSourceOption
from reclock.sql.statements.sources.plan import CreateSource


@requires(CreateSource)
def _(statement: CreateSource, context: AuthorizationContext) -> Requirements:
    needs = list(context.creating(statement.name))
    if statement.index is not None:
        needs.append(context.need((Kind.CLUSTER, statement.index.cluster_id), Privilege.CREATE))
    return context.require(*needs, *context.using(statement.depends_on))


@completes(CreateSource)
def _(statement: CreateSource, context: StatementContext) -> DdlStatement:
    connection_context = context.environment.runtime.connection_context
    purified = purify(context.parsed, statement, connection_context)
    notice = missing_topic(statement.source.connector, connection_context.resolve_secret)
    if notice is not None:
        context.notice(notice)
    planned = (context.catalog, statement) if purified is context.parsed else None
    return DdlStatement(purified, context.planner, planned)


@defines(CreateSource)
def _(statement: CreateSource, change: CatalogChange) -> None:
    start = statement.source.start
    if start is not None and start > change.now:
        raise InvalidOption(
            f"a source cannot START at {start}, which is in the future",
            detail=f"it is {change.now}",
        )
    id = change.insert(statement.name, ItemType.SOURCE, statement.create_sql, begins_at=start)
    progress = SourceProgress(id, statement.source.progress_desc)
    change.insert(
        statement.progress_name, ItemType.SOURCE_PROGRESS, None, progress, begins_at=start
    )
    change.audit("create", "source", statement.name, id=id, create_sql=statement.create_sql)
    for subsource in statement.subsources:
        subsource_id = change.insert(
            subsource.name, ItemType.SOURCE, subsource.create_sql, begins_at=start
        )
        change.audit(
            "create", "source", subsource.name, id=subsource_id, create_sql=subsource.create_sql
        )
    if statement.index is not None:
        change.insert_index(statement.index)


@requires(SetSourceOption)
def _(statement: SetSourceOption, context: AuthorizationContext) -> Requirements:
    return context.require(owner_of=((Kind.ITEM, statement.id),))


@defines(SetSourceOption)
def _(statement: SetSourceOption, change: CatalogChange) -> None:
    item = change.tx.snapshot.items[statement.id]
    change.tx.update(replace(item, create_sql=statement.create_sql))
    option = statement.option.lower().replace(" ", "_")
    change.audit("alter", "source", statement.name, **{option: statement.value})
