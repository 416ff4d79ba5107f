"""GROUP BY: from the rows of a relation to one row for each group, and from expressions over rows
to expressions over groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from reclock.algebra.relations import BIGINT
from reclock.errors import GroupingError, InvalidGrouping
from reclock.plan.build import compute, map_columns, reduce, union
from reclock.plan.relational import Plan
from reclock.plan.scalars import Aggregate, Call, ColumnRef, Literal, Scalar
from reclock.sql.queries.attach import attach
from reclock.sql.queries.planned import (
    AggregateCall,
    GroupingCall,
    OuterRef,
    SubqueryValue,
    TypedExpr,
    aggregate_of_parts,
    parts_of_aggregate,
    rewrite,
    scalars_of,
    walk,
)
from reclock.sql.queries.scope import Scope, ScopedPlan

T = TypeVar("T")


def group(
    relation: ScopedPlan, keys: Sequence[TypedExpr], expressions: Sequence[TypedExpr]
) -> tuple[Plan, list[TypedExpr]]:
    """The plan of the groups by ``keys``, and ``expressions`` over its rows.

    Raises ``GroupingError`` for a column outside of an aggregate that is not a key,
    ``InvalidGrouping``.
    """
    aggregates = _parts_of_kind(expressions, AggregateCall)
    plan, indexes, attached = _attached(relation, keys, aggregates)
    return reduce(plan, indexes, attached), [
        _over_groups(expression, keys, aggregates, [], relation.scope) for expression in expressions
    ]


def group_by_sets(
    relation: ScopedPlan,
    sets: Sequence[Sequence[TypedExpr]],
    expressions: Sequence[TypedExpr],
) -> tuple[Plan, list[TypedExpr]]:
    """As `group`, by each of several sets of keys. Keys by which a row is not grouped are NULL."""
    keys = list(dict.fromkeys(key for grouping_set in sets for key in grouping_set))
    aggregates = _parts_of_kind(expressions, AggregateCall)
    groupings = _parts_of_kind(expressions, GroupingCall)
    plan, indexes, attached = _attached(relation, keys, aggregates)
    names = [
        *(plan.desc.columns[i].name for i in indexes),
        *(aggregate.function for aggregate in attached),
        *("grouping" for _ in groupings),
    ]
    branches = []
    for chosen in sets:
        grouped = reduce(plan, [indexes[keys.index(key)] for key in chosen], attached)
        shown: list[Scalar] = [
            ColumnRef(chosen.index(key), key.type) if key in chosen else Literal(None, key.type)
            for key in keys
        ]
        values = [
            ColumnRef(len(chosen) + i, aggregate.type) for i, aggregate in enumerate(attached)
        ]
        bits = [Literal(_bits(grouping, chosen), grouping.type) for grouping in groupings]
        branches.append(compute(grouped, [*shown, *values, *bits], names))
    return union(branches), [
        _over_groups(expression, keys, aggregates, groupings, relation.scope)
        for expression in expressions
    ]


def _attached(
    relation: ScopedPlan, keys: Sequence[TypedExpr], calls: list[AggregateCall]
) -> tuple[Plan, list[int], list[Aggregate]]:
    """Rows that have the keys at these indexes, and the aggregates of them."""
    plan, placed = attach(
        relation.plan,
        [*keys, *(part for call in calls for part in parts_of_aggregate(call.aggregate))],
    )
    complete = scalars_of(placed)
    places = complete[: len(keys)]
    rest = iter(complete[len(keys) :])
    attached = [
        aggregate_of_parts(call.aggregate, [next(rest) for _ in parts_of_aggregate(call.aggregate)])
        for call in calls
    ]
    width = len(plan.desc)
    computed = [place for place in places if not isinstance(place, ColumnRef)]
    indexes = [
        place.index if isinstance(place, ColumnRef) else width + computed.index(place)
        for place in places
    ]
    return map_columns(plan, computed), indexes, attached


def of_no_rows(value: TypedExpr, plan: Plan, width: int) -> TypedExpr:
    """``value`` over groups of ``width`` keys, or over no row, for which aggregates are NULL and
    counts are 0."""

    def change(part: TypedExpr) -> TypedExpr | None:
        if not isinstance(part, ColumnRef) or part.index < width:
            return None
        is_count = not plan.desc.columns[part.index].is_nullable
        return Call("coalesce", (part, Literal(0, BIGINT)), BIGINT) if is_count else None

    return rewrite(value, change)


def makes_groups(expression: TypedExpr) -> bool:
    """Whether an aggregate stands in ``expression``, or beside a subquery in it."""
    return any(_parts_of_kind([expression], kind) for kind in (AggregateCall, GroupingCall))


def _bits(grouping: GroupingCall, chosen: Sequence[TypedExpr]) -> int:
    return int("".join("01"[key not in chosen] for key in grouping.keys), 2)


def _parts_of_kind(expressions: Sequence[TypedExpr], kind: type[T]) -> list[T]:
    """The parts of a class that occur in the expressions, each once."""
    parts: dict[T, None] = {}
    for expression in expressions:
        for part in walk(expression):
            if isinstance(part, SubqueryValue):
                parts |= dict.fromkeys(_parts_of_kind([part.result, *part.conditions], kind))
            elif isinstance(part, kind):
                parts[part] = None
    return list(parts)


def _over_groups(
    expression: TypedExpr,
    keys: Sequence[TypedExpr],
    aggregates: list[AggregateCall],
    groupings: list[GroupingCall],
    scope: Scope,
) -> TypedExpr:
    def column(index: int) -> str:
        if index >= len(scope.columns):
            return f"column {index + 1}"
        named = scope.columns[index]
        return f"{named.relation}.{named.name}" if named.relation else named.name

    def change(part: TypedExpr) -> TypedExpr | None:
        if isinstance(part, AggregateCall):
            return ColumnRef(len(keys) + aggregates.index(part), part.type)
        if isinstance(part, GroupingCall):
            if not set(part.keys) <= set(keys):
                raise InvalidGrouping(
                    "arguments to GROUPING must be grouping expressions of the "
                    "associated query level"
                )
            if part not in groupings:
                return Literal(0, part.type)
            return ColumnRef(len(keys) + len(aggregates) + groupings.index(part), part.type)
        if part in keys:
            return ColumnRef(keys.index(part), part.type)
        if isinstance(part, ColumnRef):
            raise GroupingError(column(part.index))
        if isinstance(part, SubqueryValue):
            conditions = tuple(rewrite(condition, around) for condition in part.conditions)
            domain = tuple(rewrite(column, around) for column in part.domain)
            return replace(
                part, conditions=conditions, result=rewrite(part.result, around), domain=domain
            )
        return None

    def around(part: TypedExpr) -> TypedExpr | None:
        # Inside a subquery's expressions, the row that is being grouped here is the one around.
        if isinstance(part, AggregateCall):
            return OuterRef(len(keys) + aggregates.index(part), part.type)
        if isinstance(part, OuterRef):
            as_column = ColumnRef(part.index, part.type)
            if as_column not in keys:
                raise GroupingError(column(part.index))
            return OuterRef(keys.index(as_column), part.type)
        if isinstance(part, SubqueryValue):
            return change(part)
        return None

    return rewrite(expression, change)
