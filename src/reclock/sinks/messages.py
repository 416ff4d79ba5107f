"""Changes of one time as messages: JSON that a source of FORMAT JSON reads back, in the envelopes of sinks into Kafka.

A number is a number, a date or time is text as in ISO 8601 (with ``Z`` if it has a zone), bytes are PostgreSQL's hexadecimal form,
and a float that is no number is text.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator

import duckdb
import pyarrow as pa

from reclock.algebra.relations import DIFF_COLUMN, Column, RelationDesc, TypeName
from reclock.algebra.timestamps import Timestamp
from reclock.errors import SinkKeyNotUnique
from reclock.sinks.description import Envelope

Message = tuple[bytes | None, bytes | None]
"""Key and value."""

_SECONDS = "'%Y-%m-%dT%H:%M:%S.%f'"


class Encoder:
    """Encodes changes of rows of ``desc``. What does not fit into memory goes to temporary files."""

    def __init__(self, desc: RelationDesc, key: tuple[str, ...], envelope: Envelope) -> None:
        self._key, self._envelope = key, envelope
        self._row = _object(desc.columns)
        self._key_object = _object([column for column in desc.columns if column.name in key])
        self._database = duckdb.connect(":memory:")
        folder = os.path.join(tempfile.gettempdir(), f"reclock-sink-{os.getpid()}")
        self._database.execute("SET temp_directory = $folder", {"folder": folder})

    def close(self) -> None:
        self._database.close()

    def messages(self, at: Timestamp, changes: pa.RecordBatchReader) -> Iterator[list[Message]]:
        """One message for each change; with a key, one for each key that changed. Raises ``SinkKeyNotUnique``."""
        self._database.register("changes", changes)
        reader = self._database.sql(self._keyed(at) if self._key else self._unkeyed(at)).to_arrow_reader(1 << 14)
        for batch in reader:
            if self._key and (guilty := batch.filter(batch["is_ambiguous"])).num_rows:
                raise SinkKeyNotUnique(self._key, at=at, detail=f"such as {guilty['key'][0].as_py()}")
            keys = batch["key"].cast(pa.binary()).to_pylist()
            yield list(zip(keys, batch["value"].cast(pa.binary()).to_pylist(), strict=True))

    def _keyed(self, at: Timestamp) -> str:
        value = "after" if self._envelope is Envelope.UPSERT else _change("before", "after", at)
        return f"""
            SELECT key, {value} AS value, gone > 1 OR come > 1 AS is_ambiguous FROM (
                SELECT key, coalesce(sum(-n) FILTER (n < 0), 0) AS gone, coalesce(sum(n) FILTER (n > 0), 0) AS come,
                    any_value(value) FILTER (n < 0) AS before, any_value(value) FILTER (n > 0) AS after
                FROM (SELECT {self._key_object} AS key, {self._row} AS value, {DIFF_COLUMN} AS n FROM changes) GROUP BY key)
        """

    def _unkeyed(self, at: Timestamp) -> str:
        value = _change(f"CASE WHEN {DIFF_COLUMN} < 0 THEN row END", f"CASE WHEN {DIFF_COLUMN} > 0 THEN row END", at)
        rows = f"SELECT {self._row} AS row, {DIFF_COLUMN} FROM changes"
        return f"SELECT NULL::VARCHAR AS key, {value} AS value FROM ({rows}), range(abs({DIFF_COLUMN}))"


def _change(before: str, after: str, at: Timestamp) -> str:
    """Debezium's event."""
    kind = f"CASE WHEN {before} IS NULL THEN 'c' WHEN {after} IS NULL THEN 'd' ELSE 'u' END"
    images = f"""'{{"before":' || coalesce({before}, 'null') || ',"after":' || coalesce({after}, 'null')"""
    return f"""{images} || ',"op":"' || {kind} || '","ts_ms":{at:d}}}'"""


def _object(columns: tuple[Column, ...] | list[Column]) -> str:
    members = [f"{_text(json.dumps(c.name, ensure_ascii=False) + ':')} || coalesce({_value(c)}, 'null')" for c in columns]
    return " || ".join(["'{'", " || ',' || ".join(members), "'}'"]) if members else "'{}'"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _value(column: Column) -> str:
    """The column as JSON; NULL if it is."""
    name = 'changes."' + column.name.replace('"', '""') + '"'
    match column.type.name:
        case TypeName.TEXT:
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
            spelled = f"""CASE WHEN isnan({name}) THEN '"NaN"' WHEN {name} > 0 THEN '"Infinity"' ELSE '"-Infinity"' END"""
            return f"CASE WHEN {name} IS NULL THEN NULL WHEN isfinite({name}) THEN {name}::VARCHAR ELSE {spelled} END"
        case _:
            return f"{name}::VARCHAR"
