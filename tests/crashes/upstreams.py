"""Upstreams of the ingestion step that a process is killed in: what they hold, and what a reader then sees."""

from __future__ import annotations

from fixtures.debezium import Connector, event
from fixtures.objects import EVENTS
from fixtures.parquet import FILES, parquet
from fixtures.pubnub_server import channel_name

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import INTEGER, TEXT, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.definitions.connections import broker
from reclock.definitions.formats import JsonFormat, TextFormat
from reclock.definitions.load_generators import GENERATED
from reclock.definitions.sources import (
    DebeziumConnector,
    KafkaConnector,
    KinesisConnector,
    LoadGenerator,
    PubNubConnector,
    SourceSpec,
)


def fill(world):
    world.write("a.csv", "1,x\n2,y\n")
    world.tick(10)
    world.write("a.csv", '3,"two\nlines"\n4,u\n5,open')
    world.write("d/b.csv", "6,v\n")


ROWS = [(1, "x"), (2, "y"), (3, "two\nlines"), (4, "u"), (6, "v")]


def check(world, at):
    """What the second step binds has one time, ``at`` or that of a step of its own if nothing had
    been claimed before."""
    assert [row[:2] for row in world.visible()] == ROWS
    assert {row[2] for row in world.visible()} == {10, at}
    assert world.mapping() == [("a.csv", 10, 8), ("a.csv", at, 18), ("d/b.csv", at, 4)]
    assert world.frontiers.get("u4").claim is None
    known = world.source_collections().read_bound()[1]
    assert {key: stored[0] for key, stored in known.items()} == {"a.csv": 26, "d/b.csv": 4}


class Upstream:
    """An upstream whose second step is stopped: what there is at the first tick, what comes after,
    what must be in the end."""

    source = EVENTS
    outputs: tuple[str, ...] = ("",)
    clock = 0

    def fill(self, world):
        fill(world)

    def check(self, world, at):
        check(world, at)


class ParquetFiles(Upstream):
    """Files with several row groups, and one without rows."""

    source = FILES

    def fill(self, world):
        world.write("a.parquet", parquet([(1, "x"), (2, None)], row_group_size=1))
        world.tick(10)
        world.write("d/b.parquet", parquet([(3, "y"), (4, "z"), (5, "z")], row_group_size=2))
        world.write("d/c.parquet", parquet([]))

    def check(self, world, at):
        assert world.visible(FILES) == [
            (1, "x", 10),
            (2, None, 10),
            (3, "y", at),
            (4, "z", at),
            (5, "z", at),
        ]
        assert world.mapping(FILES) == [("a.parquet", 10, 2), ("d/b.parquet", at, 3)]
        known = world.source_collections(FILES).read_bound()[1]
        assert {key: stored[0] for key, stored in known.items()} == {
            "a.parquet": 2,
            "d/b.parquet": 3,
            "d/c.parquet": 0,
        }


class Auction(Upstream):
    """Several outputs on one set of bindings, without evidence."""

    source = SourceSpec(
        GlobalId("u4"),
        "auction",
        LoadGenerator("AUCTION", 1000),
        None,
        RelationDesc(()),
        dict(GENERATED["AUCTION"]),
    )
    outputs = ("auctions", "bids")
    clock = 4500

    def fill(self, world):
        world.now = 1500
        world.tick(10)
        world.now = self.clock

    def check(self, world, at):
        auctions, bids = (world.visible(self.source, output) for output in self.outputs)
        assert [(row[0], row[-1]) for row in auctions] == [(1, 10), (2, at), (3, at), (4, at)]
        assert sorted((row[0], row[-1]) for row in bids) == [
            (n, 10 if n < 10 else at) for n in range(40)
        ]
        assert len(world.visible(self.source, "users")) == 16
        assert world.mapping(self.source) == [((), 10, 2), ((), at, 3)]


class Upserts(Upstream):
    """A topic whose messages replace each other."""

    def __init__(self, kafka):
        self.kafka, self.topic = kafka, kafka.topic(2)
        columns = (Column("text", TEXT), Column("key", TEXT, is_nullable=False))
        connector = KafkaConnector(
            broker(kafka.address),
            self.topic,
            key_format=TextFormat(),
            include=(("KEY", "key"),),
            envelope="UPSERT",
        )
        self.source = SourceSpec(
            GlobalId("u4"), "topic", connector, TextFormat(), RelationDesc(columns, key=("key",))
        )

    def fill(self, world):
        self.kafka.send(self.topic, [(b"a", b"1"), (b"b", b"2")], 0)
        self.kafka.send(self.topic, [(b"x", b"9")], 1)
        world.tick(10)
        self.kafka.send(self.topic, [(b"a", b"3"), (b"b", None), (b"c", b"4")], 0)

    def check(self, world, at):
        version = world.source_collections(self.source).outputs[""].pin()
        assert self.rows(version.snapshot(Timestamp(10))) == [
            ("a", "1", 1),
            ("b", "2", 1),
            ("x", "9", 1),
        ]
        assert self.rows(version.snapshot(Timestamp(at))) == [
            ("a", "3", 1),
            ("c", "4", 1),
            ("x", "9", 1),
        ]
        changes = version.changes(Timestamp(11), Timestamp(99))
        assert self.rows(changes) == [("a", "1", -1), ("a", "3", 1), ("b", "2", -1), ("c", "4", 1)]
        assert set(changes["mz_timestamp"].to_pylist()) == {at}
        assert world.mapping(self.source) == [(0, 10, 2), (0, at, 3), (1, 10, 1)]

    @staticmethod
    def rows(table):
        return sorted((row["key"], row["text"], row["mz_diff"]) for row in table.to_pylist())


