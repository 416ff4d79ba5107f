"""Topics in Avro and Protobuf with a registry: the schema is asked for once, when the source is made; writers may change theirs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from fixtures.debezium import Connector, event
from fixtures.kafka import Broker
from fixtures.registry import Registry, framed
from google.protobuf.message_factory import GetMessageClass

from reclock import tick
from reclock.adapter.session import Session
from reclock.environment import Environment
from reclock.errors import InvalidOption
from reclock.sources.protobuf_schemas import compiled, descriptor

pytestmark = pytest.mark.spark

ORDER = """syntax = "proto3"; package shop; import "google/protobuf/timestamp.proto"; import "parts/part.proto";
message Key { int64 id = 1; }
message Order { int32 n = 1; optional string w = 2; google.protobuf.Timestamp at = 3; parts.Part part = 4; }"""
NEWER = """syntax = "proto3"; package shop; message Order { int32 n = 1; string more = 9; }"""


@pytest.fixture
def environment(tmp_path: Path, spark: Any, kafka: Broker, registry: Registry) -> Iterator[Environment]:
    with Environment.initialise(tmp_path, spark=spark) as opened:
        run(
            opened,
            f"""CREATE CONNECTION schemas TO CONFLUENT SCHEMA REGISTRY (URL '{registry.url}');
            CREATE CONNECTION k TO KAFKA (BROKER '{kafka.address}')""",
        )
        yield opened


def run(environment: Environment, text: str) -> list[tuple[Any, ...]]:
    return [row for result in Session(environment).execute(text) for row in result.rows()]


def test_avro(kafka: Broker, registry: Registry, environment: Environment) -> None:
    topic = kafka.topic()
    avro = "FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION schemas"
    source = f"CREATE SOURCE s FROM KAFKA CONNECTION k (TOPIC '{topic}') KEY {avro} VALUE {avro} INCLUDE KEY AS id ENVELOPE UPSERT"
    with pytest.raises(InvalidOption, match="no schema"):
        run(environment, source)
    one: Any = {"type": "record", "name": "r", "fields": [{"name": "n", "type": "int"}, {"name": "w", "type": ["null", "string"]}]}
    one["fields"][1]["default"] = None
    two: Any = {"type": "record", "name": "r", "fields": [{"name": "more", "type": "string"}, {"name": "n", "type": "int"}]}
    key_id, one_id = registry.register(f"{topic}-key", "long"), registry.register(f"{topic}-value", one)
    run(environment, source)
    two_id = registry.register(f"{topic}-value", two)
    kafka.send(
        topic,
        [
            (framed(key_id, "long", 1), framed(one_id, one, {"n": 10, "w": "x"})),
            (framed(key_id, "long", 2), framed(one_id, one, {"n": 20, "w": None})),
            (framed(key_id, "long", 3), framed(two_id, two, {"more": "y", "n": 30})),
            (framed(key_id, "long", 1), None),
        ],
    )
    assert not tick.run(environment, owner="tests").failed
    assert run(environment, "SELECT id, n, w FROM s ORDER BY id") == [("2", 20, None), ("3", 30, None)]
    with Environment.open(environment.settings.home, spark=environment.spark()) as again:
        assert [entry.desc.names for entry in again.planner_catalog().relations() if entry.name.item == "s"] == [("n", "w", "id")]
    kafka.send(topic, [(framed(key_id, "long", 4), b"\x00\x00\x00\x00\x63!")])
    [stalled] = tick.run(environment, owner="tests").failed
    assert stalled.message == 'record at offset 4 of "0" does not decode'


def test_protobuf(kafka: Broker, registry: Registry, environment: Environment) -> None:
    topic = kafka.topic()
    protobuf = "USING CONFLUENT SCHEMA REGISTRY CONNECTION schemas"
    source = f"""CREATE SOURCE s FROM KAFKA CONNECTION k (TOPIC '{topic}') KEY FORMAT PROTOBUF MESSAGE 'shop.Key' {protobuf}
        VALUE FORMAT PROTOBUF MESSAGE 'shop.Order' {protobuf} INCLUDE KEY AS id ENVELOPE UPSERT"""
    part = """syntax = "proto2"; package parts; message Part { required string name = 1; }"""
    registry.register_protobuf(f"{topic}-part", part)
    for half in ("key", "value"):
        registry.register_protobuf(f"{topic}-{half}", ORDER, **{"parts/part.proto": f"{topic}-part"})
    with pytest.raises(InvalidOption, match="has 2 messages"):
        run(environment, f"CREATE SOURCE s FROM KAFKA CONNECTION k (TOPIC '{topic}') FORMAT PROTOBUF {protobuf}")
    run(environment, source)

    schema = compiled(ORDER, (("parts/part.proto", part),))

    def write(text: str, message: str, half: str, **fields: Any) -> bytes:
        """A message as Confluent's own serializer writes it, which registers the schema that it has."""
        made = GetMessageClass(descriptor(text, message))
        context = SerializationContext(topic, MessageField.KEY if half == "key" else MessageField.VALUE)
        found = ProtobufSerializer(made, registry.client, {"use.deprecated.format": False})(made(**fields), context)
        assert found is not None
        return found

    keys = [write(schema, "shop.Key", "key", id=id) for id in (1, 2, 3)]
    newer = compiled(NEWER)
    kafka.send(
        topic,
        [
            (keys[0], write(schema, "shop.Order", "value", n=10, w="x", at={"seconds": 1_700_000_000}, part={"name": "p"})),
            (keys[1], write(schema, "shop.Order", "value", n=20)),
            (keys[2], write(newer, "shop.Order", "value", n=30, more="y")),
            (keys[1], None),
        ],
    )
    assert not tick.run(environment, owner="tests").failed
    rows = run(environment, "SELECT id, n, w, at::text, part FROM s ORDER BY n")
    assert rows == [
        ('{"id": "1"}', 10, "x", "2023-11-14 22:13:20", '{"name": "p"}'),
        ('{"id": "3"}', 30, None, None, None),
    ]

    bare = kafka.topic()
    text = ORDER.replace('import "parts/part.proto";', "").replace("parts.Part", "Key")
    run(
        environment,
        f"CREATE SOURCE b FROM KAFKA CONNECTION k (TOPIC '{bare}') FORMAT PROTOBUF MESSAGE 'shop.Order' USING SCHEMA '{text}'",
    )
    kafka.send(bare, [b"\x08\x05", b""])
    assert not tick.run(environment, owner="tests").failed
    assert run(environment, "SELECT n, w FROM b ORDER BY n") == [(0, None), (5, None)]
    kafka.send(bare, [b"\x08"])
    kafka.send(topic, [(keys[0], keys[0])])
    stalled = tick.run(environment, owner="tests").failed
    assert {failure.name.rpartition(".")[2]: failure.message for failure in stalled} == {
        "b": 'record at offset 2 of "0" does not decode',
        "s": 'record at offset 4 of "0" does not decode',
    }


