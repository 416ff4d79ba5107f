"""How a session writes values as text."""

from __future__ import annotations

from dataclasses import dataclass

from reclock.algebra.zones import UTC_NAME

POSTGRES_INTERVALS, ISO_INTERVALS = "postgres", "iso_8601"
"""Values of PostgreSQL's ``IntervalStyle``."""


@dataclass(frozen=True, slots=True)
class TextStyle:
    """Timestamps with time zone are written in ``zone``, and intervals in the style ``intervals``."""

    zone: str = UTC_NAME
    intervals: str = POSTGRES_INTERVALS

    @property
    def has_iso_intervals(self) -> bool:
        return self.intervals == ISO_INTERVALS


PLAIN_TEXT = TextStyle()
"""The style of definitions, files and logs."""
