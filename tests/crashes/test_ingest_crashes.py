"""The ingestion is stopped at every named point between two durable steps and started again. The
mapping is the one an undisturbed run makes, every byte is there exactly once, and nothing could be
seen early.

Most stops are made within one process, by an exception that nothing handles: the next driver, with
stores opened anew, finds what was durable. Every point is done again with a process that is really
killed.
"""

import os
import sys

import pytest
from fixtures.debezium import Connector, event
from fixtures.forks import die_at
from fixtures.objects import EVENTS, World
from fixtures.pubnub_server import channel_name

from reclock import failpoints
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
from reclock.errors import DecodeFailed, InvalidOption
from reclock.ingest import payload
from reclock.ingest.report import IngestState

pytestmark = pytest.mark.spark

STEP_POINTS = [
    "ingest.after_probe",
    "ingest.after_claim",
    "ingest.after_claimed",
    "ingest.after_bind",
    "ingest.after_bound",
    "ingest.after_stage",
    "ingest.after_staged",
    "ingest.before_commit",
    "ingest.after_commit",
    "ingest.after_publish",
    "after_audit",  # of this test alone: between the audit and the publication
]
COMMIT_POINTS = [
    "collections.append.before_write",
    "collections.append.before_commit",
    "collections.append.after_commit",
    "collections.commit.landed",
]
"""Reached at each of the three commits of a step: the bindings, the rows, the evidence."""


class Killed(BaseException):
    """The process is gone."""


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
    assert {key: kept[0] for key, kept in known.items()} == {"a.csv": 26, "d/b.csv": 4}


def stop_at(monkeypatch, point, occurrence):
    ahead = [point] * occurrence

    def reach(name):
        if name == point and ahead:
            ahead.pop()
            if not ahead:
                raise Killed(name)

    monkeypatch.setattr("reclock.failpoints.on_reach", reach)


def run_until_killed(world, at, owner, source=EVENTS):
    """A tick; whether it was stopped."""
    try:
        world.ingest(at, source, owner)
        world.audit(source, owner)
        if failpoints.on_reach is not None:
            failpoints.on_reach("after_audit")
        world.publish(at, owner=owner)
    except Killed:
        return True
    return False


class Upstream:
    """An upstream whose second step is stopped: what there is at the first tick, what comes after,
    what must be in the end."""

    source = EVENTS
    outputs = ("",)
    clock = 0

    def fill(self, world):
        fill(world)

    def check(self, world, at):
        check(world, at)


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


SERVICES = {Upserts: "kafka", Transfers: "kafka", Resharded: "kinesis", Channel: "pubnub_service"}


@pytest.fixture
def upstream(request):
    service = SERVICES.get(request.param)
    return request.param(request.getfixturevalue(service)) if service else request.param()


COMMITS = {Upstream: 2, Auction: 1, Upserts: 2}
"""How often bindings and evidence are appended in a step."""

STOPS = [
    (upstream, *stop)
    for upstream, appends in COMMITS.items()
    for stop in [
        *((point, 1) for point in STEP_POINTS),
        *((point, nth) for point in COMMIT_POINTS[:-1] for nth in range(1, appends + 1)),
        *((COMMIT_POINTS[-1], nth) for nth in (1, 2, 3)),
    ]
] + [(Resharded, point, 1) for point in (*STEP_POINTS, "collections.commit.landed")]
STOPS += [(Channel, point, 1) for point in ("ingest.after_read_once", *STEP_POINTS[1:])]
STOPS += [
    (Transfers, point, nth)
    for point, nth in (
        ("ingest.after_claimed", 1),
        ("ingest.after_bind", 1),
        ("ingest.after_staged", 1),
        (COMMIT_POINTS[-1], 2),
    )
]


@pytest.mark.parametrize(("upstream", "point", "occurrence"), STOPS, indirect=["upstream"])
def test_a_stop_at_any_point_changes_nothing_of_the_outcome(
    tmp_path, spark, monkeypatch, upstream, point, occurrence
):
    def restart():
        return World(tmp_path, lambda: spark, (upstream.source,), now=upstream.clock)

    world = restart()
    upstream.fill(world)
    stop_at(monkeypatch, point, occurrence)
    assert run_until_killed(world, 20, "first", upstream.source), f"{point} was never reached"
    monkeypatch.undo()
    seen = {
        row[-1] for output in upstream.outputs for row in world.visible(upstream.source, output)
    }
    assert seen <= ({10, 20} if point == "ingest.after_publish" else {10})
    world.close()

    restarted = restart()
    lease_runs_out(restarted)
    restarted.tick(30, owner="second")
    restarted.tick(40, owner="second")
    upstream.check(restarted, 30 if point == "ingest.after_probe" else 20)
    assert restarted.frontiers.get("u4").claim is None
    restarted.close()


REREAD_STOPS = [
    ("ingest.after_reread", 1),
    ("collections.correct.before_commit", 1),
    ("collections.commit.landed", 1),
    *((point, 1) for point in STEP_POINTS[STEP_POINTS.index("ingest.after_bind") :]),
]


