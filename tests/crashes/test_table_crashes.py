"""A process is killed at every named point of writing and following tables: all of a commit is
there, or nothing."""

from pathlib import Path

import pytest
from crashes import storage_worker
from fixtures.forks import die_at
from fixtures.lakes import DESC
from fixtures.sessions import sql
from fixtures.tables import A, B, C, open_tables, read, write

from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.collections.compaction import vacuum
from reclock.collections.tables import Tables, table_id
from reclock.runtime.environment import Environment


@pytest.fixture
def opened(migrated_url: str, tmp_path: Path):
    tables, consensus, _ = open_tables(migrated_url, str(tmp_path / "lake"))
    yield tables, migrated_url, str(tmp_path / "lake")
    consensus.close()


def check_followed(tables: Tables, *expected: dict[tuple[str, int], int]) -> None:
    """The tables read so, before and after everything was applied, however often; and nothing is
    left over."""
    for _ in range(3):
        assert read(tables, A, B) == list(expected)
        tables.apply()
    assert tables.log.pending() == []
    for id in (A, B):
        collection = tables._lake.open(table_id(id))
        vacuum(collection, before=MAXIMUM, claimed_staging=frozenset())
        assert not collection.folder.walk("_staging")
    assert read(tables, A, B) == list(expected)


@pytest.mark.parametrize(
    ("killed_at", "is_staged", "has_committed"),
    [
        ("tables.commit.before", False, False),
        ("tables.commit.after", False, True),
        ("tables.stage.reserved", True, False),
        ("tables.stage.written", True, False),
        ("tables.commit.before", True, False),
        ("tables.commit.after", True, True),
    ],
)
def test_a_writer_killed_anywhere_has_committed_to_both_tables_or_to_none(
    opened, killed_at: str, is_staged: bool, has_committed: bool
) -> None:
    tables, url, lake = opened
    write(tables, a={("x", 1): 1})
    die_at(killed_at, storage_worker.write, url, lake, is_staged)
    if has_committed:
        check_followed(tables, {("x", 2): 1}, {("y", 1): 1})
    else:
        check_followed(tables, {("x", 1): 1}, {})


@pytest.mark.parametrize(
    ("killed_at", "is_staged"),
    [
        ("tables.apply.before_append", True),
        ("collections.append.before_write", False),
        ("collections.append.before_commit", False),
        ("collections.commit.landed", True),
        ("tables.apply.after_append", False),
        ("tables.apply.before_trim", False),
        ("tables.apply.after_trim", True),
    ],
)
def test_an_applier_killed_anywhere_changes_no_answer_and_is_finished_by_any_other(
    opened, killed_at: str, is_staged: bool
) -> None:
    tables, url, lake = opened
    write(tables, a={("x", 1): 1})
    die_at(killed_at, storage_worker.write, url, lake, is_staged, True)
    check_followed(tables, {("x", 2): 1}, {("y", 1): 1})


@pytest.mark.parametrize("killed_at", ["tables.fill.reserved", "tables.fill.written"])
def test_a_table_half_filled_is_not_there_and_is_made_by_repeating(
    tmp_path: Path, killed_at: str
) -> None:
    create = "CREATE TABLE filled AS SELECT 7 AS n"
    with Environment.initialise(tmp_path) as environment:
        die_at(killed_at, storage_worker.execute, tmp_path, create)
        assert sql(environment, "SHOW TABLES") == []
        assert sql(environment, f"{create}; SELECT n FROM filled") == [(7,)]


@pytest.mark.parametrize(
    ("killed_at", "has_committed"),
    [
        ("tables.fill.written", False),
        ("definitions.before_commit", False),
        ("catalog.stash.append.updates_written", False),
        ("catalog.stash.append.before_commit", False),
        ("catalog.commit.after_append", True),
        ("definitions.after_commit", True),
    ],
)
def test_a_block_killed_anywhere_has_defined_and_written_or_neither(
    tmp_path: Path, killed_at: str, has_committed: bool
) -> None:
    # the id of a new table is reserved by a commit to the catalog, which has these failpoints too
    made = "VIEW" if killed_at.startswith("catalog") else "TABLE"
    block = f"""BEGIN; INSERT INTO log VALUES ('made'); CREATE {made} made AS SELECT 1 AS x;
        CREATE VIEW w AS SELECT x, s FROM made, log; UPDATE log SET s = s || '!'; COMMIT"""
    rows = [(1, "begun!"), (1, "made!")]
    with Environment.initialise(tmp_path) as environment:
        sql(environment, "CREATE TABLE log (s text); INSERT INTO log VALUES ('begun')")
        die_at(killed_at, storage_worker.execute, tmp_path, block)
        if not has_committed:
            assert sql(environment, "SELECT s FROM log") == [("begun",)]
            assert sql(environment, "SHOW VIEWS") == []
            sql(environment, block)
        assert sql(environment, "SELECT x, s FROM w ORDER BY s") == rows


@pytest.mark.parametrize(
    ("killed_at", "has_committed"),
    [
        ("tables.fill.written", False),
        ("definitions.before_commit", False),
        ("definitions.after_commit", True),
    ],
)
def test_a_table_whose_rows_are_written_again_is_the_old_or_the_new(
    tmp_path: Path, killed_at: str, has_committed: bool
) -> None:
    alter = "ALTER TABLE t ADD COLUMN b int DEFAULT 2"
    with Environment.initialise(tmp_path) as environment:
        sql(environment, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
        die_at(killed_at, storage_worker.execute, tmp_path, alter)
        if not has_committed:
            assert sql(environment, "SELECT * FROM t") == [(1,)]
            sql(environment, alter)
        assert sql(environment, "INSERT INTO t VALUES (3); SELECT * FROM t") == [(1, 2), (3, 2)]


@pytest.mark.parametrize("killed_at", ["tables.create.before_register"])
def test_a_table_half_made_is_made_by_repeating(opened, killed_at: str) -> None:
    tables, url, lake = opened
    die_at(killed_at, storage_worker.create_table, url, lake)
    assert "u9" not in tables.log.table_ids()
    tables.create("u9", DESC, at=Timestamp(5))
    assert "u9" in tables.log.table_ids()


@pytest.mark.parametrize("killed_at", ["tables.drop.before_forget"])
def test_a_table_half_dropped_takes_nobody_along_and_is_dropped_by_repeating(
    opened, killed_at: str
) -> None:
    tables, url, lake = opened
    write(tables, a={("x", 1): 1}, c={("z", 1): 1})
    die_at(killed_at, storage_worker.drop_table, url, lake)
    assert read(tables, A) == [{("x", 1): 1}]
    tables.apply()
    tables.drop(C)
    assert C not in tables.log.table_ids()
    check_followed(tables, {("x", 1): 1}, {})
