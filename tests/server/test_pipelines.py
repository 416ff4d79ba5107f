"""Pipelines: what clients send ahead is answered as PostgreSQL answers it, also where Reclock
executes many INSERTs at once."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest
from fixtures.postgres import PostgresServer
from fixtures.server import SqlServer
from hypothesis import given
from hypothesis import strategies as st
from psycopg import errors

from reclock.adapter.session.prepared import RepeatedInsert
from reclock.adapter.session.session import Session
from reclock.algebra.zones import UTC_CLOCK
from reclock.errors import NotNullViolation, ProtocolViolation, QueryCanceled
from reclock.runtime.environment import Environment
from reclock.server import messages
from reclock.server.pipelines import executions_ahead
from reclock.server.values import decode_columns

SETUP = (
    "CREATE TABLE pipelined (n integer NOT NULL, name varchar(8), price numeric(4, 1) "
    "DEFAULT 1.5, at date)"
)
INSERT = "INSERT INTO pipelined (n, name) VALUES ($1, $2)"
SYNC = messages.message(b"S")
INTEGER, BIGINT, TEXT, DATE = 23, 20, 25, 1082


def parse(text: str, *types: int, name: str = "") -> bytes:
    body = (
        messages.string(name)
        + messages.string(text)
        + struct.pack(f"!H{len(types)}I", len(types), *types)
    )
    return messages.message(b"P", body)


def bind(
    *values: object, name: str = "", portal: str = "", result_formats: tuple[int, ...] = ()
) -> bytes:
    """A value is sent as text, an integer in binary if it is in a list."""
    formats, written = [], []
    for value in values:
        is_binary = isinstance(value, list)
        raw = struct.pack("!i", value[0]) if isinstance(value, list) else str(value).encode()
        formats.append(int(is_binary))
        written.append(b"\xff" * 4 if value is None else struct.pack("!i", len(raw)) + raw)
    body = (
        messages.string(portal)
        + messages.string(name)
        + packed(formats)
        + struct.pack("!H", len(values))
    )
    return messages.message(b"B", body + b"".join(written) + packed(result_formats))


def packed(formats: list[int] | tuple[int, ...]) -> bytes:
    return struct.pack(f"!H{len(formats)}h", len(formats), *formats)


def execute(portal: str = "", limit: int = 0) -> bytes:
    return messages.message(b"E", messages.string(portal) + struct.pack("!i", limit))


def describe(portal: str = "") -> bytes:
    return messages.message(b"D", b"P" + messages.string(portal))


def run(*values: object, name: str = "") -> bytes:
    return bind(*values, name=name) + execute()


def described(*values: object, name: str = "") -> bytes:
    return bind(*values, name=name) + describe() + execute()


def statement(text: str) -> bytes:
    return (
        parse(text, name="other")
        + run(name="other")
        + messages.message(b"C", b"S" + messages.string("other"))
    )


def insert(*values: object) -> bytes:
    return run(*values, name="insert")


def inserts(first: int, last: int) -> bytes:
    return b"".join(insert(n, f"name {n}") for n in range(first, last))


CLOSE = messages.message(b"C", b"P" + messages.string("p"))
PREPARED = parse(INSERT, name="insert")
COUNT = "SELECT n, name, price, at FROM pipelined ORDER BY n, name, at"
TRANSCRIPTS = {
    "one Sync": PREPARED + inserts(0, 40) + SYNC,
    "described, values in binary": PREPARED
    + b"".join(described([n], "é", name="insert") for n in range(20))
    + SYNC,
    "NULL, and other columns by their default": PREPARED + insert(1, None) + insert(2, "b") + SYNC,
    "NOT NULL is violated in the middle": (
        PREPARED + inserts(0, 5) + insert(None, "x") + inserts(5, 9) + SYNC + inserts(20, 22) + SYNC
    ),
    "a value is no integer": PREPARED + inserts(0, 5) + insert("five", "x") + inserts(5, 9) + SYNC,
    "a text is too long": PREPARED
    + inserts(0, 5)
    + insert(5, "much too long")
    + inserts(5, 9)
    + SYNC,
    "a text is not UTF-8": (
        PREPARED
        + inserts(0, 3)
        + insert(3, "zzz").replace(b"zzz", b"z\xffz")
        + inserts(4, 6)
        + SYNC
    ),
    "Sync in the middle": PREPARED
    + inserts(0, 5)
    + SYNC
    + inserts(5, 9)
    + insert(None, "x")
    + SYNC
    + inserts(9, 12)
    + SYNC,
    "other statements in between": (
        PREPARED
        + inserts(0, 5)
        + statement("SELECT count(*) FROM pipelined")
        + inserts(5, 9)
        + statement("UPDATE pipelined SET name = 'new' WHERE n > 3")
        + inserts(9, 12)
        + statement("DELETE FROM pipelined WHERE n < 2")
        + SYNC
    ),
    "an error of another statement in between": PREPARED
    + inserts(0, 5)
    + statement("SELECT 1 / (n - n) FROM pipelined")
    + inserts(5, 9)
    + SYNC,
    "a block that commits": (
        PREPARED
        + statement("BEGIN")
        + inserts(0, 5)
        + SYNC
        + inserts(5, 9)
        + statement("COMMIT")
        + SYNC
        + inserts(9, 12)
        + SYNC
    ),
    "a block that fails": (
        PREPARED
        + statement("BEGIN")
        + inserts(0, 5)
        + insert(None, "x")
        + inserts(5, 9)
        + SYNC
        + inserts(9, 12)
        + SYNC
        + statement("COMMIT")
        + SYNC
    ),
    "back to a savepoint": (
        PREPARED
        + statement("BEGIN")
        + inserts(0, 5)
        + statement("SAVEPOINT s")
        + inserts(5, 9)
        + statement("ROLLBACK TO s")
        + inserts(9, 12)
        + statement("COMMIT")
        + SYNC
    ),
    "a block that only reads": statement("BEGIN READ ONLY")
    + PREPARED
    + inserts(0, 5)
    + SYNC
    + statement("ROLLBACK")
    + SYNC,
    "RETURNING": parse(f"{INSERT} RETURNING n + 1, name", name="insert") + inserts(0, 5) + SYNC,
    "several rows of VALUES": parse(f"{INSERT}, ($1, 'second')", name="insert")
    + inserts(0, 5)
    + SYNC,
    "expressions of parameters": (
        parse(
            "INSERT INTO pipelined (name, n, price) VALUES ($1, $2::integer + 1, $3)", name="insert"
        )
        + b"".join(insert(f"name {n}", n, f"{n}.26") for n in range(9))
        + SYNC
    ),
    "an expression fails in the middle": (
        parse("INSERT INTO pipelined (n) VALUES (10 / $1::integer)", name="insert")
        + b"".join(insert(n) for n in (3, 2, 1, 0, 5))
        + SYNC
    ),
    "a number is too large in the middle": (
        parse("INSERT INTO pipelined (n) VALUES ($1)", BIGINT, name="insert")
        + b"".join(insert(n) for n in (1, 2, 2**31, 3))
        + SYNC
    ),
    "a price is too large in the middle": (
        parse("INSERT INTO pipelined (n, price) VALUES (1, $1)", name="insert")
        + b"".join(insert(n) for n in ("1.25", "999.9", "1000", "2"))
        + SYNC
    ),
    "one parameter twice, and a constant": (
        parse(
            "INSERT INTO pipelined VALUES ($1, $2, $1, '2026-01-02')", INTEGER, TEXT, name="insert"
        )
        + inserts(0, 5)
        + SYNC
    ),
    "a declared date": (
        parse("INSERT INTO pipelined (n, at) VALUES ($1, $2)", INTEGER, DATE, name="insert")
        + b"".join(insert(n, f"2026-01-0{n}") for n in (1, 2, 3))
        + SYNC
    ),
    "no parameters": parse("INSERT INTO pipelined (n) VALUES (7)", name="insert")
    + insert() * 5
    + SYNC,
    "a default": parse("INSERT INTO pipelined (n, price) VALUES ($1, DEFAULT)", name="insert")
    + insert(1) * 3
    + SYNC,
    "a query": parse("INSERT INTO pipelined SELECT $1::integer, $2", name="insert")
    + inserts(0, 5)
    + SYNC,
    "too few parameters": PREPARED + insert(1) * 3 + SYNC,
    "the portal was run": PREPARED + inserts(0, 5) + execute() + SYNC,
    "a portal with a name": (
        PREPARED + (bind(1, "a", name="insert", portal="p") + execute("p") + CLOSE) * 3 + SYNC
    ),
    "a statement that does not exist": run(1, "a", name="missing") * 3 + SYNC,
    "two statements in turn": (
        PREPARED
        + parse("INSERT INTO pipelined (n, price) VALUES ($1, $2)", BIGINT, name="priced")
        + b"".join(insert(n, "a") + run(n, f"{n}.5", name="priced") for n in range(9))
        + SYNC
    ),
    "two statements in turn, and an error in the second": (
        PREPARED
        + statement("BEGIN")
        + parse("INSERT INTO pipelined (n, price) VALUES ($1, $2)", name="dear")
        + b"".join(insert(n, "a") + run(n, n * 33, name="dear") for n in (30, 31, 32, 33))
        + SYNC
        + statement("ROLLBACK")
        + SYNC
        + inserts(0, 3)
        + SYNC
    ),
    "a Flush in between": PREPARED + inserts(0, 5) + messages.message(b"H") + inserts(5, 7) + SYNC,
}


@pytest.fixture(scope="module")
def servers(sql_server: SqlServer, postgres_server: PostgresServer) -> list[str]:
    servers = [sql_server.dsn(), postgres_server.dsn()]
    for dsn in servers:
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS pipelined")
            connection.execute(SETUP)
    return servers


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_same_answers_as_postgres(servers: list[str], name: str) -> None:
    ours, theirs = (transcript(dsn, TRANSCRIPTS[name]) for dsn in servers)
    assert ours == theirs


def transcript(dsn: str, sent: bytes) -> tuple[list[object], list[tuple[object, ...]]]:
    """The answers to ``sent``, and the rows of the table afterwards."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("TRUNCATE pipelined")
        socket = connection.pgconn.socket
        os.write(socket, sent)
        answers = without_failed_binds(list(answered(socket, sent.count(SYNC))))
    with psycopg.connect(dsn, autocommit=True) as connection:
        return answers, connection.execute(COUNT).fetchall()


