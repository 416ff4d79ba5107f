"""Maintenance changes no answer at a readable time, takes what nobody needs and nothing else, and
goes on past what fails."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from fixtures.maintained import World, fill

from reclock.adapter.query import queries
from reclock.adapter.session.session import Session
from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId
from reclock.algebra.relations import TEXT, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.cli import app
from reclock.compute.reads import peeks
from reclock.consensus.frontiers.claims import GroupFrontier
from reclock.errors import NotReadable, ReadHoldLost, VersionGone
from reclock.pipeline import maintenance
from reclock.pipeline.maintenance import followed_since, record_usage, sweep
from reclock.runtime.environment import Environment

T = Timestamp
WORDS = (
    "SELECT word, count(*) AS times, sum(number) AS total FROM words GROUP BY word ORDER BY "
    "word AS OF {at}"
)
PROGRESS = "SELECT key, byte_offset FROM words_progress AS OF {at}"
TOTALS = "SELECT word, times FROM totals ORDER BY word AS OF {at}"


def answers(world: World, times: range) -> list[object]:
    return [[world.sql(query.format(at=at)) for query in (WORDS, PROGRESS, TOTALS)] for at in times]


def files(world: World, group: str, kind: CollectionType = CollectionType.RECLOCKED) -> int:
    return len(world.collection(group, kind).pin().all_files)


def test_every_readable_time_is_answered_as_before_from_fewer_files(world: World) -> None:
    group = fill(world)
    before = answers(world, range(1_101, 1_201))
    report = world.maintain(group)
    assert (report.name, report.since_after) == ("reclock.public.words", 1_101)
    assert [
        (collection.files_before, collection.files_after)
        for collection in report.collections
        if collection.files_before
    ] == [(20, 1), (20, 1)]
    world.maintain(world.id_of("totals_primary_idx"))
    assert answers(world, range(1_101, 1_201)) == before
    with pytest.raises(NotReadable, match="cannot be read at 1100"):
        world.sql(WORDS.format(at=1_100))
    assert world.maintain(group).since_after == 1_101


@pytest.mark.parametrize(
    ("key", "columns"),
    [("number, word", ["number", "word"]), ("word, upper(word), number", ["word"])],
)
def test_the_files_of_an_index_are_in_the_order_of_its_key(
    world: World, key: str, columns: list[str]
) -> None:
    """Up to its first expression."""
    group = fill(world)
    world.sql("CREATE VIEW v AS SELECT word, number * 37 % 101 AS number FROM words")
    world.sql(f"CREATE INDEX by_key ON v ({key})")
    world.refresh()
    for at in (1_300, 1_400, 1_500):
        world.write(group, at, *"cabd")
        world.refresh()
    index = world.id_of("by_key")
    assert world.maintain(index).since_after > 1_300
    version = world.collection(index).pin()
    file = max(version.all_files, key=lambda file: file.rows)
    table = pq.read_table(file.path, filesystem=version.folder.filesystem)
    rows = table.select(["mz_timestamp", *columns]).to_pylist()
    values = [tuple(row.values()) for row in rows]
    assert len(set(values)) > 3
    assert values == sorted(values)


def test_progress_is_the_same_before_bindings_are_compacted_and_after(world: World) -> None:
    group = fill(world, times=10)
    progress = "SELECT mz_timestamp, key, byte_offset FROM words_progress AS OF {at}"
    world.sql(
        "CREATE MATERIALIZED VIEW done AS SELECT mz_timestamp AS at, key, byte_offset "
        "FROM words_progress"
    )
    world.refresh()
    world.environment.stores.frontiers.allow_compaction(group, T(1_055))
    before = [world.sql(progress.format(at=at)) for at in range(1_055, 1_065)]
    assert before[0] == [(1_050, "o", 100)]
    assert before[-1] == [(1_060, "o", 120)]
    world.maintain(group)
    assert [world.sql(progress.format(at=at)) for at in range(1_055, 1_065)] == before
    world.write(group, 1_300, "a")
    world.refresh()
    assert (
        world.sql("SELECT * FROM done")
        == world.sql("SELECT * FROM words_progress")
        == [(1_300, "o", 210)]
    )


def test_since_goes_no_further_than_a_reader_holds(world: World) -> None:
    group = fill(world)
    hold = world.environment.stores.holds.acquire(
        [group], T(1_050), owner="reader", lease_ms=60_000
    )
    assert world.maintain(group).since_after == 1_050
    world.environment.stores.holds.release(hold)
    assert world.maintain(group).since_after == 1_101


def test_an_index_keeps_what_it_has_not_read_of_its_inputs_from_its_first_refresh_on(
    world: World,
) -> None:
    group = fill(world, times=1)
    assert world.environment.stores.holds.earliest([group]) == {group: 1_010}
    for at in range(1_300, 1_400, 10):
        world.write(group, at, "a")
    assert world.maintain(group).since_after == 1_010
    world.refresh()
    assert world.sql(TOTALS.format(at=1_300)) == [("a", 2), ("b", 1)]
    assert world.maintain(group).since_after == 1_291


@pytest.mark.parametrize(
    ("since", "upper", "lag_ms", "read_ts", "expected"),
    [
        (0, 1_000, 100, 5_000, 900),
        (950, 1_000, 100, 5_000, 950),
        (0, 1_000, 0, 5_000, 999),
        (0, 1_000, 0, 7, 7),
        (9, 9, 0, 0, 9),
    ],
)
def test_since_follows_behind_the_upper_and_behind_those_who_begin_to_read(
    since: int, upper: int, lag_ms: int, read_ts: int, expected: int
) -> None:
    frontier = GroupFrontier("u1", T(since), T(upper), None)
    assert followed_since(frontier, lag_ms=lag_ms, read_ts=T(read_ts)) == expected


def test_replaced_files_stay_for_the_grace_and_then_go(world: World) -> None:
    group = fill(world)
    pinned = world.collection(group).pin()
    assert sum(collection.freed_bytes for collection in world.maintain(group).collections) == 0
    assert pinned.snapshot(T(1_200)).num_rows == 40
    world.now += 1_001
    assert sum(collection.freed_bytes for collection in world.maintain(group).collections) > 0
    with pytest.raises(VersionGone):
        pinned.snapshot(T(1_200))


def test_staged_files_of_a_claim_stay_and_abandoned_ones_go(world: World) -> None:
    group = fill(world, times=1)
    collection = world.collection(group)
    for name in ("claimed", "abandoned"):
        folder = Path(collection.staging_uri(name))
        folder.mkdir(parents=True)
        (folder / "part-0.parquet").write_bytes(b"rows")
        os.utime(folder / "part-0.parquet", (0, 0))
    world.environment.stores.frontiers.claim(
        group, at=T(2_000), payload={"staging": "claimed"}, owner="tick", lease_ms=0
    )
    world.maintain(group)
    assert [Path(collection.staging_uri(name)).exists() for name in ("claimed", "abandoned")] == [
        True,
        False,
    ]


def test_a_query_that_maintenance_overtakes_begins_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between choosing its files and reading them, they are compacted and vacuumed."""
    group = fill(world)
    expected = world.sql(WORDS.format(at=1_200))
    peek, started = peeks.peek, []

    def overtaken(*arguments, **options):
        started.append(None)
        if len(started) == 1:
            for _ in range(2):
                world.maintain(group)
                world.now += 1_001
        return peek(*arguments, **options)

    monkeypatch.setattr(peeks, "peek", overtaken)
    assert world.sql(WORDS.format(at=1_200)) == expected
    assert len(started) == 2


