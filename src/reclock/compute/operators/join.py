"""Join: pairs of rows; for SEMI and ANTI the left rows that have, or have not, a partner."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.compute.expressions import all_references, to_sql
from reclock.compute.operators.rules import Rendering, columns, demand, select_list, snapshot
from reclock.compute.plan import Join, JoinKind


@snapshot.register
def _(node: Join, rendering: Rendering, inputs: Sequence[str]) -> str:
    left, right = columns(node.left, "l"), columns(node.right, "r")
    conditions = [f"{left[i]} = {right[j]}" for i, j in node.keys]
    conditions += [to_sql(predicate, rendering.engine, [*left, *right]) for predicate in node.residual]
    condition = " AND ".join(conditions) or "TRUE"
    if node.kind in (JoinKind.SEMI, JoinKind.ANTI):
        is_there = "EXISTS" if node.kind is JoinKind.SEMI else "NOT EXISTS"
        return f"SELECT l.* FROM {inputs[0]} AS l WHERE {is_there} (SELECT 1 FROM {inputs[1]} AS r WHERE {condition})"
    joined = f"{inputs[0]} AS l {node.kind.value.upper()} JOIN {inputs[1]} AS r ON {condition}"
    return f"SELECT {select_list([*left, *right])} FROM {joined}"


@demand.register
def _(node: Join, wanted: frozenset[int]) -> tuple[frozenset[int], ...]:
    width = len(node.left.desc)
    read = wanted | all_references(node.residual)
    left = frozenset(i for i in read if i < width) | {i for i, _ in node.keys}
    right = frozenset(i - width for i in read if i >= width) | {j for _, j in node.keys}
    return left, right
