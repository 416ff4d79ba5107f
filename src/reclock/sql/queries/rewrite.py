"""Scalars that exist only during planning, before the plan is complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import INTEGER, ScalarType
from reclock.plan.relational import Frame, Plan, WindowFunction
from reclock.plan.scalar_trees import children, with_children
from reclock.plan.scalars import Aggregate
from reclock.sql.parameters import NO_PARAMETERS, Parameters


@dataclass(frozen=True, slots=True)
class Untyped:
    """A string constant, or NULL, whose type follows from its context. Only during planning."""

    text: str | None
    type: None = None


@dataclass(frozen=True, slots=True)
class OpenParameter(Untyped):
    """A parameter whose type is not known yet. Only during planning."""

    number: int = 0
    parameters: Parameters = field(default=NO_PARAMETERS, compare=False)


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """An aggregate in an expression, before its rows are grouped. Only during planning."""

    aggregate: Aggregate

    @property
    def type(self) -> ScalarType:
        return self.aggregate.type


@dataclass(frozen=True, slots=True)
class GroupingCall:
    """``GROUPING`` in an expression: one bit for each key, set if a row is not grouped by it. Only
    during planning."""

    keys: tuple[Any, ...]
    type: ScalarType = INTEGER


@dataclass(frozen=True, slots=True)
class OuterRef:
    """A column of a subquery's outer query. Only during planning."""

    index: int
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Elements:
    """A function that returns rows, in a select list: the elements of ``array``. Only during
    planning."""

    array: Any

    @property
    def type(self) -> ScalarType:
        return self.array.type.element  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class InWindow:
    """A window function, or an aggregate over a window, as it stands in a select list. Never leaves
    planning.

    ``function`` is without columns; ``arguments`` are its value and default, or those of the
    aggregate. ``is_descending`` and ``nulls_first`` are of ``order``, one by one.
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

    Of ``plan``'s rows at most one meets ``conditions`` for a row of the query around it, and
    exactly one if ``is_exactly_one``. In ``conditions`` and ``result`` the row around is an
    ``OuterRef``, the subquery's own row a ``ColumnRef``, all NULL if there is none.
    """

    plan: Plan
    conditions: tuple[Any, ...]
    result: Any
    is_exactly_one: bool = False
    domain: tuple[Any, ...] = ()
    """What ``plan`` itself needs of the row around: where it reads ``AROUND``, it reads the
    distinct values of these scalars."""

    @property
    def type(self) -> ScalarType:
        return self.result.type  # type: ignore[no-any-return]


AROUND = StorageCollectionId(GlobalId("t1"))
"""Stands in a subquery's plan for rows of the query around it, until these are known. Never leaves
planning."""


@children.register
def _(scalar: Elements) -> tuple[Any, ...]:
    return (scalar.array,)


@with_children.register
def _(scalar: Elements, parts: Sequence[Any]) -> Any:
    return Elements(parts[0])


@children.register
def _(scalar: InWindow) -> tuple[Any, ...]:
    return (*scalar.partition, *scalar.order, *scalar.arguments)


@with_children.register
def _(scalar: InWindow, parts: Sequence[Any]) -> Any:
    keys, ordered = len(scalar.partition), len(scalar.partition) + len(scalar.order)
    return replace(
        scalar,
        partition=tuple(parts[:keys]),
        order=tuple(parts[keys:ordered]),
        arguments=tuple(parts[ordered:]),
    )


@children.register
def _(scalar: AggregateCall) -> tuple[Any, ...]:
    aggregate = scalar.aggregate
    return (*aggregate.arguments, *((aggregate.filter,) if aggregate.filter is not None else ()))


@with_children.register
def _(scalar: AggregateCall, parts: Sequence[Any]) -> Any:
    aggregate = scalar.aggregate
    count = len(aggregate.arguments)
    filter = parts[count] if aggregate.filter is not None else None
    return AggregateCall(replace(aggregate, arguments=tuple(parts[:count]), filter=filter))
