"""Documents (`jsonb`) of SQL values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from reclock.algebra.relations import (
    DATE,
    DOUBLE,
    INET,
    JSONB,
    REAL,
    TEXT,
    ScalarType,
    TypeName,
    array,
)
from reclock.algebra.zones import UTC_NAME
from reclock.errors import EvaluationError, UnsupportedSql
from reclock.plan.functions.blanks import with_blanks
from reclock.plan.functions.casts import printed, write_cast
from reclock.plan.functions.floats import with_value
from reclock.plan.functions.json_calls import checked, json_call
from reclock.plan.functions.registry import Resolver, Site, Types, Writer, scalar
from reclock.plan.functions.sql_names import each_element, field_names, string, type_sql

Signature = tuple[tuple[ScalarType, ...], ScalarType]

_TEXTS = array(TEXT)


def document_of(engine: str, sql: str, type: ScalarType, zone: str = UTC_NAME) -> str:
    """A value of ``type`` as a document, with moments as ``zone`` shows them; NULL of NULL."""
    if type == JSONB:
        return sql
    if type.name is TypeName.RECORD:
        return _object_of_fields(engine, sql, type, zone)
    if type.element is not None and not _is_written_at_once(type.element):
        documents = each_element(engine, sql, document_of(engine, "e", type.element, zone))
        return json_call("build_array", f"CAST({documents} AS {type_sql(engine, _TEXTS)})")
    if type.element is not None:
        if type.element.name is TypeName.BPCHAR:
            sql = each_element(engine, sql, with_blanks(engine, "e", type.element))
        is_text = type.element.name in _TEXTUAL or type.element.is_moment
        texts = f"CAST({sql} AS {type_sql(engine, _TEXTS)})"
        return json_call("of_strings" if is_text else "build_array", texts)
    if type == REAL:  # the number that its text names, whose digits are fewer
        text_type, double = type_sql(engine, TEXT), type_sql(engine, DOUBLE)
        sql = f"CAST(CAST({sql} AS {text_type}) AS {double})"
    if type.is_float:
        return json_call("of_double", sql)
    if type.name is TypeName.BPCHAR:
        return json_call("of_string", with_blanks(engine, sql, type))
    text = _text_within(engine, sql, type, zone)
    if type.is_integer or type.name is TypeName.BOOLEAN:
        return text
    return json_call("of_number" if type.is_number else "of_string", text)


def _text_within(engine: str, sql: str, type: ScalarType, zone: str = UTC_NAME) -> str:
    """The text of a value within a document. A moment has ``T`` before its time, and the minutes of
    its offset from UTC: ``+00:00`` for ``+00``."""
    if type == INET:
        return printed(engine, sql, type, zone)
    text = write_cast(engine, sql, type, TEXT, zone)
    if not type.is_moment or type.name is TypeName.DATE:
        return text
    first, second = ("$1", "$2") if engine == "spark" else (r"\1", r"\2")
    moment, hours = string(engine, "^([^ ]+) "), string(engine, "([-+][0-9]{2})( BC)?$")
    with_t = f"regexp_replace({text}, {moment}, {string(engine, f'{first}T')})"
    return f"regexp_replace({with_t}, {hours}, {string(engine, f'{first}:00{second}')})"


def list_of_texts(engine: str, items: Sequence[str]) -> str:
    """An array of the expressions ``items``, which are texts."""
    joined = ", ".join(items)
    return (
        f"CAST({f'[{joined}]' if engine == 'duckdb' else f'array({joined})'} AS "
        f"{type_sql(engine, _TEXTS)})"
    )


def _object_of_fields(engine: str, sql: str, type: ScalarType, zone: str) -> str:
    names, fields = field_names(type), type.fields
    keys = list_of_texts(engine, [string(engine, field.name) for field in fields])
    values = [f"v.{name}" for name in names]
    members = _documents(engine, values, [field.type for field in fields], zone)
    built = checked(engine, json_call("build_object", keys, members))
    return with_value(engine, sql, f"CASE WHEN v IS NOT NULL THEN {built} END")


def _is_document(type: ScalarType) -> bool:
    """Whether values of ``type`` can become documents."""
    if type.name is TypeName.MAP:
        hint = "jsonb_object_agg() makes a document of its keys and values"
        raise UnsupportedSql("a map cannot become jsonb", hint=hint)
    if type.name is TypeName.RECORD:
        return all(_is_document(field.type) for field in type.fields)
    if type.element is None:
        return True
    return _is_document(type.element)


def _is_written_at_once(element: ScalarType) -> bool:
    """Whether the texts of the elements of an array make its document: no call for each element."""
    is_exact = element.is_integer or element.name in (TypeName.NUMERIC, TypeName.BOOLEAN)
    return is_exact or element.name in _TEXTUAL or element in (JSONB, DATE)


_TEXTUAL = (
    *(TypeName.TEXT, TypeName.BPCHAR, TypeName.ENUM, TypeName.UUID, TypeName.TIME),
    *(TypeName.INET, TypeName.CIDR, TypeName.MACADDR),
)
"""Types whose values are texts to engines, and in documents the same texts."""


def _converted(types: Types, constants: Mapping[int, object]) -> Signature | None:
    if len(types) != 1 or types[0] is None or not _is_document(types[0]):
        return None
    return (types[0],), JSONB


def _members(types: Types, constants: Mapping[int, object]) -> Signature | None:
    known = tuple(type or TEXT for type in types)
    return (known, JSONB) if all(map(_is_document, known)) else None


def _pairs(types: Types, constants: Mapping[int, object]) -> Signature | None:
    if len(types) % 2:
        hint = "the arguments of jsonb_build_object() must consist of alternating keys and values"
        raise EvaluationError(
            "argument list must have even number of elements", sqlstate="22023", hint=hint
        )
    for type in filter(None, types[::2]):
        if type == JSONB or type.is_nested:
            raise EvaluationError(
                "key value must be scalar, not array, composite, or json", sqlstate="22023"
            )
    return _members(types, constants)


def _documents(
    engine: str, arguments: Sequence[str], types: Sequence[ScalarType], zone: str = UTC_NAME
) -> str:
    members = zip(arguments, types, strict=True)
    documents = [document_of(engine, sql, type, zone) for sql, type in members]
    return list_of_texts(engine, documents)


def _object(engine: str, zone: str = UTC_NAME) -> Writer:
    def write(site: Site) -> str:
        keys = []
        for place in range(0, len(site.arguments), 2):
            keys.append(_text_within(engine, site.arguments[place], site.types[place], zone))
        members = _documents(engine, site.arguments[1::2], site.types[1::2], zone)
        return checked(engine, json_call("build_object", list_of_texts(engine, keys), members))

    return write


def _array(engine: str, zone: str = UTC_NAME) -> Writer:
    def write(site: Site) -> str:
        return json_call("build_array", _documents(engine, site.arguments, site.types, zone))

    return write


def _document(engine: str, zone: str = UTC_NAME) -> Writer:
    return lambda site: document_of(engine, site.arguments[0], site.types[0], zone)


def _in_zone(of_zone: Callable[[str, str], Writer], engine: str) -> Writer:
    """The writer for calls that have the name of a time zone before the other arguments."""

    def write(site: Site) -> str:
        arguments, types = site.arguments[1:], site.types[1:]
        return of_zone(engine, str(site.constants[0]))(Site(arguments, types, site.result))

    return write


def _with_zone(resolve: Resolver) -> Resolver:
    def resolved(types: Types, constants: Mapping[int, object]) -> Signature | None:
        signature = resolve(types[1:], {}) if types[:1] == (TEXT,) and 0 in constants else None
        return None if signature is None else ((TEXT, *signature[0]), signature[1])

    return resolved


IN_ZONE = {
    name: f"{name} in a time zone"
    for name in ("to_jsonb", "jsonb_build_array", "jsonb_build_object")
}
"""The functions that make documents of moments as clocks of a time zone show them."""

for _function, _about, _resolve, _writer in (
    ("to_jsonb", "The value as a document.", _converted, _document),
    ("jsonb_build_array", "An array of the values.", _members, _array),
    ("jsonb_build_object", "An object of alternating keys and values.", _pairs, _object),
):
    scalar(_function, _about, _resolve, duckdb=_writer("duckdb"), spark=_writer("spark"))
    scalar(
        IN_ZONE[_function],
        f"{_about} Moments are as clocks of a time zone show them.",
        _with_zone(_resolve),
        duckdb=_in_zone(_writer, "duckdb"),
        spark=_in_zone(_writer, "spark"),
    )
