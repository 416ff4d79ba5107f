"""A session on a server, for the shell, over psycopg and libpq."""

from __future__ import annotations

import select
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import contextmanager, suppress

import psycopg
import pyarrow as pa
from psycopg import generators
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

from reclock.adapter.context.results import Result
from reclock.algebra.relations import TEXT, Column, RelationDesc, ScalarType
from reclock.client.server_error import ServerError
from reclock.errors import InvalidOption, QueryCanceled, UnknownObject
from reclock.server.values import type_of

_CANCEL_TIMEOUT_S = 2.0
_BATCH_ROWS = 1 << 13
_PAUSE_S = 0.5
"""Rows that have arrived are passed on when no more have come for this long."""


class RemoteSession:
    """Statements of one client, executed by the server at ``url``. A context manager. Raises
    ``ServerError``."""

    def __init__(self, url: str, notice: Callable[[str], None]) -> None:
        try:
            self._connection = psycopg.connect(url, autocommit=True, client_encoding="utf8")
        except psycopg.ProgrammingError:
            raise InvalidOption(
                "the URL is not one of a server",
                hint="write postgresql://user:password@host:port/database",
            ) from None
        except psycopg.Error as error:
            raise ServerError(error) from error
        self._is_cancelled = False
        self._relation_names: list[str] = []
        self._connection.add_notice_handler(
            lambda diagnosis: notice(diagnosis.message_primary or "")
        )

    def execute(self, text: str) -> Iterator[Result | RemoteCopyOut | RemoteCopyIn]:
        """The result of each statement of ``text``, which is sent to the server as one query.

        Each must be taken wholly before the next. Values are texts as the server sends them,
        whatever their type.
        """
        libpq = self._connection.pgconn
        self._is_cancelled = False
        with _translated_errors():
            while libpq.get_result() is not None:  # an error left the rest of its query
                pass
            libpq.send_query(text.encode())
            libpq.set_single_row_mode()
            self._connection.wait(generators.send(libpq))
            while (result := self._next()) is not None:
                match result.status:
                    case ExecStatus.SINGLE_TUPLE | ExecStatus.TUPLES_OK:
                        desc = RelationDesc(tuple(map(_column, _described(result))))
                        yield Result("", desc, self._rows(result, desc), is_live=True)
                    case ExecStatus.COPY_OUT:
                        copied = RemoteCopyOut(self._copied())
                        yield copied
                        tag = self._next()
                        copied.tag = ((tag and tag.command_status) or b"").decode()
                    case ExecStatus.COPY_IN:
                        yield RemoteCopyIn(self._connection, self._next)
                    case _:
                        yield Result((result.command_status or b"").decode())

    def cancel(self) -> None:
        """End the running statement with an error. From any thread. Its rows that are on their way
        are dropped: to print them could take longer than the query."""
        self._is_cancelled = True
        with suppress(psycopg.Error):  # the statement or the connection may have ended
            self._connection.cancel_safe(timeout=_CANCEL_TIMEOUT_S)

    def relation_names(self) -> list[str]:
        """The names of all relations, for completion: those of the last time that no transaction
        was open, which this query could end."""
        if self._connection.info.transaction_status is TransactionStatus.IDLE:
            self._relation_names = self._texts("SELECT name FROM mz_objects ORDER BY name")
        return self._relation_names

    def column_names(self, relations: Collection[str]) -> list[str]:
        """The names of the columns of all relations with these names, for completion. None while a
        transaction is open."""
        is_idle = self._connection.info.transaction_status is TransactionStatus.IDLE
        if not relations or not is_idle:
            return []
        names = ", ".join("'" + name.replace("'", "''") + "'" for name in relations)
        return self._texts(
            "SELECT DISTINCT c.name FROM mz_columns AS c JOIN mz_objects AS o ON o.id = c.id "
            f"WHERE o.name IN ({names}) ORDER BY c.name"
        )

    def _texts(self, query: str) -> list[str]:
        """The first column of the query's result."""
        return [
            row[0]
            for result in self.execute(query)
            if isinstance(result, Result)
            for row in result.rows()
        ]

    def __enter__(self) -> RemoteSession:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def _next(self) -> PGresult | None:
        """The next result, or row of one; None if the query has ended."""
        self._has_arrived()
        result = self._connection.pgconn.get_result()
        if result is not None and result.status == ExecStatus.FATAL_ERROR:
            raise psycopg.errors.error_from_result(result)
        return result

    def _has_arrived(self, timeout_s: float | None = None) -> bool:
        """Whether the next result arrives in this time; without a limit, wait for it."""
        libpq = self._connection.pgconn
        while libpq.is_busy():
            if not self._receive(timeout_s):
                return False
        return True

    def _receive(self, timeout_s: float | None = None) -> bool:
        libpq = self._connection.pgconn
        if not select.select([libpq.socket], [], [], timeout_s)[0]:
            return False
        libpq.consume_input()
        return True

    def _rows(self, first: PGresult, desc: RelationDesc) -> Iterator[pa.RecordBatch]:
        """The rows from ``first`` on, and an empty batch at each pause. Raises ``QueryCanceled`` if
        the statement had ended when it was cancelled."""
        row: PGresult | None = first
        rows: list[list[bytes | None]] = []
        with _translated_errors():
            while row is not None and row.status == ExecStatus.SINGLE_TUPLE:
                if self._is_cancelled:
                    rows, row = [], self._next()
                    continue
                rows.append([row.get_value(0, index) for index in range(len(desc))])
                is_pause = not self._has_arrived(_PAUSE_S)
                if is_pause or len(rows) == _BATCH_ROWS:
                    yield _batch(rows, desc)
                    rows = []
                if is_pause:
                    yield _batch([], desc)
                row = self._next()
        if self._is_cancelled:
            raise QueryCanceled
        if rows:
            yield _batch(rows, desc)

    def _copied(self) -> Generator[pa.LargeBinaryArray]:
        """The data of ``COPY … TO STDOUT``, and an empty array at each pause."""
        libpq = self._connection.pgconn
        pieces: list[bytes] = []
        with _translated_errors():
            while (received := libpq.get_copy_data(1))[0] >= 0:
                if received[0]:
                    pieces.append(bytes(received[1]))
                is_pause = not received[0] and not self._receive(_PAUSE_S)
                if is_pause or len(pieces) == _BATCH_ROWS:
                    yield pa.array(pieces, pa.large_binary())
                    pieces = []
                if is_pause:
                    yield pa.array([], pa.large_binary())
                    self._receive()
        yield pa.array(pieces, pa.large_binary())


