"""Join: pairs of rows; for SEMI and ANTI, the left rows with or without a match."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.compute.expressions import all_references, to_sql
from reclock.compute.operators.groups import regrouped
from reclock.compute.operators.rules import (
    DeltaStep,
    InputVersion,
    KeyFilter,
    Rendering,
    columns,
    consolidated,
    delta,
    demand,
    has_delta,
    is_monotone,
    matched_columns,
    origin,
    select_list,
    snapshot,
)
from reclock.plan.relational import Join, JoinKind
from reclock.plan.totality import could_error


@snapshot.register
def _(node: Join, rendering: Rendering, inputs: Sequence[str]) -> str:
    condition = _condition(node, rendering.engine)
    if node.kind in (JoinKind.SEMI, JoinKind.ANTI):
        is_there = "EXISTS" if node.kind is JoinKind.SEMI else "NOT EXISTS"
        return f"SELECT l.* FROM {inputs[0]} AS l WHERE {is_there} (SELECT 1 FROM {inputs[1]} AS r WHERE {condition})"
    return f"SELECT {_pair(node)} FROM {inputs[0]} AS l {node.kind.value.upper()} JOIN {inputs[1]} AS r ON {condition}"


@delta.register
def _(node: Join, step: DeltaStep) -> str:
    """An inner join is linear in each side. The other kinds compute again the rows of every key that changes on either side."""
    left, right = (tuple(pair[side] for pair in node.keys) for side in (0, 1))
    if node.kind is not JoinKind.INNER:
        shown = {JoinKind.FULL: None, JoinKind.RIGHT: tuple(len(node.left.desc) + index for index in right)}.get(node.kind, left)
        return regrouped(node, step, [left, right], shown)
    condition = _condition(node, step.rendering.engine)
    parts = []
    if changed := step.changes(node.left):
        partners = step.rows(node.right, InputVersion.NOW, _key_filter(right, left, changed, step))
        parts.append(f"SELECT {_pair(node)}, l.n AS n FROM {changed} AS l JOIN {partners} AS r ON {condition}")
    if changed := step.changes(node.right):
        partners = step.rows(node.left, InputVersion.BEFORE, _key_filter(left, right, changed, step))
        parts.append(f"SELECT {_pair(node)}, r.n AS n FROM {partners} AS l JOIN {changed} AS r ON {condition}")
    # A row deleted on one side still joins a row inserted on the other; the second part cancels that pair.
    return parts[0] if len(parts) == 1 else consolidated(" UNION ALL ".join(parts), columns(node))


def _key_filter(other_keys: tuple[int, ...], changed_keys: tuple[int, ...], changed: str, step: DeltaStep) -> KeyFilter | None:
    """The rows of the other side whose keys are among those of the changed rows."""
    if not changed_keys:
        return None
    keys = select_list([f"c{index}" for index in changed_keys])
    return KeyFilter(other_keys, step.define(f"SELECT DISTINCT {keys} FROM {changed}", is_few=True))


@has_delta.register
def _(node: Join, is_shown: bool) -> bool:
    """A residual that could fail must not be evaluated on pairs that never existed at one time."""
    return not any(could_error(predicate) for predicate in node.residual) if node.kind is JoinKind.INNER else bool(node.keys)


@is_monotone.register
def _(node: Join) -> bool:
    """Inner: a pair's multiplicity is the product of the multiplicities of its rows. Semi: a left row
    keeps its own multiplicity as long as it has a match. The other kinds show rows without a match,
    and a match that is added takes these away."""
    return node.kind in (JoinKind.INNER, JoinKind.SEMI)


@origin.register
def _(node: Join, column: int) -> tuple[int | None, ...]:
    """A column that the join compares is a column of both sides. A side that the join fills up with NULLs gives no values away."""
    index = column - len(node.left.desc)
    if index < 0:
        is_filled = node.kind in (JoinKind.RIGHT, JoinKind.FULL)
        return (None, None) if is_filled else (column, dict(node.keys).get(column))
    is_filled = node.kind in (JoinKind.LEFT, JoinKind.FULL)
    return (None, None) if is_filled else ({right: left for left, right in node.keys}.get(index), index)


@matched_columns.register
def _(node: Join, side: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """A right row without a partner shows only in RIGHT and FULL joins, a left one without a partner in all but INNER ones (SEMI
    shows none either, but its right rows are what it asks for)."""
    kinds = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI) if side == 0 else (JoinKind.INNER, JoinKind.RIGHT)
    if not node.keys or node.kind not in kinds:
        return None
    left, right = (tuple(pair[of] for pair in node.keys) for of in (0, 1))
    return (left, right) if side == 0 else (right, left)


@demand.register
def _(node: Join, wanted: frozenset[int]) -> tuple[frozenset[int], ...]:
    width = len(node.left.desc)
    read = wanted | all_references(node.residual)
    left = frozenset(i for i in read if i < width) | {i for i, _ in node.keys}
    right = frozenset(i - width for i in read if i >= width) | {j for _, j in node.keys}
    return left, right


def _condition(node: Join, engine: str) -> str:
    left, right = columns(node.left, "l"), columns(node.right, "r")
    conditions = [f"{left[i]} = {right[j]}" for i, j in node.keys]
    conditions += [to_sql(predicate, engine, [*left, *right]) for predicate in node.residual]
    return " AND ".join(conditions) or "TRUE"


def _pair(node: Join) -> str:
    return select_list([*columns(node.left, "l"), *columns(node.right, "r")])
