"""PostgreSQL's relations of activity: sessions, their statements, locks and statistics."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from reclock.algebra.object_ids import object_oid
from reclock.algebra.relations import BIGINT, BOOLEAN, INTEGER, OID, TEXT, TIMESTAMPTZ, array
from reclock.algebra.timestamps import Timestamp, as_datetime
from reclock.introspection.backends import Backend
from reclock.introspection.empty_catalogs import absent
from reclock.introspection.privacy import HIDDEN
from reclock.introspection.relation import Builtin, Rows, SystemState, desc
from reclock.introspection.views import views


def _moment(at: Timestamp | None) -> datetime | None:
    return None if at is None else as_datetime(at)


def _visible(state: SystemState) -> Iterator[Backend]:
    return (backend for backend in state.backends() if state.reader.sees(backend))


def _activity(state: SystemState) -> Rows:
    databases = {
        database.name: object_oid(database.id) for database in state.catalog.databases.values()
    }
    for backend in state.backends():
        identity = (
            databases.get(backend.database),
            backend.database,
            backend.process_id,
            None,
            object_oid(backend.role_id),
            backend.user,
            backend.application_name(),
        )
        if not state.reader.sees(backend):
            yield (*identity, *[None] * 13, HIDDEN, None)
            continue
        work, activity = backend.work, backend.state
        yield (
            *identity,
            backend.client_address,
            None,
            backend.client_port,
            _moment(backend.began_at),
            _moment(work.began_at) if work is not None and activity == "active" else None,
            _moment(work.began_at) if work is not None else None,
            _moment(backend.began_at if work is None else work.ended_at or work.began_at),
            None if activity == "active" else "Client",
            None if activity == "active" else "ClientRead",
            activity,
            None,
            None,
            None,
            work.sql() if work is not None else "",
            "client backend",
        )


PG_ACTIVITY: tuple[Builtin, ...] = (
    Builtin(
        "pg_catalog",
        "pg_stat_activity",
        desc(
            "pid",
            datid=OID,
            datname=TEXT,
            pid=INTEGER,
            leader_pid=INTEGER,
            usesysid=OID,
            usename=TEXT,
            application_name=TEXT,
            client_addr=TEXT,
            client_hostname=TEXT,
            client_port=INTEGER,
            backend_start=TIMESTAMPTZ,
            xact_start=TIMESTAMPTZ,
            query_start=TIMESTAMPTZ,
            state_change=TIMESTAMPTZ,
            wait_event_type=TEXT,
            wait_event=TEXT,
            state=TEXT,
            backend_xid=BIGINT,
            backend_xmin=BIGINT,
            query_id=BIGINT,
            query=TEXT,
            backend_type=TEXT,
        ),
        _activity,
    ),
    Builtin(
        "mz_internal",
        "mz_prepared_statements",
        desc(pid=INTEGER, name=TEXT, statement=TEXT, parameter_types=array(TEXT)),
        lambda state: (
            (backend.process_id, *statement)
            for backend in _visible(state)
            for statement in backend.prepared()
        ),
    ),
    Builtin(
        "mz_internal",
        "mz_cursors",
        desc(pid=INTEGER, name=TEXT, is_holdable=BOOLEAN, is_scrollable=BOOLEAN),
        lambda state: (
            (backend.process_id, *cursor)
            for backend in _visible(state)
            for cursor in backend.cursors()
        ),
    ),
    *views(
        "pg_catalog",
        "pg_prepared_statements",
        "pg_cursors",
        "pg_stat_gssapi",
        "pg_stat_database",
        "pg_stat_all_tables",
        "pg_stat_user_tables",
        "pg_stat_all_indexes",
        "pg_stat_user_indexes",
    ),
    *absent(
        "pg_catalog",
        """
pg_locks: locktype text, database oid, relation oid, page integer, tuple smallint, virtualxid text,
    transactionid bigint, classid oid, objid oid, objsubid smallint, virtualtransaction text, pid integer,
    mode text, granted boolean, fastpath boolean, waitstart timestamp with time zone
pg_prepared_xacts: transaction bigint, gid text, prepared timestamp with time zone, owner text, database text
pg_stat_replication: pid integer, usesysid oid, usename text, application_name text, client_addr text,
    client_hostname text, client_port integer, backend_start timestamp with time zone, state text,
    sent_lsn text, replay_lsn text, sync_state text
""",
    ),
)
