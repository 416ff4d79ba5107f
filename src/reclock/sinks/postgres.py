"""The PostgreSQL target: a table with the current row of each key. Each time of the relation is one
transaction, with the sink's progress.

Progress lies beside the table, in ``reclock_sinks``: the sink's upper, and the token of the writer
that began last. A transaction locks that row first, so earlier writers find another token and fail.
Rows travel as JSON, which PostgreSQL converts to the types of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import psycopg
import pyarrow as pa
from psycopg import sql
from psycopg.conninfo import make_conninfo

from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.definitions.sinks import Envelope, PostgresTarget
from reclock.errors import ClaimConflict, TargetChanged, TargetUnavailable
from reclock.failpoints import failpoint
from reclock.sinks.json_messages import JsonForm
from reclock.sinks.messages import Encoder
from reclock.sinks.target import Written

PROGRESS_TABLE = "reclock_sinks"

_CONNECT_S = 10
_SETTINGS = "-c statement_timeout=300000 -c lock_timeout=30000 -c timezone=UTC"
"""Another writer may hold the lock on the progress while it commits."""

_CREATE_PROGRESS = """CREATE TABLE IF NOT EXISTS {progress}
    (sink text PRIMARY KEY, upper bigint, writer uuid NOT NULL)"""
_BEGIN = """INSERT INTO {progress} AS p (sink, writer) VALUES (%(sink)s, %(writer)s)
    ON CONFLICT (sink) DO UPDATE SET writer = excluded.writer RETURNING p.upper"""
_LOCK = "SELECT writer FROM {progress} WHERE sink = %(sink)s FOR UPDATE"
_CREATE_CHANGES = "CREATE TEMPORARY TABLE changes (key jsonb, value jsonb) ON COMMIT DROP"
_DELETE = """DELETE FROM {table} AS t
    USING (SELECT (jsonb_populate_record(NULL::{table}, key)).* FROM changes WHERE value IS NULL) AS gone
    WHERE {same}"""
_UPSERT = """INSERT INTO {table} ({columns})
    SELECT {columns} FROM (SELECT (jsonb_populate_record(NULL::{table}, value)).* FROM changes WHERE value IS NOT NULL) AS new
    ON CONFLICT ({key}) DO {update}"""
_ADVANCE = "UPDATE {progress} SET upper = %(upper)s WHERE sink = %(sink)s"


class PostgresWriter:
    """Writes to a PostgreSQL table (see ``reclock.sinks.target.Writer``). ``sink`` is unique among
    the sinks of all environments; ``parameters`` are libpq's."""

    def __init__(
        self, target: PostgresTarget, sink: str, desc: RelationDesc, parameters: Mapping[str, str]
    ) -> None:
        self._target, self._sink, self._desc = target, sink, desc
        self._parameters = parameters
        self._encoder = Encoder(desc, target.key, Envelope.UPSERT, JsonForm(), JsonForm())
        self._writer = uuid4()
        self._names = _names(target, desc)
        self._connection: psycopg.Connection[Any] | None = None

    def begin(self) -> Timestamp | None:
        """See ``reclock.sinks.target.Writer``. The table is created unless it is there."""
        with self._transaction() as connection:
            self._execute(connection, _CREATE_PROGRESS)
            arguments = {"sink": self._sink, "writer": self._writer}
            row = self._execute(connection, _BEGIN, arguments).fetchone()
            assert row is not None
            [upper] = row
            if upper is None:
                connection.execute(self._create_table())
        return None if upper is None else Timestamp(upper)

    def emit(self, at: Timestamp, changes: pa.RecordBatchReader) -> Written:
        """See ``reclock.sinks.target.Writer``. Raises ``SinkKeyNotUnique``, and ``TargetChanged``
        if PostgreSQL refuses a row."""
        with self._transaction() as connection:
            row = self._execute(connection, _LOCK, {"sink": self._sink}).fetchone()
            if row is None:
                raise TargetChanged(f"the progress of the sink is gone from {self._label}")
            if row[0] != self._writer:
                raise ClaimConflict(self._sink, detail="another writer has begun")
            written = self._copy(connection, at, changes)
            self._execute(connection, _DELETE)
            self._execute(connection, _UPSERT)
            self._execute(connection, _ADVANCE, {"sink": self._sink, "upper": at + 1})
            failpoint("sinks.postgres.before_commit")
        failpoint("sinks.postgres.after_commit")
        return written

    def close(self) -> None:
        self._encoder.close()
        if self._connection is not None:
            self._connection.close()

    def _copy(
        self, connection: psycopg.Connection[Any], at: Timestamp, changes: pa.RecordBatchReader
    ) -> Written:
        """Copy the changed keys into a temporary table, each with its new row or NULL."""
        connection.execute(_CREATE_CHANGES)
        count = size = 0
        copying = "COPY changes FROM STDIN"
        with connection.cursor() as cursor, cursor.copy(copying) as copy:
            for messages in self._encoder.messages(at, changes):
                for key, value, _ in messages:
                    copy.write_row((_text(key), _text(value)))
                    size += len(key or b"") + len(value or b"")
                count += len(messages)
        return Written(count, size)

    def _create_table(self) -> sql.Composed:
        columns = [
            sql.SQL("{} {}").format(sql.Identifier(column.name), sql.SQL(str(column.type)))
            for column in self._desc.columns
        ]
        return sql.SQL(
            "CREATE TABLE IF NOT EXISTS {table} ({columns}, PRIMARY KEY ({key}))"
        ).format(
            table=self._names["table"], key=self._names["key"], columns=sql.SQL(", ").join(columns)
        )

    def _execute(
        self,
        connection: psycopg.Connection[Any],
        statement: str,
        arguments: Mapping[str, object] | None = None,
    ) -> psycopg.Cursor[Any]:
        return connection.execute(sql.SQL(statement).format(**self._names), arguments)

    @contextmanager
    def _transaction(self) -> Iterator[psycopg.Connection[Any]]:
        """A transaction. Its failures raise ``TargetUnavailable``, or ``TargetChanged`` if trying
        again does not help."""
        try:
            if self._connection is None:
                self._connection = psycopg.connect(
                    make_conninfo("", **self._parameters),
                    autocommit=True,
                    connect_timeout=_CONNECT_S,
                    application_name="reclock",
                    options=_SETTINGS,
                )
            with self._connection.transaction():
                yield self._connection
        except psycopg.OperationalError as error:
            raise TargetUnavailable(
                f"cannot write {self._label}", detail=_first_line(error)
            ) from error
        except psycopg.Error as error:
            raise TargetChanged(
                f"{self._label} refuses a change", detail=_first_line(error)
            ) from error

    @property
    def _label(self) -> str:
        return f'table "{self._target.schema}.{self._target.table}"'


def _names(target: PostgresTarget, desc: RelationDesc) -> dict[str, sql.Composable]:
    """The identifiers in the statements of a sink."""
    others = [name for name in desc.names if name not in target.key]
    sets = [sql.SQL("{0} = excluded.{0}").format(sql.Identifier(name)) for name in others]
    same = [sql.SQL("t.{0} = gone.{0}").format(sql.Identifier(name)) for name in target.key]
    return {
        "progress": sql.Identifier(target.schema, PROGRESS_TABLE),
        "table": sql.Identifier(target.schema, target.table),
        "columns": _listed(desc.names),
        "key": _listed(target.key),
        "same": sql.SQL(" AND ").join(same),
        "update": sql.SQL("UPDATE SET ") + sql.SQL(", ").join(sets) if sets else sql.SQL("NOTHING"),
    }


def _listed(names: tuple[str, ...]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, names))


def _text(message: bytes | None) -> str | None:
    return None if message is None else message.decode()


def _first_line(error: psycopg.Error) -> str | None:
    return str(error).splitlines()[0] if str(error) else None
