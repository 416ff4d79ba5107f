"""Casts: which there are, and how each engine writes them. A value that does not fit is an error,
never NULL.

`number_casts` says how numbers are rounded, and `text_casts` reads text. An unconstrained numeric
loses no digits: a value that has more than the type is an error, and of a floating-point number it
keeps 15 significant digits, as in PostgreSQL. The text of a double is the shortest that reads back
as the same; Spark does not find that one, so it refuses, and such a plan runs on DuckDB.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Protocol

from reclock.algebra.array_shapes import check_dimensions
from reclock.algebra.relations import DATE, TEXT, TIMESTAMP, TIMESTAMPTZ, ScalarType, TypeName
from reclock.algebra.textual import TEXTUAL_TYPES
from reclock.algebra.zones import UTC_NAME
from reclock.errors import CannotCast
from reclock.plan.functions import times
from reclock.plan.functions.blanks import with_blanks, without_blanks
from reclock.plan.functions.digits import narrowed, numeric_text
from reclock.plan.functions.floats import with_value
from reclock.plan.functions.interval_functions import interval_to_text
from reclock.plan.functions.json_calls import FAILURE, from_text, json_call, scalar_text
from reclock.plan.functions.networks import inet_to_text
from reclock.plan.functions.number_casts import (
    double_to_numeric,
    double_to_real,
    float_to_text,
    native_cast,
    numeric_to_double,
    to_integer,
)
from reclock.plan.functions.sql_names import (
    each_element,
    field_names,
    literal,
    raised,
    string,
    struct,
    type_sql,
)
from reclock.plan.functions.text_casts import (
    matches_whole,
    read_boolean,
    read_bytes,
    read_enum,
    read_interval,
    read_text,
)
from reclock.plan.functions.time_zones import local_time, moment_of, offset

_T = TypeName
_INTEGERS = (_T.SMALLINT, _T.INTEGER, _T.BIGINT)
_NUMBERS = (*_INTEGERS, _T.NUMERIC, _T.REAL, _T.DOUBLE)
_MOMENTS = (_T.DATE, _T.TIMESTAMP, _T.TIMESTAMPTZ)
_NESTED = (_T.ARRAY, _T.LIST, _T.MAP, _T.RECORD, _T.VECTOR)
_NETWORKS = (_T.INET, _T.CIDR)
_OBJECT_IDS = (_T.OID, _T.REGCLASS, _T.REGNAMESPACE, _T.REGPROC, _T.REGROLE, _T.REGTYPE)


def resolve_cast(source: ScalarType | None, target: ScalarType) -> ScalarType:
    """``target``, if a value of ``source`` can be cast to it explicitly. Raises ``CannotCast``, and
    ``UnsupportedSql`` for an array of another number of dimensions."""
    if source is not None and source.is_array and target.is_array:
        check_dimensions(source, target)
        resolve_cast(source.base, target.base)
    elif (
        source is not None
        and source.element is not None
        and target.element is not None
        and _are_alike(source, target)
    ):
        resolve_cast(source.element, target.element)
    elif source is not None and source.name is _T.TEXT and target.is_array:
        if target.dimensions > 1 or target.element is None:
            raise CannotCast(str(source.unconstrained), str(target.unconstrained))
        resolve_cast(source, target.element)
    elif source is not None and source.name is target.name is TypeName.RECORD:
        check_fields(source, target)
        for field, beside in zip(source.fields, target.fields, strict=True):
            resolve_cast(field.type, beside.type)
    elif source is not None and not (
        _is_possible(source.name, target.name) and _is_same_enum(source, target)
    ):
        raise CannotCast(str(source.unconstrained), str(target.unconstrained))
    return target


def check_fields(source: ScalarType, target: ScalarType) -> None:
    """Raises ``CannotCast`` unless a record of the one type may become one of the other: it has as
    many fields, and no other name."""
    missing = len(target.fields) - len(source.fields)
    detail = f"Input has too {'few' if missing > 0 else 'many'} columns." if missing else None
    is_other = None not in (source.composite, target.composite) and (
        source.composite != target.composite
    )
    if missing or is_other:
        raise CannotCast(str(source), str(target), detail=None if is_other else detail)


def _are_alike(source: ScalarType, target: ScalarType) -> bool:
    """Whether both are lists or maps, or one is a list and the other an array. A list of lists,
    which may differ in their lengths, is no array of two dimensions."""
    if target.name is _T.ARRAY:
        return source.name is _T.LIST and target.dimensions == 1
    return source.name is target.name or (source.name, target.name) == (_T.ARRAY, _T.LIST)


def write_cast(
    engine: str, sql: str, source: ScalarType, target: ScalarType, zone: str = UTC_NAME
) -> str:
    """``sql``, an expression of ``source``, as ``target``. Moments, also those in arrays, maps and
    records, are read and written in ``zone``."""
    resolve_cast(source, target)
    if source == target:
        return sql
    if target.name is _T.BPCHAR:
        return _to_char(engine, sql, source, target)
    if source.name is _T.BPCHAR:
        return write_cast(engine, sql, TEXT, target, zone)
    if zone != UTC_NAME:
        if TIMESTAMPTZ in (source, target):
            return _in_zone(engine, sql, source, target, zone)
        write = _nested_writer(source.name, target.name)
        if write is not None:
            return write(engine, sql, source, target, zone)
    return _writer(source.name, target.name)(engine, sql, source, target)


def _in_zone(engine: str, sql: str, source: ScalarType, target: ScalarType, zone: str) -> str:
    """A cast to or from ``timestamptz``: one of the local time of the moment."""
    if source == TIMESTAMPTZ:
        local = local_time(engine, "v", zone)
        written = write_cast(engine, local, TIMESTAMP, target)
        if target == TEXT:
            written = f"concat({written}, {offset(engine, local, 'v')})"
        return with_value(engine, sql, f"CASE WHEN v IS NOT NULL THEN {written} END")
    moment = moment_of(engine, write_cast(engine, "v", source, TIMESTAMP), zone)
    if source == TEXT:
        has_zone = matches_whole(engine, "v", f"[\\s\\S]*({ZONE_AT_END})")
        read = write_cast(engine, "v", source, target)
        moment = f"CASE WHEN {has_zone} THEN {read} ELSE {moment} END"
    return with_value(engine, sql, moment)


ZONE_AT_END = r"([0-9.] *[zZ]|:[0-9.]+ *[-+][0-9:]+)\s*$"
"""The end of the text of a moment that names its time zone."""


def _is_same_enum(source: ScalarType, target: ScalarType) -> bool:
    """Whether the types are not two enums. One enum before and after a label was added is one."""
    return source.enum is None or target.enum is None or source.enum.id == target.enum.id


def _is_possible(source: TypeName, target: TypeName) -> bool:
    if source is target:
        return True
    if _T.BPCHAR in (source, target):
        source, target = (_T.TEXT if type is _T.BPCHAR else type for type in (source, target))
        return _is_possible(source, target)
    if source in _OBJECT_IDS or target in _OBJECT_IDS:
        return all(type in _OBJECT_IDS or type in _INTEGERS for type in (source, target)) or (
            source,
            target,
        ) == (_T.OID, _T.TEXT)
    if target is _T.TEXT:
        return True
    if source in _NESTED or target in _NESTED:
        return False
    if source is _T.JSONB:
        return target is _T.BOOLEAN or target in _NUMBERS
    if source is _T.TEXT:
        return True
    if source in _NUMBERS and target in _NUMBERS:
        return True
    if _T.BOOLEAN in (source, target):
        return _T.INTEGER in (source, target)
    if target is _T.TIME:
        return source in (_T.TIMESTAMP, _T.TIMESTAMPTZ, _T.INTERVAL)
    if source is _T.TIME:
        return target is _T.INTERVAL
    if source in _NETWORKS:
        return target in _NETWORKS
    return source in _MOMENTS and target in _MOMENTS


def _to_char(engine: str, sql: str, source: ScalarType, target: ScalarType) -> str:
    """The text cut to the type's length, if it was declared with one, without blanks at the end."""
    most = None if target.is_unconstrained else target.length
    if source.name is _T.BPCHAR:
        if most is None or (source.length is not None and source.length <= most):
            return sql
    else:
        sql = write_cast(engine, sql, source, TEXT)
    return without_blanks(engine, sql if most is None else f"left({sql}, {most})")