def test_a_query_whose_index_is_compacted_meanwhile_computes_the_view(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(world)
    index, prepare, started = world.id_of("totals_primary_idx"), queries.QueryExecution.prepare, []

    def overtaken(query: queries.QueryExecution) -> queries.ReadPlan:
        ready = prepare(query)
        started.append(len(ready.indexes))
        if len(started) == 1:
            world.environment.stores.frontiers.allow_compaction(index, T(1_200))
        return ready

    monkeypatch.setattr(queries.QueryExecution, "prepare", overtaken)
    assert world.sql(TOTALS.format(at=1_190)) == [("a", 19), ("b", 10), ("c", 9)]
    assert started == [1, 0]


def test_what_fails_for_one_collection_stops_no_other_and_is_reported(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    broken, whole = world.create("broken"), world.create("whole")
    for group in (broken, whole):
        for at in range(1_010, 1_100, 10):
            world.write(group, at, "a")
        world.environment.stores.frontiers.advance_idle([group], T(2_000))
    oldest = min(world.collection(broken).pin().all_files, key=lambda file: file.min_time)
    Path(oldest.uri).unlink()
    with pytest.raises(SystemExit) as left:
        app(["maintain", "--home", str(world.home)])
    printed = capsys.readouterr()
    assert left.value.code == 1
    assert f"reclock.public.broken ({broken}/reclocked):" in printed.err
    assert f"{whole}/reclocked" not in printed.err
    assert [
        files(world, broken, kind) for kind in (CollectionType.RECLOCKED, CollectionType.REMAPPING)
    ] == [9, 2]
    assert files(world, whole) == 2  # the newest time is still apart
    assert "bytes in all collections" in printed.out


def test_a_run_prints_each_collection_and_records_what_it_stores(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    group = fill(world)
    with pytest.raises(SystemExit) as left:
        app(["maintain", "--home", str(world.home)])
    assert left.value.code == 0
    row = next(
        line for line in capsys.readouterr().out.splitlines() if f"{group}/reclocked" in line
    )
    cells = [cell.strip() for cell in row.split("|")]
    assert cells[1:-2] == ["reclock.public.words", f"{group}/reclocked", "1000", "1101", "20", "1"]
    assert world.sql(
        f"SELECT count(*) FROM mz_storage_usage WHERE object_id = '{group}' AND size_bytes > 1000"
    ) == [(1,)]


def test_storage_usage_is_of_objects_and_collections_at_one_moment(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One transaction records it, tried again when another actor changes the catalog before."""
    group = fill(world, times=2)
    catalog, tried = world.environment.stores.catalog, []
    commit = catalog.commit_transaction

    def after_another(tx):
        tried.append(tx)
        if len(tried) == 1:
            with Environment.open(world.home, clock=lambda: T(world.now)) as other:
                list(Session(other).execute("CREATE VIEW another AS SELECT 1 AS one"))
        return commit(tx)

    with monkeypatch.context() as patch:
        patch.setattr(catalog, "commit_transaction", after_another)
        total = record_usage(world.environment.stores)
    assert len(tried) == 2
    world.now += 5_000
    world.write(group, 7_000, "more")
    record_usage(world.environment.stores)
    by_collection = world.sql(
        "SELECT collection, size_bytes, collection_timestamp FROM "
        "mz_internal.mz_storage_usage_by_collection ORDER BY id"
    )
    assert sum(size for _, size, _ in by_collection[: len(by_collection) // 2]) == total
    of_source = [
        (size, at) for collection, size, at in by_collection if collection.startswith(f"{group}/")
    ]
    history = world.sql(
        "SELECT size_bytes, collection_timestamp FROM mz_storage_usage WHERE object_id "
        f"= '{group}' ORDER BY 2"
    )
    assert history == [
        (sum(size for size, time in of_source if time == at), at)
        for at in sorted({at for _, at in of_source})
    ]
    assert len(history) == 2
    assert world.sql(
        f"SELECT size_bytes FROM mz_recent_storage_usage WHERE object_id = '{group}'"
    ) == [(history[1][0],)]


def test_a_dropped_object_goes_once_nobody_reads_it(world: World) -> None:
    group = world.create("words")
    world.write(group, 1_010, "a")
    hold = world.environment.stores.holds.acquire(
        [group], T(1_010), owner="reader", lease_ms=60_000
    )
    pinned = world.collection(group).pin()
    world.sql("DROP SOURCE words")
    sweep(world.environment)
    assert pinned.snapshot(T(1_010)).num_rows == 1
    assert group not in maintenance.group_names(world.environment.stores)
    world.environment.stores.holds.release(hold)
    sweep(world.environment)
    assert group not in world.environment.stores.frontiers.get_all()
    assert not Path(world.environment.stores.lake.root, group, "reclocked").exists()


def test_what_a_crash_or_a_late_refresh_left_of_dropped_objects_is_swept(world: World) -> None:
    group, kept_id = world.create("words"), world.create("kept")
    world.sql("DROP SOURCE words")
    world.environment.control_plane.storage_controller.step()
    orphan = StorageCollectionId(GlobalId(group))
    newer = StorageCollectionId(GlobalId("u9999"))
    for id in (orphan, newer):
        world.environment.stores.lake.create(id, RelationDesc((Column("word", TEXT),)))
    for owner in (group, kept_id, "a sink"):
        world.environment.stores.holds.acquire([kept_id], T(1_000), owner=owner, lease_ms=None)
    world.environment.stores.holds.acquire([kept_id], T(1_000), owner="gone", lease_ms=0)
    report = sweep(world.environment)
    assert (report.orphans, report.holds) == ((orphan,), 1)
    assert world.environment.stores.lake.exists(newer)
    assert world.environment.stores.holds.lasting_owners() == {kept_id, "a sink"}
    assert sweep(world.environment).orphans == ()


@pytest.mark.parametrize("listing", ["collections of a group", "all collections"])
def test_what_is_dropped_meanwhile_ends_no_run_and_is_no_failure(
    world: World, monkeypatch: pytest.MonkeyPatch, listing: str
) -> None:
    """Between listing the collections and maintaining them, or measuring them, two are dropped."""
    for name in ("first", "second", "third"):
        world.sql(f"CREATE TABLE {name} (a int)")
        world.sql(f"INSERT INTO {name} VALUES (1)")
    source = world.create("words")
    world.write(source, 1_010, "a")
    environment, dropped = world.environment, []

    def drop() -> None:
        if not dropped:
            dropped.append(True)
            world.sql("DROP TABLE first")
            world.sql("DROP SOURCE words")
            environment.control_plane.storage_controller.step()

    def overtaken(*arguments):
        found = original(*arguments)
        drop()
        return found

    of = maintenance if listing == "collections of a group" else environment.stores.lake
    name = "_collections" if listing == "collections of a group" else "list"
    original = getattr(of, name)
    monkeypatch.setattr(of, name, overtaken)
    if listing == "all collections":
        assert record_usage(environment.stores) > 0
    report = maintenance.run(environment)
    assert dropped
    assert report.failed == {}
    maintained = [
        str(collection.collection) for group in report.groups for collection in group.collections
    ]
    assert {f"{world.id_of(name)}/table" for name in ("second", "third")} <= set(maintained)


def test_a_block_whose_read_hold_ran_out_can_be_retried(world: World) -> None:
    """The process slept over its lease, and maintenance went on: the block fails with a code that
    clients retry."""
    world.sql("CREATE TABLE t (a int)")
    world.sql("INSERT INTO t VALUES (1)")
    session = Session(world.environment)

    def run(text: str) -> list[tuple[Any, ...]]:
        return [row for result in session.execute(text) for row in result.rows()]

    run("BEGIN")
    assert run("SELECT a FROM t") == [(1,)]
    for hold in world.environment.stores.holds.owned_by(world.environment.stores.actor):
        world.environment.stores.holds.release(hold)
    world.now += 1_000
    world.sql("INSERT INTO t VALUES (2)")
    maintenance.maintain(world.environment.stores, "tables")
    world.environment.stores.tables.forget(GlobalId(world.id_of("t")))
    with pytest.raises(ReadHoldLost) as lost:
        run("SELECT a FROM t")
    assert lost.value.sqlstate == "40001"
    run("ROLLBACK")
    assert sorted(run("SELECT a FROM t")) == [(1,), (2,)]
