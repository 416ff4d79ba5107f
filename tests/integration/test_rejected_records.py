"""Messages that do not decode, and that a source gives up without a decision."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.kafka import Broker

from reclock.adapter.session.session import Session
from reclock.pipeline import backfill, tick
from reclock.runtime.environment import Environment


@pytest.mark.parametrize("engine", ["in process", "spark"])
def test_messages_within_the_limit_are_given_up_and_stay_so(
    tmp_path: Path, kafka: Broker, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    if engine == "spark":
        monkeypatch.setenv("RECLOCK_STAGING_THRESHOLD_BYTES", "0")
    topic = kafka.topic(partitions=2)
    kafka.send(topic, ['{"n": 1}', "x", '{"n": 2}'])
    kafka.send(topic, ["y", '{"n": 3}'], partition=1)
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)

        def sql(text: str) -> list[tuple[object, ...]]:
            return [row for result in session.execute(text) for row in result.rows()]

        sql(
            f"CREATE SOURCE s (n int) FROM KAFKA BROKER '{kafka.address}' TOPIC '{topic}' FORMAT JSON "
            "WITH (REJECT_LIMIT 2); CREATE MATERIALIZED VIEW v AS SELECT sum(n) AS n FROM s"
        )
        report = tick.run(environment, owner="tests")
        assert report.succeeded
        assert "gave up 2 records that did not decode" in report.summary()
        assert sql("SELECT n FROM s ORDER BY n") == [(1,), (2,), (3,)]
        assert sql("SELECT partition, lower, upper FROM mz_skipped_ranges ORDER BY partition") == [
            ("0", "1", "2"),
            ("1", "0", "1"),
        ]
        kafka.send(topic, ["z", "z", "z", '{"n": 4}'])
        [failure] = tick.run(environment, owner="tests").failed
        assert failure.message.startswith("3 records do not decode")
        sql("ALTER SOURCE s SET (REJECT_LIMIT = 3)")
        assert tick.run(environment, owner="tests").succeeded
        assert sql("SELECT n FROM v") == [(10,)]
        backfill.rebuild(environment, "s")
        assert sql("SELECT n FROM s ORDER BY n") == [(1,), (2,), (3,), (4,)]
