"""Sessions over the wire, by the clients people use: psycopg, asyncpg, SQLAlchemy and psql, on a
server of its own process."""

from __future__ import annotations

import asyncio
import io
import subprocess
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import asyncpg
import psycopg
import pytest
import sqlalchemy as sa
from fixtures import forks
from fixtures.postgres import bundled_binaries
from fixtures.server import SqlServer
from psycopg import errors, pq
from psycopg.types.json import Json, Jsonb

from reclock.adapter.context.results import Result
from reclock.cli.output import Format
from reclock.cli.remote import RemoteSession
from reclock.cli.shell import Shell
from reclock.client.server_error import ServerError
from reclock.errors import QueryCanceled

VALUES = (
    "SELECT true, 1::smallint, 2, 3::bigint, 1.5::real, 2.5::double precision, "
    "12.50::numeric(8, 2), 'text', '\\x00ff'::bytea, "
    "'A0EEBC999C0B4EF8BB6D6BB9BD380A11'::uuid, "
    '\'{"b": [1.5, null], "a": "x"}\'::jsonb, '
    "'2020-01-02'::date, '2020-01-02 03:04:05.6'::timestamp, '2020-01-02 "
    "03:04:05+00'::timestamptz, "
    "interval '1 day 2 hours', NULL::integer"
)
AS_PYTHON = (
    True,
    1,
    2,
    3,
    1.5,
    2.5,
    Decimal("12.50"),
    "text",
    b"\0\xff",
    UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    {"a": "x", "b": [1.5, None]},
    date(2020, 1, 2),
    datetime(2020, 1, 2, 3, 4, 5, 600_000),
    datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC),
    timedelta(days=1, hours=2),
    None,
)


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
def test_every_type_arrives(sql_server: SqlServer, binary: bool) -> None:
    with sql_server.connect() as connection, connection.cursor(binary=binary) as cursor:
        assert cursor.execute(VALUES).fetchone() == AS_PYTHON


@pytest.mark.parametrize("format", ["%s", "%b", "%t"])
def test_parameters_take_the_type_of_their_place(sql_server: SqlServer, format: str) -> None:
    with sql_server.connect() as connection:
        query = (
            f"SELECT n, name FROM numbers WHERE n >= {format} AND name LIKE {format} ORDER "
            f"BY n LIMIT {format}"
        )
        assert connection.execute(query, (10, "number 1%", 2)).fetchall() == [
            (10, "number 10"),
            (11, "number 11"),
        ]
        assert connection.execute(
            "SELECT %s::numeric + 1, %s", (Decimal("0.125"), "x")
        ).fetchone() == (Decimal("1.125"), "x")
        with pytest.raises(errors.InvalidTextRepresentation):
            connection.execute("SELECT n FROM numbers WHERE n = %t", ("x",))


@pytest.mark.parametrize("wrapper", [Json, Jsonb])
@pytest.mark.parametrize("format", ["%t", "%b"])
def test_documents_are_parameters(sql_server: SqlServer, wrapper: type, format: str) -> None:
    with sql_server.connect() as connection:
        document = {"key": [1, {"a": None}], "price": 2.50}
        query = f"SELECT d, d ->> 'price' FROM (SELECT {format} AS d) AS q"
        assert connection.execute(query, (wrapper(document),)).fetchone() == (document, "2.5")
        with pytest.raises(
            errors.InvalidTextRepresentation, match="invalid input syntax for type json"
        ):
            connection.execute("SELECT %t::jsonb", ("{",))


def test_prepared_statements_pipelines_and_blocks(sql_server: SqlServer) -> None:
    with sql_server.connect(autocommit=False) as connection:
        for n in range(1, 12):
            assert connection.execute(
                "SELECT name FROM numbers WHERE n = %s", (n,), prepare=True
            ).fetchone() == (f"number {n}",)
        with connection.pipeline():
            cursors = [
                connection.execute("SELECT n FROM numbers WHERE n = %s", (n,)) for n in (5, 6)
            ]
        assert [cursor.fetchone() for cursor in cursors] == [(5,), (6,)]
        with pytest.raises(errors.DivisionByZero):
            connection.execute("SELECT 1 / 0")
        with pytest.raises(errors.InFailedSqlTransaction):
            connection.execute("SELECT 1")
        connection.rollback()
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_rows_without_columns_are_rows(sql_server: SqlServer) -> None:
    with sql_server.connect() as connection:
        assert connection.execute("SELECT").statusmessage == "SELECT 1"
        assert connection.execute("SELECT FROM numbers").statusmessage == "SELECT 1000"
        with connection.cursor().copy("COPY (SELECT FROM numbers LIMIT 3) TO STDOUT") as copy:
            assert b"".join(copy) == b"\n\n\n"


