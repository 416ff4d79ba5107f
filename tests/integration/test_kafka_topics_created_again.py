"""Topics that are deleted and created again, or lose their last messages: RESNAPSHOT makes their
source go on with what is there, as its envelope demands."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from fixtures.forks import die_at
from fixtures.kafka import Broker
from fixtures.objects import World
from fixtures.publications import Killed, Lakehouse, killing_at
from fixtures.topics import decide, over, rows_at, upserted

from reclock.adapter.session.session import Session
from reclock.errors import InvalidOption, UpstreamReplaced
from reclock.ingest import payload
from reclock.pipeline import tick
from reclock.runtime.environment import Environment

POINTS = [
    "ingest.after_claimed",
    "ingest.after_bind",
    "ingest.after_stage",
    "ingest.before_commit",
    "ingest.after_commit",
    "ingest.after_publish",
]
PROBLEMS = "SELECT name, error, hint FROM mz_source_statuses WHERE status = 'stalled'"


def change(before: int | None, after: int | None) -> bytes:
    """A change of a table with one column as Debezium tells it."""
    rows = [None if n is None else {"n": n} for n in (before, after)]
    op = "d" if after is None else "u" if before is not None else "c"
    return json.dumps({"before": rows[0], "after": rows[1], "op": op}).encode()


def create_sources(here: Lakehouse, kafka: Broker, topic: str) -> None:
    """A source of each envelope over a topic of its own, and a view over it."""
    over = f"FROM KAFKA BROKER '{kafka.address}' TOPIC '{topic}"
    here.sql(f"CREATE SOURCE log (text text) {over}' GROUP ID '{topic}' FORMAT TEXT INCLUDE OFFSET")
    here.sql(
        f"CREATE SOURCE stock (n integer) {over}-upsert' KEY FORMAT TEXT VALUE FORMAT JSON "
        "ENVELOPE UPSERT"
    )
    here.sql(f"CREATE SOURCE debts (n integer) {over}-debezium' FORMAT JSON ENVELOPE DEBEZIUM")
    here.sql("CREATE MATERIALIZED VIEW lines AS SELECT count(*) AS n FROM log")
    here.sql("CREATE MATERIALIZED VIEW left_over AS SELECT sum(n) AS n, count(*) AS c FROM stock")
    here.sql("CREATE MATERIALIZED VIEW owed AS SELECT n, count(*) AS c FROM debts GROUP BY n")


def topics(topic: str) -> tuple[str, str, str]:
    return topic, f"{topic}-upsert", f"{topic}-debezium"


def create_again(kafka: Broker, name: str, partitions: int = 1) -> None:
    kafka.delete(name)
    kafka.create(name, partitions)


def test_each_envelope_goes_on_with_a_topic_that_was_created_again(
    kafka: Broker, here: Lakehouse
) -> None:
    topic = kafka.topic(2)
    log, upsert, debezium = topics(topic)
    kafka.create(upsert, 2)
    kafka.create(debezium)
    create_sources(here, kafka, topic)
    kafka.send(log, [b"a", b"b"], 0)
    kafka.send(log, [b"c"], 1)
    kafka.send(upsert, [(b"x", b'{"n": 1}'), (b"y", b'{"n": 2}')], 0)
    kafka.send(upsert, [(b"z", b'{"n": 3}')], 1)
    kafka.send(debezium, [change(None, 1), change(None, 2), change(None, 2)])
    assert here.tick() == []
    with pytest.raises(InvalidOption, match="needs no RESNAPSHOT"):
        here.sql("ALTER SOURCE stock RESNAPSHOT")
    [(at,)] = here.sql("SELECT mz_now()")
    [(before,)] = here.sql("SELECT max(mz_timestamp) FROM stock_progress")

    create_again(kafka, log)
    create_again(kafka, upsert)
    create_again(kafka, debezium)
    kafka.send(log, [b"d"])
    kafka.send(upsert, [(b"y", b'{"n": 2}'), (b"w", b'{"n": 4}'), (b"x", b'{"n": 5}')])
    kafka.send(debezium, [change(None, 2), change(None, 3), change(3, 4)])
    assert len(here.tick()) == 3
    for name, error, hint in here.sql(PROBLEMS):
        assert "was deleted and created again" in error
        resnapshot = f"ALTER SOURCE reclock.public.{name} RESNAPSHOT"
        assert hint == f"{resnapshot} goes on with the topic that is there now"
        for decision in ("RETRY", "SKIP '0'"):
            with pytest.raises(InvalidOption, match="no decision brings this back") as refused:
                here.sql(f"ALTER SOURCE {name} {decision}")
            assert refused.value.hint == hint
        here.sql(f"ALTER SOURCE {name} RESNAPSHOT")
    assert here.tick() == []
    assert here.sql(PROBLEMS) == []

    # what happened stays; what is, is what the topic says now
    rows = [("a", 0), ("b", 1), ("c", 0), ("d", 0)]
    assert here.sql("SELECT * FROM log ORDER BY text") == rows
    assert here.sql("SELECT * FROM lines") == [(4,)]
    stock = "SELECT key, n FROM stock ORDER BY key"
    assert here.sql(stock) == [("w", 4), ("x", 5), ("y", 2)]
    assert here.sql("SELECT * FROM left_over") == [(11, 3)]
    assert here.sql("SELECT n, count(*) FROM debts GROUP BY n ORDER BY n") == [(2, 1), (4, 1)]
    assert here.sql("SELECT * FROM owed ORDER BY n") == [(2, 1), (4, 1)]
    assert here.sql(f"{stock} AS OF {at}") == [("x", 1), ("y", 2), ("z", 3)]
    # offsets count on, and none was bound at two times
    progress = 'SELECT partition, "offset" FROM {}_progress ORDER BY partition'
    assert here.sql(progress.format("log")) == [(0, 3), (1, 1)]
    assert here.sql(progress.format("stock")) == [(0, 5), (1, 1)]
    [(after,)] = here.sql("SELECT max(mz_timestamp) FROM stock_progress")
    assert after > before
    consumer = Consumer({"bootstrap.servers": kafka.address, "group.id": topic})
    [committed] = consumer.committed([TopicPartition(log, 0)], timeout=10)
    consumer.close()
    assert committed.offset == 1  # monitoring knows the topic's own offsets

    kafka.grow(log, 2)  # a partition that the earlier topic had
    kafka.send(log, [b"e"], 0)
    kafka.send(log, [b"f"], 1)
    kafka.send(upsert, [(b"w", None)])
    kafka.send(debezium, [change(2, None)])
    assert here.tick() == []
    assert here.sql("SELECT * FROM log ORDER BY text") == [*rows, ("e", 1), ("f", 0)]
    assert here.sql(progress.format("log")) == [(0, 4), (1, 2)]
    assert here.sql("SELECT * FROM left_over") == [(7, 2)]
    assert here.sql("SELECT * FROM owed") == [(4, 1)]
    with pytest.raises(InvalidOption, match="needs no RESNAPSHOT"):
        here.sql("ALTER SOURCE log RESNAPSHOT")


def resnapshot(home: Path) -> None:
    with Environment.open(home) as environment:
        list(Session(environment).execute("ALTER SOURCE stock RESNAPSHOT"))


def run_tick(home: Path) -> None:
    with Environment.open(home) as environment:
        tick.run(environment, owner="tests")


def test_processes_that_die_between_the_steps_lose_and_double_nothing(
    kafka: Broker, here: Lakehouse
) -> None:
    """The statement dies after its decision, the tick after it bound the new topic's offsets."""
    topic = kafka.topic()
    for name in topics(topic)[1:]:
        kafka.create(name)
    create_sources(here, kafka, topic)
    home, upsert = here.environment.stores.settings.home, f"{topic}-upsert"
    kafka.send(upsert, [(b"x", b'{"n": 1}'), (b"y", b'{"n": 2}')])
    assert here.tick() == []
    create_again(kafka, upsert)
    kafka.send(upsert, [(b"z", b'{"n": 3}')])
    die_at("resnapshot.after_decision", resnapshot, home)
    die_at("ingest.after_bound", run_tick, home)
    kafka.send(upsert, [(b"y", b'{"n": 4}')])
    assert here.tick() == []
    assert here.tick() == []
    assert here.sql("SELECT key, n FROM stock ORDER BY key") == [("y", 4), ("z", 3)]
    assert here.sql("SELECT * FROM left_over") == [(7, 2)]
    assert here.sql('SELECT partition, "offset" FROM stock_progress') == [(0, 4)]


