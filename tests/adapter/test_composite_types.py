"""Composite types: PostgreSQL's answers, stored, maintained, durable, and shown to clients."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from fixtures.sessions import run
from fixtures.side_by_side import assert_same_rows_in_clients
from fixtures.side_by_side import ours as ours
from fixtures.side_by_side import theirs as theirs
from psycopg.types.composite import CompositeInfo, register_composite

from reclock.adapter.session.session import Session
from reclock.errors import ReclockError, UnsupportedSql
from reclock.runtime.environment import Environment

SCRIPT = r"""
CREATE TYPE coord AS (x int, y numeric(6,2));
CREATE TYPE coord AS (x int);
CREATE TYPE twice AS (x int, x text);
CREATE TYPE lost AS (x nope);
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TYPE place AS (name text, at coord, tags text[], m mood, "Odd ""One" date);
SELECT ROW(1, 2.345)::coord;
SELECT '(1,2.345)'::coord, coord '(,)', ' ( 7 , 8 ) '::coord, NULL::coord;
SELECT '(1)'::coord;
SELECT '(1,2,3)'::coord;
SELECT '1,2'::coord;
SELECT '(1,2'::coord;
SELECT '(1,2) x'::coord;
SELECT '(a,2)'::coord;
SELECT ROW(1)::coord;
SELECT ROW(1, 2, 3)::coord;
SELECT 5::coord;
SELECT (ROW(1, 2)::coord).x, (ROW(1, 2)::coord).*, (coord '(3,)').y;
SELECT (ROW(1, 2)::coord).z;
CREATE TABLE p (n int, at coord, place place, list coord[]);
INSERT INTO p VALUES (1, ROW(1, 2), ROW('a "b"', ROW(3, 4), '{x,NULL,"y z"}', 'ok', '2024-02-29'), ARRAY[ROW(1, 2)::coord]);
INSERT INTO p VALUES (2, '(1,)', '("a\\b","(5,6)","{""q,r""}",sad,)', '{"(1,2)",NULL,"(3,)"}');
INSERT INTO p VALUES (3, NULL, NULL, NULL), (4, '(,)', '(,,,,)', '{}'), (5, (2, 1), '("",,{},ok,)', NULL);
INSERT INTO p (n, at) SELECT n + 10, at FROM p WHERE n < 3;
INSERT INTO p (n, at) SELECT 20, ROW(n, n)::coord FROM p WHERE n = 5;
INSERT INTO p (n, at) VALUES (6, 5);
INSERT INTO p (n, at) VALUES (6, ROW(1));
INSERT INTO p (n, at) SELECT 6, place FROM p;
INSERT INTO p (n, at) VALUES (6, '(1,x)');
SELECT * FROM p ORDER BY n;
SELECT n, at FROM p ORDER BY at, n;
SELECT n, place FROM p ORDER BY place DESC, n;
SELECT n, list FROM p ORDER BY list, n;
SELECT n, (at).x, (place).at, ((place).at).y, (p.place).tags[2], (list[1]).y FROM p ORDER BY n;
SELECT (at).* FROM p ORDER BY 1, 2;
SELECT n, (place).* FROM p ORDER BY n;
SELECT n, at IS NULL, at IS NOT NULL, place IS NULL, place IS NOT NULL FROM p ORDER BY n;
SELECT n FROM p WHERE at = ROW(1, 2)::coord ORDER BY n;
SELECT n FROM p WHERE ROW(1, 2.0::numeric(6,2)) = at ORDER BY n;
SELECT n FROM p WHERE at = coord '(1,2)' ORDER BY n;
SELECT n FROM p WHERE at < ROW(2, 0)::coord ORDER BY n;
SELECT n FROM p WHERE at <> ROW(1, 2)::coord AND at >= '(1,0)'::coord ORDER BY n;
SELECT n FROM p WHERE at IN (ROW(1, 2)::coord, ROW(2, 1)::coord) ORDER BY n;
SELECT n FROM p WHERE at IS DISTINCT FROM ROW(1, NULL)::coord ORDER BY n;
SELECT n FROM p WHERE (place).m = 'ok' ORDER BY n;
SELECT at, count(*) FROM p GROUP BY at ORDER BY at;
SELECT DISTINCT place FROM p ORDER BY place;
SELECT DISTINCT ON (at) at, n FROM p ORDER BY at, n DESC;
SELECT a.n, b.n FROM p AS a JOIN p AS b ON a.at = b.at ORDER BY 1, 2;
SELECT at FROM p UNION SELECT ROW(9, 9)::coord ORDER BY 1;
SELECT n, rank() OVER (ORDER BY at) FROM p ORDER BY n;
SELECT array_agg(at ORDER BY n) FROM p;
SELECT coalesce(at, ROW(0, 0)::coord), CASE WHEN n > 2 THEN at END FROM p ORDER BY n;
SELECT to_jsonb(at), row_to_json(at), to_jsonb(place) FROM p WHERE n = 1;
SELECT to_jsonb(list), to_jsonb(p) FROM p WHERE n = 2;
SELECT at::text, place::text, list::text FROM p ORDER BY n;
SELECT length(at::text) FROM p ORDER BY n;
SELECT pg_typeof(1), count(*) FROM p WHERE pg_typeof(at) = 'coord'::regtype;
UPDATE p SET at = ROW(7, 7) WHERE at = ROW(1, 2)::coord RETURNING n, at;
UPDATE p SET at = '(8,)' WHERE n = 4 RETURNING at;
UPDATE p SET place = ROW('c', ROW(n, NULL), NULL, NULL, NULL) WHERE n = 4 RETURNING place;
CREATE TABLE checked (at coord CHECK ((at).x > 0), place place, list coord[] NOT NULL);
INSERT INTO checked VALUES ((0, 1), ('a b', (1, 2), '{x}', 'ok', NULL), '{"(1,2)",NULL}');
INSERT INTO checked VALUES ((1, NULL), NULL, NULL);
INSERT INTO checked VALUES ((1, 2), NULL, '{}');
ALTER TABLE checked ADD CHECK ((at).y > 3);
UPDATE p SET place = ('c', at, '{1}', 'sad', '2024-01-01') WHERE n = 4 RETURNING (place).*;
UPDATE p SET at.x = n, place.at.y = n + 0.125, place."Odd ""One" = '2020-02-02' WHERE n = 1 RETURNING n, at, place;
UPDATE p SET at.x = n, place.at.y = n + 0.125, place."Odd ""One" = '2020-02-02' WHERE n = 3 RETURNING n, at, place;
UPDATE p AS "Q" SET (at.x, at.y) = (SELECT "Q".n, 2), list[1].x = 5, list[2] = ROW(6, "Q".n) WHERE n = 2 RETURNING at, list;
UPDATE p SET place.tags[2] = 'two', place.tags[1] = (place).tags[2] WHERE n = 1 RETURNING (place).tags;
UPDATE p SET at.x = 1, at = NULL;
UPDATE p SET at = NULL, at.x = 1;
UPDATE p SET at.z = 1;
UPDATE p SET n.z = 1;
UPDATE p SET n[1] = 1;
UPDATE p SET at.x = DEFAULT;
UPDATE p SET at.x = 'x';
UPDATE p SET at.x = now();
DELETE FROM p WHERE at = ROW(8, NULL)::coord RETURNING n;
SELECT n, at FROM p ORDER BY n;
PREPARE near (coord) AS SELECT n FROM p WHERE at >= $1 ORDER BY n;
EXECUTE near('(2,0)');
EXECUTE near(ROW(7, 7));
EXECUTE near('(2)');
CREATE VIEW v AS SELECT n, at, (at).x AS x, ROW(n, n)::coord AS own FROM p;
SELECT * FROM v ORDER BY n;
CREATE TABLE copied AS SELECT at, list FROM p;
SELECT * FROM copied ORDER BY at, list;
ALTER TABLE copied ADD COLUMN more coord DEFAULT ROW(1, 1);
SELECT DISTINCT more FROM copied;
ALTER TYPE coord RENAME TO spot;
SELECT 'spot'::regtype::oid = (SELECT atttypid FROM pg_attribute WHERE attrelid = 'p'::regclass AND attname = 'at');
SELECT n, at::spot FROM p ORDER BY n;
SELECT '(1,2)'::coord;
CREATE TYPE nearly AS (x int, y numeric(6,2));
SELECT ROW(1, 2)::nearly::spot;
SELECT ROW(1, 2)::nearly = ROW(1, 2)::spot;
INSERT INTO p (n, at) VALUES (7, ROW(1, 2)::nearly);
SELECT typname, typtype, typcategory, typlen FROM pg_type WHERE typname IN ('spot', '_spot', 'place') ORDER BY 1;
SELECT t.typname, c.relname, c.relkind, c.relnatts FROM pg_type t JOIN pg_class c ON c.oid = t.typrelid
    WHERE t.typname IN ('spot', 'place') ORDER BY 1;
