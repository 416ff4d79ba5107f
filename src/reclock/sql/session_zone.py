"""The time zone in which a statement is planned: that of its session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from reclock.algebra.zones import UTC_NAME
from reclock.errors import UnsupportedSql


@dataclass(slots=True)
class PlanningZone:
    """``is_asked`` says whether the plan depends on the zone. A definition has one meaning for all
    sessions: it is refused if it does."""

    name: str
    is_definition: bool = False
    is_asked: bool = False


_zone: ContextVar[PlanningZone | None] = ContextVar("planning zone", default=None)


@contextmanager
def planned_in(zone: str, *, is_definition: bool = False) -> Iterator[PlanningZone]:
    """Statements are planned in this zone meanwhile."""
    planning = PlanningZone(zone, is_definition)
    token = _zone.set(planning)
    try:
        yield planning
    finally:
        _zone.reset(token)


def is_utc() -> bool:
    """Whether moments are read and written in UTC, as engines know them."""
    planning = _zone.get()
    return planning is None or planning.name == UTC_NAME


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
