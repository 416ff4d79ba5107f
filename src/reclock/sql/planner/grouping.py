"""GROUP BY: the rows of a relation to one row a group, and expressions over rows to expressions over groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from reclock.compute.plan import Reduce
from reclock.compute.scalars import Aggregate, ColumnRef
from reclock.errors import GroupingError
from reclock.sql.planner.attach import attach
from reclock.sql.planner.build import map_columns, reduce
from reclock.sql.planner.rewrite import AggregateCall, OuterRef, SubqueryValue, children, rewrite, walk, with_children
from reclock.sql.planner.scope import Relation, Scope


def group(relation: Relation, keys: Sequence[Any], expressions: Sequence[Any]) -> tuple[Reduce, list[Any]]:
    """The plan of the groups by ``keys``, and ``expressions`` over its rows.

    Raises ``GroupingError`` for a column outside of an aggregate that is no key.
    """
    aggregates = _aggregates(expressions)
    parts = [*keys, *(part for each in aggregates for part in children(AggregateCall(each)))]
    plan, placed = attach(relation.plan, parts)
    places = placed[: len(keys)]
    rest = iter(placed[len(keys) :])
    attached = [with_children(call, [next(rest) for _ in children(call)]).aggregate for call in map(AggregateCall, aggregates)]
    width = len(plan.desc)
    computed = [place for place in places if not isinstance(place, ColumnRef)]
    plan = map_columns(plan, computed)
    indexes = [place.index if isinstance(place, ColumnRef) else width + computed.index(place) for place in places]
    grouped = reduce(plan, indexes, attached)
    return grouped, [_over_groups(each, keys, aggregates, relation.scope) for each in expressions]


def _aggregates(expressions: Sequence[Any]) -> list[Aggregate]:
    found: dict[Aggregate, None] = {}
    for expression in expressions:
        for part in walk(expression):
            if isinstance(part, AggregateCall):
                found[part.aggregate] = None
            elif isinstance(part, SubqueryValue):
                found |= dict.fromkeys(_aggregates([part.result, *part.conditions]))
    return list(found)


def _over_groups(expression: Any, keys: Sequence[Any], aggregates: list[Aggregate], scope: Scope) -> Any:
    def column(index: int) -> str:
        found = scope.columns[index] if index < len(scope.columns) else None
        if found is None:
            return f"column {index + 1}"
        return f"{found.relation}.{found.name}" if found.relation else found.name

    def change(part: Any) -> Any | None:
        if isinstance(part, AggregateCall):
            return ColumnRef(len(keys) + aggregates.index(part.aggregate), part.type)
        if part in keys:
            return ColumnRef(keys.index(part), part.type)
        if isinstance(part, ColumnRef):
            raise GroupingError(column(part.index))
        if isinstance(part, SubqueryValue):
            conditions = tuple(rewrite(each, around) for each in part.conditions)
            domain = tuple(rewrite(each, around) for each in part.domain)
            return replace(part, conditions=conditions, result=rewrite(part.result, around), domain=domain)
        return None

    def around(part: Any) -> Any | None:
        # Inside a subquery's expressions, the row that is being grouped here is the one around.
        if isinstance(part, AggregateCall):
            return OuterRef(len(keys) + aggregates.index(part.aggregate), part.type)
        if isinstance(part, OuterRef):
            as_column = ColumnRef(part.index, part.type)
            if as_column not in keys:
                raise GroupingError(column(part.index))
            return OuterRef(keys.index(as_column), part.type)
        if isinstance(part, SubqueryValue):
            return change(part)
        return None

    return rewrite(expression, change)
