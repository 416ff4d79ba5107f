"""A session on a server, for the shell, over psycopg."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import psycopg
import pyarrow as pa
from psycopg.rows import TupleRow
from psycopg.types.string import TextLoader

from reclock.adapter.context.results import Result
from reclock.algebra.relations import TEXT, Column, RelationDesc, ScalarType, TypeName
from reclock.algebra.textual import TEXTUAL_TYPES
from reclock.client.server_error import ServerError
from reclock.errors import InvalidOption, UnknownObject
from reclock.server.values import type_of

_CANCEL_TIMEOUT_S = 2.0


class RemoteSession:
    """Statements of one client, executed by the server at ``url``. A context manager. Raises
    ``ServerError``."""

    def __init__(self, url: str, notice: Callable[[str], None]) -> None:
        try:
            self._connection = psycopg.connect(url, autocommit=True)
        except psycopg.ProgrammingError:
            raise InvalidOption(
                "the URL is not one of a server",
                hint="write postgresql://user:password@host:port/database",
            ) from None
        except psycopg.Error as error:
            raise ServerError(error) from error
        for description in TEXTUAL_TYPES.values():  # printed as the server sends them
            self._connection.adapters.register_loader(description.oid, TextLoader)
        self._connection.add_notice_handler(
            lambda diagnosis: notice(diagnosis.message_primary or "")
        )

    def execute(self, text: str) -> Iterator[Result]:
        """The result of each statement of ``text``, which is sent to the server as one query."""
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(text.encode())
                yield _result(cursor)
                while cursor.nextset():
                    yield _result(cursor)
        except psycopg.Error as error:
            raise ServerError(error) from error

    def cancel(self) -> None:
        """End the running statement with ``QueryCanceled``. From any thread."""
        with suppress(psycopg.Error):  # the statement or the connection may have ended
            self._connection.cancel_safe(timeout=_CANCEL_TIMEOUT_S)

    def relation_names(self) -> list[str]:
        """The names of all relations, for completion."""
        return [
            row[0]
            for result in self.execute("SELECT name FROM mz_objects ORDER BY name")
            for row in result.rows()
        ]

    def __enter__(self) -> RemoteSession:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def _result(cursor: psycopg.Cursor[TupleRow]) -> Result:
    tag = cursor.statusmessage or ""
    if cursor.description is None:
        return Result(tag)
    desc = RelationDesc(tuple(_column(column) for column in cursor.description))
    columns = list(zip(*cursor.fetchall(), strict=True)) or [()] * len(desc)
    names = [str(position) for position in range(len(desc))]
    return Result(
        tag, desc, pa.table([pa.array(values) for values in columns], names=names).to_batches()
    )


def _column(described: psycopg.Column) -> Column:
    try:
        type = type_of(described.type_code) or TEXT
        # The server has sent the digits that a numeric prints.
        return Column(
            described.name, ScalarType(TypeName.NUMERIC) if type.name is TypeName.NUMERIC else type
        )
    except UnknownObject:
        return Column(described.name, TEXT)
