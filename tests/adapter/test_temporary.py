"""Temporary tables and views: of one session, in and out of transactions, and what they may not be
used for."""

from collections.abc import Callable, Iterator

import pytest

from reclock.adapter.session.session import Session
from reclock.errors import (
    AmbiguousColumn,
    DuplicateObject,
    InvalidSchema,
    NotNullViolation,
    ObjectQuarantined,
    ReclockError,
    UnknownRelation,
    UnsupportedSql,
)
from reclock.runtime.environment import Environment


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with Environment.initialise(tmp_path_factory.mktemp("temporary")) as opened:
        yield opened


@pytest.fixture
def new_session(environment: Environment) -> Iterator[Callable[[], Session]]:
    opened: list[Session] = []

    def start() -> Session:
        opened.append(Session(environment))
        return opened[-1]

    yield start
    for session in opened:
        session.close()


@pytest.fixture
def ada(new_session: Callable[[], Session]) -> Iterator[Session]:
    session = new_session()
    run(
        session,
        (
            "CREATE TABLE kept (id int NOT NULL, n int); INSERT INTO kept VALUES (1, 10), "
            "(2, 20), (2, 20), (3, NULL)"
        ),
    )
    yield session
    if session.in_block:
        run(session, "ROLLBACK")
    run(session, "DROP TABLE kept CASCADE")


def run(session: Session, text: str) -> object:
    """The rows of the last statement, in order, or its tag."""
    answers = [
        sorted(result.rows(), key=str) if result.desc else result.tag
        for result in session.execute(text)
    ]
    return answers[-1]


def test_a_temporary_table_is_its_sessions_alone(
    ada: Session, new_session: Callable[[], Session]
) -> None:
    bob = new_session()
    assert (
        run(ada, "CREATE TEMPORARY TABLE own (id int NOT NULL, word text DEFAULT 'none')")
        == "CREATE TABLE"
    )
    assert run(ada, "INSERT INTO own (id) VALUES (1), (2) RETURNING word") == [("none",), ("none",)]
    assert run(bob, "CREATE TEMP TABLE own AS SELECT n FROM kept WHERE id = 1") == "SELECT 1"
    assert run(ada, "UPDATE own SET word = 'two' WHERE id = 2") == "UPDATE 1"
    assert (
        run(ada, "SELECT * FROM own")
        == run(ada, "SELECT * FROM pg_temp.own")
        == [(1, "none"), (2, "two")]
    )
    assert run(bob, "SELECT * FROM mz_temp.own") == [(10,)]
    assert run(ada, "DELETE FROM own WHERE id = 1") == "DELETE 1"
    with pytest.raises(NotNullViolation):
        run(ada, "INSERT INTO own VALUES (NULL, 'x')")
    assert run(ada, "SELECT own.word, kept.n FROM own JOIN kept USING (id)") == [
        ("two", 20),
        ("two", 20),
    ]
    assert run(ada, "TRUNCATE own; SELECT count(*) FROM own") == [(0,)]
    ada.close()
    with pytest.raises(UnknownRelation):
        run(new_session(), "SELECT * FROM own")


def test_a_temporary_name_comes_before_a_kept_one(ada: Session) -> None:
    run(ada, "CREATE TEMP TABLE kept (word text); INSERT INTO kept VALUES ('mine')")
    assert run(ada, "SELECT * FROM kept") == [("mine",)]
    assert run(ada, "SELECT count(*) FROM public.kept") == [(4,)]
    with pytest.raises(DuplicateObject):
        run(ada, "CREATE TEMP VIEW kept AS SELECT 1 AS a")
    assert run(ada, "DROP TABLE kept; SELECT count(*) FROM kept") == [(4,)]


def test_a_temporary_view_follows_what_it_stands_on(ada: Session) -> None:
    run(
        ada,
        (
            "CREATE TEMP VIEW doubled AS SELECT id, n * 2 AS n FROM kept; CREATE TEMP VIEW "
            "again AS SELECT max(n) FROM doubled"
        ),
    )
    assert run(ada, "SELECT * FROM again") == [(40,)]
    run(ada, "INSERT INTO kept VALUES (4, 50)")
    assert run(ada, "SELECT * FROM again") == [(100,)]
    run(
        ada,
        (
            "CREATE OR REPLACE TEMP VIEW doubled2 AS SELECT 1 AS a; CREATE OR REPLACE TEMP "
            "VIEW doubled2 AS SELECT 2 AS b"
        ),
    )
    assert run(ada, "SELECT b FROM doubled2") == [(2,)]
    run(ada, "ALTER TABLE kept RENAME TO away")
    assert run(ada, "SELECT * FROM again") == [(100,)]
    assert run(ada, "SELECT b FROM doubled2") == [(2,)]
    run(ada, "ALTER TABLE away RENAME TO kept")
    assert run(ada, "SELECT * FROM again") == [(100,)]


