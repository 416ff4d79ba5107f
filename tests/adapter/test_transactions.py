"""Transactions of sessions: what a block sees, when it commits, and that what it read decides
whether it may."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fixtures.planning import World

from reclock.adapter.context import cancellation
from reclock.adapter.session.session import Session
from reclock.adapter.transaction.session_transactions import TransactionStatus
from reclock.adapter.transaction.transaction import Transaction
from reclock.algebra.ids import TABLES
from reclock.errors import (
    ReclockError,
    RelationChanged,
    SqlSyntaxError,
    StatementTimeout,
    TransactionFailed,
    UnsupportedSql,
    WriteConflict,
)
from reclock.runtime.environment import Environment


@pytest.fixture
def environment(migrated_url: str, tmp_path: Path, monkeypatch) -> Iterator[Environment]:
    monkeypatch.setenv("RECLOCK_CONSENSUS_URL", migrated_url)
    with Environment.initialise(tmp_path / "home") as opened:
        yield opened


@pytest.fixture
def ada(new_session) -> Session:
    session = new_session()
    run(session, "CREATE TABLE a (id int NOT NULL, n int); CREATE TABLE b (id int NOT NULL, n int)")
    run(session, "INSERT INTO a VALUES (1, 10); INSERT INTO b VALUES (1, 10)")
    return session


@pytest.fixture
def bob(ada, new_session) -> Session:
    return new_session()


def run(session: Session, text: str) -> Any:
    """The rows of the last statement, or its tag."""
    answers = [
        list(result.rows()) if result.desc else result.tag for result in session.execute(text)
    ]
    return answers[-1]


def total(session: Session) -> object:
    [(found,)] = run(session, "SELECT sum(n) FROM (SELECT n FROM a UNION ALL SELECT n FROM b) x")
    return found


def test_nobody_sees_a_block_before_its_commit_and_then_all_of_it(
    ada: Session, bob: Session
) -> None:
    run(ada, "BEGIN; INSERT INTO a VALUES (2, 5); UPDATE b SET n = n - 5")
    assert total(ada) == 20
    assert run(bob, "SELECT * FROM a") == [(1, 10)]
    assert run(ada, "COMMIT") == "COMMIT"
    assert total(bob) == 20
    assert run(bob, "SELECT * FROM a ORDER BY id") == [(1, 10), (2, 5)]


def test_a_block_reads_at_one_time_and_all_of_the_schema_of_its_first_query(
    ada: Session, bob: Session
) -> None:
    run(ada, "BEGIN; SELECT * FROM a")
    run(bob, "UPDATE b SET n = 11; INSERT INTO a VALUES (9, 9)")
    assert run(ada, "SELECT n FROM b") == [(10,)]
    assert run(ada, "SELECT n FROM a") == [(10,)]
    assert run(ada, "COMMIT") == "COMMIT"
    assert run(ada, "SELECT n FROM b") == [(11,)]


def test_a_lost_update_is_refused(ada: Session, bob: Session) -> None:
    run(ada, "BEGIN; SELECT n FROM a")
    run(bob, "UPDATE a SET n = n + 1")
    run(ada, "UPDATE a SET n = 11")
    with pytest.raises(WriteConflict):
        run(ada, "COMMIT")
    assert ada.transaction_status is TransactionStatus.IDLE
    assert run(ada, "SELECT n FROM a") == [(11,)]
    assert run(bob, "SELECT n FROM a") == [(11,)]


@pytest.fixture
def lose_races(bob: Session, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Has ``bob`` change the row of ``a`` before each of the next commits of others."""
    monkeypatch.setattr(cancellation, "_BACKOFF_S", 0)
    commit = Transaction.commit
    remaining = [0]

    def commit_late(transaction: Transaction) -> object:
        if remaining[0]:
            remaining[0], races = 0, remaining[0]
            run(bob, "BEGIN; UPDATE a SET n = n + 1; COMMIT")  # blocks do not queue
            remaining[0] = races - 1
        return commit(transaction)

    monkeypatch.setattr(Transaction, "commit", commit_late)
    return partial(remaining.__setitem__, 0)