def without_failed_binds(answers: list[tuple[bytes, bytes]]) -> list[object]:
    """PostgreSQL plans at Bind, Reclock at Execute: the same error comes before or after
    BindComplete."""
    following = [*answers[1:], (b"", b"")]
    return [
        answer
        for answer, after in zip(answers, following, strict=True)
        if not (answer[0] == b"2" and after[0] == b"E")
    ]


def answered(socket: int, readies: int) -> Iterator[tuple[bytes, bytes]]:
    """Of each answer the kind, and what a program looks at: tags, rows, SQLSTATEs and the state of
    the transaction."""
    received = b""
    while readies:
        while len(received) < 5 or len(received) < 1 + int.from_bytes(received[1:5], "big"):
            try:
                more = os.read(socket, 1 << 16)
            except BlockingIOError:
                time.sleep(0.005)
                continue
            assert more, "the server closed the connection"
            received += more
        end = 1 + int.from_bytes(received[1:5], "big")
        kind, body, received = received[:1], received[5:end], received[end:]
        readies -= kind == b"Z"
        match kind:
            case b"E":
                yield kind, next(field[1:] for field in body.split(b"\0") if field[:1] == b"C")
            case b"T" | b"S" | b"N":
                yield kind, b""
            case _:
                yield kind, body


