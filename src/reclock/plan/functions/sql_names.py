"""Types, identifiers, literals and errors in each engine's SQL. All literals are rendered here."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from reclock.algebra.relations import BIGINT, INTEGER, INTERVAL, ScalarType, TypeName
from reclock.algebra.textual import TEXTUAL_TYPES
from reclock.errors import InternalError
from reclock.plan.functions.typing import parameters

DUCKDB_TYPES = {
    TypeName.BOOLEAN: "BOOLEAN",
    TypeName.SMALLINT: "SMALLINT",
    TypeName.INTEGER: "INTEGER",
    TypeName.BIGINT: "BIGINT",
    TypeName.REAL: "FLOAT",
    TypeName.DOUBLE: "DOUBLE",
    TypeName.TEXT: "VARCHAR",
    TypeName.ENUM: "VARCHAR",
    TypeName.BYTEA: "BLOB",
    **dict.fromkeys(TEXTUAL_TYPES, "VARCHAR"),
    TypeName.DATE: "DATE",
    TypeName.TIMESTAMP: "TIMESTAMP",
    TypeName.TIMESTAMPTZ: "TIMESTAMP",  # in UTC; results get their zone back
    TypeName.INTERVAL: "STRUCT(months INTEGER, days INTEGER, microseconds BIGINT)",
    TypeName.OID: "BIGINT",
}
SPARK_TYPES = {
    TypeName.BOOLEAN: "BOOLEAN",
    TypeName.SMALLINT: "SMALLINT",
    TypeName.INTEGER: "INT",
    TypeName.BIGINT: "BIGINT",
    TypeName.REAL: "FLOAT",
    TypeName.DOUBLE: "DOUBLE",
    TypeName.TEXT: "STRING",
    TypeName.ENUM: "STRING",
    TypeName.BYTEA: "BINARY",
    **dict.fromkeys(TEXTUAL_TYPES, "STRING"),
    TypeName.DATE: "DATE",
    TypeName.TIMESTAMP: "TIMESTAMP_NTZ",
    TypeName.TIMESTAMPTZ: "TIMESTAMP",
    TypeName.INTERVAL: "STRUCT<months: INT, days: INT, microseconds: BIGINT>",
    TypeName.OID: "BIGINT",
}
TYPES = {"duckdb": DUCKDB_TYPES, "spark": SPARK_TYPES}


def type_sql(engine: str, type: ScalarType) -> str:
    if type.name is TypeName.NUMERIC:
        return "DECIMAL({}, {})".format(*parameters(type))
    if type.element is not None:
        element = type_sql(engine, type.element)
        return f"{element}[]" if engine == "duckdb" else f"ARRAY<{element}>"
    if type.name is TypeName.RECORD:
        types = [type_sql(engine, field.type) for field in type.fields]
        return struct_type(engine, dict(zip(field_names(type), types, strict=True)))
    return TYPES[engine][TypeName.OID if type.is_object_id else type.name]


def struct_type(engine: str, types: Mapping[str, str]) -> str:
    """The type of a struct whose fields have these types."""
    if engine == "duckdb":
        return f"STRUCT({', '.join(f'{name} {type}' for name, type in types.items())})"
    return f"STRUCT<{', '.join(f'{name}: {type}' for name, type in types.items())}>"


def case_sql(engine: str, branches: str) -> str:
    """CASE with these branches, as an operand of anything. Spark needs no parentheses around it,
    and its parser reads everything in parentheses ahead, again at each level of nesting."""
    case = f"CASE{branches} END"
    return case if engine == "spark" else f"({case})"


def field_names(type: ScalarType) -> list[str]:
    """The names of a record's fields in engines: by place, so that types that differ in names alone
    are one."""
    return [f"f{place}" for place in range(1, len(type.fields) + 1)]


def identifier(engine: str, name: str) -> str:
    """``name`` as a quoted identifier, whatever characters it has."""
    if engine == "spark":
        return "`" + name.replace("`", "``") + "`"
    return '"' + name.replace('"', '""') + '"'


def string(engine: str, value: str) -> str:
    """A string literal. Backslashes and ``${…}`` are escaped for Spark, which would substitute
    them."""
    if engine == "spark":
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024") + "'"
    return "'" + value.replace("'", "''") + "'"


def listed_literal(engine: str, value: Any, type: ScalarType) -> str:
    """``value`` among others that an engine gives one type: in an array that is cast to it, or to
    look a value up."""
    if type.is_integer and isinstance(value, int) and value >= 0:
        return str(int(value))
    return literal(engine, value, type)


def literal(engine: str, value: Any, type: ScalarType) -> str:
    """``value`` as an SQL literal of exactly ``type``."""
    target = type_sql(engine, type)
    if value is None:
        return f"CAST(NULL AS {target})"
    if type.is_object_id:
        return f"CAST({int(value)} AS {target})"
    if type.element is not None:
        items = ", ".join(listed_literal(engine, item, type.element) for item in value)
        return f"CAST({f'[{items}]' if engine == 'duckdb' else f'array({items})'} AS {target})"
    if type.name is TypeName.RECORD:  # an entry of a map
        fields = zip(field_names(type), value, type.fields, strict=True)
        parts = {name: literal(engine, item, field.type) for name, item, field in fields}
        return f"CAST({struct(engine, parts)} AS {target})"
    match type.name:
        case TypeName.BOOLEAN:
            return "TRUE" if value else "FALSE"
        case name if name in (TypeName.TEXT, TypeName.ENUM, *TEXTUAL_TYPES):
            return string(engine, str(value))
        case TypeName.SMALLINT | TypeName.INTEGER | TypeName.BIGINT | TypeName.NUMERIC:
            text = (
                f"{value:f}"
                if isinstance(value, Decimal)
                else str(int(value) if type.is_integer else value)
            )
        case TypeName.REAL | TypeName.DOUBLE:
            text = repr(float(value) + 0.0)  # adding 0.0 turns -0.0 into 0.0
        case TypeName.BYTEA:
            if engine == "spark":
                return f"X'{bytes(value).hex()}'"
            return f"from_hex('{bytes(value).hex()}')"
        case TypeName.INTERVAL:
            return interval_struct(
                engine, str(value.months), str(value.days), str(value.microseconds)
            )
        case TypeName.DATE:
            text = value.isoformat()
        case TypeName.TIMESTAMP | TypeName.TIMESTAMPTZ:
            naive = value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
            text = naive.isoformat(" ")
        case _:
            raise InternalError(f"no literal of type {type}")
    return f"CAST('{text}' AS {target})"


def struct(engine: str, fields: Mapping[str, str]) -> str:
    """A struct of the expressions ``fields``."""
    if engine == "duckdb":
        return "{" + ", ".join(f"'{name}': {value}" for name, value in fields.items()) + "}"
    return "named_struct(" + ", ".join(f"'{name}', {value}" for name, value in fields.items()) + ")"


def each_element(engine: str, array: str, element: str) -> str:
    """The array of ``element``, an expression of ``e``, for each ``e`` of ``array``."""
    if engine == "spark":
        return f"transform({array}, e -> {element})"
    return f"list_transform({array}, lambda e: {element})"


def interval_struct(engine: str, months: str, days: str, microseconds: str) -> str:
    """An interval of these expressions; one that is out of range is an error."""
    integer, bigint = (type_sql(engine, type) for type in (INTEGER, BIGINT))
    fields = {
        "months": f"CAST({months} AS {integer})",
        "days": f"CAST({days} AS {integer})",
        "microseconds": f"CAST({microseconds} AS {bigint})",
    }
    interval = struct(engine, fields)
    # Without the cast, fields of constants were not nullable, and the Arrow reader refuses a NULL
    # around them.
    return interval if engine == "duckdb" else f"CAST({interval} AS {type_sql(engine, INTERVAL)})"


def raised(engine: str, sqlstate: str, message: str) -> str:
    """An expression of any type that fails the statement. ``message`` is SQL of a string.

    ``engines.failures`` reads the error back.
    """
    function = "raise_error" if engine == "spark" else "error"
    return f"{function}(concat('reclock:{sqlstate}:', {message}))"
