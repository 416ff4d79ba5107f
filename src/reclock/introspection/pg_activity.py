"""What PostgreSQL's clients ask about what goes on: sessions, their statements, and what is counted of relations."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

from reclock.algebra.object_ids import object_oid
from reclock.algebra.relations import BIGINT, BOOLEAN, DOUBLE, INTEGER, OID, SMALLINT, TEXT, TIMESTAMPTZ, array
from reclock.algebra.timestamps import Timestamp
from reclock.introspection.backends import Backend
from reclock.introspection.privacy import HIDDEN
from reclock.introspection.relation import Builtin, Rows, SystemState, desc, empty, view

_view, _empty = partial(view, "pg_catalog"), partial(empty, "pg_catalog")


def _moment(at: Timestamp | None) -> datetime | None:
    return None if at is None else datetime.fromtimestamp(at / 1000, UTC)


def _seen(state: SystemState) -> Iterator[Backend]:
    return (backend for backend in state.backends() if state.reader.sees(backend))


def _activity(state: SystemState) -> Rows:
    databases = {database.name: object_oid(database.id) for database in state.catalog.databases.values()}
    for backend in state.backends():
        who = (
            databases.get(backend.database),
            backend.database,
            backend.process_id,
            None,
            object_oid(backend.role_id),
            backend.user,
            backend.application_name(),
        )
        if not state.reader.sees(backend):
            yield (*who, *[None] * 13, HIDDEN, None)
            continue
        work, shown = backend.work, backend.state
        yield (
            *who,
            backend.client_address,
            None,
            backend.client_port,
            _moment(backend.began_at),
            _moment(work.began_at) if work is not None and shown == "active" else None,
            _moment(work.began_at) if work is not None else None,
            _moment(backend.began_at if work is None else work.ended_at or work.began_at),
            None if shown == "active" else "Client",
            None if shown == "active" else "ClientRead",
            shown,
            None,
            None,
            None,
            work.sql() if work is not None else "",
            "client backend",
        )


_COUNTED = (
    "seq_scan",
    "seq_tup_read",
    "idx_scan",
    "idx_tup_fetch",
    "n_tup_ins",
    "n_tup_upd",
    "n_tup_del",
    "n_tup_hot_upd",
    "n_live_tup",
    "n_dead_tup",
    "n_mod_since_analyze",
    "n_ins_since_vacuum",
)
_DONE = ("last_vacuum", "last_autovacuum", "last_analyze", "last_autoanalyze")
_TIMES_DONE = ("vacuum_count", "autovacuum_count", "analyze_count", "autoanalyze_count")


def _of_tables(name: str, which: str) -> Builtin:
    """Rows are not counted here: PostgreSQL too says 0 where nothing was counted yet."""
    zeros, nulls = ", ".join(["0"] * len(_COUNTED)), ", ".join(["NULL"] * len(_DONE))
    return _view(
        name,
        f"""SELECT c.oid, n.nspname, c.relname, {zeros}, {nulls}, 0, 0, 0, 0
        FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind IN ('r', 'm'){which}""",
        ("relid",),
        relid=OID,
        schemaname=TEXT,
        relname=TEXT,
        **dict.fromkeys(_COUNTED, BIGINT),
        **dict.fromkeys(_DONE, TIMESTAMPTZ),
        **dict.fromkeys(_TIMES_DONE, BIGINT),
    )


def _of_indexes(name: str, which: str) -> Builtin:
    return _view(
        name,
        f"""SELECT x.indrelid, x.indexrelid, n.nspname, t.relname, i.relname, 0, NULL, 0, 0
        FROM pg_catalog.pg_index x JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
        JOIN pg_catalog.pg_class t ON t.oid = x.indrelid JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace{which}""",
        ("indexrelid",),
        relid=OID,
        indexrelid=OID,
        schemaname=TEXT,
        relname=TEXT,
        indexrelname=TEXT,
        idx_scan=BIGINT,
        last_idx_scan=TIMESTAMPTZ,
        idx_tup_read=BIGINT,
        idx_tup_fetch=BIGINT,
    )


_OF_USERS = " n.nspname NOT IN ('pg_catalog', 'information_schema', 'mz_catalog', 'mz_internal')"
_DATABASE_COUNTS = (
    *("xact_commit", "xact_rollback", "blks_read", "blks_hit", "tup_returned", "tup_fetched", "tup_inserted", "tup_updated"),
    *("tup_deleted", "conflicts", "temp_files", "temp_bytes", "deadlocks", "sessions"),
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
        lambda state: ((backend.process_id, *each) for backend in _seen(state) for each in backend.prepared()),
    ),
    Builtin(
        "mz_internal",
        "mz_cursors",
        desc(pid=INTEGER, name=TEXT, is_holdable=BOOLEAN),
        lambda state: ((backend.process_id, *each) for backend in _seen(state) for each in backend.cursors()),
    ),
    _view(
        "pg_prepared_statements",
        """SELECT name, statement, NULL, parameter_types, NULL, NULL, NULL, NULL FROM mz_internal.mz_prepared_statements
        WHERE pid = pg_backend_pid()""",
        name=TEXT,
        statement=TEXT,
        prepare_time=TIMESTAMPTZ,
        parameter_types=array(TEXT),
        result_types=array(TEXT),
        from_sql=BOOLEAN,
        generic_plans=BIGINT,
        custom_plans=BIGINT,
    ),
    _view(
        "pg_cursors",
        "SELECT name, NULL, is_holdable, FALSE, FALSE, NULL FROM mz_internal.mz_cursors WHERE pid = pg_backend_pid()",
        name=TEXT,
        statement=TEXT,
        is_holdable=BOOLEAN,
        is_binary=BOOLEAN,
        is_scrollable=BOOLEAN,
        creation_time=TIMESTAMPTZ,
    ),
    _view(
        "pg_stat_gssapi",
        "SELECT pid, FALSE, NULL, FALSE, FALSE FROM pg_catalog.pg_stat_activity",
        ("pid",),
        pid=INTEGER,
        gss_authenticated=BOOLEAN,
        principal=TEXT,
        encrypted=BOOLEAN,
        credentials_delegated=BOOLEAN,
    ),
    _view(
        "pg_stat_database",
        f"""SELECT d.oid, d.datname, coalesce(a.number, 0)::integer, {", ".join(["0"] * len(_DATABASE_COUNTS))}, 0.0, 0.0, NULL
        FROM pg_catalog.pg_database d
        LEFT JOIN (SELECT datid, count(*) AS number FROM pg_catalog.pg_stat_activity GROUP BY datid) a ON a.datid = d.oid""",
        ("datid",),
        datid=OID,
        datname=TEXT,
        numbackends=INTEGER,
        **dict.fromkeys(_DATABASE_COUNTS, BIGINT),
        blk_read_time=DOUBLE,
        blk_write_time=DOUBLE,
        stats_reset=TIMESTAMPTZ,
    ),
    _of_tables("pg_stat_all_tables", ""),
    _of_tables("pg_stat_user_tables", f" AND{_OF_USERS}"),
    _of_indexes("pg_stat_all_indexes", ""),
    _of_indexes("pg_stat_user_indexes", f" WHERE{_OF_USERS}"),
    _empty(
        "pg_locks",
        locktype=TEXT,
        database=OID,
        relation=OID,
        page=INTEGER,
        tuple=SMALLINT,
        virtualxid=TEXT,
        transactionid=BIGINT,
        classid=OID,
        objid=OID,
        objsubid=SMALLINT,
        virtualtransaction=TEXT,
        pid=INTEGER,
        mode=TEXT,
        granted=BOOLEAN,
        fastpath=BOOLEAN,
        waitstart=TIMESTAMPTZ,
    ),
    _empty("pg_prepared_xacts", transaction=BIGINT, gid=TEXT, prepared=TIMESTAMPTZ, owner=TEXT, database=TEXT),
    _empty(
        "pg_stat_replication",
        pid=INTEGER,
        usesysid=OID,
        usename=TEXT,
        application_name=TEXT,
        client_addr=TEXT,
        client_hostname=TEXT,
        client_port=INTEGER,
        backend_start=TIMESTAMPTZ,
        state=TEXT,
        sent_lsn=TEXT,
        replay_lsn=TEXT,
        sync_state=TEXT,
    ),
)
