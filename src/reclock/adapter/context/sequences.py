"""The sequences as one session uses them: ``nextval``, ``currval``, ``lastval``, ``setval``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa

from reclock.algebra.sequences import SequencePosition
from reclock.consensus.objects.sequences import Sequences
from reclock.errors import NumberOutOfRange, SequenceValueUndefined
from reclock.sql.catalog.definitions import SequenceDefinition
from reclock.sql.catalog.entries import SequenceEntry
from reclock.sql.statements.sequences.definitions import check_restart, moved_to, next_values

_T = TypeVar("_T")


class SessionSequences:
    """Takes values of sequences, and remembers the last ones. The taken values are durable before
    they are returned; the positions of temporary sequences are in memory."""

    def __init__(self, sequences: Sequences) -> None:
        self._sequences = sequences
        self._temporary: dict[str, SequencePosition] = {}
        self._values: dict[str, int] = {}
        self._last: str | None = None

    def take(self, entry: SequenceEntry, count: int) -> pa.Array:
        """The next ``count`` values, all in one step. Raises ``SequenceExhausted``."""
        name, sequence = entry.name.item, entry.sequence

        def advance(position: SequencePosition | None) -> tuple[SequencePosition, Sequence[range]]:
            return next_values(name, sequence, position, count)

        runs = self._update(entry, advance)
        if count:
            self._values[entry.incarnation] = runs[-1][-1]
            self._last = entry.incarnation
        parts = [np.arange(run.start, run.stop, run.step, dtype=np.int64) for run in runs]
        return pa.array(np.concatenate(parts) if parts else np.array([], np.int64))

    def current(self, entry: SequenceEntry) -> int:
        """The value that the session took last. Raises ``SequenceValueUndefined``."""
        if entry.incarnation not in self._values:
            raise SequenceValueUndefined(entry.name.item)
        return self._values[entry.incarnation]

    def last(self) -> int:
        """The value that the session took last of any sequence. Raises
        ``SequenceValueUndefined``."""
        if self._last is None:
            raise SequenceValueUndefined(None)
        return self._values[self._last]

    def move(self, entry: SequenceEntry, value: int, *, is_called: bool) -> int:
        """``setval``: durable at once."""
        position = moved_to(entry.name.item, entry.sequence, value, is_called=is_called)
        self._update(entry, lambda _: (position, None))
        if is_called:
            self._values[entry.incarnation] = value
        return value

    def restart(self, entry: SequenceEntry, value: int) -> None:
        """Make ``value`` the next one, durably and at once."""
        check_restart(value, entry.sequence)
        self._update(entry, lambda _: (SequencePosition(value, is_called=False), None))

    def check_position(self, entry: SequenceEntry, redefined: SequenceDefinition) -> None:
        """Raise ``InvalidSequence`` unless the last value, or the first one of a sequence that has
        not begun, is within the bounds of the new definition."""
        first = SequencePosition(entry.sequence.start, is_called=False)

        def check(position: SequencePosition | None) -> tuple[SequencePosition, None]:
            present = position or first
            check_restart(present.last_value, redefined)
            return present, None

        self._update(entry, check)

    def begin(self, entry: SequenceEntry, value: int) -> None:
        """Make ``value`` the next one, unless the sequence has begun. Durable at once."""
        first = SequencePosition(value, is_called=False)
        self._update(entry, lambda position: (position or first, None))

    def forget(self) -> None:
        """Forget the values of ``currval`` and ``lastval``."""
        self._values.clear()
        self._last = None

    def _update(
        self,
        entry: SequenceEntry,
        change: Callable[[SequencePosition | None], tuple[SequencePosition, _T]],
    ) -> _T:
        if not entry.name.is_temporary:
            return self._sequences.update(entry.incarnation, change)
        position, result = change(self._temporary.get(entry.incarnation))
        self._temporary[entry.incarnation] = position
        return result


def placed(
    values: pa.Array, column: pa.ChunkedArray, rows: Sequence[int] | None
) -> pa.ChunkedArray:
    """``column`` with ``values`` in these rows, or in all. Raises ``NumberOutOfRange``."""
    try:
        cast = values.cast(column.type)
    except pa.ArrowInvalid as error:
        raise NumberOutOfRange(str(error), str(column.type)) from error
    if rows is None:
        return pa.chunked_array([cast])
    present = column.to_pylist()
    for row, value in zip(rows, cast.to_pylist(), strict=True):
        present[row] = value
    return pa.chunked_array([pa.array(present, column.type)])
