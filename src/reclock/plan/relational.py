"""The relational plan: the planner produces it from SQL, engines render it, EXPLAIN prints it.

Every node is a value that knows its output's ``RelationDesc``. Relations are multisets. Names exist
only in the descs; expressions address columns by position. ``compute/operators/`` holds the rules
by which a node is computed and maintained.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any

from reclock import interruption
from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.intervals import Interval
from reclock.algebra.relations import RelationDesc
from reclock.plan.scalars import Aggregate, Scalar


@dataclass(frozen=True, slots=True)
class Get:
    """The rows of a collection at the plan's time. ``name`` is for display only.

    ``may_be_negative``: a defect upstream can leave a row in it with a negative multiplicity, which
    is an error and no answer. It would not be seen among rows that agree in the columns that are
    read, so all columns are read.
    """

    collection: StorageCollectionId
    name: str
    desc: RelationDesc
    may_be_negative: bool = False
    key_of_now: tuple[str, ...] = ()
    """Columns in which no two rows agree now, as far as that is known; at earlier times some
    may."""


@dataclass(frozen=True, slots=True)
class Constant:
    """Rows that the statement states. A SELECT without FROM reads one row without columns."""

    rows: tuple[tuple[Any, ...], ...]
    desc: RelationDesc


@dataclass(frozen=True, slots=True)
class Map:
    """The input's rows, each followed by the values of ``scalars``."""

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
    """The input's columns at ``indexes``, in that order, named by ``desc``; a column may repeat."""

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
    """Pairs of rows with equal ``keys`` for which ``residual`` holds.

    A key is a left index and a right index; NULL equals nothing. The output is the left columns
    followed by the right ones; for SEMI and ANTI it is the left columns alone. ``residual``
    addresses the left columns followed by the right ones. A join without keys and residual is a
    cross join.
    """

    left: Plan
    right: Plan
    kind: JoinKind
    keys: tuple[tuple[int, int], ...]
    residual: tuple[Scalar, ...]
    desc: RelationDesc


@dataclass(frozen=True, slots=True)
class Reduce:
    """One row per group: the columns at ``group_by``, then the aggregates.

    Without ``group_by`` it is exactly one row, as in SQL.
    """

    input: Plan
    group_by: tuple[int, ...]
    aggregates: tuple[Aggregate, ...]
    desc: RelationDesc


@dataclass(frozen=True, slots=True)
class Distinct:
    """Each distinct row of the input once."""

    input: Plan

    @property
    def desc(self) -> RelationDesc:
        return self.input.desc


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The rows of the input, which an engine keeps from one refresh of a maintained plan to the
    next. No other plan has one."""

    input: Plan

    @property
    def desc(self) -> RelationDesc:
        return self.input.desc


@dataclass(frozen=True, slots=True)
class Ordering:
    """Sort by column ``index``. The planner makes PostgreSQL's default for NULLs explicit: last
    when ascending, first when descending."""

    index: int
    is_descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class TopK:
    """The rows of each group, in ``order``, from ``offset`` on, at most ``limit`` of them.

    Without ``group_by`` all rows are one group. All remaining columns, ascending, break ties, so
    that the result is deterministic.
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
    """Each input row once per element of the longest of ``arrays``, followed by an element of each
    array, or NULL beyond its end."""

    input: Plan
    arrays: tuple[Scalar, ...]
    desc: RelationDesc


@dataclass(frozen=True, slots=True)
class WindowFunction:
    """A function of a row's position in its group, by its SQL name. ``ntile`` has ``offset``
    buckets.

    ``lag``, ``lead``, ``first_value``, ``last_value`` and ``nth_value`` return column ``value`` of
    another row: the row ``offset`` rows before or after it, or the first, last or ``offset``-th row
    of the frame. If ``lag`` or ``lead`` finds no such row, it returns column ``default``, or NULL.
    Column ``row_offset``, if there is one, says for each row what ``offset`` is; NULL answers NULL.
    """

    name: str
    value: int | None = None
    offset: int = 1
    default: int | None = None
    row_offset: int | None = None

    @property
    def counts_buckets_by_row(self) -> bool:
        """Whether it is ``ntile`` of a column. The first row of the group at which that is not NULL
        says how many buckets there are; if that is not positive, it is the result."""
        return self.name == "ntile" and self.row_offset is not None


FrameOffset = int | Decimal | float | Interval


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows of the group that a window function reads for a row, from ``start`` to ``end``.

    Both are offsets from the row, negative before it; None is the first row of the group, or the
    last. With ``is_range`` they are distances from the row's value in the only order, and zero
    means all peers of the row. What ``excludes`` names of the row is not read: ``CURRENT ROW``,
    ``GROUP`` (it and its peers) or ``TIES`` (its peers).
    """

    start: FrameOffset | None = None
    end: FrameOffset | None = 0
    is_range: bool = True
    excludes: str = ""

    @property
    def has_distance(self) -> bool:
        """Whether an offset is a distance of values."""
        return self.is_range and bool(self.start or self.end)


@dataclass(frozen=True, slots=True)
class Window:
    """The input's rows, each followed by the value of ``function`` for the row in its group.

    Without ``group_by`` all rows are one group. Groups are sorted by ``order``, ties as in
    ``TopK``. Aggregates, ``first_value`` and ``last_value`` read the rows of the ``frame``.
    """

    input: Plan
    group_by: tuple[int, ...]
    order: tuple[Ordering, ...]
    function: WindowFunction | Aggregate
    desc: RelationDesc
    frame: Frame = Frame()


@dataclass(frozen=True, slots=True)
class Union:
    """All rows of all inputs; multiplicities add up. Types agree; names are the first input's."""

    inputs: tuple[Plan, ...]
    desc: RelationDesc


