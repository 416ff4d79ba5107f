"""A sink into Delta against Structured Streaming whose foreachBatch merges the same changes by key
into a table of its own."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fixtures.maintained import World
from fixtures.sunk import delta_rows

from benchmarks.figures import Figures, timed
from reclock.pipeline import cluster_steps

ROWS = int(os.environ.get("BENCH_ROWS", "1000000"))
CHANGED = ROWS // 100
BATCHES = 6
"""The first of them warms up, and is not counted."""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        world = World(home / "environment")
        try:
            _compare(world, home)
        finally:
            world.close()


def _compare(world: World, home: Path) -> None:
    spark = world.environment.runtime.engines.spark()
    _change(world, "CREATE TABLE t (word text, number int)")
    _change(
        world,
        (
            "INSERT INTO t SELECT 'word ' || n::text || ' 0', n FROM generate_series(0, "
            f"{ROWS - 1}) AS g(n)"
        ),
    )
    world.sql("CREATE SINK k FROM t INTO DELTA 'rows'")
    cluster_steps.emit(world.environment, "k", world.now, owner="bench")
    pq.write_table(_rows(np.arange(ROWS), 0), home / "rows.parquet")
    spark.read.parquet(str(home / "rows.parquet")).write.format("delta").save(str(home / "merged"))
    (home / "changes").mkdir()
    ours, theirs = [], []
    for batch in range(1, BATCHES + 1):
        step = ROWS // CHANGED
        _change(
            world,
            (
                f"UPDATE t SET word = 'word ' || number::text || ' {batch}' WHERE number % "
                f"{step} = {batch}"
            ),
        )
        ours.append(
            timed(lambda: cluster_steps.emit(world.environment, "k", world.now, owner="bench"))
        )
        pq.write_table(
            _rows(np.arange(batch, ROWS, step), batch), home / "changes" / f"{batch}.parquet"
        )
        theirs.append(timed(lambda: _stream(spark, home)))
    assert delta_rows(world.home / "sinks" / "rows") == delta_rows(home / "merged")
    one, other = Figures(tuple(ours[1:])), Figures(tuple(theirs[1:]))
    print(f"Delta, {CHANGED} of {ROWS} rows changed: {one}")
    print(f"foreachBatch MERGE by key, availableNow, in a warm session: {other}")
    print(f"times as fast: {other.median / one.median:.2f}")


def _change(world: World, statement: str) -> None:
    """The statement is carried out, and all of it is in the lake."""
    world.now += 1000
    world.sql(statement)
    cluster_steps.refresh(world.environment, "default", world.now, owner="bench")


def _stream(spark: Any, home: Path) -> None:
    """What is new in the folder of changes is merged."""

    def merge(batch: Any, _: int) -> None:
        batch.createOrReplaceTempView("batch")
        batch.sparkSession.sql(
            f"MERGE INTO delta.`{home / 'merged'}` kept USING batch ON kept.number = batch.number "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    changes = spark.readStream.schema("word string, number int").parquet(str(home / "changes"))
    writer = changes.writeStream.foreachBatch(merge).option(
        "checkpointLocation", str(home / "checkpoint")
    )
    writer.trigger(availableNow=True).start().awaitTermination()


def _rows(numbers: np.ndarray[Any, Any], round_: int) -> pa.Table:
    words = pa.array([f"word {number} {round_}" for number in numbers])
    return pa.table({"word": words, "number": pa.array(numbers, pa.int32())})


if __name__ == "__main__":
    main()
