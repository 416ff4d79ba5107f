"""What EXPLAIN answers about a query: its plan, what running it took, the optimizer's trace, and its
timestamp."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from textwrap import indent
from typing import Any

from reclock.adapter.planning.index_plans import with_indexes
from reclock.adapter.query.queries import QueryExecution, ReadPlan
from reclock.adapter.timestamps import read_time
from reclock.algebra.ids import TABLES
from reclock.algebra.timestamps import Timestamp
from reclock.compute.maintenance import MaintenanceMode, maintainer
from reclock.compute.steps.kept_groups import shares_groups
from reclock.compute.steps.kept_rows import operators_without_rule
from reclock.controllers.implied import dataflow
from reclock.errors import NoReplicas
from reclock.introspection.overview import last_refreshes
from reclock.plan.explain import describe, explain, explain_tree
from reclock.plan.relational import Plan
from reclock.plan.rules import Stage, stages
from reclock.protocol.introspection import IntrospectionType
from reclock.sql.catalog.entries import IndexEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.statements.query.values import Explain, ExplainKind


@dataclass(frozen=True, slots=True)
class Analysis:
    """What running a query took."""

    at: Timestamp | None
    """The time that it read at, if its collections have times."""
    rows: int
    bytes: int
    """The size of the rows in Arrow's memory format."""
    first_rows_ms: float
    """How long it took until the first rows were there."""
    total_ms: float


def explain_query(query: QueryExecution, statement: Explain) -> list[str]:
    """The lines that ``EXPLAIN`` of the query answers. Explaining writes nothing to any store."""
    match statement.kind:
        case ExplainKind.PLAN | ExplainKind.ANALYZE:
            is_run = statement.kind is ExplainKind.ANALYZE
            return [_plan_json(query, is_run)] if statement.is_json else _plan_lines(query, is_run)
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


def _plan_lines(query: QueryExecution, is_run: bool) -> list[str]:
    ready = query.prepare()
    lines = [
        *explain(ready.plan, query.select.finishing).splitlines(),
        "",
        f"engine: {_engine(query, ready)}",
        f"indexes: {', '.join(_described(query.catalog, index) for index in ready.indexes) or 'none'}",
        *_choices(query, ready.indexes),
    ]
    if not is_run:
        return lines
    analysis = _analyze(query)
    return [
        *lines,
        *([] if analysis.at is None else [f"read at: {analysis.at}"]),
        f"rows: {analysis.rows} ({analysis.bytes} bytes)",
        f"time until the first rows: {analysis.first_rows_ms:.3f} ms",
        f"execution time: {analysis.total_ms:.3f} ms",
    ]


def _plan_json(query: QueryExecution, is_run: bool) -> str:
    """With PostgreSQL's keys where it has the same."""
    ready = query.prepare()
    report: dict[str, Any] = {
        "Plan": explain_tree(ready.plan, query.select.finishing),
        "Engine": _engine(query, ready),
        "Indexes": [_described(query.catalog, index) for index in ready.indexes],
    }
    if is_run:
        analysis = _analyze(query)
        report |= {
            "Read At": analysis.at,
            "Actual Rows": analysis.rows,
            "Actual Bytes": analysis.bytes,
            "First Rows Time": round(analysis.first_rows_ms, 3),
            "Execution Time": round(analysis.total_ms, 3),
        }
    return json.dumps([report], indent=2, ensure_ascii=False)


def _engine(query: QueryExecution, ready: ReadPlan) -> str:
    try:
        return query.controller().engine_of(query.peek(ready), query.context.cancellation.pause)
    except NoReplicas as error:
        return f"none: {error.message}"


def _analyze(query: QueryExecution) -> Analysis:
    """Run the query and discard its rows."""
    started = time.perf_counter()
    with closing(query.run()) as result:
        first_rows_at, rows, size = time.perf_counter(), 0, 0
        for batch in result.batches:
            rows, size = rows + batch.num_rows, size + batch.nbytes
    ended = time.perf_counter()
    return Analysis(
        result.at, rows, size, (first_rows_at - started) * 1000, (ended - started) * 1000
    )


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
    how = str(mode)
    if mode is MaintenanceMode.RECOMPUTED:
        operators = dict.fromkeys(map(describe, operators_without_rule(index_dataflow.plan)))
        how += f" because of {'; '.join(operators)}"
    elif sharing := _sharing(catalog, index, index_dataflow.plan):
        how += f", shares partial aggregates with {', '.join(sharing)}"
    return f"{index.name} (in cluster {catalog.cluster_name(index.cluster_id)}, {how})"


def _sharing(catalog: PlannerCatalog, index: IndexEntry, plan: Plan) -> list[str]:
    """The other indexes of the cluster that keep partial aggregates of an equal part of their
    query."""
    others = [
        other
        for other in catalog.in_cluster(index.cluster_id)
        if isinstance(other, IndexEntry) and other.id != index.id
    ]
    return sorted(
        other.name.item for other in others if shares_groups(plan, dataflow(catalog, other).plan)
    )


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
    read = sorted(ready.reads)
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
