"""A sink into Kafka: read_committed, the topic holds exactly the changes, in order, one time in one
transaction."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from fixtures.emitters import Emitters
from fixtures.kafka import Broker
from fixtures.maintained import World
from fixtures.sunk import alter, replayed, topic_messages

from reclock.errors import (
    ClaimConflict,
    InvalidOption,
    SinkKeyNotUnique,
    TargetChanged,
    TargetUnavailable,
)
from reclock.pipeline import cluster_steps
from reclock.sinks import kafka as target

POINTS = [
    "sinks.emit.begun",
    "sinks.kafka.before_commit",
    "sinks.kafka.after_commit",
]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    made.sql("CREATE TABLE t (id int, word text)")
    yield made
    made.close()


@pytest.fixture
def topic(kafka: Broker) -> str:
    return kafka.topic(retention_ms="-1")


def create(world: World, kafka: Broker, topic: str, rest: str) -> None:
    world.sql(f"CREATE SINK k FROM t INTO KAFKA BROKER '{kafka.address}' TOPIC '{topic}' {rest}")


def change(world: World, *statements: str) -> None:
    for statement in statements:
        world.now += 1000
        world.sql(statement)


def emit(world: World, sink: str = "k", owner: str = "worker") -> int:
    return cluster_steps.emit(world.environment, sink, world.now, owner=owner).commits


def check(world: World, messages: list, expected: int) -> None:
    """After each time the rows are those of the table at that time."""
    after = replayed(messages)
    assert list(after) == sorted(after)
    for at, rows in after.items():
        answered = world.sql(f"SELECT id, word FROM t AS OF {at}")
        assert rows == Counter(json.dumps({"id": id, "word": word}) for id, word in answered)
    assert len(after) == expected


def test_changes_in_the_envelope_of_debezium(kafka: Broker, world: World, topic: str) -> None:
    create(world, kafka, topic, "KEY (id) NOT ENFORCED FORMAT JSON ENVELOPE DEBEZIUM")
    change(world, "INSERT INTO t VALUES (1, 'a\"b')", "UPDATE t SET word = NULL", "DELETE FROM t")
    assert emit(world) == 4  # the snapshot was empty
    first, second, third = topic_messages(kafka.address, topic)
    row = {"id": 1, "word": 'a"b'}
    assert first[1:] == ({"id": 1}, {"before": None, "after": row, "op": "c", "ts_ms": first[0]})
    assert second[1:] == (
        {"id": 1},
        {"before": row, "after": row | {"word": None}, "op": "u", "ts_ms": second[0]},
    )
    assert third[1:] == (
        {"id": 1},
        {"before": row | {"word": None}, "after": None, "op": "d", "ts_ms": third[0]},
    )
    emissions = (
        "SELECT emissions, messages_committed, bytes_committed FROM mz_internal.mz_sink_statistics"
    )
    parts = [part for message in (first, second, third) for part in message[1:]]
    size = sum(len(json.dumps(part, separators=(",", ":"))) for part in parts)
    assert world.sql(emissions) == [(1, 3, size)]
    assert emit(world) == 0


def test_upsert_keeps_a_row_a_key_and_keys_must_tell_rows_apart(
    kafka: Broker, world: World, topic: str
) -> None:
    with pytest.raises(InvalidOption, match="may agree"):
        create(world, kafka, topic, "KEY (id) FORMAT JSON ENVELOPE UPSERT")
    change(world, "INSERT INTO t VALUES (1, 'old'), (2, 'old')")
    create(
        world,
        kafka,
        topic,
        "KEY (id) NOT ENFORCED FORMAT JSON ENVELOPE UPSERT WITH (SNAPSHOT = false)",
    )
    change(world, "UPDATE t SET word = 'new' WHERE id = 1", "DELETE FROM t WHERE id = 2")
    emit(world)
    assert [message[1:] for message in topic_messages(kafka.address, topic)] == [
        ({"id": 1}, {"id": 1, "word": "new"}),
        ({"id": 2}, None),
    ]
    change(world, "INSERT INTO t VALUES (3, 'x')", "INSERT INTO t VALUES (4, 'x'), (4, 'y')")
    with pytest.raises(SinkKeyNotUnique):
        emit(world)
    # what came before it is there, of it nothing
    assert len(topic_messages(kafka.address, topic)) == 3


def test_a_column_may_be_the_headers_of_messages(kafka: Broker, world: World, topic: str) -> None:
    world.sql("CREATE VIEW v AS SELECT id, word, jsonb_build_object('trace', word) AS h FROM t")
    rest = "KEY (id) NOT ENFORCED HEADERS h FORMAT JSON ENVELOPE UPSERT"
    world.sql(f"CREATE SINK k FROM v INTO KAFKA BROKER '{kafka.address}' TOPIC '{topic}' {rest}")
    change(world, "INSERT INTO t VALUES (1, 'é')", "UPDATE t SET word = NULL", "DELETE FROM t")
    emit(world)
    assert [message[1:] for message in topic_messages(kafka.address, topic)] == [
        ({"id": 1}, {"id": 1, "word": "é"}),
        ({"id": 1}, {"id": 1, "word": None}),
        ({"id": 1}, None),
    ]
    assert topic_headers(kafka.address, topic) == [
        [("trace", "é".encode())],
        [("trace", None)],
        [("trace", None)],
    ]
    [(text,)] = world.sql("SELECT create_sql FROM mz_sinks")
    assert "KEY (id) NOT ENFORCED HEADERS h FORMAT JSON" in text


def topic_headers(address: str, topic: str) -> list[list[tuple[str, bytes | None]]]:
    settings = {"bootstrap.servers": address, "group.id": "headers", "enable.partition.eof": True}
    consumer = Consumer(settings | {"isolation.level": "read_committed"})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    headers: list[list[tuple[str, bytes | None]]] = []
    try:
        while (message := consumer.poll(30)) is not None and message.error() is None:
            headers.append(message.headers() or [])
        return headers
    finally:
        consumer.close()


def test_a_topic_that_is_not_there_is_made_over_a_connection(
    kafka: Broker, world: World, topic: str
) -> None:
    world.sql(f"CREATE CONNECTION c TO KAFKA (BROKER '{kafka.address}')")
    created_topic = f"{topic}-made"
    world.sql(
        f"CREATE SINK k FROM t INTO KAFKA CONNECTION c (TOPIC '{created_topic}', PROGRESS TOPIC "
        f"'{created_topic}-p') FORMAT JSON ENVELOPE DEBEZIUM"
    )
    [(text,)] = world.sql("SELECT create_sql FROM mz_sinks")
    assert "CONNECTION reclock.public.c" in text
    assert "IN CLUSTER default" in text
    emit(world)
    assert {created_topic, f"{created_topic}-p"} <= set(kafka.admin.list_topics(timeout=10).topics)


def test_a_key_may_be_text_and_a_new_topic_is_made_as_it_is_said(
    kafka: Broker, world: World, topic: str
) -> None:
    world.sql(f"CREATE CONNECTION c TO KAFKA (BROKER '{kafka.address}')")
    world.sql("CREATE TABLE u (id int NOT NULL, word text)")
    for sink, options in (
        (
            f"too_many (TOPIC '{topic}-0', TOPIC REPLICATION FACTOR 100)",
            "FORMAT JSON ENVELOPE DEBEZIUM",
        ),
        (f"two (TOPIC '{topic}-2', TOPIC PARTITION COUNT 2)", "FORMAT JSON ENVELOPE DEBEZIUM"),
        (
            f"keyed (TOPIC '{topic}', COMPRESSION TYPE 'zstd')",
            "KEY (id) NOT ENFORCED KEY FORMAT TEXT VALUE FORMAT JSON ENVELOPE UPSERT",
        ),
    ):
        name, _, into = sink.partition(" ")
        world.sql(f"CREATE SINK {name} FROM u INTO KAFKA CONNECTION c {into} {options}")
    change(world, "INSERT INTO u VALUES (1, 'a'), (2, 'b')")
    with pytest.raises(TargetUnavailable, match="cannot write topic"):
        emit(world, "too_many")
    emit(world, "two")
    found = kafka.admin.list_topics(timeout=10).topics
    assert f"{topic}-0" not in found
    assert len(found[f"{topic}-2"].partitions) == 2
    emit(world, "keyed")
    assert sorted(message[1:] for message in topic_messages(kafka.address, topic)) == [
        (1, {"id": 1, "word": "a"}),
        (2, {"id": 2, "word": "b"}),
    ]


@pytest.mark.parametrize("killed_at", POINTS)
def test_killed_at_any_point_it_repeats_and_loses_nothing(
    kafka: Broker, world: World, topic: str, killed_at: str, emitters: Emitters
) -> None:
    create(world, kafka, topic, "FORMAT JSON ENVELOPE DEBEZIUM")
    change(
        world,
        "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (2, 'b')",
        "UPDATE t SET word = 'c' WHERE id = 2",
        "DELETE FROM t WHERE id = 1",
    )
    assert emitters.emit(world, "k", points=(killed_at,)) == [-signal.SIGKILL]
    with pytest.raises(ClaimConflict):
        emit(world, owner="another")
    emit(world)
    change(world, "INSERT INTO t VALUES (5, 'e')")
    emit(world)
    check(world, topic_messages(kafka.address, topic), expected=4)


def test_an_altered_sink_writes_the_difference_in_one_transaction(
    kafka: Broker, world: World, topic: str, emitters: Emitters
) -> None:
    create(world, kafka, topic, "KEY (id) NOT ENFORCED FORMAT JSON ENVELOPE UPSERT")
    change(world, "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'C')")
    emit(world)
    world.sql("CREATE VIEW loud AS SELECT id, upper(word) AS word FROM t WHERE id > 1")
    alter(world, "ALTER SINK k SET FROM loud")
    killed = emitters.emit(world, "k", points=("sinks.kafka.after_commit",))
    assert killed == [-signal.SIGKILL]
    emit(world)
    change(world, "INSERT INTO t VALUES (4, 'd')")
    emit(world)
    *difference, later = topic_messages(kafka.address, topic)[3:]
    at = difference[0][0]
    assert sorted(difference, key=lambda message: str(message[1])) == [
        (at, {"id": 1}, None),
        (at, {"id": 2}, {"id": 2, "word": "B"}),  # C stays
    ]
    assert later[1:] == ({"id": 4}, {"id": 4, "word": "D"})


def test_a_writer_that_was_overtaken_is_fenced(
    kafka: Broker, world: World, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(world, kafka, topic, "FORMAT JSON ENVELOPE DEBEZIUM")
    change(world, "INSERT INTO t VALUES (1, 'a')")

    def sleep(name: str) -> None:
        if name == "sinks.kafka.before_commit":
            monkeypatch.undo()
            emit(world)

    monkeypatch.setattr("reclock.failpoints.on_reach", sleep)
    with pytest.raises(ClaimConflict):
        emit(world)
    emit(world)
    check(world, topic_messages(kafka.address, topic), expected=1)


def test_progress_behind_an_open_transaction_is_waited_for(
    kafka: Broker, world: World, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(world, kafka, topic, "FORMAT JSON ENVELOPE DEBEZIUM")
    open_one = Producer(
        {"bootstrap.servers": kafka.address, "transactional.id": topic, "log_level": 0}
    )
    emit(world)
    open_one.init_transactions(30)
    open_one.begin_transaction()
    open_one.produce(f"{topic}-reclock-progress", b"x", b"other")
    open_one.flush()
    change(world, "INSERT INTO t VALUES (1, 'a')")
    monkeypatch.setattr(target, "_REQUEST_S", 1)
    with pytest.raises(TargetUnavailable, match="cannot be read to its end"):
        emit(world)
    monkeypatch.undo()
    open_one.abort_transaction(30)
    emit(world)
    check(world, topic_messages(kafka.address, topic), expected=1)


@pytest.mark.parametrize("is_made_again", [False, True])
def test_a_topic_that_was_deleted_is_a_definite_error(
    kafka: Broker, world: World, topic: str, is_made_again: bool
) -> None:
    create(world, kafka, topic, "FORMAT JSON ENVELOPE DEBEZIUM")
    emit(world)
    kafka.delete(topic)
    if is_made_again:
        kafka.create(topic)
    change(world, "INSERT INTO t VALUES (1, 'a')")
    with pytest.raises(TargetChanged):
        emit(world)


def test_a_broker_that_is_away_stalls_that_sink_alone(
    world: World, kafka: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target, "_REQUEST_S", 1)
    world.sql(
        "CREATE SINK k FROM t INTO KAFKA BROKER '127.0.0.1:1' TOPIC 'x' FORMAT JSON "
        "ENVELOPE DEBEZIUM"
    )
    world.sql("CREATE SINK other FROM t INTO DELTA 'other'")
    with pytest.raises(TargetUnavailable):
        emit(world)
    emit(world, "other")
    assert dict(world.sql("SELECT name, status FROM mz_internal.mz_sink_statuses")) == {
        "k": "stalled",
        "other": "running",
    }
