"""The partitions of a relation: by files where these have its rows, so that each task reads only its
own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import reclock
from reclock.algebra.timestamps import Timestamp
from reclock.client.embedded import EmbeddedClient
from reclock.collections.collection import Collection
from reclock.collections.compaction import compact, vacuum
from reclock.collections.tables import table_id
from reclock.errors import DroppedMeanwhile, VersionGone
from reclock.pipeline.maintenance import sweep
from reclock.spark import ReclockDataSource
from reclock.spark.data_source import RelationReader
from reclock.spark.partitions import ScanPartition


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedClient]:
    with reclock.connect(tmp_path_factory.mktemp("partitions") / "home", create=True) as client:
        assert isinstance(client, EmbeddedClient)
        yield client


@pytest.fixture
def parcels(client: EmbeddedClient) -> Iterator[EmbeddedClient]:
    """A table whose rows are in three files."""
    client.sql("CREATE TABLE parcels (id integer NOT NULL, place text)")
    for place in ("hall", "ramp", "dock"):
        client.sql(f"INSERT INTO parcels SELECT n, '{place}' FROM generate_series(1, 20) AS n")
        client.environment.stores.tables.apply()
    yield client
    client.sql("DROP TABLE IF EXISTS parcels CASCADE")


def home(client: EmbeddedClient) -> str:
    return str(client.environment.stores.settings.home)


def open_reader(
    client: EmbeddedClient, relation: str = "parcels", **options: Any
) -> RelationReader:
    texts = {name: str(value) for name, value in options.items()}
    source = ReclockDataSource({"home": home(client), "path": relation, **texts})
    reader = source.reader(source.schema())
    assert isinstance(reader, RelationReader)
    return reader


def plan(reader: RelationReader) -> list[ScanPartition]:
    return [part for part in reader.partitions() if isinstance(part, ScanPartition)]


def read(reader: RelationReader, *partitions: ScanPartition) -> Counter[tuple[Any, ...]]:
    """The rows of all the partitions. Each row must come once."""
    batches = [batch for partition in partitions for batch in reader.read(partition)]
    return Counter(tuple(row.values()) for batch in batches for row in batch.to_pylist())


def answer(client: EmbeddedClient, query: str) -> Counter[tuple[Any, ...]]:
    return Counter(client.sql(query).rows())


def time_of(client: EmbeddedClient) -> int:
    lines = client.sql("EXPLAIN TIMESTAMP FOR SELECT * FROM parcels").rows()
    return int(lines[0][0].split()[-1])


def collection_of(client: EmbeddedClient, name: str) -> Collection:
    stores = client.environment.stores
    [entry] = [e for e in stores.planner_catalog().relations() if e.name.item == name]
    return stores.lake.open(table_id(entry.id))


def paths_of(partition: ScanPartition) -> list[Path]:
    assert partition.part is not None
    return [Path(file.uri.removeprefix("file://")) for file in partition.part.files]


@contextmanager
def only_with_files_of(partition: ScanPartition, collection: Collection) -> Iterator[None]:
    """Inside the block the collection has no data files but those of the partition."""
    folder, paths = Path(collection.uri.removeprefix("file://")), set(paths_of(partition))
    hidden = [path for path in folder.rglob("*.parquet") if path not in paths]
    for path in hidden:
        path.rename(path.with_suffix(".hidden"))
    try:
        yield
    finally:
        for path in hidden:
            path.with_suffix(".hidden").rename(path)


def test_a_task_reads_only_its_files(parcels: EmbeddedClient) -> None:
    collection = collection_of(parcels, "parcels")
    for options in ({}, {"changes": "true"}):
        reader = open_reader(parcels, numPartitions=3, **options)
        partitions = plan(reader)
        assert [len(paths_of(partition)) for partition in partitions] == [1, 1, 1]
        rows: Counter[tuple[Any, ...]] = Counter()
        for partition in partitions:
            with only_with_files_of(partition, collection):
                rows += read(reader, partition)
        assert Counter(row[:2] for row in rows.elements()) == answer(
            parcels, "SELECT * FROM parcels"
        )


def test_changes_of_some_times_read_only_the_files_of_these(parcels: EmbeddedClient) -> None:
    before = time_of(parcels)
    parcels.sql("UPDATE parcels SET place = 'road' WHERE id = 1")
    first = time_of(parcels)
    parcels.sql("DELETE FROM parcels WHERE id = 2")
    reader = open_reader(parcels, changes=f"{before + 1}..{first + 1}", numPartitions=4)
    [partition] = plan(reader)
    with only_with_files_of(partition, collection_of(parcels, "parcels")):
        assert read(reader, partition) == Counter(
            [
                (1, "road", first, 3),
                *((1, place, first, -1) for place in ("hall", "ramp", "dock")),
            ]
        )


def test_rows_from_which_some_were_deleted_are_one_partition(parcels: EmbeddedClient) -> None:
    parcels.sql("DELETE FROM parcels WHERE id = 7")
    reader = open_reader(parcels, numPartitions=4)
    [partition] = plan(reader)
    assert len(paths_of(partition)) == 4
    assert read(reader, partition) == answer(parcels, "SELECT * FROM parcels")


def test_rows_that_no_file_has_yet_are_read(parcels: EmbeddedClient) -> None:
    parcels.sql("INSERT INTO parcels VALUES (21, 'yard')")
    reader = open_reader(parcels, numPartitions=2)
    partitions = plan(reader)
    assert len(partitions) == 2
    assert read(reader, *partitions) == answer(parcels, "SELECT * FROM parcels")


def test_rows_that_cannot_be_applied_are_read_by_a_query(
    parcels: EmbeddedClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    parcels.sql("INSERT INTO parcels VALUES (21, 'yard')")
    monkeypatch.setattr("reclock.collections.tables.Tables.apply", lambda *_, **__: 0)
    reader = open_reader(parcels)
    [partition] = plan(reader)
    assert read(reader, partition) == answer(parcels, "SELECT * FROM parcels")


def test_an_empty_relation_is_one_partition(client: EmbeddedClient) -> None:
    client.sql("CREATE TABLE nothing (id integer)")
    for options in ({}, {"changes": "true"}):
        reader = open_reader(client, "nothing", numPartitions=3, **options)
        [partition] = plan(reader)
        assert paths_of(partition) == []
        assert not read(reader, partition)
    client.sql("DROP TABLE nothing")


def test_views_that_choose_rows_and_columns_are_read_by_file(parcels: EmbeddedClient) -> None:
    parcels.sql("CREATE VIEW ramp AS SELECT id FROM parcels WHERE place = 'ramp'")
    reader = open_reader(parcels, "ramp", numPartitions=3)
    partitions = plan(reader)
    assert [len(paths_of(partition)) for partition in partitions] == [1, 1, 1]
    assert read(reader, *partitions) == answer(parcels, "SELECT * FROM ramp")


def test_computed_views_are_one_partition_unless_asked(parcels: EmbeddedClient) -> None:
    parcels.sql("CREATE VIEW places AS SELECT place, count(*) FROM parcels GROUP BY place")
    for options, count in (({}, 1), ({"numPartitions": 3}, 3)):
        reader = open_reader(parcels, "places", **options)
        partitions = plan(reader)
        assert [partition.part for partition in partitions] == [None] * count
        assert read(reader, *partitions) == answer(parcels, "SELECT * FROM places")


def test_a_stored_result_is_read_by_file(parcels: EmbeddedClient) -> None:
    parcels.sql(
        "CREATE MATERIALIZED VIEW totals AS SELECT place, count(*) FROM parcels GROUP BY place"
    )
    parcels.tick()
    reader = open_reader(parcels, "totals")
    [partition] = plan(reader)
    assert paths_of(partition)
    assert read(reader, partition) == answer(parcels, "SELECT * FROM totals")


def test_a_stream_divides_a_micro_batch_by_file(parcels: EmbeddedClient) -> None:
    options = {"home": home(parcels), "path": "parcels", "changes": "true", "numPartitions": "3"}
    source = ReclockDataSource(options)
    stream = source.streamReader(source.schema())
    try:
        start = {"time": time_of(parcels), "snapshot": True}
        parcels.sql("INSERT INTO parcels VALUES (21, 'yard')")
        end = {"time": time_of(parcels) + 1, "snapshot": False}
        partitions = stream.partitions(start, end)
        assert len(partitions) == 3
        batches = [batch for partition in partitions for batch in stream.read(partition)]
    finally:
        stream.stop()
    rows = Counter(tuple(row.values())[:2] for batch in batches for row in batch.to_pylist())
    assert rows == answer(parcels, "SELECT * FROM parcels")


def delete_replaced_files(client: EmbeddedClient) -> None:
    """Compact the parcels, and delete the files that this replaces, as after an hour."""
    collection = collection_of(client, "parcels")
    assert compact(collection, Timestamp(time_of(client)))
    assert vacuum(collection, before=Timestamp(1 << 50), claimed_staging=frozenset()).files


def test_files_that_a_compaction_replaced_are_read_until_vacuum(parcels: EmbeddedClient) -> None:
    reader = open_reader(parcels, numPartitions=3)
    partitions = plan(reader)
    compact(collection_of(parcels, "parcels"), Timestamp(time_of(parcels)))
    assert read(reader, *partitions) == answer(parcels, "SELECT * FROM parcels")


def test_partitions_whose_files_were_deleted_fail(parcels: EmbeddedClient) -> None:
    reader = open_reader(parcels, numPartitions=3)
    partitions = plan(reader)
    delete_replaced_files(parcels)
    with pytest.raises(VersionGone, match="parcels") as raised:
        read(reader, *partitions)
    assert raised.value.hint == "load the relation again"
    assert read(reader, *plan(reader)) == answer(parcels, "SELECT * FROM parcels")


@pytest.mark.parametrize("options", [{}, {"changes": "true"}])
def test_the_only_partition_needs_no_files(
    parcels: EmbeddedClient, options: dict[str, str]
) -> None:
    reader = open_reader(parcels, **options)
    [partition] = plan(reader)
    before = read(reader, partition)
    delete_replaced_files(parcels)
    assert read(reader, partition) == before


def test_a_table_that_is_gone_when_a_task_reads(parcels: EmbeddedClient) -> None:
    reader = open_reader(parcels, numPartitions=3)
    partitions = plan(reader)
    parcels.sql("DROP TABLE parcels")
    sweep(parcels.environment)
    with pytest.raises(DroppedMeanwhile, match="parcels"):
        read(reader, *partitions)


@pytest.mark.spark
def test_a_frame_is_read_again_after_load(parcels: EmbeddedClient, spark: SparkSession) -> None:
    spark.dataSource.register(ReclockDataSource)
    reader = spark.read.format("reclock").options(home=home(parcels), numPartitions="3")
    frame = reader.load("parcels")
    assert frame.rdd.getNumPartitions() == 3
    assert frame.count() == 60
    delete_replaced_files(parcels)
    with pytest.raises(Exception, match="load the relation again"):
        frame.count()
    assert reader.load("parcels").count() == 60