SELECT attname, attnum, atttypid = 'text'::regtype FROM pg_attribute WHERE attrelid = (SELECT typrelid FROM pg_type
    WHERE typname = 'place') ORDER BY attnum;
SELECT column_name, data_type, udt_name FROM information_schema.columns WHERE table_name = 'p' ORDER BY ordinal_position;
SELECT n, l.* FROM p, unnest(list) AS l ORDER BY n, l.x;
SELECT l.x, y, n FROM p, unnest(list) WITH ORDINALITY AS l (x, y, k) ORDER BY n, k;
SELECT u.y, v.x FROM unnest(ARRAY[ROW(1, 2), NULL]::spot[]) AS u, unnest(ARRAY[ROW(3, 4)]::spot[]) AS v (x, y) ORDER BY 1;
SELECT * FROM unnest(ARRAY[1, 2], ARRAY[ROW(3, 4)]::spot[]) AS u (n, x, y) ORDER BY n;
CREATE FUNCTION moved(s spot, by int) RETURNS spot LANGUAGE SQL AS $$ SELECT ROW((s).x + by, (s).y)::spot $$;
SELECT moved(at, 2), (moved('(1,2)', 1)).x FROM p ORDER BY n;
SELECT * FROM moved(ROW(1, 2), 3);
SELECT m.x, n FROM p, moved(at, n) AS m ORDER BY n;
DROP FUNCTION moved;
COMMENT ON TYPE spot IS 'where';
SELECT obj_description('spot'::regtype, 'pg_type');
DROP TYPE spot;
DROP TYPE spot RESTRICT;
DROP TYPE nope;
DROP TYPE IF EXISTS nope;
DROP VIEW v;
DROP TABLE p, copied;
DROP TYPE spot;
DROP TYPE place, spot;
SELECT '(1,2)'::spot;
"""


@pytest.fixture
def session(environment: Environment) -> Session:
    return Session(environment)


def test_composite_types_answer_as_in_postgres(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    assert_same_rows_in_clients(ours, theirs, SCRIPT)


@pytest.fixture
def places(session: Session) -> Session:
    run(
        session,
        "CREATE TYPE spot AS (x int, y text); CREATE TABLE p (n int, at spot, l spot[]);"
        "INSERT INTO p VALUES (1, ROW(1, 'a'), '{\"(1,a)\"}'), (2, '(1,)', NULL), (3, NULL, '{}')",
    )
    return session


@pytest.mark.parametrize(
    "query",
    [
        "SELECT at, count(*) AS c FROM p GROUP BY at",
        "SELECT n, (at).y AS y FROM p WHERE at < ROW(2, 'b')::spot",
        "SELECT DISTINCT ON (at) at, n FROM p ORDER BY at, n",
        "SELECT a.n, b.n AS k FROM p AS a JOIN p AS b ON a.at = b.at",
        "SELECT n, rank() OVER (ORDER BY at) AS r, l FROM p",
        "SELECT n, ROW(at, n)::text AS t, to_jsonb(at) AS j, at IS NULL AS missing FROM p",
    ],
)
def test_a_view_is_maintained_by_fields(places: Session, query: str) -> None:
    run(places, f"CREATE MATERIALIZED VIEW v AS {query}")
    for change in (
        "INSERT INTO p VALUES (4, ROW(1, 'a'), NULL), (5, ROW(NULL, 'b'), ARRAY[ROW(2, 'c')::spot])",
        "UPDATE p SET at = ROW(0, 'z') WHERE n = 2",
        "UPDATE p SET at = NULL WHERE n = 1",
        "DELETE FROM p WHERE at > ROW(1, '')::spot",
    ):
        run(places, change)
        maintained = sorted(map(repr, run(places, "SELECT * FROM v")))
        assert maintained == sorted(map(repr, run(places, query))), change
        assert maintained


def test_a_type_is_there_after_a_restart(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path / "home") as environment:
        run(
            Session(environment),
            "CREATE SCHEMA lab; CREATE TYPE lab.spot AS (x int, y text);"
            "CREATE TYPE pair AS (a lab.spot, b lab.spot[]);"
            "CREATE TABLE t (p pair); INSERT INTO t VALUES (ROW(ROW(1, 'a'), '{}'));"
            "CREATE MATERIALIZED VIEW v AS SELECT (p).a AS spot, count(*) AS n FROM t GROUP BY 1;"
            "ALTER SCHEMA lab RENAME TO hall; ALTER TYPE hall.spot RENAME TO place;"
            "ALTER TYPE hall.place SET SCHEMA public",
        )
    with Environment.open(tmp_path / "home") as environment:
        session = Session(environment)
        run(session, "INSERT INTO t VALUES ('(\"(1,a)\",)')")
        assert run(session, "SELECT spot::text, n, (spot).y FROM v") == [("(1,a)", 2, "a")]
        assert run(session, "SHOW CREATE TYPE pair") == [
            (
                "reclock.public.pair",
                "CREATE TYPE reclock.public.pair AS (a reclock.public.place, b reclock.public.place[])",
            )
        ]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TYPE t AS ()",
        "CREATE TYPE t AS (a varchar(3))",
        "CREATE TYPE t AS (a char(3)[])",
        "CREATE TYPE t AS (a timestamp(3))",
        "CREATE TYPE t AS (a positive)",
        "CREATE TYPE t AS (a regclass)",
        "ALTER TYPE spot ADD ATTRIBUTE z int",
        "ALTER TYPE spot RENAME ATTRIBUTE x TO z",
        "DROP TYPE spot CASCADE",
    ],
)
def test_what_is_missing_is_refused_with_a_hint(places: Session, statement: str) -> None:
    run(places, "CREATE DOMAIN positive AS int CHECK (VALUE > 0)")
    with pytest.raises(UnsupportedSql) as refused:
        run(places, statement)
    assert refused.value.sqlstate == "0A000"
    assert refused.value.hint


def test_a_message_says_what_is_wrong_with_a_record(places: Session) -> None:
    for text, detail in (
        ("(1)", "Too few columns."),
        ("(1,2,3)", "Too many columns."),
        ("1", "Missing left parenthesis."),
        ("(1,", "Unexpected end of input."),
        ("(1,2)x", "Junk after right parenthesis."),
    ):
        with pytest.raises(ReclockError) as refused:
            run(places, f"SELECT '{text}'::spot")
        assert refused.value.message == f'malformed record literal: "{text}"'
        assert refused.value.detail == detail


def test_clients_know_the_type_by_its_number(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    for connection in (ours, theirs):
        connection.execute("CREATE TYPE spot AS (x int, y text); CREATE TABLE p (s spot, l spot[])")
        connection.execute("INSERT INTO p VALUES (ROW(1, 'a b'), ARRAY[ROW(2, NULL)::spot])")
        cursor = connection.execute("SELECT s, l FROM p")
        described = [column.type_code for column in cursor.description or ()]
        numbers = connection.execute(
            "SELECT oid, typarray FROM pg_type WHERE typname = 'spot' AND typtype = 'c'"
        ).fetchone()
        assert tuple(described) == numbers


def test_a_registered_type_is_read_and_written_by_clients(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    for connection in (ours, theirs):
        connection.execute("CREATE TYPE spot AS (x int, y text); CREATE TABLE p (s spot, l spot[])")
        info = CompositeInfo.fetch(connection, "spot")
        assert info is not None
        register_composite(info, connection)
        spot = info.python_type
        assert spot is not None
        values = [spot(1, 'a "b"'), [spot(2, None), None]]
        connection.execute("INSERT INTO p VALUES (%t, %t)", values)
        for is_binary in (False, True):
            rows = connection.execute("SELECT s, l FROM p", binary=is_binary).fetchall()
            assert [list(row) for row in rows] == [values]


def test_rows_are_copied_in_and_out(ours: psycopg.Connection, theirs: psycopg.Connection) -> None:
    written = []
    for connection in (ours, theirs):
        connection.execute("CREATE TYPE spot AS (x int, y text); CREATE TABLE p (s spot, l spot[])")
        with connection.cursor().copy("COPY p FROM STDIN") as copy:
            copy.write('(1,"a b")\t{"(2,)",NULL}\n(,)\t\\N\n')
        with connection.cursor().copy("COPY p FROM STDIN (FORMAT csv)") as copy:
            copy.write('"(3,""c,d"")","{}"\n')
        rows = []
        for options in ("", "(FORMAT csv)"):
            with connection.cursor().copy(
                f"COPY (SELECT * FROM p ORDER BY s) TO STDOUT {options}"
            ) as c:
                rows.append(b"".join(map(bytes, c)))
        written.append(rows)
    assert written[0] == written[1]
