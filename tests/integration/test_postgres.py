"""Publications of a real server: transactions whole and at one time, from a consistent beginning;
what cannot be had is said."""

from __future__ import annotations

import threading
from datetime import UTC, date, datetime
from decimal import Decimal

import psycopg
import pytest
from fixtures.postgres import PASSWORD
from fixtures.publications import Lakehouse, Upstream

from reclock.algebra.intervals import Interval
from reclock.errors import ErrorAtTime, InvalidOption, OutputFailed, UpstreamUnavailable


def test_transactions_over_two_tables_are_never_split(upstream: Upstream, here: Lakehouse) -> None:
    """Money moves between the tables, before, while and after they are copied; at every time of the
    source the sum is the same."""
    upstream.table("left_ (id int PRIMARY KEY, amount int NOT NULL)")
    upstream.table("right_ (id int PRIMARY KEY, amount int NOT NULL)")
    upstream.run(
        "INSERT INTO left_ SELECT i, 100 FROM generate_series(1, 50) i",
        "INSERT INTO right_ SELECT * FROM left_",
    )
    here.create(upstream, "FOR TABLES (left_ AS a, right_ AS b)")
    over = threading.Event()

    def move() -> None:
        with psycopg.connect(upstream.connection) as connection:
            n = 0
            while not over.is_set():
                n += 1
                connection.execute(
                    "UPDATE left_ SET amount = amount - %s WHERE id = %s", [n % 7, n % 50 + 1]
                )
                connection.execute(
                    "UPDATE right_ SET amount = amount + %s WHERE id = %s", [n % 7, n % 50 + 1]
                )
                connection.commit()

    writer = threading.Thread(target=move)
    writer.start()
    try:
        for _ in range(5):
            assert here.tick() == []
    finally:
        over.set()
        writer.join()
    assert here.tick() == []
    times = [at for (at,) in here.sql("SELECT DISTINCT mz_timestamp FROM pg_progress")]
    bound = here.environment.stores.frontiers.get_all()
    [upper] = {frontier.upper for frontier in bound.values()}
    [first] = [frontier.since for frontier in bound.values()]
    checked = 0
    for at in sorted({*times, *range(first, upper, max(1, (upper - first) // 40)), upper - 1}):
        [(left, right)] = here.sql(
            f"SELECT (SELECT sum(amount) FROM a), (SELECT sum(amount) FROM b) AS OF {at}"
        )
        if left is not None:
            assert left + right == 10_000
            checked += 1
    assert checked > 3
    assert here.sql("SELECT id, amount FROM a ORDER BY id") == upstream.run(
        "SELECT * FROM left_ ORDER BY id"
    )
    assert here.sql("SELECT id, amount FROM b ORDER BY id") == upstream.run(
        "SELECT * FROM right_ ORDER BY id"
    )


VALUES = {
    "smallint": ("-3", -3),
    "integer": ("7", 7),
    "bigint": ("9223372036854775807", 9223372036854775807),
    "real": ("'-Infinity'", float("-inf")),
    "double precision": ("0.1", 0.1),
    "numeric(12,3)": ("1234.5", Decimal("1234.500")),
    "numeric": ("0.000000001", Decimal("0.000000001")),
    "boolean": ("true", True),
    "text": ("'größe'", "größe"),
    "varchar(5)": ("'a\"b'", 'a"b'),
    "bytea": ("'\\x00ff'", b"\x00\xff"),
    "date": ("'2024-02-29'", date(2024, 2, 29)),
    "timestamp": ("'2024-02-29 12:00:00.000001'", datetime(2024, 2, 29, 12, 0, 0, 1)),
    "timestamptz": ("'2024-02-29 12:00:00+02'", datetime(2024, 2, 29, 10, tzinfo=UTC)),
    "uuid": ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    "jsonb": ("'{\"a\": [1]}'", '{"a": [1]}'),
    "integer[]": ("'{1,NULL,2}'", [1, None, 2]),
    "varchar(9)[]": ("ARRAY['a \"b\"', '']", ['a "b"', ""]),
    "numeric(5,2)[]": ("'{1.5}'", [Decimal("1.50")]),
    "interval": ("'1 mon 1 day 02:00'", Interval(1, 1, 7_200_000_000)._asdict()),
    "interval[]": ("'{1 day}'", '{"1 day"}'),
}


def test_values_of_every_common_type_arrive_as_they_are(
    upstream: Upstream, here: Lakehouse
) -> None:
    """Copied at the beginning, and as changes; NULL too, and a large value that an update did not
    send."""
    upstream.table(
        "v ("
        + ", ".join(f"c{i} {type}" for i, type in enumerate(VALUES))
        + ", large text, list int[])"
    )
    insert = f"INSERT INTO v VALUES ({', '.join(text for text, _ in VALUES.values())}, NULL)"
    for column in ("large", "list"):
        upstream.run(f"ALTER TABLE v ALTER COLUMN {column} SET STORAGE EXTERNAL")
    upstream.run(insert)
    here.create(upstream)
    assert here.tick() == []
    values = tuple(value for _, value in VALUES.values())
    assert here.sql("SELECT * FROM v") == [(*values, None, None)]
    upstream.run(
        insert,
        "INSERT INTO v DEFAULT VALUES",
        "UPDATE v SET large = repeat('x', 100000), list = ARRAY(SELECT generate_series(1, 9999)) "
        "WHERE c1 IS NULL",
    )
    upstream.run("UPDATE v SET c0 = 1 WHERE c1 IS NULL")
    assert here.tick() == []
    changed = (1, *[None] * (len(VALUES) - 1), "x" * 100_000, [*range(1, 10_000)])
    assert sorted(here.sql("SELECT * FROM v"), key=repr) == sorted(
        [(*values, None, None), (*values, None, None), changed], key=repr
    )


def test_changes_that_tell_only_the_key_change_the_row_that_is_there(
    upstream: Upstream, here: Lakehouse
) -> None:
    """Keys that move, are swapped and taken again, in one step and over several; large values that
    are not sent stay."""
    upstream.run(
        "CREATE TABLE t (tenant text, id int, small int, large text, PRIMARY KEY (id, tenant))",
        "ALTER TABLE t ALTER COLUMN large SET STORAGE EXTERNAL",
        "CREATE TABLE u (n numeric NOT NULL, note char(5))",
        "CREATE UNIQUE INDEX by_n ON u (n)",
        "ALTER TABLE u REPLICA IDENTITY USING INDEX by_n",
        "INSERT INTO t SELECT 'a', i, 0, repeat(chr(64 + i), 9000) FROM generate_series(1, 9) i",
        "INSERT INTO u VALUES (1, 'x'), (2, NULL), (3, '')",
    )
    here.create(upstream)
    steps = [
        ["SELECT 1"],
        [
            "UPDATE t SET small = 1 WHERE id < 4",
            "UPDATE u SET note = 'y' WHERE n = 2",
            "DELETE FROM t WHERE id = 9",
        ],
        ["UPDATE t SET id = id + 100 WHERE id IN (1, 2)", "UPDATE t SET small = 2 WHERE id = 101"],
        [
            "UPDATE t SET id = 50 WHERE id = 3",
            "UPDATE t SET id = 3 WHERE id = 4",
            "UPDATE t SET id = 4 WHERE id = 50",
            "UPDATE t SET large = 'new' WHERE id = 4",
            "UPDATE t SET small = 3 WHERE id = 4",
        ],
        [
            "UPDATE t SET id = 60 WHERE id = 5",
            "INSERT INTO t VALUES ('a', 5, 5, repeat('five', 3000))",
            "DELETE FROM u",
        ],
        [
            "UPDATE t SET small = 6 WHERE id = 5",
            "INSERT INTO u VALUES (1, 'z')",
            "DELETE FROM t WHERE id = 60",
        ],
        [
            "DELETE FROM t WHERE id = 5",
            "UPDATE t SET tenant = 'b', id = 5 WHERE id = 6",
            "INSERT INTO t VALUES ('a', 5, 7)",
        ],
        [
            "INSERT INTO t SELECT 'a', i, 0, repeat(chr(i), 9000) FROM generate_series(70, 73) i",
            "UPDATE t SET small = 8 WHERE id IN (70, 71)",
            "INSERT INTO t VALUES ('a', 74, 0, 'x')",
            "DELETE FROM t WHERE id IN (71, 74)",
            "INSERT INTO t SELECT 'b', i, 9, repeat('b', 9000) FROM generate_series(71, 79) i",
            "UPDATE t SET id = 80 WHERE id = 73 AND tenant = 'a'",
            "INSERT INTO t VALUES ('a', 73, 9, 'again')",
            "UPDATE t SET small = 10 WHERE id >= 70",
        ],
    ]
    for number, queries in enumerate(steps):
        for query in queries:  # a transaction each, and every second time all of them in one step
            upstream.run(query)
            assert number % 2 or here.tick() == []
        assert here.tick() == []
        for table in ("t", "u"):
            rows = upstream.run(f"SELECT * FROM {table} ORDER BY 1, 2")
            assert here.sql(f"SELECT * FROM {table} ORDER BY 1, 2") == rows, (number, table)
    [(_, text)] = here.sql("SHOW CREATE SOURCE pg")
    assert text.count("KEY (") == 2


def test_a_truncated_table_is_empty_at_the_time_of_its_transaction(
    upstream: Upstream, here: Lakehouse
) -> None:
    """With those that refer to it; what the transaction and the step put there before is gone too,
    what comes later is there."""
    upstream.table("whole (n int)")
    upstream.run(
        "CREATE TABLE parent (id int PRIMARY KEY, note text)", "CREATE TABLE child (id int PRIMARY KEY REFERENCES parent)",
        "INSERT INTO parent SELECT i, 'n' FROM generate_series(1, 500) i", "INSERT INTO child VALUES (1), (2)",
        "INSERT INTO whole SELECT generate_series(1, 500)",
    )  # fmt: skip
    here.create(upstream)
    assert here.tick() == []
    upstream.run("INSERT INTO whole VALUES (0)", "UPDATE parent SET note = 'changed' WHERE id = 7")
    upstream.run(
        "TRUNCATE whole",
        "INSERT INTO whole VALUES (600)",
        "TRUNCATE parent CASCADE",
        "INSERT INTO parent VALUES (7, 'b')",
    )
    upstream.run("INSERT INTO whole VALUES (7)", "UPDATE parent SET note = 'c' WHERE id = 7")
    assert here.tick() == []
    query = (
        "(SELECT count(*) FROM whole), (SELECT count(*) FROM parent), (SELECT count(*) FROM child)"
    )
    [(at,)] = here.sql("SELECT mz_timestamp FROM pg_progress")
    assert here.sql(f"SELECT {query} AS OF {at - 1}") == [(500, 500, 2)]
    assert here.sql("SELECT n FROM whole ORDER BY n") == [(7,), (600,)]
    assert here.sql("SELECT * FROM parent") == [(7, "c")]
    assert here.sql("SELECT * FROM child") == []
    upstream.run("TRUNCATE whole, parent, child")
    assert here.tick() == []
    assert here.sql(f"SELECT {query}") == [(0, 0, 0)]


def test_a_large_transaction_has_one_time(
    upstream: Upstream, here: Lakehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.table("t (n int)")
    here.create(upstream)
    assert here.tick() == []
    upstream.run(
        "INSERT INTO t SELECT generate_series(1, 60000)", "UPDATE t SET n = n + 1 WHERE n > 50000"
    )
    assert here.tick() == []
    assert here.sql("SELECT count(*), sum(n) FROM t") == upstream.run(
        "SELECT count(*), sum(n) FROM t"
    )
    [(at, lsn)] = here.sql("SELECT mz_timestamp, lsn FROM pg_progress")
    assert here.sql(f"SELECT count(*) FROM t AS OF {at - 1}") == [(0,)]
    assert upstream.slots() == [(upstream.slots()[0][0], lsn)]


def test_rows_of_rolled_back_transactions_never_come(upstream: Upstream, here: Lakehouse) -> None:
    upstream.table("t (n int)")
    here.create(upstream)
    assert here.tick() == []
    with (
        psycopg.connect(upstream.connection) as open_one,
        psycopg.connect(upstream.connection) as rolled_back,
    ):
        open_one.execute("INSERT INTO t VALUES (1)")
        rolled_back.execute("INSERT INTO t VALUES (2)")
        rolled_back.rollback()
        upstream.run("INSERT INTO t VALUES (3)")
        assert here.tick() == []
        assert here.sql("SELECT n FROM t") == [(3,)]
        open_one.commit()
    assert here.tick() == []
    assert here.sql("SELECT n FROM t ORDER BY n") == [(1,), (3,)]


def test_a_table_that_cannot_be_followed_fails_alone(upstream: Upstream, here: Lakehouse) -> None:
    """It is read as it was before, and raises from then on, for good, what stands on it too; the
    others go on."""
    for table in (
        "kept",
        "loses_column",
        "gets_type",
        "gets_identity",
        "left_out",
        "dropped",
        "made_anew",
        "renamed",
        "put_back",
    ):
        upstream.run(
            f"CREATE TABLE {table} (id int PRIMARY KEY, n int)",
            f"INSERT INTO {table} VALUES (1, 1)",
        )
    upstream.run("CREATE SCHEMA other", "ALTER TABLE put_back SET SCHEMA other")
    upstream.run(
        "DROP PUBLICATION p",
        "CREATE PUBLICATION p FOR TABLES IN SCHEMA public, TABLE other.put_back, public.kept",
    )
    here.create(upstream)
    assert here.tick() == []
    here.sql(
        "CREATE VIEW seen AS SELECT sum(n) AS n FROM loses_column; CREATE INDEX lost ON loses_column (id)"
    )
    upstream.run("ALTER TABLE kept ADD COLUMN more int DEFAULT 5", "INSERT INTO kept VALUES (2, 2)")
    assert here.tick() == []
    assert here.sql("SELECT * FROM kept ORDER BY id") == [(1, 1), (2, 2)]
    upstream.run(
        "INSERT INTO loses_column VALUES (2, 2)", "ALTER TABLE loses_column DROP COLUMN n", "INSERT INTO loses_column VALUES (3)",
        "ALTER TABLE gets_type ALTER COLUMN n TYPE numeric", "INSERT INTO gets_type VALUES (2, 2)",
        "ALTER TABLE gets_identity REPLICA IDENTITY FULL", "DELETE FROM gets_identity",
        "DROP TABLE dropped", "DROP TABLE made_anew", "CREATE TABLE made_anew (id int PRIMARY KEY, n int)",
        "ALTER TABLE left_out SET SCHEMA other", "ALTER TABLE renamed RENAME TO other_name", "INSERT INTO kept VALUES (3, 3)",
        "ALTER PUBLICATION p DROP TABLE kept",  # its schema is there still
        "ALTER PUBLICATION p DROP TABLE other.put_back", "INSERT INTO other.put_back VALUES (2, 2)",
        "ALTER PUBLICATION p ADD TABLE other.put_back",
    )  # fmt: skip
    removed = 'is not in publication "p" any more'
    errors = {
        "loses_column": 'column "n" of table "public.loses_column" was dropped or renamed',
        "gets_type": 'column "n" of table "public.gets_type" is no integer any more',
        "gets_identity": 'table "public.gets_identity" no longer tells which row went',
        "left_out": f'table "public.left_out" {removed}',
        "dropped": f'table "public.dropped" {removed}',
        "made_anew": 'table "public.made_anew" is another one of the same name',
        "renamed": f'table "public.renamed" {removed}',
        "put_back": 'table "other.put_back" was taken out of publication "p" and put back',
    }
    index = errors["loses_column"]  # on it, which is told with every tick
    assert sorted(here.tick()) == sorted([*errors.values(), index])
    assert here.tick() == [index]
    [(at,)] = here.sql("SELECT mz_timestamp FROM pg_progress")
    upstream.run(
        "ALTER TABLE loses_column ADD COLUMN n int",
        "INSERT INTO kept VALUES (4, 4)",
        "INSERT INTO loses_column VALUES (9, 9)",
    )
    assert here.tick() == [index]
    assert here.sql("SELECT count(*) FROM kept") == [(4,)]
    for table, error in errors.items():
        assert here.sql(f"SELECT * FROM {table} AS OF {at - 1}") == [(1, 1)]
        for as_of in (f"AS OF {at}", ""):
            # of the table, or of the index on it
            with pytest.raises((OutputFailed, ErrorAtTime)) as found:
                here.sql(f"SELECT * FROM {table} {as_of}")
            assert (found.value.message, found.value.sqlstate) == (error, OutputFailed.sqlstate)
            if isinstance(found.value, OutputFailed):
                assert "ALTER SOURCE reclock.public.pg RESNAPSHOT" in str(found.value.hint)
    with pytest.raises((OutputFailed, ErrorAtTime)):
        here.sql("SELECT * FROM seen")
    stalled = dict(
        here.sql(
            "SELECT name, error FROM mz_source_statuses WHERE status = 'stalled' AND name <> 'lost'"
        )
    )
    assert stalled == errors


def test_of_a_table_is_there_what_the_publication_has(upstream: Upstream, here: Lakehouse) -> None:
    """Of its columns and of its rows, in the copy as in the changes."""
    upstream.run("CREATE TABLE t (id int PRIMARY KEY, n int, x text)")
    upstream.run("INSERT INTO t VALUES (1, 1, 'x'), (2, 20, 'y')")
    upstream.run("ALTER TABLE t REPLICA IDENTITY FULL", "DROP PUBLICATION p")
    upstream.run(
        "CREATE TABLE listed (id int PRIMARY KEY, n int, secret text)",
        "INSERT INTO listed VALUES (1, 1, 'x')",
    )
    upstream.run(
        "CREATE TABLE computed (id int PRIMARY KEY, twice int GENERATED ALWAYS AS (id * 2) STORED)"
    )
    upstream.run(
        "INSERT INTO computed VALUES (1)",
        "CREATE PUBLICATION p FOR TABLE t WHERE (n < 10), listed (id, n), computed",
    )
    here.create(upstream)
    assert here.tick() == []
    assert here.sql("SELECT * FROM t") == [(1, 1, "x")]
    upstream.run(
        "UPDATE t SET n = n + 5",
        "UPDATE t SET n = n - 20 WHERE id = 2",
        "INSERT INTO listed VALUES (2, 2, 'y')",
    )
    upstream.run("INSERT INTO computed VALUES (2)")
    assert here.tick() == []
    assert here.sql("SELECT * FROM t ORDER BY id") == [(1, 6, "x"), (2, 5, "y")]
    upstream.run("UPDATE t SET n = 100 WHERE id = 1")
    assert here.tick() == []
    assert here.sql("SELECT * FROM t") == [(2, 5, "y")]
    assert here.sql("SELECT * FROM listed ORDER BY id") == [(1, 1), (2, 2)]
    assert here.sql("SELECT * FROM computed ORDER BY id") == [(1,), (2,)]


def test_what_cannot_be_a_source_is_refused(upstream: Upstream, here: Lakehouse) -> None:
    def refused(
        connection: str, publication: str, tables: str, error: type[Exception] = InvalidOption
    ) -> str:
        with pytest.raises(error) as raised:
            here.sql(
                f"CREATE SOURCE pg FROM POSTGRES CONNECTION '{connection}' PUBLICATION '{publication}' {tables}"
            )
        return str(raised.value)

    connection_string = upstream.connection
    assert refused(connection_string, "p", "FOR ALL TABLES") == 'publication "p" has no tables'
    upstream.run("CREATE TABLE t (n int)")
    assert refused(connection_string, "p", "FOR ALL TABLES") == (
        'table "public.t" has neither a key nor the replica identity "full"'
    )
    upstream.run("CREATE TABLE u (n int)", "CREATE TABLE keyed (n int PRIMARY KEY)")
    with pytest.raises(InvalidOption) as keyless:
        here.create(upstream)
    assert str(keyless.value) == (
        'tables "public.t", "public.u" have neither a key nor the replica identity "full"'
    )
    assert str(keyless.value.hint).endswith("; or name the other tables: FOR TABLES (…)")
    upstream.run("DROP TABLE u, keyed", "ALTER TABLE t REPLICA IDENTITY FULL")
    assert (
        refused(connection_string, "p", "FOR TABLES (s.t)")
        == 'table "s.t" is not in the publication'
    )
    assert refused(connection_string, "q", "FOR ALL TABLES") == 'publication "q" does not exist'
    upstream.run("CREATE PUBLICATION half FOR TABLE t WITH (publish = 'insert, update')")
    assert (
        refused(connection_string, "half", "FOR ALL TABLES")
        == 'publication "half" does not tell of every delete and truncate'
    )
    assert "several tables" in refused(connection_string, "p", "")
    assert "password" in refused(f"{connection_string} password=secret", "p", "FOR ALL TABLES")
    assert "libpq" in refused("what=is this", "p", "FOR ALL TABLES")
    refused("host=127.0.0.1 port=1", "p", "FOR ALL TABLES", UpstreamUnavailable)
    assert here.sql("SHOW SOURCES") == []
    assert upstream.slots() == []


def test_a_connection_has_the_password_from_a_secret(upstream: Upstream, here: Lakehouse) -> None:
    upstream.table("t (id int)")
    upstream.run("INSERT INTO t VALUES (1)")
    place = f"HOST '127.0.0.1', PORT {upstream.server.port}, DATABASE '{upstream.database}', USER 'postgres'"
    here.sql(f"CREATE SECRET word AS '{PASSWORD}'; CREATE SECRET wrong AS 'no'")
    with pytest.raises(UpstreamUnavailable, match="cannot reach the server"):
        here.sql(f"CREATE CONNECTION pg_server TO POSTGRES ({place}, PASSWORD SECRET wrong)")
    here.sql(
        f"CREATE CONNECTION pg_server TO POSTGRES ({place}, PASSWORD SECRET word); VALIDATE CONNECTION pg_server"
    )
    here.sql("CREATE SOURCE pg FROM POSTGRES CONNECTION pg_server (PUBLICATION 'p') FOR ALL TABLES")
    assert here.tick() == []
    upstream.run("INSERT INTO t VALUES (2)")
    assert here.tick() == []
    assert here.sql("SELECT * FROM t ORDER BY 1") == [(1,), (2,)]
    [(_, text)] = here.sql("SHOW CREATE SOURCE pg")
    assert "CONNECTION reclock.public.pg_server (PUBLICATION 'p', SLOT 'reclock_" in text
    here.sql("DROP SOURCE pg")
    assert upstream.slots() == []


def test_a_transaction_that_began_before_what_is_bound_is_published_when_it_commits(
    upstream: Upstream, here: Lakehouse
) -> None:
    """Its changes lie in the log before the bound LSN, and only its commit record behind: the audit
    counts changes, not bytes."""
    upstream.table("t (n int)")
    here.create(upstream)
    assert here.tick() == []
    with psycopg.connect(upstream.connection) as long:
        long.execute("INSERT INTO t SELECT generate_series(1, 2000)")
        long.execute("UPDATE t SET n = n + 1 WHERE n > 1000")
        upstream.run("INSERT INTO t VALUES (0)")
        assert here.tick() == []
        long.commit()
    assert here.tick() == []
    assert here.sql("SELECT count(*), sum(n) FROM t") == upstream.run(
        "SELECT count(*), sum(n) FROM t"
    )