class _NestedWriter(Protocol):
    """Writes a cast of elements or fields, whose moments are those of a time zone."""

    def __call__(
        self, engine: str, sql: str, source: ScalarType, target: ScalarType, zone: str = UTC_NAME
    ) -> str: ...


def _nested_writer(source: TypeName, target: TypeName) -> _NestedWriter | None:
    if source in (_T.ARRAY, _T.LIST):
        return _array_to_text if target is _T.TEXT else _array_to_array
    if source is _T.MAP:
        return _map_to_text if target is _T.TEXT else _array_to_array
    if source is _T.RECORD:
        return _record_to_text if target is _T.TEXT else _record_to_record
    if (source, target) == (_T.TEXT, _T.ARRAY):
        return _text_to_array
    return None


CastWriter = Callable[[str, str, ScalarType, ScalarType], str]


def _writer(source: TypeName, target: TypeName) -> CastWriter:
    if source is _T.JSONB:
        return _from_document
    if source is _T.VECTOR:
        return _vector_to_text if target is _T.TEXT else _array_to_array
    if (nested := _nested_writer(source, target)) is not None:
        return nested
    if source is not _T.TEXT and target is _T.TIME:
        return _to_time
    if (source, target) == (_T.TIME, _T.INTERVAL):
        return _time_to_interval
    if source in _NETWORKS and target in _NETWORKS:
        return _to_network
    if source is _T.ENUM:
        return _from_textual
    if target is _T.ENUM:
        return read_enum
    if target in TEXTUAL_TYPES:
        return _to_textual
    if (source, target) == (_T.TEXT, _T.BYTEA):
        return read_bytes
    if (source, target) == (_T.TEXT, _T.INTERVAL):
        return read_interval
    if source is _T.TEXT:
        return read_boolean if target is _T.BOOLEAN else read_text
    if (source, target) == (_T.INET, _T.TEXT):
        return _inet_to_text
    if target is _T.TEXT:
        return _from_textual if source in TEXTUAL_TYPES else _to_text
    if source in (_T.REAL, _T.DOUBLE) and target is _T.NUMERIC:
        return double_to_numeric
    if source in _INTEGERS and target in _OBJECT_IDS:
        return _to_object_id
    if source is target is _T.NUMERIC:
        return narrowed
    if target in _INTEGERS and source in (_T.REAL, _T.DOUBLE, _T.NUMERIC):
        return to_integer
    if (source, target) == (_T.DOUBLE, _T.REAL):
        return double_to_real
    if source is _T.NUMERIC and target in (_T.REAL, _T.DOUBLE):
        return numeric_to_double
    return native_cast


