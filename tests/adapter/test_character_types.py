"""``varchar(n)``, ``char(n)`` and ``name``: what PostgreSQL refuses is refused, and what it stores is stored."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from fixtures.sessions import run

from reclock.adapter.copy.transfer import CopyIn
from reclock.adapter.session.session import Session
from reclock.errors import ReclockError
from reclock.runtime.environment import Environment

TABLE = (
    "id serial, v varchar(3), c char(3), one char, d character varying(4) DEFAULT 'dflt', n name"
)
STATEMENTS = [
    "INSERT INTO t (v, c, one) VALUES ('abc', 'ab', 'x')",
    "INSERT INTO t (v) VALUES ('abcd')",
    "INSERT INTO t (c) VALUES ('abcd')",
    "INSERT INTO t (one) VALUES ('xy')",
    "INSERT INTO t (v, c, one) VALUES ('ab     ', 'a      ', 'x      ')",
    "INSERT INTO t (v, c) VALUES (' ab', '  a'), ('', ''), (NULL, NULL), ('äöü', '世界')",
    "INSERT INTO t (v) VALUES ('äöüß')",
    "INSERT INTO t (v, c) VALUES ('abcdef'::varchar(3), 'abcdef'::char(3))",
    "INSERT INTO t (v) VALUES (1234)",
    "INSERT INTO t (v) VALUES (123)",
    "INSERT INTO t (v, c) SELECT d, c FROM t",
    "INSERT INTO t (v, c) SELECT left(d, 2), c FROM t WHERE v = 'abc'",
    "INSERT INTO t (v, c) SELECT left(d, 2) || '      ', c FROM t WHERE v = 'abc'",
    "INSERT INTO t (v) VALUES (upper('abc')), (upper('abcd'))",
    "UPDATE t SET v = v || 'x' WHERE v = 'abc'",
    "UPDATE t SET c = c || 'x' WHERE c = 'ab'",
    "UPDATE t SET v = 'too long'",
    "UPDATE t SET d = DEFAULT, v = 'new' WHERE v = 'abc'",
    "INSERT INTO t (v) VALUES ($$a'b$$)",
    "INSERT INTO t (n) VALUES (NULL), (repeat('x', 63)), (repeat('ä', 40)), ('short')",
    f"INSERT INTO t (n) VALUES ('{'y' * 70}'), ('{'z' * 62}ä'), ('{'世' * 22}')",
    "UPDATE t SET n = 'a' || n || v || repeat('😀', 20) WHERE n IS NOT NULL OR v = 'new'",
    "INSERT INTO t (n) SELECT ('b' || n || '  ')::name FROM t WHERE n LIKE '%y%'",
]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Environment.initialise(tmp_path_factory.mktemp("characters")) as environment:
        session = Session(environment)
        run(session, f"CREATE TABLE t ({TABLE.replace('id serial', 'id int')})")
        yield session
        session.close()


@pytest.fixture(scope="module")
def postgres(postgres_server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres_server.dsn(), autocommit=True) as connection:
        connection.execute(f"CREATE TEMP TABLE t ({TABLE})")
        yield connection


def test_what_is_assigned_is_stored_or_refused_as_by_postgresql(
    session: Session, postgres: psycopg.Connection
) -> None:
    stored = "SELECT v, rtrim(c), rtrim(one), d, n, octet_length(n) FROM t"
    for sql in STATEMENTS:
        theirs = ours = None
        try:
            postgres.execute(sql.encode())
        except psycopg.Error as error:
            theirs = error.sqlstate, error.diag.message_primary
        try:
            run(session, sql)
        except ReclockError as error:
            ours = error.sqlstate, error.message
        assert ours == theirs, sql
        assert sorted(map(repr, run(session, stored))) == sorted(
            map(repr, postgres.execute(stored).fetchall())
        ), sql


def copied(session: Session, data: bytes) -> str:
    (copy,) = session.execute("COPY copied FROM STDIN")
    assert isinstance(copy, CopyIn)
    copy.write(data)
    return copy.finish().tag


def test_copy_checks_lengths_too(session: Session) -> None:
    run(session, "CREATE TABLE copied (v varchar(3), c char(3))")
    assert copied(session, b"abc\tab\n\\N\t\\N\nab     \ta      \n") == "COPY 3"
    for too_long in (b"abcd\ta\n", b"a\tabcd\n"):
        with pytest.raises(ReclockError) as raised:
            copied(session, too_long)
        assert raised.value.sqlstate == "22001"
    assert sorted(map(repr, run(session, "SELECT * FROM copied"))) == [
        "('ab ', 'a  ')",
        "('abc', 'ab ')",
        "(None, None)",
    ]


def test_a_default_that_is_too_long_is_refused_with_the_table(session: Session) -> None:
    with pytest.raises(ReclockError, match="too long for type character varying"):
        run(session, "CREATE TABLE refused (v varchar(3) DEFAULT 'long')")
    with pytest.raises(ReclockError, match="length for type varchar"):
        run(session, "CREATE TABLE refused (v varchar(0))")


def test_a_table_made_of_a_query_keeps_the_digits_of_its_numerics(session: Session) -> None:
    run(
        session,
        (
            "CREATE TABLE digits AS SELECT (1.0::float8 / 3)::numeric AS x, 0.5::numeric(38, "
            "9) * 0.5::numeric(38, 9) AS y"
        ),
    )
    assert [tuple(map(str, row)) for row in run(session, "SELECT * FROM digits")] == [
        ("0.333333333333333000", "0.250000000000000000")
    ]
