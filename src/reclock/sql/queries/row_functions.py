"""Expressions of a select list that concern rows rather than values: functions that return several
rows, and window functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeVar

from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    INTEGER,
    INTERVAL,
    OID,
    TEXT,
    TIMESTAMPTZ,
    Column,
    RelationDesc,
    ScalarType,
    TypeName,
    array,
)
from reclock.errors import UnknownFunction, UnsupportedSql
from reclock.plan.build import map_columns
from reclock.plan.functions.jsonb import ROWS_OF
from reclock.plan.functions.maps import MAP_KEYS, MAP_VALUES
from reclock.plan.functions.regexp_functions import MATCHES
from reclock.plan.relational import FlatMap, Ordering, Plan, Window, WindowFunction
from reclock.plan.scalars import Aggregate, ColumnRef, Literal
from reclock.sql.queries.attach import attach
from reclock.sql.queries.coercion import coerce, comparable
from reclock.sql.queries.list_calls import UNNESTED_MAP
from reclock.sql.queries.overloads import is_open
from reclock.sql.queries.planned import (
    Elements,
    InWindow,
    Planned,
    TypedExpr,
    has,
    rewrite,
    scalar_of,
    scalars_of,
    walk,
)
from reclock.sql.queries.scope import ScopedPlan
from reclock.sql.syntax.dialect import Reclock

T = TypeVar("T")

CallFunction = Callable[[str, Sequence[Planned]], TypedExpr]


def _nothing(
    columns: Sequence[ScalarType],
) -> Callable[[CallFunction, Sequence[Planned]], list[TypedExpr]]:
    return lambda call, arguments: [Literal((), array(type)) for type in columns]


def _document_rows(name: str) -> Callable[[CallFunction, Sequence[Planned]], list[TypedExpr]]:
    return lambda call, arguments: [call(f"{ROWS_OF}{name}", arguments)]


def _members(name: str) -> Callable[[CallFunction, Sequence[Planned]], list[TypedExpr]]:
    return lambda call, arguments: [
        call(f"{ROWS_OF}keys", arguments),
        call(f"{ROWS_OF}{name}", arguments),
    ]


def _keywords() -> list[TypedExpr]:
    """The words that the parser knows, each with whether it can be a name without quotes."""
    keywords = Reclock.tokenizer_class.KEYWORDS
    words = sorted(word for word in keywords if word.isalpha())
    names = [keywords[word] in Reclock.parser_class.ID_VAR_TOKENS for word in words]
    categories = ["unreserved" if is_name else "reserved" for is_name in names]
    labels = ["can be bare label" if is_name else "requires AS" for is_name in names]
    columns: list[tuple[Sequence[object], ScalarType]] = [
        ([word.lower() for word in words], TEXT),
        ([category[0].upper() for category in categories], TEXT),
        (names, BOOLEAN),
        (categories, TEXT),
        (labels, TEXT),
    ]
    return [Literal(tuple(values), array(type)) for values, type in columns]


def _parts(call: CallFunction, arguments: Sequence[Planned]) -> TypedExpr:
    parts = call("string_to_array", arguments[:2])
    return call("string_to_array with null", [parts, arguments[2]]) if arguments[2:] else parts


def _series(call: CallFunction, arguments: Sequence[Planned]) -> TypedExpr:
    if len(arguments) == 3 and arguments[2].type == INTERVAL and all(map(is_open, arguments[:2])):
        first, last, step = arguments  # PostgreSQL prefers timestamptz to timestamp
        return call("series", [coerce(first, TIMESTAMPTZ), coerce(last, TIMESTAMPTZ), step])
    try:
        return call("series", arguments)
    except UnknownFunction:
        types = [
            "unknown" if argument.type is None else str(argument.type.unconstrained)
            for argument in arguments
        ]
        raise UnknownFunction("generate_series", types) from None


def _subscripts(call: CallFunction, arguments: Sequence[Planned]) -> TypedExpr:
    """The subscripts of a dimension of an array, from the last one if a third argument is true."""
    array, *of_dimension = arguments[:2]
    length = call("array_length", [array, *of_dimension])
    first: TypedExpr = Literal(1, INTEGER)
    last = length
    if array.type is not None and array.type.name is TypeName.VECTOR:
        first, last = Literal(0, INTEGER), call("-", [length, Literal(1, INTEGER)])
    match [coerce(argument, BOOLEAN) for argument in arguments[2:]]:
        case [] | [Literal(False)]:
            return call("series", [first, last])
        case [Literal(True)]:
            return call("series", [last, first, Literal(-1, INTEGER)])
        case [_]:
            raise UnsupportedSql("a direction of generate_subscripts must be a constant")
        case _:
            return call("array_length", arguments)  # raises that there is no such function


PAIRS = "_pg_expandarray"
"""The function of ``information_schema`` that JDBC drivers call for the columns of an index: each
element of an array with its place."""


def _pairs(call: CallFunction, arguments: Sequence[Planned]) -> list[TypedExpr]:
    length = call("array_length", [*arguments, Literal(1, INTEGER)])
    return [call("elements", arguments), call("series", [Literal(1, INTEGER), length])]


ROW_FUNCTIONS: dict[str, Callable[[CallFunction, Sequence[Planned]], list[TypedExpr]]] = {
    # name: the arrays whose elements are its columns
    "unnest": lambda call, arguments: (
        [call("elements", [argument]) for argument in arguments] or [call("elements", [])]
    ),
    UNNESTED_MAP: lambda call, arguments: [
        call(MAP_KEYS, arguments),
        call(MAP_VALUES, arguments),
    ],
    "string_to_table": lambda call, arguments: [_parts(call, arguments)],
    "regexp_split_to_table": lambda call, arguments: [call("regexp_split_to_array", arguments)],
    "regexp_matches": lambda call, arguments: [call(MATCHES, arguments)],
    "generate_series": lambda call, arguments: [_series(call, arguments)],
    "generate_subscripts": lambda call, arguments: [_subscripts(call, arguments)],
    **{
        name: _document_rows(name)
        for name in (
            *("jsonb_array_elements", "jsonb_array_elements_text"),
            *("jsonb_object_keys", "jsonb_path_query"),
        )
    },
    "jsonb_each": _members("jsonb_each"),
    "jsonb_each_text": _members("jsonb_each_text"),
    "pg_available_extensions": _nothing((TEXT, TEXT, TEXT)),
    "pg_partition_ancestors": _nothing((OID,)),
    "pg_get_keywords": lambda call, arguments: _keywords(),
    "pg_options_to_table": _nothing((TEXT, TEXT)),
    PAIRS: _pairs,
}
"""Functions that return rows, in FROM and in a select list: there several columns are a record."""

COLUMNS = {
    UNNESTED_MAP: ("key", "value"),
    "jsonb_array_elements": ("value",),
    "jsonb_array_elements_text": ("value",),
    "jsonb_each": ("key", "value"),
    "jsonb_each_text": ("key", "value"),
    "pg_get_keywords": ("word", "catcode", "barelabel", "catdesc", "baredesc"),
    "pg_options_to_table": ("option_name", "option_value"),
    PAIRS: ("x", "n"),
}
"""The names of the columns of functions that name them."""


def in_windows(plan: Plan, values: Sequence[TypedExpr]) -> tuple[Plan, list[TypedExpr]]:
    """``plan`` with the window functions of ``values``, and the values over it."""
    for window in _parts_of_kind(values, InWindow):
        plan, result = _in_window(plan, window)
        values = [_replaced(value, window, result) for value in values]
    return plan, list(values)


def spread(plan: Plan, values: Sequence[TypedExpr]) -> tuple[Plan, list[TypedExpr]]:
    """``plan`` with the rows that functions of ``values`` return, and the values over it. Several
    functions advance side by side."""
    while elements := _innermost_elements(values):
        width = len(plan.desc)
        columns = tuple(
            Column(f"column{width + i + 1}", element.type) for i, element in enumerate(elements)
        )
        plan = FlatMap(
            plan,
            tuple(scalar_of(element.array) for element in elements),
            RelationDesc(plan.desc.columns + columns),
        )
        for i, element in enumerate(elements):
            values = [
                _replaced(value, element, ColumnRef(width + i, element.type)) for value in values
            ]
    return plan, list(values)


def with_spread_keys(
    relation: ScopedPlan, keys: Sequence[TypedExpr], values: Sequence[TypedExpr]
) -> tuple[ScopedPlan, list[TypedExpr], list[TypedExpr]]:
    """The relation with the rows that functions of ``keys`` return, which are grouped afterwards,
    and ``keys`` and ``values`` over it."""
    if not has_rows(keys):
        return relation, list(keys), list(values)
    plan, places = spread(*attach(relation.plan, keys))
    moved = {key: place for key, place in zip(keys, places, strict=True) if has(key, Elements)}
    return (
        replace(relation, plan=plan),
        [moved.get(key, key) for key in keys],
        [rewrite(value, moved.get) for value in values],
    )


def has_rows(values: Sequence[TypedExpr]) -> bool:
    """Whether one of them contains a function that returns several rows."""
    return any(has(value, Elements) for value in values)


def _in_window(plan: Plan, window_call: InWindow) -> tuple[Plan, ColumnRef]:
    keys = (*window_call.partition, *window_call.order)
    # an aggregate may need to know a constant: the separator of texts
    is_aggregate = isinstance(window_call.function, Aggregate)
    read = [
        value
        for value in window_call.arguments
        if not (is_aggregate and isinstance(value, Literal))
    ]
    inputs = scalars_of([*(comparable(key) for key in keys), *read])
    computed = list(dict.fromkeys(value for value in inputs if not isinstance(value, ColumnRef)))
    width = len(plan.desc)
    plan = map_columns(plan, computed)
    indexes = iter(
        [
            value.index if isinstance(value, ColumnRef) else width + computed.index(value)
            for value in inputs
        ]
    )
    group_by = tuple(islice(indexes, len(window_call.partition)))
    ordered = islice(indexes, len(window_call.order))
    order = tuple(
        Ordering(*key)
        for key in zip(ordered, window_call.is_descending, window_call.nulls_first, strict=True)
    )
    of, frame = list(indexes), window_call.frame
    if window_call.counts_groups:  # the same as distances of their numbers
        numbers = RelationDesc((*plan.desc.columns, Column("dense_rank", BIGINT)))
        plan = Window(plan, group_by, order, WindowFunction("dense_rank"), numbers)
        order = (Ordering(len(numbers) - 1),)
    function: WindowFunction | Aggregate
    if isinstance(window_call.function, Aggregate):
        name = window_call.function.function
        places = iter(of)
        arguments = [
            value if isinstance(value, Literal) else ColumnRef(next(places), value.type)
            for value in window_call.arguments
        ]
        function = replace(window_call.function, arguments=tuple(arguments))
    else:
        name = window_call.function.name
        function = _with_columns(window_call.function, of)
    column = Column(name, window_call.type, is_nullable=bool(window_call.arguments))
    window = Window(
        plan,
        group_by,
        order,
        function,
        RelationDesc((*plan.desc.columns, column)),
        frame,
    )
    return window, ColumnRef(len(plan.desc), window_call.type)


def _with_columns(function: WindowFunction, arguments: Sequence[int]) -> WindowFunction:
    """The function of these columns: of its value, default and offset."""
    if function.name == "ntile":
        return replace(function, row_offset=next(iter(arguments), None))
    value, default, row_offset, *_ = [*arguments, None, None, None]
    if function.name == "nth_value":  # it has no default
        default, row_offset = None, default
    return replace(function, value=value, default=default, row_offset=row_offset)


def _parts_of_kind(values: Sequence[TypedExpr], kind: type[T]) -> list[T]:
    return list(
        dict.fromkeys(part for value in values for part in walk(value) if isinstance(part, kind))
    )


def _innermost_elements(values: Sequence[TypedExpr]) -> list[Elements]:
    elements = _parts_of_kind(values, Elements)
    return [element for element in elements if not has(element.array, Elements)]


def _replaced(value: TypedExpr, old: TypedExpr, new: TypedExpr) -> TypedExpr:
    return rewrite(value, lambda part: new if part == old else None)
