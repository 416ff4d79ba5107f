"""GROUP BY: from the rows of a relation to one row for each group, and from expressions over rows
to expressions over groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from reclock.algebra.relations import BIGINT, BOOLEAN, INTEGER
from reclock.errors import GroupingError, InvalidGrouping
from reclock.plan.build import compute, join, map_columns, reduce, union
from reclock.plan.functions.records import FIELD_OF, RECORD_OF
from reclock.plan.relational import JoinKind, Plan
from reclock.plan.scalars import Aggregate, Call, Case, ColumnRef, Literal, Scalar
from reclock.sql.queries.attach import attach, rewrite_own
from reclock.sql.queries.planned import (
    AggregateCall,
    GroupingCall,
    ItemKey,
    SubqueryValue,
    TypedExpr,
    aggregate_of_parts,
    move_columns,
    parts_of_aggregate,
    scalar_of,
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


def with_determined_columns(
    keys: Sequence[TypedExpr], expressions: Sequence[TypedExpr], scope: Scope
) -> list[TypedExpr]:
    """``keys``, and the columns outside of aggregates that they determine: columns of a catalog
    relation whose key is among the keys. The groups stay the same."""
    positions: dict[object, list[int]] = {}
    for i, column in enumerate(scope.columns):
        if column.relation is not None:
            positions.setdefault((column.relation, column.qualified), []).append(i)
    determined: set[int] = set()
    for places in positions.values():
        key = [i for i in places if scope.columns[i].is_key]
        if key and all(ColumnRef(i, scope.columns[i].type) in keys for i in key):
            determined |= set(places)
    extended_keys = dict.fromkeys(keys)

    def find(part: TypedExpr) -> TypedExpr | None:
        if isinstance(part, ColumnRef) and part.index in determined:
            extended_keys[part] = None
        return part if isinstance(part, AggregateCall | ColumnRef) or part in keys else None

    for expression in expressions:
        rewrite_own(expression, find)
    return list(extended_keys)


def group_by_sets(
    relation: ScopedPlan,
    sets: Sequence[Sequence[TypedExpr]],
    expressions: Sequence[TypedExpr],
    around: Plan | None = None,
) -> tuple[Plan, list[TypedExpr]]:
    """As `group`, by each of several sets of keys. Keys by which a row is not grouped are NULL.

    With ``around``, its columns are the first keys of every set, and a set of no others has a group
    for each of its rows.
    """
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
        if around is not None and len(chosen) == len(around.desc):
            grouped = of_every_row(around, grouped)
        key_columns: list[Scalar] = [
            ColumnRef(chosen.index(key), key.type) if key in chosen else Literal(None, key.type)
            for key in keys
        ]
        values = [
            ColumnRef(len(chosen) + i, aggregate.type) for i, aggregate in enumerate(attached)
        ]
        bits = [Literal(_bits(grouping, keys, chosen), grouping.type) for grouping in groupings]
        branches.append(compute(grouped, [*key_columns, *values, *bits], names))
    return union(branches), [
        _over_groups(expression, keys, aggregates, groupings, relation.scope)
        for expression in expressions
    ]


def without_lone_item_keys(sets: Sequence[Sequence[TypedExpr]]) -> list[list[TypedExpr]]:
    """The grouping sets with an ``ItemKey`` only where its value is another key too. In a single
    set, keys of the same value are one."""
    keys = list(dict.fromkeys(key for grouping_set in sets for key in grouping_set))
    values = [_value_of(key) for key in keys]
    is_plain = [
        len(sets) == 1 or (value not in keys and values.index(value) == i)
        for i, value in enumerate(values)
    ]
    plain = {key: values[i] if is_plain[i] else key for i, key in enumerate(keys)}
    return [list(dict.fromkeys(plain[key] for key in grouping_set)) for grouping_set in sets]


def _value_of(key: TypedExpr) -> TypedExpr:
    return key.value if isinstance(key, ItemKey) else key


def _attached(
    relation: ScopedPlan, keys: Sequence[TypedExpr], calls: list[AggregateCall]
) -> tuple[Plan, list[int], list[Aggregate]]:
    """Rows that have the keys at these indexes, and the aggregates of them."""
    plan, placed = attach(
        relation.plan,
        [
            *map(_value_of, keys),
            *(part for call in calls for part in parts_of_aggregate(call.aggregate)),
        ],
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

    return rewrite_own(value, change)


def of_every_row(around: Plan, groups: Plan) -> Plan:
    """The groups by a row around, and those of the rows around that have none: an aggregate answers
    a row for each."""
    width = len(around.desc)
    rows = [ColumnRef(i, type) for i, type in enumerate(around.desc.types)]
    same = [
        Call("is_not_distinct", (row, ColumnRef(width + row.index, row.type)), BOOLEAN)
        for row in rows
    ]
    aggregates = [
        ColumnRef(i, column.type) for i, column in enumerate(groups.desc.columns) if i >= width
    ]
    values = [
        scalar_of(move_columns(of_no_rows(value, groups, width), lambda i: width + i))
        for value in aggregates
    ]
    joined = join(around, groups, JoinKind.LEFT, same)
    return compute(joined, [*rows, *values], groups.desc.names)


def makes_groups(expression: TypedExpr) -> bool:
    """Whether ``expression`` has an aggregate outside of its subqueries."""
    return any(_parts_of_kind([expression], kind) for kind in (AggregateCall, GroupingCall))


def _bits(grouping: GroupingCall, keys: Sequence[TypedExpr], chosen: Sequence[TypedExpr]) -> int:
    values = [_value_of(key) for key in keys]
    grouped_keys = (keys[values.index(key)] if key in values else key for key in grouping.keys)
    return int("".join("01"[key not in chosen] for key in grouped_keys), 2)


def _parts_of_kind(expressions: Sequence[TypedExpr], kind: type[T]) -> list[T]:
    """The parts of a class that occur in the expressions, each once."""
    parts: dict[T, None] = {}
    for expression in expressions:
        for part in walk(expression):
            if isinstance(part, SubqueryValue):
                inner = [part.result, *part.conditions, *part.domain]
                parts |= dict.fromkeys(_parts_of_kind(inner, kind))
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
            if part in in_rows:
                return in_rows[part]
            raise GroupingError(column(part.index))
        return None

    in_rows = _in_grouped_rows(keys)
    if isinstance(expression, ColumnRef) and expression in in_rows and expression not in keys:
        raise GroupingError(column(expression.index))
    return rewrite_own(expression, change)


def _in_grouped_rows(keys: Sequence[TypedExpr]) -> dict[TypedExpr, TypedExpr]:
    """The columns of whole rows that are keys, as fields of the keys."""
    in_rows: dict[TypedExpr, TypedExpr] = {}
    for i, key in enumerate(keys):
        row = _value_of(key)
        if isinstance(row, Case):  # of a relation that an outer join may have no row of
            row = row.otherwise
        if not isinstance(row, Call) or row.function != RECORD_OF:
            continue
        for place, column in enumerate(row.arguments, start=1):
            parts: tuple[TypedExpr, ...] = (ColumnRef(i, key.type), Literal(place, INTEGER))
            in_rows.setdefault(column, Call(FIELD_OF, parts, column.type))
    return in_rows
