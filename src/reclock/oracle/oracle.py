"""The timestamp oracle on consensus.

Each timeline has two numbers, ``read_ts <= write_ts``. Every timestamp that was given out or
applied was the highest of its timeline at that moment, whatever the clock did. Each operation is
one transaction, so that the guarantees hold between processes and machines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import sqlalchemy as sa

from reclock.algebra.timestamps import MINIMUM, Clock, Timestamp
from reclock.consensus.database.changes import notify
from reclock.consensus.database.compiled import CompiledStatement
from reclock.consensus.database.store import Consensus, metadata
from reclock.errors import ClockImplausible, TimelineBelowFloor, UnknownTimeline

MAX_CLOCK_JUMP_MS = 366 * 86_400_000
"""How far a clock may be beyond the newest timestamp; the default of the setting."""

_timelines = sa.Table(
    "reclock_timeline",
    metadata,
    sa.Column("timeline", sa.Text, primary_key=True),
    sa.Column("read_ts", sa.BigInteger, nullable=False),
    sa.Column("write_ts", sa.BigInteger, nullable=False),
    sa.CheckConstraint("0 <= read_ts AND read_ts <= write_ts", name="reclock_timeline_order"),
)
_OF_TIMELINE = _timelines.c.timeline == sa.bindparam("of")
_READ = sa.select(_timelines.c.read_ts).where(_OF_TIMELINE)
_APPLIED = CompiledStatement(_READ)
_READ_ALL = sa.select(_timelines.c.timeline, _timelines.c.read_ts)
_NEWEST = sa.select(sa.func.max(sa.alias(_timelines).c.write_ts))
"""The newest timestamp of any timeline. All timelines count milliseconds of one clock, and one of
them may be idle for long."""
_NEXT = sa.case(
    (_timelines.c.write_ts < sa.bindparam("at_least"), sa.bindparam("at_least")),
    else_=_timelines.c.write_ts + 1,
)
_TO_NEXT = (
    sa.update(_timelines)
    .where(
        _OF_TIMELINE,
        sa.or_(
            # in 1970: no clock was followed yet
            _NEWEST.scalar_subquery() < sa.bindparam("max_jump_ms"),
            _NEWEST.scalar_subquery() >= sa.bindparam("now") - sa.bindparam("max_jump_ms"),
        ),
    )
    .returning(_timelines.c.write_ts)
)
_WRITE = CompiledStatement(_TO_NEXT.values(write_ts=_NEXT))
_WRITE_AND_APPLY = CompiledStatement(_TO_NEXT.values(write_ts=_NEXT, read_ts=_NEXT))
_APPLY = CompiledStatement(
    sa.update(_timelines)
    .where(_OF_TIMELINE)
    .values(
        read_ts=sa.case(
            (_timelines.c.read_ts < sa.bindparam("ts"), sa.bindparam("ts")),
            else_=_timelines.c.read_ts,
        ),
        write_ts=sa.case(
            (_timelines.c.write_ts < sa.bindparam("ts"), sa.bindparam("ts")),
            else_=_timelines.c.write_ts,
        ),
    )
)


class TimestampOracle(Protocol):
    """Gives out timestamps. "Prior" and "subsequent" refer to real time, over all processes: a call
    is prior to another if it returned before the other began. All methods raise ``UnknownTimeline``
    for a timeline that was not opened."""

    def read_ts(self, timeline: str) -> Timestamp:
        """A timestamp that is at least every timestamp applied before, and less than every write
        timestamp given out after."""
        ...

    def read_all(self) -> Mapping[str, Timestamp]:
        """``read_ts`` of every timeline, at one moment."""
        ...

    def write_ts(self, timeline: str) -> Timestamp:
        """A timestamp that is greater than every read and write timestamp given out before, and not
        behind the clock."""
        ...

    def apply_write(self, timeline: str, ts: Timestamp) -> None:
        """Complete the write at ``ts``: every read timestamp given out after is at least ``ts``."""
        ...


@dataclass(frozen=True, slots=True)
class TimelineState:
    """The two numbers of a timeline. Nothing above ``write_ts`` was ever given out or applied."""

    read_ts: Timestamp
    write_ts: Timestamp


class ConsensusOracle:
    """An oracle whose state is one row for each timeline in consensus. ``clock`` may jump; only its
    advances count.

    Time never goes back, so one timestamp of a wrong clock would stay in force for all processes.
    Therefore a clock more than ``max_clock_jump_ms`` beyond the newest timestamp is refused with
    ``ClockImplausible``.
    """

    def __init__(
        self, consensus: Consensus, clock: Clock, *, max_clock_jump_ms: int = MAX_CLOCK_JUMP_MS
    ) -> None:
        self._consensus = consensus
        self._clock = clock
        self._max_clock_jump_ms = max_clock_jump_ms
        self._read_all = consensus.repeated(_READ_ALL)

    def check_clock(self) -> None:
        """Raises ``ClockImplausible`` if the clock is refused now."""
        now, bound_ms = self._clock(), self._max_clock_jump_ms
        self._consensus.read(lambda connection: require_plausible(connection, now, bound_ms))

    def open_timeline(self, timeline: str, floor: Timestamp) -> None:
        """Open the timeline, so that everything given out from now on is above ``floor``, which the
        catalog remembers.

        Consensus may have been lost. Two cases differ:

        - It is *empty*: the timeline is absent, and begins at ``floor``. Nothing else in consensus
          can be out of date. Its content is rebuilt from the catalog and the lake, and ``floor``
          must then be the highest time that they know (the catalog's floor, the uppers in the
          lake).
        - It is *older*: the timeline exists with ``write_ts < floor``, because a backup was
          restored. Raising the timeline alone would hide that all frontiers and claims went back in
          time too. So this raises ``TimelineBelowFloor`` and changes nothing, and no process
          starts.
        """
        state = self._consensus.read(lambda connection: _state(connection, timeline))
        if state is None:
            state = self._consensus.transact(
                lambda connection: _create(connection, timeline, floor)
            )
        if state.write_ts < floor:
            raise TimelineBelowFloor(timeline, floor=floor, write_ts=state.write_ts)

    def read_ts(self, timeline: str) -> Timestamp:
        """See `TimestampOracle`. One read; takes no lock and makes no writer wait."""
        rows = self._consensus.look(_READ, {"of": timeline})
        if not rows:
            raise UnknownTimeline(timeline)
        return Timestamp(rows[0][0])

    def read_all(self) -> Mapping[str, Timestamp]:
        """See `TimestampOracle`. One read, as ``read_ts``."""
        return {timeline: Timestamp(read_ts) for timeline, read_ts in self._read_all()}

    def write_ts(self, timeline: str) -> Timestamp:
        """See `TimestampOracle`: ``write_ts = max(write_ts + 1, now)``. One statement."""
        now = self._clock()
        bound_ms = self._max_clock_jump_ms
        return self._consensus.transact(
            lambda connection: allocate_write(connection, timeline, now, max_jump_ms=bound_ms)
        )

    def apply_write(self, timeline: str, ts: Timestamp) -> None:
        """See `TimestampOracle`: both numbers become ``max(self, ts)``. Watches of the timeline
        wake up."""

        def apply(connection: sa.Connection) -> None:
            record_write(connection, timeline, ts)

        self._consensus.transact(apply)

    def state(self, timeline: str) -> TimelineState:
        """Both numbers at one moment, for monitoring: only ``read_ts`` and ``write_ts`` give
        timestamps to read or write at."""
        state = self._consensus.read(lambda connection: _state(connection, timeline))
        if state is None:
            raise UnknownTimeline(timeline)
        return state


def allocate_write(
    connection: sa.Connection,
    timeline: str,
    now: Timestamp,
    *,
    max_jump_ms: int = MAX_CLOCK_JUMP_MS,
) -> Timestamp:
    """``write_ts`` as a part of a larger write transaction, whose moment is that of the call.
    Raises ``ClockImplausible``."""
    return _next(connection, _WRITE, timeline, now, now, max_jump_ms)


def record_next_write(
    connection: sa.Connection,
    timeline: str,
    now: Timestamp,
    *,
    at_least: Timestamp,
    max_jump_ms: int = MAX_CLOCK_JUMP_MS,
) -> Timestamp:
    """``write_ts`` and ``apply_write`` of that timestamp as a part of a larger write transaction,
    in one statement. The timestamp is ``at_least`` that. Raises ``ClockImplausible``."""
    ts = _next(
        connection, _WRITE_AND_APPLY, timeline, now, Timestamp(max(now, at_least)), max_jump_ms
    )
    notify(connection, timeline)
    return ts


def _next(
    connection: sa.Connection,
    update: CompiledStatement,
    timeline: str,
    now: Timestamp,
    at_least: Timestamp,
    max_jump_ms: int,
) -> Timestamp:
    parameters = {"of": timeline, "now": now, "at_least": at_least, "max_jump_ms": max_jump_ms}
    allocated = update.rows(connection, parameters)
    if not allocated:
        require_plausible(connection, now, max_jump_ms)
        raise UnknownTimeline(timeline)
    return Timestamp(allocated[0][0])


def require_plausible(
    connection: sa.Connection, now: Timestamp, max_jump_ms: int, *, earlier: Timestamp = MINIMUM
) -> None:
    """Raises ``ClockImplausible`` if ``now`` is too far beyond ``earlier`` and every timestamp of
    the oracle. Timestamps in 1970 do not come from a clock, and are ignored."""
    newest = max(earlier, connection.scalar(_NEWEST) or MINIMUM)
    if newest >= max_jump_ms and now - newest > max_jump_ms:
        raise ClockImplausible(now=now, newest=newest, max_jump_ms=max_jump_ms)


def record_write(connection: sa.Connection, timeline: str, ts: Timestamp) -> None:
    """``apply_write`` as a part of a larger write transaction: the write becomes visible and
    applied at one moment."""
    if _APPLY.change(connection, {"of": timeline, "ts": ts}) != 1:
        raise UnknownTimeline(timeline)
    notify(connection, timeline)


def applied(connection: sa.Connection, timeline: str) -> Timestamp:
    """``read_ts`` as a part of a larger transaction."""
    rows = _APPLIED.rows(connection, {"of": timeline})
    if not rows:
        raise UnknownTimeline(timeline)
    return Timestamp(rows[0][0])


def applied_query(timeline: str) -> sa.ScalarSelect[int]:
    """``applied`` as a part of another query; NULL if the timeline was not opened."""
    return (
        sa.select(_timelines.c.read_ts).where(_timelines.c.timeline == timeline).scalar_subquery()
    )


def written_times(connection: sa.Connection) -> dict[str, Timestamp]:
    """The highest timestamp that each timeline ever gave out or applied."""
    return {
        row.timeline: Timestamp(row.write_ts) for row in connection.execute(sa.select(_timelines))
    }


def _create(connection: sa.Connection, timeline: str, floor: Timestamp) -> TimelineState:
    if state := _state(connection, timeline):
        return state  # another process was faster
    connection.execute(
        sa.insert(_timelines).values(timeline=timeline, read_ts=floor, write_ts=floor)
    )
    return TimelineState(floor, floor)


def _state(connection: sa.Connection, timeline: str) -> TimelineState | None:
    row = connection.execute(
        sa.select(_timelines).where(_timelines.c.timeline == timeline)
    ).one_or_none()
    return TimelineState(row.read_ts, row.write_ts) if row else None