@pytest.mark.parametrize(("point", "occurrence"), REREAD_STOPS)
def test_a_stop_while_a_corrected_object_is_bound_anew_changes_nothing(
    tmp_path, spark, monkeypatch, point, occurrence
):
    world = World(tmp_path, lambda: spark)
    world.write("a.csv", "1,x\nbad,y\n")
    world.write("b.csv", "7,u\n")
    with pytest.raises(DecodeFailed):
        world.ingest(10)
    world.write("a.csv", "1,x\n2,y\n3,z\n", mode="w")
    world.frontiers.decide("u4", payload.retry)
    stop_at(monkeypatch, point, occurrence)
    assert run_until_killed(world, 20, "first"), f"{point} was never reached"
    monkeypatch.undo()
    world.close()

    restarted = World(tmp_path, lambda: spark)
    lease_runs_out(restarted)
    restarted.tick(30, owner="second")
    assert restarted.visible() == [(1, "x", 10), (2, "y", 10), (3, "z", 10), (7, "u", 10)]
    assert restarted.mapping() == [("a.csv", 10, 12), ("b.csv", 10, 4)]
    assert restarted.ingest(40).state is IngestState.IDLE
    restarted.close()


def test_a_decision_comes_too_late_once_one_of_several_outputs_has_its_rows(
    tmp_path, spark, monkeypatch
):
    """Staging again under another decision would leave the others without theirs."""
    auction = Auction()
    world = World(tmp_path, lambda: spark, (auction.source,))
    auction.fill(world)
    world.ingest(20, auction.source)
    world.audit(auction.source)
    stop_at(monkeypatch, "collections.commit.landed", 1)
    with pytest.raises(Killed):
        world.publish(20)
    monkeypatch.undo()
    for decision in (payload.retry, lambda standing: payload.skip(standing, "", 2, 3)):
        with pytest.raises(InvalidOption, match="being committed"):
            world.frontiers.decide("u4", decision)
    world.tick(30)
    auction.check(world, 20)
    world.close()


def test_a_second_stop_during_recovery_changes_nothing_either(tmp_path, spark, monkeypatch):
    """Each try gets one point further and is stopped there."""
    world = World(tmp_path, lambda: spark)
    fill(world)
    in_order = [point for point in STEP_POINTS if point != "after_audit"]
    for number, point in enumerate(in_order):
        stop_at(monkeypatch, point, 1)
        at = 20 + number
        run_until_killed(world, at, "same owner")
        monkeypatch.undo()
        world.close()
        world = World(tmp_path, lambda: spark)
        expected_times = {10} if point != "ingest.after_publish" else {10, 21}
        assert {row[2] for row in world.visible()} == expected_times
    world.tick(100, owner="same owner")
    check(world, 21)
    world.close()


def tick_in_process(home, at, source=EVENTS):
    """One tick in a process of its own. A Spark that it leaves behind ends with its standard
    input."""

    def spark():
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.memory", "512m")
        )
        return (
            builder.config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .getOrCreate()
        )

    World(home, spark, (source,), lease_ms=200).tick(at, owner=f"process {at}")


def lease_runs_out(world):
    claim = world.frontiers.get("u4").claim
    if claim is not None:
        world.frontiers.amend("u4", claim, claim.payload, lease_ms=0)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("killed_at", [tuple(STEP_POINTS[:-1])], ids=["each"])
def test_processes_that_are_killed_leave_nothing_half_done(tmp_path, spark, killed_at):
    """One after another dies a step further. The last one finishes."""
    world = World(tmp_path, lambda: spark)
    fill(world)
    for number, point in enumerate(killed_at):
        die_at(point, tick_in_process, tmp_path, 20 + number)
        assert {row[2] for row in world.visible()} == (
            {10, 21} if point == "ingest.after_publish" else {10}
        )
        lease_runs_out(world)
    world.tick(50, owner="survivor")
    check(world, 21)
    world.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "killed_at", [("ingest.after_reread", "collections.correct.before_commit")], ids=["each"]
)
def test_processes_that_are_killed_while_they_bind_a_corrected_object_anew_change_nothing(
    tmp_path, spark, killed_at
):
    world = World(tmp_path, lambda: spark)
    world.write("a.csv", "1,x\nbad,y\n")
    with pytest.raises(DecodeFailed):
        world.ingest(10)
    world.write("a.csv", "1,x\n2,y\n", mode="w")
    world.frontiers.decide("u4", payload.retry)
    for number, point in enumerate(killed_at):
        lease_runs_out(world)
        die_at(point, tick_in_process, tmp_path, 20 + number)
        assert world.visible() == []
    lease_runs_out(world)
    world.tick(30, owner="survivor")
    assert (world.visible(), world.mapping()) == ([(1, "x", 10), (2, "y", 10)], [("a.csv", 10, 8)])
    world.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("killed_at", ["ingest.after_read_once"])
def test_what_a_killed_process_heard_is_heard_again(tmp_path, spark, pubnub_service, killed_at):
    upstream = Channel(pubnub_service)
    world = World(tmp_path, lambda: spark, (upstream.source,))
    upstream.fill(world)
    die_at(killed_at, tick_in_process, tmp_path, 20, upstream.source)
    lease_runs_out(world)
    world.tick(30, owner="survivor")
    upstream.check(world, 20)
    world.close()
