"""Expressions that could raise an error, moved above joins."""

from __future__ import annotations

from dataclasses import replace

from reclock.algebra.relations import BOOLEAN
from reclock.plan.build import join_desc, map_columns
from reclock.plan.relational import Join, JoinKind, Map, Plan, Project, inputs, with_inputs
from reclock.plan.rules.reduce_outer_joins import is_null_where
from reclock.plan.scalar_trees import columns_of, move_columns
from reclock.plan.scalars import Call, Case, ColumnRef, Literal, Scalar
from reclock.plan.totality import could_error

_KINDS = (
    (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI),
    (JoinKind.INNER, JoinKind.LEFT),
)
"""The kinds of joins above which expressions of the left input can move, and of the right one."""


def compute_after_joins(plan: Plan) -> Plan:
    """Compute a column that could raise an error from the rows of a join, if the join itself does
    not compare it: a row without a match never meets it, whichever input an engine reads first."""
    plan = with_inputs(plan, [compute_after_joins(part) for part in inputs(plan)])
    return _computing_after(plan) if isinstance(plan, Join) else plan


def _computing_after(join: Join) -> Plan:
    for side in range(2):
        if join.kind in _KINDS[side] and (moved := _without_columns(join, side)) is not None:
            return moved
    return join


def _without_columns(join: Join, side: int) -> Plan | None:
    """The rows of ``join``, computing after it what the input ``side`` computes last and could
    fail; None if there is nothing of the kind."""
    origins, input = list(range(len(inputs(join)[side].desc))), inputs(join)[side]
    while isinstance(input, Project):
        origins, input = [input.indexes[i] for i in origins], input.input
    if not isinstance(input, Map):
        return None
    width, left_width = len(input.input.desc), len(join.left.desc)
    compared = {pair[side] for pair in join.keys}
    for column in frozenset[int]().union(*map(columns_of, join.residual)):
        if (column >= left_width) is (side == 1):
            compared.add(column - left_width * side)
    stays = {origins[column] for column in compared}
    computed = dict(enumerate(input.scalars, width))
    moved = [i for i, scalar in computed.items() if could_error(scalar) and i not in stays]
    if not set(moved) & set(origins):
        return None
    staying = [i for i in computed if i not in moved]
    below = map_columns(
        input.input, [computed[i] for i in staying], [input.desc.names[i] for i in staying]
    )
    places = {**{i: i for i in range(width)}, **{i: width + n for n, i in enumerate(staying)}}

    def place(column: int) -> int:
        """Where the new join has a column of the old one that does not move."""
        if side == 1:
            return (
                column if column < left_width else left_width + places[origins[column - left_width]]
            )
        return (
            places[origins[column]]
            if column < left_width
            else column - left_width + len(below.desc)
        )

    def place_key(pair: tuple[int, int]) -> tuple[int, int]:
        left, right = pair
        return (left, places[origins[right]]) if side == 1 else (places[origins[left]], right)

    left, right = (join.left, below) if side == 1 else (below, join.right)
    joined = replace(
        join,
        left=left,
        right=right,
        keys=tuple(map(place_key, join.keys)),
        residual=tuple(move_columns(part, place) for part in join.residual),
        desc=join_desc(left, right, join.kind),
    )
    start = left_width * side
    scalars = [move_columns(computed[i], start.__add__) for i in moved]
    if side == 1 and join.kind is JoinKind.LEFT:
        matched = [_if_matched(joined, scalar) for scalar in scalars]
        if None in matched:
            return None
        scalars = [scalar for scalar in matched if scalar is not None]
    later = {i: len(joined.desc) + n for n, i in enumerate(moved)}
    indexes = []
    for column in range(len(join.desc)):
        of_side = column - start if side == 1 or column < left_width else -1
        origin = origins[of_side] if of_side >= 0 else None
        indexes.append(later[origin] if origin in later else place(column))
    names = [input.desc.names[i] for i in moved]
    return Project(map_columns(_computing_after(joined), scalars, names), tuple(indexes), join.desc)


def _if_matched(join: Join, scalar: Scalar) -> Scalar | None:
    """``scalar`` of the right columns of a left join, NULL without a match."""
    width = len(join.left.desc)
    if is_null_where(scalar, width.__le__):
        return scalar
    if not join.keys:
        return None
    key = width + join.keys[0][1]
    is_matched = Call(
        "not", (Call("is_null", (ColumnRef(key, join.desc.types[key]),), BOOLEAN),), BOOLEAN
    )
    return Case(((is_matched, scalar),), Literal(None, scalar.type), scalar.type)
