"""Streams of an emulator with the real API: every record once, at one time, whatever is split or
merged; and what goes wrong."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from fixtures.forks import die_at
from fixtures.objects import World, no_spark
from fixtures.publications import Killed, Lakehouse, killing_at

from reclock.adapter.session.session import Session
from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import BIGINT, INTEGER, TEXT, TIMESTAMP, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.connectors.kinesis import connector
from reclock.connectors.kinesis.stream import INCARNATION
from reclock.definitions.formats import JsonFormat, TextFormat
from reclock.definitions.sources import KinesisConnector, SourceSpec
from reclock.errors import (
    DecodeFailed,
    InvalidOption,
    UpstreamChanged,
    UpstreamReplaced,
    UpstreamUnavailable,
)
from reclock.ingest import payload
from reclock.ingest.report import IngestState
from reclock.pipeline import tick
from reclock.runtime.environment import Environment

WORDS = RelationDesc((Column("text", TEXT),))
HOUR_MS = 3_600_000


def over(
    kinesis,
    stream: str,
    *,
    format: Any = TextFormat(),  # noqa: B008
    desc: RelationDesc = WORDS,
    **more: Any,
) -> SourceSpec:
    created_at = more.pop("created_at", 0)
    upstream = KinesisConnector(stream, "us-east-1", kinesis.endpoint, **more)
    return SourceSpec(GlobalId("u4"), "source", upstream, format, desc, created_at=created_at)


@pytest.fixture
def open_world(tmp_path):
    worlds = []

    def make(*sources: SourceSpec) -> World:
        worlds.append(World(tmp_path, no_spark, sources, now=round(time.time() * 1000)))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


def decide(world: World, change: Any, *arguments: Any) -> None:
    world.frontiers.decide("u4", lambda found: change(found, *arguments))


def test_each_tick_reclocks_what_is_new_and_sequence_numbers_are_exact(kinesis, open_world):
    stream = kinesis.stream(2)
    source = over(kinesis, stream)
    world = open_world(source)
    [_, b] = kinesis.put(stream, [b"a", b"b"], 0)
    [c] = kinesis.put(stream, [b"c"], 1)
    world.tick(10)
    assert world.ingest(15, source).state is IngestState.IDLE
    [d] = kinesis.put(stream, [b"d"], 0)
    world.tick(20)
    assert world.visible(source) == [("a", 10), ("b", 10), ("c", 10), ("d", 20)]
    assert world.mapping(source) == [(0, 10, b + 1), (0, 20, d - b), (1, 10, c + 1)]
    assert len(str(d)) == 56
    assert world.source_collections(source).read_frontier(99) == {0: d + 1, 1: c + 1}


def test_what_was_split_and_merged_follows_what_it_came_of(kinesis, open_world):
    stream = kinesis.stream()
    source = over(kinesis, stream)
    world = open_world(source)
    kinesis.put(stream, [b"a"], 0)
    world.tick(10)
    kinesis.put(stream, [b"b"], 0)
    kinesis.split(stream, 0)
    kinesis.put(stream, [b"c"], 1)
    kinesis.put(stream, [b"d"], 2)
    world.tick(20)
    kinesis.merge(stream, 1, 2)
    kinesis.put(stream, [b"e"], 3)
    world.tick(30)
    assert world.visible(source) == [("a", 10), ("b", 20), ("c", 20), ("d", 20), ("e", 30)]
    endings = {
        int(own["ShardId"][-12:]): own["SequenceNumberRange"].get("EndingSequenceNumber")
        for own in kinesis.shards(stream)
    }
    _, bound = world.source_collections(source).read_bound()
    assert {shard: evidence[3] for shard, evidence in bound.items()} == {
        0: True,
        1: True,
        2: True,
        3: False,
    }
    assert [bound[shard][0] for shard in (0, 1, 2)] == [
        int(endings[shard]) + 1 for shard in (0, 1, 2)
    ]
    assert world.ingest(35, source).state is IngestState.IDLE


def test_a_child_waits_until_its_parent_was_read_to_its_end(kinesis, open_world, monkeypatch):
    stream = kinesis.stream()
    source = over(kinesis, stream)
    world = open_world(source)
    kinesis.put(stream, [b"%d" % n for n in range(5)], 0)
    kinesis.split(stream, 0)
    kinesis.put(stream, [b"child"], 1)
    monkeypatch.setattr(connector, "_PAGE_RECORDS", 2)
    monkeypatch.setattr(connector, "PROBE_PAGES", 3)
    for at in range(10, 60, 10):
        world.tick(at)
    assert world.visible(source) == [
        ("0", 10),
        ("1", 10),
        ("2", 10),
        ("3", 10),
        ("4", 10),
        ("child", 20),
    ]


def test_where_it_starts(kinesis):
    stream = kinesis.stream()
    [_, b, _] = kinesis.put(stream, [b"a", b"b", b"c"], 0)
    time.sleep(0.01)
    moment = round(time.time() * 1000)
    kinesis.put(stream, [b"d"], 0)

    def read(**start: Any) -> list[str]:
        source = over(kinesis, stream, **start)
        assert isinstance(source.connector, KinesisConnector)
        assert source.format is not None
        opened = connector.Kinesis(source.connector, source.format, source.desc, Timestamp(moment))
        rows = [
            table for task in opened.tasks(opened.probe({}), []) for _, table in opened.read(task)
        ]
        return [text for table in rows for text in table["text"].to_pylist()]

    assert read() == ["a", "b", "c", "d"]
    assert read(start="AT", start_numbers=((0, b),)) == ["b", "c", "d"]
    assert read(start="AFTER", start_numbers=((0, b),)) == ["c", "d"]
    assert read(start="TIMESTAMP", start_timestamp=moment) == ["d"]


def test_latest_is_what_comes_after_the_source_was_made(kinesis, open_world):
    stream = kinesis.stream()
    kinesis.put(stream, [b"before"], 0)
    time.sleep(0.01)
    source = over(kinesis, stream, start="LATEST", created_at=round(time.time() * 1000))
    kinesis.put(stream, [b"after"], 0)
    world = open_world(source)
    world.tick(10)
    assert world.visible(source) == [("after", 10)]


def test_what_retention_took_is_a_definite_error_until_it_is_given_up(kinesis, open_world):
    """Records expire by the service's clock; the tests move it."""
    stream = kinesis.stream()
    source = over(kinesis, stream)
    world = open_world(source)
    [a] = kinesis.put(stream, [b"a"], 0)
    world.tick(10)
    kinesis.put(stream, [b"lost"], 0)
    kinesis.age(25)
    [c] = kinesis.put(stream, [b"c"], 0)
    world.now += 25 * HOUR_MS
    for at in (20, 30):
        with pytest.raises(UpstreamChanged, match="may have lost records") as failure:
            world.ingest(at, source)
        assert (failure.value.partition, failure.value.offset) == ("0", a + 1)
        statement = f"ALTER SOURCE … SKIP '0' FROM {a + 1} TO {c}"
        assert failure.value.hint.startswith(f"{statement} gives them up")
    decide(world, payload.skip, [("0", a + 1, c)])
    world.tick(40)
    assert world.visible(source) == [("a", 10), ("c", 20)]


