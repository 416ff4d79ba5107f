"""What a process that serves asks of consensus while nobody asks anything of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fixtures.waiting import eventually

from reclock.adapter.session.session import Session
from reclock.consensus.database.store import Consensus
from reclock.consensus.leadership.leases import LeaseKeeper
from reclock.pipeline.index_maintenance import maintaining
from reclock.runtime.environment import Environment
from reclock.runtime.leader import leading
from reclock.runtime.reporting import reporting

from .test_settled_cluster import Obedient, PresentAtOnce


class Silent(Obedient):
    """A replica that measures nothing."""

    def take_changes(self, subscribes: Any) -> list[Any]:
        return []


QUIET_RENEWALS = 60
"""Three seconds, at a lease of 150 ms."""


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """Counts the renewals of leases, and the other transactions since the last count was reset."""
    counts, renewing = {"renewals": 0, "others": 0}, threading.local()

    def count(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            counts["renewals" if getattr(renewing, "now", False) else "others"] += 1
            return original(*arguments, **options)

        return call

    original = LeaseKeeper.renew

    def renew(*arguments: Any) -> None:
        renewing.now = True
        try:
            original(*arguments)
        finally:
            renewing.now = False

    monkeypatch.setattr(LeaseKeeper, "renew", renew)
    for name in ("transact", "read", "look"):
        monkeypatch.setattr(Consensus, name, count(getattr(Consensus, name)))
    yield counts


def test_an_idle_process_with_a_replica_renews_its_leases_together_and_asks_nothing_else(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its loops are driven twenty times as fast as usual, so that whatever follows the length of a
    lease, or the interval of introspection, shows."""
    for name, value in {
        "CONSENSUS_URL": postgres_url,
        "CONTROLLER_LEASE_MS": "150",
        "INTROSPECTION_LEASE_MS": "150",
        "INTROSPECTION_INTERVAL_MS": "20",
    }.items():
        monkeypatch.setenv(f"RECLOCK_{name}", value)
    with Environment.initialise(tmp_path) as environment:
        environment.control_plane.orchestrator = PresentAtOnce(environment)  # type: ignore[misc]
        for text in (
            "CREATE TABLE t (a int)",
            "INSERT INTO t VALUES (1)",
            "CREATE MATERIALIZED VIEW m AS SELECT a FROM t",
            "CREATE CLUSTER c SIZE '1'",
        ):
            list(Session(environment).execute(text))
        cluster_id = environment.stores.planner_catalog().cluster_id("c")
        controller = environment.control_plane.managed_controller(cluster_id)
        controller._commanded.connect = Silent  # type: ignore[assignment]
        with (
            counted(monkeypatch) as counts,
            leading(environment),
            maintaining(environment),
            reporting(environment),
        ):

            def is_quiet() -> bool:
                counts.update(renewals=0, others=0)
                eventually(lambda: counts["others"] or counts["renewals"] >= QUIET_RENEWALS)
                return not counts["others"]

            eventually(lambda: controller.is_leading)
            eventually(is_quiet)
            with environment.stores.consensus._database.looker.connect() as connection:
                leaders = connection.execute(
                    sa.text("SELECT name, lease_until > 0 FROM reclock_controller ORDER BY name")
                ).all()
            assert leaders == [(f"compute {cluster_id}", True), ("storage", True)]
