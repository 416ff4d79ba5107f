"""Two sources over the tables of one connector: what a transaction does to both is at one time,
whatever is killed in between."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from fixtures.debezium import Connector, event
from fixtures.forks import die_at
from fixtures.kafka import Broker
from fixtures.sessions import sql
from fixtures.waiting import eventually

from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.timestamps import Timestamp
from reclock.errors import DependentObjects, InvalidOption, NotBegun, NotReadable
from reclock.pipeline import tick
from reclock.runtime.environment import Environment
from reclock.sql.names import SessionNames

MONEY = "SELECT sum(money) FROM (SELECT money FROM giro UNION ALL SELECT money FROM saved) AS x"


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Environment]:
    (tmp_path / "reclock.toml").write_text("claim_lease_ms = 3000\n")
    with Environment.initialise(tmp_path) as opened:
        yield opened


def completed(environment: Environment) -> int:
    """The time of a tick that found nothing left of another's."""

    def tick_time() -> Timestamp | None:
        report = tick.run(environment, owner="tests")
        assert not report.failed
        is_complete = not report.published.waiting and all(
            ingested.state in ("idle", "staged") for ingested in report.ingested
        )
        return report.at if is_complete else None

    at = eventually(tick_time)
    assert at is not None
    return at


def await_drop(environment: Environment, collection: StorageCollectionId) -> None:

    def is_dropped() -> bool:
        environment.control_plane.storage_controller.step()
        return not environment.stores.lake.exists(collection)

    eventually(is_dropped)


def statuses(environment: Environment) -> dict[str, tuple[str, str | None, str | None]]:
    rows = sql(
        environment, "SELECT name, status, error, detail FROM mz_internal.mz_source_statuses"
    )
    return {name: (status, error, detail) for name, status, error, detail in rows}


def tick_once(home: Path) -> None:
    with Environment.open(home) as environment:
        tick.run(environment, owner="worker")


