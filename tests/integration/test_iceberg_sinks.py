"""A sink into Iceberg: every snapshot is the relation at the time in its summary, whatever happens
to the emitter or to the table. Read by PyIceberg."""

from __future__ import annotations

import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from fixtures.emitters import Emitters
from fixtures.iceberg_rest import TOKEN, rest_catalog
from fixtures.maintained import World
from fixtures.sunk import alter, change, emit
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import _dataframe_to_data_files
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Summary

from reclock import failpoints
from reclock.errors import (
    ClaimConflict,
    InvalidOption,
    TargetChanged,
    TargetUnavailable,
    UpstreamUnavailable,
)
from reclock.sinks import current_rows

SOLD = "CREATE TABLE sold (id int, word text, amount numeric(10,2))"
SINK = "CREATE SINK k FROM sold INTO ICEBERG (NAMESPACE 'reports', TABLE 'sold')"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    (tmp_path / "reclock.toml").write_text("claim_lease_ms = 600000\n")  # no machine is so slow
    world = World(tmp_path)
    world.sql(SOLD)
    yield world
    world.close()


def load(world: World, table: str = "sold") -> Table:
    catalog = SqlCatalog("reclock", uri=f"sqlite:///{world.home}/iceberg.db")
    return catalog.load_table(("reports", table))


def rows(table: Table, snapshot: int | None = None) -> Counter[tuple[Any, ...]]:
    found = table.scan(snapshot_id=snapshot).to_arrow().to_pylist()
    return Counter(tuple(row.values()) for row in found)


def check(world: World) -> list[int]:
    """Every snapshot is the relation at the time that it says; the times."""
    table, times = load(world), []
    for snapshot in table.snapshots():
        assert snapshot.summary is not None
        times.append(int(snapshot.summary["reclock.upper"] or 0) - 1)
        expected = world.sql(f"SELECT * FROM sold AS OF {times[-1]}")
        assert rows(table, snapshot.snapshot_id) == Counter(expected)
    assert times == sorted(set(times))
    assert table.properties["reclock.upper"] == str(times[-1] + 1)
    return times


def test_each_time_is_one_snapshot(world: World) -> None:
    change(world, "INSERT INTO sold VALUES (1, 'a', 1.5), (2, NULL, -3), (2, NULL, -3)")
    world.sql(SINK)
    assert world.sql("SELECT name, type FROM mz_sinks") == [("k", "iceberg")]
    first = emit(world)
    assert (first.commits, first.changes) == (1, 3)
    change(
        world,
        "UPDATE sold SET word = 'b' WHERE id = 1",
        "INSERT INTO sold VALUES (3, 'c', NULL)",
        "DELETE FROM sold WHERE id = 2",
        "DELETE FROM sold",
        "INSERT INTO sold VALUES (4, 'd', 0)",
    )
    assert emit(world).commits == 5
    assert emit(world).commits == 0
    assert len(check(world)) == 6
    assert rows(load(world)) == Counter([(4, "d", Decimal("0.00"))])


def test_a_copy_of_the_environment_does_not_write_into_the_original(
    world: World, tmp_path_factory: pytest.TempPathFactory
) -> None:
    change(world, "INSERT INTO sold VALUES (1, 'a', 1.5)")
    world.sql(SINK)
    emit(world)
    world.close()
    copied_home = tmp_path_factory.mktemp("copy") / "home"
    shutil.copytree(world.home, copied_home)
    copy = World(copied_home, now=world.now)
    change(copy, "INSERT INTO sold VALUES (2, 'b', 2)")
    with pytest.raises(TargetChanged, match="lies outside this environment"):
        emit(copy)
    copy.close()
    assert rows(load(world)) == Counter([(1, "a", Decimal("1.50"))])


def test_an_altered_sink_writes_the_difference_as_one_snapshot(world: World) -> None:
    world.sql(SINK)
    change(world, "INSERT INTO sold VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)")
    emit(world)
    world.sql("CREATE VIEW dear AS SELECT id, upper(word) AS word, amount FROM sold WHERE id > 1")
    alter(world, "ALTER SINK k SET FROM dear")
    assert (switched := emit(world)).commits == 1
    assert switched.changes == 5
    assert rows(load(world)) == Counter(world.sql("SELECT * FROM dear"))


