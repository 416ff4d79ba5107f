"""The types of the collections that storage manages: the second of three parts of a unified
relation.

The first is the log that a replica measures in `clusters.measurements`, to which
`controllers.subscribes` subscribes. The third is the relation that queries read: the entry of the
same name in `introspection.builtins`.
"""

from __future__ import annotations

from dataclasses import dataclass

from reclock.algebra.relations import (
    BIGINT,
    DOUBLE,
    INTEGER,
    TEXT,
    TIMESTAMPTZ,
    Column,
    RelationDesc,
    ScalarType,
)
from reclock.protocol.introspection import IntrospectionType, LogName


def _columns(**columns: ScalarType) -> tuple[Column, ...]:
    return tuple(Column(name, type) for name, type in columns.items())


LOGS: dict[LogName, RelationDesc] = {
    name: RelationDesc(columns)
    for name, columns in {
        LogName.ACTIVE_PEEKS: _columns(id=TEXT, engine=TEXT, time=BIGINT, began_at=TIMESTAMPTZ),
        LogName.ARRANGEMENT_SIZES: _columns(
            export_id=TEXT, records=BIGINT, batches=BIGINT, size=BIGINT
        ),
        LogName.ERROR_COUNTS: _columns(export_id=TEXT, count=BIGINT),
        LogName.FRONTIERS: _columns(export_id=TEXT, time=BIGINT),
        LogName.HYDRATION_TIMES: _columns(export_id=TEXT, time_ns=BIGINT),
        LogName.LAST_REFRESHES: _columns(
            export_id=TEXT,
            time=BIGINT,
            how=TEXT,
            updates=BIGINT,
            duration_ns=BIGINT,
            delta_estimate_ns=BIGINT,
            recompute_estimate_ns=BIGINT,
            delta_took_ns=BIGINT,
            recompute_took_ns=BIGINT,
            delta_error=TEXT,
        ),
        LogName.REFRESH_DURATIONS: _columns(export_id=TEXT, duration_ns=BIGINT, count=BIGINT),
        LogName.PEEK_DURATIONS: _columns(engine=TEXT, duration_ns=BIGINT, count=BIGINT),
        LogName.PROCESS_USAGE: _columns(
            process=TEXT, cpu_percent=DOUBLE, memory_bytes=BIGINT, memory_percent=DOUBLE
        ),
    }.items()
}
"""The columns of a replica's logs.

Durations are upper bounds of buckets, which are powers of two of nanoseconds.
"""


@dataclass(frozen=True, slots=True)
class ManagedType:
    """A managed collection's columns, retention and privacy.

    The rows of a history outlive their reporter, until their last column is older than the
    retention of histories. ``private`` columns are shown only to roles that may see what
    ``authenticated_user`` executes.
    """

    desc: RelationDesc
    is_history: bool = False
    private: tuple[str, ...] = ()


def _unified(log: LogName) -> RelationDesc:
    return RelationDesc((Column("replica_id", BIGINT), *LOGS[log].columns))


def _history(desc: RelationDesc) -> ManagedType:
    return ManagedType(
        RelationDesc((*desc.columns, Column("occurred_at", TIMESTAMPTZ))), is_history=True
    )


_STATUS = RelationDesc(
    _columns(replica_id=BIGINT, cluster_id=BIGINT, process=TEXT, status=TEXT, reason=TEXT)
)
_SESSION = RelationDesc(
    _columns(
        process=TEXT,
        id=TEXT,
        connection_id=BIGINT,
        role_id=TEXT,
        client_ip=TEXT,
        application_name=TEXT,
        connected_at=TIMESTAMPTZ,
    )
)

MANAGED: dict[IntrospectionType, ManagedType] = {
    IntrospectionType.ACTIVE_PEEKS: ManagedType(_unified(LogName.ACTIVE_PEEKS)),
    IntrospectionType.ARRANGEMENT_SIZES: ManagedType(_unified(LogName.ARRANGEMENT_SIZES)),
    IntrospectionType.ERROR_COUNTS: ManagedType(_unified(LogName.ERROR_COUNTS)),
    IntrospectionType.FRONTIERS: ManagedType(_unified(LogName.FRONTIERS)),
    IntrospectionType.HYDRATION_TIMES: ManagedType(_unified(LogName.HYDRATION_TIMES)),
    IntrospectionType.LAST_REFRESHES: ManagedType(_unified(LogName.LAST_REFRESHES)),
    IntrospectionType.REFRESH_DURATIONS: ManagedType(_unified(LogName.REFRESH_DURATIONS)),
    IntrospectionType.PEEK_DURATIONS: ManagedType(_unified(LogName.PEEK_DURATIONS)),
    IntrospectionType.REPLICA_METRICS: ManagedType(_unified(LogName.PROCESS_USAGE)),
    IntrospectionType.REPLICA_METRICS_HISTORY: _history(_unified(LogName.PROCESS_USAGE)),
    IntrospectionType.REPLICA_STATUSES: ManagedType(
        RelationDesc((*_STATUS.columns, Column("updated_at", TIMESTAMPTZ)))
    ),
    IntrospectionType.REPLICA_STATUS_HISTORY: _history(_STATUS),
    IntrospectionType.SESSIONS: ManagedType(_SESSION),
    IntrospectionType.SESSION_HISTORY: ManagedType(
        RelationDesc((*_SESSION.columns, Column("disconnected_at", TIMESTAMPTZ))), is_history=True
    ),
    IntrospectionType.STATEMENTS: ManagedType(
        RelationDesc(
            _columns(
                process=TEXT,
                execution_id=TEXT,
                session_id=TEXT,
                authenticated_user=TEXT,
                cluster_name=TEXT,
                sql=TEXT,
                finished_status=TEXT,
                error_message=TEXT,
                rows_returned=BIGINT,
                duration_ms=DOUBLE,
                began_at=TIMESTAMPTZ,
            )
        ),
        is_history=True,
        private=("sql", "error_message"),
    ),
    IntrospectionType.WALLCLOCK_LAG_HISTORY: _history(
        RelationDesc(_columns(process=TEXT, object_id=TEXT, lag_s=INTEGER))
    ),
}

HISTORIES = frozenset(name for name, managed in MANAGED.items() if managed.is_history)
