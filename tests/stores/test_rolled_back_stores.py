"""A store that was lost or put back in time is not opened: an error says which, and ways back."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures.sessions import sql
from hypothesis import given
from hypothesis import strategies as st
from stores.stores_of_home import copy_consensus, lose_consensus, put_back_consensus

from reclock.collections.marks import ConsensusMark, LakeMark, check
from reclock.errors import StoreRolledBack
from reclock.runtime.environment import Environment

OPENINGS: list[Callable[..., Environment]] = [Environment.open, Environment.initialise]


@pytest.fixture(autouse=True)
def noted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECLOCK_STORE_MARK_INTERVAL_MS", "0")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    with Environment.initialise(home) as environment:
        sql(environment, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
        environment.stores.tables.apply()
    return home


def newest_catalog_entry(home: Path) -> Path:
    [log] = (home / "lake").glob("catalog-*/_delta_log")
    return max(log.glob("*.json"))


@pytest.mark.parametrize("opening", OPENINGS)
def test_consensus_that_was_put_back_is_not_opened(home: Path, tmp_path: Path, opening) -> None:
    copy_consensus(home, tmp_path / "saved.db")
    with Environment.open(home) as environment:
        sql(environment, "INSERT INTO t VALUES (2)")
        environment.stores.tables.apply()
    put_back_consensus(home, tmp_path / "saved.db")
    with pytest.raises(StoreRolledBack, match="consensus is older than the lake") as refused:
        opening(home)
    assert "reclock restore" in (refused.value.hint or "")


def test_a_lake_that_was_put_back_is_not_opened(home: Path, tmp_path: Path) -> None:
    shutil.copytree(home / "lake", tmp_path / "saved")
    with Environment.open(home) as environment:
        sql(environment, "INSERT INTO t VALUES (2)")
    shutil.rmtree(home / "lake")
    shutil.copytree(tmp_path / "saved", home / "lake")
    with pytest.raises(StoreRolledBack, match="the lake is older than consensus"):
        Environment.open(home)


def test_a_process_that_runs_while_the_lake_is_away_does_not_hide_that(
    home: Path, tmp_path: Path
) -> None:
    """Such as a file system that was unmounted: the folder is there, and empty."""
    with Environment.open(home) as environment:
        (home / "lake").rename(tmp_path / "away")
        (home / "lake").mkdir()
        with pytest.raises(StoreRolledBack, match="the lake is older than consensus"):
            environment.stores.marks.refresh()
    with pytest.raises(StoreRolledBack, match="the lake is older than consensus"):
        Environment.open(home)
    shutil.rmtree(home / "lake")
    (tmp_path / "away").rename(home / "lake")
    with Environment.open(home) as environment:
        assert sql(environment, "TABLE t") == [(1,)]


def test_lost_consensus_does_not_become_an_empty_environment(home: Path) -> None:
    lose_consensus(home)
    with pytest.raises(StoreRolledBack, match="consensus is older than the lake"):
        Environment.initialise(home)
    with Environment.initialise(home, accept_loss=True) as environment:
        sql(environment, "CREATE TABLE new (a int)")
        assert sql(environment, "SELECT * FROM new") == []
        assert {
            entry.id for entry in environment.stores.planner_catalog().relations() if entry.table
        } == {"u2"}
    with Environment.open(home) as environment:
        assert sql(environment, "SELECT * FROM new") == []


@pytest.fixture
def persisted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RECLOCK_CATALOG", "persist")
    monkeypatch.setenv("RECLOCK_ENVIRONMENT_ID", "shop")
    home = tmp_path / "persisted"
    with Environment.initialise(home) as environment:
        sql(
            environment,
            (
                "CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE TABLE u (a int); "
                "INSERT INTO u VALUES (42)"
            ),
        )
        environment.stores.tables.apply()
    return home


@pytest.mark.parametrize("opening", OPENINGS)
def test_a_catalog_whose_newest_entry_is_gone_is_not_opened(persisted: Path, opening) -> None:
    newest_catalog_entry(persisted).unlink()
    with pytest.raises(StoreRolledBack, match="the catalog in the lake is older than consensus"):
        opening(persisted)


def test_accepting_the_loss_of_a_catalog_entry_brings_back_no_rows(persisted: Path) -> None:
    newest_catalog_entry(persisted).unlink()
    with Environment.initialise(persisted, accept_loss=True) as environment:
        sql(environment, "CREATE TABLE v (a int)")
        assert sql(environment, "SELECT * FROM v") == []
        assert sql(environment, "SELECT * FROM t") == [(1,)]
    with Environment.open(persisted) as environment:
        assert sql(environment, "INSERT INTO v VALUES (3); SELECT * FROM v") == [(3,)]


def test_consensus_older_than_the_catalog_in_the_lake_is_not_opened(
    persisted: Path, tmp_path: Path
) -> None:
    copy_consensus(persisted, tmp_path / "saved.db")
    with Environment.open(persisted) as environment:
        sql(environment, "CREATE TABLE v (a int)")
    for mark in (persisted / "lake" / "marks").iterdir():
        mark.unlink()
    put_back_consensus(persisted, tmp_path / "saved.db")
    with pytest.raises(StoreRolledBack):
        Environment.open(persisted)


def test_tables_are_not_empty_after_consensus_was_lost_and_made_anew(persisted: Path) -> None:
    lose_consensus(persisted)
    with Environment.initialise(persisted) as environment:
        assert sql(environment, "SELECT * FROM t") == [(1,)]
        assert sql(environment, "SELECT * FROM u") == [(42,)]
        assert sql(environment, "INSERT INTO t VALUES (2); SELECT * FROM t ORDER BY 1") == [
            (1,),
            (2,),
        ]


@given(
    st.lists(
        st.sampled_from(["hand out", "store", "note", "put consensus back", "put lake back"]),
        max_size=12,
    )
)
def test_marks_find_out_what_was_put_back_and_nothing_else(steps: list[str]) -> None:
    """A writer that may die after any step. What was put back behind a complete mark is found out;
    no crash is taken for that."""
    consensus, lake, is_behind = ConsensusMark(), LakeMark(), False
    saved_consensus, saved_lake = consensus, lake
    for count, step in enumerate(steps):
        match step:
            case "hand out" if not is_behind:
                consensus = ConsensusMark(consensus.number + 1, str(count), consensus.in_lake)
            case "store" if not is_behind and consensus.number > lake.number:
                lake = LakeMark(consensus.number, consensus.token)
            case "note" if not is_behind:
                consensus = ConsensusMark(consensus.number, consensus.token, lake.number)
            case "put consensus back" if saved_consensus.number < lake.number:
                consensus, is_behind = saved_consensus, True
            case "put lake back" if saved_lake.number < consensus.in_lake:
                lake, is_behind = saved_lake, True
    if is_behind:
        with pytest.raises(StoreRolledBack):
            check(consensus, lake, consensus)
    else:
        check(consensus, lake, consensus)
