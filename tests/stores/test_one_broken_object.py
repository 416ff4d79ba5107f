"""One object that is broken in a store hurts what reads or writes it, by name, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fixtures.maintained import World
from fixtures.sessions import sql

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.errors import CollectionDamaged, CollectionUnready
from reclock.pipeline import cluster_steps, maintenance, tick
from reclock.runtime.environment import Environment
from reclock.runtime.reporting import reporting


def table_folder(environment: Environment, name: str) -> Path:
    id = next(
        entry.id
        for entry in environment.stores.planner_catalog().relations()
        if entry.name.item == name
    )
    return Path(environment.stores.lake.root) / id / "table"


def test_a_collection_that_cannot_be_made_hurts_its_table_alone(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        sql(environment, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
        blocked = Path(environment.stores.lake.root) / "u2"
        blocked.touch()
        sql(environment, "CREATE TABLE u (a int); CREATE TABLE v (a int)")
        sql(environment, "INSERT INTO t VALUES (2); INSERT INTO v VALUES (3)")
        assert sql(environment, "SELECT a FROM t UNION ALL SELECT a FROM v ORDER BY 1") == [
            (1,),
            (2,),
            (3,),
        ]
        for statement in ("SELECT * FROM u", "INSERT INTO u VALUES (1)", "SELECT * FROM t, u"):
            with pytest.raises(CollectionUnready, match=r'"reclock\.public\.u"'):
                sql(environment, statement)
        blocked.unlink()
        assert sql(environment, "INSERT INTO u VALUES (4); SELECT a FROM u") == [(4,)]
        assert environment.stores.stored_objects.unready() == {}


def test_a_table_that_cannot_be_made_can_be_dropped(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        (Path(environment.stores.lake.root) / "u1").touch()
        sql(environment, "CREATE TABLE u (a int); CREATE TABLE v (a int); INSERT INTO v VALUES (3)")
        sql(environment, "DROP TABLE u; INSERT INTO v VALUES (4)")
        assert environment.stores.tables.log.table_ids() == {GlobalId("u2")}
        assert environment.stores.stored_objects.unready() == {}


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_table_whose_delta_log_is_broken_hurts_nothing_else(tmp_path: Path, damage: str) -> None:
    with Environment.initialise(tmp_path) as environment:
        sql(environment, "CREATE TABLE t (a int); CREATE TABLE u (a int)")
        sql(environment, "INSERT INTO t VALUES (1); INSERT INTO u VALUES (2)")
        environment.stores.tables.apply()
        folder = table_folder(environment, "t")
    if damage == "gone":
        shutil.rmtree(folder)
    else:
        for entry in (folder / "_delta_log").glob("*.json"):
            entry.write_text(entry.read_text()[: len(entry.read_text()) // 2])
    with Environment.open(tmp_path) as environment:
        for statement in ("SELECT * FROM t", "INSERT INTO t VALUES (5)", "UPDATE t SET a = 6"):
            with pytest.raises(CollectionDamaged, match=r'"reclock\.public\.t"'):
                sql(environment, statement)
        assert sql(environment, "INSERT INTO u VALUES (3); SELECT a FROM u ORDER BY 1") == [
            (2,),
            (3,),
        ]
        environment.stores.tables.apply()
        assert environment.stores.tables.log.pending() == []
        sql(environment, "DROP TABLE t; CREATE TABLE t (a int); INSERT INTO t VALUES (7)")
        assert sql(environment, "SELECT a FROM t") == [(7,)]


def test_a_process_that_has_opened_the_log_names_the_table_too(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        sql(environment, "CREATE TABLE t (a int); CREATE TABLE u (a int)")
        sql(environment, "INSERT INTO t VALUES (1); INSERT INTO u VALUES (2)")
        environment.stores.tables.apply()
        for entry in (table_folder(environment, "t") / "_delta_log").glob("*.json"):
            entry.unlink()
        with pytest.raises(CollectionDamaged, match=r'"reclock\.public\.t"'):
            sql(environment, "SELECT * FROM t")
        assert sql(environment, "INSERT INTO u VALUES (3); SELECT count(*) FROM u, u v") == [(4,)]


def test_writes_to_a_damaged_table_wait_alone_in_the_log(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        sql(environment, "CREATE TABLE t (a int); CREATE TABLE u (a int)")
        sql(environment, "INSERT INTO t VALUES (1); INSERT INTO u VALUES (2)")
        folder = table_folder(environment, "t")
        for entry in (folder / "_delta_log").glob("*.json"):
            entry.write_text("{")
        for path in folder.glob("data/*"):
            path.unlink()
    with Environment.open(tmp_path) as environment:
        environment.stores.tables.apply()
        assert {write.table for write in environment.stores.tables.log.pending()} <= {
            GlobalId("u1")
        }
        assert sql(environment, "SELECT a FROM u") == [(2,)]


def damage(folder: Path, kind: str) -> None:
    if kind == "gone":
        shutil.rmtree(folder)
    else:
        for entry in (folder / "_delta_log").glob("*.json"):
            entry.write_text(entry.read_text()[: len(entry.read_text()) // 2])


class Lakehouse(World):
    """Two sources with a row each, a table with one, and a materialized view over each of them."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        (home / "buckets" / "b").mkdir(parents=True)
        self.sql("CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
        self.groups = {name: self.create(name) for name in ("words", "more")}
        for name in ("words", "more", "t"):
            self.sql(f"CREATE MATERIALIZED VIEW of_{name} AS SELECT count(*) AS c FROM {name}")
        self.sql("CREATE SINK k FROM words INTO DELTA 'k'")
        for group in self.groups.values():
            self.write(group, 2_000, "x")
        self.refresh()
        cluster_steps.emit(self.environment, "k", self.now, owner="test")

    def reopen(self) -> None:
        self.environment.close()
        self.environment = Environment.open(self.home, clock=lambda: Timestamp(self.now))

    def tick(self) -> dict[str, str]:
        self.now += 1_000
        return {
            failure.name.rpartition(".")[2]: failure.message
            for failure in tick.run(self.environment, owner="test").failed
        }

    def counts(self, *relations: str) -> list[int]:
        return [self.sql(f"SELECT count(*) FROM {relation}")[0][0] for relation in relations]

    def folder(self, id: str, kind: str) -> Path:
        return Path(self.environment.stores.lake.root) / id / kind


@pytest.mark.parametrize("kind", ["cut", "gone"])
@pytest.mark.parametrize("collection", ["reclocked", "remapping", "evidence"])
def test_a_damaged_source_hurts_what_reads_it_and_nothing_else(
    tmp_path: Path, kind: str, collection: str
) -> None:
    world = Lakehouse(tmp_path)
    damage(world.folder(world.groups["words"], collection), kind)
    world.reopen()
    error = 'collection "reclock.public.words" is damaged'
    readers = {"reclocked": {"words": error, "of_words_primary_idx": error, "k": error}}
    assert world.tick() == readers.get(collection, {"words": error})
    for relation in {"reclocked": ("words", "of_words"), "remapping": ("words_progress",)}.get(
        collection, ()
    ):
        with pytest.raises(CollectionDamaged, match=r"reclock\.public\.words"):
            world.counts(relation)
    assert world.counts("t", "more", "of_more", "of_t") == [1, 1, 1, 1]
    assert world.sql("INSERT INTO t VALUES (2); SELECT count(*) FROM t") == [(2,)]
    assert world.sql("SELECT name, broken FROM mz_internal.mz_broken_objects") == [
        ("reclock.public.words", "collection")
    ]
    assert world.sql("SELECT error FROM mz_source_statuses WHERE name = 'words'") == [(error,)]
    failed = maintenance.run(world.environment).failed
    assert {str(failure) for failure in failed.values()} <= {
        f'collection "{world.groups["words"]}/{collection}" is damaged'
    }
    assert world.sql(
        "SELECT size_bytes > 0 FROM mz_recent_storage_usage JOIN mz_objects ON id = "
        "object_id WHERE name = 'more'"
    )
    world.sql("DROP SOURCE words CASCADE")
    assert world.tick() == {}
    assert world.sql("SELECT * FROM mz_internal.mz_broken_objects") == []
    world.close()


@pytest.mark.parametrize("kind", ["cut", "gone"])
def test_a_damaged_index_is_done_without(tmp_path: Path, kind: str) -> None:
    world = Lakehouse(tmp_path)
    index = world.id_of("of_words_primary_idx")
    damage(world.folder(index, "reclocked"), kind)
    world.reopen()
    assert world.sql("SELECT c FROM of_words") == [(1,)]
    assert world.sql("SELECT c FROM of_words AS OF 2000") == [(1,)]
    with reporting(world.environment):
        assert world.tick() == {
            "of_words_primary_idx": 'collection "reclock.public.of_words_primary_idx" is damaged'
        }
    assert world.sql("SELECT name FROM mz_internal.mz_broken_objects") == [
        ("reclock.public.of_words_primary_idx",)
    ]
    assert world.counts("mz_internal.mz_arrangement_sizes") == [2]
    assert world.counts("mz_internal.mz_cluster_replica_status_history") == [2]
    world.sql("CREATE INDEX again ON of_words (c); DROP INDEX of_words_primary_idx")
    assert world.tick() == {}
    assert world.sql("SELECT c FROM of_words") == [(1,)]
    assert "again" in str(world.sql("EXPLAIN SELECT c FROM of_words"))
    world.close()


def test_a_source_and_an_index_that_cannot_be_made_hurt_nothing_else(tmp_path: Path) -> None:
    world = Lakehouse(tmp_path)
    [(last,)] = world.sql("SELECT max(substr(id, 2)::int) FROM mz_objects WHERE id LIKE 'u%'")
    blocked = [Path(world.environment.stores.lake.root) / f"u{last + offset}" for offset in (1, 4)]
    for path in blocked:
        path.touch()
    world.sql(
        "CREATE SOURCE late (word text, number integer) FROM S3 DISCOVER OBJECTS USING "
        "BUCKET SCAN 'b' FORMAT CSV WITH 2 COLUMNS"
    )
    world.sql("CREATE MATERIALIZED VIEW unmade AS SELECT count(*) AS c FROM t")
    for relation in ("late", "late_progress"):
        with pytest.raises(CollectionUnready, match=r"reclock\.public\.late"):
            world.counts(relation)
    assert world.sql("SELECT c FROM unmade") == [(1,)]
    assert world.tick().keys() == {"late", "unmade_primary_idx"}
    assert world.counts("t", "words", "of_words", "of_t") == [1, 1, 1, 1]
    assert world.sql("SELECT name FROM mz_internal.mz_broken_objects ORDER BY id") == [
        ("reclock.public.late",),
        ("reclock.public.unmade_primary_idx",),
    ]
    for path in blocked:
        path.unlink()
    assert world.tick() == {}
    assert world.counts("late", "unmade") == [0, 1]
    assert world.sql("SELECT * FROM mz_internal.mz_broken_objects") == []
    world.close()