def _to_object_id(engine: str, sql: str, source: ScalarType, target: ScalarType) -> str:
    """As PostgreSQL, which takes an integer's bits and checks a bigint's range."""
    number = f"CAST({sql} AS BIGINT)"
    if source.name is not _T.BIGINT:
        return f"(CASE WHEN {number} < 0 THEN {number} + 4294967296 ELSE {number} END)"
    beyond = raised(engine, "22003", "'OID out of range'")
    return f"(CASE WHEN {number} NOT BETWEEN 0 AND 4294967295 THEN CAST({beyond} AS BIGINT) ELSE {number} END)"


def _to_text(engine: str, sql: str, source: ScalarType, target: ScalarType) -> str:
    if source.is_float:
        return float_to_text(engine, sql)
    if source.name is _T.INTERVAL:
        return interval_to_text(engine, sql)
    text = native_cast(engine, sql, source, target)
    match source.name:
        case _T.BYTEA:
            return f"({string(engine, chr(92) + 'x')} || lower(hex({sql})))"
        case _T.DATE | _T.TIMESTAMP | _T.TIMESTAMPTZ:
            return _moment_text(engine, sql, text, "+00" if source.name is _T.TIMESTAMPTZ else "")
        case _T.NUMERIC:
            return numeric_text(engine, sql, source)
        case _:
            return text


