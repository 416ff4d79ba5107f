"""The sessions and their statements, as PostgreSQL's clients ask for them, and ending them."""

from __future__ import annotations

import threading

import psutil
import psycopg
import pytest
from fixtures.server import SqlServer
from fixtures.waiting import PATIENCE_S, eventually

SERIES = ", ".join(f"generate_series(1, 100000) {name}(n)" for name in "abcd")
ENDLESS = f"SELECT count(*) FROM {SERIES} WHERE a.n + b.n + c.n + d.n = 0"
SLOW_BYTES = 64 << 20
"""What one client may cost that waits: a piece, what its sockets hold, and what the engine has
ahead."""


def test_a_statement_is_seen_while_it_runs_and_can_be_canceled_and_its_session_ended(
    sql_server: SqlServer,
) -> None:
    with sql_server.connect(application_name="other") as other, sql_server.connect() as observer:
        pid = other.info.backend_pid

        def seen() -> tuple:
            [row] = observer.execute(
                "SELECT state, query FROM pg_stat_activity WHERE pid = %s", [pid]
            ).fetchall()
            return row

        assert seen() == ("idle", "")
        activity = (
            "SELECT datname, usename, application_name, client_addr, backend_start <= now() "
            "FROM pg_stat_activity WHERE pid = %s"
        )
        assert observer.execute(activity, [pid]).fetchall() == [
            ("reclock", "reclock", "other", "127.0.0.1", True)
        ]
        assert observer.execute(
            "SELECT state FROM pg_stat_activity WHERE pid = pg_backend_pid()"
        ).fetchall() == [("active",)]

        failures: list[psycopg.Error] = []

        def run() -> None:
            try:
                other.execute(ENDLESS)
            except psycopg.Error as error:
                failures.append(error)

        runs = threading.Thread(target=run)
        runs.start()
        eventually(lambda: seen() == ("active", ENDLESS))
        cancel = (
            "SELECT pid, pg_cancel_backend(pid) AS done FROM pg_stat_activity WHERE "
            "application_name = 'other'"
        )
        assert observer.execute(cancel).fetchall() == [(pid, True)]
        runs.join(PATIENCE_S)
        assert [error.sqlstate for error in failures] == ["57014"]
        eventually(lambda: seen() == ("idle", ENDLESS))

        other.execute("BEGIN")
        assert seen() == ("idle in transaction", "BEGIN")
        assert observer.execute("SELECT pg_catalog.pg_terminate_backend(%s)", [pid]).fetchall() == [
            (True,)
        ]
        with pytest.raises(psycopg.errors.AdminShutdown):
            other.execute("SELECT 1")
        eventually(
            lambda: (
                not observer.execute(
                    "SELECT pid FROM pg_stat_activity WHERE pid = %s", [pid]
                ).fetchall()
            )
        )
        assert observer.execute(
            "SELECT pg_cancel_backend(%s), pg_cancel_backend(NULL)", [pid]
        ).fetchall() == [(False, None)]


def test_a_session_that_is_terminated_while_it_computes_ends(sql_server: SqlServer) -> None:
    with sql_server.connect() as other, sql_server.connect() as observer:
        pid = other.info.backend_pid

        def terminate() -> None:
            active = "SELECT pid FROM pg_stat_activity WHERE state = 'active' AND pid = %s"
            eventually(lambda: observer.execute(active, [pid]).fetchall() == [(pid,)])
            observer.execute("SELECT pg_terminate_backend(%s)", [pid])

        ends = threading.Thread(target=terminate)
        ends.start()
        with pytest.raises(psycopg.errors.AdminShutdown):
            other.execute(ENDLESS)
        ends.join(PATIENCE_S)
        assert (
            observer.execute(
                "SELECT pg_terminate_backend(pg_backend_pid() + 0) WHERE 1 = 0"
            ).fetchall()
            == []
        )


