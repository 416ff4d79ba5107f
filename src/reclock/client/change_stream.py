"""The changes of a relation or query as they become known, time by time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from reclock.algebra.relations import DIFF_COLUMN
from reclock.client.query_result import html_table, polars_frame, table_rows, text_table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_TIME, _PROGRESSED, _DIFF = 0, 1, 2
"""Where a subscription with progress has these columns. The query's columns follow them."""


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """All changes at one time: no later batch of the stream has this time or an earlier one."""

    time: int
    """In milliseconds since the Unix epoch."""
    _updates: pa.Table

    def rows(self) -> list[tuple[tuple[Any, ...], int]]:
        """Each row with its diff: by how many copies of the row the relation changes."""
        return [(row[:-1], row[-1]) for row in table_rows(self._updates)]

    def arrow(self) -> pa.Table:
        """The rows, with ``mz_diff`` as the last column."""
        return self._updates

    def pandas(self) -> pd.DataFrame:
        """As ``arrow``, as a pandas frame."""
        return self._updates.to_pandas()

    def polars(self) -> pl.DataFrame:
        """As ``arrow``, as a Polars frame. Raises ``ConfigurationError`` if Polars is not
        installed."""
        return polars_frame(self._updates)

    def __repr__(self) -> str:
        return f"<ChangeBatch at {self.time} with {len(self)} changed rows>"

    def __str__(self) -> str:
        return text_table(self._updates)

    def _repr_html_(self) -> str:
        return html_table(self._updates)

    def __len__(self) -> int:
        return int(self._updates.num_rows)


Messages = Generator[pa.Table | None]
"""Rows of a subscription with progress, which ends with a row of progress; or None while nothing
more is known."""


class ChangeStream:
    """An iterator of ``ChangeBatch``, in order of time, also for ``async for``. Ends at ``up_to``,
    or when it is closed.

    It waits for the next batch. A context manager; ``close`` may be called from any thread.
    """

    def __init__(
        self,
        messages: Messages,
        release: Callable[[], None],
        interrupt: Callable[[], None] = lambda: None,
    ) -> None:
        """``interrupt`` ends a wait of ``messages`` in another thread. ``release`` frees what they
        were read from."""
        self._messages, self._release, self._interrupt = messages, release, interrupt
        self._batches = self._read()
        self._reading = threading.Lock()
        self._is_closed = self._is_released = False

    def __iter__(self) -> Iterator[ChangeBatch]:
        return self

    def __next__(self) -> ChangeBatch:
        batch = self._next()
        if batch is None:
            raise StopIteration
        return batch

    def __aiter__(self) -> AsyncIterator[ChangeBatch]:
        return self

    async def __anext__(self) -> ChangeBatch:
        """The next batch, awaited in a thread."""
        batch = await asyncio.to_thread(self._next)
        if batch is None:
            raise StopAsyncIteration
        return batch

    def close(self) -> None:
        """End the stream, also while another thread waits for a batch."""
        self._is_closed = True
        while not self._reading.acquire(timeout=0.1):
            self._interrupt()
        try:
            self._free()
        finally:
            self._reading.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    def _next(self) -> ChangeBatch | None:
        with self._reading:
            if self._is_closed:
                return None
            try:
                if (batch := next(self._batches, None)) is not None:
                    return batch
            except Exception:
                self._free()
                if self._is_closed:  # the error is that of the interruption
                    return None
                raise
            self._free()
            return None

    def _free(self) -> None:
        if not self._is_released:
            self._is_released = True
            self._batches.close()
            self._messages.close()
            self._release()

    def _read(self) -> Generator[ChangeBatch]:
        for message in self._messages:
            if self._is_closed:
                return
            if message is not None:
                yield from _by_time(message)


def _by_time(message: pa.Table) -> Iterator[ChangeBatch]:
    """The changes of a message, whose rows are in order of time."""
    progressed = message.column(_PROGRESSED).to_numpy()
    updates = message.slice(0, int(np.argmax(progressed)) if progressed.any() else len(progressed))
    times = updates.column(_TIME).to_numpy()
    ends = [*(np.flatnonzero(np.diff(times)) + 1).tolist(), len(times)] if len(times) else []
    columns = [*updates.columns[_DIFF + 1 :], updates.column(_DIFF)]
    names = [*updates.column_names[_DIFF + 1 :], DIFF_COLUMN]
    changes = pa.Table.from_arrays(columns, names=names)
    start = 0
    for end in ends:
        yield ChangeBatch(int(times[start]), changes.slice(start, end - start))
        start = end
