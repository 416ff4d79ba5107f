"""Ingestions side by side: each at its own pace, one of a source at a time, and no outcome is lost
or given twice."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from reclock.algebra.ids import GlobalId
from reclock.ingest.pool import IngestionPool

FAST, SLOW = GlobalId("u1"), GlobalId("u2")


@pytest.fixture
def pool() -> Iterator[IngestionPool[str]]:
    with ThreadPoolExecutor(4) as threads:
        yield IngestionPool(threads)


def test_what_is_ready_is_taken_while_others_go_on(pool: IngestionPool[str]) -> None:
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


def test_what_an_ingestion_raises_is_raised_once(pool: IngestionPool[str]) -> None:
    def fail() -> str:
        raise KeyError

    pool.start(FAST, fail)
    with pytest.raises(KeyError):
        pool.take([FAST], patience_s=None)
    assert pool.take([FAST], patience_s=None) == {}
