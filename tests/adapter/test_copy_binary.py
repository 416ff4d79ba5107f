"""COPY in binary: PostgreSQL's format to the byte, read from any pieces, and refused whole where it
is broken."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal

import psycopg
import pyarrow as pa
import pytest
from fixtures.range_values import RANGE_VALUES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reclock.adapter.context.results import Result
from reclock.adapter.copy import binary_format
from reclock.adapter.copy.binary_format import BinaryReader
from reclock.adapter.copy.transfer import CopyOut
from reclock.algebra import relations as r
from reclock.algebra.intervals import Interval, interval_of
from reclock.algebra.text_style import PLAIN_TEXT
from reclock.algebra.textual.times import normal_form as normal_time
from reclock.collections.schema import arrow_type
from reclock.errors import ReclockError
from reclock.sql.statements.copy.formats import BinaryFormat

moments = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31))
VALUES = {
    r.BOOLEAN: st.booleans(),
    r.SMALLINT: st.integers(-(2**15), 2**15 - 1),
    r.INTEGER: st.integers(-(2**31), 2**31 - 1),
    r.BIGINT: st.integers(-(2**63), 2**63 - 1),
    r.REAL: st.floats(width=32, allow_nan=False),
    r.DOUBLE: st.floats(allow_nan=False),
    r.numeric(20, 4): st.decimals(-(10**15), 10**15, places=4),
    r.TEXT: st.text(
        st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=300
    ),
    r.BYTEA: st.binary(max_size=300),
    r.DATE: st.dates(),
    r.TIMESTAMP: moments,
    r.TIMESTAMPTZ: moments.map(lambda at: at.replace(tzinfo=UTC)),
    r.UUID: st.uuids().map(str),
    r.TIME: st.times().map(lambda at: normal_time(str(at))),
    r.INTERVAL: st.builds(
        Interval, st.integers(-100, 100), st.integers(-100, 100), st.integers(-(2**50), 2**50)
    ),
    r.array(r.INTEGER): st.lists(st.none() | st.integers(-(2**31), 2**31 - 1), max_size=3),
    r.array(r.INTEGER, 2): st.integers(1, 3).flatmap(
        lambda width: st.lists(
            st.lists(st.none() | st.integers(0, 9), min_size=width, max_size=width), max_size=3
        )
    ),
    **RANGE_VALUES,
    r.array(r.TEXT): st.lists(st.none() | st.text('aä \\",{}', max_size=4), max_size=3),
}
TYPES = tuple(VALUES)
COLUMNS = tuple(r.Column(f"c{position}", type) for position, type in enumerate(TYPES))
rows_of_values = st.lists(
    st.tuples(*(st.none() | values for values in VALUES.values())), max_size=4
)


def batch_of(rows: list[tuple[object, ...]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else [()] * len(TYPES)
    arrays = [
        pa.array(values, arrow_type(type)) for values, type in zip(columns, TYPES, strict=True)
    ]
    return pa.record_batch(arrays, [column.name for column in COLUMNS])


def messages_of(rows: list[tuple[object, ...]]) -> list[bytes]:
    result = Result("COPY", r.RelationDesc(COLUMNS), [batch_of(rows)])
    return [
        message
        for part in CopyOut(result, BinaryFormat(), PLAIN_TEXT).lines
        for message in part.to_pylist()
    ]


def read(columns: tuple[r.Column, ...], pieces: list[bytes]) -> list[tuple[object, ...]]:
    reader = BinaryReader("t", columns)
    tables = [table for piece in pieces for table in reader.feed(piece)] + list(reader.finish())
    rows = [tuple(row.values()) for row in pa.concat_tables(tables).to_pylist()]
    return [
        tuple(interval_of(value) if isinstance(value, dict) else value for value in row)
        for row in rows
    ]


@pytest.fixture(scope="module")
def postgres(postgres_server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres_server.dsn(), autocommit=True) as connection:
        columns = ", ".join(f"{column.name} {column.type}" for column in COLUMNS)
        connection.execute(f"CREATE TEMP TABLE t (n serial, {columns})")
        yield connection


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=rows_of_values, cut=st.integers(1, 50))
def test_postgresql_reads_what_is_written_and_writes_the_same_messages(
    postgres, rows: list, cut: int
) -> None:
    names = ", ".join(column.name for column in COLUMNS)
    ours = messages_of(rows)
    postgres.execute("TRUNCATE t RESTART IDENTITY")
    with postgres.cursor() as cursor:
        with cursor.copy(f"COPY t ({names}) FROM STDIN (FORMAT binary)") as copy:
            copy.write(b"".join(ours))
        with cursor.copy(
            f"COPY (SELECT {names} FROM t ORDER BY n) TO STDOUT (FORMAT binary)"
        ) as copy:
            theirs = [bytes(message) for message in copy]
    assert ours == theirs
    data = b"".join(theirs)
    assert read(COLUMNS, [data[at : at + cut] for at in range(0, len(data), cut)]) == rows


def test_the_header_comes_with_the_first_row_alone() -> None:
    row = (
        True,
        1,
        2,
        3,
        0.5,
        0.25,
        Decimal("1.5000"),
        "é",
        b"\0",
        date(2020, 1, 2),
        datetime(2020, 1, 2),
        *[None] * (len(TYPES) - 11),
    )
    first, second, trailer = messages_of([row, row])
    assert first == binary_format.HEADER + second
    assert trailer == binary_format.TRAILER
    assert messages_of([]) == [binary_format.HEADER + binary_format.TRAILER]


AB = (r.Column("a", r.INTEGER), r.Column("b", r.numeric(6, 2)))
ONE = b"\0\2\0\0\0\4\0\0\0\1\xff\xff\xff\xff"
# 1.1239 with three digits after the point
ROUNDED = b"\0\2\0\0\0\4\0\0\0\1\0\0\0\x0c\0\2\0\0\0\0\0\3\0\1\4\xd7"


def test_numbers_are_rounded_to_the_scale_of_their_column() -> None:
    assert read(AB, [binary_format.HEADER + ROUNDED]) == [(1, Decimal("1.12"))]


@pytest.mark.parametrize(
    ("data", "sqlstate", "message"),
    [
        (b"", "22P04", "signature not recognized"),
        (b"1\t2\n" * 9, "22P04", "signature not recognized"),
        (binary_format.HEADER[:-8] + b"\0\1\0\0" + bytes(4), "22P04", "critical flags"),
        (binary_format.HEADER[:-4] + b"\xff\xff\xff\xff", "22P04", "missing length"),
        (binary_format.HEADER + ONE[:-1], "22P04", "unexpected EOF"),
        (binary_format.HEADER + ONE + b"\0\3", "22P04", "field count is 3, expected 2"),
        (binary_format.HEADER + ONE + b"\xff\xff\0", "22P04", "after EOF marker"),
        (binary_format.HEADER + b"\0\2\xff\xff\xff\xfe", "22P04", "invalid field size"),
        (
            binary_format.HEADER + b"\0\2\0\0\0\3\0\0\0\xff\xff\xff\xff",
            "22P03",
            "incorrect binary data format",
        ),
        (
            binary_format.HEADER + b"\0\2\0\0\0\4\0\0\0\1\0\0\0\x0a\0\1\0\2\0\0\0\0\0\1",
            "22003",
            "out of range",
        ),
    ],
)
@pytest.mark.parametrize("cut", [1, 1000])
def test_broken_data_is_refused(data: bytes, sqlstate: str, message: str, cut: int) -> None:
    with pytest.raises(ReclockError, match=message) as error:
        read(AB, [data[at : at + cut] for at in range(0, len(data), cut)])
    assert error.value.sqlstate == sqlstate


def test_a_wrong_value_is_named_by_line_and_column() -> None:
    with pytest.raises(ReclockError) as error:
        read(AB, [binary_format.HEADER + ONE + b"\0\2\0\0\0\1\0\xff\xff\xff\xff"])
    assert error.value.detail == "COPY t, line 2, column a"
