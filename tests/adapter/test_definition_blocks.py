"""Definitions in transaction blocks: the block sees them, others do after its COMMIT, all of them
at once."""

from pathlib import Path
from typing import Any

import pytest

from reclock import failpoints
from reclock.adapter.session.session import Session
from reclock.adapter.transaction.session_transactions import TransactionStatus
from reclock.collections import tables
from reclock.collections.tables import table_id
from reclock.errors import (
    DuplicateObject,
    MixedTransaction,
    ReclockError,
    RelationChanged,
    TransactionActive,
    TransactionReadOnly,
    UniqueViolation,
    UnknownRelation,
    WriteConflict,
)
from reclock.pipeline import maintenance
from reclock.runtime.environment import Environment


@pytest.fixture
def ada(new_session) -> Session:
    session = new_session()
    run(
        session,
        (
            "CREATE TABLE a (id int, n int); INSERT INTO a VALUES (1, 10), (2, 20); CREATE "
            "VIEW v AS SELECT n FROM a"
        ),
    )
    return session


@pytest.fixture
def bob(ada, new_session) -> Session:
    return new_session()


def run(session: Session, text: str) -> Any:
    """The rows of the last statement in order, or its tag."""
    answers = [
        sorted(result.rows()) if result.desc else result.tag for result in session.execute(text)
    ]
    return answers[-1]


def test_a_block_sees_what_it_defines_and_others_see_it_all_at_once(
    ada: Session, bob: Session
) -> None:
    run(
        ada,
        (
            "BEGIN; CREATE VIEW w AS SELECT n + 1 AS n FROM v; CREATE SCHEMA lab; CREATE "
            "VIEW lab.x AS SELECT n FROM w"
        ),
    )
    assert run(ada, "SELECT * FROM lab.x") == [(11,), (21,)]
    assert run(ada, "SHOW VIEWS") == [("v",), ("w",)]
    assert run(bob, "SHOW VIEWS") == [("v",)]
    assert run(ada, "COMMIT") == "COMMIT"
    assert run(bob, "SELECT * FROM lab.x") == [(11,), (21,)]
    run(ada, "BEGIN; DROP SCHEMA lab CASCADE; DROP VIEW w; ROLLBACK")
    assert run(bob, "SELECT * FROM lab.x") == [(11,), (21,)]


def test_a_relation_is_swapped_for_a_new_one_under_its_name(ada: Session, bob: Session) -> None:
    run(ada, "CREATE TABLE model AS SELECT 1 AS x; CREATE INDEX model_x ON model (x)")
    run(
        ada,
        (
            "BEGIN; CREATE TABLE model_new AS SELECT n AS x FROM v; ALTER TABLE model RENAME "
            "TO model_old"
        ),
    )
    run(ada, "ALTER TABLE model_new RENAME TO model; ALTER INDEX model_x RENAME TO model_old_x")
    assert run(ada, "SELECT x FROM model") == [(10,), (20,)]
    assert run(bob, "SELECT x FROM model") == [(1,)]
    run(
        ada,
        (
            "CREATE INDEX IF NOT EXISTS by_x ON model USING btree (x); CREATE INDEX IF NOT "
            "EXISTS by_x ON model (x)"
        ),
    )
    run(ada, "COMMIT; DROP TABLE IF EXISTS model_old CASCADE")
    assert run(bob, "SELECT x FROM model") == [(10,), (20,)]
    assert run(bob, "SHOW TABLES") == [("a",), ("model",)]


def test_a_renamed_view_is_what_other_views_stand_on(ada: Session) -> None:
    run(ada, "CREATE VIEW w AS SELECT v.n FROM v; ALTER TABLE v RENAME TO u")
    assert run(ada, "SELECT * FROM w") == [(10,), (20,)]
    assert run(ada, "SHOW CREATE VIEW u") == [
        ("reclock.public.u", "CREATE VIEW reclock.public.u AS SELECT n FROM reclock.public.a")
    ]
    run(
        ada,
        "CREATE MATERIALIZED VIEW m AS SELECT n FROM u; ALTER MATERIALIZED VIEW m RENAME TO o;"
        "ALTER INDEX m_primary_idx RENAME TO i",
    )
    assert run(ada, "SHOW INDEXES") == [("default", "o", "i", 1, "n", None, True)]
    with pytest.raises(DuplicateObject):
        run(ada, "ALTER VIEW u RENAME TO w")


