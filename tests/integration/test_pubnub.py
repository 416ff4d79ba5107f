"""Channels over the real client, against a service that forgets: every message once, at one time,
or a definite error."""

from __future__ import annotations

from typing import Any

import pytest
from fixtures.objects import World, no_spark
from fixtures.pubnub_server import CACHE, Service, channel_name

from reclock.adapter.session.session import Session
from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import TEXT, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.connectors.pubnub import CACHE_TIMETOKENS
from reclock.definitions.sources import PubNubConnector, SourceSpec
from reclock.errors import InvalidOption, UpstreamChanged, UpstreamUnavailable
from reclock.ingest import payload
from reclock.ingest.report import IngestState
from reclock.pipeline import tick
from reclock.runtime.environment import Environment

DESC = RelationDesc((Column("text", TEXT, is_nullable=False),))


def over(service: Service, channel: str) -> SourceSpec:
    return SourceSpec(
        GlobalId("u4"), "source", PubNubConnector("demo", channel, service.origin), None, DESC
    )


@pytest.fixture
def open_world(tmp_path):
    worlds = []

    def make(source: SourceSpec) -> World:
        worlds.append(World(tmp_path, no_spark, (source,)))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


@pytest.fixture
def heard(pubnub_service, open_world):
    """A source whose first step is done: what is published from here on is its own."""
    source = over(pubnub_service, channel_name())
    world = open_world(source)
    world.tick(10)
    return pubnub_service, source.connector.channel, source, world


def test_a_source_begins_with_what_is_published_after_its_first_step(pubnub_service, open_world):
    source = over(pubnub_service, channel_name())
    world = open_world(source)
    [early] = pubnub_service.publish(source.connector.channel, "before")
    world.tick(10)
    assert world.source_collections(source).read_frontier(99)[4] > early * 100
    pubnub_service.publish(source.connector.channel, "after")
    world.tick(20)
    assert world.visible(source) == [('"after"', 20)]


def test_each_step_hears_what_is_new_by_region(heard):
    service, channel, source, world = heard
    start = world.mapping(source)[0][2]
    [a, b] = service.publish(channel, {"n": 1}, ["é", None])
    [c] = service.publish(channel, 3.5, region=7)
    world.tick(20)
    assert world.ingest(25, source).state is IngestState.IDLE
    [d] = service.publish(channel, "d")
    world.tick(30)
    assert set(world.visible(source)) == {
        ('{"n": 1}', 20),
        ('["é", null]', 20),
        ("3.5", 20),
        ('"d"', 30),
    }
    assert a < b
    assert world.mapping(source) == [
        (4, 10, start),
        (4, 20, b * 100 + 100 - start),
        (4, 30, (d - b) * 100),
        (7, 20, c * 100 + 100),
    ]


def test_as_many_as_the_service_keeps_are_heard_and_one_more_is_an_error(heard):
    service, channel, source, world = heard
    service.publish(channel, "first")
    world.tick(20)
    [*_, newest] = service.publish(channel, *range(CACHE - 1))
    world.tick(30)
    assert [time for _, time in world.visible(source)].count(30) == CACHE - 1
    service.publish(channel, *range(CACHE))
    for at in (40, 50):
        with pytest.raises(
            UpstreamChanged, match=f"may have been lost after timetoken {newest}"
        ) as failure:
            world.ingest(at, source)
    lower, upper = (int(word) for word in failure.value.detail.split()[-3::2])
    assert (failure.value.partition, lower) == ("4", newest * 100 + 100)
    world.frontiers.decide("u4", lambda found: payload.skip(found, [("4", lower, upper)]))
    world.tick(60)
    assert [time for _, time in world.visible(source)].count(40) == CACHE


def test_what_nobody_asked_for_in_time_is_an_error_and_an_idle_channel_is_none(heard):
    service, channel, source, world = heard
    service.publish(channel, "a")
    world.tick(20)
    service.forget(channel)
    for at in (30, 40, 50):
        service.now += CACHE_TIMETOKENS - 1000
        world.tick(at)  # nothing new, and that is kept
    service.now += CACHE_TIMETOKENS + 1000
    with pytest.raises(UpstreamChanged, match="may have been lost"):
        world.ingest(60, source)
    assert world.visible(source) == [('"a"', 20)]


def test_what_was_heard_is_durable_before_it_is_bound(heard, monkeypatch):
    """Once it is bound, the service may forget it."""
    service, channel, source, world = heard

    class Killed(BaseException):
        pass

    def reach(name: str) -> None:
        if name == "ingest.after_claimed":
            raise Killed

    service.publish(channel, "a")
    monkeypatch.setattr("reclock.failpoints.on_reach", reach)
    with pytest.raises(Killed):
        world.ingest(20, source)
    monkeypatch.undo()
    service.forget(channel)
    claim = world.frontiers.get("u4").claim
    world.frontiers.amend("u4", claim, claim.payload, lease_ms=0)
    with pytest.raises(InvalidOption, match="read once"):
        world.frontiers.decide("u4", lambda found: payload.skip(found, [("4", 0, 10**19)]))
    world.tick(30)
    assert world.visible(source) == [('"a"', 20)]


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (200, ""),
        (200, "[]"),
        (200, '{"t":{"t":"1","r":1},"m":[{}]}'),
        (403, '{"message":"no"}'),
        (500, "x"),
        (502, "<html>"),
    ],
)
def test_an_answer_that_is_none_is_the_sources_error(heard, status, answer, monkeypatch):
    service, _, source, world = heard
    monkeypatch.setattr(service, "failure", answer)
    monkeypatch.setattr(service, "status", status)
    with pytest.raises(UpstreamUnavailable, match="cannot hear channel"):
        world.ingest(20, source)
    monkeypatch.undo()
    world.tick(30)
    assert world.frontiers.get("u4").claim is None


def test_a_service_that_is_not_there_is_the_sources_error(open_world):
    source = SourceSpec(
        GlobalId("u4"), "source", PubNubConnector("demo", "c", "http://127.0.0.1:9"), None, DESC
    )
    with pytest.raises(UpstreamUnavailable, match='cannot hear channel "c"'):
        open_world(source).ingest(10, source)


def test_a_channel_through_sql_and_whole_ticks(pubnub_service, tmp_path):
    channel, now = channel_name(), [1_000]
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
                "CREATE SOURCE market FROM PUBNUB SUBSCRIBE KEY 'demo' CHANNEL "
                f"'{channel}' ORIGIN '{pubnub_service.origin}'"
            )
        )
        run()
        [a] = pubnub_service.publish(channel, {"price": 5})
        first = run()
        [b] = pubnub_service.publish(channel, "x", region=9)
        second = run()
        assert rows("SELECT * FROM market ORDER BY text") == [('"x"',), ('{"price": 5}',)]
        assert rows(f"SELECT text FROM market AS OF {first}") == [('{"price": 5}',)]
        assert rows("SELECT * FROM market_progress ORDER BY region") == [
            (first, 4, a + 1),
            (second, 9, b + 1),
        ]
        assert rows("SHOW SOURCES") == [("market", "pubnub")]
        assert rows("SELECT name FROM mz_source_progresses") == [("market_progress",)]
