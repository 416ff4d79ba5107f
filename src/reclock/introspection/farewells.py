"""The last rows of a killed process in histories, written by the process that finds its lease
expired."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from reclock.algebra.timestamps import Timestamp, as_datetime
from reclock.protocol.introspection import IntrospectionType, Row, is_in_process

KILLED = "its process ended without notice"


def _offline(row: Row, at: datetime) -> Row | None:
    replica_id, cluster_id, process, *_ = row
    if not is_in_process(int(str(replica_id))):
        return None  # only the process that reported about the replica has ended
    return (replica_id, cluster_id, process, "offline", KILLED, at)


LAST_ROWS: Mapping[
    IntrospectionType, tuple[IntrospectionType, Callable[[Row, datetime], Row | None]]
] = {
    IntrospectionType.REPLICA_STATUSES: (IntrospectionType.REPLICA_STATUS_HISTORY, _offline),
    IntrospectionType.SESSIONS: (IntrospectionType.SESSION_HISTORY, lambda row, at: (*row, at)),
}
"""Collections of the present state, and the history that gets a row when one of theirs is
deleted."""


def farewells(
    name: str, rows: Mapping[IntrospectionType, Mapping[Row, int]], now: Timestamp
) -> Iterator[tuple[IntrospectionType, Row]]:
    """The rows of histories for what ``rows`` still holds in the name of a reporter that is
    gone."""
    at = as_datetime(now)
    for collection, (history, last) in LAST_ROWS.items():
        for row in rows.get(collection, {}):
            if str(row[0]) == name and (farewell := last(row, at)) is not None:
                yield history, farewell