def test_a_table_made_in_a_block_is_written_and_read_there(ada: Session, bob: Session) -> None:
    run(
        ada,
        (
            "BEGIN; CREATE TABLE t (x int NOT NULL, y text DEFAULT 'none'); INSERT INTO t "
            "VALUES (1), (1), (2)"
        ),
    )
    run(
        ada,
        "UPDATE t SET y = 'two' WHERE x = 2; DELETE FROM t WHERE x = 3; ALTER TABLE t RENAME TO s",
    )
    assert run(ada, "SELECT * FROM s") == [(1, "none"), (1, "none"), (2, "two")]
    assert run(ada, "SELECT count(*) FROM s JOIN a ON a.id = s.x") == [(3,)]
    with pytest.raises(UnknownRelation):
        run(bob, "SELECT * FROM s")
    run(ada, "COMMIT")
    assert run(bob, "SELECT * FROM s") == [(1, "none"), (1, "none"), (2, "two")]
    run(bob, "INSERT INTO s VALUES (3); DELETE FROM s WHERE x = 1")
    assert run(ada, "SELECT * FROM s") == [(2, "two"), (3, "none")]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("CREATE TABLE t AS SELECT n, 'x' AS c FROM v", [(10, "x"), (20, "x")]),
        ("CREATE TABLE t (m) AS SELECT n FROM v WITH DATA", [(10,), (20,)]),
        ("CREATE TABLE IF NOT EXISTS t (m) AS (VALUES (1.5, NULL::text))", [(1.5, None)]),
        ("CREATE TABLE t AS SELECT n FROM v WITH NO DATA", []),
    ],
)
def test_a_table_holds_what_a_query_answers(
    ada: Session, bob: Session, text: str, rows: list[tuple[object, ...]]
) -> None:
    run(ada, text)
    assert run(bob, "SELECT * FROM t") == rows
    assert run(ada, "CREATE TABLE IF NOT EXISTS t AS SELECT 1") == "CREATE TABLE"
    assert run(bob, "SELECT * FROM t") == rows


def test_definitions_of_others_in_between_are_planned_upon(ada: Session, bob: Session) -> None:
    run(ada, "BEGIN; CREATE TABLE t AS SELECT n FROM a; CREATE VIEW w AS SELECT n FROM t")
    run(
        bob,
        (
            "CREATE TABLE other (x int); ALTER TABLE a RENAME TO b; ALTER TABLE b RENAME TO "
            "a; INSERT INTO other VALUES (7)"
        ),
    )
    run(ada, "COMMIT")
    assert (run(bob, "SELECT * FROM w"), run(bob, "SELECT * FROM other")) == (
        [(10,), (20,)],
        [(7,)],
    )


def test_what_cannot_be_planned_upon_another_definition_fails_whole(
    ada: Session, bob: Session
) -> None:
    run(ada, "BEGIN; CREATE VIEW first AS SELECT 1 AS x; CREATE VIEW taken AS SELECT 1 AS x")
    run(bob, "CREATE VIEW taken AS SELECT 2 AS x")
    with pytest.raises(DuplicateObject):
        run(ada, "COMMIT")
    assert ada.transaction_status is TransactionStatus.IDLE
    assert run(bob, "SHOW VIEWS") == [("taken",), ("v",)]


def test_a_savepoint_takes_back_definitions(ada: Session, bob: Session) -> None:
    run(
        ada,
        (
            "BEGIN; CREATE TABLE t (x int); INSERT INTO t VALUES (1); SAVEPOINT s; INSERT "
            "INTO t VALUES (2); DROP VIEW v"
        ),
    )
    run(ada, "CREATE TABLE u (x int); INSERT INTO u VALUES (1)")
    with pytest.raises(UnknownRelation):
        run(ada, "SELECT * FROM v")
    run(ada, "ROLLBACK TO s; CREATE VIEW w AS SELECT x FROM t")
    assert run(ada, "SHOW VIEWS") == [("v",), ("w",)]
    run(ada, "COMMIT")
    assert (run(bob, "SELECT * FROM w"), run(bob, "SHOW TABLES")) == ([(1,)], [("a",), ("t",)])


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO a VALUES (3, 30); CREATE TABLE t AS SELECT id FROM a",
        "CREATE TABLE t (id int PRIMARY KEY); INSERT INTO a VALUES (3, 30);"
        "INSERT INTO t SELECT id FROM a",
        "CREATE TABLE t (id int); CREATE VIEW w AS SELECT id FROM a; SAVEPOINT s; DELETE FROM a;"
        "DROP TABLE t; ROLLBACK TO s; INSERT INTO a SELECT 3, 30; INSERT INTO t SELECT id FROM w",
    ],
)
@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_definitions_and_writes_to_older_tables_are_one_transaction(
    ada: Session, bob: Session, text: str, end: str
) -> None:
    run(ada, f"BEGIN; {text}")
    assert run(ada, "SELECT * FROM a, t WHERE a.id = t.id AND n = 30") == [(3, 30, 3)]
    assert run(bob, "SELECT count(*) FROM a") == [(2,)]
    with pytest.raises(UnknownRelation):
        run(bob, "SELECT * FROM t")
    run(ada, end)
    if end == "COMMIT":
        assert run(bob, "SELECT * FROM t") == [(1,), (2,), (3,)]
        assert run(bob, "SELECT n FROM v") == [(10,), (20,), (30,)]
    else:
        assert run(bob, "SELECT count(*) FROM a") == [(2,)]
        assert run(bob, "SHOW TABLES") == [("a",)]