def test_every_type_that_can_be_stored_arrives(world: World) -> None:
    columns = (
        "id bigint NOT NULL, t text, b bytea, f double precision, d date, w timestamp, z timestamptz, "
        "j jsonb, u uuid, n numeric(20,5), l boolean, s smallint, r real, m numeric, "
        "a integer[][], e text[]"
    )
    world.sql(f"CREATE TABLE wide ({columns})")
    change(
        world,
        r"""INSERT INTO wide VALUES (1, 'ö''" ', '\x00ff', 'Infinity', '2020-02-29',
        '2020-02-29 12:00:00.000001', '2020-02-29 12:00+02', '{"a": [1, null, "x"]}',
        '6e8bc430-9c3a-11d9-9669-0800200c9a66', 12345.67890, true, -5, 1.5, 0.25,
        '{{1,2},{3,NULL}}', '{}')""",
        "INSERT INTO wide (id) VALUES (2)",
    )
    world.sql("CREATE SINK k FROM wide INTO ICEBERG (NAMESPACE 'reports', TABLE 'wide')")
    emit(world)
    change(world, "DELETE FROM wide WHERE id = 2")
    emit(world)
    table = load(world, "wide")
    assert [(f.name, str(f.field_type), f.required) for f in table.schema().fields][:3] == [
        ("id", "long", True),
        ("t", "string", False),
        ("b", "binary", False),
    ]
    assert [str(f.field_type) for f in table.schema().fields][3:] == [
        *("double", "date", "timestamp", "timestamptz", "string", "string"),
        *("decimal(20, 5)", "boolean", "int", "float", "decimal(38, 9)"),
        *("list<list<int>>", "list<string>"),
    ]
    [found] = table.scan().to_arrow().to_pylist()
    [expected] = world.sql("SELECT * FROM wide")
    assert [str(value) for value in found.values()] == [str(value) for value in expected]