def test_executemany_of_psycopg(sql_server: SqlServer) -> None:
    with sql_server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE many (n bigint, name text, x double precision)")
        rows = [(n * 7919, f"näme {n}", None if n % 7 else n / 8) for n in range(20_000)]
        cursor.executemany("INSERT INTO many VALUES (%s, %s, %s)", rows)
        assert cursor.rowcount == len(rows)
        assert cursor.execute("SELECT n, name, x FROM many ORDER BY n").fetchall() == rows
        cursor.execute("CREATE TABLE strict (n integer NOT NULL)")
        with pytest.raises(errors.NotNullViolation):
            cursor.executemany(
                "INSERT INTO strict VALUES (%s)", [(n if n != 900 else None,) for n in range(1_000)]
            )
        cursor.executemany(
            "INSERT INTO many (n) VALUES (%s) RETURNING n", [(-1,), (-2,)], returning=True
        )
        assert [cursor.fetchone()] + ([cursor.fetchone()] if cursor.nextset() else []) == [
            (-1,),
            (-2,),
        ]


def test_every_execution_counts_in_the_activity(sql_server: SqlServer) -> None:
    with sql_server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE counted (n integer)")
        cursor.executemany("INSERT INTO counted VALUES (%s)", [(n,) for n in range(100)])
        shown = "SELECT query, state FROM pg_stat_activity WHERE query LIKE 'INSERT INTO counted%'"
        with sql_server.connect() as other:
            assert other.execute(shown).fetchall() == [("INSERT INTO counted VALUES ($1)", "idle")]


# --- without a server ---


ROWS = st.tuples(
    st.sampled_from(["insert", "other"]),
    st.none() | st.integers(),
    st.none() | st.text(max_size=5),
    st.none() | st.integers(0, 9).map(lambda n: [n]),
)