def test_a_statement_of_its_own_is_tried_until_it_wins(
    ada: Session, lose_races: Callable[[int], None]
) -> None:
    lose_races(25)
    assert run(ada, "UPDATE a SET n = n * 2") == "UPDATE 1"
    assert run(ada, "SELECT n FROM a") == [((10 + 25) * 2,)]


def test_a_statement_that_loses_all_the_time_ends_with_its_timeout(
    ada: Session, lose_races: Callable[[int], None]
) -> None:
    run(ada, "SET statement_timeout = '2s'")
    lose_races(1_000_000)
    with pytest.raises(StatementTimeout):
        run(ada, "UPDATE a SET n = n * 2")


def test_write_skew_is_refused(ada: Session, bob: Session) -> None:
    for session, read, written in ((ada, "a", "b"), (bob, "b", "a")):
        run(session, f"BEGIN; SELECT n FROM {read}; INSERT INTO {written} VALUES (7, 7)")
    run(ada, "COMMIT")
    with pytest.raises(WriteConflict):
        run(bob, "COMMIT")
    assert (run(ada, "SELECT count(*) FROM a"), run(ada, "SELECT count(*) FROM b")) == (
        [(1,)],
        [(2,)],
    )


def test_blocks_that_only_insert_never_conflict(ada: Session, bob: Session) -> None:
    for session in (ada, bob):
        run(session, "BEGIN; INSERT INTO a VALUES (5, 5)")
    run(ada, "COMMIT")
    run(bob, "COMMIT")
    assert run(ada, "SELECT count(*) FROM a") == [(3,)]


def test_a_single_statement_that_reads_and_writes_is_tried_again(
    ada: Session, bob: Session, monkeypatch
) -> None:
    tables, real, calls = ada.environment.stores.tables, ada.environment.stores.tables.commit, []

    def commit(*args, **kwargs):
        if not calls:
            calls.append(1)
            run(bob, "BEGIN; UPDATE a SET n = n + 100; COMMIT")  # a block takes no turn
        return real(*args, **kwargs)

    monkeypatch.setattr(tables, "commit", commit)
    run(ada, "UPDATE a SET n = n + 1")
    assert run(ada, "SELECT n FROM a") == [(111,)]


def test_a_rollback_leaves_nothing(ada: Session, bob: Session) -> None:
    run(ada, "BEGIN; TRUNCATE a, b; SET search_path = nowhere; SET LOCAL statement_timeout = 5000")
    assert run(ada, "ROLLBACK") == "ROLLBACK"
    assert total(bob) == 20
    assert run(ada, "SHOW search_path") == [("public",)]


def test_what_is_set_locally_ends_with_the_block_and_what_is_set_stays(ada: Session) -> None:
    run(ada, "BEGIN; SET LOCAL cluster = 'a'; SET transaction_isolation = 'serializable'")
    assert run(ada, "SHOW cluster") == [("a",)]
    run(ada, "COMMIT")
    assert (run(ada, "SHOW cluster"), run(ada, "SHOW transaction_isolation")) == (
        [("default",)],
        [("serializable",)],
    )


@pytest.mark.parametrize(
    "mistake", ["SELECT nothing", "SELEC 1", "INSERT INTO a VALUES ('x')", "ROLLBACK TO s"]
)
def test_after_a_mistake_the_block_has_failed(ada: Session, bob: Session, mistake: str) -> None:
    run(ada, "BEGIN; DELETE FROM a")
    with pytest.raises(ReclockError):
        run(ada, mistake)
    assert ada.transaction_status is TransactionStatus.FAILED
    with pytest.raises(TransactionFailed):
        run(ada, "SELECT 1")
    assert run(ada, "COMMIT") == "ROLLBACK"
    assert (ada.transaction_status, total(bob)) == (TransactionStatus.IDLE, 20)


