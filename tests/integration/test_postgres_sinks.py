"""A sink into PostgreSQL: after each transaction the table is the relation at the time in the
progress, whatever happens to the emitter or to PostgreSQL."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fixtures.emitters import Emitters
from fixtures.maintained import World
from fixtures.postgres import PASSWORD, PostgresServer
from fixtures.sunk import alter, change, emit
from sqlalchemy.engine import make_url

from reclock import failpoints
from reclock.errors import (
    ClaimConflict,
    InvalidOption,
    SinkKeyNotUnique,
    TargetChanged,
    TargetUnavailable,
    UnsupportedSql,
)

SOLD = "CREATE TABLE sold (id int NOT NULL, word text, amount numeric(10,2))"
SINK = "CREATE SINK k FROM sold INTO POSTGRES CONNECTION pg (TABLE 'sold') KEY (id) NOT ENFORCED"


class Target:
    """A database of a real server, as the sink sees it and as its users do."""

    def __init__(self, server: PostgresServer, url: str) -> None:
        self.server, self.database = server, str(make_url(url).database)

    def connect(self, world: World) -> None:
        world.sql(f"CREATE SECRET pg_password AS '{PASSWORD}'")
        world.sql(
            f"CREATE CONNECTION pg TO POSTGRES (HOST '127.0.0.1', PORT {self.server.port}, DATABASE "
            f"'{self.database}', USER 'postgres', PASSWORD SECRET pg_password)"
        )

    def sql(self, query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.server.dsn(self.database), autocommit=True) as connection:
            cursor = connection.execute(query)  # type: ignore[call-overload]
            return cursor.fetchall() if cursor.description else []


@pytest.fixture
def target(postgres_server: PostgresServer, postgres_url: str) -> Target:
    return Target(postgres_server, postgres_url)


@pytest.fixture
def world(tmp_path: Path, target: Target) -> Iterator[World]:
    (tmp_path / "reclock.toml").write_text("claim_lease_ms = 600000\n")  # no machine is so slow
    world = World(tmp_path)
    target.connect(world)
    world.sql(SOLD)
    yield world
    world.close()


def check(world: World, target: Target) -> None:
    """The table is the relation at the last time of the sink's progress."""
    [(upper,)] = target.sql("SELECT upper FROM reclock_sinks")
    expected = world.sql(f"SELECT * FROM sold AS OF {upper - 1}")
    assert Counter(target.sql("SELECT id, word, amount FROM sold")) == Counter(expected)


def test_rows_come_change_and_go(world: World, target: Target) -> None:
    change(world, "INSERT INTO sold VALUES (1, 'a', 1.5), (2, NULL, -3), (3, E'x\\ty\\\\', NULL)")
    world.sql(SINK)
    assert world.sql("SELECT name, type FROM mz_sinks") == [("k", "postgres")]
    first = emit(world)
    assert (first.commits, first.changes) == (1, 3)
    check(world, target)
    change(
        world,
        "UPDATE sold SET word = 'b' WHERE id = 2",
        "UPDATE sold SET id = 4 WHERE id = 3",
        "DELETE FROM sold WHERE id = 1; INSERT INTO sold VALUES (1, 'again', 0)",
    )
    second = emit(world)
    assert second.commits >= 3
    check(world, target)
    assert emit(world).commits == 0
    change(world, "DELETE FROM sold")
    emit(world)
    assert target.sql("SELECT * FROM sold") == []


def test_an_altered_sink_writes_the_difference_in_one_transaction(
    world: World, target: Target
) -> None:
    change(world, "INSERT INTO sold VALUES (1, 'a', 1), (2, 'b', 2), (3, 'C', 3)")
    world.sql(SINK)
    emit(world)
    world.sql("CREATE VIEW dear AS SELECT id, upper(word) AS word, amount FROM sold WHERE id > 1")
    world.sql("CREATE VIEW nullable AS SELECT nullif(id, 1) AS id, word, amount FROM sold")
    with pytest.raises(InvalidOption, match="may be NULL"):
        world.sql("ALTER SINK k SET FROM nullable")
    alter(world, "ALTER SINK k SET FROM dear")
    assert (switched := emit(world)).commits == 1
    assert switched.changes == 2  # one key goes, and one row changes
    assert Counter(target.sql("SELECT id, word, amount FROM sold")) == Counter(
        world.sql("SELECT * FROM dear")
    )


