"""What a replica says of itself, and how it is asked.

A replica keeps *logs*: small relations in memory, of its own work (`LogName`). A compute controller subscribes to them when it
connects (`Subscribe`), takes what changed now and then (`Replica.take_changes`), and hands it on to a `Recorder`, the replica's
id in front. All that travels between processes is here: `Subscribe` and `CancelSubscribe` as commands, a list of `LogChanges` and
`LogFailed` as the answer to ids of subscribes, and rows of text, integers, floats, booleans, moments in UTC and None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

Value = str | int | float | bool | datetime | None
Row = tuple[Value, ...]
Change = tuple[Row, int]
"""A row, and by how many copies of it a relation changes."""


class LogName(StrEnum):
    """The logs of a replica, by the names under which they are read when a query targets it."""

    ACTIVE_PEEKS = "mz_active_peeks"
    ARRANGEMENT_SIZES = "mz_arrangement_sizes"
    ERROR_COUNTS = "mz_compute_error_counts"
    FRONTIERS = "mz_compute_frontiers"
    HYDRATION_TIMES = "mz_compute_hydration_times"
    LAST_REFRESHES = "mz_compute_last_refreshes"
    REFRESH_DURATIONS = "mz_dataflow_durations_histogram"
    PEEK_DURATIONS = "mz_peek_durations_histogram"
    PROCESS_USAGE = "mz_process_usage"


@dataclass(frozen=True, slots=True)
class Subscribe:
    """From now on the replica answers what changes in ``log``, beginning with all that is in it. ``id`` is the controller's to
    give.
    """

    id: str
    log: LogName


@dataclass(frozen=True, slots=True)
class CancelSubscribe:
    """No changes are answered for it any more. One that is not known is no error."""

    id: str


@dataclass(frozen=True, slots=True)
class LogChanges:
    """What changed in the log of one subscribe since it was taken last, consolidated: all that the replica measured before
    ``upper``, milliseconds of its own clock.
    """

    id: str
    changes: tuple[Change, ...]
    upper: int


@dataclass(frozen=True, slots=True)
class LogFailed:
    """The subscribe is over: nothing can be said of its log. What was answered for it before does not count any more."""

    id: str
    error: str


LogResponse = LogChanges | LogFailed


class IntrospectionType(StrEnum):
    """The collections that storage manages for the environment, by the names of their relations in ``mz_internal``.

    Who reports, a replica or a process, is in the first column of each.
    """

    ACTIVE_PEEKS = "mz_active_peeks_unified"
    ARRANGEMENT_SIZES = "mz_arrangement_sizes_unified"
    ERROR_COUNTS = "mz_compute_error_counts_unified"
    FRONTIERS = "mz_compute_frontiers_unified"
    HYDRATION_TIMES = "mz_compute_hydration_times_unified"
    LAST_REFRESHES = "mz_compute_last_refreshes_unified"
    REFRESH_DURATIONS = "mz_dataflow_durations_histogram_unified"
    PEEK_DURATIONS = "mz_peek_durations_histogram_unified"
    REPLICA_METRICS = "mz_cluster_replica_metrics"
    REPLICA_METRICS_HISTORY = "mz_cluster_replica_metrics_history"
    REPLICA_STATUSES = "mz_cluster_replica_statuses"
    REPLICA_STATUS_HISTORY = "mz_cluster_replica_status_history"
    SESSIONS = "mz_sessions"
    SESSION_HISTORY = "mz_session_history"
    STATEMENTS = "mz_recent_activity_log"
    WALLCLOCK_LAG_HISTORY = "mz_wallclock_lag_history"


class Reporter(Protocol):
    """One replica, or one process, in whose name is written: after another took the name over, nothing it appends is kept.

    Appends and deletions are applied to each collection strictly in the order of these calls. They return at once.
    """

    @property
    def name(self) -> str: ...

    def append(self, collection: IntrospectionType, changes: Iterable[Change]) -> None: ...

    def delete(self, collection: IntrospectionType, matches: Callable[[Row], bool]) -> None:
        """Retract every row of the collection that ``matches``, those of earlier appends included."""
        ...

    def close(self) -> None:
        """Everything appended in its name goes, but for histories."""
        ...


class Recorder(Protocol):
    """Whoever keeps the collections."""

    def report(self, name: str, lost: Callable[[], None]) -> Reporter:
        """Write in this name from now on. What was there in that name goes first, but for histories.

        ``lost`` is called, from a thread of the recorder, if the name was taken over, or if it is not known what of it was kept:
        then nothing more can be written by this reporter.
        """
        ...


def is_in_process(replica_id: int) -> bool:
    """Whether this is the replica that a virtual cluster has in a process, with which it ends. Other ids are positive."""
    return replica_id < 0
