"""A sink into Delta: at every version the table is the relation at one time, whatever happens to
the emitter or to the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from fixtures.maintained import World
from fixtures.sunk import delta_history, delta_rows

from reclock import failpoints
from reclock.algebra.timestamps import Timestamp
from reclock.clusters.engine_pool import EnginePool
from reclock.compute.engines.engine import Engine
from reclock.compute.reads import peeks
from reclock.errors import ClaimConflict, NotReadable, SinceHeld, TargetChanged, UnknownObject
from reclock.pipeline import cluster_steps
from reclock.pipeline.tick import sink_names
from reclock.protocol.compute import Emitted
from reclock.sinks import current_rows, delta


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def emit(world: World, sink: str, owner: str = "e1") -> Emitted:
    return cluster_steps.emit(world.environment, sink, world.now, owner=owner)


def check(world: World, relation: str, path: str) -> list[int]:
    """Every version of the table is the relation at the time it says; the times."""
    times = []
    for at, rows in delta_history(world.home / "sinks" / path):
        times.append(at)
        assert rows == Counter(world.sql(f"SELECT * FROM {relation} AS OF {at}"))
    assert times == sorted(set(times))
    return times


def change_table(world: World, *statements: str) -> None:
    for statement in statements:
        world.now += 1000
        world.sql(statement)


def test_each_time_of_a_source_is_one_version(world: World) -> None:
    source = world.create("s")
    world.write(source, 2000, "a", "b")
    world.sql("CREATE SINK k FROM s INTO DELTA 'words'")
    first = emit(world, "k")
    assert (first.commits, first.changes) == (1, 2)
    world.write(source, 3000, "a")
    world.write(source, 4000, "c", "c")
    second = emit(world, "k")
    assert second == Emitted("reclock.public.k", Timestamp(4001), 2, 3, second.bytes)
    table = DeltaTable(str(world.home / "sinks" / "words"))
    assert (
        sum(table.get_add_actions(flatten=True)["size_bytes"].to_pylist())
        == first.bytes + second.bytes
    )
    expected = (
        "SELECT emissions, messages_committed, bytes_committed FROM mz_internal.mz_sink_statistics"
    )
    assert world.sql(expected) == [(2, 5, first.bytes + second.bytes)]
    assert check(world, "s", "words") == [2000, 3000, 4000]
    version = table.version()
    world.now = 5000
    world.environment.stores.frontiers.advance_idle([source], Timestamp(5001))
    assert emit(world, "k") == Emitted("reclock.public.k", Timestamp(5001))
    assert DeltaTable(str(world.home / "sinks" / "words")).version() == version


def test_rows_that_go_leave_the_table_and_copies_are_counted(world: World) -> None:
    world.sql("CREATE TABLE t (a int, b text, x double precision)")
    world.sql("CREATE SINK k FROM t INTO DELTA 'deep/er/t'")
    change_table(
        world,
        "INSERT INTO t VALUES (1, 'x', 'NaN'), (1, 'x', 'NaN'), (NULL, NULL, -0.0), (2, 'y', NULL)",
    )
    emit(world, "k")
    change_table(
        world,
        "UPDATE t SET b = 'z' WHERE a = 2",
        "DELETE FROM t WHERE a = 1",
        "INSERT INTO t VALUES (1, 'x', 'NaN')",
        "DELETE FROM t WHERE x = 0",
        "DELETE FROM t",
    )
    assert emit(world, "k").commits == 5
    sizes = [sum(rows.values()) for _, rows in delta_history(world.home / "sinks" / "deep/er/t")]
    assert sizes == [0, 4, 4, 2, 3, 2, 0]


def test_fields_of_composite_types_have_their_names(world: World) -> None:
    world.sql("CREATE TYPE home AS (street text, number int)")
    world.sql("CREATE TABLE t (a int, h home, hs home[])")
    world.sql("CREATE SINK k FROM t INTO DELTA 'homes'")
    change_table(
        world, "INSERT INTO t VALUES (1, ('x', 1), NULL), (2, NULL, ARRAY[('y', 2)::home])"
    )
    emit(world, "k")
    change_table(world, "UPDATE t SET h = ('z', NULL) WHERE a = 1", "DELETE FROM t WHERE a = 2")
    emit(world, "k")
    table = DeltaTable(str(world.home / "sinks" / "homes"))
    assert table.to_pyarrow_table().to_pylist() == [
        {"a": 1, "h": {"street": "z", "number": None}, "hs": None}
    ]
    table.load_as_version(2)
    rows = sorted(table.to_pyarrow_table().to_pylist(), key=lambda row: row["a"])
    assert rows[1] == {"a": 2, "h": None, "hs": [{"street": "y", "number": 2}]}


def test_as_of_it_begins_at_that_time_or_not_at_all(world: World) -> None:
    source = world.create("s")
    for at, word in ((2000, "a"), (3000, "b"), (4000, "c")):
        world.write(source, at, word)
    world.environment.stores.frontiers.allow_compaction(source, Timestamp(2500))
    with pytest.raises(NotReadable):
        world.sql("CREATE SINK k FROM s INTO DELTA 'words' AS OF 2400")
    world.sql("CREATE SINK k FROM s INTO DELTA 'words' AS OF 3000")
    emit(world, "k")
    assert check(world, "s", "words") == [3000, 4000]
    assert world.sql("SELECT create_sql FROM mz_sinks") == [
        (
            (
                "CREATE SINK reclock.public.k IN CLUSTER default FROM reclock.public.s INTO "
                "DELTA 'words'"
            ),
        )
    ]


@pytest.mark.parametrize("is_indexed", [True, False])
def test_a_view_is_followed_with_and_without_an_index(world: World, is_indexed: bool) -> None:
    source = world.create("s")
    world.write(source, 2000, "a", "b", "a")
    world.sql("CREATE VIEW v AS SELECT word, count(*) AS n FROM s GROUP BY word")
    if is_indexed:
        world.sql("CREATE DEFAULT INDEX ON v")
    world.refresh()
    world.sql("CREATE SINK k FROM v INTO DELTA 'v'")
    emit(world, "k")
    world.write(source, 3000, "a")
    world.write(source, 4000, "c")
    world.refresh()
    assert emit(world, "k").changes == 3
    assert check(world, "v", "v") == [2000, 3000, 4000]


def test_a_large_view_is_computed_by_the_engine_for_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    engines_asked: list[str] = []

    def large(engines: EnginePool, pool: str) -> Engine:
        engines_asked.append(pool)
        return engines.small

    monkeypatch.setattr(EnginePool, "large", large)
    monkeypatch.setattr(peeks, "is_large", lambda *_: True)
    source = world.create("s")
    world.write(source, 2000, "a", "b")
    world.sql("CREATE VIEW v AS SELECT count(*) AS n FROM s; CREATE SINK k FROM v INTO DELTA 'v'")
    engines_asked.clear()
    emit(world, "k")
    assert engines_asked == ["cluster-1"]
    assert check(world, "v", "v") == [2000]


def test_small_files_become_one_and_the_rows_stay(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(current_rows, "SMALL_FILES", 3)
    monkeypatch.setattr(delta, "FILE_ROWS", 2)
    source = world.create("s")
    world.sql("CREATE SINK k FROM s INTO DELTA 'words'")
    for at in range(2000, 12000, 1000):
        world.write(source, at, "a", f"w{at}", "b", "c", "d")
    assert emit(world, "k").commits == 11
    assert len(check(world, "s", "words")) == 11
    assert len(DeltaTable(str(world.home / "sinks" / "words")).file_uris()) <= 3


def test_a_writer_that_was_overtaken_writes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.sql("CREATE TABLE t (a int)")
    world.sql("CREATE SINK k FROM t INTO DELTA 't'")
    emit(world, "k")
    change_table(world, "INSERT INTO t VALUES (1)")

    def sleep(name: str) -> None:
        # while the first sleeps here, its owner's next attempt does all
        if name == "sinks.delta.before_commit":
            monkeypatch.undo()
            emit(world, "k")

    monkeypatch.setattr(failpoints, "on_reach", sleep)
    with pytest.raises(ClaimConflict):
        emit(world, "k")
    emit(world, "k")
    assert delta_rows(world.home / "sinks" / "t") == Counter({(1,): 1})


def test_a_sink_holds_its_input_from_its_progress_on_until_it_is_dropped(world: World) -> None:
    source = world.create("s")
    world.sql("CREATE SINK k FROM s INTO DELTA 'words'")
    world.environment.control_plane.storage_controller.step()
    world.write(source, 2000, "a")
    frontiers = world.environment.stores.frontiers
    with pytest.raises(SinceHeld):  # though nothing was emitted
        frontiers.allow_compaction(source, Timestamp(2000))
    emit(world, "k")
    world.write(source, 3000, "b")
    with pytest.raises(SinceHeld):
        frontiers.allow_compaction(source, Timestamp(2001))
    frontiers.allow_compaction(source, Timestamp(2000))
    emit(world, "k")
    assert [sorted(rows) for _, rows in delta_history(world.home / "sinks" / "words")][-1] == [
        ("a", 2000),
        ("b", 3000),
    ]
    world.sql("DROP SINK k")
    world.environment.control_plane.storage_controller.step()
    frontiers.allow_compaction(source, Timestamp(3001))
    assert sink_names(world.environment) == []
    with pytest.raises(UnknownObject):
        emit(world, "k")


def test_a_concurrent_compaction_goes_first_and_loses_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.sql("CREATE TABLE t (a int)")
    world.sql("CREATE SINK k FROM t INTO DELTA 't'")
    change_table(world, *(f"INSERT INTO t VALUES ({n})" for n in range(3)))
    emit(world, "k")
    change_table(world, "DELETE FROM t WHERE a = 1")
    compacted = []

    def compact(name: str) -> None:
        if name == "sinks.delta.before_commit" and not compacted:
            table = DeltaTable(str(world.home / "sinks" / "t"))
            compacted.append(table.optimize.compact()["numFilesRemoved"])
            table.vacuum(0, dry_run=False, enforce_retention_duration=False)

    monkeypatch.setattr(failpoints, "on_reach", compact)
    assert emit(world, "k").commits == 1
    assert compacted == [3]
    assert delta_rows(world.home / "sinks" / "t") == Counter({(0,): 1, (2,): 1})


def test_a_concurrent_change_of_rows_is_noticed_before_the_commit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.sql("CREATE TABLE t (a int)")
    world.sql("CREATE SINK k FROM t INTO DELTA 't'")
    emit(world, "k")
    change_table(world, "INSERT INTO t VALUES (1)")
    path = world.home / "sinks" / "t"
    monkeypatch.setattr(
        failpoints,
        "on_reach",
        lambda name: tamper_by_a_row(path) if name == "sinks.delta.before_commit" else None,
    )
    with pytest.raises(TargetChanged):
        emit(world, "k")
    assert delta_rows(path) == Counter({(9,): 1})


def test_the_table_of_another_sink_is_not_written(world: World) -> None:
    world.sql("CREATE TABLE t (a int)")
    world.sql("CREATE SINK k FROM t INTO DELTA 't'")
    emit(world, "k")
    world.sql("DROP SINK k; CREATE SINK k FROM t INTO DELTA 't'")
    with pytest.raises(TargetChanged, match="not of this sink"):
        emit(world, "k")


def tamper_by_a_row(table: Path) -> None:
    write_deltalake(str(table), pa.table({"a": pa.array([9], pa.int32())}), mode="append")


def tamper_by_removal(table: Path) -> None:
    table.rename(table.with_name("elsewhere"))


def tamper_by_another_table(table: Path) -> None:
    tamper_by_removal(table)
    write_deltalake(str(table), pa.table({"a": pa.array([1], pa.int32())}))


@pytest.mark.parametrize("tamper", [tamper_by_a_row, tamper_by_removal, tamper_by_another_table])
def test_a_table_that_is_not_as_it_was_left_stalls_its_sink_alone(world: World, tamper) -> None:
    world.sql("CREATE TABLE t (a int)")
    world.sql("CREATE SINK k FROM t INTO DELTA 't'; CREATE SINK other FROM t INTO DELTA 'other'")
    change_table(world, "INSERT INTO t VALUES (1)")
    emit(world, "k")
    tamper(world.home / "sinks" / "t")
    change_table(world, "INSERT INTO t VALUES (2)")
    for _ in range(2):
        with pytest.raises(TargetChanged):
            emit(world, "k")
        emit(world, "other")
    statuses = dict(world.sql("SELECT name, status FROM mz_internal.mz_sink_statuses"))
    assert statuses == {"k": "stalled", "other": "running"}
    assert sum(delta_rows(world.home / "sinks" / "other").values()) == 2


def test_rewriting_files_is_no_change_of_rows(world: World) -> None:
    world.sql("CREATE TABLE t (a int)")
    world.sql("CREATE SINK k FROM t INTO DELTA 't'")
    for n in range(3):
        change_table(world, f"INSERT INTO t VALUES ({n})")
    emit(world, "k")
    path = world.home / "sinks" / "t"
    table = DeltaTable(str(path))
    assert table.optimize.compact()["numFilesRemoved"] > 1
    change_table(world, "DELETE FROM t WHERE a = 1")
    emit(world, "k")
    assert delta_rows(path) == Counter({(0,): 1, (2,): 1})
    files = [str(file) for file in DeltaTable(str(path)).file_uris()]
    assert duckdb.sql(f"SELECT a FROM read_parquet({files}) ORDER BY a").fetchall() == [(0,), (2,)]


def test_an_enum_is_written_as_its_label(world: World) -> None:
    world.sql("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    world.sql("CREATE TABLE diary (id int, felt mood)")
    change_table(world, "INSERT INTO diary VALUES (1, 'ok'), (2, NULL)")
    world.sql("CREATE SINK k FROM diary INTO DELTA 'diary'")
    emit(world, "k")
    world.sql("ALTER TYPE mood ADD VALUE 'great' BEFORE 'ok'")
    change_table(world, "INSERT INTO diary VALUES (3, 'great')", "DELETE FROM diary WHERE id = 1")
    emit(world, "k")
    assert delta_rows(world.home / "sinks" / "diary") == Counter([(2, None), (3, "great")])


def test_arrays_come_change_and_go(world: World) -> None:
    world.sql("CREATE TABLE lists (id int, a integer[], m text[][])")
    change_table(world, "INSERT INTO lists VALUES (1, '{1,NULL}', '{{x},{y}}'), (2, NULL, '{}')")
    world.sql("CREATE SINK k FROM lists INTO DELTA 'lists'")
    emit(world, "k")
    change_table(world, "DELETE FROM lists WHERE id = 1", "UPDATE lists SET a = '{}' WHERE id = 2")
    emit(world, "k")
    path = str(world.home / "sinks" / "lists")
    versions = [
        DeltaTable(path, version=version).to_pyarrow_table().sort_by("id").to_pylist()
        for version in range(DeltaTable(path).version() + 1)
    ]
    assert [rows for rows in versions if rows] == [
        [{"id": 1, "a": [1, None], "m": [["x"], ["y"]]}, {"id": 2, "a": None, "m": []}],
        [{"id": 2, "a": None, "m": []}],
        [{"id": 2, "a": [], "m": []}],
    ]
