"""Join: pairs of rows; for SEMI and ANTI the left rows that have, or have not, a partner."""

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
    """An inner join is linear in each side; of another kind, the rows of the keys that either side's changes have are made anew."""
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
    # A row that goes on one side still meets one that comes on the other, and what came of that goes with the next part.
    return parts[0] if len(parts) == 1 else consolidated(" UNION ALL ".join(parts), columns(node))


def _key_filter(theirs: tuple[int, ...], own: tuple[int, ...], changed: str, step: DeltaStep) -> KeyFilter | None:
    """The rows of the other side that may meet one that changed."""
    if not own:
        return None
    return KeyFilter(theirs, step.define(f"SELECT DISTINCT {select_list([f'c{index}' for index in own])} FROM {changed}"))


@has_delta.register
def _(node: Join, is_shown: bool) -> bool:
    """Pairs that never were must not be asked a question that can fail."""
    return not any(could_error(each) for each in node.residual) if node.kind is JoinKind.INNER else bool(node.keys)


@is_monotone.register
def _(node: Join) -> bool:
    """Inner: a pair's multiplicity is the product of the multiplicities of its rows. Semi: a left row
    keeps its own multiplicity as long as it has a match. The other kinds show rows without a match,
    and a match that is added takes these away."""
    return node.kind in (JoinKind.INNER, JoinKind.SEMI)


@origin.register
def _(node: Join, columns: tuple[int, ...]) -> tuple[tuple[int, ...] | None, ...]:
    width = len(node.left.desc)
    partners, mates = {right: left for left, right in node.keys}, dict(node.keys)
    is_left = all(index < width for index in columns) and node.kind not in (JoinKind.RIGHT, JoinKind.FULL)
    if is_left:
        return columns, tuple(mates[index] for index in columns) if set(columns) <= set(mates) else None
    right = tuple(index - width for index in columns)
    if all(index >= 0 for index in right) and node.kind in (JoinKind.INNER, JoinKind.RIGHT):
        return tuple(partners[index] for index in right) if set(right) <= set(partners) else None, right
    return None, None


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
