"""A client of an environment that this process opens itself: no server is needed."""

from __future__ import annotations

import os
import socket
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from reclock.adapter.context.results import Result
from reclock.adapter.context.texts import texts
from reclock.adapter.query.file_parts import file_parts, read_part
from reclock.adapter.session.session import Session
from reclock.adapter.statement_context import Answer
from reclock.algebra.relations import TEXT, Column
from reclock.client.change_stream import ChangeStream, Messages
from reclock.client.client import Client
from reclock.client.parameters import execute_with, prepare_with
from reclock.client.query_result import QueryResult
from reclock.client.statements import (
    NO_LIMITS,
    ChangesRequest,
    Params,
    Time,
    parameter_values,
    statement_text,
)
from reclock.compute.engines.engine import cast_to, result_schema, result_type
from reclock.errors import UnsupportedSql
from reclock.pipeline import tick
from reclock.runtime.environment import Environment
from reclock.sql.names import DEFAULT_USER

if TYPE_CHECKING:
    from reclock.compute.reads.file_part import FilePart, UpdateRange
    from reclock.pipeline.tick_reports import TickReport


class EmbeddedClient(Client):
    """Executes statements over ``environment``, which it closes. Threads may share it: statements
    run one after the other."""

    def __init__(
        self,
        environment: Environment,
        *,
        user: str = DEFAULT_USER,
        notice: Callable[[str], None] = lambda message: None,
    ) -> None:
        """``notice`` receives what statements report besides results."""
        self.environment = environment
        self._user, self._notice = user, notice
        self._session = Session(environment, notice, user=user)
        self._lock = threading.Lock()
        self._streams: list[ChangeStream] = []
        self._close = weakref.finalize(self, _close, self._session, environment)
        """Also called if nobody has closed the client: when it is collected, or at exit."""

    def sql(self, query: str, params: Params = None, as_of: Time | None = None) -> QueryResult:
        with self._lock:
            try:
                text = statement_text(query, as_of)
                if values := parameter_values(params):
                    return _to_query_result(execute_with(self._session, text, values))
                result = QueryResult("", None)
                for answer in self._session.execute_as_one(text):
                    result = _to_query_result(answer)
                return result
            except BaseException:
                self._session.fail()
                raise

    def tick(
        self, sources: str | Sequence[str] | None = None, *, at: int | None = None
    ) -> TickReport:
        if isinstance(sources, str):
            sources = [sources]
        owner = f"client-{socket.gethostname()}-{os.getpid()}"
        return tick.run(self.environment, only=sources, at=at, owner=owner)

    def __repr__(self) -> str:
        return f"<EmbeddedClient of {self.environment.stores.settings.home}>"

    def close(self) -> None:
        for stream in self._streams:
            stream.close()
        self._close()

    def file_parts(
        self,
        query: str,
        params: Params,
        updates: UpdateRange,
        *,
        has_times: bool,
        count: int | None = None,
    ) -> list[FilePart] | None:
        with self._unlimited_session() as session:
            prepared, values = prepare_with(session, query, parameter_values(params))
            divide = partial(file_parts, updates=updates, has_times=has_times, count=count)
            return session.use_plan(prepared, values, divide)

    def part(self, part: FilePart) -> Iterator[pa.RecordBatch]:
        return _client_batches(read_part(self.environment, part))

    def _batches(self, text: str, params: Params) -> Iterator[pa.RecordBatch]:
        with self._unlimited_session() as session:
            answer = execute_with(session, text, parameter_values(params))
            assert isinstance(answer, Result)
            yield from _client_batches(answer)

    @contextmanager
    def _unlimited_session(self) -> Iterator[Session]:
        with closing(Session(self.environment, self._notice, user=self._user)) as session:
            for _ in session.execute_as_one(NO_LIMITS):
                pass
            yield session

    def _subscribe(self, request: ChangesRequest) -> ChangeStream:
        text = request.text()
        session = Session(self.environment, self._notice, user=self._user)
        try:
            answer = execute_with(session, text, parameter_values(request.params))
            assert isinstance(answer, Result)
        except BaseException:
            session.close()
            raise

        def release() -> None:
            answer.close()
            session.close()
            self._streams.remove(stream)

        stream = ChangeStream(_messages(answer), release)
        self._streams = [*self._streams, stream]
        return stream


def _close(session: Session, environment: Environment) -> None:
    session.close()
    environment.close()


def _to_query_result(answer: Answer) -> QueryResult:
    if not isinstance(answer, Result) or answer.is_live:
        raise UnsupportedSql("sql() cannot transfer the data of this statement")
    if answer.desc is None:
        return QueryResult(answer.tag, None)
    return QueryResult(answer.tag, _table(answer, list(answer.batches)))


def _client_batches(answer: Result) -> Iterator[pa.RecordBatch]:
    with closing(answer):
        for batch in answer.batches:
            yield from _table(answer, [batch]).to_batches()


def _table(answer: Result, batches: list[pa.RecordBatch]) -> pa.Table:
    assert answer.desc is not None
    schema = result_schema(answer.desc.columns)
    tables = [cast_to(pa.Table.from_batches([batch]), schema) for batch in batches]
    table = pa.concat_tables(tables) if tables else schema.empty_table()
    return _with_texts_of_records(table, answer.desc.columns)


def _with_texts_of_records(table: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """``table`` with records as texts: a server does not say the types of their fields."""
    for place, column in enumerate(columns):
        if column.type.is_of_records:
            chunks = [texts(chunk, column.type) for chunk in table.column(place).chunks]
            text = pa.chunked_array(chunks, pa.large_string()).cast(result_type(TEXT))
            table = table.set_column(place, column.name, text)
    return table


def _messages(answer: Result) -> Messages:
    """The live batches, gathered until a row of progress completes them."""
    batches: list[pa.RecordBatch] = []
    for batch in answer.batches:
        if not batch.num_rows:
            yield None
            continue
        batches.append(batch)
        if batch.column(1)[batch.num_rows - 1].as_py():
            yield _table(answer, batches)
            batches = []
    if batches:
        yield _table(answer, batches)
