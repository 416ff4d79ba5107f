"""Which implementation an environment's catalog has: the mark in consensus decides, settings that
disagree are refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from reclock.catalog.implementations import find_mark
from reclock.catalog.objects import Schema
from reclock.catalog.persist import PersistLog, persist_folder
from reclock.config import Settings
from reclock.consensus.database.store import Consensus
from reclock.consensus.leadership import fence, identity
from reclock.consensus.leadership.identity import EnvironmentMark, switch_catalog
from reclock.errors import CatalogUninitialized, ConfigurationError, Fenced, StoreRolledBack
from reclock.runtime.environment import Environment


@pytest.fixture
def consensus(consensus_url: str) -> Consensus:
    return Consensus.connect(consensus_url)


def settings(home: Path, **values: str) -> Settings:
    return Settings(home=home, **values)  # type: ignore[arg-type]


def test_a_new_environment_gets_an_id_of_its_own_and_the_stash(
    consensus: Consensus, tmp_path: Path
) -> None:
    mark = find_mark(settings(tmp_path), consensus, may_make=True)
    assert mark.catalog == "stash"
    assert mark.id
    assert find_mark(settings(tmp_path), consensus, may_make=False) == mark
    agreeing = settings(tmp_path, environment_id=mark.id, catalog="stash")
    assert find_mark(agreeing, consensus, may_make=True) == mark


def test_settings_say_what_a_new_environment_is(consensus: Consensus, tmp_path: Path) -> None:
    chosen = settings(tmp_path, environment_id="mine", catalog="persist")
    assert find_mark(chosen, consensus, may_make=True) == EnvironmentMark("mine", "persist")
    assert find_mark(settings(tmp_path), consensus, may_make=True) == EnvironmentMark(
        "mine", "persist"
    )


def test_nobody_but_who_initialises_makes_a_mark(consensus: Consensus, tmp_path: Path) -> None:
    with pytest.raises(CatalogUninitialized):
        find_mark(settings(tmp_path), consensus, may_make=False)
    assert consensus.read(identity.current) is None


@pytest.mark.parametrize(
    "wrong", [{"environment_id": "another"}, {"catalog": "persist"}, {"catalog": "shadow"}]
)
def test_settings_that_disagree_with_the_mark_are_refused(
    consensus: Consensus, tmp_path: Path, wrong: dict[str, str]
) -> None:
    mark = find_mark(settings(tmp_path), consensus, may_make=True)
    with pytest.raises(ConfigurationError) as refused:
        find_mark(settings(tmp_path, **wrong), consensus, may_make=True)
    assert next(iter(wrong)) in refused.value.message
    assert refused.value.hint
    assert consensus.read(identity.current) == mark


def test_the_catalog_in_force_is_switched_by_who_knows_the_old_one(
    consensus: Consensus, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError):
        consensus.transact(
            lambda connection: switch_catalog(connection, source="stash", target="persist")
        )
    mark = find_mark(settings(tmp_path), consensus, may_make=True)
    for _ in range(2):
        consensus.transact(
            lambda connection: switch_catalog(connection, source="stash", target="persist")
        )
        assert consensus.read(identity.current) == EnvironmentMark(mark.id, "persist")
    with pytest.raises(ConfigurationError):
        consensus.transact(
            lambda connection: switch_catalog(connection, source="shadow", target="stash")
        )


@pytest.mark.parametrize("implementation", ["stash", "persist", "shadow"])
def test_an_environment_lives_on_in_its_implementation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, implementation: str
) -> None:
    monkeypatch.setenv("RECLOCK_CATALOG", implementation)
    with Environment.initialise(tmp_path) as environment:
        mark = environment.stores.mark
        tx = environment.stores.catalog.transaction()
        tx.insert(Schema(tx.allocate_schema_id(), 1, "raw", "u1"))
        environment.stores.catalog.commit_transaction(tx)
        epoch = environment.stores.catalog.epoch
    monkeypatch.delenv("RECLOCK_CATALOG")
    with Environment.open(tmp_path) as opened:
        assert opened.stores.mark == mark
        assert opened.stores.catalog.epoch == epoch
        assert opened.stores.catalog.snapshot().schema_by_name(1, "raw") is not None
    has_table = (
        PersistLog(persist_folder(str(tmp_path / "lake"), mark.id), opened.stores.consensus).upper()
        > 0
    )
    assert has_table == (implementation != "stash")


def test_a_catalog_in_the_lake_outlives_consensus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECLOCK_CATALOG", "persist")
    monkeypatch.setenv("RECLOCK_ENVIRONMENT_ID", "mine")
    with Environment.initialise(tmp_path) as environment:
        tx = environment.stores.catalog.transaction()
        tx.insert(Schema(tx.allocate_schema_id(), 1, "raw", "u1"))
        environment.stores.catalog.commit_transaction(tx)
        before = environment.stores.catalog.sync()
        leadership = environment.stores.leadership
    for file in tmp_path.glob("consensus.db*"):
        file.unlink()

    monkeypatch.delenv("RECLOCK_CATALOG")
    with pytest.raises(ConfigurationError, match="the lake holds a catalog"):
        Environment.initialise(tmp_path)
    monkeypatch.setenv("RECLOCK_CATALOG", "persist")
    with Environment.initialise(tmp_path) as reopened:
        assert reopened.stores.catalog.snapshot().items == before.items
        assert reopened.stores.catalog.snapshot().schema_by_name(1, "raw") is not None
        assert reopened.stores.leadership == leadership
        assert reopened.stores.consensus.read(fence.current) == leadership
        assert reopened.stores.oracle.read_ts("catalog") >= before.upper


def test_the_leader_in_the_lake_fences_every_write_to_consensus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if it died before consensus knew: whoever joins next tells it."""
    monkeypatch.setenv("RECLOCK_CATALOG", "persist")
    with Environment.initialise(tmp_path) as old:
        log = old.stores.catalog._log  # type: ignore[attr-defined]
        monkeypatch.setattr(log.__class__, "mirror", lambda *_: None)
        Environment(
            old.stores.settings, old.stores.clock, None, may_create=False
        ).stores.catalog.open()
        monkeypatch.undo()
        assert old.stores.consensus.read(fence.current) == old.stores.leadership
        with Environment.open(tmp_path) as new:
            assert new.stores.leadership.epoch == old.stores.leadership.epoch + 1
            assert new.stores.consensus.read(fence.current) == new.stores.leadership
            with pytest.raises(Fenced):
                old.stores.statuses.forget(["u1"])
            with pytest.raises(Fenced):
                old.stores.catalog.confirm_leadership()


def test_an_older_copy_of_the_lake_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECLOCK_CATALOG", "persist")
    with Environment.initialise(tmp_path) as environment_:
        folder = Path(persist_folder(str(tmp_path / "lake"), environment_.stores.mark.id).uri)
        shutil.copytree(folder, tmp_path / "copy")
        other = Environment(
            environment_.stores.settings, environment_.stores.clock, None, may_create=False
        )
        other.stores.catalog.open()
        other_epoch = other.stores.leadership.epoch
        other.close()
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "copy", folder)
    with pytest.raises(StoreRolledBack, match="the catalog in the lake is older than consensus"):
        Environment.open(tmp_path)
    with Environment.initialise(tmp_path, accept_loss=True) as environment_:
        assert environment_.stores.leadership.epoch > other_epoch
