"""One object that is broken in a store hurts what reads or writes it, by name, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from stores.stores_of_home import sql

from reclock.algebra.ids import GlobalId
from reclock.environment import Environment
from reclock.errors import CollectionDamaged, CollectionUnready


def table_folder(environment: Environment, name: str) -> Path:
    id = next(entry.id for entry in environment.planner_catalog().relations() if entry.name.item == name)
    return Path(environment.lake.root) / id / "table"


def test_a_collection_that_cannot_be_made_hurts_its_table_alone(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        sql(environment, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
        blocked = Path(environment.lake.root) / "u2"
        blocked.touch()
        sql(environment, "CREATE TABLE u (a int); CREATE TABLE v (a int)")
        sql(environment, "INSERT INTO t VALUES (2); INSERT INTO v VALUES (3)")
        assert sql(environment, "SELECT a FROM t UNION ALL SELECT a FROM v ORDER BY 1") == [(1,), (2,), (3,)]
        for statement in ("SELECT * FROM u", "INSERT INTO u VALUES (1)", "SELECT * FROM t, u"):
            with pytest.raises(CollectionUnready, match=r'"reclock\.public\.u"'):
                sql(environment, statement)
        blocked.unlink()
        assert sql(environment, "INSERT INTO u VALUES (4); SELECT a FROM u") == [(4,)]
        assert environment.stored_objects.unready() == {}


def test_a_table_that_cannot_be_made_can_be_dropped(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        (Path(environment.lake.root) / "u1").touch()
        sql(environment, "CREATE TABLE u (a int); CREATE TABLE v (a int); INSERT INTO v VALUES (3)")
        sql(environment, "DROP TABLE u; INSERT INTO v VALUES (4)")
        assert environment.tables.log.known() == {GlobalId("u2")}
        assert environment.stored_objects.unready() == {}


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_table_whose_delta_log_is_broken_hurts_nothing_else(tmp_path: Path, damage: str) -> None:
    with Environment.initialise(tmp_path) as environment:
        sql(environment, "CREATE TABLE t (a int); CREATE TABLE u (a int)")
        sql(environment, "INSERT INTO t VALUES (1); INSERT INTO u VALUES (2)")
        environment.tables.apply()
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
        assert sql(environment, "INSERT INTO u VALUES (3); SELECT a FROM u ORDER BY 1") == [(2,), (3,)]
        environment.tables.apply()
        assert environment.tables.log.pending() == []
        sql(environment, "DROP TABLE t; CREATE TABLE t (a int); INSERT INTO t VALUES (7)")
        assert sql(environment, "SELECT a FROM t") == [(7,)]


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
        environment.tables.apply()
        assert {write.table for write in environment.tables.log.pending()} <= {GlobalId("u1")}
        assert sql(environment, "SELECT a FROM u") == [(2,)]