def test_only_superusers_end_what_others_do(sql_server: SqlServer) -> None:
    with sql_server.connect() as observer:
        observer.execute("CREATE ROLE plain LOGIN")
        try:
            with (
                sql_server.connect(user="plain") as plain,
                sql_server.connect(user="plain") as twin,
            ):
                for function in ("pg_cancel_backend", "pg_terminate_backend"):
                    with pytest.raises(psycopg.errors.InsufficientPrivilege):
                        plain.execute(f"SELECT {function}(%s)", [observer.info.backend_pid])
                assert plain.execute(
                    "SELECT pg_terminate_backend(%s)", [twin.info.backend_pid]
                ).fetchall() == [(True,)]
        finally:
            observer.execute("DROP ROLE plain")


def test_what_a_role_executes_is_seen_by_itself_its_members_and_superusers(
    sql_server: SqlServer,
) -> None:
    """In what runs now, in what is prepared, and in the log of what ran."""
    texts = (
        "SELECT query FROM pg_stat_activity WHERE pid = %(pid)s",
        "SELECT statement FROM mz_prepared_statements WHERE pid = %(pid)s",
    )
    statement = "SELECT 'said by worker'"
    log = (
        "SELECT DISTINCT sql, error_message IS NULL FROM mz_recent_activity_log WHERE "
        "authenticated_user = 'worker'"
    )
    with sql_server.connect() as observer:
        observer.execute(
            "CREATE ROLE worker LOGIN; CREATE ROLE lead LOGIN; CREATE ROLE plain LOGIN; "
            "GRANT worker TO lead"
        )
        try:
            with (
                sql_server.connect(user="worker") as worker,
                sql_server.connect(user="lead") as lead,
                sql_server.connect(user="plain") as plain,
            ):
                worker.execute("PREPARE kept AS SELECT 1")
                with pytest.raises(psycopg.errors.UndefinedTable):
                    worker.execute("SELECT * FROM of_worker")
                worker.execute(statement)
                pid = {"pid": worker.info.backend_pid}

                def seen(by: psycopg.Connection) -> list[list[tuple]]:
                    return [by.execute(text, pid).fetchall() for text in texts]

                assert (
                    seen(observer)
                    == seen(lead)
                    == [[(statement,)], [("PREPARE kept AS SELECT 1",)]]
                )
                assert seen(plain) == [[("<insufficient privilege>",)], []]
                hidden = (
                    "SELECT usename, state, client_addr, query_start FROM pg_stat_activity "
                    "WHERE pid = %(pid)s"
                )
                assert plain.execute(hidden, pid).fetchall() == [("worker", None, None, None)]

                def is_logged() -> bool:
                    """Of the statements of all sessions the first of each interval are: it is said
                    again."""
                    worker.execute(statement, prepare=False)
                    with pytest.raises(psycopg.errors.UndefinedTable):
                        worker.execute("SELECT * FROM of_worker", prepare=False)
                    return {(statement, True), ("SELECT * FROM of_worker", False)} <= set(
                        observer.execute(log).fetchall()
                    )

                eventually(is_logged)
                for connection in (lead, worker):
                    assert ("SELECT * FROM of_worker", False) in connection.execute(log).fetchall()
                assert set(plain.execute(log).fetchall()) == {
                    ("<insufficient privilege>", True),
                    ("<insufficient privilege>", False),
                }
                failures = (
                    "SELECT DISTINCT error_message FROM mz_recent_activity_log WHERE "
                    "authenticated_user = 'worker'"
                )
                assert set(plain.execute(failures).fetchall()) == {
                    ("<insufficient privilege>",),
                    (None,),
                }
                plain.execute("PREPARE own AS SELECT 2")
                observer.execute("GRANT plain TO worker")
                worker.execute("SET ROLE plain")
                assert worker.execute("SELECT name FROM pg_prepared_statements").fetchall() == [
                    ("kept",)
                ]
        finally:
            observer.execute("DROP ROLE lead, worker, plain")


