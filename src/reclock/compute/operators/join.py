"""Join: pairs of rows; for SEMI and ANTI, the left rows with or without a match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reclock.algebra.relations import RelationDesc
from reclock.compute.expressions.sql import all_references, condition_to_sql
from reclock.compute.operators.groups import regrouped
from reclock.compute.operators.rules import (
    DeltaStep,
    InputVersion,
    KeyFilter,
    NoRuleByTime,
    Rendering,
    behind_barrier,
    carried,
    columns,
    consolidated,
    delta,
    demand,
    is_monotone,
    matched_columns,
    of_its_rows,
    origin,
    select_list,
    snapshot,
)
from reclock.plan.functions.sql_names import literal
from reclock.plan.properties import could_fail
from reclock.plan.relational import Join, JoinKind, Map, Plan, Project, Reduce, inputs
from reclock.plan.totality import could_error


@snapshot.register
def _(node: Join, rendering: Rendering, inputs: Sequence[str]) -> str:
    condition = _condition(node, rendering.engine)
    if node.kind in (JoinKind.SEMI, JoinKind.ANTI):
        is_there = "EXISTS" if node.kind is JoinKind.SEMI else "NOT EXISTS"
        left, right = inputs
        if any(map(could_error, node.residual)):
            left = behind_barrier(rendering.engine, left)
        if left != inputs[0] or _computes_failing(node.right):
            right = behind_barrier(rendering.engine, right)
        return (
            f"SELECT l.* FROM {left} AS l WHERE {is_there} (SELECT 1 FROM {right} "
            f"AS r WHERE {condition})"
        )
    left, right = (of_its_rows(rendering.engine, rows, node.residual) for rows in inputs)
    sign = rendering.sign(node, "l" if id(node.left) in rendering.signed else "r")
    return (
        f"SELECT {_pair(node)}{sign} FROM {left} AS l {node.kind.value.upper()} JOIN "
        f"{right} AS r ON {condition}"
    )


def _computes_failing(plan: Plan) -> bool:
    """Whether the last columns of ``plan`` are computed by an expression that could fail."""
    return isinstance(plan, Map | Project) and (could_fail(plan) or _computes_failing(plan.input))


@delta.register
def _(node: Join, step: DeltaStep) -> str:
    """An inner join is linear in each side. The other kinds follow from which rows have a match,
    before the step and after it. If their residual could fail, they compute again the rows of every
    key that changes on either side, and an inner join sums up its pairs before it tests them."""
    is_linear = node.kind is JoinKind.INNER and not (
        step.changes(node.left) and step.changes(node.right)
    )
    if step.by_time and not is_linear:
        raise NoRuleByTime
    if node.kind is JoinKind.INNER and not is_linear and any(map(could_error, node.residual)):
        return _fulfilled(node, step)
    parts = _pair_changes(node, step) if node.kind is JoinKind.INNER else _from_matches(node, step)
    if parts is not None:
        # A row deleted on one side still meets a row inserted on the other; another part takes that
        # back.
        return (
            parts[0] if len(parts) == 1 else consolidated(" UNION ALL ".join(parts), columns(node))
        )
    left, right = _key_columns(node)
    key_columns = {
        JoinKind.FULL: None,
        JoinKind.RIGHT: tuple(len(node.left.desc) + index for index in right),
    }.get(node.kind, left)
    return regrouped(node, step, [left, right], key_columns)


def _pair_changes(node: Join, step: DeltaStep) -> list[str]:
    """The changes of the pairs of rows that match, as SELECTs to be summed up."""
    engine = step.rendering.engine
    left, right = _key_columns(node)
    condition = _condition(node, engine)

    def pairs(left_rows: str, right_rows: str, changed: str) -> str:
        left_rows, right_rows = (
            of_its_rows(engine, rows, node.residual) for rows in (left_rows, right_rows)
        )
        return (
            f"SELECT {_pair(node)}, {carried(step, changed)} FROM {left_rows} AS l JOIN "
            f"{right_rows} AS r ON {condition}"
        )

    parts = []
    if changed := step.changes(node.left):
        partners = step.rows(node.right, InputVersion.NOW, _key_filter(right, left, changed, step))
        parts.append(pairs(changed, partners, "l"))
    if changed := step.changes(node.right):
        partners = step.rows(
            node.left, InputVersion.BEFORE, _key_filter(left, right, changed, step)
        )
        parts.append(pairs(partners, changed, "r"))
    return parts


def _fulfilled(node: Join, step: DeltaStep) -> str:
    """The changes of an inner join whose residual could fail, where both sides change: the residual
    is evaluated on the sums of the changes of pairs, so on no pair that never was."""
    engine = step.rendering.engine
    changes = " UNION ALL ".join(_pair_changes(replace(node, residual=()), step))
    conditions = (condition_to_sql(predicate, engine, columns(node)) for predicate in node.residual)
    return (
        f"SELECT * FROM {behind_barrier(engine, f'({consolidated(changes, columns(node))})')} "
        f"WHERE {' AND '.join(conditions)}"
    )


_FILLED_UP = {JoinKind.LEFT: (0,), JoinKind.RIGHT: (1,), JoinKind.FULL: (0, 1)}
"""The inputs whose rows without a match an outer join shows, with NULLs for the other side."""


def matched_rows(node: Join, side: int) -> Reduce:
    """The number of rows of the input ``side`` by the columns that the join compares."""
    part, columns = (node.left, node.right)[side], _key_columns(node)[side]
    return Reduce(
        part, columns, (), RelationDesc(tuple(part.desc.columns[index] for index in columns))
    )


def sides_to_count(node: Plan) -> tuple[int, ...]:
    """The inputs of a join of which the delta rule asks for matches: whether a row of the other
    input has a match decides whether it is shown. With a residual, keys do not decide."""
    if not isinstance(node, Join) or not node.keys or node.residual:
        return ()
    return tuple(
        1 - side for side in _FILLED_UP.get(node.kind, () if node.kind is JoinKind.INNER else (0,))
    )


def _from_matches(node: Join, step: DeltaStep) -> list[str] | None:
    """The changes of a join other than an inner one, as SELECTs to be summed up, from which rows
    have a match.

    None if the residual could fail on pairs of rows that never existed at one time.
    """
    if any(could_error(predicate) for predicate in node.residual):
        return None
    parts: list[str] = []
    for side in _FILLED_UP.get(node.kind, (0,)):
        parts += _changes_by_match(node, step, side)
    return (
        parts
        if node.kind in (JoinKind.SEMI, JoinKind.ANTI)
        else [*parts, *_pair_changes(node, step)]
    )


def _changes_by_match(node: Join, step: DeltaStep, side: int) -> list[str]:
    """The changes of the rows of the input ``side`` that have a match in the other one, or have
    none: a changed row counts by the matches of now, and a row that was there by what its matches
    were and are."""
    input, other = inputs(node)[side], inputs(node)[1 - side]
    keys_of_input, other_keys = _key_columns(node)[side], _key_columns(node)[1 - side]
    changed, other_changed = step.changes(input), step.changes(other)
    listed = [(changed, keys_of_input), (other_changed, other_keys)]
    keys = step.keys(*((relation, columns) for relation, columns in listed if relation))
    if (1 - side) in sides_to_count(node):
        matches = step.matches(node, 1 - side, keys)
        if matches is not None:
            return _by_counts(node, step, side, matches)
    partners = step.rows(other, InputVersion.NOW, KeyFilter(other_keys, keys))
    parts = []
    if changed:
        parts.append(_by_partners(node, step, side, changed, partners, "i.n"))
    if other_changed:
        touched = step.keys((other_changed, other_keys))
        rows = step.rows(input, InputVersion.BEFORE, KeyFilter(keys_of_input, touched))
        former = step.rows(other, InputVersion.BEFORE, KeyFilter(other_keys, touched))
        parts.append(_by_partners(node, step, side, rows, partners, "CAST(1 AS BIGINT)"))
        parts.append(_by_partners(node, step, side, rows, former, "CAST(-1 AS BIGINT)"))
    return parts


def _by_counts(node: Join, step: DeltaStep, side: int, matches: str) -> list[str]:
    """``_changes_by_match`` from which keys had a match and have one. An outer join reads the rows
    of all changed keys for its pairs, and so here."""
    input, is_matched = inputs(node)[side], node.kind is JoinKind.SEMI
    keys_of_input, other_keys = _key_columns(node)[side], _key_columns(node)[1 - side]
    joined = " AND ".join(f"i.c{column} = m.c{place}" for place, column in enumerate(keys_of_input))
    select = _row_of_side(node, step.rendering.engine, side)
    parts = []
    if changed := step.changes(input):
        condition = "m.now" if is_matched else "m.now IS NOT TRUE"
        parts.append(
            f"SELECT {select}, i.n AS n FROM {changed} AS i LEFT JOIN {matches} AS m ON "
            f"{joined} WHERE {condition}"
        )
    if other_changed := step.changes(inputs(node)[1 - side]):
        flipped = step.define(f"SELECT * FROM {matches} WHERE was <> now", is_few=True)
        is_pairing = node.kind in _FILLED_UP
        keys = step.keys((other_changed, other_keys)) if is_pairing else flipped
        rows = step.rows(input, InputVersion.BEFORE, KeyFilter(keys_of_input, keys, is_exact=False))
        n = (
            f"CAST(CASE WHEN m.now THEN {1 if is_matched else -1} ELSE "
            f"{-1 if is_matched else 1} END AS BIGINT)"
        )
        parts.append(f"SELECT {select}, {n} AS n FROM {rows} AS i JOIN {flipped} AS m ON {joined}")
    return parts


def _by_partners(node: Join, step: DeltaStep, side: int, rows: str, partners: str, n: str) -> str:
    """Those of ``rows`` of the input ``side`` that have a match among ``partners``, or have none,
    each ``n`` times."""
    is_there = "EXISTS" if node.kind is JoinKind.SEMI else "NOT EXISTS"
    aliases = ("i", "p") if side == 0 else ("p", "i")
    condition = _condition(node, step.rendering.engine, aliases)
    return (
        f"SELECT {_row_of_side(node, step.rendering.engine, side)}, {n} AS n FROM {rows} AS i "
        f"WHERE {is_there} (SELECT 1 FROM {partners} AS p WHERE {condition})"
    )


def _row_of_side(node: Join, engine: str, side: int) -> str:
    """The node's columns for a row ``i`` of one input without a partner."""
    own, other = inputs(node)[side], inputs(node)[1 - side]
    row = columns(own, "i")
    if node.kind in (JoinKind.SEMI, JoinKind.ANTI):
        return select_list(row)
    nothing = [literal(engine, None, type) for type in other.desc.types]
    return select_list([*row, *nothing] if side == 0 else [*nothing, *row])