ROW: Any = {"type": "record", "name": "Value", "fields": [{"name": "id", "type": "int"}, {"name": "money", "type": "long"}]}
BLOCK = {"type": "record", "name": "block", "fields": [{"name": "id", "type": "string"}, {"name": "total_order", "type": "long"}]}
COUNT = {
    "type": "record",
    "name": "count",
    "fields": [{"name": "data_collection", "type": "string"}, {"name": "event_count", "type": "long"}],
}
EVENT = {"before": ["null", ROW], "after": ["null", "Value"], "op": "string", "transaction": ["null", BLOCK]}
ENTRY = {"status": "string", "id": "string", "data_collections": ["null", {"type": "array", "items": COUNT}]}


def test_transactions_in_avro(kafka: Broker, registry: Registry, environment: Environment) -> None:
    schemas = {
        name: {"type": "record", "name": name, "fields": [{"name": field, "type": type} for field, type in fields.items()]}
        for name, fields in (("Envelope", EVENT), ("Entry", ENTRY))
    }
    ids: dict[str, int] = {}

    def write(topic: str, message: dict[str, Any]) -> bytes:
        schema = schemas["Entry" if topic.endswith(".transaction") else "Envelope"]
        if topic not in ids:
            ids[topic] = registry.register(f"{topic}-value", schema)
        if "transaction" in message:
            message["transaction"]["total_order"] = int(message["transaction"]["total_order"])
        return framed(ids[topic], schema, message)

    connector = Connector(kafka, kafka.topic(), write)
    for name in ("transaction", "public.giro", "public.savings"):
        kafka.create(f"{connector.prefix}.{name}")
    source = f"""CREATE SOURCE bank FROM KAFKA CONNECTION k (TRANSACTION TOPIC '{connector.prefix}.transaction')
        FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION schemas ENVELOPE DEBEZIUM
        FOR TABLES (public.giro, public.savings AS saved (id int NOT NULL, money bigint))"""
    with pytest.raises(InvalidOption, match="no schema"):
        run(environment, source)
    rows = [{"id": 1, "money": money} for money in (100, 70, 130)]
    opening, reduced, raised = rows
    connector.transaction(1, [(table, event("c", None, opening)) for table in ("giro", "savings")])
    connector.transaction(2, [("giro", event("u", opening, reduced)), ("savings", event("u", opening, raised))])
    connector.transaction(3, [("giro", event("d", reduced, None)), ("savings", event("u", raised, opening))], upto=1)
    connector.deliver()
    run(environment, source)
    alone = f"{connector.prefix}.public.savings"
    run(
        environment,
        f"""CREATE SOURCE alone FROM KAFKA CONNECTION k (TOPIC '{alone}')
        FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION schemas ENVELOPE DEBEZIUM""",
    )
    assert not tick.run(environment, owner="tests").failed
    assert run(environment, "SELECT * FROM giro UNION ALL SELECT * FROM saved ORDER BY 2") == [(1, 70), (1, 130)]
    assert run(environment, "SELECT * FROM alone") == [(1, 130)]
    assert [row[:2] for row in run(environment, "SHOW COLUMNS FROM giro")] == [("id", False), ("money", False)]
    kafka.send(alone, [b"no event"])
    assert {failure.message for failure in tick.run(environment, owner="tests").failed} == {
        f'record at offset 2 of "{alone}/0" does not decode',
        'record at offset 2 of "0" does not decode',
    }