def test_what_does_something_stands_in_the_select_list_of_a_statement(
    sql_server: SqlServer,
) -> None:
    with sql_server.connect() as connection:
        answer = connection.execute(
            "SELECT set_config('application_name', 'renamed', false), set_config('no' || "
            "'thing', NULL, true)"
        )
        assert answer.fetchall() == [("renamed", None)]
        assert connection.execute("SHOW application_name").fetchall() == [("renamed",)]
        with connection.transaction():
            connection.execute("SELECT set_config('search_path', 'elsewhere', true)")
            assert connection.execute("SHOW search_path").fetchall() == [("elsewhere",)]
        assert connection.execute("SHOW search_path").fetchall() == [("public",)]
        for elsewhere in (
            "SELECT 1 WHERE pg_cancel_backend(1)",
            "CREATE VIEW does AS SELECT pg_cancel_backend(1)",
        ):
            with pytest.raises(psycopg.errors.UndefinedFunction):
                connection.execute(elsewhere)
        with pytest.raises(psycopg.errors.UndefinedObject):
            connection.execute("SELECT set_config('nothing', '', false)")


def test_a_session_sees_what_it_has_prepared_and_its_cursors(sql_server: SqlServer) -> None:
    with sql_server.connect() as connection, sql_server.connect() as other:
        other.execute("PREPARE others AS SELECT 1")
        connection.execute("PREPARE of (integer) AS SELECT name FROM numbers WHERE n = $1")
        found = connection.execute(
            "SELECT name, statement, parameter_types FROM pg_prepared_statements"
        ).fetchall()
        assert found == [
            ("of", "PREPARE of (integer) AS SELECT name FROM numbers WHERE n = $1", ["integer"])
        ]
        with connection.transaction():
            connection.execute("DECLARE few CURSOR FOR SELECT n FROM numbers")
            assert connection.execute("SELECT name, is_holdable FROM pg_cursors").fetchall() == [
                ("few", False)
            ]
        assert connection.execute("SELECT name FROM pg_cursors").fetchall() == []


def test_names_that_are_no_constants_stand_for_objects(sql_server: SqlServer) -> None:
    """As Metabase asks what its user may do."""
    query = """SELECT has_table_privilege(current_user, '"' || schemaname || '"."' || tablename || '"', 'SELECT'),
        has_schema_privilege(current_user, schemaname, 'CREATE') FROM pg_tables WHERE tablename = 'numbers'"""
    with sql_server.connect() as connection:
        assert connection.execute(query).fetchall() == [(True, True)]
        connection.execute("CREATE ROLE guest LOGIN")
        try:
            with sql_server.connect(user="guest") as guest:
                assert guest.execute(query).fetchall() == [(False, False)]
        finally:
            connection.execute("DROP ROLE guest")


def test_nothing_is_locked_and_relations_are_there_uncounted(sql_server: SqlServer) -> None:
    with sql_server.connect() as connection:
        assert connection.execute("SELECT * FROM pg_locks").fetchall() == []
        found = connection.execute(
            "SELECT relname, n_live_tup FROM pg_stat_user_tables WHERE relname = 'numbers'"
        ).fetchall()
        assert found == [("numbers", 0)]
        assert connection.execute(
            "SELECT numbackends >= 1 FROM pg_stat_database WHERE datname = 'reclock'"
        ).fetchall() == [(True,)]


def test_clients_that_do_not_read_on_cost_no_thread_and_little_memory(
    sql_server: SqlServer,
) -> None:
    """More of them than statements run at the same time, each with a million million rows before
    it."""
    server = psutil.Process(sql_server.pid)
    slow = [sql_server.connect() for _ in range(34)]
    try:
        with sql_server.connect() as reader:
            before = server.memory_info().rss
            for connection in slow:
                connection.pgconn.send_query(
                    b"SELECT a.n, b.name, c.name FROM numbers a, numbers b, numbers c, numbers d"
                )
                connection.pgconn.flush()
            for _ in range(20):
                assert reader.execute("SELECT max(n) FROM numbers").fetchall() == [(1000,)]
            assert server.memory_info().rss - before < len(slow) * SLOW_BYTES
            pids = [connection.info.backend_pid for connection in slow]
            ended = reader.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = ANY (%s)",
                [pids],
            ).fetchall()
            assert ended == [(True,)] * len(slow)
            eventually(
                lambda: (
                    not reader.execute(
                        "SELECT pid FROM pg_stat_activity WHERE pid = ANY (%s)", [pids]
                    ).fetchall()
                )
            )
    finally:
        for connection in slow:
            connection.pgconn.finish()