class RemoteCopyOut:
    """``COPY … TO STDOUT`` on a server, as ``CopyOut``."""

    def __init__(self, lines: Generator[pa.LargeBinaryArray]) -> None:
        self.lines = lines
        self.tag = ""
        """``COPY n``, after the statement has ended."""

    def close(self) -> None:
        self.lines.close()


class RemoteCopyIn:
    """``COPY … FROM STDIN`` on a server, as ``CopyIn``."""

    def __init__(
        self, connection: psycopg.Connection, result: Callable[[], PGresult | None]
    ) -> None:
        self._connection, self._result = connection, result

    def write(self, data: bytes) -> None:
        with _translated_errors():
            self._connection.wait(generators.copy_to(self._connection.pgconn, data))

    def finish(self) -> Result:
        with _translated_errors():
            self._connection.pgconn.put_copy_end()
            self._connection.wait(generators.send(self._connection.pgconn))
            result = self._result()
        return Result(((result and result.command_status) or b"").decode())


@contextmanager
def _translated_errors() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise ServerError(error) from error


def _batch(rows: list[list[bytes | None]], desc: RelationDesc) -> pa.RecordBatch:
    if not len(desc):
        return pa.RecordBatch.from_struct_array(pa.nulls(len(rows), pa.struct([])))
    columns = zip(*rows, strict=True) if rows else [()] * len(desc)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, pa.large_binary()).cast(pa.large_string()) for column in columns],
        list(desc.names),
    )


def _described(result: PGresult) -> Iterator[tuple[str, int]]:
    for index in range(result.nfields):
        yield (result.fname(index) or b"").decode(), result.ftype(index)


def _column(described: tuple[str, int]) -> Column:
    name, oid = described
    try:
        type: ScalarType = type_of(oid) or TEXT
    except UnknownObject:
        type = TEXT
    return Column(name, type)
