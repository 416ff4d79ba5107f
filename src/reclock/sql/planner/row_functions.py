"""What stands in a select list and concerns rows rather than values: functions that answer several, and the place of a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from reclock.algebra.relations import BIGINT, INTEGER, OID, TEXT, Column, RelationDesc, TypeName, array
from reclock.compute.plan import FlatMap, Number, Ordering, Plan
from reclock.compute.scalars import ColumnRef, Literal
from reclock.sql.planner.build import map_columns
from reclock.sql.planner.rewrite import Elements, Place, rewrite, walk

Call = Callable[[str, Sequence[Any]], Any]


def _nothing(columns: Sequence[Any]) -> Callable[[Call, Sequence[Any]], list[Any]]:
    return lambda call, arguments: [Literal((), array(type)) for type in columns]


def _subscripts(call: Call, arguments: Sequence[Any]) -> Any:
    length = call("array_length", arguments)
    if arguments[0].type.name is not TypeName.VECTOR:
        return call("series", [Literal(1, INTEGER), length])
    return call("series", [Literal(0, INTEGER), call("-", [length, Literal(1, INTEGER)])])


ROW_FUNCTIONS: dict[str, Callable[[Call, Sequence[Any]], list[Any]]] = {
    # name: the arrays whose elements are its columns
    "unnest": lambda call, arguments: [call("elements", arguments)],
    "generate_series": lambda call, arguments: [call("series", arguments)],
    "generate_subscripts": lambda call, arguments: [_subscripts(call, arguments)],
    "pg_available_extensions": _nothing((TEXT, TEXT, TEXT)),
    "pg_partition_ancestors": _nothing((OID,)),
    "pg_get_keywords": _nothing((TEXT,) * 5),
    "pg_options_to_table": _nothing((TEXT, TEXT)),
}
"""What answers rows, in a select list (if it has one column) and in FROM."""

COLUMNS = {
    "pg_get_keywords": ("word", "catcode", "barelabel", "catdesc", "baredesc"),
    "pg_options_to_table": ("option_name", "option_value"),
}
"""What the columns are called of those that have several, where clients name them."""


def spread(plan: Plan, values: Sequence[Any]) -> tuple[Plan, list[Any]]:
    """``plan`` with what ``values`` say of its rows, and the values over it. Several functions go on side by side."""
    for place in _found(values, Place):
        plan, ordinal = _numbered(plan, place)
        values = [_replaced(value, place, ordinal) for value in values]
    elements = _found(values, Elements)
    if elements:
        width = len(plan.desc)
        columns = tuple(Column(f"column{width + i + 1}", each.type) for i, each in enumerate(elements))
        plan = FlatMap(plan, tuple(each.array for each in elements), RelationDesc(plan.desc.columns + columns))
        for i, each in enumerate(elements):
            values = [_replaced(value, each, ColumnRef(width + i, each.type)) for value in values]
    return plan, list(values)


def _numbered(plan: Plan, place: Place) -> tuple[Plan, ColumnRef]:
    keys = [*place.partition, *place.order]
    computed = list(dict.fromkeys(key for key in keys if not isinstance(key, ColumnRef)))
    width = len(plan.desc)
    plan = map_columns(plan, computed)
    indexes = [key.index if isinstance(key, ColumnRef) else width + computed.index(key) for key in keys]
    group_by, ordered = indexes[: len(place.partition)], indexes[len(place.partition) :]
    order = tuple(Ordering(*each) for each in zip(ordered, place.is_descending, place.nulls_first, strict=True))
    desc = RelationDesc((*plan.desc.columns, Column("row_number", BIGINT, is_nullable=False)))
    return Number(plan, tuple(group_by), order, desc), ColumnRef(len(plan.desc), BIGINT)


def _found(values: Sequence[Any], kind: type) -> list[Any]:
    return list(dict.fromkeys(part for value in values for part in walk(value) if isinstance(part, kind)))


def _replaced(value: Any, part: Any, by: Any) -> Any:
    return rewrite(value, lambda each: by if each == part else None)