def test_the_primary_key_and_the_types_are_those_of_the_relation(
    world: World, target: Target
) -> None:
    columns = (
        "id bigint NOT NULL, t text, b bytea, f double precision, d date, w timestamp, z timestamptz, "
        "j jsonb, u uuid, n numeric(20,5), l boolean, s smallint, r real, a text[], y bytea[], i interval"
    )
    world.sql(f"CREATE TABLE wide ({columns})")
    rows = [
        """(1, 'ö''" ', '\\x00ff', 'NaN', '2020-02-29', '2020-02-29 12:00:00.000001',
            '2020-02-29 12:00+02', '{"a": [1, null, "x"]}', '6e8bc430-9c3a-11d9-9669-0800200c9a66',
            12345.67890, true, -5, 1.5, ARRAY['"', NULL, ''], ARRAY['\\x00'::bytea], '1 mon -2 days 03:00')""",
        """(2, '', '', '-Infinity', '0001-01-01', '9999-12-31 23:59:59.999999', '0001-01-01 01:00+00', '"text"', NULL,
            -0.00001, false, 0, 'Infinity', '{}', NULL, '0')""",
        "(3" + ", NULL" * 15 + ")",
    ]
    change(world, f"INSERT INTO wide VALUES {', '.join(rows)}")
    world.sql(
        "CREATE SINK k FROM wide INTO POSTGRES CONNECTION pg (TABLE 'Wide') KEY (id) NOT ENFORCED"
    )
    emit(world)
    target.sql(f"CREATE TABLE expected ({columns})")
    target.sql(f"INSERT INTO expected VALUES {', '.join(rows)}")
    for query in (
        "SELECT x::text FROM {} AS x ORDER BY id",
        """SELECT attname, atttypid, atttypmod FROM pg_attribute
           WHERE attrelid = '{}'::regclass AND attnum > 0 ORDER BY attnum""",
    ):
        assert target.sql(query.format('"Wide"')) == target.sql(query.format("expected"))
    [(definition,)] = target.sql(
        """SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = '"Wide"'::regclass AND contype = 'p'"""
    )
    assert definition == "PRIMARY KEY (id)"


def test_a_table_of_the_users_own_is_filled(world: World, target: Target) -> None:
    """It may have columns with defaults, and references to it stay valid."""
    target.sql(
        "CREATE TABLE sold (amount numeric, word text, id bigint PRIMARY KEY, at timestamptz DEFAULT now())"
    )
    target.sql("CREATE TABLE notes (sold bigint REFERENCES sold ON DELETE CASCADE, note text)")
    change(world, "INSERT INTO sold VALUES (1, 'a', 1)")
    world.sql(SINK)
    emit(world)
    target.sql("INSERT INTO notes VALUES (1, 'kept')")
    change(world, "UPDATE sold SET amount = 2")
    emit(world)
    check(world, target)
    assert target.sql("SELECT note FROM notes") == [("kept",)]
    assert target.sql("SELECT count(at) FROM sold") == [(1,)]


def test_what_postgres_refuses_stalls_the_sink_and_says_why(world: World, target: Target) -> None:
    target.sql(
        "CREATE TABLE sold (id bigint PRIMARY KEY, word text CHECK (word <> 'no'), amount numeric)"
    )
    change(world, "INSERT INTO sold VALUES (1, 'a', 1)")
    world.sql(SINK)
    emit(world)
    change(world, "INSERT INTO sold VALUES (2, 'no', 1)")
    with pytest.raises(TargetChanged, match=r'table "public\.sold" refuses') as refused:
        emit(world)
    assert "violates check constraint" in str(refused.value.detail)
    check(world, target)
    target.sql("ALTER TABLE sold DROP CONSTRAINT sold_word_check")
    emit(world)
    assert target.sql("SELECT count(*) FROM sold") == [(2,)]
    change(world, "INSERT INTO sold VALUES (2, 'second', 1)")
    change(world, "INSERT INTO sold VALUES (5, 'x', 1), (5, 'y', 2)")
    with pytest.raises(SinkKeyNotUnique):
        emit(world)
    target.sql("DROP TABLE reclock_sinks")
    with pytest.raises(TargetChanged, match="lost"):
        emit(world)


