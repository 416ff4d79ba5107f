"""The measurements of a replica: its logs, which are small and in memory, and the subscribes to
them."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass, field

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.timestamps import Clock, Timestamp, as_datetime
from reclock.clusters.usage import Usage
from reclock.collections.lake import Lake
from reclock.consensus.frontiers.claims import GroupFrontier
from reclock.errors import ReclockError
from reclock.protocol.compute import Refreshed, RefreshFailed
from reclock.protocol.introspection import (
    CancelSubscribe,
    LogChanges,
    LogFailed,
    LogName,
    LogResponse,
    Row,
    Subscribe,
)

Frontiers = Callable[[Collection[str]], Mapping[str, GroupFrontier]]


_LEAST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 15.0
"""How long after its last reading of frontiers, at which nothing had changed, a replica that has
done nothing reads them again. The pause doubles each time."""

MOST_SUBSCRIBES = 8 * len(LogName)


def bucket(duration_ns: int) -> int:
    """The smallest power of two that is at least the duration."""
    return 1 << max(duration_ns - 1, 0).bit_length()


@dataclass(slots=True)
class Measurements:
    """The logs of one replica. Thread-safe. The replica calls the methods that are named after
    events."""

    frontiers: Frontiers
    lake: Lake
    clock: Clock
    sample_ms: int
    """How often sizes of arrangements are measured."""
    usage: Usage
    _made_at_ns: dict[GlobalId, int] = field(default_factory=dict)
    _hydrated_ns: dict[GlobalId, int] = field(default_factory=dict)
    _sizes: dict[GlobalId, tuple[Timestamp, Timestamp, Row]] = field(default_factory=dict)
    _errors: Counter[GlobalId] = field(default_factory=Counter)
    _refreshes: Counter[tuple[GlobalId, int]] = field(default_factory=Counter)
    _last: dict[GlobalId, Row] = field(default_factory=dict)
    _peeks: Counter[tuple[str, int]] = field(default_factory=Counter)
    _active: dict[str, tuple[str, Timestamp, Timestamp, int]] = field(default_factory=dict)
    """By the id of a peek: its engine and time, and since when its rows are fetched, and
    computed."""
    _subscribes: dict[str, tuple[LogName, Counter[Row]]] = field(default_factory=dict)
    _looked_at: Mapping[str, GroupFrontier] | None = None
    _frontiers: Mapping[str, GroupFrontier] = field(default_factory=dict)
    _read_again_s: float = 0
    _pause_s: float = _LEAST_PAUSE_S
    _guard: threading.RLock = field(default_factory=threading.RLock)

    # --- what happens ---

    def dataflow_created(self, id: GlobalId) -> None:
        with self._guard:
            self._made_at_ns.setdefault(id, time.monotonic_ns())
            self._read_again_s = 0

    def dataflow_dropped(self, id: GlobalId) -> None:
        with self._guard:
            for by_dataflow in (
                self._made_at_ns,
                self._hydrated_ns,
                self._sizes,
                self._errors,
                self._last,
            ):
                by_dataflow.pop(id, None)
            for key in [key for key in self._refreshes if key[0] == id]:
                del self._refreshes[key]

    def dataflow_refreshed(self, id: GlobalId, refreshed: Refreshed | RefreshFailed) -> None:
        with self._guard:
            self._read_again_s = 0
            if isinstance(refreshed, RefreshFailed):
                self._errors[id] += 1
                return
            duration_ns = refreshed.duration_ns
            self._refreshes[id, bucket(duration_ns)] += 1
            if refreshed.how is not None:
                self._last[id] = (
                    id,
                    refreshed.times[-1],
                    refreshed.how,
                    refreshed.updates,
                    duration_ns,
                    *astuple(refreshed.details),
                )

    def peek_began(self, id: str, engine: str, at: Timestamp, began_ns: int) -> None:
        """Record that a peek's rows are fetched from now on. Its work began at ``began_ns`` of the
        monotonic clock."""
        with self._guard:
            self._active[id] = engine, at, self.clock(), began_ns

    def peek_ended(self, id: str) -> None:
        with self._guard:
            if (began := self._active.pop(id, None)) is not None:
                self.peek_answered(began[0], began[-1])

    def peek_answered(self, engine: str, began_ns: int) -> None:
        """Record a peek whose rows were all there at once."""
        with self._guard:
            self._peeks[engine, bucket(time.monotonic_ns() - began_ns)] += 1

    # --- what is asked ---

    def rows(self, log: LogName) -> list[Row]:
        """The current rows of the log."""
        with self._guard:
            match log:
                case LogName.ACTIVE_PEEKS:
                    return [
                        (id, engine, at, as_datetime(fetched_at))
                        for id, (engine, at, fetched_at, _) in self._active.items()
                    ]
                case LogName.ARRANGEMENT_SIZES:
                    return self._arrangement_sizes()
                case LogName.ERROR_COUNTS:
                    return list(self._errors.items())
                case LogName.FRONTIERS:
                    return [(id, frontier.upper) for id, frontier in self._standing().items()]
                case LogName.HYDRATION_TIMES:
                    return self._hydration_times()
                case LogName.LAST_REFRESHES:
                    return list(self._last.values())
                case LogName.REFRESH_DURATIONS:
                    return [
                        (id, duration_ns, count)
                        for (id, duration_ns), count in self._refreshes.items()
                    ]
                case LogName.PEEK_DURATIONS:
                    return [
                        (engine, duration_ns, count)
                        for (engine, duration_ns), count in self._peeks.items()
                    ]
                case LogName.PROCESS_USAGE:
                    return [self.usage.row()]

    def subscribe(self, command: Subscribe) -> None:
        with self._guard:
            self._subscribes[command.id] = (command.log, Counter())
            while len(self._subscribes) > MOST_SUBSCRIBES:  # of controllers that are no more
                del self._subscribes[next(iter(self._subscribes))]

    def cancel(self, command: CancelSubscribe) -> None:
        with self._guard:
            self._subscribes.pop(command.id, None)

    def take_changes(self, subscribes: Collection[str]) -> list[LogResponse]:
        """See `Replica.take_changes`."""
        responses: list[LogResponse] = []
        with self._guard:
            upper = self.clock()
            self._looked_at = self._recent_frontiers() if self._subscribes else {}
            for id in subscribes:
                if id not in self._subscribes:
                    responses.append(LogFailed(id, "the replica does not know the subscribe"))
                    continue
                log, before = self._subscribes[id]
                now = Counter(self.rows(log))
                changes = {row: now[row] - before[row] for row in now | before}
                self._subscribes[id] = (log, now)
                if changed_rows := tuple((row, diff) for row, diff in changes.items() if diff):
                    responses.append(LogChanges(id, changed_rows, upper))
            self._looked_at = None
        return responses

    def _recent_frontiers(self) -> Mapping[str, GroupFrontier]:
        """The frontiers, which are read at most ``_LONGEST_PAUSE_S`` after a change that another
        process made, and at once after one of this replica."""
        now_s = time.monotonic()
        if self._made_at_ns and now_s >= self._read_again_s:
            frontiers = self.frontiers(self._made_at_ns)
            is_quiet = self._read_again_s > 0 and frontiers == self._frontiers
            self._pause_s = min(self._pause_s * 2, _LONGEST_PAUSE_S) if is_quiet else _LEAST_PAUSE_S
            self._frontiers, self._read_again_s = frontiers, now_s + self._pause_s
        return self._frontiers

    def _standing(self) -> dict[GlobalId, GroupFrontier]:
        """The current state, read once for all logs of one call."""
        known = self._looked_at
        if known is None:
            known = self.frontiers(self._made_at_ns) if self._made_at_ns else {}
        return {id: known[id] for id in self._made_at_ns if id in known}

    def _hydration_times(self) -> list[Row]:
        """The time until each dataflow could first be read; None if it cannot be read yet."""
        for id, frontier in self._standing().items():
            if id not in self._hydrated_ns and frontier.upper > frontier.since:
                self._hydrated_ns[id] = time.monotonic_ns() - self._made_at_ns[id]
        return [(id, self._hydrated_ns.get(id)) for id in self._made_at_ns]

    def _arrangement_sizes(self) -> list[Row]:
        now = self.clock()
        for id, frontier in self._standing().items():
            upper, measured_at, known = self._sizes.get(id, (Timestamp(0), Timestamp(0), ()))
            # one that was empty may be filled by now
            is_due = now - measured_at >= self.sample_ms or not any(known[1:])
            if frontier.upper > upper and is_due:
                # what is broken is reported by who refreshes it
                with suppress(ReclockError, OSError):
                    files = self.lake.open(StorageCollectionId(id)).pin().all_files
                    size = sum(file.size_bytes for file in files)
                    self._sizes[id] = (
                        frontier.upper,
                        now,
                        (id, sum(file.rows for file in files), len(files), size),
                    )
        return [row for _, _, row in self._sizes.values()]
