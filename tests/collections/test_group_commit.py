"""Group commit: who arrives while a commit is on its way goes with the next, all at one time, each
with an outcome of its own."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from fixtures.tables import CATALOG_TS, A, B, changes, open_tables, read, write
from fixtures.waiting import eventually

from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.collections.group_commit import _Pending
from reclock.collections.table_commits import Commit
from reclock.consensus.database.waiting import interruptible
from reclock.errors import ConsensusUnavailable, QueryCanceled, WriteConflict


@pytest.fixture
def opened(tmp_path: Path):
    tables, consensus, oracle = open_tables(
        f"sqlite:///{tmp_path}/consensus.db", str(tmp_path / "lake")
    )
    yield tables, oracle
    consensus.close()


class Gate:
    """Holds the first commit up until it is opened; tells the sizes of the batches."""

    def __init__(self, real) -> None:
        self.real = real
        self.sizes = []
        self.entered = threading.Event()
        self.opened = threading.Event()

    def __call__(self, choose, **options):
        batch = choose()
        self.sizes.append(len(batch))
        if len(self.sizes) == 1:
            self.entered.set()
            assert self.opened.wait(30)
        return self.real(batch, **options)


def test_commits_that_wait_share_one_transaction_and_one_time(opened, monkeypatch) -> None:
    tables, oracle = opened
    read_at = oracle.read_ts(EPOCH_MS)
    gate = Gate(tables.log.commit)
    monkeypatch.setattr(tables.log, "commit", gate)
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(write, tables, a={("first", 0): 1})
        assert gate.entered.wait(30)
        waiting_writes = [pool.submit(write, tables, b={("b", n): 1}) for n in range(5)]
        loser = pool.submit(
            lambda: tables.commit(
                {B: changes({("c", 0): 1})},
                catalog_ts=CATALOG_TS,
                reads=frozenset({A}),
                read_at=read_at,
            )
        )
        while len(tables._group_commit._waiting) < 6:
            assert not first.done()
        gate.opened.set()
        times = {other.result() for other in waiting_writes}
        assert (len(times), gate.sizes) == (1, [1, 6])
        with pytest.raises(WriteConflict):
            loser.result()
    [at] = times
    assert read(tables, A, B, at=at) == [{("first", 0): 1}, {("b", n): 1 for n in range(5)}]
    assert read(tables, A, B, at=Timestamp(at - 1)) == [{("first", 0): 1}, {}]


def test_what_befalls_a_batch_befalls_each_of_it_and_the_next_goes_on(opened, monkeypatch) -> None:
    tables, _ = opened
    gate = Gate(lambda batch, **options: (_ for _ in ()).throw(ConsensusUnavailable(detail="gone")))
    gate.opened.set()
    with monkeypatch.context() as patched:
        patched.setattr(tables.log, "commit", gate)
        with pytest.raises(ConsensusUnavailable):
            write(tables, a={("x", 1): 1})
    write(tables, a={("y", 1): 1})
    assert read(tables, A) == [{("y", 1): 1}]


def test_a_statement_that_is_cancelled_takes_its_commit_back(opened, monkeypatch) -> None:
    """Another leads; what it carries is not taken back any more, what waits behind it is."""
    tables, _ = opened
    gate = Gate(tables.log.commit)
    monkeypatch.setattr(tables.log, "commit", gate)
    cancelled = threading.Event()

    def check(waiting_for: str) -> None:
        if cancelled.is_set():
            raise QueryCanceled

    def interrupted(value: int) -> None:
        with interruptible(check):
            write(tables, a={("cancelled", value): 1})

    with ThreadPoolExecutor(8) as pool:
        carried = pool.submit(interrupted, 0)
        assert gate.entered.wait(30)
        waiting = pool.submit(interrupted, 1)
        other = pool.submit(write, tables, a={("other", 0): 1})
        while len(tables._group_commit._waiting) < 2:
            assert not carried.done()
        cancelled.set()
        with pytest.raises(QueryCanceled):
            waiting.result()
        assert not carried.done()
        gate.opened.set()
        other.result()
        with suppress(QueryCanceled):
            carried.result()
    assert ("cancelled", 1) not in read(tables, A)[0]
    assert ("other", 0) in read(tables, A)[0]


def test_a_commit_that_is_durable_does_not_wait_for_the_next_one(opened, monkeypatch) -> None:
    tables, _ = opened
    real, entered, may_end = tables.log.commit, [], [threading.Event() for _ in range(3)]

    def commit(choose):
        batch = choose()
        entered.append(len(batch))
        assert may_end[len(entered) - 1].wait(30)
        return real(batch)

    monkeypatch.setattr(tables.log, "commit", commit)
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(write, tables, a={("first", 0): 1})
        eventually(lambda: entered == [1])
        second = [pool.submit(write, tables, a={("second", n): 1}) for n in range(5)]
        eventually(lambda: len(tables._group_commit._waiting) == 5)
        may_end[0].set()
        eventually(lambda: entered == [1, 5])
        third = pool.submit(write, tables, a={("third", 0): 1})
        eventually(lambda: len(tables._group_commit._waiting) == 1)
        may_end[1].set()
        assert first.result(30) < min(other.result(30) for other in second)
        assert not third.done()
        may_end[2].set()
        third.result()


def test_a_leader_that_is_cancelled_before_it_begins_appoints_another(opened) -> None:
    tables, _ = opened
    group = tables._group_commit
    cancelled, next_one = (_Pending(Commit({}, CATALOG_TS)) for _ in range(2))
    group._has_leader, group._waiting = True, [cancelled, next_one]
    group._appoint_next()
    assert (cancelled.leads, next_one.leads) == (True, False)
    assert group._withdraw(cancelled)
    assert next_one.leads
    assert group._withdraw(next_one)
    assert write(tables, a={("x", 1): 1})
