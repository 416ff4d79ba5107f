"""Times on Reclock's timelines, and the clock as a parameter."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NewType

from reclock.errors import InvalidOption

Timestamp = NewType("Timestamp", int)
"""Milliseconds since the Unix epoch, 0 .. 2**63 - 1; a non-negative ``BIGINT`` on disk."""

Clock = Callable[[], Timestamp]
"""Answers the present in milliseconds. It may jump in either direction; timestamps taken from the
oracle never do."""

MINIMUM = Timestamp(0)
MAXIMUM = Timestamp(2**63 - 1)

EPOCH_MS = "epoch_ms"
"""The timeline of data."""

CATALOG = "catalog"
"""The timeline of catalog changes, not comparable with ``EPOCH_MS``."""


def system_clock() -> Timestamp:
    """The operating system's clock, in milliseconds."""
    return Timestamp(time.time_ns() // 1_000_000)


def as_datetime(at: float) -> datetime:
    """A time in UTC."""
    return datetime.fromtimestamp(at / 1000, UTC)


def moment(text: str) -> Timestamp:
    """A time as people write it: ISO 8601, UTC unless it says otherwise. Raises
    ``InvalidOption``."""
    try:
        parsed = datetime.fromisoformat(text)
        at = round((parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise InvalidOption(
            f'"{text}" is not a time', hint="for example 2026-11-01 or 2026-11-01 06:00:00+01:00"
        ) from error
    if at < 0:
        raise InvalidOption(f'"{text}" is too early', hint="times begin in 1970")
    return Timestamp(at)
