"""Topics in Avro and Protobuf with a registry: the schema is asked for once, when the source is
made; writers may change theirs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from fixtures.debezium import Connector, event
from fixtures.kafka import Broker
from fixtures.registry import Registry, framed
from fixtures.sessions import sql
from google.protobuf.message_factory import GetMessageClass

from reclock.errors import (
    DependentObjects,
    InvalidOption,
    TargetChanged,
    TargetUnavailable,
    UnsupportedSql,
)
from reclock.formats.protobuf_schemas import compiled, descriptor
from reclock.pipeline import tick
from reclock.runtime.environment import Environment

ORDER = """syntax = "proto3"; package shop; import "google/protobuf/timestamp.proto"; import "parts/part.proto";
message Key { int64 id = 1; }
message Order { int32 n = 1; optional string w = 2; google.protobuf.Timestamp at = 3; parts.Part part = 4; }"""
NEWER = """syntax = "proto3"; package shop; message Order { int32 n = 1; string more = 9; }"""


@pytest.fixture
def environment(tmp_path: Path, kafka: Broker, registry: Registry) -> Iterator[Environment]:
    with Environment.initialise(tmp_path) as opened:
        sql(
            opened,
            f"""CREATE CONNECTION schemas TO CONFLUENT SCHEMA REGISTRY (URL '{registry.url}');
            CREATE CONNECTION k TO KAFKA (BROKER '{kafka.address}')""",
        )
        yield opened


def test_avro(kafka: Broker, registry: Registry, environment: Environment) -> None:
    topic = kafka.topic()
    avro = "FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION schemas"
    source = (
        f"CREATE SOURCE s FROM KAFKA CONNECTION k (TOPIC '{topic}') KEY {avro} VALUE {avro} "
        "INCLUDE KEY AS id ENVELOPE UPSERT"
    )
    with pytest.raises(InvalidOption, match="no schema"):
        sql(environment, source)
    record: Any = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "n", "type": "int"}, {"name": "w", "type": ["null", "string"]}],
    }
    record["fields"][1]["default"] = None
    record["fields"].append({"name": "at", "type": ["null", "shop.Place"], "default": None})
    place = {
        "type": "record",
        "name": "Place",
        "namespace": "shop",
        "fields": [{"name": "town", "type": "string"}],
    }
    whole = record | {
        "fields": [*record["fields"][:2], record["fields"][2] | {"type": ["null", place]}]
    }
    registry.register(f"{topic}-place", place)
    two: Any = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "more", "type": "string"}, {"name": "n", "type": "int"}],
    }
    key_id = registry.register(f"{topic}-key", "long")
    one_id = registry.register(f"{topic}-value", record, **{"shop.Place": f"{topic}-place"})
    sql(environment, source)
    two_id = registry.register(f"{topic}-value", two)
    kafka.send(
        topic,
        [
            (framed(key_id, "long", 1), framed(one_id, whole, {"n": 10, "w": "x"})),
            (
                framed(key_id, "long", 2),
                framed(one_id, whole, {"n": 20, "w": None, "at": {"town": "Bern"}}),
            ),
            (framed(key_id, "long", 3), framed(two_id, two, {"more": "y", "n": 30})),
            (framed(key_id, "long", 1), None),
        ],
    )
    assert not tick.run(environment, owner="tests").failed
    assert sql(environment, "SELECT * FROM s ORDER BY id") == [
        (20, None, '{"town": "Bern"}', "2"),
        (30, None, None, "3"),
    ]
    with Environment.open(environment.stores.settings.home) as again:
        assert [
            entry.desc.names
            for entry in again.stores.planner_catalog().relations()
            if entry.name.item == "s"
        ] == [("n", "w", "at", "id")]
    sql(environment, source.replace("SOURCE s", "SOURCE newer"))
    assert [name for name, *_ in sql(environment, "SHOW COLUMNS FROM newer")] == ["more", "n", "id"]
    sql(environment, "DROP SOURCE newer")
    kafka.send(topic, [(framed(key_id, "long", 4), b"\x00\x00\x00\x00\x63!")])
    [stalled] = tick.run(environment, owner="tests").failed
    where = f'offset 4 of partition 0 of topic "{topic}"'
    assert stalled.message == f"record at {where} does not decode"
    name = stalled.name
    assert stalled.hint == (
        f"register the schema again, with the id that it had, and ALTER SOURCE {name} RETRY; or "
        f"give the record up with ALTER SOURCE {name} SKIP '0' FROM 4 TO 5"
    )


def test_protobuf(kafka: Broker, registry: Registry, environment: Environment) -> None:
    topic = kafka.topic()
    protobuf = "USING CONFLUENT SCHEMA REGISTRY CONNECTION schemas"
    source = f"""CREATE SOURCE s FROM KAFKA CONNECTION k (TOPIC '{topic}') KEY FORMAT PROTOBUF MESSAGE 'shop.Key' {protobuf}
        VALUE FORMAT PROTOBUF MESSAGE 'shop.Order' {protobuf} INCLUDE KEY AS id ENVELOPE UPSERT"""
    part = """syntax = "proto2"; package parts; message Part { required string name = 1; }"""
    registry.register_protobuf(f"{topic}-part", part)
    for half in ("key", "value"):
        registry.register_protobuf(
            f"{topic}-{half}", ORDER, **{"parts/part.proto": f"{topic}-part"}
        )
    with pytest.raises(InvalidOption, match="has 2 messages"):
        sql(
            environment,
            f"CREATE SOURCE s FROM KAFKA CONNECTION k (TOPIC '{topic}') FORMAT PROTOBUF {protobuf}",
        )
    sql(environment, source)

    schema = compiled(ORDER, (("parts/part.proto", part),))

    def write(text: str, message: str, half: str, **fields: Any) -> bytes:
        """A message as Confluent's own serializer writes it, which registers the schema that it
        has."""
        message_class = GetMessageClass(descriptor(text, message))
        context = SerializationContext(
            topic, MessageField.KEY if half == "key" else MessageField.VALUE
        )
        encoded = ProtobufSerializer(
            message_class, registry.client, {"use.deprecated.format": False}
        )(message_class(**fields), context)
        assert encoded is not None
        return encoded

    keys = [write(schema, "shop.Key", "key", id=id) for id in (1, 2, 3)]
    newer = compiled(NEWER)
    kafka.send(
        topic,
        [
            (
                keys[0],
                write(
                    schema,
                    "shop.Order",
                    "value",
                    n=10,
                    w="x",
                    at={"seconds": 1_700_000_000},
                    part={"name": "p"},
                ),
            ),
            (keys[1], write(schema, "shop.Order", "value", n=20)),
            (keys[2], write(newer, "shop.Order", "value", n=30, more="y")),
            (keys[1], None),
        ],
    )
    assert not tick.run(environment, owner="tests").failed
    rows = sql(environment, "SELECT id, n, w, at::text, part FROM s ORDER BY n")
    assert rows == [
        ('{"id": "1"}', 10, "x", "2023-11-14 22:13:20", '{"name": "p"}'),
        ('{"id": "3"}', 30, None, None, None),
    ]

    bare = kafka.topic()
    text = ORDER.replace('import "parts/part.proto";', "").replace("parts.Part", "Key")
    sql(
        environment,
        (
            f"CREATE SOURCE b FROM KAFKA CONNECTION k (TOPIC '{bare}') FORMAT PROTOBUF "
            f"MESSAGE 'shop.Order' USING SCHEMA '{text}'"
        ),
    )
    kafka.send(bare, [b"\x08\x05", b""])
    assert not tick.run(environment, owner="tests").failed
    assert sql(environment, "SELECT n, w FROM b ORDER BY n") == [(0, None), (5, None)]
    kafka.send(bare, [b"\x08"])
    kafka.send(topic, [(keys[0], keys[0])])
    stalled = tick.run(environment, owner="tests").failed
    assert {failure.name.rpartition(".")[2]: failure.message for failure in stalled} == {
        "b": f'record at offset 2 of partition 0 of topic "{bare}" does not decode',
        "s": f'record at offset 4 of partition 0 of topic "{topic}" does not decode',
    }


ROW: Any = {
    "type": "record",
    "name": "Value",
    "fields": [{"name": "id", "type": "int"}, {"name": "money", "type": "long"}],
}
BLOCK = {
    "type": "record",
    "name": "block",
    "fields": [{"name": "id", "type": "string"}, {"name": "total_order", "type": "long"}],
}
COUNT = {
    "type": "record",
    "name": "count",
    "fields": [
        {"name": "data_collection", "type": "string"},
        {"name": "event_count", "type": "long"},
    ],
}
EVENT = {
    "before": ["null", ROW],
    "after": ["null", "Value"],
    "op": "string",
    "transaction": ["null", BLOCK],
}
ENTRY = {
    "status": "string",
    "id": "string",
    "data_collections": ["null", {"type": "array", "items": COUNT}],
}


def test_transactions_in_avro(kafka: Broker, registry: Registry, environment: Environment) -> None:
    schemas = {
        name: {
            "type": "record",
            "name": name,
            "fields": [{"name": field, "type": type} for field, type in fields.items()],
        }
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
        sql(environment, source)
    rows = [{"id": 1, "money": money} for money in (100, 70, 130)]
    opening, reduced, raised = rows
    connector.transaction(1, [(table, event("c", None, opening)) for table in ("giro", "savings")])
    connector.transaction(
        2, [("giro", event("u", opening, reduced)), ("savings", event("u", opening, raised))]
    )
    connector.transaction(
        3, [("giro", event("d", reduced, None)), ("savings", event("u", raised, opening))], upto=1
    )
    connector.deliver()
    sql(environment, source)
    alone = f"{connector.prefix}.public.savings"
    sql(
        environment,
        f"""CREATE SOURCE alone FROM KAFKA CONNECTION k (TOPIC '{alone}')
        FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION schemas ENVELOPE DEBEZIUM""",
    )
    assert not tick.run(environment, owner="tests").failed
    assert sql(environment, "SELECT * FROM giro UNION ALL SELECT * FROM saved ORDER BY 2") == [
        (1, 70),
        (1, 130),
    ]
    assert sql(environment, "SELECT * FROM alone") == [(1, 130)]
    assert [row[:2] for row in sql(environment, "SHOW COLUMNS FROM giro")] == [
        ("id", False),
        ("money", False),
    ]
    kafka.send(alone, [b"no event"])
    assert {failure.message for failure in tick.run(environment, owner="tests").failed} == {
        f'record at offset 2 of "{alone}/0" does not decode',
        f'record at offset 2 of partition 0 of topic "{alone}" does not decode',
    }


def consumed(registry: Registry, kafka: Broker, topic: str) -> list[tuple[Any, Any]]:
    """Keys and values of all that is committed in the topic, by Confluent's own deserializer: the
    registry is all it knows."""
    read = AvroDeserializer(registry.client)
    settings = {
        "bootstrap.servers": kafka.address,
        "group.id": "verifier",
        "isolation.level": "read_committed",
    }
    consumer = Consumer(
        settings | {"enable.partition.eof": True, "auto.offset.reset": "earliest", "log_level": 0}
    )
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    messages = []
    try:
        while (message := consumer.poll(1.0)) is None or message.error() is None:
            if message is not None:
                parts = ((MessageField.KEY, message.key()), (MessageField.VALUE, message.value()))
                messages.append(
                    tuple(
                        part and read(part, SerializationContext(topic, field))
                        for field, part in parts
                    )
                )
    finally:
        consumer.close()
    return messages


def test_sinks_in_avro_register_their_schemas_and_read_back(
    kafka: Broker, registry: Registry, environment: Environment
) -> None:
    events, latest = kafka.topic(retention_ms="-1"), kafka.topic(retention_ms="-1")
    avro = "FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION schemas"
    sql(
        environment,
        "CREATE TABLE t (id int NOT NULL, price numeric(10, 2), at timestamp, note text)",
    )
    sql(
        environment,
        (
            f"CREATE SINK events FROM t INTO KAFKA CONNECTION k (TOPIC '{events}') {avro} "
            "ENVELOPE DEBEZIUM"
        ),
    )
    keyed = "KEY (id) NOT ENFORCED"
    names_clause = "(AVRO KEY FULLNAME 'shop.Id', AVRO VALUE FULLNAME 'shop.Latest', NULL DEFAULTS)"
    sql(
        environment,
        (
            f"CREATE SINK latest FROM t INTO KAFKA CONNECTION k (TOPIC '{latest}') {keyed} "
            f"{avro} {names_clause} ENVELOPE UPSERT"
        ),
    )
    [(_, created)] = sql(environment, "SHOW CREATE SINK latest")
    assert "AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION reclock.public.schemas" in created
    with pytest.raises(DependentObjects):
        sql(environment, "DROP CONNECTION schemas")
    assert not tick.run(environment, owner="tests").failed
    schema = json.loads(registry.client.get_latest_version(f"{latest}-value").schema.schema_str)
    assert schema["fields"][1] == {
        "name": "price",
        "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}],
        "default": None,
    }
    id = json.loads(registry.client.get_latest_version(f"{latest}-key").schema.schema_str)
    assert [of["name"] for of in (id, schema)] == ["shop.Id", "shop.Latest"]
    for statement in (
        (
            "INSERT INTO t VALUES (1, 12.34, '2026-01-02 03:04:05.678901', 'é'), (2, -0.01, "
            "NULL, NULL)"
        ),
        "UPDATE t SET note = 'new' WHERE id = 1",
        "DELETE FROM t WHERE id = 2",
    ):
        sql(environment, statement)
    assert not tick.run(environment, owner="tests").failed
    row = {
        "id": 1,
        "price": Decimal("12.34"),
        "at": datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
        "note": "é",
    }
    deleted = {"id": 2, "price": Decimal("-0.01"), "at": None, "note": None}
    expected = Counter(
        (event["op"], repr(event["before"]), repr(event["after"]))
        for _, event in consumed(registry, kafka, events)
    )
    assert expected == Counter(
        (op, repr(before), repr(after))
        for op, before, after in (
            ("c", None, row),
            ("c", None, deleted),
            ("d", row, None),
            ("c", None, row | {"note": "new"}),
            ("d", deleted, None),
        )
    )
    by_key: dict[int, list[Any]] = {}
    for key, value in consumed(registry, kafka, latest):
        by_key.setdefault(key["id"], []).append(value)
    assert by_key == {1: [row, row | {"note": "new"}], 2: [deleted, None]}
    for name, topic, options in (
        ("back", events, f"{avro} ENVELOPE DEBEZIUM"),
        ("kept", latest, f"KEY {avro} VALUE {avro} ENVELOPE UPSERT"),
    ):
        sql(
            environment, f"CREATE SOURCE {name} FROM KAFKA CONNECTION k (TOPIC '{topic}') {options}"
        )
    assert not tick.run(environment, owner="tests").failed
    assert sql(environment, "SELECT * FROM back") == sql(
        environment, "SELECT id, price, at, note FROM kept"
    )
    assert sql(environment, "SELECT * FROM back") == sql(environment, "SELECT * FROM t")


def test_a_schema_that_the_registry_refuses_stalls_its_sink_alone(
    kafka: Broker, registry: Registry, environment: Environment
) -> None:
    topic = kafka.topic()
    registry.register(
        f"{topic}-value",
        {"type": "record", "name": "other", "fields": [{"name": "a", "type": "long"}]},
    )
    registry.client.set_compatibility(f"{topic}-value", "FULL")
    avro = "FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION schemas"
    sql(environment, "CREATE TABLE t (id int NOT NULL)")
    sql(
        environment,
        (
            "CREATE CONNECTION away TO CONFLUENT SCHEMA REGISTRY (URL 'http://127.0.0.1:1') "
            "WITH (VALIDATE = FALSE)"
        ),
    )
    for name, format in (("refused", avro), ("unheard", avro.replace("schemas", "away"))):
        sql(
            environment,
            (
                f"CREATE SINK {name} FROM t INTO KAFKA CONNECTION k (TOPIC '{topic}') "
                f"{format} ENVELOPE DEBEZIUM"
            ),
        )
    for refused, reason in (
        (f"{avro} SEED SCHEMA '\"int\"'", "schema of its relation"),
        ("FORMAT TEXT", "JSON or AVRO"),
    ):
        with pytest.raises((InvalidOption, UnsupportedSql), match=reason):
            sql(
                environment,
                (
                    f"CREATE SINK s FROM t INTO KAFKA CONNECTION k (TOPIC '{topic}') "
                    f"{refused} ENVELOPE DEBEZIUM"
                ),
            )
    sql(environment, "INSERT INTO t VALUES (1)")
    failed = {
        failure.name.rpartition(".")[2]: failure.sqlstate
        for failure in tick.run(environment, owner="tests").failed
    }
    assert failed == {"refused": TargetChanged.sqlstate, "unheard": TargetUnavailable.sqlstate}
    assert consumed(registry, kafka, topic) == []
