"""Which of a connector's transactions can be bound, over topics in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from fixtures.debezium import Connector, event
from fixtures.memory_topics import Topics

from reclock.algebra.relations import INTEGER, Column, RelationDesc
from reclock.connectors import debezium_topics
from reclock.connectors.connector import Bound, Increment, Skip
from reclock.connectors.debezium import Debezium
from reclock.definitions.connections import broker
from reclock.definitions.formats import JsonFormat
from reclock.definitions.sources import DebeziumConnector
from reclock.errors import UpstreamChanged, UpstreamReplaced

DESC = RelationDesc((Column("id", INTEGER),))


def row(id: int) -> bytes:
    return event("c", None, {"id": id})


@pytest.fixture(params=["in one part", "in parts"])
def topics(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Topics:
    """Topics, of which the transaction topic is read all at once, or hardly anything at once."""
    if request.param == "in parts":
        monkeypatch.setattr(debezium_topics, "LOG_ENTRIES", 2)
    topics = Topics()
    topics.serve(monkeypatch)
    for name in ("transaction", "public.a", "public.b"):
        topics.create(f"shop.{name}")
    return topics


UPSTREAM = DebeziumConnector(broker("nowhere:1"), "shop.transaction")


def over(*outputs: str) -> Debezium:
    return Debezium(UPSTREAM, dict.fromkeys(outputs, DESC), JsonFormat(), {})


def probed(bound: Bound, skips: Sequence[Skip] = ()) -> dict[str, int]:
    """Up to where the partitions can be bound, in as many steps as it takes."""
    reached: dict[str, int] = {}
    while found := over("public.a", "public.b").probe(bound, skips):
        bound = {
            **bound,
            **{increment.partition: (increment.upper, *increment.evidence) for increment in found},
        }
        reached |= {str(increment.partition): increment.upper for increment in found}
    return reached


def test_a_table_that_has_nothing_new_is_waited_for_too(topics: Topics) -> None:
    connector = Connector(topics, "shop")  # type: ignore[arg-type]
    connector.transaction(1, [("a", row(1)), ("b", row(2))])
    connector.sent["shop.public.b"] = 1
    connector.deliver()
    assert probed({}) == {}
    topics.send("shop.public.b", connector.topics["shop.public.b"])
    assert probed({}) == {"shop.public.a/0": 1, "shop.public.b/0": 1, "shop.transaction/0": 2}


def delivering(topics: Topics, *transactions: list[str]) -> Connector:
    """What a connector tells of transactions, each of which changes these tables; nothing is
    delivered."""
    connector = Connector(topics, "shop")  # type: ignore[arg-type]
    for number, tables in enumerate(transactions):
        connector.transaction(
            number, [(table, row(number * 10 + place)) for place, table in enumerate(tables)]
        )
    return connector


LATE = "public.b@u9"
BOUND: Bound = {
    "shop.transaction/0": (6, "shop.transaction"),
    "shop.public.a/0": (3, "shop.public.a"),
}
"""What is bound of the host by three transactions."""


def start() -> tuple[dict[str, int], Any]:
    increments, blocked = over("public.a", LATE).begin(BOUND)
    return {str(increment.partition): increment.upper for increment in increments}, blocked.get(
        LATE
    )


def test_a_table_that_comes_late_tells_what_it_waits_for(topics: Topics) -> None:
    connector = delivering(topics, ["a", "b"], ["a", "b", "b"], ["a"])
    connector.sent["shop.public.b"] = 3
    connector.deliver()
    events = connector.topics["shop.public.b"]
    topics.send("shop.public.b", events[:2])
    assert start() == ({}, 'waits for 1 events of transaction "1" in topic "shop.public.b"')
    topics.send("shop.public.b", events[2:])
    assert start() == ({LATE: 0, "shop.public.b@u9/0": 3}, None)


@pytest.mark.parametrize("kept", [1, 2])
def test_a_table_that_comes_too_late_for_its_events_is_an_error(topics: Topics, kept: int) -> None:
    delivering(topics, ["a", "b"], ["a", "b", "b"], ["a", "b"]).deliver()
    topics.first["shop.public.b"] = 4 - kept  # the third transaction is whole
    increments, error = start()
    assert not increments
    assert error.message == '1 events of transaction "0" are gone from topic "shop.public.b"'
    assert error.hint == (
        "DROP the source; one over the topic alone, without TRANSACTION TOPIC, reads "
        "what is still there"
    )


def test_events_that_may_yet_come_are_not_taken_for_lost(topics: Topics) -> None:
    connector = delivering(topics, ["a", "b"], ["a"], ["a", "b"])
    connector.deliver()
    topics.kept["shop.public.b"] = []
    assert start() == ({}, 'waits for 1 events of transaction "0" in topic "shop.public.b"')


def test_a_table_whose_events_are_older_than_the_transaction_topic_is_an_error(
    topics: Topics,
) -> None:
    connector = delivering(topics, ["a", "b"], ["b"], ["a", "b"], ["a"])
    connector.topics["shop.public.b"] *= 2  # it begins again
    connector.deliver()
    topics.first["shop.transaction"] = 4
    _, error = start()
    assert (error.partition, error.offset) == ("shop.public.b@u9/0", 0)
    assert (
        error.message
        == 'transaction "0" of "shop.public.b@u9/0" ended before topic "shop.transaction" begins'
    )
    assert error.detail == "its events lie at 0 to 1"
    with pytest.raises(UpstreamChanged, match="ended before topic") as lost:
        probed({})
    assert lost.value.partition == "shop.public.a/0"
    deleted = [("shop.public.a/0", 0, 1), ("shop.public.b/0", 0, 2)]
    assert probed({}, deleted) == {
        "shop.transaction/0": 8,
        "shop.public.a/0": 3,
        "shop.public.b/0": 3,
    }


def test_what_a_connector_sends_again_is_not_taken_for_a_lost_transaction(topics: Topics) -> None:
    """The topic has lost what ended before, and the transaction that has not ended stands before
    what comes twice."""
    connector = delivering(topics, ["a"], ["a", "b"])
    connector.transaction(7, [("b", row(70)), ("a", row(71))], upto=1)
    connector.topics["shop.public.b"].append(connector.topics["shop.public.b"][0])
    connector.deliver()
    topics.first["shop.transaction"] = 1
    assert probed({}) == {"shop.transaction/0": 4, "shop.public.a/0": 2, "shop.public.b/0": 1}


TOPICS = ("shop.transaction", "shop.public.a", "shop.public.b")


def read(increments: Sequence[Increment]) -> list[tuple[str, list[int] | None]]:
    """The ids of the rows that the tasks of a step read, by output; None if they replace others."""
    connector = over("public.a", "public.b")
    return [
        (output, rows["id"].to_pylist() if rows is not None else None)
        for task in connector.tasks(increments, [])
        for output, rows in connector.read(task)
    ]


def test_topics_that_are_created_again_are_read_from_their_beginnings_by_transaction(
    topics: Topics,
) -> None:
    connector = over("public.a", "public.b")
    delivering(topics, ["a", "b"], ["a"], ["b"]).deliver()
    topics.create("shop.public.b")
    bound: Bound = {}
    while increments := connector.probe(bound):
        bound = {**bound, **{i.partition: (i.upper, *i.evidence) for i in increments}}
    offsets = [(partition, evidence[0]) for partition, evidence in bound.items()]
    assert not connector.is_replaced(bound)
    assert connector.probe_anew(bound) == []
    for again in (1, 2):
        for topic in TOPICS:
            topics.create_again(topic)
            if topic != TOPICS[-1]:
                with pytest.raises(UpstreamReplaced, match="not all topics") as partial:
                    connector.is_replaced(bound)
                assert '"shop.public.b"' in str(partial.value.detail)
                with pytest.raises(UpstreamReplaced, match="not all topics"):
                    connector.probe_anew(bound)
        # a snapshot; a transaction, sent twice; and one that has not ended
        topics.send("shop.public.a", [row(100 * again)])
        anew = delivering(topics, ["a", "b"])
        anew.transaction(0, [("a", row(0)), ("b", row(1))])
        anew.transaction(1, [("a", row(10)), ("b", row(11))], upto=1)
        anew.deliver()
        assert connector.is_replaced(bound)
        increments = connector.probe_anew(bound)
        assert [(i.lower, i.partition) for i in increments] == [
            (bound[partition][0], partition) for partition in sorted(map(str, bound))
        ]
        replaced, rows = read(increments)[:2], read(increments)[2:]
        assert replaced == [("public.a", None), ("public.b", None)]
        bound = {**bound, **{i.partition: (i.upper, *i.evidence) for i in increments}}
        while increments := connector.probe_anew(bound):  # it is the one that is bound now
            rows += read(increments)
            bound = {**bound, **{i.partition: (i.upper, *i.evidence) for i in increments}}
        ids: dict[str, list[int]] = {}
        for output, read_ids in rows:
            assert read_ids is not None
            ids.setdefault(output, []).extend(read_ids)
        assert ids == {"public.a": [100 * again, 0], "public.b": [1]}
        assert bound["shop.public.a/0"][0] == dict(offsets)["shop.public.a/0"] + 3 * again
        assert bound["shop.public.b/0"][0] == dict(offsets)["shop.public.b/0"] + 2 * again
