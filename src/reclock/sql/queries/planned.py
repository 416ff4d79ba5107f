"""Planned expressions: scalars, and nodes that exist only during planning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeGuard, TypeVar

from sqlglot import exp

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import INTEGER, ScalarType
from reclock.errors import InternalError
from reclock.plan import scalar_trees
from reclock.plan.relational import Frame, Plan, WindowFunction
from reclock.plan.scalars import Aggregate, Call, Case, Cast, ColumnRef, Literal, Parameter, Scalar
from reclock.sql.parameters import NO_PARAMETERS, Parameters

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Untyped:
    """A string constant, or NULL, whose type follows from its context. Only during planning."""

    text: str | None
    type: None = None
    node: exp.Expr | None = field(default=None, compare=False, kw_only=True)
    """As it is written."""


@dataclass(frozen=True, slots=True)
class OpenParameter(Untyped):
    """A parameter whose type is not known yet. Only during planning."""

    number: int = 0
    parameters: Parameters = field(default=NO_PARAMETERS, compare=False)


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """An aggregate in an expression, before its rows are grouped. Only during planning."""

    aggregate: Aggregate[TypedExpr]

    @property
    def type(self) -> ScalarType:
        return self.aggregate.type


@dataclass(frozen=True, slots=True)
class GroupingCall:
    """``GROUPING`` in an expression: one bit for each key, set if a row is not grouped by it. Only
    during planning."""

    keys: tuple[TypedExpr, ...]
    type: ScalarType = INTEGER


@dataclass(frozen=True, slots=True)
class ItemKey:
    """A grouping key that is the item at ``position`` of the select list, where an item before it
    has the same value and is a key of its own. Only during planning."""

    value: TypedExpr
    position: int

    @property
    def type(self) -> ScalarType:
        return self.value.type


@dataclass(frozen=True, slots=True)
class OuterRef:
    """A column of a subquery's outer query. Only during planning."""

    index: int
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Elements:
    """A function that returns rows, in a select list: the elements of ``array``. Only during
    planning."""

    array: TypedExpr

    @property
    def type(self) -> ScalarType:
        element = self.array.type.element
        assert element is not None
        return element


@dataclass(frozen=True, slots=True)
class InWindow:
    """A window function, or an aggregate over a window, as it is in a select list. Never leaves
    planning.

    ``function`` is without columns; ``arguments`` are its value, default and offset, or those of the
    aggregate. ``is_descending`` and ``nulls_first`` are of ``order``, one by one.
    """

    function: WindowFunction | Aggregate
    arguments: tuple[TypedExpr, ...]
    partition: tuple[TypedExpr, ...]
    order: tuple[TypedExpr, ...]
    is_descending: tuple[bool, ...]
    nulls_first: tuple[bool, ...]
    frame: Frame
    type: ScalarType
    counts_groups: bool = False
    """Whether the offsets of the frame count groups of peers."""


@dataclass(frozen=True, slots=True)
class SubqueryValue:
    """A subquery as it is in an expression, until it is joined. Never leaves planning.

    Of ``plan``'s rows at most one meets ``conditions`` for a row of the query around it, and
    exactly one if ``is_exactly_one``. In ``conditions`` and ``result`` the row around is an
    ``OuterRef``, the subquery's own row a ``ColumnRef``, all NULL if there is none.
    """

    plan: Plan
    conditions: tuple[TypedExpr, ...]
    result: TypedExpr
    is_exactly_one: bool = False
    domain: tuple[TypedExpr, ...] = ()
    """What ``plan`` itself needs of the row around: where it reads ``AROUND``, it reads the
    distinct values of these scalars."""

    @property
    def type(self) -> ScalarType:
        return self.result.type


@dataclass(frozen=True, slots=True)
class SubqueryRows:
    """A subquery's rows before its ``select_list``, and the conditions on the outer row that they must
    meet."""

    plan: Plan
    conditions: tuple[TypedExpr, ...]
    select_list: tuple[TypedExpr, ...]


