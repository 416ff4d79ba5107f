"""The relational plan: SQL is planned into it, engines render it, EXPLAIN prints it.

Every node is a value that knows its output's ``RelationDesc``; relations are multisets. Names live in the descs only:
expressions address columns by position. The rules by which a node is computed and maintained are in ``compute/operators/``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.relations import RelationDesc
from reclock.plan.scalars import Aggregate, Scalar


@dataclass(frozen=True, slots=True)
class Get:
    """A collection at the plan's time. ``name`` is for display."""

    collection: StorageCollectionId
    name: str
    desc: RelationDesc


@dataclass(frozen=True, slots=True)
class Constant:
    """Constant rows of the statement; one empty row for a SELECT without FROM."""

    rows: tuple[tuple[Any, ...], ...]
    desc: RelationDesc


@dataclass(frozen=True, slots=True)
class Map:
    """The input's columns followed by ``scalars``."""

    input: Plan
    scalars: tuple[Scalar, ...]
    desc: RelationDesc


@dataclass(frozen=True, slots=True)
class Filter:
    """The input's rows for which every predicate is true."""

    input: Plan
    predicates: tuple[Scalar, ...]

    @property
    def desc(self) -> RelationDesc:
        return self.input.desc


@dataclass(frozen=True, slots=True)
class Project:
    """The input's columns at ``indexes``, in that order; a column may repeat. ``desc`` gives the names."""

    input: Plan
    indexes: tuple[int, ...]
    desc: RelationDesc


class JoinKind(StrEnum):
    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"


@dataclass(frozen=True, slots=True)
class Join:
    """Pairs of rows with equal ``keys`` (left index, right index; NULL equals nothing) for which ``residual`` holds.

    Output: the left columns followed by the right ones; for SEMI and ANTI the left columns alone. ``residual`` is over the left
    columns followed by the right ones. No keys and no residual is a cross join.
    """

    left: Plan
    right: Plan
    kind: JoinKind
    keys: tuple[tuple[int, int], ...]
    residual: tuple[Scalar, ...]
    desc: RelationDesc


@dataclass(frozen=True, slots=True)
class Reduce:
    """One row a group: the columns at ``group_by``, then the aggregates. Without ``group_by`` exactly one row, as in SQL."""

    input: Plan
    group_by: tuple[int, ...]
    aggregates: tuple[Aggregate, ...]
    desc: RelationDesc


@dataclass(frozen=True, slots=True)
class Distinct:
    """Each row once."""

    input: Plan

    @property
    def desc(self) -> RelationDesc:
        return self.input.desc


@dataclass(frozen=True, slots=True)
class Ordering:
    """Sort by column ``index``; PostgreSQL's default for NULLs (last ascending, first descending) is made explicit."""

    index: int
    is_descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class TopK:
    """Of each group (all rows, without ``group_by``) the rows from ``offset`` on, at most ``limit``, in ``order``.

    Ties are broken by all remaining columns, ascending, so that the result is definite.
    """

    input: Plan
    group_by: tuple[int, ...]
    order: tuple[Ordering, ...]
    limit: int | None
    offset: int

    @property
    def desc(self) -> RelationDesc:
        return self.input.desc


@dataclass(frozen=True, slots=True)
class FlatMap:
    """Each row of the input as often as the longest of ``arrays`` has elements, followed by these; NULL beyond an end."""

    input: Plan
    arrays: tuple[Scalar, ...]
    desc: RelationDesc


@dataclass(frozen=True, slots=True)
class WindowFunction:
    """A function of a row's place in its group, by its name in SQL; ``ntile`` has ``offset`` buckets.

    ``lag``, ``lead``, ``first_value`` and ``last_value`` return column ``value`` of another row: ``offset`` rows before or after
    it (``default``, a column or NULL, if there is none), or the first or last row of the frame.
    """

    name: str
    value: int | None = None
    offset: int = 1
    default: int | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows of the group that the function of a row reads: from ``start`` to ``end``, as offsets from it; None is the first, or
    the last. With ``is_range`` the only offset is zero, and means all peers of the row.
    """

    start: int | None = None
    end: int | None = 0
    is_range: bool = True


@dataclass(frozen=True, slots=True)
class Window:
    """The input's columns followed by ``function`` of the row in its group (all rows, without ``group_by``).

    Groups are sorted by ``order``; ties as in ``TopK``. Aggregates, and ``first_value`` and ``last_value``, are of the ``frame``.
    """

    input: Plan
    group_by: tuple[int, ...]
    order: tuple[Ordering, ...]
    function: WindowFunction | Aggregate
    desc: RelationDesc
    frame: Frame = Frame()


@dataclass(frozen=True, slots=True)
class Union:
    """All rows of all inputs; multiplicities add. Types agree; names are the first input's."""

    inputs: tuple[Plan, ...]
    desc: RelationDesc


@dataclass(frozen=True, slots=True)
class Except:
    """Left multiplicities less right ones, never below zero (EXCEPT ALL): the union with the negated right, then the threshold."""

    left: Plan
    right: Plan

    @property
    def desc(self) -> RelationDesc:
        return self.left.desc


@dataclass(frozen=True, slots=True)
class Intersect:
    """The smaller of both multiplicities (INTERSECT ALL)."""

    left: Plan
    right: Plan

    @property
    def desc(self) -> RelationDesc:
        return self.left.desc


Plan = Get | Constant | Map | Filter | Project | Join | Reduce | Distinct | TopK | FlatMap | Window | Union | Except | Intersect


@dataclass(frozen=True, slots=True)
class Finishing:
    """How a SELECT's rows are sorted, limited and projected when they are returned. Maintained plans have none."""

    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0
    visible: int | None = None
    """How many leading columns are returned; the rest serve ORDER BY alone. All, if None."""


def inputs(plan: Plan) -> tuple[Plan, ...]:
    """The plans ``plan`` reads, left to right."""
    match plan:
        case Get() | Constant():
            return ()
        case Join() | Except() | Intersect():
            return (plan.left, plan.right)
        case Union():
            return plan.inputs
        case _:
            return (plan.input,)


def with_inputs(plan: Plan, parts: Sequence[Plan]) -> Plan:
    """The same node over other plans, in the order of ``inputs``."""
    match plan:
        case Get() | Constant():
            return plan
        case Join() | Except() | Intersect():
            return replace(plan, left=parts[0], right=parts[1])
        case Union():
            return replace(plan, inputs=tuple(parts))
        case _:
            return replace(plan, input=parts[0])


def row_limit(plan: Plan, finishing: Finishing) -> int | None:
    """A bound on the number of rows, if the plan itself has one."""
    if finishing.limit is not None:
        return finishing.limit
    while isinstance(plan, Map | Filter | Project | Distinct | Window):
        plan = plan.input
    match plan:
        case Constant(rows):
            return len(rows)
        case Reduce(group_by=()):
            return 1
        case TopK(group_by=(), limit=limit):
            return limit
    return None


def collections(plan: Plan) -> frozenset[StorageCollectionId]:
    """Every collection the plan reads."""
    if isinstance(plan, Get):
        return frozenset({plan.collection})
    return frozenset().union(*(collections(child) for child in inputs(plan)))
