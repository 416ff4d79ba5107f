"""JSON messages that a source with FORMAT JSON can read back.

Numbers are numbers. Dates and timestamps are text in ISO 8601 (with ``Z`` if they have a zone),
bytes have PostgreSQL's hexadecimal form, and infinite or NaN floats are text. Arrays are arrays,
and intervals the text that PostgreSQL prints.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from reclock.algebra.relations import TEXT, Column, TypeName
from reclock.algebra.textual import TEXTUAL_TYPES
from reclock.algebra.timestamps import Timestamp
from reclock.errors import UnsupportedSql
from reclock.plan.functions.casts import write_cast
from reclock.sinks.messages import changes_column

_SECONDS = "'%Y-%m-%dT%H:%M:%S.%f'"


class JsonForm:
    """JSON values (see ``reclock.sinks.messages.Form``)."""

    def begin(self) -> None:
        """JSON needs no preparation."""

    def row(self, columns: Sequence[Column]) -> str:
        return _object(columns)

    def change(self, before: str, after: str, kind: str, at: Timestamp) -> str:
        images = f"""'{{"before":' || coalesce({before}, 'null') || ',"after":' || coalesce({after}, 'null')"""
        return f"""{images} || ',"op":"' || {kind} || '","ts_ms":{at:d}}}'"""

    def messages(self, rows: pa.Array) -> list[bytes | None]:
        return list(rows.cast(pa.binary()).to_pylist())


def _object(columns: Sequence[Column]) -> str:
    members = [
        f"{_text(json.dumps(c.name, ensure_ascii=False) + ':')} || coalesce({json_text(c)}, 'null')"
        for c in columns
    ]
    return " || ".join(["'{'", " || ',' || ".join(members), "'}'"]) if members else "'{}'"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def json_text(column: Column) -> str:
    """The column as JSON text; NULL for NULL."""
    return _value(changes_column(column), column)


def _value(name: str, column: Column) -> str:
    """``name``, of the column's type, as JSON text."""
    match column.type.name:
        case TypeName.ARRAY:
            assert column.type.element is not None
            element = _value("e", replace(column, type=column.type.element))
            items = f"list_transform({name}, lambda e: coalesce({element}, 'null'))"
            return f"'[' || array_to_string({items}, ',') || ']'"
        case TypeName.INTERVAL:
            return f"""'"' || {write_cast("duckdb", name, column.type, TEXT)} || '"'"""
        case TypeName.JSONB:
            return name  # its values are documents already
        case kind if kind is TypeName.TEXT or kind in TEXTUAL_TYPES:
            return f"to_json({name})::VARCHAR"
        case TypeName.BYTEA:
            return f"""'"\\\\x' || lower(hex({name})) || '"'"""
        case TypeName.DATE:
            return f"""'"' || strftime({name}, '%Y-%m-%d') || '"'"""
        case TypeName.TIMESTAMP:
            return f"""'"' || strftime({name}, {_SECONDS}) || '"'"""
        case TypeName.TIMESTAMPTZ:
            return f"""'"' || strftime(make_timestamp(epoch_us({name})), {_SECONDS}) || 'Z"'"""
        case TypeName.REAL | TypeName.DOUBLE:
            special = f"""CASE WHEN isnan({name}) THEN '"NaN"' WHEN {name} > 0 THEN '"Infinity"' ELSE '"-Infinity"' END"""
            return (
                f"CASE WHEN {name} IS NULL THEN NULL WHEN isfinite({name}) THEN "
                f"{name}::VARCHAR ELSE {special} END"
            )
        case TypeName.BOOLEAN | TypeName.NUMERIC | TypeName.OID:
            return f"{name}::VARCHAR"
        case _ if column.type.is_integer:
            return f"{name}::VARCHAR"
        case _:
            raise UnsupportedSql(
                f'a sink writes no values of type {column.type}, as in "{column.name}"'
            )