def _moment_text(engine: str, sql: str, text: str, zone: str) -> str:
    """``text``, the engine's text of the moment, with the year as PostgreSQL writes it."""
    before_christ = f"replace({text}, ' (BC)', '')"
    if engine == "spark":
        year = f"lpad(CAST(1 - year({sql}) AS STRING), 4, '0')"
        before_christ = f"regexp_replace({text}, '^-?[0-9]+', {year})"
    is_before = f"{sql} < {literal(engine, date.min, DATE)}"
    return (
        f"(CASE WHEN {is_before} THEN {before_christ} || '{zone} BC' ELSE {text} || '{zone}' END)"
    )


def _to_textual(engine: str, sql: str, source: ScalarType, target: ScalarType) -> str:
    return from_text(engine, sql, target)


def _from_textual(engine: str, sql: str, source: ScalarType, target: ScalarType) -> str:
    return sql


def _to_network(engine: str, sql: str, source: ScalarType, target: ScalarType) -> str:
    """Bits after the prefix become zero in a ``cidr``."""
    return json_call(f"network_as_{target}", sql)


def _inet_to_text(engine: str, sql: str, source: ScalarType, target: ScalarType) -> str:
    return inet_to_text(engine, sql)


def _array_to_array(
    engine: str, sql: str, source: ScalarType, target: ScalarType, zone: str = UTC_NAME
) -> str:
    assert source.element is not None
    assert target.element is not None
    if source.element == target.element:
        return sql
    return each_element(engine, sql, write_cast(engine, "e", source.element, target.element, zone))


def _text_to_array(
    engine: str, sql: str, source: ScalarType, target: ScalarType, zone: str = UTC_NAME
) -> str:
    assert target.element is not None
    first = "list_extract(v, 1)" if engine == "duckdb" else "get(v, 0)"
    function = "error" if engine == "duckdb" else "raise_error"
    error = f"{function}(concat('reclock:', substring({first}, {len(FAILURE) + 1})))"
    values = each_element(
        engine, "v", write_cast(engine, "substring(e, 2)", TEXT, target.element, zone)
    )
    return with_value(
        engine,
        json_call("array_elements", sql),
        f"CASE WHEN substring({first}, 1, 1) = '{FAILURE}' THEN {error} ELSE {values} END",
    )


def _array_to_text(
    engine: str, sql: str, source: ScalarType, target: ScalarType, zone: str = UTC_NAME
) -> str:
    """``{a,"b c",NULL}``."""
    assert source.element is not None
    text = printed(engine, "e", source.element, zone)
    if is_part_of_text(source.element):
        text = f"coalesce({text}, 'NULL')"
    else:
        text = with_value(engine, text, _element_text(engine))
    return _in_braces(engine, each_element(engine, sql, text))


def _in_braces(engine: str, texts: str) -> str:
    return with_value(
        engine,
        texts,
        f"CASE WHEN v IS NOT NULL THEN concat('{{', {_joined(engine, ',')}, '}}') END",
    )


def is_part_of_text(element: ScalarType) -> bool:
    """Whether the text of such an element stands as it is in that of its array, list or map."""
    return element.name in (_T.ARRAY, _T.LIST, _T.MAP)


def _map_to_text(
    engine: str, sql: str, source: ScalarType, target: ScalarType, zone: str = UTC_NAME
) -> str:
    """``{a=>1,"b c"=>NULL}``."""
    key = with_value(engine, "e.f1", _element_text(engine, "=>"))
    value = printed(engine, "e.f2", source.value, zone)
    if is_part_of_text(source.value):
        value = f"coalesce({value}, 'NULL')"
    else:
        value = with_value(engine, value, _element_text(engine, "=>"))
    return _in_braces(engine, each_element(engine, sql, f"concat({key}, '=>', {value})"))


