"""A stream reads each change once, also if Spark is killed between reading a micro-batch and
committing it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fixtures import forks
from fixtures.server import SqlServer
from fixtures.spark import archived_classes
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType

import reclock
from reclock.errors import InvalidOption, NotReadable, RelationReplaced
from reclock.spark import ReclockDataSource
from reclock.spark.stream_reader import ChangesReader

pytestmark = pytest.mark.spark

KILLED = """
import json, os, sys
from pathlib import Path
from pyspark.sql import SparkSession
from reclock.spark import ReclockDataSource

home, checkpoint, seen = sys.argv[1:]
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.dataSource.register(ReclockDataSource)

def see(batch, number):
    Path(seen).write_text(json.dumps([number, [list(row) for row in batch.collect()]]))
    os.kill(os.getpid(), 9)

stream = spark.readStream.format("reclock").options(home=home, changes="true").load("carts")
stream.writeStream.option("checkpointLocation", checkpoint).foreachBatch(see).start().awaitTermination()
"""


def test_a_killed_stream_repeats_its_micro_batch_and_goes_on(
    spark: SparkSession, sql_server: SqlServer, tmp_path: Path
) -> None:
    spark.dataSource.register(ReclockDataSource)
    batches: dict[int, list[tuple[Any, ...]]] = {}

    def read_available() -> None:
        reader = spark.readStream.format("reclock").options(
            home=str(sql_server.home), changes="true", numPartitions="2"
        )
        writer = reader.load("carts").writeStream.option(
            "checkpointLocation", str(tmp_path / "checkpoint")
        )
        writer.foreachBatch(keep).trigger(availableNow=True).start().awaitTermination()

    def keep(batch: DataFrame, number: int) -> None:
        batches[number] = sorted(map(tuple, batch.collect()))

    def contents() -> Counter[tuple[Any, ...]]:
        """What the changes of all micro-batches add up to."""
        total: Counter[tuple[Any, ...]] = Counter()
        for rows in batches.values():
            for id, item, _, diff in rows:
                total[id, item] += diff
        return +total

    with reclock.connect(sql_server.home) as client:
        client.sql("CREATE TABLE carts (id integer, item text)")
        client.sql("INSERT INTO carts VALUES (1, 'cup'), (2, 'pan'), (2, 'pan')")
        read_available()
        assert [(row[:2], row[3]) for row in batches[0]] == [((1, "cup"), 1), ((2, "pan"), 2)]

        client.sql("UPDATE carts SET item = 'mug' WHERE id = 1")
        output_folder = tmp_path / "seen"
        arguments = [str(sql_server.home), str(tmp_path / "checkpoint"), str(output_folder)]
        died = subprocess.run(
            [sys.executable, "-c", KILLED, *arguments],
            env=os.environ | archived_classes(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert output_folder.exists(), died.stderr[-3000:]
        number, rows = json.loads(output_folder.read_text())

        client.sql("DELETE FROM carts WHERE id = 2")
        read_available()
        assert number == 1
        assert batches[1] == sorted(map(tuple, rows))
        assert [(row[:2], row[3]) for row in batches[1]] == [((1, "cup"), -1), ((1, "mug"), 1)]
        assert contents() == Counter(client.sql("SELECT id, item FROM carts").rows())

        before = dict(batches)
        read_available()
        assert batches == before
        client.sql("DROP TABLE carts")


def test_a_stream_goes_on_after_its_first_time_was_compacted(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.dataSource.register(ReclockDataSource)
    home, checkpoint, batches = tmp_path / "home", tmp_path / "checkpoint", []

    def read_available(changes: str, checkpoint: Path) -> None:
        stream = (
            spark.readStream.format("reclock")
            .options(home=str(home), changes=changes)
            .load("carts")
        )
        writer = stream.writeStream.option("checkpointLocation", str(checkpoint)).trigger(
            availableNow=True
        )
        writer.foreachBatch(
            lambda batch, _: batches.extend((row.id, row.mz_diff) for row in batch.collect())
        ).start().awaitTermination()

    with reclock.connect(home, create=True) as client:
        client.sql("CREATE TABLE carts (id integer)")
        first = int(
            client.sql("EXPLAIN TIMESTAMP FOR SELECT * FROM carts").rows()[0][0].split()[-1]
        )
        client.sql("INSERT INTO carts VALUES (1)")
        with client.subscribe("carts") as held:  # keeps what the checkpoint needs
            next(iter(held))
            read_available(f"{first + 1}..", checkpoint)
            assert forks.command("maintain", "--home", str(home), RECLOCK_RETENTION_MS="1") == 0
        with pytest.raises(NotReadable):
            client.sql("SELECT * FROM carts", as_of=first)
        client.sql("INSERT INTO carts VALUES (2)")
        read_available(f"{first + 1}..", checkpoint)
        assert batches == [(1, 1), (2, 1)]
        with pytest.raises(StreamingQueryException, match=r"carts. cannot be read at"):
            read_available(f"{first + 1}..", tmp_path / "another")


@pytest.mark.parametrize("partitions", [None, "2"])
def test_a_stream_stops_when_its_relation_is_replaced(
    partitions: str | None, tmp_path: Path
) -> None:
    options = {"path": "carts", "home": str(tmp_path / "home"), "changes": "true"}
    if partitions is not None:
        options["numPartitions"] = partitions

    def begin() -> ChangesReader:
        source = ReclockDataSource(options)
        reader = source.streamReader(source.schema())
        assert isinstance(reader, ChangesReader)
        return reader

    with reclock.connect(tmp_path / "home", create=True) as client:
        client.sql("CREATE TABLE stock (id integer)")
        client.sql("INSERT INTO stock VALUES (1)")
        client.sql("CREATE VIEW carts AS SELECT id + 1 AS id FROM stock")
        reader = begin()
        start = reader.initialOffset()
        end = reader.latestOffset(start, ReadAllAvailable())
        planned = reader.partitions(start, end)
        rows = [row for part in planned for batch in reader.read(part) for row in batch.to_pylist()]
        assert [(row["id"], row["mz_diff"]) for row in rows] == [(2, 1)]

        client.sql("ALTER VIEW carts RENAME TO old; ALTER VIEW old RENAME TO carts")
        client.sql("INSERT INTO stock VALUES (2)")
        end = reader.latestOffset(end, ReadAllAvailable())  # the same relation goes on
        client.sql("CREATE OR REPLACE VIEW carts AS SELECT id + 2 AS id FROM stock")
        for again in (reader, begin()):
            with pytest.raises(RelationReplaced, match="carts is not the relation"):
                again.latestOffset(end, ReadAllAvailable())
            with pytest.raises(RelationReplaced):  # Spark repeats a micro-batch
                again.partitions(start, end)
        for part in planned[:1]:  # a task that was planned before
            with pytest.raises(RelationReplaced):
                list(reader.read(part))
        earlier = {"time": end["time"], "snapshot": False}  # of a release that kept no ids
        assert begin().latestOffset(earlier, ReadAllAvailable())["time"] >= end["time"]
        reader.stop()


@pytest.mark.parametrize("options", [{}, {"changes": "5..7"}])
def test_a_stream_needs_changes_without_an_end(options: dict[str, str]) -> None:
    source = ReclockDataSource({"path": "numbers", "home": "nowhere", **options})
    with pytest.raises(InvalidOption, match="changes that do not end"):
        source.streamReader(StructType())
