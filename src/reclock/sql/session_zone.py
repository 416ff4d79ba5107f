"""The time zone in which a statement is planned, and its time: those of its session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime

from reclock.algebra.zones import UTC_NAME, LocalClock, no_time
from reclock.errors import UnsupportedSql


@dataclass(slots=True)
class PlanningZone:
    """``is_asked`` says whether the plan depends on the zone. A definition has one meaning for all
    sessions: it is refused if it does."""

    name: str
    now: Callable[[], datetime]
    """When the statement began. Raises ``UnsupportedSql`` where a definition is planned."""
    is_definition: bool = False
    is_asked: bool = False
    has_iso_intervals: bool = False
    """Whether intervals are written as in ISO 8601."""


_zone: ContextVar[PlanningZone | None] = ContextVar("planning zone", default=None)


@contextmanager
def planned_in(
    zone: str,
    now: Callable[[], datetime] = no_time,
    *,
    is_definition: bool = False,
    has_iso_intervals: bool = False,
) -> Iterator[PlanningZone]:
    """Statements are planned in this zone, and at this time, meanwhile. Definitions have one style
    of intervals."""
    planning = PlanningZone(
        zone,
        no_time if is_definition else now,
        is_definition,
        has_iso_intervals=has_iso_intervals and not is_definition,
    )
    token = _zone.set(planning)
    try:
        yield planning
    finally:
        _zone.reset(token)


def is_utc() -> bool:
    """Whether moments are read and written in UTC, as engines know them."""
    planning = _zone.get()
    return planning is None or planning.name == UTC_NAME


def has_iso_intervals() -> bool:
    """Whether intervals are written as in ISO 8601."""
    planning = _zone.get()
    return planning is not None and planning.has_iso_intervals


def session_zone() -> str:
    """The zone. Raises ``UnsupportedSql`` within a definition, unless it is UTC."""
    planning = _zone.get()
    if planning is None or planning.name == UTC_NAME:
        return UTC_NAME
    if planning.is_definition:
        raise UnsupportedSql(
            f'a definition cannot depend on the session\'s time zone "{planning.name}"',
            detail="it has one meaning for all sessions, and reads moments in UTC",
            hint="write AT TIME ZONE, or a time zone in the constant, or SET TIME ZONE 'UTC' before",
        )
    planning.is_asked = True
    return planning.name


def _now() -> datetime:
    planning = _zone.get()
    return no_time() if planning is None else planning.now()


SESSION_CLOCK = LocalClock(session_zone, _now)
"""The clock of the statement that is being planned."""
