"""Topics in Avro with a registry: the schema is asked for once, when the source is made; writers may change theirs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fixtures.kafka import Broker
from fixtures.registry import USER, Registry, framed

from reclock import tick
from reclock.adapter.session import Session
from reclock.environment import Environment
from reclock.errors import InvalidOption, UpstreamUnavailable

pytestmark = pytest.mark.spark


@pytest.fixture
def environment(tmp_path: Path, spark: Any) -> Iterator[Environment]:
    with Environment.initialise(tmp_path, spark=spark) as opened:
        yield opened


def run(environment: Environment, text: str) -> list[tuple[Any, ...]]:
    return [row for result in Session(environment).execute(text) for row in result.rows()]


def test_keys_and_values_by_the_schemas_of_a_registry(kafka: Broker, registry: Registry, environment: Environment) -> None:
    topic = kafka.topic()
    avro = "FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION schemas"
    source = f"CREATE SOURCE s FROM KAFKA CONNECTION k (TOPIC '{topic}') KEY {avro} VALUE {avro} INCLUDE KEY AS id ENVELOPE UPSERT"
    with pytest.raises(UpstreamUnavailable):
        run(environment, f"CREATE CONNECTION schemas TO CONFLUENT SCHEMA REGISTRY (URL '{registry.url}')")
    run(
        environment,
        f"""CREATE SECRET word AS '{USER[1]}';
        CREATE CONNECTION schemas TO CONFLUENT SCHEMA REGISTRY (URL '{registry.url}', USERNAME '{USER[0]}', PASSWORD SECRET word);
        CREATE CONNECTION k TO KAFKA (BROKER '{kafka.address}')""",
    )
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
