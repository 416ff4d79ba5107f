"""Expressions that could raise an error, moved above joins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from reclock.algebra.relations import BOOLEAN
from reclock.plan.build import join_desc, map_columns
from reclock.plan.relational import Join, JoinKind, Map, Plan, Project, inputs
from reclock.plan.rules.reduce_outer_joins import is_null_where
from reclock.plan.scalar_trees import columns_of, move_columns
from reclock.plan.scalars import Call, Case, ColumnRef, Literal, Scalar
from reclock.plan.totality import could_error
from reclock.plan.traversal import rewritten_around

_KINDS = (
    (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI),
    (JoinKind.INNER, JoinKind.LEFT),
)
"""The kinds of joins above which expressions of the left input can move, and of the right one."""


def compute_after_joins(plan: Plan) -> Plan:
    """Compute a column that could raise an error from the rows of a join, if the join itself does
    not compare it: a row without a match never meets it, whichever input an engine reads first."""
    return rewritten_around(plan, _computing_after)


def _computing_after(join: Plan, whole: Set[int]) -> Plan:
    if not isinstance(join, Join):
        return join
    for side in range(2):
        if join.kind in _KINDS[side] and id(inputs(join)[side]) not in whole:
            moved = _without_columns(join, side, whole)
            if moved is not None:
                return moved
    return join


@dataclass(frozen=True, slots=True)
class _NarrowJoin:
    """A join without some of the columns that one of its inputs computes."""

    join: Join
    """The join with these columns."""
    side: int
    """Which input computes them."""
    input: Plan
    """That input without them."""
    places: Mapping[int, int]
    """Where ``input`` has each of the other columns of the whole input."""

    def joined(self) -> Join:
        """The narrow join as a plan."""
        join = self.join
        left, right = (join.left, self.input) if self.side == 1 else (self.input, join.right)
        return replace(
            join,
            left=left,
            right=right,
            keys=tuple(map(self._place_key, join.keys)),
            residual=tuple(move_columns(part, self.place) for part in join.residual),
            desc=join_desc(left, right, join.kind),
        )

    def place(self, column: int) -> int:
        """Where the narrow join has a column of the whole one."""
        left_width = len(self.join.left.desc)
        if self.side == 1:
            is_left = column < left_width
            return column if is_left else left_width + self.places[column - left_width]
        if column < left_width:
            return self.places[column]
        return column - left_width + len(self.input.desc)

    def _place_key(self, pair: tuple[int, int]) -> tuple[int, int]:
        left, right = pair
        return (left, self.places[right]) if self.side == 1 else (self.places[left], right)


def _without_columns(join: Join, side: int, whole: Set[int]) -> Plan | None:
    """The rows of ``join``, computing after it what the input ``side`` computes last and could
    fail; None if there is nothing of the kind, or it stays ``whole``."""
    input, origins = without_projects(inputs(join)[side])
    if not isinstance(input, Map) or id(input) in whole:
        return None
    stays = {origins[column] for column in _compared_columns(join, side)}
    computed = dict(enumerate(input.scalars, len(input.input.desc)))
    moved = [i for i, scalar in computed.items() if could_error(scalar) and i not in stays]
    if not set(moved) & set(origins):
        return None
    narrow = _narrow_join(join, side, input, origins, moved)
    joined = narrow.joined()
    start = len(join.left.desc) * side
    scalars = [move_columns(computed[i], start.__add__) for i in moved]
    if side == 1 and join.kind is JoinKind.LEFT:
        matched = [_if_matched(joined, scalar) for scalar in scalars]
        if None in matched:
            return None
        scalars = [scalar for scalar in matched if scalar is not None]
    later = {
        start + column: len(joined.desc) + moved.index(origin)
        for column, origin in enumerate(origins)
        if origin in moved
    }
    indexes = [
        later[column] if column in later else narrow.place(column)
        for column in range(len(join.desc))
    ]
    names = [input.desc.names[i] for i in moved]
    return Project(
        map_columns(_computing_after(joined, whole), scalars, names), tuple(indexes), join.desc
    )


def without_projects(input: Plan) -> tuple[Plan, list[int]]:
    """What the projections at the top of ``input`` read, and which of its columns each column of
    ``input`` is."""
    origins = list(range(len(input.desc)))
    while isinstance(input, Project):
        origins, input = [input.indexes[i] for i in origins], input.input
    return input, origins


def _compared_columns(join: Join, side: int) -> set[int]:
    """The columns of the input ``side`` that the join itself compares."""
    left_width = len(join.left.desc)
    compared = {pair[side] for pair in join.keys}
    for column in frozenset[int]().union(*map(columns_of, join.residual)):
        if (column >= left_width) is (side == 1):
            compared.add(column - left_width * side)
    return compared


def _narrow_join(
    join: Join, side: int, input: Map, origins: Sequence[int], moved: Sequence[int]
) -> _NarrowJoin:
    """``join`` without the columns ``moved`` of ``input``, whose columns ``origins`` it joins."""
    width = len(input.input.desc)
    staying = [i for i in range(width, len(input.desc)) if i not in moved]
    scalars = [input.scalars[i - width] for i in staying]
    below = map_columns(input.input, scalars, [input.desc.names[i] for i in staying])
    below_places = {i: n for n, i in enumerate([*range(width), *staying])}
    places = {
        column: below_places[origin]
        for column, origin in enumerate(origins)
        if origin in below_places
    }
    return _NarrowJoin(join, side, below, places)


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
