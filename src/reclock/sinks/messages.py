"""Encodes the changes of one time as messages, in the envelopes of Kafka sinks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import Protocol

import duckdb
import pyarrow as pa

from reclock.algebra.relations import DIFF_COLUMN, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.definitions.sinks import Envelope
from reclock.errors import SinkKeyNotUnique

Message = tuple[bytes | None, bytes | None]
"""A key and a value."""


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
    """Encodes changes of rows of ``desc``, keyed by ``key`` if it has columns. Spills to temporary
    files."""

    def __init__(
        self,
        desc: RelationDesc,
        key: tuple[str, ...],
        envelope: Envelope,
        form: Form,
        key_form: KeyForm,
    ) -> None:
        self._key, self._envelope, self._form, self._key_form = key, envelope, form, key_form
        self._row = form.row(desc.columns)
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
            yield list(zip(keys, self._form.messages(batch["value"]), strict=True))

    def _keyed(self, at: Timestamp) -> str:
        value = (
            "after" if self._envelope is Envelope.UPSERT else self._change("before", "after", at)
        )
        return f"""
            SELECT key, {value} AS value, gone > 1 OR come > 1 AS is_ambiguous FROM (
                SELECT key, coalesce(sum(-n) FILTER (n < 0), 0) AS gone, coalesce(sum(n) FILTER (n > 0), 0) AS come,
                    any_value(value) FILTER (n < 0) AS before, any_value(value) FILTER (n > 0) AS after
                FROM (SELECT {self._key_row} AS key, {self._row} AS value, {DIFF_COLUMN} AS n FROM changes) GROUP BY key)
        """

    def _unkeyed(self, at: Timestamp) -> str:
        value = self._change(
            f"CASE WHEN {DIFF_COLUMN} < 0 THEN row END",
            f"CASE WHEN {DIFF_COLUMN} > 0 THEN row END",
            at,
        )
        rows = f"SELECT {self._row} AS row, {DIFF_COLUMN} FROM changes"
        return f"SELECT {value} AS value FROM ({rows}), range(abs({DIFF_COLUMN}))"

    def _change(self, before: str, after: str, at: Timestamp) -> str:
        kind = f"CASE WHEN {before} IS NULL THEN 'c' WHEN {after} IS NULL THEN 'd' ELSE 'u' END"
        return self._form.change(before, after, kind, at)


def key_columns(desc: RelationDesc, key: tuple[str, ...]) -> list[Column]:
    """The columns of the key, in the order of the relation."""
    return [column for column in desc.columns if column.name in key]


def changes_column(column: Column) -> str:
    """The column of ``changes``."""
    return 'changes."' + column.name.replace('"', '""') + '"'