def test_an_idle_stream_outlives_its_retention_if_it_is_looked_at(kinesis, open_world):
    stream = kinesis.stream()
    source = over(kinesis, stream)
    world = open_world(source)
    kinesis.put(stream, [b"a"], 0)
    world.tick(10)
    mapping = world.mapping(source)
    for at in (20, 30):
        kinesis.age(13)
        world.now += 13 * HOUR_MS
        world.tick(at)  # it binds nothing, and keeps that nothing was there
        assert world.mapping(source) == mapping
    kinesis.put(stream, [b"b"], 0)
    world.tick(40)
    assert world.visible(source) == [("a", 10), ("b", 40)]


def test_what_expires_while_it_is_claimed_is_found_out(kinesis, open_world, monkeypatch):
    stream = kinesis.stream()
    source = over(kinesis, stream)
    world = open_world(source)
    [a, _] = kinesis.put(stream, [b"a", b"b"], 0)

    def reach(name: str) -> None:
        if name == "ingest.after_bound":
            kinesis.age(25)

    monkeypatch.setattr("reclock.failpoints.on_reach", reach)
    with pytest.raises(UpstreamChanged, match="no longer has sequence number") as failure:
        world.ingest(10, source)
    assert (failure.value.partition, failure.value.offset) == ("0", a)


def test_a_stream_that_was_made_again_is_another_one(kinesis, open_world):
    stream = kinesis.stream()
    source = over(kinesis, stream)
    world = open_world(source)
    kinesis.put(stream, [b"a"], 0)
    world.tick(10)
    kinesis.delete(stream)
    with pytest.raises(UpstreamChanged, match="is gone"):
        world.ingest(20, source)
    kinesis.age(1)  # times of creation are in seconds
    kinesis.create(stream)
    kinesis.put(stream, [b"b"], 0)
    with pytest.raises(UpstreamChanged, match="deleted and created again"):
        world.ingest(30, source)


POINTS = [
    "ingest.after_claimed",
    "ingest.after_bind",
    "ingest.after_stage",
    "ingest.before_commit",
    "ingest.after_commit",
    "ingest.after_publish",
]


