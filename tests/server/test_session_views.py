"""Plain views with functions about the session have the answers of the session that reads them."""

from __future__ import annotations

import time

import psycopg
import pytest
from fixtures.server import SqlServer
from fixtures.side_by_side import assert_same_answers

SCRIPT = """
    CREATE TABLE visits (id int, at timestamptz, host text);
    INSERT INTO visits VALUES (1, now(), 'a'), (2, now() - interval '8 days', 'a'), (3, now() + interval '1 day', 'b');
    CREATE VIEW recent AS SELECT id, host, now() - at < interval '1 hour' AS is_new FROM visits
        WHERE at > now() - interval '7 days';
    CREATE VIEW hosts AS SELECT host, count(*) AS n, bool_and(is_new) AS are_new FROM recent GROUP BY host;
    SELECT * FROM recent ORDER BY id;
    SELECT * FROM hosts JOIN recent USING (host) ORDER BY id;
    SELECT (SELECT max(n) FROM hosts h WHERE h.host = v.host), id FROM visits v ORDER BY id;
    CREATE VIEW moments AS SELECT now() AS at, current_date AS day, localtimestamp AS local, localtime AS time;
    SELECT at = now(), day = current_date, local = localtimestamp, time = localtime FROM moments;
    SELECT count(*) FROM visits WHERE id = 1 AND at::date = current_date;
    CREATE VIEW today AS SELECT id FROM visits WHERE at::date = current_date;
    SELECT * FROM today;
    SET timezone = 'Asia/Tokyo';
    SELECT * FROM today;
    SELECT at = now() FROM moments;
    CREATE VIEW settings AS SELECT current_setting('timezone') AS zone, current_setting('application_name') AS name;
    SET application_name = 'first';
    SELECT * FROM settings;
    SET application_name = 'second';
    SELECT * FROM settings;
    PREPARE named AS SELECT name FROM settings;
    EXECUTE named;
    SET application_name = 'third';
    EXECUTE named;
    CREATE TABLE copied AS SELECT * FROM recent;
    INSERT INTO copied SELECT * FROM recent WHERE id > 1;
    SELECT * FROM copied ORDER BY id;
    UPDATE visits SET host = 'c' FROM hosts WHERE hosts.host = visits.host AND n = 1 AND id = 1;
    DELETE FROM visits USING recent WHERE recent.id = visits.id AND NOT recent.is_new;
    SELECT id, host FROM visits ORDER BY id;
    CREATE VIEW random_ones AS SELECT random() < 1 AS a, gen_random_uuid() IS NOT NULL AS b;
    SELECT * FROM random_ones;
    CREATE OR REPLACE VIEW recent AS SELECT id, host, now() IS NULL AS is_new FROM visits;
    SELECT * FROM hosts ORDER BY host;
    DROP VIEW recent;
    DROP VIEW recent CASCADE;
    SELECT * FROM hosts
"""


def test_a_view_has_the_answers_of_the_session_that_reads_it(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    assert_same_answers(ours, theirs, SCRIPT, messages=(), details=())


def test_each_statement_and_each_block_has_its_time(ours: psycopg.Connection) -> None:
    ours.execute("CREATE VIEW clock AS SELECT now() AS at")

    def read() -> object:
        time.sleep(0.002)
        return ours.execute("SELECT at, now() FROM clock", prepare=True).fetchone()

    first, second = read(), read()
    assert first != second
    with ours.transaction():
        inside = read()
        assert inside == read()
        assert isinstance(inside, tuple)
        assert inside[0] == inside[1]


def test_local_times_are_those_of_the_zone_of_the_view(ours: psycopg.Connection) -> None:
    ours.execute("SET timezone = 'Pacific/Kiritimati'")
    ours.execute("CREATE VIEW here AS SELECT current_date AS day, localtimestamp AS local")
    ours.execute("SET timezone = 'Pacific/Pago_Pago'")
    [row] = ours.execute(
        "SELECT day = current_date, local = now() AT TIME ZONE 'Pacific/Kiritimati' FROM here"
    )
    assert row == (False, True)


def test_a_reader_of_the_view_needs_no_privilege_on_what_it_reads(sql_server: SqlServer) -> None:
    with sql_server.connect() as root:
        root.execute("CREATE ROLE reader LOGIN")
        root.execute("CREATE TABLE accounts (owner text, amount int)")
        root.execute("INSERT INTO accounts VALUES ('reader', 1), ('reclock', 2)")
        root.execute("CREATE VIEW mine AS SELECT amount FROM accounts WHERE owner = current_user")
        root.execute("GRANT SELECT ON mine TO reader")
        assert root.execute("SELECT * FROM mine").fetchall() == [(2,)]
        with sql_server.connect(user="reader") as reader:
            assert reader.execute("SELECT * FROM mine").fetchall() == [(1,)]
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                reader.execute("SELECT * FROM accounts")
        root.execute("REVOKE SELECT ON mine FROM reader")
        with sql_server.connect(user="reader") as reader:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                reader.execute("SELECT * FROM mine")
        root.execute("DROP VIEW mine")
        root.execute("DROP TABLE accounts")
        root.execute("REVOKE ALL ON SCHEMA public FROM reader")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE INDEX ON asking (a)",
        "CREATE MATERIALIZED VIEW m AS SELECT * FROM over_asking",
        "CREATE SINK k FROM asking INTO DELTA 'asking'",
        "CREATE OR REPLACE VIEW plain AS SELECT 1 AS a, now() AS at",
        # the row that goes would have another value than the row that came
        "SUBSCRIBE (SELECT a, random() FROM plain)",
        "SUBSCRIBE (SELECT * FROM plain TABLESAMPLE BERNOULLI (50))",
    ],
)
def test_what_all_read_cannot_depend_on_the_session(
    ours: psycopg.Connection, statement: str
) -> None:
    ours.execute("CREATE VIEW plain AS SELECT 1 AS a, NULL::timestamptz AS at")
    ours.execute("CREATE MATERIALIZED VIEW kept AS SELECT a FROM plain WHERE at IS NULL")
    ours.execute("CREATE VIEW asking AS SELECT 1 AS a, current_date AS day")
    ours.execute("CREATE VIEW over_asking AS SELECT a FROM asking WHERE day > '2000-01-01'")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="where changes are followed"):
        ours.execute(statement)
