"""Queues of tables: statements that would conflict take turns, in the order they came, and nobody
else waits."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reclock.adapter.session.session import Session
from reclock.algebra.ids import GlobalId
from reclock.collections import table_queues
from reclock.collections.keys import Keys
from reclock.collections.table_queues import TableQueues, Turn
from reclock.collections.tables import Tables
from reclock.consensus.database.waiting import interruptible
from reclock.errors import QueryCanceled
from reclock.runtime.environment import Environment

T, U = GlobalId("u1"), GlobalId("u2")


def keyed(*ids: int, column: str = "id") -> Turn:
    return Turn({T: Keys(column, frozenset(ids))}, frozenset({T}))


WHOLE, BLIND = Turn({T: None}, frozenset({T})), Turn({}, frozenset({T}))
OTHER, FROM_T = Turn({U: None}, frozenset({U})), Turn({T: None}, frozenset({U}))


@pytest.mark.parametrize(
    ("one", "other", "conflict"),
    [
        (WHOLE, WHOLE, True),
        (WHOLE, BLIND, True),
        (BLIND, BLIND, False),
        (WHOLE, OTHER, False),
        (keyed(1), keyed(2), False),
        (keyed(1), keyed(1, 2), True),
        (keyed(1), keyed(2, column="other"), True),
        (keyed(1), WHOLE, True),
        (keyed(1), BLIND, False),
        (FROM_T, BLIND, True),
        (FROM_T, FROM_T, False),
    ],
)
def test_turns_conflict_where_one_may_write_what_the_other_reads(
    one: Turn, other: Turn, conflict: bool
) -> None:
    assert one.conflicts_with(other) == other.conflicts_with(one) == conflict


def test_a_turn_waits_for_earlier_ones_and_can_be_cancelled() -> None:
    queues, order = TableQueues(), []

    def wait(name: str) -> None:
        with queues.wait_turn(Turn({T: None}, frozenset({T}))):
            order.append(name)

    def cancel(waiting_for: str) -> None:
        raise QueryCanceled

    with ThreadPoolExecutor(2) as pool:
        with queues.wait_turn(Turn({T: None}, frozenset({T}))):
            with queues.wait_turn(OTHER):
                order.append("other table")
            waiting = pool.submit(wait, "second")
            while len(queues._turns) < 2:
                assert not waiting.done()
            with (
                interruptible(cancel),
                pytest.raises(QueryCanceled),
                queues.wait_turn(Turn({T: None}, frozenset({T}))),
            ):
                order.append("cancelled")
            order.append("first")
        waiting.result()
    assert order == ["other table", "first", "second"]
    assert not queues._turns


def test_the_end_of_a_turn_compares_no_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each statement is compared with the earlier ones once, when it comes; what then waits is
    woken up in order, and alone."""
    compared, order, count = [], [], 8
    conflicts_with = Turn.conflicts_with

    def counted(self: Turn, other: Turn) -> bool:
        compared.append((self, other))
        return conflicts_with(self, other)

    monkeypatch.setattr(Turn, "conflicts_with", counted)
    queues = TableQueues()

    def wait(number: int) -> None:
        with queues.wait_turn(Turn({T: None}, frozenset({T}))):
            order.append(number)

    with ThreadPoolExecutor(count) as pool:
        with queues.wait_turn(WHOLE):
            waiting = []
            for number in range(count):
                waiting.append(pool.submit(wait, number))
                while len(queues._turns) < number + 2:
                    assert not waiting[number].done()
        for done in waiting:
            done.result()
    assert order == list(range(count))
    assert len(compared) == count * (count + 1) / 2


def test_what_reads_nothing_does_not_wait_for_a_long_statement_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(table_queues, "BLIND_PATIENCE_S", 0.05)
    queues = TableQueues()
    with queues.wait_turn(WHOLE), queues.wait_turn(BLIND):
        assert queues._turns == [WHOLE, BLIND]


@pytest.mark.parametrize(
    "where", ["", " WHERE id = {client}"], ids=["the same row", "rows of their own"]
)
def test_no_update_of_a_hot_row_is_executed_in_vain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """As many commits are tried as statements are executed, whatever the number of clients."""
    clients, updates_each, tried = 6, 4, []
    commit = Tables.commit
    # what leaves the log meanwhile counts as written
    monkeypatch.setenv("RECLOCK_TABLE_APPLY_DELAY_MS", "3600000")

    def counted(self: Tables, writes, **options):
        tried.append(threading.get_ident())
        return commit(self, writes, **options)

    with Environment.initialise(tmp_path / "home") as environment:

        def run(text: str) -> list[tuple]:
            session = Session(environment)
            return [row for result in session.execute(text) for row in result.rows()]

        def client(number: int) -> None:
            for _ in range(updates_each):
                run("UPDATE c SET n = n + 1" + where.format(client=number))

        run("CREATE TABLE c (id int NOT NULL, n int)")
        ids = range(clients) if where else range(1)
        run("INSERT INTO c VALUES " + ", ".join(f"({id}, 0)" for id in ids))
        environment.stores.tables.apply()
        monkeypatch.setattr(Tables, "commit", counted)
        with ThreadPoolExecutor(clients) as pool:
            list(pool.map(client, range(clients)))
        assert len(tried) == clients * updates_each
        assert run("SELECT sum(n) FROM c") == [(clients * updates_each,)]