class Resharded(Upstream):
    """A stream that is split between the steps: wide offsets, and children after their parent."""

    clock = 10**13

    def __init__(self, kinesis):
        self.kinesis, self.stream = kinesis, kinesis.stream()
        connector = KinesisConnector(self.stream, "us-east-1", kinesis.endpoint)
        self.source = SourceSpec(
            GlobalId("u4"), "stream", connector, TextFormat(), RelationDesc((Column("text", TEXT),))
        )

    def fill(self, world):
        [self.first] = self.kinesis.put(self.stream, [b"a"], 0)
        world.tick(10)
        self.kinesis.put(self.stream, [b"b", b"c"], 0)
        self.kinesis.split(self.stream, 0)
        [self.left], [self.right] = (
            self.kinesis.put(self.stream, [data], shard) for shard, data in ((1, b"d"), (2, b"e"))
        )

    def check(self, world, at):
        assert world.visible(self.source) == [("a", 10), ("b", at), ("c", at), ("d", at), ("e", at)]
        ending = int(
            self.kinesis.shards(self.stream)[0]["SequenceNumberRange"]["EndingSequenceNumber"]
        )
        parent = [(0, 10, self.first + 1), (0, at, ending - self.first)]
        assert world.mapping(self.source) == [
            *parent,
            (1, at, self.left + 1),
            (2, at, self.right + 1),
        ]


class Transfers(Upstream):
    """Two tables and the topic of their transactions; of the last one a part is missing."""

    outputs = ("public.giro", "public.saved")

    def __init__(self, kafka):
        self.connector = Connector(kafka, kafka.topic())
        for name in ("transaction", *self.outputs):
            kafka.create(f"{self.connector.prefix}.{name}")
        upstream = DebeziumConnector(broker(kafka.address), f"{self.connector.prefix}.transaction")
        desc = RelationDesc((Column("money", INTEGER, is_nullable=False),))
        self.source = SourceSpec(
            GlobalId("u4"),
            "bank",
            upstream,
            JsonFormat(),
            RelationDesc(()),
            dict.fromkeys(self.outputs, desc),
        )

    def fill(self, world):
        self.move(1, ("c", None, 100), ("c", None, 100))
        self.connector.deliver()
        world.tick(10)
        self.move(2, ("u", 100, 70), ("u", 100, 130))
        self.move(2, ("u", 100, 70), ("u", 100, 130))  # the connector has begun again
        self.move(3, ("u", 70, 0), ("u", 130, 200), upto=1)
        self.connector.deliver()

    def move(self, id, giro, saved, upto=None):
        rows = [
            (op, *(None if money is None else {"money": money} for money in change))
            for op, *change in (giro, saved)
        ]
        self.connector.transaction(
            id, [("giro", event(*rows[0])), ("saved", event(*rows[1]))], upto
        )

    def check(self, world, at):
        for output, money in zip(self.outputs, (70, 130), strict=True):
            version = world.source_collections(self.source).outputs[output].pin()
            assert [row["money"] for row in version.snapshot(Timestamp(at)).to_pylist()] == [money]
            assert [row["money"] for row in version.snapshot(Timestamp(at - 1)).to_pylist()] == [
                100
            ]
        assert {time for _, time, _ in world.mapping(self.source)} == {10, at}


class Channel(Upstream):
    """What is heard once, before it is bound; the service may forget it as soon as it is."""

    def __init__(self, service):
        self.service, self.channel = service, channel_name()
        connector = PubNubConnector("demo", self.channel, service.origin)
        desc = RelationDesc((Column("text", TEXT, is_nullable=False),))
        self.source = SourceSpec(GlobalId("u4"), "channel", connector, None, desc)

    def fill(self, world):
        world.tick(10)
        self.start = world.mapping(self.source)[0][2]
        self.first, self.last = self.service.publish(self.channel, 1, 2)

    def check(self, world, at):
        assert world.visible(self.source) == [("1", at), ("2", at)]
        assert world.mapping(self.source) == [
            (4, 10, self.start),
            (4, at, self.last * 100 + 100 - self.start),
        ]
