"""Collections and the targets of sinks are ordinary Delta tables: delta-spark, in a session of the
environment's own, reads what Reclock reads, and compacts under a sink what it has written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from datetime import date, datetime, timezone
from decimal import Decimal

import pyarrow as pa

from delta.tables import DeltaTable

from reclock.pipeline import cluster_steps
from reclock.adapter.session.session import Session
from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import BOOLEAN, BYTEA, DATE, DOUBLE, INTEGER, TEXT, TIMESTAMP, TIMESTAMPTZ
from reclock.algebra.relations import Column, RelationDesc, numeric
from reclock.clusters.session import start
from reclock.collections.compaction import compact
from reclock.collections.lake import Lake
from reclock.config import Settings
from reclock.runtime.environment import Environment

settings = Settings.load(sys.argv[1])
types = dict(a=INTEGER, b=TEXT, c=DOUBLE, d=numeric(10, 2), e=DATE, f=TIMESTAMP, g=TIMESTAMPTZ, h=BOOLEAN, i=BYTEA)
desc = RelationDesc(tuple(Column(name, kind) for name, kind in types.items()))
collection = Lake(settings.lake_root).create(StorageCollectionId(GlobalId("u1")), desc)
moment = datetime(2013, 1, 1, 5, 30)
row = dict(a=1, b="x", c=0.5, d=Decimal("1.25"), e=date(2013, 1, 1), f=moment, h=True, i=b"y")
row["g"] = moment.replace(tzinfo=timezone.utc)
empty = dict.fromkeys(types)
for number, values in enumerate([row, empty, row], 1):
    update = pa.Table.from_pylist([values | {"mz_timestamp": number * 10, "mz_diff": 1}], collection.pin().updates().schema)
    collection.append(update, expected_upper=collection.upper(), new_upper=number * 10 + 1)
compact(collection, 25)

spark = start(settings)
spark.conf.set("spark.sql.shuffle.partitions", "1")
# vacuum lists the folder in as many tasks, 10,000 by default
spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", "1")
found = spark.read.format("delta").load(collection.uri)
assert [(field.name, field.dataType.simpleString()) for field in found.schema] == [
    ("a", "int"), ("b", "string"), ("c", "double"), ("d", "decimal(10,2)"), ("e", "date"), ("f", "timestamp_ntz"),
    ("g", "timestamp"), ("h", "boolean"), ("i", "binary"), ("mz_timestamp", "bigint"), ("mz_diff", "bigint"),
], found.schema
times = sorted(tuple(row) for row in found.select("mz_timestamp", "mz_diff").collect())
assert times == [(25, 1), (25, 1), (30, 1)], times
assert found.where("mz_timestamp <= 25 AND a = 1 AND d = 1.25 AND f = TIMESTAMP_NTZ '2013-01-01 05:30:00'").count() == 1

environment = Environment.initialise(sys.argv[1], spark=spark)
told = lambda text: sorted(tuple(row) for result in Session(environment).execute(text) for row in result.rows())
emit = lambda: cluster_steps.emit(environment, "k", environment.stores.oracle.read_ts("epoch_ms"), owner="test").commits
path = str(settings.home / "sinks" / "t")
told("CREATE TABLE t (id int, at timestamp, word text); CREATE SINK k FROM t INTO DELTA 't'")
for n in range(3):
    told(f"INSERT INTO t VALUES ({n}, TIMESTAMP '2013-01-01 05:30:00', 'w'), ({n}, TIMESTAMP '2013-01-01 05:30:00', 'w')")
told("DELETE FROM t WHERE id = 1")
assert emit() == 5
table = DeltaTable.forPath(spark, path)
sizes = [spark.read.format("delta").option("versionAsOf", n).load(path).count() for n in range(6)]
assert sizes == [0, 0, 2, 4, 6, 4], sizes
assert table.optimize().executeCompaction().first()["metrics"]["numFilesRemoved"] > 1
spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
table.vacuum(0)
told("UPDATE t SET word = 'x' WHERE id = 2")
assert emit() == 1
read = sorted(tuple(row) for row in spark.read.format("delta").load(path).collect())
assert read == told("SELECT * FROM t") and len(read) == 4, read
environment.close()
spark.stop()
"""


@pytest.mark.spark
def test_delta_spark_reads_collections_and_what_sinks_write(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
