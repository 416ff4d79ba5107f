"""Updates, and the one law they obey: equal rows at equal times sum their diffs, and zero is
gone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from reclock.algebra.timestamps import Timestamp

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Update:
    """``diff`` copies of ``row`` appear (or, negative, disappear) at ``time``."""

    row: Row
    time: Timestamp
    diff: int


def consolidate(updates: Iterable[Update]) -> list[Update]:
    """The smallest list of updates that says the same, in order of time and then of first
    mention."""
    sums: dict[tuple[Timestamp, Row], int] = {}
    for update in updates:
        key = (update.time, update.row)
        sums[key] = sums.get(key, 0) + update.diff
    nonzero = [Update(row, time, diff) for (time, row), diff in sums.items() if diff]
    return sorted(nonzero, key=lambda update: update.time)


def advance(updates: Iterable[Update], since: Timestamp) -> list[Update]:
    """The updates as a reader at ``since`` or later may see them: earlier times become ``since``,
    then consolidated."""
    return consolidate(Update(u.row, Timestamp(max(u.time, since)), u.diff) for u in updates)


def snapshot(updates: Iterable[Update], as_of: Timestamp) -> dict[Row, int]:
    """The multiset at ``as_of``: each row with its multiplicity, never zero."""
    rows: dict[Row, int] = {}
    for update in updates:
        if update.time <= as_of:
            rows[update.row] = rows.get(update.row, 0) + update.diff
    return {row: count for row, count in rows.items() if count}
