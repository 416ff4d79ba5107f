"""Filter: the rows for which every predicate is true."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.algebra.timestamps import Timestamp
from reclock.compute.expressions import all_references, to_sql
from reclock.compute.operators.rules import (
    DeltaStep,
    Rendering,
    columns,
    delta,
    demand,
    is_monotone,
    origin,
    select_list,
    snapshot,
)
from reclock.plan.relational import Filter
from reclock.plan.temporal import conditions_at, is_temporal_filter
from reclock.plan.totality import could_error


@snapshot.register
def _(node: Filter, rendering: Rendering, inputs: Sequence[str]) -> str:
    return f"SELECT * FROM {inputs[0]} WHERE {_condition(node, rendering.engine, rendering.as_of)}"


@delta.register
def _(node: Filter, step: DeltaStep) -> str:
    """A changed row counts if it fulfils the conditions now. A row that was there comes or goes
    where these, with the time, have become true or false."""
    engine, parts = step.rendering.engine, []
    now = _condition(node, engine, step.rendering.as_of)
    if changes := step.changes(node.input):
        parts.append(f"SELECT * FROM {guarded(node, engine, changes)} WHERE {now}")
    if is_temporal_filter(node):
        rows = guarded(node, engine, step.due_rows(node))
        was = _condition(node, engine, step.before)
        n = f"CAST(CASE WHEN {now} THEN 1 ELSE -1 END AS BIGINT)"
        parts.append(
            f"SELECT {select_list(columns(node))}, {n} AS n FROM {rows} WHERE "
            f"(({now}) IS TRUE) <> (({was}) IS TRUE)"
        )
    return " UNION ALL ".join(parts)


@is_monotone.register
def _(node: Filter) -> bool:
    """A row that passes is in the output as often as in the input; any other row never is. With the
    time, rows that passed may no longer do so."""
    return not is_temporal_filter(node)


@origin.register
def _(node: Filter, column: int) -> tuple[int | None, ...]:
    return (column,)


@demand.register
def _(node: Filter, wanted: frozenset[int]) -> tuple[frozenset[int], ...]:
    return (wanted | all_references(node.predicates),)


def guarded(node: Filter, engine: str, relation: str) -> str:
    """``relation``, which has the rows of the input at one time or their changes, such that no
    predicate that could raise an error is evaluated on other rows.

    DuckDB moves a filter below joins, and then evaluates it on updates of other times, before the
    condition on their times. It moves nothing below an OFFSET.
    """
    if engine == "duckdb" and any(map(could_error, node.predicates)):
        return f"(SELECT * FROM {relation} OFFSET 0)"
    return relation


def _condition(node: Filter, engine: str, at: Timestamp) -> str:
    given = columns(node.input)
    predicates = conditions_at(node.predicates, at)
    return " AND ".join(to_sql(predicate, engine, given) for predicate in predicates) or "TRUE"