def test_an_error_in_a_pipeline_skips_to_its_end(sql_server: SqlServer) -> None:
    with sql_server.connect() as connection:
        with pytest.raises(errors.UndefinedColumn), connection.pipeline():  # noqa: PT012
            connection.execute("SELECT nothing FROM numbers")
            connection.execute("INSERT INTO numbers VALUES (0, 'never')")
        assert connection.execute("SELECT count(*) FROM numbers").fetchone() == (1000,)
        assert connection.execute("SELECT 2").fetchone() == (2,)


def test_a_pipeline_is_one_transaction_up_to_its_synchronisation(
    new_server, tmp_path: Path
) -> None:
    """What was sent before a Sync is committed there, together or not at all; a definition ends the
    transaction before it."""
    server = new_server(tmp_path)
    with server.connect() as connection, server.connect() as other:
        connection.execute("CREATE TABLE t (n integer)")

        def seen() -> list[int]:
            return [n for (n,) in other.execute("SELECT n FROM t ORDER BY n")]

        with connection.pipeline() as pipeline:
            connection.execute("INSERT INTO t VALUES (1)")
            inserted = connection.execute("INSERT INTO t VALUES (2) RETURNING n")
            connection.pgconn.send_flush_request()
            assert inserted.fetchone() == (2,)
            assert seen() == []
            pipeline.sync()
            assert seen() == [1, 2]
            connection.execute("INSERT INTO t VALUES (3)")
            connection.execute("CREATE TABLE u (n integer)")
            connection.execute("INSERT INTO t VALUES (4)")
            with pytest.raises(errors.DivisionByZero):
                connection.execute("SELECT 1 / (n - n) FROM t").fetchall()
        assert seen() == [1, 2, 3]
        assert connection.info.transaction_status == pq.TransactionStatus.IDLE
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO t VALUES (%s)", [(n,) for n in range(10, 110)])
        assert seen()[3:] == list(range(10, 110))


def test_errors_carry_state_position_and_hint(sql_server: SqlServer) -> None:
    with sql_server.connect() as connection:
        with pytest.raises(errors.SyntaxError) as syntax:
            connection.execute("SELECT 1; SELEC 2")
        assert syntax.value.diag.statement_position == "11"
        with pytest.raises(errors.UndefinedTable) as unknown:
            connection.execute("SELECT * FROM nubmers")
        assert "numbers" in unknown.value.diag.message_hint


def test_portals_and_cursors_give_rows_in_portions(sql_server: SqlServer) -> None:
    with sql_server.connect(autocommit=False) as connection:
        with connection.cursor("portion") as cursor:
            cursor.itersize = 300
            cursor.execute("SELECT n FROM numbers WHERE n > %s ORDER BY n", (100,))
            assert [n for (n,) in cursor] == list(range(101, 1001))
        connection.execute("DECLARE few CURSOR FOR SELECT n FROM numbers ORDER BY n")
        assert connection.execute("FETCH 2 FROM few").fetchall() == [(1,), (2,)]
        assert connection.execute("FETCH FORWARD 3 FROM few").fetchall() == [(3,), (4,), (5,)]
        connection.commit()
        with pytest.raises(errors.InvalidCursorName):
            connection.execute("FETCH 1 FROM few")


def test_statements_prepared_in_sql(sql_server: SqlServer) -> None:
    with sql_server.connect() as connection:
        connection.execute("PREPARE of (integer) AS SELECT name FROM numbers WHERE n = $1 LIMIT $2")
        assert connection.execute("EXECUTE of(7, 1)").fetchall() == [("number 7",)]
        with pytest.raises(errors.DuplicatePreparedStatement):
            connection.execute("PREPARE of AS SELECT 1")
        connection.execute("DISCARD ALL")
        with pytest.raises(errors.InvalidSqlStatementName):
            connection.execute("EXECUTE of(7, 1)")
        with pytest.raises(errors.NoActiveSqlTransaction):
            connection.execute("DECLARE c CURSOR FOR SELECT 1")