@given(st.lists(ROWS, min_size=1, max_size=6), st.data())
def test_bytes_ahead_are_the_messages_that_they_say(
    rows: list[tuple[str, int | None, str | None, list[int] | None]], data: st.DataObject
) -> None:
    """Whatever a client sends, the executions are exactly the messages that would be read one by
    one."""
    is_described = data.draw(st.booleans())
    write = described if is_described else run
    sent = bytearray(b"".join(write(*values, name=name) for name, *values in rows))
    first_end = 1 + int.from_bytes(sent[1:5], "big")
    if data.draw(st.booleans()):
        sent[data.draw(st.integers(first_end, len(sent) - 1))] = data.draw(st.integers(0, 255))
    sent = sent[: data.draw(st.integers(first_end, len(sent)))]
    first = messages.read(b"B", bytes(sent[5:first_end]))
    assert isinstance(first, messages.Bind)
    executions = executions_ahead(first, bytes(sent[first_end:]), ["insert", "other"].__contains__)
    if executions is None:
        return
    expected = [
        message
        for statement, row in executions.rows
        for message in (
            replace(executions.statements[statement], parameters=tuple(row)),
            *executions.after_bind,
        )
    ]
    assert list(read_all(bytes(sent[: first_end + executions.bytes_ahead]))) == expected
    assert executions.is_described == is_described


def test_whole_executions_are_found() -> None:
    ahead = inserts(1, 100) + bind(1, "cut off", name="insert")[:-3]
    first = messages.read(b"B", bind(0, "first", name="insert")[5:])
    assert isinstance(first, messages.Bind)
    assert executions_ahead(first, ahead, ["insert"].__contains__) is None
    executions = executions_ahead(first, execute() + ahead, ["insert"].__contains__)
    assert executions is not None
    assert len(executions.rows) == 100
    assert executions.rows[99] == (0, [b"99", b"name 99"])
    ahead = (
        execute() + run(1, name="other") + inserts(2, 4) + run(4, name="unknown") + inserts(5, 9)
    )
    executions = executions_ahead(first, ahead, ["insert", "other"].__contains__)
    assert executions is not None
    assert [statement for statement, _ in executions.rows] == [0, 1, 0, 0]
    assert executions.rows_of(1) == [[b"1"]]


def read_all(sent: bytes) -> Iterator[messages.Frontend]:
    while sent:
        end = 1 + int.from_bytes(sent[1:5], "big")
        assert end <= len(sent)
        yield messages.read(sent[:1], sent[5:end])
        sent = sent[end:]


@pytest.fixture
def session(tmp_path) -> Iterator[Session]:
    with Environment.initialise(tmp_path / "home") as environment:
        session = Session(environment)
        list(session.execute(SETUP))
        yield session


def test_many_executions_are_planned_once_and_write_once(session: Session, monkeypatch) -> None:
    prepared = session.prepare(INSERT, name="insert")
    columns = decode_columns(
        [(b"1", b"a"), (b"2", None)], prepared.parameter_types, [0, 0], UTC_CLOCK
    )
    session.transactions.begin_implicit()
    assert session.insert_all([RepeatedInsert(prepared, columns, 2)])
    assert session.transactions.block is not None
    (written,) = session.transactions.block.writes.values()
    assert [rows.num_rows for rows in written] == [2]
    session.transactions.end_implicit()
    (result,) = session.execute("SELECT n, name FROM pipelined ORDER BY n")
    assert list(result.rows()) == [(1, "a"), (2, None)]


def test_a_failed_attempt_leaves_the_block_as_it_was(session: Session) -> None:
    prepared = session.prepare(INSERT, name="insert")
    good = RepeatedInsert(prepared, [[1, 2], ["a", "b"]], 2)
    list(session.execute("BEGIN"))
    with pytest.raises(NotNullViolation):
        session.insert_all([good, RepeatedInsert(prepared, [[1, None], ["a", "b"]], 2)])
    assert session.insert_all([good])
    list(session.execute("COMMIT"))
    (result,) = session.execute("SELECT n FROM pipelined ORDER BY n")
    assert list(result.rows()) == [(1,), (2,)]


def test_a_text_that_is_no_text_is_a_violation(session: Session) -> None:
    prepared = session.prepare(INSERT, name="insert")
    with pytest.raises(ProtocolViolation):
        decode_columns([(b"1", b"a"), (b"2", b"\xff")], prepared.parameter_types, [0, 0], UTC_CLOCK)


def test_a_cancelled_attempt_is_not_repeated_one_by_one(session: Session, monkeypatch) -> None:
    prepared = session.prepare(INSERT, name="insert")
    session.transactions.begin_implicit()
    begin = session.cancellation.begin

    def begin_canceled(timeout_ms: int) -> None:
        begin(timeout_ms)
        session.cancel()

    monkeypatch.setattr(session.cancellation, "begin", begin_canceled)
    with pytest.raises(QueryCanceled):
        session.insert_all([RepeatedInsert(prepared, [[1, 2], ["a", "b"]], 2)])