def test_statements_sent_together_are_one_transaction(ada: Session, bob: Session) -> None:
    with pytest.raises(ReclockError):
        list(ada.execute_as_one("INSERT INTO a VALUES (2, 2); SELECT nothing"))
    assert (ada.transaction_status, total(bob)) == (TransactionStatus.IDLE, 20)
    tags = [
        result.tag
        for result in ada.execute_as_one("INSERT INTO a VALUES (2, 2); INSERT INTO b VALUES (2, 2)")
    ]
    assert (tags, total(bob)) == (["INSERT 0 1", "INSERT 0 1"], 24)
    list(ada.execute_as_one("INSERT INTO a VALUES (3, 3); BEGIN; INSERT INTO a VALUES (4, 4)"))
    assert (ada.transaction_status, total(bob)) == (TransactionStatus.IN_BLOCK, 24)
    run(ada, "ROLLBACK")
    list(
        ada.execute_as_one(
            "INSERT INTO a VALUES (5, 5); CREATE VIEW w AS SELECT 1 AS x; SELECT * FROM w"
        )
    )
    assert total(bob) == 29


def test_a_table_dropped_under_a_transaction_fails_it_whole(ada: Session, bob: Session) -> None:
    run(ada, "BEGIN; INSERT INTO a VALUES (2, 2); INSERT INTO b VALUES (2, 2)")
    run(bob, "DROP TABLE b; CREATE TABLE b (id int NOT NULL, n int)")
    with pytest.raises(RelationChanged):
        run(ada, "COMMIT")
    assert run(bob, "SELECT count(*) FROM a") == [(1,)]