def _vector_to_text(engine: str, sql: str, source: ScalarType, target: ScalarType) -> str:
    """``1 2``."""
    assert source.element is not None
    texts = each_element(engine, sql, write_cast(engine, "e", source.element, TEXT))
    return with_value(engine, texts, _joined(engine, " "))


def _joined(engine: str, separator: str) -> str:
    """The texts of the array ``v``, none of which is NULL."""
    return f"{'array_to_string' if engine == 'duckdb' else 'array_join'}(v, '{separator}')"


def printed(engine: str, sql: str, type: ScalarType, zone: str = UTC_NAME) -> str:
    """``sql``, a value of ``type``, as the text that clients see."""
    if type.name is _T.BOOLEAN:
        return f"CASE WHEN {sql} THEN 't' WHEN NOT {sql} THEN 'f' END"
    if type.name is _T.BPCHAR:
        return with_blanks(engine, sql, type)
    if type.name is _T.INET:
        return sql
    return write_cast(engine, sql, type, TEXT, zone)


def _element_text(engine: str, marks: str = "") -> str:
    """The element ``v`` of an array's text, in quotes where it would be read differently, and where
    it has one of ``marks``."""
    is_special = matches_whole(engine, "v", rf'[\s\S]*[{{}}",\\\s{marks}][\s\S]*')
    return (
        f"CASE WHEN v IS NULL THEN 'NULL' WHEN v = '' OR upper(v) = 'NULL' OR {is_special} THEN "
        f"{_quoted(engine, chr(92) + chr(34))} ELSE v END"
    )


def _quoted(engine: str, escaped_quote: str) -> str:
    """The text ``v`` in quotes, with backslashes doubled."""
    backslash, quote = string(engine, "\\"), string(engine, '"')
    two, escaped = string(engine, "\\\\"), string(engine, escaped_quote)
    return f"concat({quote}, replace(replace(v, {backslash}, {two}), {quote}, {escaped}), {quote})"


def _record_to_record(
    engine: str, sql: str, source: ScalarType, target: ScalarType, zone: str = UTC_NAME
) -> str:
    if type_sql(engine, source) == type_sql(engine, target):
        return sql
    places = zip(field_names(source), source.fields, target.fields, strict=True)
    fields = {
        name: write_cast(engine, f"v.{name}", field.type, beside.type, zone)
        for name, field, beside in places
    }
    made = f"CAST({struct(engine, fields)} AS {type_sql(engine, target)})"
    return with_value(engine, sql, f"CASE WHEN v IS NOT NULL THEN {made} END")


def _record_to_text(
    engine: str, sql: str, source: ScalarType, target: ScalarType, zone: str = UTC_NAME
) -> str:
    """``(1,"a b",)``."""
    is_special = matches_whole(engine, "v", r'[\s\S]*[()",\\\s][\s\S]*')
    text = (
        f"CASE WHEN v IS NULL THEN '' WHEN v = '' OR {is_special} THEN {_quoted(engine, chr(34) * 2)} "
        "ELSE v END"
    )
    texts = [
        with_value(engine, printed(engine, f"v.{name}", field.type, zone), text)
        for name, field in zip(field_names(source), source.fields, strict=True)
    ]
    joined = ", ',', ".join(texts)
    return with_value(engine, sql, f"CASE WHEN v IS NOT NULL THEN concat('(', {joined}, ')') END")


def _to_time(engine: str, sql: str, source: ScalarType, target: ScalarType) -> str:
    write = times.of_interval if source.name is _T.INTERVAL else times.of_moment
    return write(engine, sql)


def _time_to_interval(engine: str, sql: str, source: ScalarType, target: ScalarType) -> str:
    return times.to_interval(engine, sql)


def _from_document(engine: str, sql: str, source: ScalarType, target: ScalarType) -> str:
    if target.name is _T.TEXT:
        return sql
    text = scalar_text(engine, sql, target)
    if target.name is _T.NUMERIC:
        return with_value(engine, text, read_text(engine, "v", TEXT, target))
    return native_cast(engine, text, TEXT, target)