def test_a_temporary_view_follows_new_names(
    ada: Session, new_session: Callable[[], Session]
) -> None:
    other = new_session()
    run(other, "CREATE SCHEMA s; CREATE SCHEMA far; CREATE TYPE s.mood AS ENUM ('sad', 'ok')")
    run(other, "CREATE TABLE s.a (n int, m s.mood); CREATE TABLE s.b (n int)")
    run(other, "INSERT INTO s.a VALUES (1, 'ok'); INSERT INTO s.b VALUES (2)")
    run(ada, "CREATE TEMP VIEW v AS SELECT a.n, s.b.n AS m FROM s.a, s.b WHERE m = 'ok'::s.mood")
    run(ada, "CREATE TEMP VIEW over_v AS SELECT n + m AS sum FROM v")
    assert run(ada, "SELECT v.n, m, sum FROM v, over_v") == [(1, 2, 3)]
    run(other, "ALTER TABLE s.a RENAME TO c; ALTER TABLE s.b RENAME TO a")
    run(other, "ALTER TABLE s.c RENAME TO b")  # the two have swapped their names
    assert run(ada, "SELECT n, m FROM v") == [(1, 2)]
    run(other, "ALTER TABLE s.a SET SCHEMA far; ALTER TYPE s.mood RENAME TO temper")
    run(ada, "ALTER TABLE far.a RENAME TO z")
    assert run(ada, "SELECT n, m FROM v") == [(1, 2)]
    run(ada, "BEGIN; ALTER SCHEMA s RENAME TO t")
    assert run(ada, "SELECT n, m FROM v") == [(1, 2)]
    run(ada, "ROLLBACK")
    assert run(ada, "SELECT n, m, sum FROM v, over_v") == [(1, 2, 3)]
    run(other, "DROP TABLE far.z")
    with pytest.raises(ObjectQuarantined, match=r"mz_temp\.v"):
        run(ada, "SELECT * FROM v")
    run(ada, "DROP VIEW over_v; DROP VIEW v; DROP SCHEMA s CASCADE; DROP SCHEMA far CASCADE")


def test_a_block_takes_back_what_it_made_and_wrote(ada: Session) -> None:
    run(ada, "CREATE TEMP TABLE own (n int); INSERT INTO own VALUES (1)")
    run(
        ada,
        (
            "BEGIN; INSERT INTO own VALUES (2); CREATE TEMP TABLE other AS SELECT 1 AS one; "
            "SAVEPOINT here; DROP TABLE own"
        ),
    )
    with pytest.raises(UnknownRelation):
        run(ada, "SELECT * FROM own")
    assert run(ada, "ROLLBACK TO here; SELECT * FROM own") == [(1,), (2,)]
    assert run(ada, "ROLLBACK; SELECT * FROM own") == [(1,)]
    with pytest.raises(UnknownRelation):
        run(ada, "SELECT * FROM other")
    assert run(ada, "BEGIN; INSERT INTO own VALUES (3); COMMIT; SELECT * FROM own") == [(1,), (3,)]
    with pytest.raises(ReclockError):
        run(ada, "CREATE TEMP TABLE failed AS SELECT 1 / (n - 1) AS x FROM own")
    with pytest.raises(UnknownRelation):
        run(ada, "SELECT * FROM failed")
    assert run(ada, "DISCARD TEMP; SELECT count(*) FROM pg_class WHERE relpersistence = 't'") == [
        (0,)
    ]


def test_a_block_fills_a_kept_table_from_a_temporary_one_as_dbt_does(
    ada: Session, new_session: Callable[[], Session]
) -> None:
    run(
        ada,
        (
            "BEGIN; CREATE TEMP TABLE fresh AS SELECT id, coalesce(n, 0) + 1 AS n FROM kept "
            "WHERE id > 1"
        ),
    )
    assert run(ada, "DELETE FROM kept USING fresh WHERE fresh.id = kept.id") == "DELETE 3"
    assert run(ada, "INSERT INTO kept (id, n) (SELECT id, n FROM fresh)") == "INSERT 0 3"
    assert run(new_session(), "SELECT * FROM kept") == [(1, 10), (2, 20), (2, 20), (3, None)]
    run(ada, "COMMIT")
    assert run(new_session(), "SELECT * FROM kept") == [(1, 10), (2, 21), (2, 21), (3, 1)]
    assert run(ada, "CREATE TABLE copied AS SELECT * FROM fresh; SELECT * FROM copied") == [
        (2, 21),
        (2, 21),
        (3, 1),
    ]
    run(ada, "DROP TABLE copied")


