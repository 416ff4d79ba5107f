"""Encodes the changes of one time as messages, in the envelopes of Kafka sinks."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import Protocol

import duckdb
import pyarrow as pa

from reclock.algebra.relations import DIFF_COLUMN, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.definitions.sinks import Envelope
from reclock.errors import SinkHeadersInvalid, SinkKeyNotUnique

Headers = list[tuple[str, bytes | None]]

Message = tuple[bytes | None, bytes | None, Headers]
"""A key, a value and headers."""


class KeyForm(Protocol):
    """The format of keys: a DuckDB expression over ``changes``, and the bytes of its values."""

    def begin(self) -> None:
        """Prepare what readers need besides the messages. Raises ``TargetUnavailable``,
        ``TargetChanged``."""
        ...

    def row(self, columns: Sequence[Column]) -> str:
        """The expression for a row of these columns."""
        ...

    def messages(self, rows: pa.Array) -> list[bytes | None]: ...


class Form(KeyForm, Protocol):
    """The format of values."""

    def change(self, before: str, after: str, kind: str, at: Timestamp) -> str:
        """The expression for Debezium's event: the rows, or NULL, and the operation."""
        ...


class Encoder:
    """Encodes changes of rows of ``desc``, keyed by ``key`` if it has columns. The column
    ``headers``, if there is one, is no part of values. Spills to temporary files."""

    def __init__(
        self,
        desc: RelationDesc,
        key: tuple[str, ...],
        envelope: Envelope,
        form: Form,
        key_form: KeyForm,
        headers: str = "",
    ) -> None:
        self._key, self._envelope, self._form, self._key_form = key, envelope, form, key_form
        self._row = form.row(value_columns(desc, headers))
        carried = [changes_column(column) for column in desc.columns if column.name == headers]
        self._has_headers = bool(carried)
        self._headers = carried[0] if carried else "NULL::VARCHAR"
        self._key_row = key_form.row(key_columns(desc, key)) if key else "NULL"
        self._database = duckdb.connect(":memory:")
        folder = os.path.join(tempfile.gettempdir(), f"reclock-sink-{os.getpid()}")
        self._database.execute("SET temp_directory = $folder", {"folder": folder})

    def begin(self) -> None:
        """See ``Form``."""
        self._form.begin()
        if self._key:
            self._key_form.begin()

    def close(self) -> None:
        self._database.close()

    def messages(self, at: Timestamp, changes: pa.RecordBatchReader) -> Iterator[list[Message]]:
        """One message for each change; with a key, one for each changed key. Raises
        ``SinkKeyNotUnique``."""
        self._database.register("changes", changes)
        reader = self._database.sql(
            self._keyed(at) if self._key else self._unkeyed(at)
        ).to_arrow_reader(1 << 14)
        for batch in reader:
            if self._key and (guilty := batch.filter(batch["is_ambiguous"])).num_rows:
                raise SinkKeyNotUnique(
                    self._key, at=at, detail=f"such as {guilty['key'][0].as_py()}"
                )
            keys = self._key_form.messages(batch["key"]) if self._key else [None] * batch.num_rows
            headers: list[Headers] = (
                [parse_headers(text) for text in batch["headers"].to_pylist()]
                if self._has_headers
                else [[]] * batch.num_rows
            )
            yield list(zip(keys, self._form.messages(batch["value"]), headers, strict=True))

    def _keyed(self, at: Timestamp) -> str:
        value = (
            "after" if self._envelope is Envelope.UPSERT else self._change("before", "after", at)
        )
        return f"""
            SELECT key, {value} AS value, gone > 1 OR come > 1 AS is_ambiguous,
                CASE WHEN come > 0 THEN new_headers ELSE old_headers END AS headers FROM (
                SELECT key, coalesce(sum(-n) FILTER (n < 0), 0) AS gone, coalesce(sum(n) FILTER (n > 0), 0) AS come,
                    any_value(value) FILTER (n < 0) AS before, any_value(value) FILTER (n > 0) AS after,
                    any_value(headers) FILTER (n < 0) AS old_headers, any_value(headers) FILTER (n > 0) AS new_headers
                FROM (SELECT {self._key_row} AS key, {self._row} AS value, {self._headers} AS headers,
                    {DIFF_COLUMN} AS n FROM changes) GROUP BY key)
        """

    def _unkeyed(self, at: Timestamp) -> str:
        value = self._change(
            f"CASE WHEN {DIFF_COLUMN} < 0 THEN row END",
            f"CASE WHEN {DIFF_COLUMN} > 0 THEN row END",
            at,
        )
        rows = f"SELECT {self._row} AS row, {self._headers} AS headers, {DIFF_COLUMN} FROM changes"
        return f"SELECT {value} AS value, headers FROM ({rows}), range(abs({DIFF_COLUMN}))"

    def _change(self, before: str, after: str, at: Timestamp) -> str:
        kind = f"CASE WHEN {before} IS NULL THEN 'c' WHEN {after} IS NULL THEN 'd' ELSE 'u' END"
        return self._form.change(before, after, kind, at)


def key_columns(desc: RelationDesc, key: tuple[str, ...]) -> list[Column]:
    """The columns of the key, in the order of the relation."""
    return [column for column in desc.columns if column.name in key]


def value_columns(desc: RelationDesc, headers: str) -> list[Column]:
    """The columns of the value: all but that of the headers."""
    return [column for column in desc.columns if column.name != headers]


def parse_headers(text: str | None) -> Headers:
    """The headers of a message, from an object of texts, or from the form in which a source
    includes them: a list of names with bytes. Raises ``SinkHeadersInvalid``."""
    if text is None:
        return []
    try:
        document = json.loads(text)
        pairs = list(document.items()) if isinstance(document, dict) else document
        return [(_checked(name), _header_value(value)) for name, value in pairs]
    except (TypeError, ValueError):
        raise SinkHeadersInvalid(text) from None


def _checked(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError
    return name


def _header_value(value: object) -> bytes | None:
    """Text after ``\\x`` is hexadecimal digits of bytes."""
    if value is None:
        return None
    text = _checked(value)
    return bytes.fromhex(text[2:]) if text.startswith("\\x") else text.encode()


def changes_column(column: Column) -> str:
    """The column of ``changes``."""
    return 'changes."' + column.name.replace('"', '""') + '"'
