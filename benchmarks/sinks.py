"""Sinks against plain clients of their targets: a transactional producer of the same bytes,
delta-rs writing the same rows."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from deltalake import write_deltalake
from fixtures.kafka import Broker
from fixtures.maintained import World
from fixtures.registry import running

from benchmarks.figures import paired
from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.collections.schema import arrow_schema
from reclock.definitions.connections import Connection
from reclock.definitions.sinks import Avro, Envelope
from reclock.pipeline import cluster_steps
from reclock.sinks.avro_messages import AvroForm, value_schema
from reclock.sinks.json_messages import JsonForm
from reclock.sinks.messages import Encoder, Form

ROWS = int(os.environ.get("BENCH_ROWS", "500000"))
RUNS = 3


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "environment").mkdir()
        world = World(home / "environment")
        broker = Broker.make(home / "broker")
        broker.start()
        try:
            source = world.create("s")
            _append(world, source, 2000, _rows(0, ROWS, 1))
            _kafka(world, broker, "JSON", JsonForm())
            with running(home / "registry.log") as registry:
                world.sql(
                    f"CREATE CONNECTION schemas TO CONFLUENT SCHEMA REGISTRY (URL '{registry.url}')"
                )
                schema = value_schema(
                    _desc(world).columns, Envelope.DEBEZIUM, Avro(Connection("", ()), "envelope")
                )
                avro = "AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION schemas"
                _kafka(world, broker, avro, AvroForm("", schema, {}))
            _delta(world, home)
        finally:
            broker.stop()
            world.close()


def _rows(first: int, last: int, diff: int) -> pa.Table:
    numbers = np.arange(first, last)
    words = pa.array([f"word {number}" for number in numbers])
    return pa.table(
        {
            "word": words,
            "number": pa.array(numbers, pa.int32()),
            "mz_diff": pa.array(np.full(len(numbers), diff)),
        }
    )


def _append(world: World, source: str, at: int, rows: pa.Table) -> None:
    collection = world.collection(source)
    updates = rows.append_column("mz_timestamp", pa.array(np.full(len(rows), at))).select(
        arrow_schema(collection.desc, with_updates=True).names
    )
    collection.append(updates, expected_upper=collection.upper(), new_upper=Timestamp(at + 1))
    world.now = at
    world.environment.stores.frontiers.advance_idle([source], Timestamp(at + 1))
    world.environment.stores.oracle.apply_write(EPOCH_MS, Timestamp(at))


def _emitting(world: World, kind: str, into: Callable[[int], str]) -> Callable[[], None]:
    """Makes a new sink at each call, and emits all there is."""
    count = 0

    def run() -> None:
        nonlocal count
        count += 1
        name = f"{kind}{count}"
        world.sql(f"CREATE SINK {name} FROM s {into(count)}")
        assert cluster_steps.emit(world.environment, name, world.now, owner="bench").changes == ROWS

    return run


def _desc(world: World) -> RelationDesc:
    return world.collection(world.id_of("s")).desc


def _kafka(world: World, broker: Broker, format: str, form: Form) -> None:
    topics = [broker.topic(retention_ms="-1") for _ in range(RUNS + 1)]
    clauses, name = f"FORMAT {format} ENVELOPE DEBEZIUM", format.partition(" ")[0]
    ours = _emitting(
        world,
        name.lower(),
        lambda n: f"INTO KAFKA BROKER '{broker.address}' TOPIC '{topics[n - 1]}' {clauses}",
    )
    encoder = Encoder(_desc(world), (), Envelope.DEBEZIUM, form, form)
    changes = _rows(0, ROWS, 1).to_reader()
    same = [value for batch in encoder.messages(Timestamp(2000), changes) for _, value, _ in batch]
    theirs_topic = broker.topic(retention_ms="-1")

    def theirs() -> None:
        settings = {"queue.buffering.max.messages": 500_000, "compression.type": "lz4"}
        producer = broker.producer(theirs_topic, **settings)
        producer.init_transactions()
        producer.begin_transaction()
        for value in same:
            while True:
                try:
                    producer.produce(theirs_topic, value, timestamp=2000)
                    break
                except BufferError:
                    producer.poll(0.05)
        producer.commit_transaction()

    ours()
    our_seconds, their_seconds = paired(ours, theirs, runs=RUNS)
    print(
        f"Kafka in {name}, {ROWS} rows of a source in one transaction: {our_seconds}; "
        f"{ROWS / our_seconds.median:,.0f} rows/s"
    )
    print(
        f"plain transactional producer of the same bytes: {their_seconds}; "
        f"{ROWS / their_seconds.median:,.0f} rows/s"
    )
    print(f"ratio of rows per second: {their_seconds.median / our_seconds.median:.2f}")


def _delta(world: World, home: Path) -> None:
    plain = _rows(0, ROWS, 1).drop_columns(["mz_diff"])
    count = 0

    def theirs() -> None:
        nonlocal count
        count += 1
        write_deltalake(str(home / f"plain{count}"), plain)

    ours = _emitting(world, "delta", lambda n: f"INTO DELTA 'table{n}'")
    ours()
    one, other = paired(ours, theirs, runs=RUNS)
    print(f"Delta, {ROWS} rows of a source in one commit: {one}; {ROWS / one.median:,.0f} rows/s")
    print(f"plain delta-rs write: {other}; {ROWS / other.median:,.0f} rows/s")
    print(f"ratio of rows per second: {other.median / one.median:.2f}")


if __name__ == "__main__":
    main()
