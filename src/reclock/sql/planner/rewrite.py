"""Scalars as trees: going through them, rewriting them, and what they may do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import INTEGER, Column, ScalarType
from reclock.plan.relational import Frame, Plan, WindowFunction
from reclock.plan.scalars import Aggregate, Call, Case, Cast, ColumnRef, Literal
from reclock.sql.parameters import NO_PARAMETERS, Parameters


@dataclass(frozen=True, slots=True)
class Untyped:
    """A string constant, or NULL, whose type its surroundings will give. Never leaves planning."""

    text: str | None
    type: None = None


@dataclass(frozen=True, slots=True)
class OpenParameter(Untyped):
    """A parameter of which nothing has told the type yet. Never leaves planning."""

    number: int = 0
    parameters: Parameters = field(default=NO_PARAMETERS, compare=False)


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """An aggregate as it stands in an expression, until its rows are grouped. Never leaves planning."""

    aggregate: Aggregate

    @property
    def type(self) -> ScalarType:
        return self.aggregate.type


@dataclass(frozen=True, slots=True)
class GroupingCall:
    """``GROUPING`` as it stands in an expression: a bit for each of the keys, which is set where a row is not grouped by it. Never
    leaves planning."""

    keys: tuple[Any, ...]
    type: ScalarType = INTEGER


@dataclass(frozen=True, slots=True)
class OuterRef:
    """A column of the query around a subquery. Never leaves planning."""

    index: int
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Elements:
    """A function that answers rows, as it stands in a select list: the elements of ``array``. Never leaves planning."""

    array: Any

    @property
    def type(self) -> ScalarType:
        return self.array.type.element  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class InWindow:
    """A window function, or an aggregate over a window, as it stands in a select list. Never leaves planning.

    ``function`` is without columns; ``arguments`` are its value and default, or those of the aggregate. ``is_descending`` and
    ``nulls_first`` are of ``order``, one by one.
    """

    function: WindowFunction | Aggregate
    arguments: tuple[Any, ...]
    partition: tuple[Any, ...]
    order: tuple[Any, ...]
    is_descending: tuple[bool, ...]
    nulls_first: tuple[bool, ...]
    frame: Frame
    type: ScalarType


@dataclass(frozen=True, slots=True)
class SubqueryValue:
    """A subquery as it stands in an expression, until it is joined. Never leaves planning.

    Of ``plan``'s rows at most one meets ``conditions`` for a row of the query around it, and exactly one if ``is_exactly_one``.
    In ``conditions`` and ``result`` the row around is an ``OuterRef``, the subquery's own row a ``ColumnRef``, all NULL if there
    is none.
    """

    plan: Plan
    conditions: tuple[Any, ...]
    result: Any
    is_exactly_one: bool = False
    domain: tuple[OuterRef, ...] = ()
    """Columns of the row around that ``plan`` itself needs: where it reads ``AROUND``, it reads their distinct values."""

    @property
    def type(self) -> ScalarType:
        return self.result.type  # type: ignore[no-any-return]


AROUND = StorageCollectionId(GlobalId("t1"))
"""Stands in a subquery's plan for rows of the query around it, until these are known. Never leaves planning."""


def children(scalar: Any) -> tuple[Any, ...]:
    match scalar:
        case Call():
            return scalar.arguments
        case Cast():
            return (scalar.operand,)
        case Case():
            return (*(part for branch in scalar.branches for part in branch), scalar.otherwise)
        case Elements(array):
            return (array,)
        case InWindow():
            return (*scalar.partition, *scalar.order, *scalar.arguments)
        case AggregateCall(aggregate):
            return (*aggregate.arguments, *((aggregate.filter,) if aggregate.filter is not None else ()))
        case _:
            return ()


def with_children(scalar: Any, parts: Sequence[Any]) -> Any:
    """The same node over other children, given in the order of ``children``."""
    match scalar:
        case Call():
            return replace(scalar, arguments=tuple(parts))
        case Cast():
            return replace(scalar, operand=parts[0])
        case Case():
            pairs = tuple(zip(parts[:-1:2], parts[1:-1:2], strict=True))
            return replace(scalar, branches=pairs, otherwise=parts[-1])
        case Elements():
            return Elements(parts[0])
        case InWindow():
            keys, all = len(scalar.partition), len(scalar.partition) + len(scalar.order)
            return replace(scalar, partition=tuple(parts[:keys]), order=tuple(parts[keys:all]), arguments=tuple(parts[all:]))
        case AggregateCall(aggregate):
            count = len(aggregate.arguments)
            filter = parts[count] if aggregate.filter is not None else None
            return AggregateCall(replace(aggregate, arguments=tuple(parts[:count]), filter=filter))
        case _:
            return scalar


def rewrite(scalar: Any, change: Callable[[Any], Any | None]) -> Any:
    """From the top: where ``change`` answers, its answer stands; elsewhere the children are rewritten."""
    changed = change(scalar)
    if changed is not None:
        return changed
    parts = children(scalar)
    return with_children(scalar, [rewrite(part, change) for part in parts]) if parts else scalar


def walk(scalar: Any) -> Iterator[Any]:
    """The scalar and everything in it."""
    yield scalar
    for part in children(scalar):
        yield from walk(part)


def columns_of(scalar: Any) -> frozenset[int]:
    return frozenset(part.index for part in walk(scalar) if isinstance(part, ColumnRef))


def has(scalar: Any, *kinds: type) -> bool:
    return any(isinstance(part, kinds) for part in walk(scalar))


def move_columns(scalar: Any, to: Callable[[int], int]) -> Any:
    """The scalar over a row in which column ``i`` stands at ``to(i)``."""
    return rewrite(scalar, lambda part: ColumnRef(to(part.index), part.type) if isinstance(part, ColumnRef) else None)


_STRICT = frozenset(
    {"+", "-", "*", "%", "&", "|", "=", "<>", "<", "<=", ">", ">=", "and", "or", "not", "concat", "||", "like", "ilike", "negate"}
)


def is_nullable(scalar: Any, columns: Sequence[Column]) -> bool:
    """Whether the scalar may be NULL over rows of these columns. True if unsure."""
    match scalar:
        case ColumnRef(index):
            return columns[index].is_nullable
        case Literal(value):
            return value is None
        case Cast(operand):
            return is_nullable(operand, columns)
        case Call("is_null" | "is_not_distinct"):
            return False
        case Call(function, arguments) if function in _STRICT:
            return any(is_nullable(part, columns) for part in arguments)
        case Case(branches, otherwise):
            return any(is_nullable(result, columns) for _, result in branches) or is_nullable(otherwise, columns)
        case _:
            return True
