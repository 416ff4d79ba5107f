"""A sink into files: the manifests name the changes of each time exactly once, whatever happens to
the emitter."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from fixtures.emitters import Emitters
from fixtures.maintained import World
from fixtures.objects import s3_client
from fixtures.sunk import change, emit

from reclock import failpoints
from reclock.errors import ClaimConflict, InvalidOption, TargetChanged, UnsupportedSql
from reclock.pipeline import cluster_steps

READERS = {"PARQUET": "read_parquet", "CSV": "read_csv", "JSON": "read_json"}
TYPES = "{'id': 'INT', 'word': 'VARCHAR', 'mz_diff': 'BIGINT'}"

Rows = Counter[tuple[Any, ...]]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    (tmp_path / "reclock.toml").write_text("claim_lease_ms = 600000\n")  # no machine is so slow
    made = World(tmp_path)
    made.sql("CREATE TABLE t (id int, word text)")
    yield made
    made.close()


def read(folder: Path, manifest: dict[str, Any]) -> Rows:
    """The changes that a manifest names, as DuckDB reads them."""
    files = [str(folder / file["path"]) for file in manifest["files"]]
    if not files:
        return Counter()
    options = {
        "PARQUET": "",
        "CSV": f", types = {TYPES}, allow_quoted_nulls = false",
        "JSON": f", columns = {TYPES}",
    }[manifest["format"]]
    rows = duckdb.sql(
        f"SELECT id, word, mz_diff, mz_timestamp FROM {READERS[manifest['format']]}({files}, "
        f"hive_partitioning = true{options})"
    ).fetchall()
    assert len(rows) == sum(file["rows"] for file in manifest["files"])
    assert {row[3] for row in rows} == {manifest["time"]}
    return Counter({row[:2]: row[2] for row in rows})


def check(world: World, path: str = "t") -> list[int]:
    """After each manifest the changes add up to the table at its time; the times."""
    folder, rows, times = world.home / "sinks" / path, Counter[tuple[Any, ...]](), []
    for file in sorted((folder / "_manifests").glob("*.json")):
        manifest = json.loads(file.read_text())
        changes = read(folder, manifest)
        rows.update(changes)  # adds, also what is negative
        rows = Counter({row: count for row, count in rows.items() if count})
        assert rows == Counter(world.sql(f"SELECT * FROM t AS OF {manifest['time']}"))
        times.append(manifest["time"])
    assert times == sorted(set(times))
    return times


@pytest.mark.parametrize("format", READERS)
def test_each_time_is_a_folder_that_a_manifest_completes(world: World, format: str) -> None:
    change(
        world, "INSERT INTO t VALUES (1, 'a'), (2, 'b\"; \n'), (2, 'b\"; \n'), (3, NULL), (4, '')"
    )
    world.sql(f"CREATE SINK k FROM t INTO FILES 't' FORMAT {format}")
    assert emit(world).changes == 4
    change(world, "UPDATE t SET word = 'ö' WHERE id = 2", "DELETE FROM t WHERE id = 3")
    assert emit(world).commits == 2
    assert emit(world).commits == 0
    assert check(world) == [2000, 3000, 4000]
    assert world.sql("SELECT type FROM mz_sinks") == [("files",)]
    with pytest.raises(InvalidOption, match="writes there already"):
        world.sql("CREATE SINK other FROM t INTO DELTA 't/x'")


@pytest.mark.parametrize(
    "killed_at",
    [
        "sinks.emit.begun",
        "sinks.files.before_manifest",
        "sinks.files.after_manifest",
        "sinks.emit.committed",
    ],
)
def test_killed_at_any_point_it_repeats_and_loses_nothing(
    world: World, emitters: Emitters, killed_at: str
) -> None:
    world.sql("CREATE SINK k FROM t INTO FILES 't' FORMAT PARQUET")
    change(world, "INSERT INTO t VALUES (1, 'a'), (2, 'b')", "DELETE FROM t WHERE id = 1")
    assert emitters.emit(world, "k", points=(killed_at,)) == [-signal.SIGKILL]
    change(world, "INSERT INTO t VALUES (3, 'c')")
    emit(world, owner="worker")
    assert len(check(world)) == 4


def test_a_writer_that_was_overtaken_changes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    (world.home / "reclock.toml").write_text("claim_lease_ms = 1\n")
    world.sql("CREATE SINK k FROM t INTO FILES 't' FORMAT JSON")
    emit(world)
    change(world, "INSERT INTO t VALUES (1, 'a')", "INSERT INTO t VALUES (2, 'b')")
    reached = failpoints.failpoint

    def overtake(name: str) -> None:
        if name == "sinks.files.before_manifest":
            monkeypatch.setattr("reclock.sinks.files.failpoint", reached)
            stores = world.environment.stores
            claim = stores.frontiers.get(world.id_of("k")).claim
            assert claim is not None
            stores.frontiers.amend(world.id_of("k"), claim, claim.payload, lease_ms=0)
            cluster_steps.emit(world.environment, "k", world.now, owner="second")

    monkeypatch.setattr("reclock.sinks.files.failpoint", overtake)
    with pytest.raises(ClaimConflict):
        emit(world, owner="first")
    assert len(check(world)) == 3


def test_a_target_that_lost_its_manifests_or_is_another_sinks_stalls(world: World) -> None:
    world.sql("CREATE SINK k FROM t INTO FILES 't' FORMAT CSV")
    change(world, "INSERT INTO t VALUES (1, 'a')")
    emit(world)
    manifests = sorted((world.home / "sinks/t/_manifests").glob("*.json"))
    newest = manifests[-1].read_text()
    manifests[-1].unlink()
    change(world, "INSERT INTO t VALUES (2, 'b')")
    with pytest.raises(TargetChanged):
        emit(world)
    manifests[-1].write_text(newest)
    emit(world)
    assert len(check(world)) == 3
    world.sql("DROP SINK k; CREATE SINK k FROM t INTO FILES 't' FORMAT CSV")
    with pytest.raises(TargetChanged, match="not of this sink"):
        emit(world)


def test_types_that_text_cannot_say_are_refused(world: World) -> None:
    world.sql("CREATE VIEW v AS SELECT '\\x00'::bytea AS b, 1 AS n")
    with pytest.raises(UnsupportedSql, match="bytea"):
        world.sql("CREATE SINK k FROM v INTO FILES 't' FORMAT CSV")
    with pytest.raises(InvalidOption, match="path of a folder"):
        world.sql("CREATE SINK k FROM t INTO FILES '../t' FORMAT CSV")


def test_in_an_object_store_a_manifest_is_created_once(tmp_path: Path, s3_endpoint: str) -> None:
    client = s3_client(s3_endpoint)
    client.create_bucket(Bucket="outlet")
    (tmp_path / "reclock.toml").write_text(
        f's3_endpoint = "{s3_endpoint}"\ns3_access_key_id = "test"\n'
        's3_secret_access_key = "test"\nsinks = "s3://outlet/sinks"\n'
    )
    world = World(tmp_path)
    try:
        world.sql("CREATE TABLE t (id int); CREATE SINK k FROM t INTO FILES 't' FORMAT PARQUET")
        change(world, "INSERT INTO t VALUES (1)")
        emit(world)
        keys = [item["Key"] for item in client.list_objects_v2(Bucket="outlet")["Contents"]]
        numbered = [key for key in keys if key.endswith(".json")]
        assert len(numbered) == 2
        client.put_object(  # another writer is faster
            Bucket="outlet", Key=numbered[-1].replace("2.json", "3.json"), Body=b"{}"
        )
        client.put_object(Bucket="outlet", Key="sinks/t/_manifests/_newest", Body=b"2")
        change(world, "INSERT INTO t VALUES (2)")
        with pytest.raises(TargetChanged, match="not of this sink"):
            emit(world)
    finally:
        world.close()


@pytest.mark.parametrize("format", ["PARQUET", "CSV", "JSON"])
def test_an_enum_is_written_as_its_label(world: World, format: str) -> None:
    world.sql("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    world.sql("CREATE TABLE diary (id int, word mood)")
    change(world, "INSERT INTO diary VALUES (1, 'ok'), (2, NULL)")
    world.sql(f"CREATE SINK k FROM diary INTO FILES 'diary' FORMAT {format}")
    emit(world)
    world.sql("ALTER TYPE mood ADD VALUE 'great' BEFORE 'ok'")
    change(world, "INSERT INTO diary VALUES (3, 'great')")
    emit(world)
    folder = world.home / "sinks" / "diary"
    manifests = [json.loads(file.read_text()) for file in sorted(folder.glob("_manifests/*.json"))]
    assert [read(folder, manifest) for manifest in manifests] == [
        Counter({(1, "ok"): 1, (2, None): 1}),
        Counter({(3, "great"): 1}),
    ]


def test_json_has_arrays_and_intervals_and_parquet_has_arrays(world: World) -> None:
    world.sql("CREATE TABLE wide (id int, a integer[], age interval)")
    for format in ("PARQUET", "CSV"):
        with pytest.raises(UnsupportedSql, match="which a sink cannot have"):
            world.sql(f"CREATE SINK k FROM wide INTO FILES 'wide' FORMAT {format}")
    change(world, "INSERT INTO wide VALUES (1, '{1,NULL}', '1 day')")
    world.sql("CREATE SINK k FROM wide INTO FILES 'wide' FORMAT JSON")
    emit(world)
    world.sql("DROP SINK k; CREATE VIEW lists AS SELECT id, a FROM wide")
    world.sql("CREATE SINK k FROM lists INTO FILES 'lists' FORMAT PARQUET")
    emit(world)
    [lines] = (world.home / "sinks" / "wide").glob("mz_timestamp=*/*.json")
    assert json.loads(lines.read_text()) == {"id": 1, "a": [1, None], "age": "1 day", "mz_diff": 1}
    [file] = (world.home / "sinks" / "lists").glob("mz_timestamp=*/*.parquet")
    assert duckdb.sql(f"SELECT id, a FROM '{file}'").fetchall() == [(1, [1, None])]
