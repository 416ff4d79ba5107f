"""Arrays, counted from 1. Elements beyond either end are NULL.

A function of all elements of an array takes one of one dimension, which `flattened` makes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reclock.algebra.intervals import Interval
from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    INTEGER,
    INTERVAL,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    ScalarType,
    TypeName,
    array,
)
from reclock.errors import EvaluationError, UnsupportedSql
from reclock.plan.functions import intervals
from reclock.plan.functions.arithmetic import duckdb_digits
from reclock.plan.functions.array_sql import innermost, listed, of_one_shape
from reclock.plan.functions.floats import with_value
from reclock.plan.functions.registry import Resolver, Site, Types, Writer, scalar, writer
from reclock.plan.functions.sql_names import listed_literal, raised, type_sql
from reclock.plan.functions.typing import common_type, exact, operand_type, parameters

Signature = tuple[tuple[ScalarType, ...], ScalarType]


def on_array(
    other_types: Callable[[ScalarType], tuple[ScalarType, ...]],
    result: Callable[[ScalarType], ScalarType],
) -> Resolver:
    """The first argument is an array; ``other_types`` and ``result`` have the type of its
    elements."""

    def resolve(types: Types, constants: Mapping[int, object]) -> Signature | None:
        if not types or types[0] is None or not types[0].is_array or types[0].element is None:
            return None
        return exact(((types[0], *other_types(types[0].element)), result(types[0].element)))(
            types, constants
        )

    return resolve


def _constructed(types: Types, constants: Mapping[int, object]) -> Signature | None:
    common = common_type(types)
    if common is None and all(type is None or type.name is TypeName.ARRAY for type in types):
        raise EvaluationError(MISMATCH, sqlstate="2202E")
    return ((common,) * len(types), array(common)) if common is not None else None


def printed(types: Types, constants: Mapping[int, object]) -> Signature | None:
    if (
        len(types) != 2
        or types[0] is None
        or not types[0].is_array
        or types[0].element is None
        or types[1] not in (TEXT, None)
    ):
        return None
    element = types[0].element
    return (
        ((array(TEXT), TEXT), TEXT)
        if element.element is None and element.name is not TypeName.BOOLEAN
        else None
    )


def _list(engine: str) -> Writer:
    def write(site: Site) -> str:
        elements = _listed(engine)(site)
        if site.result.dimensions == 1:
            return elements
        error = raised(engine, "2202E", f"'{MISMATCH}'")
        return with_value(
            engine, elements, of_one_shape(engine, "v", site.result.dimensions, error)
        )

    return write


MISMATCH = "multidimensional arrays must have array expressions with matching dimensions"
_WITHOUT_NULLS = "len({1}) = list_count({1})"

scalar(
    "array",
    "An array of these elements.",
    _constructed,
    duckdb=_list("duckdb"),
    spark=_list("spark"),
)


def _print_duckdb(site: Site) -> str:
    """DuckDB's ``array_to_string`` only takes a constant separator."""
    elements, separator = site.arguments
    if 1 in site.constants:
        printed = f"coalesce(array_to_string({elements}, {separator}), '')"
    else:
        non_null = f"list_filter({elements}, lambda v: v IS NOT NULL)"
        joined = f"list_reduce({non_null}, lambda one, next: concat(one, {separator}, next))"
        printed = f"CASE WHEN len({non_null}) = 0 THEN '' ELSE {joined} END"
    return f"(CASE WHEN {elements} IS NOT NULL AND {separator} IS NOT NULL THEN {printed} END)"


scalar(
    "array_to_string",
    "The elements that are not NULL, joined by a separator.",
    printed,
    duckdb=_print_duckdb,
    spark="array_join({0}, {1})",
)


