"""Parameters that psycopg sends, and the texts of intervals, as with PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import psycopg
import pytest
from psycopg.types.composite import CompositeInfo, register_composite

pytestmark = pytest.mark.servers

INTERVALS = [
    "0",
    "1 year 2 mons 3 days 04:05:06.789",
    "-1 year -2 mons",
    "1 day -04:05:06",
    "-3 days",
    "00:00:00.5",
    "-00:00:00.25",
    "-1 sec",
    "1 sec",
    "1 mon -1 sec",
    "1 year -1 day",
    "36:00",
]


@pytest.mark.parametrize("style", ["postgres", "iso_8601"])
def test_intervals_are_written_in_the_style_of_the_session(
    style: str, ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    def texts(connection: psycopg.Connection) -> Sequence[object]:
        connection.execute(f"SET intervalstyle = '{style}'")
        read = [f"interval '{text}', array[interval '{text}']" for text in INTERVALS]
        cursor = connection.execute(f"SELECT {', '.join(read)}")
        assert cursor.pgresult is not None
        row = [cursor.pgresult.get_value(0, place) for place in range(cursor.pgresult.nfields)]
        with connection.cursor().copy(f"COPY (SELECT {', '.join(read)}) TO STDOUT") as copied:
            return [*map(bytes, filter(None, row)), *map(bytes, copied)]

    assert texts(ours) == texts(theirs)


def test_composite_values_are_read_in_binary(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    def answers(connection: psycopg.Connection) -> Sequence[object]:
        connection.execute("CREATE TYPE item AS (name text, amount int, share float8)")
        connection.execute("CREATE TYPE part AS (item item, tags text[])")
        infos = [CompositeInfo.fetch(connection, name) for name in ("item", "part")]
        for info in infos:
            assert info is not None
            register_composite(info, connection)
        item, part = (info.python_type for info in infos if info is not None)
        assert item is not None
        assert part is not None
        values = [
            item("a,b", 1, None),
            part(item('say "hi"', None, 0.5), ["x", None]),
            part(None, []),
        ]
        answered = []
        for value in values:
            row = connection.execute("SELECT %b::text, pg_typeof(%b)::text", [value, value])
            answered.append(row.fetchone())
        return answered

    assert answers(ours) == answers(theirs)


@pytest.mark.parametrize("format", ["s", "t", "b"])
@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_no_numeric_is(format: str, number: str, ours: psycopg.Connection) -> None:
    with pytest.raises(
        psycopg.errors.NumericValueOutOfRange, match="out of range for type numeric"
    ):
        ours.execute(f"SELECT %{format}", [Decimal(number)])


def test_texts_have_no_character_0(ours: psycopg.Connection) -> None:
    refused = ours.pgconn.exec_params(b"SELECT $1::text", [b"a\0b"], param_formats=[1])
    assert refused.error_field(psycopg.pq.DiagnosticField.SQLSTATE) == b"22021"


def test_only_blanks_of_ascii_are_left_out_around_elements(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    def answers(connection: psycopg.Connection) -> object:
        texts = [f"{{ a{chr(code)} ,{chr(code)}b}}" for code in (0x1C, 0x1F, 0x85, 0xA0, 0x2003)]
        return [connection.execute("SELECT %s::text[]", [text]).fetchone() for text in texts]

    assert answers(ours) == answers(theirs)


def test_the_query_of_a_new_table_takes_parameters(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    def answers(connection: psycopg.Connection) -> Sequence[object]:
        connection.execute(
            "CREATE TABLE orders AS SELECT n, n * 1.5 AS price FROM generate_series(1, 9) n"
        )
        sql = "CREATE TABLE {} AS SELECT n, price, %s AS note FROM orders WHERE price > %s"
        connection.execute(sql.format("dear"), ["x", 10])
        with connection.transaction():
            connection.execute("CREATE TEMP TABLE few AS SELECT * FROM orders WHERE n < %s", [3])
            connection.execute(sql.format("dearer"), [None, 12.5])
        with pytest.raises(psycopg.errors.UndefinedColumn):
            connection.execute("CREATE TABLE wrong AS SELECT nothing FROM orders WHERE n = %s", [1])
        tables = ("dear", "dearer", "few")
        return [
            connection.execute(f"SELECT * FROM {name} ORDER BY n").fetchall() for name in tables
        ]

    assert answers(ours) == answers(theirs)
