"""What histories say of a process that was killed, and so could not say it itself: written by whoever finds its lease over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime

from reclock.algebra.timestamps import Timestamp
from reclock.protocol.introspection import IntrospectionType, Row, is_in_process

KILLED = "its process ended without notice"


def _offline(row: Row, at: datetime) -> Row | None:
    replica_id, cluster_id, process, *_ = row
    if not is_in_process(int(str(replica_id))):
        return None  # only the process that reported of it has ended
    return (replica_id, cluster_id, process, "offline", KILLED, at)


LAST_ROWS: Mapping[IntrospectionType, tuple[IntrospectionType, Callable[[Row, datetime], Row | None]]] = {
    IntrospectionType.REPLICA_STATUSES: (IntrospectionType.REPLICA_STATUS_HISTORY, _offline),
    IntrospectionType.SESSIONS: (IntrospectionType.SESSION_HISTORY, lambda row, at: (*row, at)),
}
"""Collections of what is now, whose rows leave one in a history when they go."""


def farewells(
    name: str, rows: Mapping[IntrospectionType, Mapping[Row, int]], now: Timestamp
) -> Iterator[tuple[IntrospectionType, Row]]:
    """The rows of histories for what ``rows`` still holds in the name of a reporter that is gone."""
    at = datetime.fromtimestamp(now / 1000, UTC)
    for collection, (history, last) in LAST_ROWS.items():
        for row in rows.get(collection, {}):
            if str(row[0]) == name and (farewell := last(row, at)) is not None:
                yield history, farewell
