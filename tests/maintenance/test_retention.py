"""What maintenance keeps of a source and of histories, and for how long."""

from __future__ import annotations

import pytest
from fixtures.maintained import World, fill

from reclock.adapter.session.session import Session
from reclock.algebra.timestamps import Timestamp
from reclock.cli import app
from reclock.pipeline import maintenance
from reclock.pipeline.maintenance import record_usage, sweep
from reclock.runtime.environment import Environment

T = Timestamp


def test_a_source_may_have_a_retention_of_its_own(world: World) -> None:
    group = fill(world)
    world.sql("ALTER SOURCE words SET (RETAIN HISTORY FOR '50ms')")
    assert world.maintain(group).since_after == 1_151
    world.sql("ALTER SOURCE words RESET (RETAIN HISTORY)")
    world.write(group, 1_300, "a")
    world.refresh()
    assert world.maintain(group).since_after == 1_201
    world.sql("CREATE SOURCE kept FROM LOAD GENERATOR COUNTER WITH (START '1970-01-01 00:00:01')")
    kept_id = world.id_of("kept")
    world.environment.control_plane.storage_controller.step()
    world.environment.stores.frontiers.advance_backfilled(kept_id, T(1_301), is_over=True)
    assert (
        world.maintain(kept_id).since_after == 1_000
    )  # what it was given, unless it says otherwise
    world.sql("ALTER SOURCE kept SET (RETAIN HISTORY FOR '1ms')")
    assert world.maintain(kept_id).since_after == 1_300
    [(_, text)] = world.sql("SHOW CREATE SOURCE kept")
    assert "RETAIN HISTORY FOR '1ms'" in text


def test_the_status_history_is_kept_for_its_retention(world: World) -> None:
    statuses = world.environment.stores.statuses
    for at, status in ((1_000, "running"), (2_000, "stalled")):
        statuses.record("u1", status, at=T(at))
    world.now = world.environment.stores.settings.status_retention_ms + 1_500
    assert sweep(world.environment).statuses == 1
    assert [status.at for status in statuses.history()] == [2_000]


def test_measurements_of_storage_are_kept_for_their_retention(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "_USAGES_AT_ONCE", 2)
    environment = world.environment
    group = fill(world, times=2)
    record_usage(environment.stores)
    old = environment.stores.catalog.get_storage_usages()
    world.now += environment.stores.settings.storage_usage_retention_ms
    record_usage(environment.stores)
    assert sweep(environment).storage_usages == 0  # they are exactly as old as they may be
    world.now += 1
    assert sweep(environment).storage_usages == len(old) > 2
    assert sweep(environment).storage_usages == 0
    assert len(world.sql(f"SELECT * FROM mz_storage_usage WHERE object_id = '{group}'")) == 1
    assert {usage.collected_at for usage in environment.stores.catalog.get_storage_usages()} == {
        world.now - 1
    }


def test_measurements_that_another_takes_away_first_are_taken_away_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(world, times=2)
    environment, overtaken = world.environment, []
    record_usage(environment.stores)
    world.now += environment.stores.settings.storage_usage_retention_ms + 1
    catalog = environment.stores.catalog
    commit = catalog.commit_transaction

    def after_another(tx):
        if not overtaken:
            with Environment.open(world.home, clock=lambda: T(world.now)) as other:
                overtaken.append(sweep(other).storage_usages)
        return commit(tx)

    monkeypatch.setattr(catalog, "commit_transaction", after_another)
    assert sweep(environment).storage_usages == 0
    assert overtaken[0] > 0
    assert catalog.get_storage_usages() == []


def test_the_history_of_the_catalog_is_kept_for_its_retention(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever was away for longer goes on from the present, in a session too."""
    environment = world.environment
    with Environment.open(world.home, clock=lambda: T(world.now)) as away:
        for number in range(5):
            world.sql(f"CREATE TABLE t{number} (a int)")
        world.sql("DROP TABLE t0")
        upper = environment.stores.catalog.upper
        assert maintenance.run(environment).catalog_updates == 0
        world.now += environment.stores.settings.catalog_retention_ms + upper
        report = maintenance.run(environment)
        assert report.failed == {}
        assert report.catalog_updates > 10
        assert environment.stores.catalog.since > upper
        [result] = Session(away).execute(
            "SELECT name FROM mz_tables WHERE name LIKE 't_' ORDER BY name"
        )
        assert list(result.rows()) == [("t1",), ("t2",), ("t3",), ("t4",)]
        list(Session(away).execute("CREATE TABLE t5 (a int)"))
    with pytest.raises(SystemExit):
        app(["maintain", "--home", str(world.home)])
    assert "updates deleted from the history of the catalog" in capsys.readouterr().out