def test_copy(sql_server: SqlServer) -> None:
    with sql_server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE copied (n integer NOT NULL, name text)")
        with cursor.copy("COPY copied FROM STDIN") as copy:
            copy.write_row((1, "one\ttab"))
            copy.write_row((2, None))
        assert cursor.rowcount == 2
        with cursor.copy("COPY (SELECT * FROM copied ORDER BY n) TO STDOUT") as copy:
            assert list(copy.rows()) == [("1", "one\ttab"), ("2", None)]
        with pytest.raises(errors.NotNullViolation), cursor.copy("COPY copied FROM STDIN") as copy:  # noqa: PT012
            copy.write_row((3, "three"))
            copy.write_row((None, "none"))
        with (  # noqa: PT012
            pytest.raises(RuntimeError, match="gives up"),
            cursor.copy("COPY copied FROM STDIN") as copy,
        ):
            copy.write_row((4, "four"))
            raise RuntimeError("the client gives up")
        assert connection.execute("SELECT count(*) FROM copied").fetchone() == (2,)


def test_asyncpg(sql_server: SqlServer) -> None:
    async def use() -> None:
        connection = await asyncpg.connect(
            host="127.0.0.1", port=sql_server.port, user="reclock", database="reclock"
        )
        assert [
            tuple(row)
            for row in await connection.fetch("SELECT n FROM numbers WHERE n < $1 ORDER BY n", 3)
        ] == [(1,), (2,)]
        async with connection.transaction():
            assert await connection.fetchval(
                "SELECT $1::numeric(8, 2)", Decimal("1.25")
            ) == Decimal("1.25")
        await connection.close()

    asyncio.run(use())


def test_sqlalchemy(sql_server: SqlServer) -> None:
    engine = sa.create_engine(
        f"postgresql+psycopg://reclock@127.0.0.1:{sql_server.port}/reclock", use_native_hstore=False
    )
    numbers = sa.table("numbers", sa.column("n", sa.Integer), sa.column("name", sa.Text))
    with engine.begin() as connection:
        tables = (
            connection.execute(
                sa.select(numbers.c.name).where(numbers.c.n > 998).order_by(numbers.c.n).limit(5)
            )
            .scalars()
            .all()
        )
    engine.dispose()
    assert tables == ["number 999", "number 1000"]