def test_two_sources_share_the_transactions_of_one_connector(
    kafka: Broker, environment: Environment
) -> None:
    chance = random.Random(11)
    connector = Connector(kafka, kafka.topic())
    for name in ("transaction", "public.giro", "public.savings", "public.fees"):
        kafka.create(f"{connector.prefix}.{name}")
    source = f"""FROM KAFKA CONNECTION k (TRANSACTION TOPIC '{connector.prefix}.transaction') FORMAT JSON ENVELOPE DEBEZIUM"""
    columns = "(id int NOT NULL, money bigint)"
    sql(
        environment,
        f"""CREATE CONNECTION k TO KAFKA (BROKER '{kafka.address}');
        CREATE CONNECTION other TO KAFKA (BROKER '{kafka.address},{kafka.address}');
        CREATE SOURCE bank {source} FOR TABLES (public.giro {columns})""",
    )
    money = {"giro": 500, "savings": 500}
    connector.transaction(
        1, [(table, event("c", None, {"id": 1, "money": 500})) for table in money]
    )

    def transfer(number: int, upto: int | None = None) -> None:
        amount = chance.randint(1, 50)
        changes = []
        for table, by in (("giro", amount), ("savings", -amount)):
            before, money[table] = money[table], money[table] + by
            changes.append(
                (table, event("u", {"id": 1, "money": before}, {"id": 1, "money": money[table]}))
            )
        connector.transaction(number, chance.sample(changes, 2), upto)

    for number in range(2, 10):
        transfer(number)
    connector.deliver()
    first = completed(environment)

    with pytest.raises(InvalidOption, match="has the transactions of these tables"):
        sql(
            environment,
            (
                f"CREATE SOURCE saver {source.replace('CONNECTION k', 'CONNECTION other')} "
                f"FOR TABLES (public.savings {columns})"
            ),
        )
    with pytest.raises(InvalidOption, match="has the transactions of these tables"):
        sql(
            environment,
            (
                f"CREATE SOURCE saver {source} FOR TABLES (public.savings {columns}) WITH "
                "(RETAIN HISTORY = FOR '1 day')"
            ),
        )
    sql(environment, f"CREATE SOURCE saver {source} FOR TABLES (public.savings AS saved {columns})")
    with pytest.raises(NotBegun):
        sql(environment, MONEY)

    # its beginning is bound, and not read
    die_at("ingest.after_bound", tick_once, environment.stores.settings.home)
    first_completed = completed(environment)
    number, times = 10, [first, first_completed]
    for point in ("ingest.after_claim", "collections.commit.landed", "ingest.after_commit"):
        for _ in range(6):
            transfer(number)
            number += 1
        connector.deliver()
        if point == "collections.commit.landed":
            # it begins again with what it has sent before
            connector.topics[f"{connector.prefix}.public.savings"] *= 2
            connector.deliver()
        die_at(point, tick_once, environment.stores.settings.home)
        times.append(completed(environment))
    connector.deliver()
    times.append(completed(environment))

    saver = environment.stores.planner_catalog().resolve(("saved",), SessionNames())
    begins = environment.stores.lake.open(saver.collection).pin().begins
    for before, after in pairwise(times):
        for at in (before, (before + after) // 2, after):
            if at >= begins:
                assert sql(environment, f"{MONEY} AS OF {at}") == [(1000,)]
            else:
                with pytest.raises(NotReadable):
                    sql(environment, f"{MONEY} AS OF {at}")
    assert first < begins <= first_completed
    assert sql(
        environment,
        "SELECT 'giro', money FROM giro UNION ALL SELECT 'savings', money FROM saved ORDER BY 1",
    ) == list(money.items())

    lines = [line for (line,) in sql(environment, f"EXPLAIN TIMESTAMP FOR {MONEY}")]
    assert "  bound with the transactions of: reclock.public.bank" in lines
    assert sql(
        environment, "SELECT count(*) FROM (SELECT DISTINCT status FROM mz_source_statuses) AS x"
    ) == [(1,)]
    with pytest.raises(DependentObjects):
        sql(environment, "DROP SOURCE bank")
    collection = saver.collection
    sql(environment, "DROP SOURCE saver")
    transfer(number)
    connector.deliver()
    completed(environment)
    assert sql(environment, "SELECT money FROM giro") == [(money["giro"],)]
    await_drop(environment, collection)

    sql(
        environment,
        (
            f"CREATE SOURCE saver {source} FOR TABLES (public.savings AS saved {columns}, "
            f"public.giro AS again {columns})"
        ),
    )
    completed(environment)
    assert sql(environment, MONEY) == [(1000,)]
    assert sql(environment, "SELECT * FROM again") == sql(environment, "SELECT * FROM giro")

    # one that waits, and then stalls them all
    fees = f"{connector.prefix}.public.fees"
    number += 1
    transfer(number)
    number += 1
    connector.transaction(number, [("fees", event("c", None, {"id": 1, "money": 5}))])
    connector.sent[fees] = 1
    connector.deliver()
    completed(environment)
    sql(environment, f"CREATE SOURCE fees {source} FOR TABLES (public.fees AS fee {columns})")
    completed(environment)
    waits_for = f'waits for 1 events of transaction "{number}" in topic "{fees}"'
    running = ("running", None, None)
    assert statuses(environment) == {
        "bank": running,
        "saver": running,
        "fees": ("starting", None, waits_for),
    }
    kafka.send(fees, connector.topics[fees])
    completed(environment)
    assert sql(environment, "SELECT money FROM fee") == [(5,)]
    assert statuses(environment)["fees"] == running
    number += 1
    connector.transaction(
        number,
        [
            ("giro", event("c", None, {"id": 2, "money": 1})),
            ("fees", event("c", None, {"id": None})),
        ],
    )
    connector.deliver()
    fee = environment.stores.planner_catalog().resolve(("fee",), SessionNames()).collection
    for _ in range(2):
        [failure] = tick.run(environment, owner="tests").failed
        bad = f'record at offset 1 of "{fees}@{fee.guest}/0" does not decode'
        assert failure.message == bad
        stalled = ("stalled", bad, failure.detail)
        assert statuses(environment) == dict.fromkeys(("bank", "saver", "fees"), stalled)
    sql(environment, "DROP SOURCE fees")
    await_drop(environment, fee)
    completed(environment)
    assert sql(environment, "SELECT count(*) FROM giro") == [(2,)]
    assert statuses(environment) == {"bank": running, "saver": running}