def test_a_step_that_is_broken_off_anywhere_reads_the_new_stream_once(
    kinesis, open_world, monkeypatch
):
    stream = kinesis.stream(2)
    source = over(kinesis, stream)
    world, texts, at = open_world(source), [], 0
    for number, point in enumerate(POINTS):
        kinesis.put(stream, [b"a%d" % number], 0)
        kinesis.put(stream, [b"b%d" % number], number % 2)
        texts += [f"a{number}", f"b{number}"]
        if number:
            with pytest.raises(UpstreamReplaced, match="created again"):
                world.ingest(at + 1, source)
            decide(world, payload.resnapshot)
        with monkeypatch.context() as patched:
            patched.setattr("reclock.failpoints.on_reach", killing_at(point))
            with pytest.raises(Killed):
                world.tick(at + 1)
        world.tick(at + 2)
        world.tick(at := at + 3)
        assert sorted(text for text, _ in world.visible(source)) == sorted(texts)
        kinesis.delete(stream)
        kinesis.age(1)  # times of creation are in seconds
        kinesis.create(stream, 1 + (number + 1) % 2)


def resnapshot(home: Path) -> None:
    with Environment.open(home) as environment:
        list(Session(environment).execute("ALTER SOURCE clicks RESNAPSHOT"))


def run_tick(home: Path) -> None:
    with Environment.open(home) as environment:
        tick.run(environment, owner="tests")


def test_resnapshot_goes_on_with_a_stream_that_was_created_again(kinesis, here: Lakehouse):
    """Processes are killed after the decision, and after the new stream's offsets were bound."""
    stream = kinesis.stream(2)
    here.sql(
        f"CREATE SOURCE clicks FROM KINESIS (STREAM '{stream}', REGION 'us-east-1', "
        f"ENDPOINT '{kinesis.endpoint}') FORMAT TEXT INCLUDE PARTITION, OFFSET"
    )
    here.sql("CREATE MATERIALIZED VIEW clicked AS SELECT count(*) AS n FROM clicks")
    [a] = kinesis.put(stream, [b"a"], 0)
    [b] = kinesis.put(stream, [b"b"], 1)
    assert here.tick() == []
    with pytest.raises(InvalidOption, match="needs no RESNAPSHOT"):
        here.sql("ALTER SOURCE clicks RESNAPSHOT")
    kinesis.delete(stream)
    assert len(here.tick()) == 1
    problem = "SELECT error, hint FROM mz_source_statuses WHERE status = 'stalled'"
    [(error, hint)] = here.sql(problem)
    assert "is gone" in error
    way_out = "ALTER SOURCE reclock.public.clicks RESNAPSHOT"
    assert hint == f"once the stream is there again, {way_out} goes on with it"
    with pytest.raises(UpstreamReplaced, match="is gone"):
        here.sql("ALTER SOURCE clicks RESNAPSHOT")
    kinesis.age(1)
    kinesis.create(stream)
    [c] = kinesis.put(stream, [b"c"])
    for decision in ("RETRY", "SKIP '0'"):
        with pytest.raises(InvalidOption, match="no decision brings this back"):
            here.sql(f"ALTER SOURCE clicks {decision}")
    home = here.environment.stores.settings.home
    die_at("resnapshot.after_decision", resnapshot, home)
    die_at("ingest.after_bound", run_tick, home)
    [d] = kinesis.put(stream, [b"d"])
    for _ in range(2):
        assert here.tick() == []
    assert here.sql(problem) == []
    assert here.sql("SELECT * FROM clicks ORDER BY text") == [
        ("a", 0, str(a)),
        ("b", 1, str(b)),
        ("c", 0, str(c)),
        ("d", 0, str(d)),
    ]
    assert here.sql("SELECT * FROM clicked") == [(4,)]
    # offsets count on
    assert here.sql("SELECT shard_id, sequence_number FROM clicks_progress ORDER BY shard_id") == [
        (0, str(INCARNATION + d + 1)),
        (1, str(b + 1)),
    ]
    with pytest.raises(InvalidOption, match="needs no RESNAPSHOT"):
        here.sql("ALTER SOURCE clicks RESNAPSHOT")
    [oops] = kinesis.put(stream, [b"\xff"])
    assert len(here.tick()) == 1
    [(_, hint)] = here.sql(problem)
    oops += INCARNATION
    statement = f"SKIP '0' FROM {oops} TO {oops + 1}"
    assert hint == f"give the record up with ALTER SOURCE reclock.public.clicks {statement}"
    here.sql(f"ALTER SOURCE clicks {statement}")
    kinesis.split(stream, 0)
    kinesis.put(stream, [b"e"], 1)
    for _ in range(2):
        assert here.tick() == []
    assert here.sql("SELECT text, shard_id FROM clicks WHERE text > 'd'") == [("e", 1)]


