"""COPY: the formats are PostgreSQL's to the letter, and what comes in is one write or none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reclock.adapter.copy import text_format
from reclock.adapter.copy.transfer import CopyIn, CopyOut
from reclock.adapter.session.session import Session
from reclock.adapter.transaction.session_transactions import TransactionStatus
from reclock.algebra import relations as r
from reclock.errors import CopyAbandoned, ReclockError, UnsupportedSql
from reclock.runtime.environment import Environment
from reclock.sql.statements.copy.formats import LineFormat

TEXT = LineFormat(False, "\t", "\\N", False, '"', '"')
CSV = LineFormat(True, ",", "", False, '"', '"')
ODD = LineFormat(True, ";", "NA", False, "'", "\\")
PIPES = LineFormat(False, "|", "null", False, '"', '"')
WRITTEN = {
    TEXT: "FORMAT text",
    CSV: "FORMAT csv",
    ODD: "FORMAT csv, DELIMITER ';', NULL 'NA', QUOTE '''', ESCAPE '\\'",
    PIPES: "FORMAT text, DELIMITER '|', NULL 'null'",
}
fields = st.none() | st.text(st.sampled_from("ab\\N.,;|'\"\n\r\t NA"), max_size=6)
rows = st.lists(st.tuples(fields, fields), max_size=5)


@pytest.fixture(scope="module")
def postgres(postgres_server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres_server.dsn(), autocommit=True) as connection:
        connection.execute("CREATE TEMP TABLE t (n serial, a text, b text)")
        yield connection


@pytest.mark.parametrize("format", WRITTEN, ids=lambda format: WRITTEN[format])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_rows=rows, cut=st.integers(1, 7))
def test_what_postgresql_writes_is_read_and_what_is_written_it_reads(
    postgres, format: LineFormat, given_rows, cut: int
) -> None:
    batch = pa.record_batch(
        [pa.array([row[i] for row in given_rows], pa.string()) for i in range(2)], names=["a", "b"]
    )
    ours = b"".join(text_format.encode(batch, [r.TEXT, r.TEXT], format).to_pylist())
    postgres.execute("TRUNCATE t RESTART IDENTITY")
    with postgres.cursor() as cursor:
        with cursor.copy(f"COPY t (a, b) FROM STDIN WITH ({WRITTEN[format]})") as copy:
            copy.write(ours)
        assert cursor.execute("SELECT a, b FROM t ORDER BY n").fetchall() == given_rows
        with cursor.copy(
            f"COPY (SELECT a, b FROM t ORDER BY n) TO STDOUT WITH ({WRITTEN[format]})"
        ) as copy:
            theirs = b"".join(copy)
    records = text_format.Records(format)
    pieces = [theirs[i : i + cut] for i in range(0, len(theirs), cut)]
    read = [record for piece in pieces for record in records.feed(piece)] + list(records.finish())
    assert [tuple(record) for record in read] == given_rows


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with Environment.initialise(tmp_path_factory.mktemp("copy")) as opened:
        yield opened


@pytest.fixture
def session(environment: Environment) -> Session:
    session = Session(environment)
    list(
        session.execute(
            "DROP TABLE IF EXISTS t; CREATE TABLE t (a int NOT NULL, b text DEFAULT "
            "'none', c numeric(6, 2) DEFAULT 1 + 1)"
        )
    )
    return session


def answer(session: Session, text: str):
    [found] = session.execute(text)
    return found


def copy_in(session: Session, text: str, *pieces: bytes) -> str:
    copy = answer(session, text)
    assert isinstance(copy, CopyIn)
    for piece in pieces:
        copy.write(piece)
    return copy.finish().tag


def lines_of(copy: CopyOut) -> bytes:
    return b"".join(line for lines in copy.lines for line in lines.to_pylist())


def rows_of(session: Session) -> list[tuple[object, ...]]:
    return [tuple(map(str, row)) for row in answer(session, "SELECT * FROM t ORDER BY a").rows()]


def test_rows_come_in_with_defaults_for_the_columns_left_out(session: Session) -> None:
    assert copy_in(session, "COPY t FROM STDIN", b"1\tone\t1.", b"005\n2\t\\N\t\\N\n") == "COPY 2"
    assert (
        copy_in(session, "COPY t (b, a) FROM STDIN WITH (FORMAT csv, HEADER)", b'b,a\n"x,\ny",3\n')
        == "COPY 1"
    )
    assert rows_of(session) == [("1", "one", "1.01"), ("2", "None", "None"), ("3", "x,\ny", "2.00")]


@pytest.mark.parametrize("data", [b'1,,\n2,"",""\n3,a,b\n', b'1,,""\n2,"","x""y"\n3,"a",b\n'])
@pytest.mark.parametrize(
    "options",
    [
        "FORMAT csv, FORCE_NULL(b, a)",
        "FORMAT CSV, NULL '', FORCE_NULL (\"b\"), ENCODING 'utf-8'",
        "FORMAT csv, FORCE_NOT_NULL (b)",
        "FORMAT csv, FORCE_NOT_NULL (b), FORCE_NULL (b, c)",
        "FORMAT csv, FORCE_NULL *",
        "FORMAT csv, NULL 'a', FORCE_NULL (b), FORCE_NOT_NULL (c)",
    ],
)
def test_columns_in_which_the_text_of_null_is_null_in_quotes_or_never(
    session: Session, postgres: psycopg.Connection, options: str, data: bytes
) -> None:
    postgres.execute("CREATE TEMP TABLE forced (a int, b text, c text)")
    try:
        with postgres.cursor() as cursor:
            with cursor.copy(f"COPY forced FROM STDIN WITH ({options})") as copy:
                copy.write(data)
            expected = cursor.execute("SELECT a, b, c FROM forced ORDER BY a").fetchall()
    finally:
        postgres.execute("DROP TABLE forced")
    list(
        session.execute("DROP TABLE IF EXISTS forced; CREATE TABLE forced (a int, b text, c text)")
    )
    copy_in(session, f"COPY forced FROM STDIN WITH ({options})", data)
    rows = answer(session, "SELECT a, b, c FROM forced ORDER BY a").rows()
    assert [tuple(row) for row in rows] == expected


@pytest.mark.parametrize(
    "options",
    [
        "CSV HEADER FORCE QUOTE b",
        "WITH (FORMAT csv, HEADER, FORCE_QUOTE (b))",
        "WITH (FORMAT csv, FORCE_QUOTE *)",
        "CSV FORCE QUOTE *",
    ],
)
def test_columns_that_are_always_quoted(
    session: Session, postgres: psycopg.Connection, options: str
) -> None:
    query = """SELECT * FROM (VALUES (1, 'x'), (2, NULL), (3, 'a"b')) AS v (a, b) ORDER BY a"""
    statement = f"COPY ({query}) TO STDOUT {options}"
    with postgres.cursor() as cursor, cursor.copy(statement) as copy:
        expected = b"".join(copy)
    out = answer(session, statement)
    assert isinstance(out, CopyOut)
    assert lines_of(out) == expected


def test_rows_go_out(session: Session) -> None:
    list(session.execute("INSERT INTO t VALUES (1, 'a\tb', 2), (2, NULL, 3)"))
    out = answer(session, "COPY t (a, b) TO STDOUT")
    assert isinstance(out, CopyOut)
    assert (out.width, lines_of(out), out.tag) == (2, b"1\ta\\tb\n2\t\\N\n", "COPY 2")
    out = answer(session, "COPY (SELECT a + 1 AS n, b FROM t ORDER BY a) TO STDOUT CSV HEADER")
    assert lines_of(out) == b"n,b\n2,a\tb\n3,\n"


@pytest.mark.parametrize(
    ("data", "sqlstate", "detail"),
    [
        (b"1\tx\t1\nfour\tx\t1\n", "22P02", 'COPY t, line 2, column a: "four"'),
        (b"1\tx\n", "22P04", "line 1"),
        (b"1\tx\t1\t1\n", "22P04", "line 1"),
        (b"1\t\xff\t1\n", "22021", "line 1"),
        (b"1\tx\t1\n\\N\tx\t1\n", "23502", None),
        (b"1\tx\t12345.6\n", "22003", None),
    ],
)
def test_what_is_wrong_is_said_with_its_line_and_nothing_is_written(
    session: Session, data: bytes, sqlstate: str, detail
) -> None:
    with pytest.raises(ReclockError) as error:
        copy_in(session, "COPY t FROM STDIN", data)
    assert error.value.sqlstate == sqlstate
    assert detail is None or error.value.detail == detail
    assert rows_of(session) == []


def test_rows_come_and_go_in_binary(session: Session) -> None:
    list(session.execute("INSERT INTO t VALUES (1, 'one', 2.5), (2, NULL, 3)"))
    out = answer(session, "COPY (SELECT a, c FROM t ORDER BY a) TO STDOUT WITH BINARY")
    data = lines_of(out)
    list(session.execute("DELETE FROM t"))
    assert (
        copy_in(session, "COPY t (a, c) FROM STDIN (FORMAT 'binary')", data[:30], data[30:])
        == "COPY 2"
    )
    assert rows_of(session) == [("1", "none", "2.50"), ("2", "none", "3.00")]


def test_arrays_of_several_dimensions_come_and_go(session: Session) -> None:
    list(session.execute("CREATE TABLE grids (n int, a int[][], b text[3][3])"))
    data = b'1\t{{1,2},{3,NULL}}\t{{"a b"},{x}}\n2\t{}\t\\N\n'
    assert copy_in(session, "COPY grids FROM STDIN", data) == "COPY 2"
    copied = "COPY (SELECT * FROM grids ORDER BY n) TO STDOUT"
    assert lines_of(answer(session, copied)) == data
    binary = lines_of(answer(session, f"{copied} WITH BINARY"))
    assert copy_in(session, "COPY grids FROM STDIN (FORMAT 'binary')", binary) == "COPY 2"
    other = answer(session, "COPY (SELECT 3, ARRAY[1], NULL) TO STDOUT WITH BINARY")
    for form, wrong in (
        ("text", b"3\t{1,2}\t\\N\n"),
        ("text", b"3\t[0:1][1:1]={{1},{2}}\t\\N\n"),
        ("binary", lines_of(other)),
    ):
        with pytest.raises(UnsupportedSql):
            copy_in(session, f"COPY grids FROM STDIN (FORMAT '{form}')", wrong)
    rows = "SELECT count(*), count(DISTINCT a), max(a[2][1]) FROM grids"
    assert lines_of(answer(session, f"COPY ({rows}) TO STDOUT")) == b"4\t2\t3\n"


def test_a_client_that_gives_up_writes_nothing_and_fails_its_block(session: Session) -> None:
    list(session.execute("BEGIN"))
    copy = answer(session, "COPY t FROM STDIN")
    copy.write(b"1\tx\t1\n")
    with pytest.raises(CopyAbandoned):
        copy.fail("no more")
    assert session.transaction_status is TransactionStatus.FAILED
    list(session.execute("ROLLBACK"))
    assert rows_of(session) == []


def test_a_copy_in_a_block_is_seen_by_it_and_committed_with_it(
    session: Session, environment: Environment
) -> None:
    list(session.execute("BEGIN"))
    copy_in(session, "COPY t (a) FROM STDIN", b"1\n2\n\\.\n3\n")
    assert len(rows_of(session)) == 2
    assert rows_of(Session(environment)) == []
    list(session.execute("COMMIT"))
    assert len(rows_of(Session(environment))) == 2


@pytest.mark.parametrize(
    ("text", "sqlstate"),
    [
        ("COPY t FROM STDIN WITH (FORMAT xml)", "22023"),
        ("COPY t FROM STDIN WITH (FORMAT binary, HEADER)", "42601"),
        ("COPY t FROM STDIN WITH (DELIMITER 'ab')", "22023"),
        ("COPY t FROM STDIN WITH (QUOTE 'q')", "0A000"),
        ("COPY t FROM STDIN WITH (COLOUR red)", "22023"),
        ("COPY t FROM STDIN WITH (HEADER, HEADER)", "42601"),
        ("COPY t FROM STDIN WITH (FORCE_NULL (a))", "0A000"),
        ("COPY t FROM STDIN WITH (FORMAT binary, FORCE_NULL (a))", "0A000"),
        ("COPY t FROM STDIN WITH (FORMAT csv, FORCE_QUOTE (a))", "0A000"),
        ("COPY t TO STDOUT WITH (FORMAT csv, FORCE_NULL (a))", "0A000"),
        ("COPY t FROM STDIN WITH (FORMAT csv, FORCE_NULL a)", "22023"),
        ("COPY t FROM STDIN WITH (FORMAT csv, FORCE_NULL (z))", "42703"),
        ("COPY t (a) FROM STDIN WITH (FORMAT csv, FORCE_NULL (b))", "42P10"),
        ("COPY t (z) FROM STDIN", "42703"),
        ("COPY nowhere FROM STDIN", "42P01"),
        ("COPY mz_sources FROM STDIN", "42501"),
    ],
)
def test_what_copy_refuses(session: Session, text: str, sqlstate: str) -> None:
    with pytest.raises(ReclockError) as error:
        answer(session, text)
    assert error.value.sqlstate == sqlstate


def test_a_format_may_be_in_double_quotes(session: Session) -> None:
    out = answer(session, 'COPY (SELECT 1 AS a) TO STDOUT (FORMAT "binary")')
    assert isinstance(out, CopyOut)
    assert out.is_binary
    assert (
        copy_in(session, "COPY t (a) FROM STDIN (FORMAT \"csv\", DELIMITER '|')", b"1\n")
        == "COPY 1"
    )


def test_the_shell_copies_from_its_own_input(session: Session, monkeypatch, tmp_path: Path) -> None:
    from reclock.cli.output import Format
    from reclock.cli.shell import Shell

    shell = Shell(session, Format.TABLE, timing=False)
    given_file = tmp_path / "rows"
    given_file.write_bytes(b"7,seven\n")
    with given_file.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert shell.run("COPY t (a, b) FROM STDIN CSV")
    assert rows_of(session) == [("7", "seven", "2.00")]