def test_small_files_are_merged(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(current_rows, "SMALL_FILES", 3)
    world.sql(SINK)
    change(world, *(f"INSERT INTO sold VALUES ({i}, 'x', 1)" for i in range(7)))
    emit(world)
    check(world)
    assert len(load(world).inspect.files()) <= 3


def test_another_program_may_compact_but_not_change(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.sql(SINK)
    change(world, "INSERT INTO sold VALUES (1, 'a', 1)", "INSERT INTO sold VALUES (2, 'b', 2)")
    emit(world)
    compacted = False

    def compact(point: str) -> None:
        nonlocal compacted
        if point == "sinks.iceberg.before_commit" and not compacted:
            compacted = True
            rewrite(load(world))

    change(world, "UPDATE sold SET word = 'c' WHERE id = 1")
    with monkeypatch.context() as patch:
        patch.setattr(failpoints, "on_reach", compact)
        emit(world)
    assert rows(load(world)) == Counter(world.sql("SELECT * FROM sold"))
    load(world).delete("id = 2")
    change(world, "INSERT INTO sold VALUES (3, 'd', 3)")
    with pytest.raises(TargetChanged, match="somebody else changed rows"):
        emit(world)


def rewrite(table: Table) -> None:
    """All rows in one file, as compaction leaves them: a snapshot of the operation ``replace``."""
    tasks = list(table.scan().plan_files())
    files = list(_dataframe_to_data_files(table.metadata, table.scan().to_arrow(), table.io))
    transaction = table.transaction()
    with transaction.update_snapshot().overwrite() as snapshot:
        summary = snapshot._summary

        def replacing(properties: dict[str, str]) -> Summary:
            made = summary(properties)  # the library cannot write this operation itself
            return Summary(Operation.REPLACE, **made.additional_properties)

        snapshot._summary = replacing  # type: ignore[assignment]
        for file in files:
            snapshot.append_data_file(file)
        for task in tasks:
            snapshot.delete_data_file(task.file)
    transaction.commit_transaction()


def test_a_table_that_is_not_the_sinks_or_was_put_back_is_left_alone(world: World) -> None:
    world.sql(SINK)
    change(world, "INSERT INTO sold VALUES (1, 'a', 1)", "DELETE FROM sold")
    emit(world)
    table = load(world)
    first = table.snapshots()[0].snapshot_id
    table.manage_snapshots().rollback_to_snapshot(first).commit()
    change(world, "INSERT INTO sold VALUES (2, 'b', 1)")
    with pytest.raises(TargetChanged, match="somebody else changed rows"):
        emit(world)
    catalog = SqlCatalog("reclock", uri=f"sqlite:///{world.home}/iceberg.db")
    catalog.drop_table(("reports", "sold"))
    with pytest.raises(TargetChanged, match="lost what was written"):
        emit(world)
    location = f"file://{world.home}/elsewhere"
    catalog.create_table(("reports", "sold"), pa.schema([("id", pa.int32())]), location)
    with pytest.raises(TargetChanged, match="not of this sink"):
        emit(world)


def test_snapshots_may_expire(world: World) -> None:
    world.sql(SINK)
    change(world, *(f"INSERT INTO sold VALUES ({i}, 'x', 1)" for i in range(3)))
    emit(world)
    table = load(world)
    rewrite(table)
    old = [snapshot.snapshot_id for snapshot in load(world).snapshots()[:-1]]
    load(world).maintenance.expire_snapshots().by_ids(old).commit()
    change(world, "DELETE FROM sold WHERE id = 1")
    emit(world)
    assert rows(load(world)) == Counter(world.sql("SELECT * FROM sold"))


def test_a_catalog_that_is_away_is_tried_again(world: World) -> None:
    world.sql(
        "CREATE CONNECTION away TO ICEBERG CATALOG (CATALOG TYPE 'rest', URL 'http://127.0.0.1:1') "
        "WITH (VALIDATE = false)"
    )
    world.sql(SINK.replace("ICEBERG", "ICEBERG CATALOG CONNECTION away"))
    change(world, "INSERT INTO sold VALUES (1, 'a', 1)")
    with pytest.raises(TargetUnavailable):
        emit(world)
    [(_, text)] = world.sql("SHOW CREATE SINK k")
    assert (
        "ICEBERG CATALOG CONNECTION reclock.public.away (NAMESPACE 'reports', TABLE 'sold')" in text
    )


def test_a_catalog_behind_the_rest_protocol_is_written_to(world: World, tmp_path: Path) -> None:
    with rest_catalog(tmp_path) as (url, catalog):
        connection = f"CATALOG TYPE 'rest', URL '{url}'"
        with pytest.raises(UpstreamUnavailable):
            world.sql(f"CREATE CONNECTION lakehouse TO ICEBERG CATALOG ({connection})")
        world.sql(f"CREATE SECRET token AS '{TOKEN}'")
        world.sql(
            f"CREATE CONNECTION lakehouse TO ICEBERG CATALOG ({connection}, TOKEN SECRET token)"
        )
        world.sql(SINK.replace("ICEBERG", "ICEBERG CATALOG CONNECTION lakehouse"))
        change(world, "INSERT INTO sold VALUES (1, 'a', 1), (2, 'b', 2)")
        emit(world)
        change(world, "DELETE FROM sold WHERE id = 1")
        emit(world)
        assert rows(catalog.load_table(("reports", "sold"))) == Counter([(2, "b", Decimal(2))])
        assert len(catalog.load_table(("reports", "sold")).snapshots()) == 3


def test_statements_that_cannot_be_right_are_refused(world: World) -> None:
    for statement, message in (
        (SINK.replace("'sold'", "'../x'"), "is no name of an Iceberg table"),
        (SINK + " WITH (SNAPSHOT = false)", "begins with a snapshot"),
    ):
        with pytest.raises(InvalidOption, match=message):
            world.sql(statement)
    world.sql(SINK)
    with pytest.raises(InvalidOption, match="writes there already"):
        world.sql(SINK.replace("SINK k", "SINK other"))


@pytest.mark.parametrize(
    "killed_at",
    [
        "sinks.emit.begun",
        "sinks.iceberg.before_commit",
        "sinks.iceberg.after_commit",
        "sinks.emit.committed",
    ],
)
def test_killed_at_any_point_it_repeats_and_loses_nothing(
    world: World, emitters: Emitters, killed_at: str
) -> None:
    world.sql(SINK)
    change(
        world, "INSERT INTO sold VALUES (1, 'a', 1), (2, 'b', 2)", "DELETE FROM sold WHERE id = 1"
    )
    assert emitters.emit(world, "k", points=(killed_at,)) == [-signal.SIGKILL]
    change(world, "UPDATE sold SET word = 'c'")
    emit(world, owner="worker")
    check(world)


def test_a_writer_that_was_overtaken_writes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.sql(SINK)
    change(world, "INSERT INTO sold VALUES (1, 'a', 1)")
    emit(world)
    change(world, "INSERT INTO sold VALUES (2, 'b', 1)")

    def overtake(point: str) -> None:
        if point == "sinks.iceberg.before_commit":
            with load(world).transaction() as transaction:
                upper = {"reclock.upper": str(world.now + 1)}
                transaction.set_properties(upper)
                update = transaction.update_snapshot(snapshot_properties=upper)
                with update.fast_append():
                    pass

    with monkeypatch.context() as patch:
        patch.setattr(failpoints, "on_reach", overtake)
        with pytest.raises(ClaimConflict):
            emit(world)
    assert rows(load(world)) == Counter([(1, "a", Decimal("1.00"))])
