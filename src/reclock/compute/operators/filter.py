"""Filter: the rows for which every predicate is true."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.compute.expressions import all_references, to_sql
from reclock.compute.operators.rules import Rendering, columns, demand, snapshot
from reclock.compute.plan import Filter


@snapshot.register
def _(node: Filter, rendering: Rendering, inputs: Sequence[str]) -> str:
    given = columns(node.input)
    condition = " AND ".join(to_sql(predicate, rendering.engine, given) for predicate in node.predicates) or "TRUE"
    return f"SELECT * FROM {inputs[0]} WHERE {condition}"


@demand.register
def _(node: Filter, wanted: frozenset[int]) -> tuple[frozenset[int], ...]:
    return (wanted | all_references(node.predicates),)
