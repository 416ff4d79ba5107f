"""One money, three upstreams: transfers whose legs lie in PostgreSQL, in Debezium's topics and in
objects, followed and read.

Two tables of the publication, and two of the topics, move money among themselves in transactions:
what they hold together never changes. Other transfers have their legs in two upstreams, which
nobody commits together: a read of them is right if it is what the upstreams' logs come to, cut at
the frontiers that the sources have at that time.

``PYTHONPATH=tests python -m histories.upstreams --rounds 40 --transfers 4000 --times 1000`` starts
all it needs.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import random
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from fixtures import pgoutput
from fixtures.debezium import Connector, event
from fixtures.kafka import Broker
from fixtures.postgres import PASSWORD, PostgresServer, running

from reclock.adapter.session.session import Session
from reclock.pipeline import tick
from reclock.runtime.environment import Environment

ACCOUNTS = range(5)
OPENING = 100
ALONE = {
    "publication": "giro UNION ALL SELECT * FROM saved",
    "topics": "topic_giro UNION ALL SELECT * FROM topic_saved",
}
"""Relations that move money among themselves."""

LEGS = "SELECT * FROM legs UNION ALL SELECT * FROM topic_legs UNION ALL SELECT * FROM object_legs"


@dataclass
class Checked:
    """How many reads were held against what they must be, and of how many different states of the
    upstreams."""

    reads: collections.Counter[str] = field(default_factory=collections.Counter)
    states: set[tuple[Any, ...]] = field(default_factory=set)


@dataclass
class Bank:
    """The upstreams, with what was written to them, and the environment that follows them."""

    environment: Environment
    kafka: Broker
    dsn: str
    passfile: Path
    chance: random.Random
    legs: list[tuple[int, int]] = field(default_factory=list)
    """Accounts and amounts that PostgreSQL has, in order of their commits; topics and the object
    tell theirs by themselves."""

    def __post_init__(self) -> None:
        self.connector = Connector(self.kafka, f"bank{uuid.uuid4().hex}")
        self.object = self.environment.stores.settings.home / "buckets" / "bank" / "legs.csv"
        self._money = dict.fromkeys(itertools.product(("giro", "saved"), ACCOUNTS), OPENING)
        self._numbers = itertools.count(1)

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        return [row for result in Session(self.environment).execute(text) for row in result.rows()]

    def open(self) -> None:
        """Every account has its opening sum, and the sources are made."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            for table in ("giro", "saved"):
                connection.execute(
                    f"CREATE TABLE {table} (id int PRIMARY KEY, money bigint NOT NULL)"
                )
                connection.execute(
                    f"INSERT INTO {table} SELECT id, {OPENING} FROM generate_series(0, "
                    f"{len(ACCOUNTS) - 1}) id"
                )
            connection.execute("CREATE TABLE legs (account int NOT NULL, amount bigint NOT NULL)")
            connection.execute("ALTER TABLE legs REPLICA IDENTITY FULL")
            connection.execute("CREATE PUBLICATION bank FOR ALL TABLES")
            connection.execute("SELECT pg_create_logical_replication_slot('witness', 'pgoutput')")
        for name in ("transaction", "public.giro", "public.saved", "public.legs"):
            self.kafka.create(f"{self.connector.prefix}.{name}")
        opened = [
            (table, event("c", None, {"id": id, "money": money}))
            for (table, id), money in self._money.items()
        ]
        self.connector.transaction(next(self._numbers), opened)
        self.connector.deliver()
        self.object.parent.mkdir(parents=True)
        self.object.write_text("account,amount\n")
        libpq = " ".join(
            f"{key}={value}"
            for key, value in psycopg.conninfo.conninfo_to_dict(self.dsn).items()
            if key != "password"
        )
        columns = "(id int NOT NULL, money bigint NOT NULL)"
        self.sql(f"""
            CREATE SOURCE pg FROM POSTGRES CONNECTION '{libpq} passfile={self.passfile}' PUBLICATION 'bank' FOR ALL TABLES;
            CREATE CONNECTION k TO KAFKA (BROKER '{self.kafka.address}');
            CREATE SOURCE topics FROM KAFKA CONNECTION k (TRANSACTION TOPIC '{self.connector.prefix}.transaction')
            FORMAT JSON ENVELOPE DEBEZIUM FOR TABLES (public.giro AS topic_giro {columns}, public.saved AS topic_saved {columns},
                public.legs AS topic_legs (account int NOT NULL, amount bigint NOT NULL));
            CREATE SOURCE object_legs (account int, amount bigint)
            FROM S3 DISCOVER OBJECTS MATCHING '*.csv' USING BUCKET SCAN 'bank' FORMAT CSV WITH HEADER
        """)

    # --- writing ---

    def transfer(self, connection: psycopg.Connection[Any]) -> None:
        """One of a random kind: between two tables, between two topics, or between two
        upstreams."""
        amount, (debited, credited) = self.chance.randint(1, 50), self.chance.choices(ACCOUNTS, k=2)
        kind = self.chance.randrange(4)
        if kind == 0:
            with connection.transaction():
                connection.execute(
                    "UPDATE giro SET money = money - %s WHERE id = %s", [amount, debited]
                )
                connection.execute(
                    "UPDATE saved SET money = money + %s WHERE id = %s", [amount, credited]
                )
        elif kind == 1:
            changes = [
                self._changed("giro", debited, -amount),
                self._changed("saved", credited, amount),
            ]
            self.connector.transaction(next(self._numbers), changes)
            self.connector.deliver(self.chance)
        else:
            writers: list[Callable[[int, int], None]] = [
                lambda *leg: self._to_table(connection, leg),
                self._to_topic,
                self._to_object,
            ]
            for write, leg in zip(
                self.chance.sample(writers, 2),
                ((debited, -amount), (credited, amount)),
                strict=True,
            ):
                write(*leg)

    def _changed(self, table: str, id: int, amount: int) -> tuple[str, bytes]:
        before = {"id": id, "money": self._money[table, id]}
        self._money[table, id] += amount
        return table, event("u", before, {"id": id, "money": self._money[table, id]})

    def _to_table(self, connection: psycopg.Connection[Any], leg: tuple[int, ...]) -> None:
        account, amount = leg
        connection.execute("INSERT INTO legs VALUES (%s, %s)", [account, amount])
        self.legs.append((account, amount))

    def _to_topic(self, account: int, amount: int) -> None:
        self.connector.transaction(
            next(self._numbers),
            [("legs", event("c", None, {"account": account, "amount": amount}))],
        )
        self.connector.deliver(self.chance)

    def _to_object(self, account: int, amount: int) -> None:
        with self.object.open("a") as file:
            file.write(f"{account},{amount}\n")

    # --- the upstreams' own logs, cut ---

    def committed(self) -> list[int]:
        """Where the commits of the legs start, by what a slot of our own has: the server's word,
        not the source's."""
        query = """SELECT data FROM pg_logical_slot_peek_binary_changes('witness', NULL, NULL, 'proto_version', '1',
            'publication_names', 'bank')"""
        transactions, lsn, legs = [], 0, -1
        with psycopg.connect(self.dsn) as connection:
            for (data,) in connection.execute(query, binary=True):
                match pgoutput.decode(data):
                    case pgoutput.Begin(at):
                        lsn = at
                    case pgoutput.Relation(id, _, "legs"):
                        legs = id
                    case pgoutput.Change(id) if id == legs:
                        transactions.append(lsn)
            connection.execute("SELECT pg_drop_replication_slot('witness')")
        assert len(transactions) == len(self.legs)
        return transactions

    def balances(
        self, lsns: list[int], lsn: int, offset: int, length: int
    ) -> list[tuple[int, int]]:
        """What the legs come to that lie before these places."""
        sums: collections.Counter[int] = collections.Counter()
        legs = [leg for leg, at in zip(self.legs, lsns, strict=True) if at < lsn]
        for message in self.connector.topics.get(self._legs_topic, [])[:offset]:
            after = json.loads(message or b"")["payload"]["after"]
            legs.append((after["account"], after["amount"]))
        lines = self.object.read_bytes()[:length].decode().splitlines()[1:]
        legs += [
            (int(account), int(amount)) for account, amount in (line.split(",") for line in lines)
        ]
        for account, amount in legs:
            sums[account] += amount
        return sorted((account, sums[account]) for account in {account for account, _ in legs})

    @property
    def _legs_topic(self) -> str:
        return f"{self.connector.prefix}.public.legs"

    # --- reading ---

    def check(self, times: int) -> Checked:
        """Reads at so many random times of which all sources are complete. Raises
        ``AssertionError`` for one that is not right."""
        checked, lsns = Checked(), self.committed()
        groups = [
            group
            for name, group in self.environment.stores.frontiers.get_all().items()
            if name.startswith("u")
        ]
        first, upper = max(group.since for group in groups), min(group.upper for group in groups)
        bound = [
            at
            for name in ("pg", "topics", "object_legs")
            for (at,) in self.sql(f"SELECT mz_timestamp FROM {name}_progress")
        ]
        edges = [
            at
            for at in (*self.ticks, *(at - 1 for at in self.ticks), *bound)
            if first <= at < upper
        ]
        for number in range(times):
            at = (
                self.chance.choice(edges)
                if number % 4 == 0
                else self.chance.randrange(first, upper)
            )
            sums = ", ".join(
                f"(SELECT sum(money) FROM (SELECT * FROM {tables}) AS x)"
                for tables in ALONE.values()
            )
            for name, total in zip(ALONE, self.sql(f"SELECT {sums} AS OF {at}")[0], strict=True):
                assert total in (None, 2 * OPENING * len(ACCOUNTS)), (name, at, total)
                checked.reads[name] += total is not None
            lsn = sum(lsn for (lsn,) in self.sql(f"SELECT lsn FROM pg_progress AS OF {at}"))
            offsets = dict(self.sql(f"SELECT partition, offset FROM topics_progress AS OF {at}"))
            length = sum(
                length
                for (length,) in self.sql(
                    f"SELECT byte_offset FROM object_legs_progress AS OF {at}"
                )
            )
            state = (lsn, offsets.get(f"{self._legs_topic}/0", 0), length)
            rows = self.sql(
                f"SELECT account, sum(amount) FROM ({LEGS}) AS x GROUP BY account ORDER "
                f"BY account AS OF {at}"
            )
            assert rows == self.balances(lsns, *state), (at, state)
            checked.reads["joined"] += 1
            checked.states.add(state)
        return checked

    def run(self, rounds: int, transfers: int, times: int) -> Checked:
        """Transfers, with a tick after each round of them, then the reads."""
        self.ticks: list[int] = []
        self.open()
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            for number in range(rounds + 1):
                report = tick.run(self.environment, owner="bank")
                assert not report.failed, report.summary()
                self.ticks.append(report.at)
                for _ in range(transfers // rounds if number < rounds else 0):
                    self.transfer(connection)
        self.connector.deliver()
        report = tick.run(self.environment, owner="bank")
        assert not report.failed, report.summary()
        return self.check(times)


@contextmanager
def _everything() -> Iterator[tuple[PostgresServer, Broker, Environment, Path]]:
    folder = Path(tempfile.mkdtemp(prefix="reclock-upstreams-"))
    folder.chmod(0o755)
    (folder / "postgres").mkdir()
    broker = Broker.make(folder / "kafka")
    with (
        running(folder / "postgres") as server,
        Environment.initialise(folder / "home") as environment,
    ):
        broker.start()
        try:
            yield server, broker, environment, folder
        finally:
            broker.stop()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m histories.upstreams", description=__doc__)
    for name, default in (("rounds", 40), ("transfers", 4000), ("times", 1000), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    with _everything() as (server, broker, environment, folder):
        server.execute("CREATE DATABASE bank")
        passfile = folder / "passfile"
        passfile.write_text(f"*:*:*:*:{PASSWORD}")
        passfile.chmod(0o600)
        bank = Bank(environment, broker, server.dsn("bank"), passfile, random.Random(options.seed))
        checked = bank.run(options.rounds, options.transfers, options.times)
    print(
        f"{dict(checked.reads)} reads of {len(checked.states)} states of the three "
        "upstreams, all right"
    )


if __name__ == "__main__":
    main()
