"""Enums as drivers and SQLAlchemy know them: found in the catalog, sent and read in both formats."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from fixtures.server import SqlServer, start_server
from psycopg.types.enum import EnumInfo, register_enum


class Mood(Enum):
    sad = 1
    ok = 2
    happy = 3


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlServer]:
    server = start_server(tmp_path_factory.mktemp("enums"))
    try:
        with server.connect() as connection:
            connection.execute("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')")
            connection.execute("CREATE TABLE p (n int, m mood, l mood[])")
        yield server
    finally:
        server.kill()


@pytest.fixture
def connection(server: SqlServer) -> Iterator[psycopg.Connection]:
    with server.connect() as connection:
        info = EnumInfo.fetch(connection, "mood")
        assert info is not None
        assert list(info.labels) == ["sad", "ok", "happy"]
        register_enum(info, connection, Mood)
        connection.execute("DELETE FROM p")
        yield connection


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
def test_values_are_sent_and_read_in_both_formats(
    connection: psycopg.Connection, binary: bool
) -> None:
    form = "b" if binary else "t"
    rows: list[tuple[Any, ...]] = [
        (1, Mood.happy, [Mood.ok, Mood.sad]),
        (2, Mood.sad, []),
        (3, None, None),
    ]
    with connection.cursor(binary=binary) as cursor:
        for row in rows:
            cursor.execute(f"INSERT INTO p VALUES (%s, %{form}, %{form})", row)
        assert cursor.execute("SELECT * FROM p ORDER BY n").fetchall() == rows
        found = cursor.execute(f"SELECT n FROM p WHERE m > %{form}", (Mood.ok,)).fetchall()
        assert found == [(1,)]
        assert cursor.execute(f"SELECT %{form}", (Mood.ok,)).fetchall() == [(Mood.ok,)]
        many = cursor.execute("SELECT m FROM p, generate_series(1, 100) ORDER BY m").fetchall()
        assert [row[0] for row in many] == [Mood.sad] * 100 + [Mood.happy] * 100 + [None] * 100


def test_a_binary_parameter_that_is_no_label_is_refused(connection: psycopg.Connection) -> None:
    info = EnumInfo.fetch(connection, "mood")
    assert info is not None
    connection.adapters.register_dumper(str, _as_mood(info.oid))
    with pytest.raises(psycopg.errors.InvalidTextRepresentation, match='enum mood: "mad"'):
        connection.execute("INSERT INTO p (m) VALUES (%b)", ("mad",))


def _as_mood(number: int) -> type[psycopg.adapt.Dumper]:
    """Sends texts in binary as values of the type."""

    class MoodDumper(psycopg.adapt.Dumper):
        format = psycopg.pq.Format.BINARY
        oid = number

        def dump(self, obj: str) -> bytes:
            return obj.encode()

    return MoodDumper


@pytest.mark.parametrize("options", ["", "(FORMAT csv)", "(FORMAT binary)"])
def test_copy_writes_and_reads_labels(connection: psycopg.Connection, options: str) -> None:
    connection.execute("INSERT INTO p VALUES (1, 'happy', '{ok,NULL}'), (2, 'sad', '{}')")
    expected = connection.execute("SELECT m, l FROM p ORDER BY n").fetchall()
    with connection.cursor().copy(f"COPY p TO STDOUT {options}") as copy:
        copied = b"".join(bytes(piece) for piece in copy)
    connection.execute("DELETE FROM p")
    with connection.cursor().copy(f"COPY p FROM STDIN {options}") as copy:
        copy.write(copied)
    assert connection.execute("SELECT m, l FROM p ORDER BY n").fetchall() == expected


def test_copy_refuses_a_text_that_is_no_label(connection: psycopg.Connection) -> None:
    with (
        pytest.raises(psycopg.errors.InvalidTextRepresentation),
        connection.cursor().copy("COPY p (m) FROM STDIN") as copy,
    ):
        copy.write("mad\n")


def test_create_table_as_has_types_of_another_database_and_schema(server: SqlServer) -> None:
    with server.connect() as connection:
        connection.execute("CREATE DATABASE apart")
    with server.connect(dbname="apart") as connection:
        connection.execute("CREATE SCHEMA kinds")
        connection.execute("CREATE TYPE kinds.size AS ENUM ('s', 'm')")
        connection.execute("CREATE TYPE pair AS (n int, of kinds.size)")
        connection.execute("CREATE DOMAIN kinds.positive AS int CHECK (VALUE > 0)")
        connection.execute(
            "CREATE TABLE made AS SELECT 's'::kinds.size AS s, ARRAY['m']::kinds.size[] AS l, "
            "ROW(1, 'm')::pair AS p, 2::kinds.positive AS d"
        )
        rows = connection.execute("SELECT s::text, l::text, p::text, d FROM made").fetchall()
        assert rows == [("s", "{m}", "(1,m)", 2)]
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute("INSERT INTO made (d) VALUES (0)")


def test_sqlalchemy_creates_inspects_and_reads_enums(server: SqlServer) -> None:
    engine = sa.create_engine(f"postgresql+psycopg://reclock@127.0.0.1:{server.port}/reclock")
    table = sa.Table(
        "days",
        sa.MetaData(),
        sa.Column("n", sa.Integer),
        sa.Column("s", sa.Enum("new", "old", name="state")),
    )
    try:
        table.metadata.create_all(engine)
        with engine.begin() as connection:
            connection.execute(table.insert(), [{"n": 1, "s": "old"}, {"n": 2, "s": "new"}])
            ordered = connection.execute(sa.select(table.c.n).order_by(table.c.s)).scalars()
            assert list(ordered) == [2, 1]
            older = connection.execute(sa.select(table.c.n).where(table.c.s > "new")).scalars()
            assert list(older) == [1]
        inspector: Any = sa.inspect(engine)
        found = {enum["name"]: enum["labels"] for enum in inspector.get_enums()}
        assert found == {"mood": ["sad", "ok", "happy"], "state": ["new", "old"]}
        [_, column] = inspector.get_columns("days")
        assert isinstance(column["type"], sa.Enum)
        assert column["type"].enums == ["new", "old"]
        table.metadata.drop_all(engine)
        assert [enum["name"] for enum in sa.inspect(engine).get_enums()] == ["mood"]  # type: ignore[attr-defined]
    finally:
        engine.dispose()
