"""All topics of a connector that are deleted and created again, as Debezium writes its snapshot anew:
RESNAPSHOT makes the source go on with them, and each transaction is still at one time."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from fixtures.debezium import Connector, as_json, event
from fixtures.forks import die_at
from fixtures.kafka import Broker
from fixtures.publications import Lakehouse

from reclock.adapter.session.session import Session
from reclock.connectors.kafka.connector import ALL_TOPICS_HINT
from reclock.errors import InvalidOption, UpstreamReplaced, hint_about
from reclock.pipeline import tick
from reclock.runtime.environment import Environment

TABLES = ("giro", "savings", "loans")
PROBLEMS = "SELECT DISTINCT error, hint FROM mz_source_statuses WHERE status = 'stalled'"
TOTALS = "SELECT sum(money) FROM (SELECT * FROM giro UNION ALL SELECT * FROM savings) AS x"


class Bank:
    """Tables whose rows are ``(id, money)``, and what a connector tells of them."""

    def __init__(self, kafka: Broker) -> None:
        self.kafka, self.prefix = kafka, f"bank{uuid4().hex[:12]}"
        self.connector = Connector(kafka, self.prefix)
        self.money: dict[tuple[str, int], int] = {}
        self._transactions = 0
        for topic in self.topics:
            kafka.create(topic)

    @property
    def topics(self) -> list[str]:
        return [
            f"{self.prefix}.{name}" for name in ("transaction", *(f"public.{t}" for t in TABLES))
        ]

    def write(self, **changes: int) -> None:
        """One transaction that sets the money of rows such as ``giro_1``."""
        events = []
        for place, money in changes.items():
            table, _, id = place.partition("_")
            before = self.money.get((table, int(id)))
            old = None if before is None else {"id": int(id), "money": before}
            new = {"id": int(id), "money": money}
            events.append((table, event("c" if old is None else "u", old, new)))
            self.money[table, int(id)] = money
        self._transactions += 1
        self.connector.transaction(self._transactions, events)
        self.connector.deliver()

    def create_again(self, *topics: str) -> None:
        for topic in topics or self.topics:
            self.kafka.delete(topic)
            self.kafka.create(topic)

    def snapshot(self) -> None:
        """A connector that begins again tells the rows, in events of no transaction."""
        self.connector = Connector(self.kafka, self.prefix)
        for (table, id), money in self.money.items():
            topic = f"{self.prefix}.public.{table}"
            row = as_json(topic, {"before": None, "after": {"id": id, "money": money}, "op": "r"})
            self.connector.topics.setdefault(topic, []).append(row)
        self.connector.deliver()

    def rows(self, *tables: str) -> list[tuple[int, int]]:
        return sorted((id, money) for (table, id), money in self.money.items() if table in tables)

    def create_sources(self, here: Lakehouse) -> None:
        here.sql(
            f"CREATE CONNECTION k TO KAFKA (BROKER '{self.kafka.address}');"
            f"CREATE SOURCE bank FROM KAFKA CONNECTION k (TRANSACTION TOPIC '{self.topics[0]}')"
            " FORMAT JSON ENVELOPE DEBEZIUM FOR TABLES"
            " (public.giro (id int NOT NULL, money bigint),"
            " public.savings (id int NOT NULL, money bigint));"
            f"CREATE SOURCE lent FROM KAFKA CONNECTION k (TRANSACTION TOPIC '{self.topics[0]}')"
            " FORMAT JSON ENVELOPE DEBEZIUM FOR TABLES"
            " (public.loans (id int NOT NULL, money bigint));"
            f"CREATE MATERIALIZED VIEW total AS {TOTALS}"
        )


def test_a_source_and_its_guest_go_on_with_topics_that_were_created_again(
    kafka: Broker, here: Lakehouse
) -> None:
    bank = Bank(kafka)
    bank.create_sources(here)
    bank.write(giro_1=100, savings_1=100, loans_1=7)
    bank.write(giro_1=60, savings_1=140)
    bank.write(loans_2=8)
    assert here.tick() == []
    assert here.tick() == []  # the guest begins
    assert here.sql("SELECT * FROM loans ORDER BY id") == [(1, 7), (2, 8)]
    with pytest.raises(InvalidOption, match="needs no RESNAPSHOT"):
        here.sql("ALTER SOURCE bank RESNAPSHOT")
    [(at,)] = here.sql("SELECT mz_now()")
    progress = 'SELECT partition, "offset" FROM bank_progress ORDER BY partition'
    before = dict(here.sql(progress))

    bank.create_again(bank.topics[1])
    assert len(here.tick()) == 1
    [(error, hint)] = here.sql(PROBLEMS)
    assert "was deleted and created again" in error
    assert hint == hint_about("reclock.public.bank", ALL_TOPICS_HINT)
    for name in ("bank", "lent"):
        with pytest.raises(UpstreamReplaced, match="not all topics") as partial:
            here.sql(f"ALTER SOURCE {name} RESNAPSHOT")
        assert bank.topics[0] in str(partial.value.detail)
        assert bank.topics[1] not in str(partial.value.detail)
    for decision in ("RETRY", f"SKIP '{bank.topics[1]}/0'"):
        with pytest.raises(InvalidOption, match="no decision brings this back"):
            here.sql(f"ALTER SOURCE bank {decision}")

    bank.create_again()
    del bank.money["loans", 2]  # while nobody looked
    bank.money["giro", 2], bank.money["savings", 1] = 50, 90
    bank.snapshot()
    bank.write(giro_2=20, savings_1=120)
    here.sql("ALTER SOURCE lent RESNAPSHOT")  # a guest's decision is its host's
    assert here.tick() == []
    assert here.sql(PROBLEMS) == []
    assert here.sql("SELECT * FROM giro ORDER BY id") == bank.rows("giro")
    assert here.sql("SELECT * FROM savings ORDER BY id") == bank.rows("savings")
    assert here.sql("SELECT * FROM loans ORDER BY id") == bank.rows("loans") == [(1, 7)]
    assert here.sql("SELECT * FROM total") == here.sql(TOTALS) == [(200,)]
    assert here.sql(f"{TOTALS} AS OF {at}") == [(200,)]
    assert here.sql(f"SELECT id FROM loans ORDER BY id AS OF {at}") == [(1,), (2,)]
    after = dict(here.sql(progress))
    sizes = {f"{topic}/0": len(messages) for topic, messages in bank.connector.topics.items()}
    giro = f"{bank.topics[1]}/0"
    assert after[giro] == before[giro] + sizes[giro]

    with pytest.raises(InvalidOption, match="needs no RESNAPSHOT"):
        here.sql("ALTER SOURCE bank RESNAPSHOT")
    bank.write(giro_1=0, savings_1=180, loans_1=9)
    kafka.send(bank.topics[2], [b"no event"])
    lower = dict(here.sql(progress))[f"{bank.topics[2]}/0"] + 1
    assert here.tick() != []
    [(error, hint)] = here.sql(PROBLEMS)
    statement = f"SKIP '{bank.topics[2]}/0' FROM {lower} TO {lower + 1}"
    assert hint == f"give the record up with ALTER SOURCE reclock.public.bank {statement}"
    here.sql(f"ALTER SOURCE bank {statement}")
    assert here.tick() == []
    assert here.sql("SELECT * FROM savings") == bank.rows("savings") == [(1, 180)]


def resnapshot(home: Path) -> None:
    with Environment.open(home) as environment:
        list(Session(environment).execute("ALTER SOURCE bank RESNAPSHOT"))


def run_tick(home: Path) -> None:
    with Environment.open(home) as environment:
        tick.run(environment, owner="tests")


@pytest.mark.parametrize("point", ["ingest.after_bound", "ingest.before_commit"])
def test_processes_that_are_killed_lose_and_double_nothing(
    kafka: Broker, here: Lakehouse, point: str
) -> None:
    bank = Bank(kafka)
    bank.create_sources(here)
    bank.write(giro_1=100, savings_1=100)
    assert here.tick() == []
    assert here.tick() == []
    bank.create_again()
    bank.snapshot()
    bank.write(giro_1=30, savings_1=170)
    home = here.environment.stores.settings.home
    die_at("resnapshot.after_decision", resnapshot, home)
    die_at(point, run_tick, home)
    bank.write(giro_1=20, savings_1=180)
    for _ in range(2):
        assert here.tick() == []
    assert here.sql("SELECT * FROM giro") == [(1, 20)]
    assert here.sql("SELECT * FROM savings") == [(1, 180)]
    assert here.sql("SELECT * FROM total") == [(200,)]
    totals: list[Any] = here.sql(
        "SELECT DISTINCT mz_timestamp FROM bank_progress ORDER BY mz_timestamp"
    )
    assert {here.sql(f"{TOTALS} AS OF {at}")[0][0] for (at,) in totals} <= {200, None}