scalar(
    "cardinality",
    "The number of elements.",
    on_array(lambda element: (), lambda element: INTEGER),
    duckdb="CAST(len({0}) AS INTEGER)",
    spark="size({0})",
)
scalar(
    "subscript",
    "The element at an index from 1; NULL beyond the ends.",
    on_array(lambda element: (INTEGER,), lambda element: element),
    duckdb="(CASE WHEN {1} >= 1 THEN list_extract({0}, {1}) END)",
    spark="(CASE WHEN {1} >= 1 THEN get({0}, {1} - 1) END)",
)
scalar(
    "array_position",
    "The index of the first element that is equal.",
    on_array(lambda element: (element,), lambda element: INTEGER),
    duckdb="CAST(nullif(list_position({0}, {1}), 0) AS INTEGER)",
    spark="CAST(nullif(array_position({0}, {1}), 0) AS INT)",
)
scalar(
    "array_remove",
    "The array without the elements that are equal.",
    on_array(lambda element: (element,), lambda element: array(element)),
    duckdb="list_filter({0}, lambda x: x IS DISTINCT FROM {1})",
    spark="filter({0}, x -> NOT (x <=> {1}))",
)


def _replaced(types: Types, constants: Mapping[int, object]) -> Signature | None:
    if not types or types[0] is None or types[0].name is not TypeName.ARRAY:
        return None
    return exact(((types[0], types[0].base, types[0].base), types[0]))(types, constants)


def _write_replaced(engine: str) -> Writer:
    def write(site: Site) -> str:
        items, old, new = site.arguments
        is_old = f"x <=> {old}" if engine == "spark" else f"x IS NOT DISTINCT FROM {old}"
        value = f"CASE WHEN {is_old} THEN {new} ELSE x END"
        change = (
            "transform({}, x -> {})" if engine == "spark" else "list_transform({}, lambda x: {})"
        )
        return innermost(
            engine, items, site.result.dimensions, lambda row: change.format(row, value)
        )

    return write


scalar(
    "array_replace",
    "The array with a third value in place of each element that is equal to the second.",
    _replaced,
    duckdb=_write_replaced("duckdb"),
    spark=_write_replaced("spark"),
)


scalar(
    "array_reverse",
    "The elements from the last to the first.",
    on_array(lambda element: (), array),
    duckdb="list_reverse({0})",
    spark="reverse({0})",
)


def _extended(position: int) -> Resolver:
    """An element at ``position`` beside an array, both of the type that they have in common."""

    def resolve(types: Types, constants: Mapping[int, object]) -> Signature | None:
        if len(types) != 2:
            return None
        whole = types[1 - position]
        if whole is None or not whole.is_array or whole.element is None:
            return None
        element = common_type([whole.element, types[position]])
        if element is None:
            return None
        result = whole if element == whole.element else array(element)
        return ((result, element) if position else (element, result)), result

    return resolve


def _with_element(engine: str, position: int) -> Writer:
    """A missing array counts as an empty one."""

    def write(site: Site) -> str:
        result = type_sql(engine, site.result)
        parts = list(site.arguments)
        empty = f"CAST([] AS {result})" if engine == "duckdb" else f"CAST(array() AS {result})"
        parts[1 - position] = f"coalesce({parts[1 - position]}, {empty})"
        one = f"[{parts[position]}]" if engine == "duckdb" else f"array({parts[position]})"
        parts[position] = f"CAST({one} AS {result})"
        return f"{'list_concat' if engine == 'duckdb' else 'concat'}({parts[0]}, {parts[1]})"

    return write


for _name, _position, _description in (
    ("array_append", 1, "The array with one more element at its end."),
    ("array_prepend", 0, "The array with one more element before its first."),
):
    scalar(
        _name,
        _description,
        _extended(_position),
        duckdb=_with_element("duckdb", _position),
        spark=_with_element("spark", _position),
    )


def _member(types: Types, constants: Mapping[int, object]) -> Signature | None:
    if len(types) != 2 or types[1] is None or not types[1].is_array or types[1].element is None:
        return None
    common = operand_type([types[0], types[1].element])
    return ((common, array(common)), BOOLEAN) if common is not None else None


def _any(engine: str, template: str) -> Writer:
    """``x = ANY (array)``: unknown where a NULL leaves it open. Engines look a value up among many
    constants."""
    write_any = writer(template)

    def write(site: Site) -> str:
        values, element = site.constants.get(1), site.types[1].element
        if not isinstance(values, tuple) or element is None or element.name not in LOOKED_UP:
            return write_any(site)
        items = ", ".join(listed_literal(engine, value, element) for value in values)
        return f"({site.arguments[0]} IN ({items}))" if values else "FALSE"

    return write


