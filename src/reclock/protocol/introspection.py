"""Introspection of replicas: how a replica reports measurements, and how they are recorded.

A replica has *logs*: small relations in memory about its own work (`LogName`). A compute controller
subscribes to them when it connects (`Subscribe`), polls their changes (`Replica.take_changes`), and
passes them to a `Recorder` with the replica's id as the first column. Everything that is sent
between processes is defined here: the commands `Subscribe` and `CancelSubscribe`, the responses
`LogChanges` and `LogFailed`, and rows of text, integers, floats, booleans, UTC timestamps and None.
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
    """The logs of a replica. A query that targets a replica reads them under these names."""

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
    """Report the changes of ``log`` from now on, beginning with all its rows. The controller
    chooses the ``id``."""

    id: str
    log: LogName


@dataclass(frozen=True, slots=True)
class CancelSubscribe:
    """Stop reporting for this id. Does nothing if it is unknown."""

    id: str


@dataclass(frozen=True, slots=True)
class LogChanges:
    """The changes of a subscribe's log since the last response, consolidated: everything that the
    replica measured before ``upper``, in milliseconds of its own clock."""

    id: str
    changes: tuple[Change, ...]
    upper: int


@dataclass(frozen=True, slots=True)
class LogFailed:
    """The subscribe has ended, because its log cannot be read. Its earlier changes are void."""

    id: str
    error: str


LogResponse = LogChanges | LogFailed


class IntrospectionType(StrEnum):
    """The introspection collections, which storage manages, by the names of their relations in
    ``mz_internal``.

    The first column of each is the reporter: a replica or a process.
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
    """Writes the rows of one replica or process. After another reporter took over the name, nothing
    that this one appends is stored.

    Appends and deletions are applied to each collection in the order of these calls, which return
    at once.
    """

    @property
    def name(self) -> str: ...

    def append(self, collection: IntrospectionType, changes: Iterable[Change]) -> None: ...

    def delete(self, collection: IntrospectionType, matches: Callable[[Row], bool]) -> None:
        """Retract every row of the collection for which ``matches`` is true, also rows of earlier
        appends."""
        ...

    def close(self) -> None:
        """Retract everything appended under this name, except for histories."""
        ...


class Recorder(Protocol):
    """Maintains the introspection collections."""

    def report(self, name: str, lost: Callable[[], None]) -> Reporter:
        """A reporter for this name. Rows of earlier reporters of the name are retracted first,
        except for histories.

        ``lost`` is called, from a thread of the recorder, if the name was taken over, or if it is
        unknown which rows were stored. The reporter can write nothing more then.
        """
        ...


def is_in_process(replica_id: int) -> bool:
    """Whether this is the id of a virtual cluster's replica within a process. Other ids are
    positive."""
    return replica_id < 0