def test_psql(sql_server: SqlServer) -> None:
    psql = bundled_binaries() / "psql"
    text = "SELECT n, name FROM numbers WHERE n = 3; SHOW server_version;"
    process = subprocess.run(
        [psql, "-X", "-A", "-t", sql_server.dsn(), "-c", text],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (process.stdout, process.stderr) == ("3|number 3\n16.0\n", "")


def test_refused_connections(sql_server: SqlServer) -> None:
    for more, message in (
        ({"user": "ghost", "password": "x"}, 'password authentication failed for user "ghost"'),
        ({"dbname": "nowhere"}, 'database "nowhere" does not exist'),
        ({"options": "-c nothing=1"}, 'unrecognized configuration parameter "nothing"'),
        ({"options": "-c cluster"}, "invalid command-line argument"),
        ({"replication": "database"}, "replication is not supported"),
        ({"sslmode": "require"}, "server does not support SSL"),
    ):
        with pytest.raises(psycopg.OperationalError, match=message):
            sql_server.connect(more)


def test_start_up_parameters_are_variables(sql_server: SqlServer) -> None:
    with sql_server.connect(
        options="-c statement_timeout=1234 --search_path=other", application_name="me"
    ) as connection:
        assert connection.execute("SHOW statement_timeout").fetchone() == ("1234ms",)
        assert connection.execute("SHOW search_path").fetchone() == ("other",)
        assert connection.info.parameter_status("application_name") == "me"
        connection.execute("SET application_name = 'you'")
        assert connection.info.parameter_status("application_name") == "you"


def test_killed_and_started_again(new_server: Callable[..., SqlServer], tmp_path: Path) -> None:
    server = new_server(tmp_path)
    with server.connect() as connection:
        connection.execute("CREATE TABLE t (n integer)")
        connection.execute("INSERT INTO t VALUES (1)")
        server.kill()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    with new_server(tmp_path).connect() as connection:
        assert connection.execute("SELECT n FROM t").fetchall() == [(1,)]


def test_a_stop_tells_clients_and_ends_what_runs(
    new_server: Callable[..., SqlServer], tmp_path: Path
) -> None:
    server = new_server(tmp_path)
    with server.connect() as idle:
        assert server.stop() == 0
        with pytest.raises(errors.AdminShutdown):
            idle.execute("SELECT 1")
    assert "Traceback" not in server.log()


def test_limits(new_server: Callable[..., SqlServer], tmp_path: Path) -> None:
    server = new_server(tmp_path, RECLOCK_MAX_CONNECTIONS="2", RECLOCK_MAX_MESSAGE_BYTES="100000")
    first, second = server.connect(), server.connect()
    with pytest.raises(psycopg.OperationalError, match="too many clients already"):
        server.connect()
    with pytest.raises(psycopg.OperationalError, match="too long"):
        first.execute(f"SELECT '{'x' * 100_000}'")
    assert second.execute("SELECT 1").fetchone() == (1,)
    with server.connect() as third:
        assert third.execute("SELECT 1").fetchone() == (1,)


def test_the_shell_over_a_server(sql_server: SqlServer) -> None:
    url = f"postgresql://reclock@127.0.0.1:{sql_server.port}/reclock"
    query = "SELECT n, name FROM numbers WHERE n = 4; SELECT 1 AS one"
    done = forks.completed("sql", "--url", url, "--format", "json", "-c", query)
    assert done.stdout.splitlines() == ['{"n": 4, "name": "number 4"}', '{"one": 1}'], done.stderr
    failed = forks.completed("sql", "--url", url, "-c", "SELECT nothing")
    assert failed.returncode == 1
    assert 'ERROR:  42703: column "nothing" does not exist' in failed.stderr


def test_clients_of_materialize_connect_and_read_its_version(sql_server: SqlServer) -> None:
    """As dbt-materialize does, with the variables that it sets."""
    options = (
        "--auto_route_catalog_queries=on --welcome_message=off "
        "--current_object_missing_warnings=off"
    )
    with sql_server.connect(options=options) as connection:
        assert connection.info.parameter_status("mz_version") == "v0.68.0"
    with pytest.raises(psycopg.OperationalError, match="auto_route_catalog_queries"):
        sql_server.connect(options="--auto_route_catalog_queries=off")


def test_the_shell_takes_results_and_data_of_a_server_in_portions(
    sql_server: SqlServer,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
    tmp_path: Path,
) -> None:
    """Rows are passed on as they arrive; an error ends them, and the session goes on. Data of COPY
    is transferred as by this process."""
    url = f"postgresql://reclock@127.0.0.1:{sql_server.port}/reclock"
    with RemoteSession(url, lambda message: None) as session:
        list(session.execute("CREATE TABLE completed (amount int)"))
        assert "completed" in session.relation_names()
        assert session.column_names(["completed"]) == ["amount"]
        result = next(session.execute("SELECT * FROM generate_series(1, 5000000)"))
        assert isinstance(result, Result)
        first = next(iter(result.batches))
        assert 0 < first.num_rows <= 8192
        session.cancel()
        late: list[int] = []
        with pytest.raises(ServerError) as cancelled:
            late.extend(batch.num_rows for batch in result.batches)
        assert cancelled.value.sqlstate == "57014"
        assert not late  # rows on their way would be printed for seconds

        result = next(session.execute("SELECT * FROM generate_series(1, 10000)"))
        assert isinstance(result, Result)
        next(iter(result.batches))
        session.cancel()  # all rows may have been sent before it arrives
        with pytest.raises((ServerError, QueryCanceled)):
            late.extend(batch.num_rows for batch in result.batches)
        assert not late

        shell = Shell(session, Format.CSV, timing=False)
        assert shell.run("CREATE TABLE carried (n integer, name text); SELECT 1 AS one")
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"1\tone\n2\t\\N\n")))
        assert shell.run("COPY carried FROM STDIN")
        assert shell.run("COPY (SELECT * FROM carried ORDER BY n) TO STDOUT; SELECT 2 AS two")
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"none\tone\n")))
        assert not shell.run("COPY carried FROM STDIN")
        assert shell.run("SELECT count(*) AS rows FROM carried")
        shell.output = Format.TABLE
        assert shell.meta(rf"\copy (SELECT * FROM carried ORDER BY n) to {tmp_path}/carried")
        assert shell.meta(rf"\copy carried from {tmp_path}/carried")
        assert (tmp_path / "carried").read_bytes() == b"1\tone\n2\t\\N\n"
    printed = capfdbinary.readouterr()
    assert printed.out == b"one\n1\n1\tone\n2\t\\N\ntwo\n2\nrows\n2\nCOPY 2\nCOPY 2\n"
    assert printed.err.startswith(b"ERROR:  22P02: ")
