"""Processes that refresh the same indexes, and emit the same sinks, take turns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread, current_thread, get_ident
from typing import Any

import pyarrow as pa
import pytest
from fixtures.maintained import World
from fixtures.sunk import delta_rows
from structlog.testing import capture_logs

from reclock.clusters import known_results
from reclock.collections.collection import Collection
from reclock.collections.delta_log import DeltaLog
from reclock.compute import maintenance
from reclock.consensus.database.store import Consensus
from reclock.pipeline import cluster_steps
from reclock.pipeline.tick_reports import RefreshReport


@pytest.fixture
def world(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    """With claims of so many milliseconds."""
    monkeypatch.setenv("RECLOCK_CLAIM_LEASE_MS", str(getattr(request, "param", 60_000)))
    world = World(tmp_path)
    yield world
    world.close()


class Slowed:
    """Refreshes that wait, once, until they may go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.has_begun, self.may_go_on = Event(), Event()
        real = maintenance.refresh

        def slow(*arguments: Any) -> pa.Table:
            if not self.has_begun.is_set():
                self.has_begun.set()
                assert self.may_go_on.wait(60)
            return real(*arguments)

        monkeypatch.setattr(maintenance, "refresh", slow)


@pytest.mark.parametrize("world", [3_000], indirect=True)
def test_an_index_is_left_to_the_process_that_refreshes_it_however_long(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.sql("CREATE TABLE t (a int)")
    world.sql("CREATE MATERIALIZED VIEW m AS SELECT a FROM t")
    world.sql("INSERT INTO t VALUES (1)")
    world.now += 1_000
    slowed, reports = Slowed(monkeypatch), list[RefreshReport]()
    first = Thread(
        target=lambda: reports.append(
            cluster_steps.refresh(world.environment, "default", world.now, owner="first")
        )
    )
    first.start()
    assert slowed.has_begun.wait(60)
    # longer than the lease of a claim that nobody renews
    left = cluster_steps.refresh(
        world.environment, "default", world.now, owner="second", is_patient=True
    )
    assert (left.indexes, left.failed) == ((), ())
    slowed.may_go_on.set()
    first.join()
    assert [(report.indexes[0].updates, report.failed) for report in reports] == [(1, ())]
    assert world.sql("SELECT status FROM mz_internal.mz_index_statuses") == [("running",)]


def test_a_patient_process_waits_for_its_turn(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.sql("CREATE TABLE t (a int)")
    world.sql("CREATE MATERIALIZED VIEW m AS SELECT a FROM t")
    world.now += 1_000
    slowed, reports = Slowed(monkeypatch), list[RefreshReport]()
    first = Thread(
        target=lambda: cluster_steps.refresh(world.environment, "default", world.now, owner="first")
    )
    first.start()
    assert slowed.has_begun.wait(60)
    conflicted = Event()
    sleep = cluster_steps.time.sleep

    def look_on(seconds: float) -> None:
        conflicted.set()
        sleep(seconds)

    monkeypatch.setattr(cluster_steps.time, "sleep", look_on)
    second = Thread(
        target=lambda: reports.append(
            cluster_steps.refresh(
                world.environment, "default", world.now, owner="second", is_patient=True
            )
        )
    )
    second.start()
    assert conflicted.wait(60)
    slowed.may_go_on.set()
    first.join()
    second.join()
    [report] = reports
    assert (len(report.indexes), report.failed) == (1, ())


def test_only_what_reads_a_source_follows_it(world: World) -> None:
    world.create("words")
    world.create("others")
    for name, relation in (
        ("of_words", "words"),
        ("of_both", "(SELECT * FROM words UNION ALL SELECT * FROM others) AS x"),
    ):
        world.sql(f"CREATE MATERIALIZED VIEW {name} AS SELECT word FROM {relation}")
        world.sql(f"CREATE SINK {name}_sink FROM {name} INTO DELTA '{name}'")
    world.sql("CREATE MATERIALIZED VIEW of_others AS SELECT word FROM others")
    world.sql("CREATE SINK of_others_sink FROM of_others INTO DELTA 'of_others'")
    world.write(world.id_of("others"), 2_000, "x")
    world.write(world.id_of("words"), 3_000, "a", "b")

    [report] = cluster_steps.refresh_dependents(
        world.environment, "words", 3_000, clusters=["default"], owner="test"
    )

    assert report.failed == ()
    # what reads another source too is as far as that source is
    assert {index.index: index.upper for index in report.indexes} == {
        "reclock.public.of_words_primary_idx": 3_001,
        "reclock.public.of_both_primary_idx": 2_001,
    }
    assert {sink.sink for sink in report.emitted} == {
        "reclock.public.of_words_sink",
        "reclock.public.of_both_sink",
    }
    assert delta_rows(world.home / "sinks" / "of_words") == {("a",): 1, ("b",): 1}
    assert not (world.home / "sinks" / "of_others").exists()
    world.sql("DROP SOURCE words CASCADE")
    assert (
        cluster_steps.refresh_dependents(
            world.environment, "words", 4_000, clusters=["default"], owner="test"
        )
        == ()
    )


def costs_of_a_tick(world: World, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Transactions of consensus, and commits of the indexes' Delta logs, of one refresh after a
    change of ``t``."""
    counts = dict.fromkeys(("transact", "read", "commit", "refresh"), 0)
    world.sql("INSERT INTO t VALUES (1)")
    world.now += 1_000
    here = get_ident()
    with monkeypatch.context() as patching:
        for class_, name in (
            (Consensus, "transact"),
            (Consensus, "read"),
            (DeltaLog, "commit"),
            (DeltaLog, "refresh"),
        ):
            real = getattr(class_, name)

            def counted(*arguments: Any, name: str = name, real: Any = real, **options: Any) -> Any:
                # Other threads renew holds, and look at the catalog.
                is_own = get_ident() == here or current_thread().name.startswith("append")
                # Whoever looks may bring a table's own Delta log up to date.
                if is_own and not (name == "commit" and "/table" in arguments[0]._folder.uri):
                    counts[name] += 1
                return real(*arguments, **options)

            patching.setattr(class_, name, counted)
        world.refresh()
    return counts


def test_more_views_are_no_more_transactions(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.sql("CREATE TABLE t (a int)")
    world.sql("CREATE TABLE u (a int)")
    monkeypatch.setattr(known_results, "_ROUND_S", 3_600.0)  # however slow this machine is
    world.sql("CREATE MATERIALIZED VIEW m AS SELECT sum(a) AS s FROM t")
    for _ in range(2):
        costs_of_a_tick(world, monkeypatch)
    one_view = costs_of_a_tick(world, monkeypatch)
    for number in range(4):
        world.sql(f"CREATE MATERIALIZED VIEW of_t_{number} AS SELECT sum(a) + {number} AS s FROM t")
        world.sql(f"CREATE MATERIALIZED VIEW of_u_{number} AS SELECT sum(a) + {number} AS s FROM u")
    for _ in range(2):
        costs_of_a_tick(world, monkeypatch)
    nine_views = costs_of_a_tick(world, monkeypatch)
    assert (nine_views["transact"], nine_views["read"]) == (one_view["transact"], one_view["read"])
    # Each view of t has one commit; those of u none, and their one input is pinned once for all.
    assert nine_views["commit"] - one_view["commit"] == 4
    per_view = (nine_views["refresh"] - one_view["refresh"] - 1) / 4
    assert per_view == 2  # its own version, and the one that it has committed
    indexes = [id for (id,) in world.sql("SELECT id FROM mz_indexes WHERE id LIKE 'u%'")]
    assert (
        len({world.environment.stores.frontiers.get(id).upper for id in indexes})
        == 1
        < len(indexes)
    )


def test_a_view_that_fails_holds_up_no_other(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.sql("CREATE TABLE t (a int)")
    for name in ("first", "broken", "last"):
        world.sql(f"CREATE MATERIALIZED VIEW {name} AS SELECT a AS {name} FROM t")
    real = maintenance.refresh

    def failing(maintainer: Any, *arguments: Any) -> pa.Table:
        if maintainer.desc.names == ("broken",):
            raise RuntimeError("out of order")
        return real(maintainer, *arguments)

    world.sql("INSERT INTO t VALUES (1)")
    world.now += 1_000
    with monkeypatch.context() as patching:
        patching.setattr(maintenance, "refresh", failing)
        report = cluster_steps.refresh(world.environment, "default", world.now, owner="test")
    assert [index.index.split(".")[-1] for index in report.indexes] == [
        "first_primary_idx",
        "last_primary_idx",
    ]
    [failed] = report.failed
    assert (failed.name, failed.message) == (
        "reclock.public.broken_primary_idx",
        "RuntimeError: out of order",
    )
    world.refresh()
    assert world.sql("SELECT broken, last FROM broken, last") == [(1, 1)]


def test_a_refresh_says_that_its_index_was_dropped_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.sql("CREATE TABLE t (a int)")
    world.sql("CREATE MATERIALIZED VIEW m AS SELECT a FROM t")
    world.sql("INSERT INTO t VALUES (1)")
    world.now += 1_000

    index, append = world.id_of("m_primary_idx"), Collection.append

    def drop(collection: Collection, *arguments: Any, **options: Any) -> None:
        if collection.id.group != index:
            append(collection, *arguments, **options)
            return
        world.sql("DROP MATERIALIZED VIEW m")
        world.environment.control_plane.storage_controller.step()
        raise FileNotFoundError(collection.folder.uri)  # of what was written before

    monkeypatch.setattr(Collection, "append", drop)
    with capture_logs() as logged:
        report = cluster_steps.refresh(world.environment, "default", world.now, owner="first")
    assert [failed.message for failed in report.failed] == [
        f'"{index}" was dropped while the statement ran'
    ]
    assert [entry["event"] for entry in logged if entry["log_level"] == "warning"] == []
