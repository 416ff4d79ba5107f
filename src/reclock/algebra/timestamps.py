"""Times on Reclock's timelines, and the clock as a parameter."""

import time
from collections.abc import Callable
from typing import NewType

Timestamp = NewType("Timestamp", int)
"""Milliseconds since the Unix epoch, 0 .. 2**63 - 1; a non-negative ``BIGINT`` on disk."""

Clock = Callable[[], Timestamp]
"""Answers the present in milliseconds. It may jump in either direction; timestamps taken from the oracle never do."""

MINIMUM = Timestamp(0)
MAXIMUM = Timestamp(2**63 - 1)

EPOCH_MS = "epoch_ms"
"""The timeline of data."""

CATALOG = "catalog"
"""The timeline of catalog changes, not comparable with ``EPOCH_MS``."""


def system_clock() -> Timestamp:
    """The operating system's clock, in milliseconds."""
    return Timestamp(time.time_ns() // 1_000_000)