LOOKED_UP = frozenset(
    {
        *(TypeName.SMALLINT, TypeName.INTEGER, TypeName.BIGINT, TypeName.TEXT),
        *(TypeName.DATE, TypeName.TIMESTAMP, TypeName.TIMESTAMPTZ),
    }
)
"""Types whose equal values are the same to engines too."""

scalar(
    "= any",
    "Whether some element is equal.",
    _member,
    duckdb=_any(
        "duckdb",
        "(CASE WHEN len({1}) = 0 THEN FALSE WHEN list_contains({1}, {0}) THEN TRUE "
        f"WHEN {{0}} IS NOT NULL AND {_WITHOUT_NULLS} THEN FALSE END)",
    ),
    spark=_any("spark", "(CASE WHEN size({1}) = 0 THEN FALSE ELSE array_contains({1}, {0}) END)"),
)


def _listed(engine: str) -> Writer:
    return lambda site: (
        f"CAST({listed(engine, *site.arguments)} AS {type_sql(engine, site.result)})"
    )


def _only_element(types: Types, constants: Mapping[int, object]) -> Signature | None:
    type = types[0] if len(types) == 1 else None
    return ((type,), array(type)) if type is not None else None


scalar(
    "only element",
    "An array of one value, of whatever type.",
    _only_element,
    duckdb=_listed("duckdb"),
    spark=_listed("spark"),
)
scalar("elements", "A row for each element.", on_array(lambda element: (), array), "{0}")


def _series(engine: str) -> Writer:
    """The numbers from the first to the second, by a step that is 1 by default."""

    def write(site: Site) -> str:
        if len(site.arguments) > 2 and site.types[2].name is TypeName.INTERVAL:
            return _series_of_moments(engine, site)
        if site.types[0].name is TypeName.NUMERIC:
            return _series_of_numerics(engine, site)
        first, last, step = (*site.arguments, "1")[:3]
        return f"CAST({_counted(engine, first, last, step)} AS {type_sql(engine, site.result)})"

    return write


def _counted(engine: str, first: str, last: str, step: str) -> str:
    """The numbers from ``first`` to ``last``, as a list."""
    function = "generate_series" if engine == "duckdb" else "sequence"
    return _steps(engine, f"{function}({first}, {last}, {step})", first, last, step)


def _steps(engine: str, generated: str, first: str, last: str, step: str) -> str:
    """``generated`` if the number ``step`` leads from ``first`` towards ``last``, else an empty
    list; 0 is an error."""
    has_some = f"({step} > 0 AND {first} <= {last}) OR ({step} < 0 AND {first} >= {last})"
    failure = raised(engine, "22023", "'step size cannot equal zero'")
    nothing = "[]" if engine == "duckdb" else "array()"
    return (
        f"(CASE WHEN {has_some} THEN {generated} WHEN {step} = 0 THEN {failure} ELSE {nothing} END)"
    )


def _series_of_numerics(engine: str, site: Site) -> str:
    """A series of numerics, all of one type: each is the first plus a whole number of steps."""
    [type, *_] = site.types
    element = type_sql(engine, type)

    def write(first: str, last: str, step: str) -> str:
        if engine == "spark":
            numbers = f"sequence(0L, ({last} - {first}) div {step})"
            generated = f"transform({numbers}, i -> CAST({first} + {step} * i AS {element}))"
        else:
            scale = parameters(type)[1]
            span, digits = duckdb_digits(f"({last} - {first})", scale), duckdb_digits(step, scale)
            numbers = f"generate_series(0, CAST({span} // {digits} AS BIGINT))"
            generated = (
                f"list_transform({numbers}, "
                f"lambda i: CAST({first} + {step} * CAST(i AS DECIMAL(19, 0)) AS {element}))"
            )
        return _steps(engine, generated, first, last, step)

    one = f"CAST(1 AS {element})"
    written = intervals.computed(engine, [*site.arguments, one][:3], write)
    return f"CAST({written} AS {type_sql(engine, site.result)})"