def test_the_catalog_shows_a_session_its_own(
    ada: Session, new_session: Callable[[], Session]
) -> None:
    run(
        ada,
        (
            "CREATE TEMP TABLE own (id int NOT NULL, pay numeric(10, 2)); CREATE TEMP VIEW "
            "seen AS SELECT id FROM own"
        ),
    )
    columns = (
        "SELECT table_schema, column_name, data_type FROM information_schema.columns WHERE "
        "table_name = 'own'"
    )
    assert run(ada, columns) == [("mz_temp", "id", "integer"), ("mz_temp", "pay", "numeric")]
    assert run(new_session(), columns) == []
    shown = (
        "SELECT relname, relkind, pg_table_is_visible(oid) FROM pg_class WHERE relpersistence = 't'"
    )
    assert run(ada, shown) == [("own", "r", True), ("seen", "v", True)]
    assert run(ada, "SELECT 'own'::regclass::text") == [("own",)]
    assert run(
        ada, "SELECT table_type FROM information_schema.tables WHERE table_name = 'own'"
    ) == [("LOCAL TEMPORARY",)]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW v AS SELECT * FROM own",
        "CREATE MATERIALIZED VIEW v AS SELECT * FROM own",
        "GRANT SELECT ON own TO reclock",
        "DROP TABLE own, kept",
        "SUBSCRIBE own",
        "CREATE TEMP MATERIALIZED VIEW v AS SELECT 1 AS a",
    ],
)
def test_what_temporary_tables_are_not_for(ada: Session, statement: str) -> None:
    run(ada, "CREATE TEMP TABLE own (id int)")
    with pytest.raises(UnsupportedSql):
        run(ada, statement)
    assert run(ada, "SELECT count(*) FROM kept, own") == [(0,)]


def test_a_temporary_name_has_no_other_schema(ada: Session) -> None:
    with pytest.raises(InvalidSchema, match="non-temporary schema"):
        run(ada, "CREATE TEMP TABLE public.own (id int)")


def test_the_present_stands_still_in_a_block(ada: Session) -> None:
    run(
        ada,
        (
            "BEGIN; CREATE TEMP TABLE began AS SELECT now() AS at, current_date AS day, "
            "localtimestamp AS here"
        ),
    )
    same = (
        "SELECT at = current_timestamp, at::date = day, at = here::timestamptz, at > "
        "'2020-01-01' FROM began"
    )
    assert run(ada, same) == [(True, True, True, True)]
    assert run(ada, "COMMIT; SELECT now() >= at FROM began") == [(True,)]


# --- UPDATE … FROM, DELETE … USING ---


def test_update_from_changes_each_row_once(ada: Session) -> None:
    run(
        ada,
        (
            "CREATE TEMP TABLE news (id int, n int); INSERT INTO news VALUES (2, 5), (2, 5), "
            "(3, 7), (9, 1)"
        ),
    )
    text = "UPDATE kept k SET n = news.n + 1 FROM news WHERE news.id = k.id RETURNING k.id, k.n"
    assert run(ada, text) == [(2, 6), (2, 6), (3, 8)]
    assert run(ada, "SELECT * FROM kept") == [(1, 10), (2, 6), (2, 6), (3, 8)]
    qualified = (
        "UPDATE reclock.public.kept SET n = NULL FROM news a, news b WHERE a.id = "
        "reclock.public.kept.id AND b.id = 9"
    )
    assert run(ada, qualified) == "UPDATE 3"
    assert run(ada, "SELECT * FROM kept") == [(1, 10), (2, None), (2, None), (3, None)]


def test_delete_using_takes_each_row_that_something_matches(ada: Session) -> None:
    run(ada, "CREATE TEMP TABLE old (key int, n int); INSERT INTO old VALUES (2, 0), (2, 1)")
    with pytest.raises(AmbiguousColumn):
        run(ada, "DELETE FROM kept USING old WHERE n = 0")
    assert run(
        ada, "DELETE FROM kept USING old WHERE id = key AND kept.n > old.n RETURNING id, old.*"
    ) == [(2, 2, 0), (2, 2, 0)]
    assert run(ada, "SELECT * FROM kept") == [(1, 10), (3, None)]