def _key_columns(node: Join) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The columns of each input that the join compares."""
    return tuple(left for left, _ in node.keys), tuple(right for _, right in node.keys)


def _key_filter(
    other_keys: tuple[int, ...], changed_keys: tuple[int, ...], changed: str, step: DeltaStep
) -> KeyFilter | None:
    """The rows of the other side whose keys are among those of the changed rows."""
    if not changed_keys:
        return None
    return KeyFilter(other_keys, step.keys((changed, changed_keys)), is_exact=False)


@is_monotone.register
def _(node: Join) -> bool:
    """Inner: a pair's multiplicity is the product of the multiplicities of its rows. Semi: a left
    row keeps its own multiplicity as long as it has a match. The other kinds show rows without a
    match, and a match that is added takes these away."""
    return node.kind in (JoinKind.INNER, JoinKind.SEMI)


@origin.register
def _(node: Join, column: int) -> tuple[int | None, ...]:
    """A column that the join compares is a column of both sides. A side that the join fills up with
    NULLs gives no values away."""
    index = column - len(node.left.desc)
    if index < 0:
        is_filled = node.kind in (JoinKind.RIGHT, JoinKind.FULL)
        return (None, None) if is_filled else (column, dict(node.keys).get(column))
    is_filled = node.kind in (JoinKind.LEFT, JoinKind.FULL)
    return (
        (None, None)
        if is_filled
        else ({right: left for left, right in node.keys}.get(index), index)
    )


@matched_columns.register
def _(node: Join, side: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """A right row without a partner shows only in RIGHT and FULL joins, a left one without a
    partner in all but INNER ones (SEMI shows none either, but its right rows are what it asks
    for)."""
    kinds = (
        (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)
        if side == 0
        else (JoinKind.INNER, JoinKind.RIGHT)
    )
    if not node.keys or node.kind not in kinds:
        return None
    left, right = _key_columns(node)
    return (left, right) if side == 0 else (right, left)


@demand.register
def _(node: Join, required: frozenset[int]) -> tuple[frozenset[int], ...]:
    width = len(node.left.desc)
    read = required | all_references(node.residual)
    left = frozenset(i for i in read if i < width) | {i for i, _ in node.keys}
    right = frozenset(i - width for i in read if i >= width) | {j for _, j in node.keys}
    return left, right


def _condition(node: Join, engine: str, aliases: tuple[str, str] = ("l", "r")) -> str:
    left, right = columns(node.left, aliases[0]), columns(node.right, aliases[1])
    conditions = [f"{left[i]} = {right[j]}" for i, j in node.keys]
    conditions += [
        condition_to_sql(predicate, engine, [*left, *right]) for predicate in node.residual
    ]
    return " AND ".join(conditions) or "TRUE"


def _pair(node: Join) -> str:
    return select_list([*columns(node.left, "l"), *columns(node.right, "r")])
