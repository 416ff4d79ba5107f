"""Rows that are read in both directions."""

from __future__ import annotations

import math
from collections.abc import Callable

import pyarrow as pa


class ScrolledRows:
    """The rows of a result, kept as far as they were read, and a position among them: on a row,
    counted from 1, before the first one, or after the last one.

    ``read`` returns the next rows of the result: so many, or fewer at its end; None is all.
    """

    def __init__(self, read: Callable[[int | None], list[pa.RecordBatch]]) -> None:
        self._read = read
        self._batches: list[pa.RecordBatch] = []
        self._count = self._position = 0

    def move(self, direction: str, count: int | None) -> list[pa.RecordBatch]:
        """The rows of ``FETCH direction count``, in the order in which they are passed. No count
        is ``ALL``. Raises what reading raises."""
        if direction == "ABSOLUTE":
            assert count is not None
            if count < 0:
                self._read_to(math.inf)
                count += self._count + 1
            return self._row(count)
        if direction == "RELATIVE" or count == 0:
            assert count is not None
            return self._row(self._position + count)
        steps = math.inf if count is None else count
        target = self._position + (steps if direction == "FORWARD" else -steps)
        self._read_to(target)
        before, self._position = self._position, self._nearest(target)
        if target > before:
            return self._rows(before + 1, self._position)
        backwards = reversed(self._rows(self._position if target > 0 else 1, before - 1))
        return [
            batch.take(pa.array(range(batch.num_rows - 1, -1, -1), pa.int64()))
            for batch in backwards
        ]

    def _row(self, position: int) -> list[pa.RecordBatch]:
        """The row there, to which the position moves."""
        self._read_to(position)
        self._position = self._nearest(position)
        return self._rows(self._position, self._position)

    def _nearest(self, position: float) -> int:
        return int(max(0, min(position, self._count + 1)))

    def _read_to(self, position: float) -> None:
        """Read the rows up to that position, and find out whether it is after the last one."""
        missing = position - self._count
        if missing > 0:
            read = self._read(int(missing) if math.isfinite(missing) else None)
            self._batches += read
            self._count += sum(batch.num_rows for batch in read)

    def _rows(self, first: int, last: int) -> list[pa.RecordBatch]:
        """Those of the positions ``first`` to ``last`` that have rows."""
        rows, begin = [], 1
        for batch in self._batches:
            from_, to = max(first, begin), min(last, begin + batch.num_rows - 1)
            if from_ <= to:
                rows.append(batch.slice(from_ - begin, to - from_ + 1))
            begin += batch.num_rows
        return rows