@pytest.mark.parametrize("text", ["INSERT INTO a (id) VALUES (2)", "UPDATE a SET n = DEFAULT"])
def test_a_statement_of_its_own_is_planned_again_if_its_table_changed(
    ada: Session, bob: Session, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = ["ALTER TABLE a ALTER COLUMN n SET DEFAULT 7", "ALTER TABLE a ADD COLUMN x int"]
    commit = Transaction.commit

    def commit_late(transaction: Transaction) -> None:
        if transaction.writes and changes:
            run(bob, changes.pop())
        commit(transaction)

    monkeypatch.setattr(Transaction, "commit", commit_late)
    run(ada, text)
    assert not changes
    assert run(ada, "SELECT count(*) FROM a WHERE n = 7") == [(1,)]


def test_a_table_of_the_same_name_in_a_schema_not_searched_changes_nothing(
    ada: Session, bob: Session
) -> None:
    run(ada, "BEGIN; INSERT INTO a VALUES (2, 2); INSERT INTO b VALUES (2, 2)")
    run(bob, "CREATE SCHEMA other; CREATE TABLE other.a (x int); CREATE TABLE other.b (x int)")
    run(ada, "COMMIT")
    assert run(bob, "SELECT count(*) FROM a") == [(2,)]


REDEFINED = {
    "the view itself": "CREATE OR REPLACE VIEW v AS SELECT id, -n AS n FROM b",
    (
        "a view that it stands on"
    ): "DROP VIEW v, inner_v; CREATE VIEW inner_v AS SELECT id, -n AS n FROM b; "
    "CREATE VIEW v AS SELECT id, n FROM inner_v",
    "a view that it stands on, replaced": "CREATE OR REPLACE VIEW inner_v AS SELECT id, -n AS n, "
    "1 AS more FROM b",
    "a view of constants": "CREATE OR REPLACE VIEW c AS SELECT 2 AS x",
    "the view is gone": "DROP VIEW v",
    "another has its name": (
        "ALTER VIEW v RENAME TO w; CREATE VIEW v AS SELECT id, -n AS n FROM b"
    ),
    "a default": "ALTER TABLE a ALTER COLUMN n SET DEFAULT 5",
    "another is found first": "CREATE VIEW first.v AS SELECT id, -n AS n FROM b",
}


@pytest.mark.parametrize("changed", REDEFINED.values(), ids=REDEFINED.keys())
def test_a_view_that_a_transaction_used_is_as_it_was_at_its_commit(
    ada: Session, bob: Session, changed: str
) -> None:
    run(
        bob,
        (
            "CREATE VIEW inner_v AS SELECT id, n FROM b; CREATE VIEW v AS SELECT id, n FROM "
            "inner_v; CREATE VIEW c AS SELECT 1 AS x; CREATE SCHEMA first"
        ),
    )
    run(ada, "SET search_path = first, public")
    run(ada, "BEGIN; INSERT INTO a SELECT x, x FROM c; INSERT INTO a SELECT id + 1, n FROM v")
    run(bob, changed)
    with pytest.raises(RelationChanged):
        run(ada, "COMMIT")
    assert run(bob, "SELECT count(*) FROM a") == [(1,)]


@pytest.mark.parametrize(
    "changed",
    ["CREATE OR REPLACE VIEW v AS SELECT id, -n AS n FROM b", REDEFINED["another has its name"]],
)
def test_a_block_that_reads_a_view_again_reads_the_same_view(
    ada: Session, bob: Session, changed: str
) -> None:
    run(bob, "CREATE VIEW v AS SELECT id, n FROM b; CREATE VIEW unrelated AS SELECT 1 AS x")
    run(ada, "BEGIN; SELECT * FROM v")
    run(bob, changed)
    assert run(ada, "SELECT * FROM unrelated") == [(1,)]
    with pytest.raises(RelationChanged):
        run(ada, "SELECT * FROM v")


def test_a_view_that_only_changes_its_name_is_as_it_was(ada: Session, bob: Session) -> None:
    run(bob, "CREATE VIEW v AS SELECT id, n FROM b")
    run(ada, "BEGIN; INSERT INTO a SELECT id + 1, n FROM v")
    run(bob, "ALTER VIEW v RENAME TO w; CREATE VIEW unrelated AS SELECT 1 AS x")
    assert run(ada, "COMMIT") == "COMMIT"
    assert run(bob, "SELECT count(*) FROM a") == [(2,)]


def test_other_definitions_do_not_disturb_a_transaction(ada: Session, bob: Session) -> None:
    run(ada, "BEGIN; INSERT INTO a VALUES (2, 2)")
    run(bob, "CREATE TABLE c (x int); ALTER TABLE b RENAME TO d")
    run(ada, "COMMIT")
    assert run(bob, "SELECT count(*) FROM a") == [(2,)]


def test_a_transaction_that_writes_reads_no_source(ada: Session) -> None:
    run(ada, "CREATE SOURCE s (x int) FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'b' FORMAT JSON")
    with pytest.raises(UnsupportedSql):
        run(ada, "INSERT INTO a SELECT x, x FROM s")
    run(ada, "BEGIN; SELECT * FROM s")
    with pytest.raises(UnsupportedSql):
        run(ada, "INSERT INTO a VALUES (1, 1)")
    run(ada, "ROLLBACK; BEGIN; INSERT INTO a VALUES (1, 1)")
    with pytest.raises(UnsupportedSql):
        run(ada, "SELECT * FROM s")


def test_as_of_is_for_statements_outside_of_blocks(ada: Session) -> None:
    run(ada, "BEGIN")
    with pytest.raises(UnsupportedSql):
        run(ada, "SELECT * FROM a AS OF 5")


def test_a_syntax_error_outside_of_a_block_leaves_no_trace(ada: Session) -> None:
    with pytest.raises(SqlSyntaxError):
        run(ada, "SELEC")
    assert ada.transaction_status is TransactionStatus.IDLE


def test_a_block_holds_what_is_in_the_schemas_of_its_first_query_and_what_views_there_stand_on() -> (
    None
):
    world = World()
    world.execute("CREATE TABLE a (x int); CREATE TABLE lab.b (x int); CREATE TABLE lab.c (x int)")
    source = "FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'b' FORMAT JSON"
    world.execute(
        f"CREATE SOURCE lab.s (x int) {source}; CREATE SOURCE far (x int) {source}; "
        f"CREATE SOURCE near (x int) {source}"
    )
    world.execute("CREATE VIEW lab.v AS SELECT x FROM far")
    select = world.select("SELECT * FROM lab.b")
    found = Transaction._reachable(frozenset({TABLES}), select, world.catalog)
    assert found == {TABLES, world.item("s").id, world.item("far").id}


def test_a_large_write_is_staged_and_read_at_once(ada: Session, environment: Environment) -> None:
    run(ada, f"INSERT INTO a VALUES {', '.join(f'({n}, {n})' for n in range(1_000))}")
    for _ in range(8):
        run(ada, "INSERT INTO a SELECT id, n FROM a")
    staged = list(
        Path(environment.stores.settings.lake_root).glob("*/table/_staging/*/rows.parquet")
    )
    assert staged
    assert run(ada, "SELECT count(*) FROM a WHERE id > 1") == [(998 * 256,)]
    environment.stores.tables.apply()
    assert run(ada, "SELECT count(*), sum(n) FROM a WHERE id > 1") == [
        (998 * 256, (999 * 500 - 1) * 256)
    ]


def test_rows_are_there_after_the_process_has_gone_whoever_applied_them(
    ada: Session, environment: Environment
) -> None:
    run(ada, "INSERT INTO a VALUES (2, 2)")
    environment.stores.tables.apply()
    assert environment.stores.tables.log.pending() == []
    with Environment.open(environment.stores.settings.home) as again:
        assert total(Session(again)) == 22


def test_rolling_back_to_a_savepoint_takes_back_what_came_after_it_and_heals_the_block(
    ada: Session, bob: Session
) -> None:
    run(
        ada,
        (
            "BEGIN; SET LOCAL cluster = default; INSERT INTO a VALUES (2, 1); SAVEPOINT one; "
            "INSERT INTO a VALUES (3, 1)"
        ),
    )
    run(ada, "SAVEPOINT two; SET application_name = 'gone'; DELETE FROM b")
    with pytest.raises(ReclockError):
        run(ada, "SELECT nothing")
    with pytest.raises(TransactionFailed):
        run(ada, "SAVEPOINT three")
    run(ada, "ROLLBACK TO SAVEPOINT two")
    assert run(ada, "SHOW application_name") == [("",)]
    assert run(ada, "SELECT count(*) FROM b") == [(1,)]
    run(ada, "ROLLBACK TO one")
    assert run(ada, "SELECT id FROM a ORDER BY id") == [(1,), (2,)]
    with pytest.raises(ReclockError, match='savepoint "two" does not exist'):
        run(ada, "RELEASE two")
    run(ada, "ROLLBACK TO one; RELEASE SAVEPOINT one; INSERT INTO b VALUES (2, 5); COMMIT")
    assert run(
        bob, "SELECT count(*), sum(n) FROM (SELECT * FROM a UNION ALL SELECT * FROM b) x"
    ) == [(4, 26)]


def test_the_newest_savepoint_of_a_name_is_meant_until_it_is_released(ada: Session) -> None:
    run(
        ada,
        (
            "BEGIN; SAVEPOINT s; INSERT INTO a VALUES (2, 1); SAVEPOINT s; INSERT INTO a "
            "VALUES (3, 1); ROLLBACK TO s"
        ),
    )
    assert run(ada, "SELECT count(*) FROM a") == [(2,)]
    run(ada, "RELEASE s; ROLLBACK TO s")
    assert run(ada, "SELECT count(*) FROM a") == [(1,)]
    run(ada, "ROLLBACK")


@pytest.mark.parametrize("text", ["SAVEPOINT s", "RELEASE s", "ROLLBACK TO SAVEPOINT s"])
def test_savepoints_are_of_blocks(ada: Session, text: str) -> None:
    with pytest.raises(ReclockError, match="can only be used in transaction blocks"):
        run(ada, text)


def test_what_pools_send_when_a_connection_comes_back(ada: Session) -> None:
    assert run(ada, "CLOSE ALL; UNLISTEN *; RESET ALL") == "RESET"
    assert run(ada, "UNLISTEN *") == "UNLISTEN"