def test_resnapshot_gives_up_what_retention_took_of_any_shard(kinesis, open_world):
    stream = kinesis.stream(2)
    source = over(kinesis, stream)
    world = open_world(source)
    for shard in (0, 1):
        kinesis.put(stream, [b"a"], shard)
    world.tick(10)
    for shard in (0, 1):
        kinesis.put(stream, [b"lost"], shard)
    kinesis.age(25)
    kinesis.put(stream, [b"c"], 0)
    world.now += 25 * HOUR_MS
    with pytest.raises(UpstreamChanged, match="may have lost records") as failure:
        world.ingest(20, source)
    assert "ALTER SOURCE … RESNAPSHOT gives up what any shard has lost" in str(failure.value.hint)
    decide(world, payload.resnapshot)
    world.tick(30)
    kinesis.put(stream, [b"d"], 1)
    world.tick(40)
    texts = [text for text, _ in world.visible(source)]
    assert sorted(texts) == ["a", "a", "c", "d"]


def test_a_record_that_does_not_decode_is_named_and_can_be_given_up(kinesis, open_world):
    stream = kinesis.stream()
    columns: tuple[Column, ...] = (
        Column("n", INTEGER),
        Column("key", TEXT, False),
        Column("shard_id", BIGINT, False),
    )
    columns += (Column("sequence_number", TEXT, False), Column("timestamp", TIMESTAMP, False))
    include = (
        ("KEY", "key"),
        ("PARTITION", "shard_id"),
        ("OFFSET", "sequence_number"),
        ("TIMESTAMP", "timestamp"),
    )
    source = over(kinesis, stream, format=JsonFormat(), desc=RelationDesc(columns), include=include)
    world = open_world(source)
    [a, b, c] = kinesis.put(stream, [b'{"n":1}', b"oops", b'{"n":3}'], 0)
    with pytest.raises(DecodeFailed, match=str(b)) as failure:
        world.ingest(10, source)
    assert (failure.value.partition, failure.value.offset) == ("0", b)
    decide(world, payload.skip, [("0", b, b + 1)])
    world.tick(20)
    assert [row[:4] for row in world.visible(source)] == [
        (1, "key", 0, str(a)),
        (3, "key", 0, str(c)),
    ]


def test_what_cannot_be_reached_is_the_sources_error(kinesis, open_world):
    source = over(kinesis, "there-is-none")
    with pytest.raises(UpstreamUnavailable, match='cannot read stream "there-is-none"'):
        open_world(source).ingest(10, source)


def test_a_stream_through_sql_and_whole_ticks(kinesis, tmp_path):
    """Audited, published, with its progress, in digits; sequence numbers are exact all the way."""
    stream, now = kinesis.stream(2), [round(time.time() * 1000)]
    with Environment.initialise(tmp_path, clock=lambda: Timestamp(now[0])) as environment:
        session = Session(environment)

        def rows(text: str) -> list[tuple[Any, ...]]:
            [result] = session.execute(text)
            return [tuple(row.values()) for batch in result.batches for row in batch.to_pylist()]

        def run() -> int:
            now[0] += 1_000
            report = tick.run(environment, at=now[0], owner="test")
            assert report.succeeded, report.summary()
            return now[0]

        list(
            session.execute(
                f"""CREATE SOURCE clicks FROM KINESIS (STREAM '{stream}', REGION 'us-east-1', ENDPOINT '{kinesis.endpoint}')
                    FORMAT TEXT INCLUDE PARTITION, OFFSET"""
            )
        )
        [a] = kinesis.put(stream, [b"a"], 0)
        [b] = kinesis.put(stream, [b"b"], 1)
        first = run()
        [c] = kinesis.put(stream, [b"c"], 1)
        second = run()
        assert rows("SELECT * FROM clicks ORDER BY text") == [
            ("a", 0, str(a)),
            ("b", 1, str(b)),
            ("c", 1, str(c)),
        ]
        assert rows(f"SELECT text FROM clicks ORDER BY text AS OF {first}") == [("a",), ("b",)]
        progress = "SELECT * FROM clicks_progress ORDER BY shard_id"
        assert rows(progress) == [(first, 0, str(a + 1)), (second, 1, str(c + 1))]
        assert rows(f"{progress} AS OF {first}") == [(first, 0, str(a + 1)), (first, 1, str(b + 1))]
        assert rows("SHOW SOURCES") == [("clicks", "kinesis")]
        kinesis.put(stream, [b"\xff"], 0)
        now[0] += 1_000
        assert not tick.run(environment, at=now[0], owner="test").succeeded
        [(error,)] = rows("SELECT error FROM mz_source_statuses WHERE name = 'clicks'")
        number = next(word for word in error.split() if word.isdigit())
        list(session.execute(f"ALTER SOURCE clicks SKIP '0' FROM {number} TO {int(number) + 1}"))
        run()
        assert rows("SELECT count(*) FROM clicks") == [(3,)]
