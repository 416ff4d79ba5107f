"""A topic of JSON messages, reclocked with audit on, against plain Spark reading the same messages
into plain Delta; all warm."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from fixtures.kafka import Broker
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from benchmarks.figures import Figures, timed
from reclock.adapter.session.session import Session
from reclock.clusters import jars
from reclock.pipeline import tick
from reclock.runtime.environment import Environment

ROWS = int(os.environ.get("BENCH_ROWS", "1000000"))
PARTITIONS = 2
RUNS = 3
SCHEMA = (
    "id BIGINT, at TIMESTAMP, carrier STRING, origin STRING, delay INT, distance DOUBLE, "
    "note STRING"
)
_LOCK = Path(__file__).with_name("kafka.lock")


def main() -> None:
    beside_a_broker(_compare)


def beside_a_broker(compare: Callable[[Environment, Broker, Path], None]) -> None:
    """Run what compares, with a new environment whose Spark can read topics itself, a broker, and a
    folder for the peer."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        os.environ["RECLOCK_SPARK_JARS"] = str(_all_jars(home / "jars"))
        broker = Broker.make(home / "broker")
        broker.start()
        try:
            with Environment.initialise(home / "environment") as environment:
                compare(environment, broker, home)
        finally:
            broker.stop()


def _all_jars(folder: Path) -> Path:
    """Spark's usual jars with those of its Kafka source beside."""
    jars.fetch(folder, jars.parse(_LOCK.read_text()))
    for jar in jars.pinned():
        (folder / jar.file_name).symlink_to(jars.default_folder() / jar.file_name)
    return folder


def _compare(environment: Environment, broker: Broker, home: Path) -> None:
    spark, session = environment.runtime.engines.spark(), Session(environment)
    warm, full = _topic(broker, 20_000), _topic(broker, ROWS)

    def ours(number: int, topic: str, rows: int) -> float:
        columns = (
            SCHEMA.replace("STRING", "text")
            .replace("DOUBLE", "double precision")
            .replace("TIMESTAMP", "timestamptz")
        )
        text = (
            f"CREATE SOURCE run{number} ({columns}) FROM KAFKA BROKER '{broker.address}' "
            f"TOPIC '{topic}' FORMAT JSON"
        )
        list(session.execute(text))

        def run() -> None:
            report = tick.run(environment, only=[f"run{number}"], owner="bench")
            assert report.succeeded, report.summary()
            assert sum(report.published.rows.values()) == rows

        return timed(run)

    def batch(number: int, topic: str, rows: int) -> float:
        frame = messages(spark.read, broker, topic).load()
        target = str(home / "batch" / f"run{number}")
        return timed(lambda: _decoded(frame).write.format("delta").save(target))

    def stream(number: int, topic: str, rows: int) -> float:
        frame = messages(spark.readStream, broker, topic).load()
        target = str(home / "stream" / f"run{number}")

        def run() -> None:
            writer = (
                _decoded(frame)
                .writeStream.format("delta")
                .option("checkpointLocation", f"{target}-checkpoint")
            )
            writer.trigger(availableNow=True).start(target).awaitTermination()

        return timed(run)

    sides = {
        "reclock, with audit": ours,
        "Spark batch to plain Delta": batch,
        "Structured Streaming, availableNow": stream,
    }
    for side in sides.values():
        side(0, warm, 20_000)
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(1, RUNS + 1):
        for name, side in sides.items():
            seconds[name].append(side(number, full, ROWS))
    print(f"{ROWS} messages of JSON in {PARTITIONS} partitions, in transactions")
    for name, found in seconds.items():
        print(f"{name}: {Figures(tuple(found))}; {ROWS / median(found):,.0f} rows/s")
    first = median(seconds["reclock, with audit"])
    for name in list(sides)[1:]:
        print(f"ratio of rows per second to {name}: {median(seconds[name]) / first:.2f}")


def messages(reader: Any, broker: Broker, topic: str) -> Any:
    options = {
        "kafka.bootstrap.servers": broker.address,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "kafka.isolation.level": "read_committed",
        "failOnDataLoss": "true",
        "minPartitions": "4",
    }
    return reader.format("kafka").options(**options)


def _decoded(frame: DataFrame) -> DataFrame:
    return frame.select(f.from_json(f.col("value").cast("string"), SCHEMA).alias("value")).select(
        "value.*"
    )


def _topic(broker: Broker, rows: int) -> str:
    topic = broker.topic(PARTITIONS)
    producer = broker.producer(
        f"{topic}-writer",
        **{"linger.ms": 50, "batch.size": 1 << 19, "queue.buffering.max.messages": 500_000},
    )
    producer.init_transactions()
    for start in range(0, rows, 50_000):
        producer.begin_transaction()
        for row in range(start, min(start + 50_000, rows)):
            value = (
                f'{{"id":{row},"at":"2013-{1 + row % 12:02}-{1 + row % 28:02} '
                f'05:{row % 60:02}:00","carrier":"UA","origin":"JFK",'
                f'"delay":{row % 200 - 20},"distance":{row % 3000 + 0.5},"note":"message {row}"}}'
            )
            producer.produce(topic, value, partition=row % PARTITIONS)
            if row % 10_000 == 0:
                producer.poll(0)
        producer.commit_transaction()
    return topic


if __name__ == "__main__":
    main()