def _series_of_moments(engine: str, site: Site) -> str:
    """A series of moments, counted in microseconds, unless the step has months. After a shorter
    month, the series continues from that month's last day."""
    type = type_sql(engine, site.result)
    micros, moments = {
        "duckdb": ("epoch_us({0})", "list_transform({0}, lambda x: make_timestamp(x))"),
        "spark": (
            "unix_micros(CAST({0} AS TIMESTAMP))",
            "transform({0}, x -> timestamp_micros(x))",
        ),
    }[engine]

    def by_microseconds(first: str, last: str, step: str) -> str:
        span = f"CAST({intervals.span(engine, step)} AS BIGINT)"
        counted = _counted(engine, micros.format(first), micros.format(last), span)
        return f"CAST({moments.format(counted)} AS {type})"

    def by_months(first: str, last: str, step: str) -> str:
        parts = intervals.parts(step)
        numbers = parts.months, parts.days, parts.microseconds
        has_one_sign = " OR ".join(
            f"({' AND '.join(f'{number} {sign} 0' for number in numbers)})" for sign in (">=", "<=")
        )
        message = "'a series by months and days of different signs is not supported'"
        generated = (
            f"CASE WHEN {has_one_sign} THEN "
            f"generate_series({first}, {last}, {intervals.native(parts)}) "
            f"ELSE {raised(engine, '0A000', message)} END"
        )
        return (
            f"CAST({_steps(engine, generated, first, last, intervals.span(engine, step))} AS "
            f"{type})"
        )

    constant = site.constants.get(2)
    if isinstance(constant, Interval) and not constant.months:
        return by_microseconds(*site.arguments)
    if engine == "spark":
        raise UnsupportedSql(
            "a series of moments by a step that may have months is not computed by Spark"
        )
    return intervals.computed(
        engine,
        site.arguments,
        lambda *a: (
            f"(CASE WHEN ({a[2]}).months = 0 THEN {by_microseconds(*a)} ELSE {by_months(*a)} END)"
        ),
    )


_STEPPED = [(INTEGER, INTEGER), (BIGINT, BIGINT), (TIMESTAMP, INTERVAL), (TIMESTAMPTZ, INTERVAL)]
_series_of_other_types = exact(
    ((INTEGER, INTEGER), array(INTEGER)),
    ((BIGINT, BIGINT), array(BIGINT)),
    *(((type, type, step), array(type)) for type, step in _STEPPED),
)


def _resolve_series(types: Types, constants: Mapping[int, object]) -> Signature | None:
    if signature := _series_of_other_types(types, constants):
        return signature
    common = common_type(types)
    if len(types) not in (2, 3) or common is None or common.name is not TypeName.NUMERIC:
        return None
    if len(types) == 2:
        common = common_type((common, INTEGER)) or common  # 1 is the step
    return (common,) * len(types), array(common)


scalar(
    "series",
    "A row for each value from a start to a stop, by a step.",
    _resolve_series,
    duckdb=_series("duckdb"),
    spark=_series("spark"),
)

_SPLIT = {
    "duckdb": (
        "CAST([] AS VARCHAR[])",
        "regexp_extract_all({0}, '(?s).')",
        "[{0}]",
        "string_split({0}, {1})",
    ),
    "spark": (
        "CAST(array() AS ARRAY<STRING>)",
        r"regexp_extract_all({0}, '(?s).', 0)",
        "array({0})",
        r"split({0}, concat('\\Q', replace({1}, '\\E', '\\E\\\\E\\Q'), '\\E'), -1)",
    ),
}
"""The results of ``string_to_array`` for an empty text, for no delimiter, for an empty one, and for
any other."""


def _split(engine: str) -> str:
    empty, letters, whole, parts = _SPLIT[engine]
    return (
        f"(CASE WHEN {{0}} IS NULL THEN NULL WHEN {{0}} = '' THEN {empty} WHEN {{1}} IS "
        f"NULL THEN {letters} "
        f"WHEN {{1}} = '' THEN {whole} ELSE {parts} END)"
    )


scalar(
    "string_to_array",
    "The parts of a text between delimiters.",
    exact(((TEXT, TEXT), array(TEXT))),
    duckdb=_split("duckdb"),
    spark=_split("spark"),
)