@pytest.mark.parametrize("meanwhile", ["UPDATE a SET n = 11 WHERE id = 1", "DROP TABLE a CASCADE"])
def test_definitions_fail_with_the_writes_beside_them(
    ada: Session, bob: Session, meanwhile: str
) -> None:
    run(ada, "BEGIN; CREATE TABLE t (x int); UPDATE a SET n = n + 1")
    run(bob, meanwhile)
    with pytest.raises((WriteConflict, RelationChanged)):
        run(ada, "COMMIT")
    assert ("t",) not in run(bob, "SHOW TABLES")


def test_other_definitions_and_writes_meanwhile_do_not_hinder(ada: Session, bob: Session) -> None:
    run(bob, "CREATE TABLE k (id int PRIMARY KEY); INSERT INTO k VALUES (1)")
    run(ada, "BEGIN; CREATE TABLE t (x int); INSERT INTO k VALUES (2)")
    run(bob, "CREATE TABLE other (x int); INSERT INTO k VALUES (3)")
    run(ada, "COMMIT")
    assert run(bob, "SELECT id FROM k") == [(1,), (2,), (3,)]
    run(ada, "BEGIN; CREATE VIEW u AS SELECT 1 AS x; INSERT INTO k VALUES (4)")
    run(bob, "INSERT INTO k VALUES (4)")
    with pytest.raises((WriteConflict, UniqueViolation)):
        run(ada, "COMMIT")
    assert ("u",) not in run(bob, "SHOW VIEWS")


def test_rows_of_a_table_that_the_block_drops_are_not_written(ada: Session, bob: Session) -> None:
    run(ada, "BEGIN; INSERT INTO a VALUES (3, 30); CREATE TABLE t AS SELECT * FROM a")
    run(ada, "DROP TABLE a CASCADE; ALTER TABLE t RENAME TO a; COMMIT")
    assert run(bob, "SELECT id FROM a") == [(1,), (2,), (3,)]


def test_definitions_that_change_nothing_any_more_leave_the_writes(
    ada: Session, bob: Session
) -> None:
    run(ada, "BEGIN; CREATE VIEW IF NOT EXISTS w AS SELECT 1 AS x; INSERT INTO a VALUES (3, 30)")
    run(bob, "CREATE VIEW w AS SELECT 1 AS x")
    run(ada, "COMMIT")
    assert run(bob, "SELECT count(*) FROM a") == [(3,)]


def test_a_catalog_in_the_lake_refuses_both_in_one_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECLOCK_CATALOG", "persist")
    with Environment.initialise(tmp_path / "lake") as opened:
        session = Session(opened)
        run(session, "CREATE TABLE a (id int)")
        for text in (
            "INSERT INTO a VALUES (1); CREATE TABLE t (x int)",
            "CREATE VIEW w AS SELECT 1 AS x; DELETE FROM a",
        ):
            with pytest.raises(MixedTransaction):
                run(session, f"BEGIN; {text}")
            assert run(session, "COMMIT") == "ROLLBACK"


def test_a_table_made_and_dropped_in_one_block_leaves_nothing(
    ada: Session, environment: Environment
) -> None:
    run(
        ada,
        (
            "BEGIN; CREATE TABLE t AS SELECT 1 AS x; DROP TABLE t; CREATE VIEW w AS SELECT 1 "
            "AS x; COMMIT"
        ),
    )
    assert run(ada, "SHOW TABLES") == [("a",)]
    assert [str(id) for id in environment.stores.lake.list()] == [
        str(table_id(environment.stores.planner_catalog().resolve(["a"], ada.planner.names).id))
    ]


def test_a_read_only_block_defines_nothing_and_decisions_are_alone(ada: Session) -> None:
    run(ada, "CREATE SOURCE s (x int) FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'b' FORMAT JSON")
    with pytest.raises(TransactionReadOnly):
        run(ada, "BEGIN READ ONLY; CREATE VIEW w AS SELECT 1 AS x")
    run(ada, "ROLLBACK")
    with pytest.raises(TransactionActive):
        run(ada, "BEGIN; SELECT 1; ALTER SOURCE s RETRY")
    run(ada, "ROLLBACK")