TypedExpr = (
    ColumnRef
    | Literal
    | Parameter
    | Call["TypedExpr"]
    | Cast["TypedExpr"]
    | Case["TypedExpr"]
    | OuterRef
    | AggregateCall
    | GroupingCall
    | ItemKey
    | Elements
    | InWindow
    | SubqueryValue
)
"""An expression of known type. It is a scalar of a plan where nothing in it is of planning only."""

Planned = TypedExpr | Untyped
"""What the planner makes of an expression."""

E = TypeVar("E", Scalar, TypedExpr)
"""For functions that make a scalar from scalars, and else an expression."""

_OF_PLANNING = (OuterRef, AggregateCall, GroupingCall, ItemKey, Elements, InWindow, SubqueryValue)

AROUND = StorageCollectionId(GlobalId("t1"))
"""Stands in a subquery's plan for rows of the query around it, until these are known. Never leaves
planning."""


def is_scalar(value: TypedExpr) -> TypeGuard[Scalar]:
    """Whether a plan can have ``value``: nothing in it exists only during planning."""
    return not has(value, *_OF_PLANNING)


def scalar_of(value: TypedExpr) -> Scalar:
    """``value``, which planning is done with."""
    if not is_scalar(value):
        raise InternalError("an expression is used before it is planned completely")
    return value


def scalars_of(values: Iterable[TypedExpr]) -> list[Scalar]:
    return [scalar_of(value) for value in values]


def children(expression: TypedExpr) -> tuple[TypedExpr, ...]:
    """The direct parts of ``expression``, in order. Those of a subquery are of another row."""
    match expression:
        case AggregateCall():
            return parts_of_aggregate(expression.aggregate)
        case ItemKey():
            return (expression.value,)
        case Elements():
            return (expression.array,)
        case InWindow():
            return (*expression.partition, *expression.order, *expression.arguments)
        case OuterRef() | GroupingCall() | SubqueryValue():
            return ()
        case _:
            return scalar_trees.children(expression)


def with_children(expression: TypedExpr, parts: Sequence[TypedExpr]) -> TypedExpr:
    """The same node over ``parts``, in the order of ``children``."""
    match expression:
        case AggregateCall(aggregate):
            return AggregateCall(aggregate_of_parts(aggregate, parts))
        case ItemKey():
            return replace(expression, value=parts[0])
        case Elements():
            return Elements(parts[0])
        case InWindow():
            keys = len(expression.partition)
            ordered = keys + len(expression.order)
            return replace(
                expression,
                partition=tuple(parts[:keys]),
                order=tuple(parts[keys:ordered]),
                arguments=tuple(parts[ordered:]),
            )
        case OuterRef() | GroupingCall() | SubqueryValue():
            return expression
        case _:
            return scalar_trees.with_children(expression, parts)


def parts_of_aggregate(aggregate: Aggregate[TypedExpr]) -> tuple[TypedExpr, ...]:
    """Its arguments, then its filter if there is one."""
    filter = aggregate.filter
    return aggregate.arguments if filter is None else (*aggregate.arguments, filter)


def aggregate_of_parts(aggregate: Aggregate[TypedExpr], parts: Sequence[T]) -> Aggregate[T]:
    """The aggregate over ``parts``, in the order of ``parts_of_aggregate``."""
    count = len(aggregate.arguments)
    return Aggregate(
        aggregate.function,
        tuple(parts[:count]),
        aggregate.type,
        aggregate.is_distinct,
        parts[count] if aggregate.filter is not None else None,
    )


_trees = scalar_trees.Trees[TypedExpr](children, with_children)
rewrite, walk, columns_of, has = _trees.rewrite, _trees.walk, _trees.columns_of, _trees.has


def move_columns(expression: TypedExpr, to: Callable[[int], int]) -> TypedExpr:
    """The expression with every reference to column ``i`` made one to column ``to(i)``."""
    return rewrite(
        expression,
        lambda part: ColumnRef(to(part.index), part.type) if isinstance(part, ColumnRef) else None,
    )
