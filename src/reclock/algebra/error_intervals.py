"""The times at which a collection has an error in the place of rows: the query of a maintained one
has no answer there, or a table of a source had failed and was brought back later.

Errors have times, as rows have: an error at one time says nothing about later times. During an
error the collection keeps the rows of the last answer, so that the next answer is again a set of
changes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.errors import ErrorAtTime, OutputFailed, ReclockError


@dataclass(frozen=True, slots=True)
class ErrorInterval:
    """Reads at times in ``[lower, upper)`` raise this error. ``upper`` is None while the error
    lasts; ``lower`` is ``MINIMUM`` if there was no answer before."""

    lower: Timestamp
    upper: Timestamp | None
    sqlstate: str
    message: str
    detail: str | None = None

    def overlaps(self, lower: Timestamp, upper: Timestamp) -> bool:
        """Whether some time in ``[lower, upper)`` has the error."""
        return self.lower < upper and (self.upper is None or lower < self.upper)

    def error(self) -> ReclockError:
        """The exception that a read raises."""
        if self.upper is None and self.sqlstate == OutputFailed.sqlstate:
            return OutputFailed(self.message, detail=self.detail)
        begin = f" from {self.lower}" if self.lower > MINIMUM else ""
        if self.upper is None:
            hint = (
                f"the view has no answer{begin or ' so far'}; it has one again as soon as "
                "its query succeeds"
            )
        else:
            hint = f"there is no answer{begin or ' at times'} to {self.upper - 1}"
        return ErrorAtTime(self.message, sqlstate=self.sqlstate, detail=self.detail, hint=hint)


ErrorIntervals = tuple[ErrorInterval, ...]
"""In order of time; they do not overlap, and at most the last one lasts."""


def with_answer(intervals: ErrorIntervals, at: Timestamp) -> ErrorIntervals:
    """``intervals`` after the collection has an answer at ``at``, a time later than all of them: an
    error that lasted ends."""
    if intervals and intervals[-1].upper is None:
        return (*intervals[:-1], replace(intervals[-1], upper=at))
    return intervals


def with_error(
    intervals: ErrorIntervals, at: Timestamp, error: ReclockError, *, is_first: bool
) -> ErrorIntervals:
    """``intervals`` after the query raised ``error`` at ``at``, a time later than all of them. If
    the same error lasts already, it goes on; another one ends. ``is_first``: nothing is known of
    any earlier time."""
    interval = ErrorInterval(
        MINIMUM if is_first else at, None, error.sqlstate, error.message, error.detail
    )
    if intervals and replace(intervals[-1], lower=interval.lower) == interval:
        return intervals
    return (*with_answer(intervals, at), interval)


def without_past(known: ErrorIntervals, since: Timestamp) -> ErrorIntervals:
    """The intervals that hold a time from ``since`` on."""
    return tuple(interval for interval in known if interval.upper is None or interval.upper > since)


def answered_through(known: ErrorIntervals, upper: Timestamp) -> Timestamp | None:
    """The last time below ``upper`` that has an answer; None if there is none."""
    last = upper
    for interval in reversed(known):
        if interval.upper is not None and interval.upper < last:
            break
        last = min(last, interval.lower)
    return Timestamp(last - 1) if last > MINIMUM else None


def encode(known: Sequence[ErrorInterval]) -> bytes:
    """As JSON."""
    return json.dumps([asdict(interval) for interval in known]).encode()


def decode(data: bytes) -> ErrorIntervals:
    """The inverse of ``encode``."""
    return tuple(ErrorInterval(**interval) for interval in json.loads(data))
