"""Cursors: the rows of queries that a session fetches in parts."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from datetime import timedelta

import pyarrow as pa

from reclock.adapter.context.results import Result
from reclock.adapter.session.scrolled_rows import ScrolledRows
from reclock.algebra.relations import RelationDesc
from reclock.errors import CursorOnlyForward, DuplicateCursor, UnknownCursor


class Cursor:
    """The rows of a query that are not fetched yet, and, if it ``is_scrollable``, all others."""

    def __init__(
        self, desc: RelationDesc, result: Result, *, is_held: bool, is_scrollable: bool = False
    ) -> None:
        self.desc, self.is_held = desc, is_held
        self._scrolled = ScrolledRows(self._next) if is_scrollable else None
        self._result = result
        self._batches: Iterator[pa.RecordBatch] = iter(result.batches)
        # Started at once: an iterator releases its read hold when it is closed, but only if it was
        # started.
        self._next_batch: pa.RecordBatch | None = next(self._batches, None)

    @property
    def is_scrollable(self) -> bool:
        return self._scrolled is not None

    def fetch(
        self, direction: str, count: int | None, timeout: timedelta | None = None
    ) -> list[pa.RecordBatch]:
        """The rows of ``FETCH direction count``, where no count is ``ALL``. Raises
        ``CursorOnlyForward``, and what computing the rows raises.

        A cursor of a subscription returns the rows that are available. If there are none, it waits
        for the first, at most for ``timeout``.
        """
        if self._scrolled is not None:
            return self._scrolled.move(direction, count)
        if direction != "FORWARD" or (count is not None and count < 0):
            raise CursorOnlyForward
        return self._next(count, timeout)

    def _next(self, count: int | None, timeout: timedelta | None = None) -> list[pa.RecordBatch]:
        fetched: list[pa.RecordBatch] = []
        remaining = count
        deadline = time.monotonic() + timeout.total_seconds() if timeout is not None else math.inf
        while remaining is None or remaining > 0:
            batch = self._next_batch if self._next_batch is not None else next(self._batches, None)
            self._next_batch = None
            if batch is None:
                break
            if self._result.is_live and not batch.num_rows:
                if fetched or time.monotonic() >= deadline:
                    break
                continue
            rows = batch if remaining is None else batch.slice(0, remaining)
            if rows.num_rows < batch.num_rows:
                self._next_batch = batch.slice(rows.num_rows)
            remaining = None if remaining is None else remaining - rows.num_rows
            fetched.append(rows)
        return fetched

    def close(self) -> None:
        self._result.close()


class Cursors:
    """The open cursors of a session, by name."""

    def __init__(self) -> None:
        self._cursors: dict[str, Cursor] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._cursors

    def get(self, name: str) -> Cursor:
        """The open cursor of that name. Raises ``UnknownCursor``."""
        if name not in self._cursors:
            raise UnknownCursor("cursor", name)
        return self._cursors[name]

    def check_unused(self, name: str) -> None:
        """Raises ``DuplicateCursor`` if a cursor of that name is open."""
        if name in self._cursors:
            raise DuplicateCursor("cursor", name)

    def open(self, name: str, cursor: Cursor) -> None:
        self._cursors[name] = cursor

    def close(self, name: str) -> None:
        """Close the cursor of that name. Raises ``UnknownCursor``."""
        self.get(name).close()
        del self._cursors[name]

    def close_all(self) -> None:
        for cursor in self._cursors.values():
            cursor.close()
        self._cursors.clear()

    def end_transaction(self) -> None:
        """Close the cursors that belong to the transaction: all that are not WITH HOLD."""
        for name in [name for name, cursor in self._cursors.items() if not cursor.is_held]:
            self._cursors.pop(name).close()

    def listing(self) -> list[tuple[str, bool, bool]]:
        """Name, whether it is held, and whether it is scrollable, of each cursor."""
        return [
            (name, cursor.is_held, cursor.is_scrollable)
            for name, cursor in list(self._cursors.items())
        ]
