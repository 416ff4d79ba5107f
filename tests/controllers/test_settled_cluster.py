"""The controller of a cluster whose replicas are there: what it asks of consensus when nothing
changes."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fixtures.sent_statements import sent_statements
from fixtures.waiting import eventually

from reclock.adapter.session.session import Session
from reclock.algebra.ids import GlobalId
from reclock.consensus.processes.replicas import Incarnation, Registration
from reclock.controllers import elected
from reclock.protocol.compute import ComputeCommand
from reclock.protocol.orchestration import EndedProcess, ReplicaDescription
from reclock.runtime.environment import Environment


class PresentAtOnce:
    """An `Orchestrator` whose processes are there at once, and stay until ``ending`` has them."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self.looks = 0
        self.ending: tuple[EndedProcess, ...] = ()

    def has_room(self) -> bool:
        return True

    def start(self, replica: ReplicaDescription, incarnation: Incarnation) -> None:
        self._environment.stores.replicas.announce(
            replica.id, incarnation, "nowhere", lease_ms=600_000
        )

    def stop(self, replica_id: int) -> None:
        pass

    def ended(self) -> Sequence[EndedProcess]:
        self.looks += 1
        ending, self.ending = self.ending, ()
        return ending


class Obedient:
    """A `Replica` that carries out every command."""

    def __init__(self, registration: Registration) -> None:
        pass

    def running(self) -> dict[GlobalId, Any]:
        return {}

    def carry_out(self, command: ComputeCommand) -> None:
        pass


def test_a_settled_leader_asks_consensus_nothing_between_two_renewals_of_its_lease(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock of its loop stands still, so no renewal is due. It notices at once that a process
    ended, and starts another."""
    with Environment.initialise(tmp_path) as environment, sent_statements() as statements:
        processes = PresentAtOnce(environment)
        environment.control_plane.orchestrator = processes  # type: ignore[misc]
        list(Session(environment).execute("CREATE CLUSTER c SIZE '1'"))
        registry = environment.stores.replicas
        cluster_id = environment.stores.planner_catalog().cluster_id("c")
        leader = environment.control_plane.managed_controller(cluster_id)
        leader._commanded.connect = Obedient  # type: ignore[assignment]
        leader.step(stays=True)
        now = time.monotonic()
        monkeypatch.setattr(elected, "NOTICE_S", 0.01)
        monkeypatch.setattr(elected, "time", SimpleNamespace(monotonic=lambda: now))
        stopping = threading.Event()
        thread = threading.Thread(target=leader.loop, args=(stopping,))
        thread.start()
        try:
            eventually(lambda: processes.looks > 5)
            statements.clear()
            eventually(lambda: processes.looks > 25)
            assert statements == []
            [replica] = registry.of_cluster(cluster_id)
            processes.ending = (EndedProcess(replica.replica_id, replica.incarnation, "signal 9"),)
            eventually(lambda: registry.of_cluster(cluster_id)[0].incarnation > replica.incarnation)
        finally:
            stopping.set()
            leader.wake()
            thread.join()
