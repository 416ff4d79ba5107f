"""Indexes that are refreshed together, and indexes that a server maintains by itself: processes are
killed in the middle, others work beside them, and every time of every index is what its query
answers there."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fixtures.forks import die_at, fork
from fixtures.sessions import sql
from fixtures.waiting import eventually

from reclock import failpoints
from reclock.algebra.timestamps import EPOCH_MS
from reclock.pipeline import cluster_steps, tick
from reclock.pipeline.index_maintenance import maintaining
from reclock.runtime.environment import Environment
from reclock.runtime.leader import leading

VIEWS = {
    "counts": "SELECT a, count(*) AS n FROM t GROUP BY a",
    "sums": "SELECT sum(a) AS total FROM t",
    "large": "SELECT a FROM t WHERE a > 2",
    "pairs": "SELECT x.a AS l, y.n AS r FROM t x JOIN counts y ON x.a = y.a",
}
"""The last one reads another, so it is refreshed after the round of the first three."""


@pytest.fixture(autouse=True)
def _leases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECLOCK_CLAIM_LEASE_MS", "1000")
    monkeypatch.setenv("RECLOCK_CONTROLLER_LEASE_MS", "500")


def create(folder: Path) -> Environment:
    environment = Environment.initialise(folder)
    sql(environment, "CREATE TABLE t (a int)")
    for name, query in VIEWS.items():
        sql(environment, f"CREATE MATERIALIZED VIEW {name} AS {query}")
    return environment


def insert(environment: Environment, *values: int) -> int:
    """The time from which the rows are there."""
    sql(environment, f"INSERT INTO t VALUES {', '.join(f'({value})' for value in values)}")
    return environment.stores.oracle.read_ts(EPOCH_MS)


def refreshed_through(environment: Environment, at: int) -> bool:
    """Whether every view is published beyond ``at``."""
    catalog = environment.stores.planner_catalog()
    uppers = [environment.stores.frontiers.get(index.id).upper for index in catalog.indexes()]
    return len(uppers) == len(VIEWS) and min(uppers) > at


def assert_exact(environment: Environment, times: Sequence[int]) -> None:
    """Each view has, at each of the times, what its query answers there."""
    for at in times:
        for name, query in VIEWS.items():
            maintained = sql(environment, f"SELECT * FROM {name} AS OF {at}")
            answer = sql(
                environment,
                f"SELECT * FROM ({query.replace('counts', '(' + VIEWS['counts'] + ')')}) q AS OF {at}",
            )
            assert sorted(maintained) == sorted(answer), (name, at)


def refresh(folder: Path, at: int, point: str, number: int) -> None:
    """A replica that is killed when it reaches the point for the ``number``-th time."""
    reached = 0

    def reach(name: str) -> None:
        nonlocal reached
        reached += name == point
        if reached == number:
            os.kill(os.getpid(), signal.SIGKILL)

    with Environment.open(folder) as environment:
        failpoints.on_reach = reach
        cluster_steps.refresh(environment, "default", at, owner="killed")
    os._exit(0)


@pytest.mark.parametrize(
    ("killed_at", "number"),
    [("refresh.after_claim", 1), ("refresh.after_append", 2), ("refresh.after_append", 4)],
)
def test_a_round_that_is_killed_is_finished_by_another_process(
    tmp_path: Path, killed_at: str, number: int
) -> None:
    """Three indexes are claimed together; some of them have their rows when the process dies. The
    fourth append is of the next round."""
    with create(tmp_path) as environment:
        first = insert(environment, 1, 2, 3)
        assert not cluster_steps.refresh(environment, "default", first, owner="first").failed
        times = [first, insert(environment, 3, 4)]
        process, _ = fork(_killed_refresh, tmp_path, times[-1], killed_at, number)
        process.join()
        assert process.exitcode == -signal.SIGKILL
        time.sleep(1.1)  # until its claims may be taken over
        times.append(insert(environment, 5))
        for owner in ("second", "third"):
            assert not cluster_steps.refresh(environment, "default", times[-1], owner=owner).failed
        assert refreshed_through(environment, times[-1])
        assert_exact(environment, times)


def _killed_refresh(folder: Path, at: int, point: str, number: int, connection: Any) -> None:
    refresh(folder, at, point, number)


def maintain(folder: Path) -> None:
    """What a server does beside its sessions."""
    with Environment.open(folder) as environment, leading(environment), maintaining(environment):
        time.sleep(600)


def _maintain(folder: Path, connection: Any) -> None:
    maintain(folder)


def test_ticks_and_servers_that_maintain_and_die_give_each_time_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECLOCK_REFRESH_INTERVAL_MS", "20")
    with create(tmp_path) as environment:
        times = [insert(environment, 1, 2)]
        die_at("refresh.after_append", maintain, tmp_path)
        servers = [fork(_maintain, tmp_path)[0] for _ in range(2)]
        try:
            for number in range(8):
                times.append(insert(environment, number, number + 1))
                tick.run(environment, owner="tick")
                if number == 4:
                    servers[0].kill()
            last = times[-1]
            eventually(lambda: refreshed_through(environment, last))
        finally:
            for server in servers:
                server.kill()
        assert_exact(environment, times)
