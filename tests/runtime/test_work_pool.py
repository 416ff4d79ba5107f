"""Work side by side: each at its own pace, one piece of an object at a time, and no outcome is lost
or given twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from threading import Event

import pytest

from reclock.algebra.ids import GlobalId
from reclock.runtime.work_pool import WorkPool

FAST, SLOW = GlobalId("u1"), GlobalId("u2")


@pytest.fixture
def pool() -> Iterator[WorkPool[GlobalId, str]]:
    with closing(WorkPool[GlobalId, str](4)) as pool:
        yield pool


def test_what_is_ready_is_taken_while_others_go_on(pool: WorkPool[GlobalId, str]) -> None:
    go_on = Event()
    pool.start(SLOW, lambda: "slow" if go_on.wait(60) else "late")
    pool.start(FAST, lambda: "fast")
    assert pool.take([FAST, SLOW], patience_s=None, waits_for_all=False) == {FAST: "fast"}
    assert pool.take([FAST, SLOW], patience_s=0.01) == {}
    assert pool.running() == {SLOW}
    pool.start(SLOW, lambda: "a second one")  # the first runs still
    go_on.set()
    assert pool.take([FAST, SLOW], patience_s=None) == {SLOW: "slow"}
    assert pool.running() == set()
    pool.start(SLOW, lambda: "again")
    assert pool.take([SLOW], patience_s=None) == {SLOW: "again"}


def test_nobody_waits_for_a_source_that_was_slow(pool: WorkPool[GlobalId, str]) -> None:
    """Until an ingestion of it ends in time."""
    first, second = Event(), Event()
    pool.start(SLOW, lambda: f"first {first.wait(5)}")
    assert pool.take([SLOW], patience_s=0.01) == {}
    first.set()
    assert pool.take([SLOW], patience_s=None) == {SLOW: "first True"}
    pool.start(SLOW, lambda: f"second {second.wait(5)}")
    assert pool.take([SLOW], patience_s=5) == {}
    second.set()
    assert pool.take([SLOW], patience_s=None) == {SLOW: "second True"}
    pool.start(SLOW, lambda: "third")
    assert pool.take([SLOW], patience_s=5) == {SLOW: "third"}


def test_slow_sources_leave_the_threads_to_the_others() -> None:
    first, second = Event(), Event()
    with closing(WorkPool[GlobalId, str](1)) as pool:
        pool.start(SLOW, lambda: f"first {first.wait(5)}")
        assert pool.take([SLOW], patience_s=0.01) == {}
        first.set()
        assert pool.take([SLOW], patience_s=None) == {SLOW: "first True"}
        pool.start(SLOW, lambda: f"second {second.wait(5)}")
        pool.start(FAST, lambda: "fast")
        assert pool.take([FAST], patience_s=4) == {FAST: "fast"}
        second.set()


def test_what_an_ingestion_raises_is_raised_once(pool: WorkPool[GlobalId, str]) -> None:
    def fail() -> str:
        raise KeyError

    pool.start(FAST, fail)
    with pytest.raises(KeyError):
        pool.take([FAST], patience_s=None)
    assert pool.take([FAST], patience_s=None) == {}
