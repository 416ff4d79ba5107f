"""Which of a connector's transactions can be bound, over topics in memory."""

from __future__ import annotations

import pytest
from fixtures.debezium import Connector, event
from fixtures.memory_topics import Topics

from reclock.algebra.relations import INTEGER, Column, RelationDesc
from reclock.sources.connections import broker
from reclock.sources.connector import Bound
from reclock.sources.debezium import Debezium
from reclock.sources.description import DebeziumConnector, JsonFormat

DESC = RelationDesc((Column("id", INTEGER),))


def row(id: int) -> bytes:
    return event("c", None, {"id": id})


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> Topics:
    topics = Topics()
    topics.serve(monkeypatch)
    for name in ("transaction", "public.a", "public.b"):
        topics.create(f"shop.{name}")
    return topics


def probed(bound: Bound) -> dict[str, int]:
    upstream = DebeziumConnector(broker("nowhere:1"), "shop.transaction")
    connector = Debezium(upstream, dict.fromkeys(("public.a", "public.b"), DESC), JsonFormat(), {})
    return {str(own.partition): own.upper for own in connector.probe(bound)}


def test_a_table_that_has_nothing_new_is_waited_for_too(topics: Topics) -> None:
    connector = Connector(topics, "shop")  # type: ignore[arg-type]
    connector.transaction(1, [("a", row(1)), ("b", row(2))])
    connector.sent["shop.public.b"] = 1
    connector.deliver()
    assert probed({}) == {}
    topics.send("shop.public.b", connector.topics["shop.public.b"])
    assert probed({}) == {"shop.public.a/0": 1, "shop.public.b/0": 1, "shop.transaction/0": 2}
