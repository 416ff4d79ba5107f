"""Moments with fewer digits than microseconds have."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from reclock.algebra.relations import MomentLimit
from reclock.algebra.textual.times import round_time

_START = datetime(2000, 1, 1)
START_US = 946_684_800_000_000
"""From when on PostgreSQL counts, in microseconds since 1970: halves are rounded away from it."""


def round_moment(moment: datetime, digits: int) -> datetime:
    """The nearest moment with so many digits after the seconds, as PostgreSQL rounds. Raises
    ``OverflowError`` beyond the last year."""
    start = _START if moment.tzinfo is None else _START.replace(tzinfo=UTC)
    elapsed, step = (moment - start) // timedelta(microseconds=1), 10 ** (6 - digits)
    whole = (abs(elapsed) + step // 2) // step * step
    return start + timedelta(microseconds=-whole if elapsed < 0 else whole)


def round_values(value: object, limit: MomentLimit) -> object:
    """A moment or a time, or the nested values of an array of them, rounded to the digits of the
    limit. NULL stays NULL."""
    if isinstance(value, tuple | list):
        return type(value)(round_values(item, limit) for item in value)
    if isinstance(value, datetime):
        return round_moment(value, limit.digits)
    return round_time(value, limit.digits) if isinstance(value, str) else value