def test_a_server_that_is_away_is_tried_again(world: World, target: Target) -> None:
    world.sql(
        "CREATE CONNECTION away TO POSTGRES (HOST '127.0.0.1', PORT 1, DATABASE 'x', USER 'x') WITH (VALIDATE = false)"
    )
    world.sql(SINK.replace("CONNECTION pg", "CONNECTION away"))
    change(world, "INSERT INTO sold VALUES (1, 'a', 1)")
    with pytest.raises(TargetUnavailable):
        emit(world)


def test_statements_that_cannot_be_right_are_refused(world: World) -> None:
    for statement, message in (
        (SINK.replace(" NOT ENFORCED", ""), "may agree"),
        (SINK + " WITH (SNAPSHOT = false)", "begins with a snapshot"),
        (SINK.replace("'sold'", "''"), "cannot be empty"),
    ):
        with pytest.raises(InvalidOption, match=message):
            world.sql(statement)
    world.sql(SINK)
    with pytest.raises(InvalidOption, match="writes there already"):
        world.sql(SINK.replace("SINK k", "SINK other"))
    [(_, text)] = world.sql("SHOW CREATE SINK k")
    assert "POSTGRES CONNECTION reclock.public.pg (TABLE 'sold') KEY (id) NOT ENFORCED" in text


@pytest.mark.parametrize(
    "killed_at",
    [
        "sinks.emit.begun",
        "sinks.postgres.before_commit",
        "sinks.postgres.after_commit",
        "sinks.emit.committed",
    ],
)
def test_killed_at_any_point_it_repeats_and_loses_nothing(
    world: World, target: Target, emitters: Emitters, killed_at: str
) -> None:
    world.sql(SINK)
    change(
        world, "INSERT INTO sold VALUES (1, 'a', 1), (2, 'b', 2)", "DELETE FROM sold WHERE id = 1"
    )
    assert emitters.emit(world, "k", points=(killed_at,)) == [-signal.SIGKILL]
    change(world, "UPDATE sold SET word = 'c'")
    emit(world, owner="worker")
    check(world, target)


def test_a_writer_that_was_overtaken_writes_nothing(
    world: World, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.sql(SINK)
    change(world, "INSERT INTO sold VALUES (1, 'a', 1)")

    def overtake(point: str) -> None:
        if point == "sinks.emit.begun":
            target.sql("UPDATE reclock_sinks SET writer = gen_random_uuid()")

    with monkeypatch.context() as patch:
        patch.setattr(failpoints, "on_reach", overtake)
        with pytest.raises(ClaimConflict):
            emit(world)
    assert target.sql("SELECT * FROM sold") == []
    emit(world)
    check(world, target)


def test_an_enum_arrives_as_its_labels(world: World, target: Target) -> None:
    world.sql("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    world.sql("CREATE TABLE diary (id int NOT NULL, felt mood, moods mood[])")
    change(world, "INSERT INTO diary VALUES (1, 'ok', ARRAY['sad', NULL]::mood[]), (2, NULL, NULL)")
    world.sql(
        "CREATE SINK k FROM diary INTO POSTGRES CONNECTION pg (TABLE 'diary') KEY (id) NOT ENFORCED"
    )
    emit(world)
    target.sql("CREATE TYPE mood AS ENUM ('sad', 'ok', 'great')")
    target.sql("ALTER TABLE diary ALTER felt TYPE mood USING felt::mood")
    world.sql("ALTER TYPE mood ADD VALUE 'great'")
    change(world, "INSERT INTO diary VALUES (3, 'great', '{}')")
    emit(world)
    assert target.sql("SELECT id, felt::text, moods FROM diary ORDER BY id") == [
        (1, "ok", ["sad", None]),
        (2, None, None),
        (3, "great", []),
    ]


def test_a_record_is_no_column_of_a_table(world: World) -> None:
    world.sql("CREATE VIEW pairs AS SELECT id, ROW(word, amount) AS pair FROM sold")
    with pytest.raises(UnsupportedSql, match='"pair" has type record'):
        world.sql(SINK.replace("FROM sold", "FROM pairs"))
