"""A client of a server, over the PostgreSQL protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any

import psycopg
import pyarrow as pa
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.types.string import TextLoader

from reclock.algebra.array_shapes import with_dimensions
from reclock.algebra.interval_reading import interval_of
from reclock.algebra.object_ids import type_rows
from reclock.algebra.relations import TEXT, Column, TypeName, numeric
from reclock.algebra.textual import TEXTUAL_TYPES
from reclock.client.change_stream import ChangeStream, Messages
from reclock.client.client import Client
from reclock.client.query_result import QueryResult
from reclock.client.server_error import ServerError
from reclock.client.statements import (
    NO_LIMITS,
    ChangesRequest,
    Params,
    Time,
    parameter_values,
    statement_text,
)
from reclock.compute.engines.engine import result_type
from reclock.errors import InvalidOption, TypeMismatch, UnknownObject, UnsupportedSql
from reclock.server.values import type_of

if TYPE_CHECKING:
    from reclock.pipeline.tick_reports import TickReport

_CANCEL_TIMEOUT_S = 2.0
_BATCH_ROWS = 1 << 13

Connection = psycopg.Connection[tuple[Any, ...]]
Rows = Sequence[tuple[Any, ...]]


class RemoteClient(Client):
    """Sends statements to the server at ``url``. Threads may share it: statements run one after the
    other."""

    def __init__(self, url: str, *, notice: Callable[[str], None] = lambda message: None) -> None:
        """``notice`` receives what the server reports besides results. Raises ``InvalidOption`` and
        ``ServerError``."""
        self._url, self._notice = url, notice
        self._connection = self._connect()
        self._streams: list[ChangeStream] = []

    def sql(self, query: str, params: Params = None, as_of: Time | None = None) -> QueryResult:
        text = statement_text(query, as_of)
        with _translated_errors(), psycopg.RawCursor(self._connection) as cursor:
            cursor.execute(text.encode(), parameter_values(params) or None)
            while cursor.nextset():
                pass
            return _query_result(cursor)

    def tick(
        self, sources: str | Sequence[str] | None = None, *, at: int | None = None
    ) -> TickReport:
        raise UnsupportedSql(
            "a client of a server cannot tick",
            hint="connect to the home of the environment, or schedule reclock tick",
        )

    def __repr__(self) -> str:
        server = self._connection.info
        return f"<RemoteClient of {server.user}@{server.host}:{server.port}/{server.dbname}>"

    def close(self) -> None:
        for stream in self._streams:
            stream.close()
        self._connection.close()

    def _batches(self, text: str, params: Params) -> Iterator[pa.RecordBatch]:
        with (
            self._connect() as connection,
            _translated_errors(),
            psycopg.RawCursor(connection) as cursor,
        ):
            cursor.execute(NO_LIMITS)
            rows = cursor.stream(text.encode(), parameter_values(params) or None)
            while chunk := list(islice(rows, _BATCH_ROWS)):
                yield from _table(cursor.description or [], chunk).to_batches()

    def _connect(self) -> Connection:
        try:
            connection = psycopg.connect(self._url, autocommit=True, prepare_threshold=None)
        except psycopg.ProgrammingError:
            raise InvalidOption(
                "the URL is not one of a server",
                hint="write postgresql://user:password@host:port/database",
            ) from None
        except psycopg.Error as error:
            raise ServerError(error) from error
        connection.adapters.register_loader("interval", _IntervalLoader)
        for oid in _AS_TEXTS:  # as an embedded client has them
            connection.adapters.register_loader(oid, TextLoader)
        connection.add_notice_handler(
            lambda diagnosis: self._notice(diagnosis.message_primary or "")
        )
        return connection

    def _subscribe(self, request: ChangesRequest) -> ChangeStream:
        text = request.text()
        connection = self._connect()

        def interrupt() -> None:
            with suppress(psycopg.Error):  # the statement or the connection may have ended
                connection.cancel_safe(timeout=_CANCEL_TIMEOUT_S)

        def release() -> None:
            connection.close()
            self._streams.remove(stream)

        stream = ChangeStream(_messages(connection, text, request.params), release, interrupt)
        self._streams = [*self._streams, stream]
        return stream


_AS_TEXTS = [
    *(description.oid for description in TEXTUAL_TYPES.values()),
    *(row.oid for row in type_rows() if row.type.is_of_records),
]
"""The object ids of types whose values are texts in Arrow."""


class _IntervalLoader(Loader):
    """An interval as the parts that Arrow has; Python's own type has no months."""

    def load(self, data: Buffer) -> dict[str, int]:
        return interval_of(bytes(data).decode().strip())._asdict()


@contextmanager
def _translated_errors() -> Iterator[None]:
    try:
        yield
    except (psycopg.ProgrammingError, psycopg.DataError) as error:
        if error.sqlstate is None:  # of a value that psycopg cannot send or read
            raise TypeMismatch(str(error)) from error
        raise ServerError(error) from error
    except psycopg.Error as error:
        raise ServerError(error) from error


def _messages(connection: Connection, text: str, params: Params) -> Messages:
    """The rows as they arrive, gathered until a row of progress completes them."""
    rows: list[tuple[Any, ...]] = []
    with _translated_errors(), psycopg.RawCursor(connection) as cursor:
        for row in cursor.stream(text.encode(), parameter_values(params) or None):
            rows.append(row)
            if row[1]:
                yield _table(cursor.description or [], rows)
                rows = []
        if rows:
            yield _table(cursor.description or [], rows)


def _query_result(cursor: psycopg.Cursor[tuple[Any, ...]]) -> QueryResult:
    tag = cursor.statusmessage or ""
    if cursor.description is None:
        return QueryResult(tag, None)
    return QueryResult(tag, _table(cursor.description, cursor.fetchall()))


def _table(description: Sequence[psycopg.Column], rows: Rows) -> pa.Table:
    names = [column.name for column in description]
    columns: Sequence[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * len(names)
    arrays = [_array(column, values) for column, values in zip(description, columns, strict=True)]
    return pa.Table.from_arrays(arrays, names=names)


def _array(described: psycopg.Column, values: Sequence[Any]) -> pa.Array:
    """The values in the Arrow type that an embedded client gives them. A numeric without a
    precision has the digits it needs."""
    column = _column(described)
    if column.type.name is TypeName.ARRAY:
        first = next((value for value in values if value), None)
        return pa.array(values, result_type(with_dimensions(first, column.type)))
    if column.type.name is not TypeName.NUMERIC:
        return pa.array(values, result_type(column.type))
    if described.precision is not None:
        return pa.array(values, result_type(numeric(described.precision, described.scale or 0)))
    if all(value is None for value in values):
        return pa.array(values, result_type(column.type))
    scale = max((-_exponent(value) for value in values if value is not None), default=0)
    return pa.array(values, result_type(numeric(38, max(0, scale))))


def _exponent(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return exponent


def _column(described: psycopg.Column) -> Column:
    try:
        type = type_of(described.type_code) or TEXT
    except UnknownObject:
        type = TEXT
    return Column(described.name, TEXT if type.is_of_records or type.is_list_or_map else type)
