"""A keyed topic of which one key in a hundred changes a batch: ENVELOPE UPSERT against Structured
Streaming with MERGE."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from delta.tables import DeltaTable
from fixtures.kafka import Broker
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from benchmarks.figures import Figures, timed
from benchmarks.kafka import beside_a_broker, messages
from reclock.adapter.context.results import Result
from reclock.adapter.session.session import Session
from reclock.pipeline import tick
from reclock.runtime.environment import Environment

KEYS = int(os.environ.get("BENCH_ROWS", "1000000"))
CHANGED = KEYS // 100
BATCHES = 5


def main() -> None:
    beside_a_broker(_compare)


def _compare(environment: Environment, broker: Broker, home: Path) -> None:
    session, topic = Session(environment), broker.topic(2)
    source = f"""CREATE SOURCE accounts (name text, amount bigint) FROM KAFKA BROKER '{broker.address}' TOPIC '{topic}'
                 KEY FORMAT TEXT VALUE FORMAT JSON INCLUDE KEY AS id ENVELOPE UPSERT"""
    list(session.execute(source))
    merging = _Merging(environment.runtime.engines.spark(), broker, topic, home / "merged")

    def ours() -> None:
        report = tick.run(environment, owner="bench")
        assert report.succeeded, report.summary()

    _write(broker, topic, range(KEYS), 0)
    print(
        f"{KEYS} keys, all new: reclock, with audit {timed(ours):.1f} s; MERGE "
        f"{timed(merging.run):.1f} s"
    )
    chance, seconds = random.Random(0), []
    for number in range(1, BATCHES + 2):
        _write(broker, topic, chance.sample(range(KEYS), CHANGED), number)
        seconds.append((timed(ours), timed(merging.run)))
    [result] = session.execute("SELECT count(*), sum(amount) FROM accounts")
    assert isinstance(result, Result)
    assert list(result.rows()) == [merging.totals()]
    # the first warms both
    mine, theirs = (Figures(side) for side in zip(*seconds[1:], strict=True))
    print(f"{CHANGED} of {KEYS} keys changed a batch")
    print(f"reclock, with audit: {mine}")
    print(f"foreachBatch MERGE:  {theirs}")
    print(f"ratio of time: {theirs.median / mine.median:.2f}")


@dataclass
class _Merging:
    """What one would write by hand: each batch comes down to the last message of a key, and is
    merged into a Delta table."""

    spark: SparkSession
    broker: Broker
    topic: str
    home: Path

    @property
    def _target(self) -> str:
        return str(self.home / "table")

    def run(self) -> None:
        if not DeltaTable.isDeltaTable(self.spark, self._target):
            self.spark.createDataFrame([], "id STRING, name STRING, amount BIGINT").write.format(
                "delta"
            ).save(self._target)
        frame = messages(self.spark.readStream, self.broker, self.topic).load()
        writer = frame.writeStream.foreachBatch(self._merge).option(
            "checkpointLocation", str(self.home / "checkpoint")
        )
        writer.trigger(availableNow=True).start().awaitTermination()

    def _merge(self, batch: DataFrame, _: int) -> None:
        by_key = Window.partitionBy("key").orderBy(f.desc("partition"), f.desc("offset"))
        last = batch.withColumn("place", f.row_number().over(by_key)).where("place = 1")
        value = f.from_json(f.col("value").cast("string"), "name STRING, amount BIGINT")
        changes = last.select(f.col("key").cast("string").alias("id"), value.alias("value")).select(
            "id", "value.*"
        )
        merge = (
            DeltaTable.forPath(self.spark, self._target)
            .alias("old")
            .merge(changes.alias("new"), "old.id = new.id")
        )
        merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()

    def totals(self) -> tuple[int, int]:
        [row] = (
            self.spark.read.format("delta")
            .load(self._target)
            .agg(f.count("*"), f.sum("amount"))
            .collect()
        )
        return tuple(row)


def _write(broker: Broker, topic: str, keys: Iterable[int], amount: int) -> None:
    producer = broker.producer(
        topic + "-writer", **{"linger.ms": 50, "queue.buffering.max.messages": 2_000_000}
    )
    producer.init_transactions()
    producer.begin_transaction()
    for key in keys:
        producer.produce(
            topic,
            f'{{"name":"account {key}","amount":{amount + key}}}',
            key=f"k{key}",
            partition=key % 2,
        )
    producer.commit_transaction()


if __name__ == "__main__":
    main()
