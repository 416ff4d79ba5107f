"""Change events of a connector: what a row was goes, what it is comes; transactions over several
topics are at one time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.debezium import Connector, event
from fixtures.kafka import Broker
from fixtures.sessions import sql

from reclock.errors import NegativeMultiplicity
from reclock.pipeline import tick
from reclock.runtime.environment import Environment


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Environment]:
    with Environment.initialise(tmp_path) as opened:
        yield opened


def test_a_topic_alone(kafka: Broker, environment: Environment) -> None:
    topic = kafka.topic()
    sql(
        environment,
        f"""CREATE SOURCE t (id int NOT NULL, w text) FROM KAFKA BROKER '{kafka.address}' TOPIC '{topic}'
        FORMAT JSON ENVELOPE DEBEZIUM""",
    )
    first, second = {"id": 1, "w": "x"}, {"id": 2, "w": None}
    kafka.send(
        topic,
        [
            event("r", None, first),
            event("c", None, second),
            event("u", first, first | {"w": "y"}),
            event("m", None, None),
        ],
    )
    assert not tick.run(environment, owner="tests").failed
    assert sql(environment, "SELECT * FROM t ORDER BY id") == [(1, "y"), (2, None)]
    kafka.send(topic, [event("d", second, None), None])
    assert not tick.run(environment, owner="tests").failed
    assert sql(environment, "SELECT * FROM t") == [(1, "y")]
    kafka.send(topic, [event("u", None, second)])
    [stalled] = tick.run(environment, owner="tests").failed
    place = f'offset 6 of partition 0 of topic "{topic}"'
    assert stalled.message == f"record at {place} does not decode"


def test_money_between_two_tables_is_the_same_at_every_time(
    kafka: Broker, environment: Environment
) -> None:
    chance = random.Random(7)
    connector = Connector(kafka, f"shop{chance.randrange(10**9)}-{id(environment)}")
    for name in ("transaction", "public.giro", "public.savings"):
        kafka.create(f"{connector.prefix}.{name}")
    sql(
        environment,
        f"""CREATE CONNECTION k TO KAFKA (BROKER '{kafka.address}');
        CREATE SOURCE bank FROM KAFKA CONNECTION k (TRANSACTION TOPIC '{connector.prefix}.transaction')
        FORMAT JSON ENVELOPE DEBEZIUM
        FOR TABLES (public.giro (id int NOT NULL, money bigint), public.savings AS saved (id int NOT NULL, money bigint))""",
    )
    sql(  # a guest whose topic is not there holds nothing up
        environment,
        f"""CREATE SOURCE other FROM KAFKA CONNECTION k (TRANSACTION TOPIC '{connector.prefix}.transaction')
        FORMAT JSON ENVELOPE DEBEZIUM FOR TABLES (public.loans (id int NOT NULL))""",
    )
    money = {(table, id): 100 for table in ("giro", "savings") for id in range(5)}
    opening = [(table, event("c", None, {"id": id, "money": 100})) for table, id in money]
    written: list[tuple[int, list[tuple[str, bytes]]]] = [(1, opening)]
    for number in range(2, 80):
        changes = []
        amount = chance.randint(1, 50)
        for place, change in zip(chance.sample(sorted(money), 2), (amount, -amount), strict=True):
            before, money[place] = money[place], money[place] + change
            changes.append(
                (
                    place[0],
                    event(
                        "u",
                        {"id": place[1], "money": before},
                        {"id": place[1], "money": money[place]},
                    ),
                )
            )
        changes.insert(chance.randrange(3), ("unread", event("c", None, {"id": number})))
        written.append((number, changes))
    at, times = 0, []
    for _ in range(6):
        stop = min(at + 20, len(written))
        for transaction in written[at:stop]:
            connector.transaction(*transaction)
        if stop < len(written):
            connector.transaction(*written[stop], upto=2)  # and here it is stopped
        # it begins again with what it has sent before
        at = max(0, stop - chance.randint(0, 8)) if stop < len(written) else stop
        connector.deliver(chance)
        report = tick.run(environment, owner="tests")
        assert not report.failed
        times.append(report.at)
    for transaction in written[at:]:
        connector.transaction(*transaction)
    connector.deliver()
    report = tick.run(environment, owner="tests")
    assert not report.failed
    total = "SELECT sum(money) FROM (SELECT * FROM giro UNION ALL SELECT * FROM saved) AS x"
    seen = [sql(environment, f"{total} AS OF {at}")[0][0] for at in [*times, report.at]]
    assert set(seen) <= {None, 1000}
    assert seen.count(1000) > 3
    rows = "SELECT 'giro', * FROM giro UNION ALL SELECT 'savings', * FROM saved ORDER BY 1, 2"
    assert sql(environment, rows) == [(table, id, money[table, id]) for table, id in sorted(money)]
    ends = {
        f"{topic}/0": len(messages)
        for topic, messages in connector.topics.items()
        if not topic.endswith(".unread")
    }
    assert dict(sql(environment, "SELECT partition, offset FROM bank_progress")) == ends

    giro = f"{connector.prefix}.public.giro"
    kafka.send(giro, [b"no event"])
    [stalled] = tick.run(environment, owner="tests").failed
    assert stalled.message == f'record at offset {ends[f"{giro}/0"]} of "{giro}/0" does not decode'
    sql(
        environment,
        f"ALTER SOURCE bank SKIP '{giro}/0' FROM {ends[f'{giro}/0']} TO {ends[f'{giro}/0'] + 1}",
    )
    connector.transaction(
        100,
        [
            ("giro", event("c", None, {"id": 9, "money": 1})),
            ("savings", event("c", None, {"id": 9, "money": -1})),
        ],
    )
    connector.deliver()
    assert not tick.run(environment, owner="tests").failed
    assert sql(environment, total) == [(1000,)]
    assert sql(environment, "SELECT money FROM giro WHERE id = 9") == [(1,)]


def test_an_event_that_removes_a_row_that_is_not_there_is_an_error_of_every_answer(
    kafka: Broker, environment: Environment
) -> None:
    topic = kafka.topic()
    sql(
        environment,
        f"""CREATE SOURCE t (id int NOT NULL, w text) FROM KAFKA BROKER '{kafka.address}' TOPIC '{topic}'
        FORMAT JSON ENVELOPE DEBEZIUM;
        CREATE MATERIALIZED VIEW c AS SELECT count(*) FROM t;
        CREATE MATERIALIZED VIEW w AS SELECT w FROM t""",
    )
    rows = [{"id": id, "w": "x"} for id in range(4)]
    kafka.send(topic, [event("c", None, row) for row in rows[:3]])
    assert not tick.run(environment, owner="tests").failed
    assert sql(environment, "SELECT * FROM c") == [(3,)]
    kafka.send(topic, [event("d", rows[0], None)])
    assert not tick.run(environment, owner="tests").failed
    assert sql(environment, "SELECT * FROM c") == [(2,)]
    kafka.send(topic, [event("d", rows[3], None)])
    failed = tick.run(environment, owner="tests").failed
    assert {failure.sqlstate for failure in failed} == {NegativeMultiplicity.sqlstate}
    assert len(failed) == 2
    for query in ("SELECT * FROM t", "SELECT count(*) FROM t", "SELECT DISTINCT w FROM t"):
        with pytest.raises(NegativeMultiplicity):
            sql(environment, query)