def test_a_table_that_was_filled_and_never_made_is_swept_away_once_its_lease_is_over(
    ada: Session, environment: Environment, monkeypatch
) -> None:
    class Crash(Exception):
        pass

    def reach(point: str) -> None:
        if point == "tables.fill.written":
            raise Crash

    before = environment.stores.lake.list()
    with monkeypatch.context() as patch:
        patch.setattr(failpoints, "on_reach", reach)
        with pytest.raises(Crash):
            run(ada, "CREATE TABLE t AS SELECT n FROM v")
    assert run(ada, "SHOW TABLES") == [("a",)]
    assert maintenance.sweep(environment).orphans == ()
    assert len(environment.stores.lake.list()) == len(before) + 1
    run(ada, "CREATE TABLE t AS SELECT n FROM v")
    monkeypatch.setattr(tables, "STAGING_LEASE_MS", 0)
    with monkeypatch.context() as patch:
        patch.setattr(failpoints, "on_reach", reach)
        with pytest.raises(Crash):
            run(ada, "CREATE TABLE u AS SELECT n FROM v")
    assert len(maintenance.sweep(environment).orphans) == 1
    assert run(ada, "SELECT * FROM t") == [(10,), (20,)]


def test_what_a_block_makes_is_read_at_one_time_whoever_writes_meanwhile(
    ada: Session, bob: Session
) -> None:
    run(ada, "BEGIN; SELECT * FROM a")
    run(bob, "INSERT INTO a VALUES (3, 30)")
    run(ada, "CREATE TABLE t AS SELECT n FROM a; COMMIT")
    assert run(bob, "SELECT * FROM t") == [(10,), (20,)]


def test_the_rows_outlast_the_process(ada: Session, environment: Environment) -> None:
    run(ada, "BEGIN; CREATE TABLE t AS SELECT n FROM a; COMMIT")
    with Environment.open(environment.stores.settings.home) as again:
        assert run(Session(again), "SELECT * FROM t") == [(10,), (20,)]


def test_a_block_that_has_failed_defines_nothing(ada: Session) -> None:
    run(ada, "BEGIN; CREATE VIEW w AS SELECT 1 AS x")
    with pytest.raises(ReclockError):
        run(ada, "CREATE VIEW w AS SELECT 1 AS x")
    assert run(ada, "COMMIT") == "ROLLBACK"
    assert run(ada, "SHOW VIEWS") == [("v",)]


_MIGRATIONS = (
    # each block as Django or Alembic sends it: definitions, data, and what was migrated
    """CREATE TABLE kinds (id integer NOT NULL PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY,
            name varchar(100) NOT NULL, app varchar(100) NOT NULL);
        ALTER TABLE kinds ADD CONSTRAINT kinds_uniq UNIQUE (app, name)""",
    """CREATE TABLE rights (id serial PRIMARY KEY, kind_id integer NOT NULL, word varchar(10));
        ALTER TABLE rights ADD CONSTRAINT rights_fk FOREIGN KEY (kind_id) REFERENCES kinds (id)
            DEFERRABLE INITIALLY DEFERRED;
        CREATE INDEX rights_word_like ON rights (word varchar_pattern_ops);
        INSERT INTO kinds (name, app) VALUES ('page', 'site'), ('user', 'site');
        INSERT INTO rights (kind_id, word) SELECT id, 'read' FROM kinds""",
    """ALTER TABLE kinds ALTER COLUMN name DROP NOT NULL;
        UPDATE kinds SET name = NULL;
        ALTER TABLE kinds DROP COLUMN name CASCADE""",
    """ALTER TABLE rights ALTER COLUMN word TYPE varchar(255);
        ALTER TABLE rights ADD COLUMN is_on boolean DEFAULT true NOT NULL;
        ALTER TABLE rights ALTER COLUMN is_on DROP DEFAULT;
        SET CONSTRAINTS rights_fk IMMEDIATE;
        ALTER TABLE rights RENAME COLUMN word TO code;
        COMMENT ON COLUMN rights.code IS 'what is allowed';
        CREATE UNIQUE INDEX rights_once ON rights (kind_id, code);
        UPDATE rights SET code = code || id""",
)


def test_the_blocks_of_migration_tools_commit_with_their_records(
    ada: Session, bob: Session
) -> None:
    run(ada, "CREATE TABLE migrated (number int)")
    for number, migration in enumerate(_MIGRATIONS):
        run(ada, f"BEGIN; {migration}; INSERT INTO migrated VALUES ({number}); ROLLBACK")
        run(ada, f"BEGIN; {migration}; INSERT INTO migrated VALUES ({number}); COMMIT")
    assert run(bob, "SELECT number FROM migrated") == [(0,), (1,), (2,), (3,)]
    assert run(bob, "SELECT kind_id, code, is_on FROM rights") == [
        (kind, f"read{id}", True) for id, kind in run(bob, "SELECT id, kind_id FROM rights")
    ]
    assert [len(row) for row in run(bob, "SELECT * FROM kinds")] == [2, 2]
    with pytest.raises(UniqueViolation):
        run(bob, "INSERT INTO rights (kind_id, code, is_on) SELECT kind_id, code, true FROM rights")
