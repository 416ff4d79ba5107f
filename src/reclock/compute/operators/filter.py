"""Filter: the rows for which every predicate is true."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.compute.expressions import all_references, to_sql
from reclock.compute.operators.rules import (
    DeltaStep,
    Rendering,
    columns,
    delta,
    demand,
    is_monotone,
    origin,
    snapshot,
)
from reclock.plan.relational import Filter
from reclock.plan.totality import could_error


@snapshot.register
def _(node: Filter, rendering: Rendering, inputs: Sequence[str]) -> str:
    return f"SELECT * FROM {inputs[0]} WHERE {_condition(node, rendering.engine)}"


@delta.register
def _(node: Filter, step: DeltaStep) -> str:
    changes = step.changes(node.input)
    assert changes is not None  # a step asks only for changes of nodes that change
    relation = guarded(node, step.rendering.engine, changes)
    return f"SELECT * FROM {relation} WHERE {_condition(node, step.rendering.engine)}"


@is_monotone.register
def _(node: Filter) -> bool:
    """A row that passes is in the output as often as in the input; any other row never is."""
    return True


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


def _condition(node: Filter, engine: str) -> str:
    given = columns(node.input)
    return " AND ".join(to_sql(predicate, engine, given) for predicate in node.predicates) or "TRUE"