@dataclass(frozen=True, slots=True)
class Except:
    """EXCEPT ALL: the left multiplicity minus the right one, never below zero.

    It is computed as the union with the negated right side, then the threshold.
    """

    left: Plan
    right: Plan

    @property
    def desc(self) -> RelationDesc:
        return self.left.desc


@dataclass(frozen=True, slots=True)
class Intersect:
    """INTERSECT ALL: the smaller of both multiplicities."""

    left: Plan
    right: Plan

    @property
    def desc(self) -> RelationDesc:
        return self.left.desc


@dataclass(frozen=True, slots=True)
class WorkTable:
    """Inside the step of the ``RecursiveUnion`` with this ``id``: the rows of the iteration before.
    With ``is_binding``, inside a ``MutualRecursion``: the newest rows of its binding with this
    ``id``.

    ``name`` is for display only.
    """

    id: int
    name: str
    desc: RelationDesc
    is_binding: bool = False


@dataclass(frozen=True, slots=True)
class RecursiveUnion:
    """``WITH RECURSIVE``: the rows of ``base``, and those of ``step``, computed again and again.

    The work table of the first iteration holds the rows of ``base``, that of each further one the
    rows that ``step`` added before. It ends when ``step`` adds no rows. With ``is_distinct`` a row
    is added once only. It fails if more than ``most_iterations`` iterations add rows.

    ``id`` is in scope in ``step`` alone: a recursion inside of it may have the same id.
    """

    base: Plan
    step: Plan
    id: int
    name: str
    is_distinct: bool
    most_iterations: int
    desc: RelationDesc
    limit: int | None = None
    """What the error calls the limit, if not ``most_iterations``."""


@dataclass(frozen=True, slots=True)
class MutualRecursion:
    """``WITH MUTUALLY RECURSIVE``: the rows of the binding at ``result`` of a block.

    All bindings are empty at first. An iteration computes each binding's value, in order, over the
    newest rows of all of them. It ends when an iteration changes no rows, or when the iteration
    ``most_iterations`` still does: with ``returns_at_limit`` the rows are those after it, and
    otherwise it fails.

    ``ids`` are those of the work tables by which ``values`` read the bindings.
    """

    values: tuple[Plan, ...]
    ids: tuple[int, ...]
    names: tuple[str, ...]
    result: int
    most_iterations: int
    returns_at_limit: bool
    desc: RelationDesc


Plan = (
    Get
    | Constant
    | Map
    | Filter
    | Project
    | Join
    | Reduce
    | Distinct
    | Arrangement
    | TopK
    | FlatMap
    | Window
    | Union
    | Except
    | Intersect
    | WorkTable
    | RecursiveUnion
    | MutualRecursion
)


@dataclass(frozen=True, slots=True)
class Finishing:
    """How the rows of a SELECT are sorted, limited and projected when they are returned.

    A maintained plan has none.
    """

    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0
    visible: int | None = None
    """How many leading columns are returned, None for all. The rest only serve ORDER BY."""


def inputs(plan: Plan) -> tuple[Plan, ...]:
    """The plans that ``plan`` reads, left to right."""
    interruption.check()
    match plan:
        case Get() | Constant() | WorkTable():
            return ()
        case RecursiveUnion():
            return (plan.base, plan.step)
        case MutualRecursion():
            return plan.values
        case Join() | Except() | Intersect():
            return (plan.left, plan.right)
        case Union():
            return plan.inputs
        case _:
            return (plan.input,)


def with_inputs(plan: Plan, parts: Sequence[Plan]) -> Plan:
    """The same node over ``parts``, in the order of ``inputs``; the node itself if nothing
    differs."""
    if all(map(operator.is_, inputs(plan), parts)):
        return plan
    match plan:
        case Get() | Constant() | WorkTable():
            return plan
        case RecursiveUnion():
            return replace(plan, base=parts[0], step=parts[1])
        case MutualRecursion():
            return replace(plan, values=tuple(parts))
        case Join() | Except() | Intersect():
            return replace(plan, left=parts[0], right=parts[1])
        case Union():
            return replace(plan, inputs=tuple(parts))
        case _:
            return replace(plan, input=parts[0])


def row_limit(plan: Plan, finishing: Finishing) -> int | None:
    """A bound on the number of rows, if ``finishing`` or the plan sets one; otherwise None."""
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
    read: set[StorageCollectionId] = set()
    waiting, seen = [plan], {id(plan)}
    while waiting:
        part = waiting.pop()
        if isinstance(part, Get):
            read.add(part.collection)
        for below in inputs(part):
            if id(below) not in seen:
                seen.add(id(below))
                waiting.append(below)
    return frozenset(read)


def work_tables(plan: Plan) -> frozenset[int]:
    """The ids of the work tables that ``plan`` reads and does not define: not empty only for a part
    of a recursion."""
    if isinstance(plan, WorkTable):
        return frozenset({plan.id})
    if isinstance(plan, RecursiveUnion):
        return work_tables(plan.base) | (work_tables(plan.step) - {plan.id})
    read = frozenset[int]().union(*(work_tables(child) for child in inputs(plan)))
    return read - frozenset(plan.ids) if isinstance(plan, MutualRecursion) else read
