"""Sessions in a time zone of their own, beside those of PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
import pytest
from fixtures.server import SqlServer
from fixtures.side_by_side import assert_same_answers
from psycopg.types.string import TextLoader


@pytest.fixture
def both(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> tuple[psycopg.Connection, psycopg.Connection]:
    """Moments arrive as the texts that the servers send."""
    for connection in (ours, theirs):
        connection.adapters.register_loader("timestamptz", TextLoader)
        connection.execute("SET TimeZone = 'UTC'")
    return ours, theirs


Both = tuple[psycopg.Connection, psycopg.Connection]


def test_a_session_reads_and_writes_moments_in_its_zone(both: Both) -> None:
    assert_same_answers(
        *both,
        """
        CREATE TABLE m (n int, at timestamptz, l timestamp, d date);
        SET TIME ZONE 'america/los_angeles';
        SELECT current_setting('TimeZone');
        INSERT INTO m VALUES (1, '2022-01-01', '2022-01-01', '2022-01-01'), (2, NULL, NULL, NULL);
        INSERT INTO m VALUES (3, timestamp '2022-07-01 12:00', '2022-07-01 12:00+00', '2022-07-01');
        SELECT * FROM m ORDER BY n;
        UPDATE m SET at = l, l = at WHERE n = 3;
        UPDATE m SET d = at WHERE n = 1 RETURNING *;
        SELECT * FROM m ORDER BY n;
        DELETE FROM m WHERE at = '2022-01-01' RETURNING n, at;
        SELECT now()::date = current_date, now()::timestamp = localtimestamp, now()::time = localtime;
        PREPARE p (timestamptz) AS SELECT $1, $1::date;
        EXECUTE p('2022-01-01');
        EXECUTE p('2022-01-01 00:00Z');
        SET TIME ZONE 'Europe/Berlin';
        EXECUTE p('2022-01-01');
        SELECT * FROM m ORDER BY n;
        BEGIN;
        SET LOCAL TimeZone = 'Asia/Kolkata';
        SELECT at, at::text FROM m ORDER BY n;
        DECLARE c CURSOR FOR SELECT at::date FROM m ORDER BY n;
        FETCH ALL FROM c;
        ROLLBACK;
        SELECT at, at::text FROM m ORDER BY n;
        SET TIME ZONE LOCAL;
        SET TIME ZONE -7;
        SELECT timestamptz '2022-01-01';
        SET TIME ZONE INTERVAL '-08:00' HOUR TO MINUTE;
        SELECT timestamptz '2022-01-01 00:00Z';
        SET TIME ZONE INTERVAL '3' HOUR;
        SELECT timestamptz '2022-01-01 00:00Z';
        SET TIME ZONE INTERVAL '1 month';
        SET TIME ZONE INTERVAL '1 day';
        SET TIME ZONE INTERVAL 'x' HOUR TO MINUTE;
        SET TIME ZONE DEFAULT;
        SET TIME ZONE '+02:00';
        SELECT timestamptz '2022-01-01 00:00Z';
        SET TIME ZONE 'UTC-3';
        SELECT timestamptz '2022-01-01 00:00Z';
        SET TIME ZONE 'nowhere';
        RESET TIME ZONE;
        DROP TABLE m
        """,
        messages=(),
    )


def test_a_session_in_a_zone_that_is_called_as_its_winter_time_has_summer_time(both: Both) -> None:
    assert_same_answers(
        *both,
        """
        SET TIME ZONE 'CET';
        SELECT timestamptz '2022-07-01 12:00', timestamptz '2022-01-01 12:00';
        SELECT timestamp '2022-07-01 12:00' AT TIME ZONE 'CET', timestamptz '2022-07-01 12:00 CET';
        SELECT tstzrange('2022-07-01', '2022-07-02 12:00+00'), '{"[2022-07-01,)"}'::tstzrange[];
        SET TIME ZONE 'eet';
        SELECT timestamptz '2022-07-01 12:00', date_trunc('day', timestamptz '2022-07-01 12:00+00');
        SET TIME ZONE 'WET';
        SELECT timestamptz '2022-07-01 12:00';
        SET TIME ZONE 'MST';
        SELECT timestamptz '2022-07-01 12:00';
        SET TIME ZONE 'PST';
        SET TIME ZONE 'CEST';
        SET TIME ZONE 'UTC'
        """,
        messages=(),
    )


def test_copy_and_parameters_are_in_the_zone_of_the_session(both: Both) -> None:
    lines, rows = [], []
    for connection in both:
        connection.execute("CREATE TABLE m (n int, at timestamptz)")
        connection.execute("SET TimeZone = 'Asia/Kolkata'")
        with connection.cursor() as cursor:
            with cursor.copy("COPY m FROM STDIN") as into:
                into.write("1\t2022-01-01 00:00:00\n2\t2022-01-01 00:00:00+00\n3\t\\N\n")
            with cursor.copy("COPY m FROM STDIN WITH (FORMAT csv)") as into:
                into.write('4,"Jan 8 1999 04:05"\n')
            cursor.executemany(
                "INSERT INTO m VALUES (%s, %s::text::timestamptz)", [(5, "2022-02-01")]
            )
            cursor.execute("INSERT INTO m VALUES (6, %s)", ["2022-03-01"])
            cursor.executemany("INSERT INTO m VALUES (%s, %s)", [(7, "2022-04-01"), (8, None)])
            with cursor.copy(
                "COPY (SELECT * FROM m ORDER BY n) TO STDOUT WITH (FORMAT csv)"
            ) as out:
                lines.append(b"".join(map(bytes, out)).decode())
        rows.append(connection.execute("SELECT at, at::text FROM m ORDER BY n").fetchall())
    assert lines[0] == lines[1]
    assert rows[0] == rows[1]


@pytest.fixture
def sessions(sql_server: SqlServer) -> Iterator[tuple[psycopg.Connection, psycopg.Connection]]:
    """One abroad and one in UTC."""
    with ExitStack() as stack:
        abroad = stack.enter_context(sql_server.connect(options="-c TimeZone=Europe/Berlin"))
        yield abroad, stack.enter_context(sql_server.connect())


def test_a_view_keeps_the_zone_in_which_it_was_made(
    sessions: tuple[psycopg.Connection, psycopg.Connection],
) -> None:
    abroad, at_home = sessions
    assert abroad.info.parameter_status("TimeZone") == "Europe/Berlin"
    abroad.execute("CREATE TABLE visits (at timestamptz)")
    abroad.execute("INSERT INTO visits VALUES ('2022-01-01 00:30'), ('2022-01-01 12:00')")
    abroad.execute(
        "CREATE MATERIALIZED VIEW by_day AS SELECT at::date, count(*) FROM visits GROUP BY 1"
    )
    abroad.execute("CREATE VIEW in_utc AS SELECT at, (at AT TIME ZONE 'UTC')::date FROM visits")
    at_home.execute("CREATE VIEW at_home AS SELECT at::date, count(*) FROM visits GROUP BY 1")
    at_home.execute(
        "CREATE VIEW in_tokyo IN TIME ZONE 'asia/tokyo' AS SELECT date_trunc('day', at) FROM visits"
    )
    for query in (
        "SELECT at::text, count FROM by_day",
        "SELECT at::text, count FROM at_home ORDER BY 1",
        "SELECT date_trunc AT TIME ZONE 'Asia/Tokyo' FROM in_tokyo ORDER BY 1",
    ):
        assert abroad.execute(query).fetchall() == at_home.execute(query).fetchall()
    assert at_home.execute("SELECT at::text, count FROM by_day").fetchall() == [("2022-01-01", 2)]
    assert len(at_home.execute("SELECT * FROM at_home").fetchall()) == 2

    def definition(view: str) -> str:
        [row] = at_home.execute(f"SHOW CREATE VIEW {view}").fetchall()
        return str(row[1])

    assert "by_day IN TIME ZONE 'Europe/Berlin' AS" in definition("by_day")
    assert "in_tokyo IN TIME ZONE 'Asia/Tokyo' AS" in definition("in_tokyo")
    assert "TIME ZONE 'UTC')" in definition("in_utc")
    assert " IN TIME ZONE" not in definition("in_utc") + definition("at_home")
    # a definition that is written again keeps it
    at_home.execute("ALTER TABLE visits RENAME TO calls")
    assert "IN TIME ZONE 'Europe/Berlin'" in definition("by_day")
    abroad.execute("INSERT INTO calls VALUES ('2022-01-02 00:30')")
    assert at_home.execute("SELECT at::text, count FROM by_day ORDER BY 1").fetchall() == [
        ("2022-01-01", 2),
        ("2022-01-02", 1),
    ]
    with pytest.raises(
        psycopg.errors.InvalidParameterValue, match='time zone "mars" not recognized'
    ):
        at_home.execute("CREATE VIEW v IN TIME ZONE 'mars' AS SELECT 1")


def test_other_definitions_mean_the_same_in_every_zone(
    sessions: tuple[psycopg.Connection, psycopg.Connection],
) -> None:
    abroad, at_home = sessions
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="time zone") as refused:
        abroad.execute("CREATE TABLE t (at timestamptz CHECK (at > '2022-01-01'))")
    assert "SET TIME ZONE 'UTC'" in (refused.value.diag.message_hint or "")
    at_home.execute(
        "CREATE TABLE t (n int, at timestamptz DEFAULT '2022-01-01', CHECK (at < '2024-01-01'))"
    )
    abroad.execute("INSERT INTO t (n) VALUES (1)")
    abroad.execute("INSERT INTO t VALUES (2, DEFAULT), (3, '2024-01-01')")
    abroad.execute("UPDATE t SET at = DEFAULT WHERE n = 3")
    abroad.execute(
        "MERGE INTO t USING (VALUES (4)) AS s(n) ON t.n = s.n WHEN NOT MATCHED THEN INSERT VALUES (s.n, DEFAULT)"
    )
    moments = abroad.execute("SELECT DISTINCT at::text FROM t").fetchall()
    assert moments == [("2022-01-01 01:00:00+01",)]
    with pytest.raises(psycopg.errors.CheckViolation):
        abroad.execute("INSERT INTO t VALUES (5, '2024-01-01 01:00')")
