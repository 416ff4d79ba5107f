"""Processes report their sessions, the statements that they executed, and the lag of objects."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from fixtures.server import SqlServer
from fixtures.sessions import sql
from fixtures.waiting import eventually

from reclock.adapter.session.session import Session
from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.errors import EvaluationError
from reclock.introspection.backends import Backend
from reclock.introspection.reports import STATEMENTS_AT_ONCE, Reports
from reclock.pipeline import maintenance
from reclock.runtime.environment import Environment

BACKEND = Backend(
    7,
    "u1",
    "reclock",
    "reclock",
    lambda: "test",
    "127.0.0.1",
    5,
    MINIMUM,
    lambda: "idle",
    lambda: None,
    lambda: None,
)


def test_sessions_and_their_statements_are_told(
    environment: Environment, reported: Reports
) -> None:
    session = Session(environment)
    session.activity.began(replace(BACKEND, began_at=environment.stores.clock()))
    for text in (
        "CREATE TABLE t (a int)",
        "INSERT INTO t VALUES (1), (2)",
        "SELECT a FROM t",
        "SELECT a / 0 FROM t",
    ):
        with suppress(EvaluationError):
            for result in session.execute(text):
                list(result.batches)
    for text in ("CREATE SECRET s AS 'hush'", "PREPARE p AS SELECT 1", "EXECUTE p"):
        for result in session.execute(text):
            list(result.batches)
    environment.runtime.collection_manager.flush()
    sessions = (
        "SELECT process, connection_id, role_id, client_ip, application_name FROM mz_sessions"
    )
    assert sql(environment, sessions) == [("p1", 7, "u1", "127.0.0.1", "test")]
    query = (
        "SELECT sql, finished_status, error_message, rows_returned FROM "
        "mz_recent_activity_log WHERE session_id = "
    )
    assert sorted(sql(environment, f"{query} '{session.activity.id}'")) == [
        ("CREATE SECRET <redacted>", "success", None, None),
        ("CREATE TABLE t (a int)", "success", None, None),
        ("EXECUTE p", "success", None, 1),
        ("INSERT INTO t VALUES (1), (2)", "success", None, None),
        ("PREPARE p AS SELECT 1", "success", None, None),
        ("SELECT a / 0 FROM t", "error", "22012: division by zero", None),
        ("SELECT a FROM t", "success", None, 2),
    ]
    session.close()
    environment.runtime.collection_manager.flush()
    assert sql(environment, sessions) == []
    assert (
        len(
            sql(
                environment,
                "SELECT * FROM mz_session_history WHERE disconnected_at >= connected_at",
            )
        )
        == 1
    )


def test_of_many_statements_a_bounded_number_is_told(
    environment: Environment, reported: Reports
) -> None:
    for _ in range(2 * STATEMENTS_AT_ONCE):
        sql(environment, "SHOW cluster")
    environment.runtime.collection_manager.flush()
    assert sql(environment, "SELECT count(*) FROM mz_recent_activity_log") == [
        (STATEMENTS_AT_ONCE,)
    ]


def test_histories_are_shortened_and_lags_recorded(environment: Environment) -> None:
    manager, hour = environment.runtime.collection_manager, 3_600_000
    now = [environment.stores.clock()]
    reports = Reports(manager, "p1", lambda: now[0], hour, 2 * hour, lambda: {"u1": 2_500})
    for _ in range(5):
        reports.step()
        now[0] = Timestamp(now[0] + hour)
    manager.flush()
    history = sql(
        environment, "SELECT object_id, lag_s, occurred_at FROM mz_wallclock_lag_history ORDER BY 3"
    )
    assert [row[:2] for row in history] == [("u1", 2)] * 3
    before = environment.stores.frontiers.get("introspection")
    report = maintenance.maintain(environment.stores, "introspection")
    assert report.failed == {}
    assert report.since_after >= before.since
    assert environment.stores.managed.tables.log.pending() == []
    assert sql(environment, "SELECT count(*) FROM mz_wallclock_lag_history") == [(3,)]


def rows(server: SqlServer, query: str) -> list[tuple]:
    with server.connect() as connection, connection.cursor() as cursor:
        return cursor.execute(query).fetchall()


def test_servers_report_in_names_of_their_own_and_what_one_that_is_killed_left_is_taken_away(
    tmp_path: Path, new_server: Callable[..., SqlServer]
) -> None:
    quick = {"RECLOCK_INTROSPECTION_INTERVAL_MS": "50", "RECLOCK_INTROSPECTION_LEASE_MS": "6000"}
    first, second = new_server(tmp_path, **quick), new_server(tmp_path, **quick)
    online = "SELECT replica_id FROM mz_cluster_replica_statuses"
    eventually(lambda: len(rows(second, online)) == 2)
    assert rows(
        first, "SELECT DISTINCT replica_id FROM mz_cluster_replica_metrics ORDER BY 1"
    ) == sorted(rows(first, online))
    killed_session = first.connect(application_name="killed with its server")
    sessions = (
        "SELECT application_name, disconnected_at IS NOT NULL FROM mz_session_history WHERE "
        "application_name LIKE 'killed%'"
    )
    eventually(
        lambda: (
            len(rows(second, "SELECT id FROM mz_sessions WHERE application_name LIKE 'killed%'"))
            == 1
        )
    )
    first.kill()
    killed_session.close()
    # nobody needs to be alive for that
    assert len(rows(second, "SELECT * FROM mz_cluster_replica_metrics")) == 2
    eventually(lambda: len(rows(second, online)) == 1)
    assert rows(second, "SELECT replica_id FROM mz_cluster_replica_metrics") == rows(second, online)
    assert rows(second, sessions) == [("killed with its server", True)]
    ends = "SELECT reason FROM mz_cluster_replica_status_history WHERE status = 'offline'"
    assert rows(second, ends) == [("its process ended without notice",)]
    second.stop()
    with Environment.open(tmp_path) as environment:
        assert sql(environment, online) == []
        assert {"offline"} <= {
            row[0]
            for row in sql(environment, "SELECT status FROM mz_cluster_replica_status_history")
        }