@pytest.mark.parametrize("is_upsert", [False, True])
def test_a_step_that_is_broken_off_anywhere_reads_the_new_topic_once(
    kafka: Broker,
    open_world: Callable[..., World],
    monkeypatch: pytest.MonkeyPatch,
    is_upsert: bool,
) -> None:
    topic = kafka.topic()
    source = upserted(kafka, topic) if is_upsert else over(kafka, topic)
    world, lines, at = open_world(source), list[str](), 0
    for number, point in enumerate(POINTS):
        line = f'{{"n": {number}}}'
        kafka.send(topic, [(f"k{number}".encode(), line.encode())])
        if number:
            with pytest.raises(UpstreamReplaced):
                world.ingest(at + 1, source)
            decide(world, payload.resnapshot)
        with monkeypatch.context() as patched:
            patched.setattr("reclock.failpoints.on_reach", killing_at(point))
            with pytest.raises(Killed):
                world.tick(at + 1)
        world.tick(at + 2)
        world.tick(at := at + 3)
        if is_upsert:
            assert rows_at(world, source, at) == [(f"k{number}", number, None)]
        else:
            lines.append(line)
            assert sorted(text for text, _ in world.visible(source)) == lines
        assert sum(size for _, _, size in world.mapping(source)) == number + 1
        create_again(kafka, topic)


