"""Clients that use tables at random over several servers, and what they saw."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import psycopg
from histories.cluster import Cluster, Running
from histories.linearizability import Operation
from histories.models import BAGS, LISTS, UNIQUES, Key, Step, Transaction, Values

KEYS = (0, 1)

Read = tuple[str, ...]
"""The tables that are read, by one query."""

AGAIN = frozenset({"40001", "72000"})
"""SQLSTATEs of what was overtaken by another transaction, or idle in a block for longer than its
read hold lasted."""

FENCED = "57P03"
NOT_READABLE = "22023"
UNKNOWN = frozenset({None, "08007", "57P01"})
"""SQLSTATEs that leave open whether a commit happened; None where the connection broke."""

_EMPTY = "''"

NO_LIST = (-1,)
"""What is read of a list that is not there, or more than once."""


def definitions() -> Iterator[str]:
    """The tables, with an empty list for each key."""
    for table in LISTS:
        yield f"CREATE TABLE {table} (key int NOT NULL, value text NOT NULL)"
        yield f"INSERT INTO {table} VALUES {', '.join(f'({key}, {_EMPTY})' for key in KEYS)}"
    for table in BAGS:
        yield f"CREATE TABLE {table} (key int NOT NULL, value text NOT NULL)"
    for table in UNIQUES:
        yield f"CREATE TABLE {table} (key int PRIMARY KEY, value text NOT NULL)"


@dataclass(frozen=True, slots=True)
class Timed:
    """What was read at a time of the timeline."""

    at: int
    values: dict[Key, Values]


@dataclass(slots=True)
class Seen:
    """What all clients together saw. ``unexpected`` are errors that no client should get."""

    operations: list[Operation] = field(default_factory=list)
    timed: list[Timed] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    attempts: int = 0
    conflicts: int = 0
    unreadable: int = 0


class Client:
    """One after the other, transactions of random statements, on whichever server there is."""

    def __init__(
        self, cluster: Cluster, seen: Seen, chance: random.Random, fresh: Iterator[int]
    ) -> None:
        """``fresh`` gives values that nobody else writes."""
        self._cluster, self._seen, self._chance, self._fresh = cluster, seen, chance, fresh
        self._server: Running | None = None
        self._connection: psycopg.Connection | None = None

    def run(self, operations: int) -> None:
        """Until all clients together have seen that many, or tried three times as often."""
        while len(self._seen.operations) < operations and self._seen.attempts < 3 * operations:
            self._seen.attempts += 1
            self._connect()
            action = self._chance.random()
            if action < 0.08:
                self._read_as_of()
            elif action < 0.16:
                self._read_and_tell_the_time()
            else:
                self.transact(self._transaction())
        self.close()

    def read_everything(self) -> None:
        self._connect()
        self.transact([(*LISTS, *BAGS, *UNIQUES)])
        self.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def transact(self, actions: Sequence[Read | Step], *, tells_time: bool = False) -> None:
        """In a block if they are several. What happened, or may have, is seen."""
        is_block = len(actions) > 1 or tells_time
        steps: list[Step] = []
        at = None
        is_committing = not is_block
        began = time.monotonic_ns()
        try:
            if is_block:
                self._execute("BEGIN")
            for number, action in enumerate(actions):
                if number and self._chance.random() < 0.25:
                    time.sleep(self._chance.random())
                steps += self._perform(action)
            if tells_time:
                tables = actions[0]
                assert not isinstance(tables, Step)
                at = int(self._execute(f"EXPLAIN TIMESTAMP FOR {_query(tables)}")[0][0].split()[-1])
            is_committing = True
            if is_block:
                self._execute("COMMIT")
        except psycopg.Error as error:
            returned: int | None = time.monotonic_ns()
            if is_committing and error.sqlstate in UNKNOWN:
                returned = None
                steps += [action for action in actions if not is_block and isinstance(action, Step)]
            else:
                writes = [number for number, step in enumerate(steps) if step.kind != "read"]
                # what it read before is still of one moment
                steps = steps[: writes[0]] if writes else steps
            self._saw(began, returned, steps)
            self._failed(error)
            return
        self._saw(began, time.monotonic_ns(), steps)
        if at is not None:
            self._seen.timed.append(Timed(at, {step.key: step.answer for step in steps}))  # type: ignore[misc]

    # --- what it does ---

    def _transaction(self) -> list[Read | Step]:
        match self._chance.choices(
            ("read", "write", "read twice", "writes", "read, write"), (25, 40, 8, 15, 12)
        )[0]:
            case "read":
                return [self._tables()]
            case "write":
                return [self._claim() if self._chance.random() < 0.35 else self._write()]
            case "read twice":
                return [self._tables(), self._tables()]
            case "writes":
                return [self._write() for _ in range(self._chance.randint(2, 3))]
            case _:
                return [self._tables(), *(self._write() for _ in range(self._chance.randint(1, 2)))]

    def _tables(self) -> Read:
        every = (*LISTS, *BAGS, *UNIQUES)
        return tuple(sorted(self._chance.sample(every, self._chance.choice((1, 1, 2, 3)))))

    def _write(self) -> Step:
        if self._chance.random() < 0.35:
            return Step(
                "append", (self._chance.choice(LISTS), self._chance.choice(KEYS)), next(self._fresh)
            )
        key = (self._chance.choice(BAGS), self._chance.choice(KEYS))
        kind = self._chance.choices(("insert", "update", "delete"), (6, 1, 1))[0]
        return Step(kind, key, next(self._fresh))  # type: ignore[arg-type]

    def _claim(self) -> Step:
        """In no block, which would fail with it."""
        kinds: tuple[Literal["claim", "delete"], ...] = ("claim", "delete")
        [kind] = self._chance.choices(kinds, (3, 2))
        return Step(
            kind, (self._chance.choice(UNIQUES), self._chance.choice(KEYS)), next(self._fresh)
        )

    def _read_and_tell_the_time(self) -> None:
        self.transact([self._tables()], tells_time=True)

    def _read_as_of(self) -> None:
        if not self._seen.timed:
            return
        known = self._chance.choice(self._seen.timed[-12:])
        tables = self._tables()
        at = max(
            known.at + self._chance.choice((0, 0, 0, -1, 1)),
            min(read.at for read in self._seen.timed),
        )
        try:
            self._seen.timed.append(
                Timed(at, _values(tables, self._execute(f"{_query(tables)} AS OF {at}")))
            )
        except psycopg.Error as error:
            if error.sqlstate == NOT_READABLE:
                self._seen.unreadable += 1
            else:
                self._failed(error)

    # --- how ---

    def _perform(self, action: Read | Step) -> list[Step]:
        if not isinstance(action, Step):
            return [
                Step("read", key, answer=values)
                for key, values in _values(action, self._execute(_query(action))).items()
            ]
        (table, key), value = action.key, action.value
        match action.kind:
            case "append":
                if (
                    self._count(f"UPDATE {table} SET value = value || '{value},' WHERE key = {key}")
                    != 1
                ):
                    return [Step("read", action.key, answer=NO_LIST)]
            case "insert":
                self._execute(f"INSERT INTO {table} VALUES ({key}, '{value}')")
            case "claim":
                try:
                    self._execute(f"INSERT INTO {table} VALUES ({key}, '{value}')")
                except psycopg.errors.UniqueViolation:
                    return [action._replace(answer=0)]
                return [action._replace(answer=1)]
            case "update":
                return [
                    action._replace(
                        answer=self._count(
                            f"UPDATE {table} SET value = '{value}' WHERE key = {key}"
                        )
                    )
                ]
            case "delete":
                return [
                    action._replace(answer=self._count(f"DELETE FROM {table} WHERE key = {key}"))
                ]
        return [action]

    def _connect(self) -> None:
        while self._connection is None or self._connection.closed:
            self._server = self._chance.choice(self._cluster.servers)
            try:
                self._connection = self._server.connect()
            except psycopg.Error:
                time.sleep(0.02)  # it was killed; another one comes

    def _execute(self, text: str) -> list[tuple]:
        assert self._connection is not None
        cursor = self._connection.execute(text)
        return cursor.fetchall() if cursor.description else []

    def _count(self, text: str) -> int:
        assert self._connection is not None
        return self._connection.execute(text).rowcount

    def _saw(self, began: int, returned: int | None, steps: list[Step]) -> None:
        if steps:
            assert self._server is not None
            self._seen.operations.append(
                Operation(began, returned, Transaction(self._server.epoch, tuple(steps)))
            )

    def _failed(self, error: psycopg.Error) -> None:
        assert self._connection is not None
        if error.sqlstate in AGAIN:
            self._seen.conflicts += 1
        elif error.sqlstate not in UNKNOWN and error.sqlstate != FENCED:
            self._seen.unexpected.append(f"{error.sqlstate}: {error}")
        if error.sqlstate == FENCED:
            self._connection.close()
            time.sleep(0.02)  # another server comes in its place
        elif not self._connection.closed:
            try:
                self._execute("ROLLBACK")
            except psycopg.Error:
                self._connection.close()


def _query(tables: Read) -> str:
    return " UNION ALL ".join(f"SELECT '{table}', key, value FROM {table}" for table in tables)


def _values(tables: Read, rows: list[tuple[str, int, str]]) -> dict[Key, Values]:
    values: dict[Key, list[str]] = {(table, key): [] for table in tables for key in KEYS}
    for table, key, value in rows:
        values[table, key].append(value)
    return {
        key: _list(texts) if key[0] in LISTS else tuple(sorted(map(int, texts)))
        for key, texts in values.items()
    }


def _list(texts: list[str]) -> Values:
    return tuple(map(int, texts[0].split(",")[:-1])) if len(texts) == 1 else NO_LIST
