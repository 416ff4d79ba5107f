"""What a client of Reclock can do, however it is connected."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from reclock.client.change_stream import ChangeStream
from reclock.client.query_result import DISPLAYED_ROWS, QueryResult, html_head
from reclock.client.statements import ChangesRequest, Params, Time, query_text, relation_name
from reclock.errors import UnsupportedSql

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from reclock.compute.reads.file_part import FilePart, UpdateRange
    from reclock.pipeline.tick_reports import TickReport


class Client(ABC):
    """Executes statements in one session. A context manager; leaving it closes the session and its
    subscriptions.

    Every error is a ``ReclockError`` with PostgreSQL's ``sqlstate``. Over the wire it is a
    ``ServerError``, with the server's SQLSTATE, message, detail and hint.
    """

    @abstractmethod
    def sql(self, query: str, params: Params = None, as_of: Time | None = None) -> QueryResult:
        """The result of ``query``, with ``params`` as the values of ``$1``, ``$2``, …, at the time
        ``as_of``.

        Without ``params`` and ``as_of`` it may be several statements, which are one transaction;
        the result is that of the last one.
        """

    def batches(
        self, query: str, params: Params = None, as_of: Time | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows of one query, as ``sql`` returns them, batch by batch: they need not fit into
        memory.

        The iterator has a session of its own, without limits of time and size. Raises
        ``InvalidOption`` if ``query`` is not one query.
        """
        return self._batches(query_text(query, as_of), params)

    def changes(
        self, query: str, params: Params = None, *, as_of: Time, up_to: Time, snapshot: bool = True
    ) -> Iterator[pa.RecordBatch]:
        """What ``subscribe`` returns until ``up_to``, batch by batch: the changes need not fit into
        memory.

        The columns are ``mz_timestamp``, ``mz_diff`` and those of the query. Raises
        ``InvalidOption`` if ``up_to`` is not after ``as_of``.
        """
        request = ChangesRequest(query, params, as_of, up_to, snapshot, has_progress=False)
        return self._batches(request.text(), params)

    def file_parts(
        self,
        query: str,
        params: Params,
        updates: UpdateRange,
        *,
        has_times: bool,
        count: int | None = None,
    ) -> list[FilePart] | None:
        """The rows or changes of a query in at most ``count`` parts, for processes that read them
        with ``part``. None if files alone do not answer it, and over the wire."""
        return None

    def part(self, part: FilePart) -> Iterator[pa.RecordBatch]:
        """The rows of one of the ``file_parts``, batch by batch. Raises ``VersionGone`` and
        ``DroppedMeanwhile`` if the files are gone; ``UnsupportedSql`` over the wire."""
        raise UnsupportedSql("files are not read over the wire")

    @abstractmethod
    def _batches(self, text: str, params: Params) -> Iterator[pa.RecordBatch]:
        """The rows of a statement that ends, in a session of its own without limits of time and
        size."""

    @abstractmethod
    def _subscribe(self, request: ChangesRequest) -> ChangeStream: ...

    @abstractmethod
    def tick(
        self, sources: str | Sequence[str] | None = None, *, at: int | None = None
    ) -> TickReport:
        """Publish what is new in the source or sources (all, if None), refresh indexes and emit
        sinks.

        A source that fails is in the report and raises nothing, and so is, in ``busy``, one that
        another process works on: a later tick publishes it. Raises ``UnsupportedSql`` over the
        wire.
        """

    @abstractmethod
    def close(self) -> None:
        """Roll back an open transaction, end the subscriptions, and end the session."""

    def subscribe(
        self,
        query: str,
        params: Params = None,
        *,
        as_of: Time | None = None,
        up_to: Time | None = None,
        snapshot: bool = True,
    ) -> ChangeStream:
        """The rows of a query or relation at ``as_of`` (now, if None), if ``snapshot``; then its
        changes at every later time.

        Ends before the time ``up_to``, or never. The stream has a session of its own.
        """
        return self._subscribe(ChangesRequest(query, params, as_of, up_to, snapshot))

    def table(self, name: str) -> TableReference:
        """The relation of that name, such as ``public.orders``, to be read. Raises
        ``SqlSyntaxError``."""
        return TableReference(self, relation_name(name))

    def status(self) -> QueryResult:
        """The status of each source: name, status, error, detail, hint and updated_at."""
        return self.sql(
            "SELECT name, status, error, detail, hint, updated_at FROM "
            "mz_internal.mz_source_statuses ORDER BY name"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class TableReference:
    """A relation at a time, or at the newest one. Each method reads it anew."""

    _client: Client
    name: str
    """As SQL writes it."""
    time: Time | None = None

    def as_of(self, time: Time) -> TableReference:
        """The relation at this time."""
        return replace(self, time=time)

    def read(self) -> QueryResult:
        """All rows."""
        return self._client.sql(f"SELECT * FROM {self.name}", as_of=self.time)

    def rows(self) -> list[tuple[Any, ...]]:
        """All rows as tuples."""
        return self.read().rows()

    def arrow(self) -> pa.Table:
        """All rows as an Arrow table."""
        return self.read().arrow()

    def pandas(self) -> pd.DataFrame:
        """All rows as a pandas frame."""
        return self.read().pandas()

    def polars(self) -> pl.DataFrame:
        """All rows as a Polars frame. Raises ``ConfigurationError`` if Polars is not installed."""
        return self.read().polars()

    def subscribe(self, *, up_to: Time | None = None, snapshot: bool = True) -> ChangeStream:
        """As ``Client.subscribe``."""
        return self._client.subscribe(self.name, as_of=self.time, up_to=up_to, snapshot=snapshot)

    def __repr__(self) -> str:
        time = "" if self.time is None else f" as of {self.time}"
        return f"<TableReference {self.name}{time}>"

    def _repr_html_(self) -> str:
        """The first rows. No more are read than it takes to know whether there are more."""
        query = f"SELECT * FROM {self.name} LIMIT {DISPLAYED_ROWS + 1}"
        return html_head(self._client.sql(query, as_of=self.time).arrow())