def test_a_topic_that_lost_its_last_messages_goes_on(
    tmp_path_factory: pytest.TempPathFactory, here: Lakehouse
) -> None:
    """What an append-only source has of the rest is not read again; another source has what the
    topic says now."""
    broker = Broker.make(tmp_path_factory.mktemp("shortened"))
    broker.start()
    try:
        topic = broker.topic()
        log, upsert, debezium = topics(topic)
        broker.create(upsert)
        broker.create(debezium)
        create_sources(here, broker, topic)
        for number in range(3):
            broker.send(log, [str(number).encode()])
            broker.send(upsert, [(b"k", json.dumps({"n": number}).encode())])
            broker.send(debezium, [change(number - 1 if number else None, number)])
        assert here.tick() == []
        broker.stop()
        for name in (log, upsert, debezium):
            cut_last_batch(broker.home / "data" / f"{name}-0")
        broker.start()
        assert len(here.tick()) == 3
        for name, error, hint in here.sql(PROBLEMS):
            assert "ends at offset 2" in error
            resnapshot = f"ALTER SOURCE reclock.public.{name} RESNAPSHOT"
            assert hint == f"{resnapshot} goes on with what the topic has now"
            here.sql(f"ALTER SOURCE {name} RESNAPSHOT")
        assert here.tick() == []
        assert here.sql(PROBLEMS) == []
        broker.send(log, [b"3"])
        assert here.tick() == []
        assert here.sql("SELECT text FROM log ORDER BY text") == [(str(n),) for n in range(4)]
        assert here.sql('SELECT "offset" FROM log_progress') == [(4,)]
        assert here.sql("SELECT n FROM stock") == [(1,)]
        assert here.sql("SELECT * FROM owed") == [(1, 1)]
    finally:
        broker.stop()


def cut_last_batch(partition: Path) -> None:
    """What a machine that lost its last writes has: the log without its last batch of messages."""
    [log] = partition.glob("*.log")
    content, begins = log.read_bytes(), [0]
    while begins[-1] < len(content):
        (length,) = struct.unpack(">i", content[begins[-1] + 8 : begins[-1] + 12])
        begins.append(begins[-1] + 12 + length)
    log.write_bytes(content[: begins[-2]])
    for derived in (*partition.glob("*.index"), *partition.glob("*.timeindex")):
        derived.unlink()
    for snapshot in partition.glob("*.snapshot"):
        snapshot.unlink()
