"""Batched reads: few calls, and never an answer that is older than the question."""

import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from fixtures.oracle_history import Call, violations
from fixtures.waiting import PATIENCE_S, eventually

from reclock.algebra.timestamps import CATALOG, EPOCH_MS, Timestamp, system_clock
from reclock.consensus.database.store import Consensus
from reclock.errors import UnknownTimeline
from reclock.oracle.batching import BatchingOracle
from reclock.oracle.oracle import ConsensusOracle


class GatedOracle:
    """Looks its answer up as soon as a read begins, and gives it only when the test opens the
    gate."""

    def __init__(self) -> None:
        self.applied = 0
        self.calls = 0
        self.gate = threading.Semaphore(0)
        self.began = threading.Semaphore(0)
        self.error: BaseException | None = None

    def read_ts(self, timeline: str) -> Timestamp:
        return self.read_all()[timeline]

    def read_all(self) -> dict[str, Timestamp]:
        answer, error = self.applied, self.error
        self.calls += 1
        self.began.release()
        assert self.gate.acquire(timeout=PATIENCE_S)
        if error:
            raise error
        return dict.fromkeys((CATALOG, EPOCH_MS), Timestamp(answer))

    def write_ts(self, timeline: str) -> Timestamp:
        return Timestamp(self.applied + 1)

    def apply_write(self, timeline: str, ts: Timestamp) -> None:
        self.applied = max(self.applied, ts)


def waits(oracle: BatchingOracle, count: int) -> bool:
    """Whether that many threads wait for the batch that is open."""
    batch = oracle._gathering
    return batch is not None and len(batch._condition._waiters) == count  # type: ignore[attr-defined]


@pytest.fixture
def inner() -> GatedOracle:
    return GatedOracle()


def test_a_read_after_an_applied_write_sees_it_though_an_older_call_is_on_its_way(
    inner: GatedOracle,
) -> None:
    oracle = BatchingOracle(inner)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(oracle.read_ts, EPOCH_MS)
        assert inner.began.acquire(timeout=PATIENCE_S)  # it has looked, and will answer 0
        oracle.apply_write(EPOCH_MS, Timestamp(10))
        second = threads.submit(oracle.read_ts, EPOCH_MS)
        eventually(lambda: waits(oracle, 0) or second.done())  # it leads the next batch
        inner.gate.release(2)
        assert first.result(PATIENCE_S) == 0
        assert second.result(PATIENCE_S) == 10


def test_an_answer_is_not_kept_for_the_next_question(inner: GatedOracle) -> None:
    oracle = BatchingOracle(inner)
    inner.gate.release(2)
    assert oracle.read_ts(EPOCH_MS) == 0
    oracle.apply_write(EPOCH_MS, Timestamp(10))
    assert oracle.read_ts(EPOCH_MS) == 10
    assert inner.calls == 2


def test_whoever_arrives_while_a_call_is_on_its_way_shares_the_next(inner: GatedOracle) -> None:
    oracle = BatchingOracle(inner)
    with ThreadPoolExecutor(20) as threads:
        first = threads.submit(oracle.read_ts, EPOCH_MS)
        assert inner.began.acquire(timeout=PATIENCE_S)
        oracle.apply_write(EPOCH_MS, Timestamp(10))
        later_reads = [threads.submit(oracle.read_ts, EPOCH_MS) for _ in range(19)]
        eventually(lambda: waits(oracle, 18))  # one of them leads
        inner.gate.release(2)
        assert first.result(PATIENCE_S) == 0
        assert {other.result(PATIENCE_S) for other in later_reads} == {10}
    assert inner.calls == 2


@pytest.mark.parametrize("error", [ZeroDivisionError("broken"), KeyboardInterrupt()])
def test_a_failed_call_fails_its_batch_and_an_interrupted_one_only_its_leader(
    inner: GatedOracle, error: BaseException
) -> None:
    oracle = BatchingOracle(inner)
    with ThreadPoolExecutor(5) as threads:
        first = threads.submit(oracle.read_ts, EPOCH_MS)
        assert inner.began.acquire(timeout=PATIENCE_S)
        leader = threads.submit(oracle.read_ts, EPOCH_MS)
        eventually(lambda: waits(oracle, 0))
        followers = [threads.submit(oracle.read_ts, EPOCH_MS) for _ in range(3)]
        eventually(lambda: waits(oracle, 3))
        inner.error = error
        inner.gate.release()
        assert first.result(PATIENCE_S) == 0
        assert inner.began.acquire(timeout=PATIENCE_S)
        inner.error = None
        inner.gate.release(10)
        with pytest.raises(type(error)):
            leader.result(PATIENCE_S)
        for follower in followers:
            if isinstance(error, Exception):
                with pytest.raises(type(error)):
                    follower.result(PATIENCE_S)
            else:
                assert follower.result(PATIENCE_S) == 0
    assert oracle.read_ts(EPOCH_MS) == 0  # later reads go on


def test_reads_of_different_timelines_share_a_call(inner: GatedOracle) -> None:
    oracle = BatchingOracle(inner)
    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(oracle.read_ts, EPOCH_MS)
        assert inner.began.acquire(timeout=PATIENCE_S)
        later_reads: list[Future[Any]] = [
            threads.submit(oracle.read_ts, CATALOG),
            threads.submit(oracle.read_all),
        ]
        eventually(lambda: waits(oracle, 1))  # the other leads
        inner.gate.release(2)
        assert first.result(PATIENCE_S) == later_reads[0].result(PATIENCE_S) == 0
        assert later_reads[1].result(PATIENCE_S) == {CATALOG: 0, EPOCH_MS: 0}
    assert inner.calls == 2
    inner.gate.release()
    with pytest.raises(UnknownTimeline):
        oracle.read_ts("other")


def test_guarantees_hold_between_threads(consensus_url: str) -> None:
    consensus = Consensus.connect(consensus_url)
    backing = ConsensusOracle(consensus, system_clock)
    backing.open_timeline(EPOCH_MS, Timestamp(0))
    oracle = BatchingOracle(backing)

    def timed(operation: str, call: Callable[[], Timestamp]) -> Call:
        began = time.monotonic_ns()
        ts = call()
        return Call(began, time.monotonic_ns(), operation, ts)  # type: ignore[arg-type]

    def apply(ts: Timestamp) -> Timestamp:
        oracle.apply_write(EPOCH_MS, ts)
        return ts

    def write(_: int) -> list[Call]:
        written = timed("write", lambda: oracle.write_ts(EPOCH_MS))
        return [
            written,
            timed("apply", lambda: apply(Timestamp(written.ts))),
            timed("read", lambda: oracle.read_ts(EPOCH_MS)),
        ]

    def read(_: int) -> list[Call]:
        return [timed("read", lambda: oracle.read_ts(EPOCH_MS)) for _ in range(4)]

    with ThreadPoolExecutor(8) as threads:
        done = [threads.submit(work, n) for n in range(24) for work in (write, read)]
    history = list(itertools.chain.from_iterable(future.result() for future in done))
    assert len(history) == 24 * 7
    assert violations(history) == []
    consensus.close()
