"""Topics of a real broker: every message once, at one time; and what goes wrong upstream is a
definite error of that source."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, TopicPartition
from fixtures.kafka import Broker
from fixtures.topics import WORDS, decide, over, rows_at, upserted

from reclock.adapter.session.session import Session
from reclock.algebra.relations import BIGINT, BYTEA, INTEGER, TEXT, TIMESTAMP, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.connectors.connector import HasHistory, Increment
from reclock.connectors.factory import ConnectionContext, open_connector
from reclock.connectors.kafka import connector
from reclock.connectors.objects.object_store import LocalBuckets
from reclock.definitions.formats import BytesFormat, CsvFormat, JsonFormat, TextFormat
from reclock.errors import DecodeFailed, InvalidOption, UpstreamChanged, UpstreamUnavailable
from reclock.ingest import payload
from reclock.ingest.rebuild import Rebuilt
from reclock.ingest.report import IngestState
from reclock.pipeline import tick
from reclock.runtime.environment import Environment


def test_each_tick_reclocks_what_is_new_and_partitions_may_be_added(kafka, open_world):
    topic = kafka.topic(2)
    source = over(kafka, topic)
    world = open_world(source)
    kafka.send(topic, [b"a", b"b"], 0)
    kafka.send(topic, [b"c"], 1)
    world.tick(10)
    assert world.ingest(15, source).state is IngestState.IDLE
    kafka.grow(topic, 3)
    kafka.send(topic, [b"d"], 0)
    kafka.send(topic, [b"e"], 2)
    world.tick(20)
    assert world.visible(source) == [("a", 10), ("b", 10), ("c", 10), ("d", 20), ("e", 20)]
    assert world.mapping(source) == [(0, 10, 2), (0, 20, 1), (1, 10, 1), (2, 20, 1)]
    assert world.rebuild(source) == Rebuilt(Timestamp(21), 5, 5)
    assert world.visible(source) == [("a", 10), ("b", 10), ("c", 10), ("d", 20), ("e", 20)]


def test_transactions_are_read_when_they_are_decided_and_aborted_ones_never(kafka, open_world):
    topic = kafka.topic()
    source = over(kafka, topic)
    world = open_world(source)
    producer = kafka.producer(f"{topic}-writer")
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, b"kept")
    producer.commit_transaction()
    producer.begin_transaction()
    producer.produce(topic, b"aborted")
    producer.flush()
    producer.abort_transaction()
    producer.begin_transaction()
    producer.produce(topic, b"undecided")
    producer.flush()
    world.tick(10)
    assert world.visible(source) == [("kept", 10)]
    # two messages, and the marks that end their transactions
    assert world.mapping(source) == [(0, 10, 4)]
    producer.commit_transaction()
    world.tick(20)
    assert world.visible(source) == [("kept", 10), ("undecided", 20)]


def test_a_compacted_topic_has_gaps(kafka, open_world):
    topic = kafka.topic(
        cleanup_policy="compact",
        min_cleanable_dirty_ratio="0.001",
        segment_ms="100",
        max_compaction_lag_ms="200",
    )
    source = over(kafka, topic)
    world = open_world(source)
    kafka.send(topic, [(b"k", f"v{i}".encode()) for i in range(50)])
    read = open_connector(source, ConnectionContext(world.store))
    [first] = read.probe({})

    def rows() -> list[str]:
        return [
            value
            for task in read.tasks([first], [])
            for _, table in read.read(task)
            if isinstance(table, pa.Table)
            for value in table["text"].to_pylist()
        ]

    # each message after the pause rolls the segment, so that what is behind may be cleaned
    for n in range(200):
        kafka.send(topic, [(b"other", str(n).encode())])
        if len(rows()) < 50:
            break
    else:
        pytest.fail("the broker never compacted")
    world.tick(10)
    texts = [text for text, _ in world.visible(source)]
    assert len(texts) == len(set(texts))
    assert "v49" in texts
    assert (
        sum(size for _, _, size in world.mapping(source))
        >= 50
        > len([text for text in texts if text.startswith("v")])
    )
    with pytest.raises(UpstreamChanged, match="is compacted"):
        world.rebuild(source)


def test_what_retention_took_before_it_was_read_is_a_definite_error_until_it_is_given_up(
    kafka, open_world
):
    topic = kafka.topic()
    source = over(kafka, topic)
    world = open_world(source)
    kafka.send(topic, [b"a", b"b"])
    world.tick(10)
    kafka.send(topic, [b"c", b"d", b"e"])
    kafka.truncate(topic, 0, 4)
    for at in (20, 30):
        with pytest.raises(UpstreamChanged, match="begins at offset 4") as failure:
            world.ingest(at, source)
        assert (failure.value.partition, failure.value.offset) == ("0", 2)
        assert failure.value.hint == "ALTER SOURCE … SKIP '0' FROM 2 TO 4 gives them up"
    assert world.visible(source) == [("a", 10), ("b", 10)]
    decide(world, payload.skip, [("0", 2, 4)])
    world.tick(40)
    assert world.visible(source) == [("a", 10), ("b", 10), ("e", 20)]
    assert world.mapping(source) == [(0, 10, 2), (0, 20, 3)]
    with pytest.raises(UpstreamChanged, match="begins at offset 4"):
        world.rebuild(source)
    world.rebuild(source, [("0", 0, 4)])
    assert world.visible(source) == [("e", 20)]


def test_what_retention_takes_while_it_is_claimed_is_found_out(kafka, open_world, monkeypatch):
    topic = kafka.topic()
    source = over(kafka, topic)
    world = open_world(source)
    kafka.send(topic, [b"a", b"b", b"c"])
    monkeypatch.setattr(
        "reclock.failpoints.on_reach",
        lambda name: kafka.truncate(topic, 0, 2) if name == "ingest.after_bound" else None,
    )
    with pytest.raises(UpstreamChanged, match="no longer has offset 0"):
        world.ingest(10, source)
    monkeypatch.undo()
    decide(world, payload.skip, [("0", 0, 2)])
    world.tick(20)
    assert world.visible(source) == [("c", 10)]


def test_a_new_source_begins_where_retention_lets_it(kafka, open_world):
    topic = kafka.topic()
    kafka.send(topic, [b"a", b"b", b"c"])
    kafka.truncate(topic, 0, 2)
    source = over(kafka, topic)
    world = open_world(source)
    world.tick(10)
    assert world.visible(source) == [("c", 10)]
    assert world.mapping(source) == [(0, 10, 3)]


def test_a_topic_that_is_gone_or_made_again_is_a_definite_error(kafka, open_world):
    topic = kafka.topic()
    source, other = over(kafka, topic), over(kafka, "nowhere", id="u5")
    world = open_world(source, other)
    kafka.send(topic, [b"a"])
    with pytest.raises(UpstreamUnavailable, match="nowhere"):
        world.ingest(10, other)
    world.ingest(10, source)
    world.audit(source)
    world.publish(10)
    kafka.delete(topic)
    with pytest.raises(UpstreamChanged, match="is gone"):
        world.ingest(20, source)
    kafka.create(topic)
    kafka.send(topic, [b"x", b"y"])
    with pytest.raises(UpstreamChanged, match="deleted and created again"):
        world.ingest(30, source)
    assert world.visible(source) == [("a", 10)]


def test_offsets_and_timestamps_to_start_at_and_to_end_at(kafka, open_world):
    topic = kafka.topic(2, retention_ms="-1")
    for moment in (1000, 2000, 3000):
        kafka.send(topic, [f"p0 {moment}".encode()], 0, timestamp=moment)
        kafka.send(topic, [f"p1 {moment}".encode()], 1, timestamp=moment)
    offsets = over(kafka, topic, start_offsets=(2, 5))
    moments = over(kafka, topic, start_timestamp=1500, id="u5")
    ended = over(kafka, topic, start_offsets=(1,), end_offsets=(2,), id="u6")
    world = open_world(offsets, moments, ended)
    world.tick(10)
    kafka.send(topic, [b"4", b"5", b"6"], 1)
    world.tick(20)
    assert world.visible(offsets) == [("5", 20), ("6", 20), ("p0 3000", 10)] or world.visible(
        offsets
    ) == [
        ("6", 20),
        ("p0 3000", 10),
    ]
    assert [row for row in world.visible(moments) if row[1] == 10] == [
        (f"p{p} {m}", 10) for p in (0, 1) for m in (2000, 3000)
    ]
    assert [row for row in world.visible(moments) if row[1] == 20] == [(text, 20) for text in "456"]
    kafka.delete(topic)
    assert world.ingest(30, ended).state is IngestState.IDLE  # it is complete
    assert (world.visible(ended), world.mapping(ended)) == ([("p0 2000", 10)], [(0, 10, 2)])


def test_keys_metadata_and_formats(kafka, open_world):
    topic = kafka.topic(retention_ms="-1")
    desc = RelationDesc(
        (
            Column("n", INTEGER, False),
            Column("w", TEXT),
            Column("key", TEXT),
            Column("partition", INTEGER, False),
            Column("offset", BIGINT, False),
            Column("timestamp", TIMESTAMP, False),
            Column("headers", TEXT, False),
        )
    )
    include = tuple(
        (name.upper(), name) for name in ("key", "partition", "offset", "timestamp", "headers")
    )
    as_json = over(
        kafka, topic, format=JsonFormat(), desc=desc, key_format=TextFormat(), include=include
    )
    world = open_world(as_json)
    kafka.send(
        topic,
        [(b"k", b'{"n": 1,\n "w": "x"}'), (None, b'{"n":2}')],
        timestamp=1_500_000_000_123,
        headers=[("h", b"\x01")],
    )
    world.tick(10)
    shown = [(*row[:5], row[5].isoformat(), *row[6:]) for row in world.visible(as_json)]
    assert shown == [
        (1, "x", "k", 0, 0, "2017-07-14T02:40:00.123000", '[["h", "\\\\x01"]]', 10),
        (2, None, None, 0, 1, "2017-07-14T02:40:00.123000", '[["h", "\\\\x01"]]', 10),
    ]


@pytest.mark.parametrize(
    ("format", "desc", "good", "bad"),
    [
        (JsonFormat(), RelationDesc((Column("n", INTEGER),)), b'{"n":1}', b'{"n":"x"}'),
        (
            CsvFormat(has_header=False),
            RelationDesc((Column("n", INTEGER), Column("w", TEXT))),
            b"1,x",
            b"1,x\n2,y",
        ),
        (TextFormat(), WORDS, b"good", b"\xff"),
    ],
)
def test_a_bad_message_stalls_at_its_offset_until_it_is_skipped(
    kafka, open_world, format, desc, good, bad
):
    topic = kafka.topic(2)
    source = over(kafka, topic, format=format, desc=desc)
    world = open_world(source)
    kafka.send(topic, [good, good, bad, good], 1)
    with pytest.raises(DecodeFailed, match=f'offset 2 of partition 1 of topic "{topic}" does'):
        world.ingest(10, source)
    decide(world, payload.skip, [("1", 2, 3)])
    world.tick(20)
    assert len(world.visible(source)) == 3
    assert world.mapping(source) == [(1, 10, 4)]


def test_many_tasks_read_many_batches(kafka, open_world, monkeypatch):
    monkeypatch.setattr(connector, "TASK_OFFSETS", 700)
    topic = kafka.topic(2)
    for partition in (0, 1):
        kafka.send(topic, [f"{partition}-{n:05}".encode() for n in range(2000)], partition)
    source = over(kafka, topic)
    world = open_world(source)
    world.ingest(10, source)
    assert len(world.payload(source)["staged"]["files"][""]) == 6
    world.audit(source)
    world.publish(10)
    assert [text for text, _ in world.visible(source)] == [
        f"{partition}-{n:05}" for partition in (0, 1) for n in range(2000)
    ]


def test_a_broker_that_is_down_stalls_its_own_source_alone(
    tmp_path_factory, kafka, open_world, monkeypatch
):
    monkeypatch.setattr("reclock.connectors.kafka.topic.REQUEST_S", 3)
    broken = Broker.make(tmp_path_factory.mktemp("second"))
    broken.start()
    try:
        topic, well = broken.topic(), kafka.topic()
        down, up = over(broken, topic), over(kafka, well, id="u5")
        world = open_world(down, up)
        broken.send(topic, [b"a"])
        kafka.send(well, [b"x"])
        broken.stop()
        with pytest.raises(UpstreamUnavailable, match="cannot read topic"):
            world.ingest(10, down)
        world.ingest(10, up)
        world.audit(up)
        world.publish(10)
        assert world.visible(up) == [("x", 10)]
        broken.start()
        world.tick(20)
        assert world.visible(down) == [("a", 10)]
    finally:
        broken.stop()


def test_what_is_published_is_acknowledged_for_monitoring(kafka, open_world):
    topic = kafka.topic()
    source = over(kafka, topic, group="watched")
    kafka.send(topic, [b"a", b"b"])
    world = open_world(source)
    world.tick(10)
    open_connector(source, ConnectionContext(world.store)).acknowledge(
        [Increment(0, 0, 2, 2, ("id",))]
    )
    consumer = Consumer({"bootstrap.servers": kafka.address, "group.id": "watched"})
    [committed] = consumer.committed([TopicPartition(topic, 0)], timeout=10)
    consumer.close()
    assert committed.offset == 2


def test_every_type_of_value_without_a_format(kafka, open_world):
    topic = kafka.topic()
    source = over(kafka, topic, format=BytesFormat(), desc=RelationDesc((Column("data", BYTEA),)))
    kafka.send(topic, [b"\x00\xff", None, b""])
    world = open_world(source)
    world.tick(10)
    assert sorted(map(repr, world.visible(source))) == sorted(
        map(repr, [(b"\x00\xff", 10), (None, 10), (b"", 10)])
    )


def test_an_upsert_keeps_one_row_a_key_at_every_time(kafka, open_world):
    topic = kafka.topic(2)
    source = upserted(kafka, topic)
    world = open_world(source)
    kafka.send(
        topic,
        [
            (b"a", b'{"n":1}'),
            (b"b", b'{"n":2}'),
            (b"a", b'{"n":3,"w":"x"}'),
            (b"gone", b'{"n":9}'),
            (b"gone", None),
        ],
    )
    world.tick(10)
    kafka.send(
        topic, [(b"b", None), (b"c", b'{"n":4}'), (b"never", None), (b"a", b'{"n":3,"w":"x"}')]
    )
    world.tick(20)
    kafka.send(topic, [(b"b", b'{"n":5}')], 0)
    kafka.send(topic, [(b"a", b'{"n":6}')], 1)
    world.tick(30)
    assert rows_at(world, source, 10) == [("a", 3, "x"), ("b", 2, None)]
    assert rows_at(world, source, 20) == [("a", 3, "x"), ("c", 4, None)]
    assert rows_at(world, source, 30) == [("a", 6, None), ("b", 5, None), ("c", 4, None)]
    changes = (
        world.source_collections(source)
        .outputs[""]
        .pin()
        .changes(Timestamp(20), Timestamp(21))
        .to_pylist()
    )
    # what stays is not written again
    assert sorted((row["key"], row["mz_diff"]) for row in changes) == [("b", -1), ("c", 1)]
    output = world.source_collections(source).outputs[""]
    before = output.pin().changes(Timestamp(0), Timestamp(31)).to_pylist()
    kafka.send(topic, [(b"a", None)], 1)  # not bound yet
    world.rebuild(source)
    after = output.pin().changes(Timestamp(0), Timestamp(31)).to_pylist()
    assert sorted(after, key=str) == sorted(before, key=str)
    world.tick(40)
    assert rows_at(world, source, 40) == [("b", 5, None), ("c", 4, None)]


@pytest.mark.parametrize(
    ("key", "value"), [(None, b'{"n":1}'), (b"\xff", b'{"n":1}'), (b"k", b'{"w":"x"}')]
)
def test_a_message_that_an_upsert_cannot_use_is_a_definite_error(kafka, open_world, key, value):
    topic = kafka.topic()
    source = upserted(kafka, topic)
    world = open_world(source)
    kafka.send(topic, [(b"a", b'{"n":1}'), (key, value), (b"b", None)])
    with pytest.raises(DecodeFailed, match=f'offset 1 of partition 0 of topic "{topic}"'):
        world.ingest(10, source)
    decide(world, payload.skip, [("0", 1, 2)])
    world.tick(20)
    assert rows_at(world, source, 10) == [("a", 1, None)]


def test_a_topic_through_sql_and_whole_ticks(kafka, tmp_path):
    """Audited, published, indexed, with its progress; and what is published is committed to the
    consumer group."""
    topic, now = kafka.topic(2), [1_000]
    with Environment.initialise(tmp_path, clock=lambda: Timestamp(now[0])) as environment:
        session = Session(environment)

        def rows(text: str) -> list[tuple[Any, ...]]:
            [result] = session.execute(text)
            return [tuple(row.values()) for batch in result.batches for row in batch.to_pylist()]

        def run(at: int) -> None:
            now[0] = at
            report = tick.run(environment, at=at, owner="test")
            assert report.succeeded, report.summary()

        list(
            session.execute(
                f"""CREATE SOURCE stock (item text NOT NULL, left_over integer)
                    FROM KAFKA BROKER '{kafka.address}' TOPIC '{topic}' GROUP ID '{topic}-group'
                    KEY FORMAT TEXT VALUE FORMAT JSON INCLUDE KEY AS id, PARTITION ENVELOPE UPSERT"""
            )
        )
        list(
            session.execute(
                "CREATE MATERIALIZED VIEW total AS SELECT count(*) AS n, sum(left_over) "
                "AS left_over FROM stock"
            )
        )
        kafka.send(
            topic, [(b"a", b'{"item":"x","left_over":1}'), (b"b", b'{"item":"y","left_over":2}')], 1
        )
        run(2_000)
        assert rows("SELECT * FROM stock ORDER BY id") == [("x", 1, "a", 1), ("y", 2, "b", 1)]
        kafka.send(
            topic,
            [
                (b"a", None),
                (b"b", b'{"item":"y","left_over":7}'),
                (b"c", b'{"item":"z","left_over":10}'),
            ],
            1,
        )
        run(3_000)
        assert rows("SELECT id, left_over FROM stock ORDER BY id") == [("b", 7), ("c", 10)]
        assert rows("SELECT * FROM total") == [(2, 17)]
        assert rows("SELECT id FROM stock ORDER BY id AS OF 2000") == [("a",), ("b",)]
        assert rows("SELECT * FROM total AS OF 2000") == [(2, 3)]
        assert rows("SELECT * FROM stock_progress") == [(3_000, 1, 5)]
        assert rows("SHOW SOURCES") == [("stock", "kafka")]
        early = (
            f"CREATE SOURCE early FROM KAFKA BROKER '{kafka.address}' TOPIC '{topic}' END "
            f"TIMESTAMP {{}} FORMAT TEXT"
        )
        list(session.execute(early.format(1_000)))
        assert "END OFFSET (0, 0)" in rows("SHOW CREATE SOURCE early")[0][1]
        with pytest.raises(InvalidOption, match="future"):
            list(session.execute(early.replace("early", "late").format(10**15)))
    consumer = Consumer({"bootstrap.servers": kafka.address, "group.id": f"{topic}-group"})
    [committed] = consumer.committed([TopicPartition(topic, 1)], timeout=10)
    consumer.close()
    assert committed.offset == 5


def test_history_ends_before_the_first_message_of_the_moment_or_later(kafka):
    topic = kafka.topic(2, retention_ms="-1")
    kafka.send(topic, [b"a"], 0, timestamp=1_000)
    kafka.send(topic, [b"b"], 0, timestamp=2_000)
    kafka.send(topic, [b"late"], 0, timestamp=1_500)
    kafka.send(topic, [b"c"], 1, timestamp=1_999)
    opened = open_connector(over(kafka, topic), ConnectionContext(LocalBuckets("")))
    assert isinstance(opened, HasHistory)

    def until(moment: int, bound: dict[Any, Any]) -> list[tuple[Any, int, int]]:
        return [
            (found.partition, found.lower, found.upper)
            for found in opened.probe_until(bound, Timestamp(moment))
        ]

    assert until(1_000, {}) == []
    assert until(2_000, {}) == [(0, 0, 1), (1, 0, 1)]
    topic_id = opened.probe({})[0].evidence[0]
    assert until(2_001, {0: (1, topic_id), 1: (1, topic_id)}) == [(0, 1, 3)]
    assert until(1_000, {0: (1, topic_id), 1: (1, topic_id)}) == []  # it is bound further than that
