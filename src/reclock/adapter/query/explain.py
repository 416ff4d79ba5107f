"""What EXPLAIN answers about a query: its plan, the optimizer's trace, and its timestamp."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import indent

from reclock.adapter.query.queries import QueryExecution, with_indexes
from reclock.adapter.timestamps import read_time
from reclock.algebra.ids import TABLES
from reclock.compute.maintenance import maintainer
from reclock.controllers.implied import dataflow
from reclock.errors import NoReplicas
from reclock.introspection.overview import last_refreshes
from reclock.plan.explain import explain
from reclock.plan.relational import Plan, collections
from reclock.plan.rules import Stage, stages
from reclock.protocol.introspection import IntrospectionType
from reclock.sql.catalog.entries import IndexEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.statements.query.values import Explain, ExplainKind


def explain_query(query: QueryExecution, statement: Explain) -> list[str]:
    """The lines that ``EXPLAIN`` of the query answers. Explaining writes nothing to any store."""
    match statement.kind:
        case ExplainKind.PLAN:
            return _plan_lines(query)
        case ExplainKind.TIMESTAMP:
            return _timestamp_lines(query)
        case ExplainKind.OPTIMIZER_TRACE:
            return _optimizer_lines(query, statement.planned)


def _optimizer_lines(query: QueryExecution, planned: Plan) -> list[str]:
    """The plan as ``planned``, then over stored collections, each after every rule of the
    optimizer."""
    indexes = {index.on: index for index in query.prepare().indexes}
    expanded, _ = with_indexes(query.select.plan, query.catalog, indexes)
    lines: list[str] = []
    for start in (Stage("planned", planned), Stage("views and indexes", expanded)):
        before = ""
        for stage in (start, *stages(start.plan)):
            plan = explain(stage.plan, query.select.finishing)
            lines += (
                [f"{stage.name}: no change"]
                if plan == before
                else [f"{stage.name}:", *indent(plan, "  ").splitlines()]
            )
            before = plan
    return lines


def _plan_lines(query: QueryExecution) -> list[str]:
    ready = query.prepare()
    lines = explain(ready.plan, query.select.finishing).splitlines()
    try:
        engine = query.controller().engine_of(query.peek(ready), query.context.cancellation.pause)
    except NoReplicas as error:
        engine = f"none: {error.message}"
    used = ", ".join(_described(query.catalog, index) for index in ready.indexes)
    return [
        *lines,
        "",
        f"engine: {engine}",
        f"indexes: {used or 'none'}",
        *_choices(query, ready.indexes),
    ]


def _choices(query: QueryExecution, indexes: Sequence[IndexEntry]) -> list[str]:
    """How the last refresh of each index was chosen, where replicas have reported a choice."""
    if not indexes:
        return []
    reported = query.environment.stores.managed.read({IntrospectionType.LAST_REFRESHES}).rows
    refreshes = last_refreshes(reported)
    return [
        f"last refresh of {index.name}: {refreshes[index.id].choice}"
        for index in indexes
        if index.id in refreshes and refreshes[index.id].choice is not None
    ]


def _described(catalog: PlannerCatalog, index: IndexEntry) -> str:
    index_dataflow = dataflow(catalog, index)
    mode = maintainer(index_dataflow.plan, index_dataflow.desc).mode
    return f"{index.name} (in cluster {catalog.cluster_name(index.cluster_id)}, {mode})"


def _timestamp_lines(query: QueryExecution) -> list[str]:
    """The time and its reason; for each input its frontiers, and the Delta table and version
    that hold the rows."""
    ready = query.prepare()
    lines = [
        f"query timestamp: {ready.time.at}",
        f"reason: {ready.time.reason}",
        f"oracle read timestamp: {ready.time.oracle_read_ts}",
    ]
    frontiers = read_time.frontiers_of(query.environment, ready.groups)
    read = sorted(collections(ready.plan))
    tables = [collection.source_id for collection in read if collection.group == TABLES]
    # The log is read before the versions: writes that leave it in between are in the version
    # that is pinned then.
    pending = (
        query.environment.stores.tables.log.pending(tables, through=ready.time.at) if tables else []
    )
    for collection in read:
        frontier = frontiers.get(collection.group)
        if frontier is None or collection.source_id in query.created:
            continue
        version = query.environment.stores.lake.open(collection).pin()
        name = query.catalog.kept_in(collection)
        lines.append(f"input {name.name if name else collection} ({collection}):")
        since = max(frontier.since, version.begins)
        is_readable = frontier.is_readable_at(max(ready.time.at, version.begins))
        lines.append(
            f"  since: {since}, upper: {frontier.upper}, readable: "
            f"{'yes' if is_readable else 'not yet'}"
        )
        if collection.guest is not None:
            lines.append(f"  bound with the transactions of: {query.name_of(collection.group)}")
        lines.append(f"  table: {version.uri}, version: {version.number}")
        writes = sum(
            write.table == collection.source_id and write.at >= version.upper for write in pending
        )
        if writes:
            lines.append(f"  writes in the table log that are not in this version yet: {writes}")
    return lines
