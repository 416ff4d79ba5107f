"""Which replicas are started and ended, and how long one that does not come up is left alone."""

from __future__ import annotations

from reclock.consensus.processes.replicas import Incarnation, Registration
from reclock.controllers.replica_reconciliation import (
    ReplicaChanges,
    RestartBackoff,
    reconcile_replicas,
)
from reclock.protocol.orchestration import EndedProcess, ReplicaDescription

OLD, NEW = (ReplicaDescription(id, "c", "r1", str(id)) for id in (1, 2))


def registration(
    id: int, *, is_alive: bool = True, address: str | None = "grpc://127.0.0.1:1"
) -> Registration:
    return Registration(id, 7, Incarnation(1), address, "t", is_alive)


def test_what_is_wanted_and_not_alive_is_started() -> None:
    assert reconcile_replicas([OLD, NEW], [], lambda _: False) == ReplicaChanges((OLD, NEW), ())
    assert reconcile_replicas(
        [OLD, NEW], [registration(1), registration(2, is_alive=False)], lambda _: True
    ) == ReplicaChanges((NEW,), ())
    assert reconcile_replicas(
        [OLD], [registration(1, address=None)], lambda _: False
    ) == ReplicaChanges((), ())


def test_what_is_replaced_serves_until_another_can() -> None:
    assert reconcile_replicas([NEW], [registration(1)], lambda _: False) == ReplicaChanges(
        (NEW,), ()
    )
    assert reconcile_replicas(
        [NEW], [registration(1), registration(2, address=None)], lambda _: True
    ) == ReplicaChanges((), ())
    assert reconcile_replicas(
        [NEW], [registration(1), registration(2)], lambda _: False
    ) == ReplicaChanges((), ())
    assert reconcile_replicas(
        [NEW], [registration(1), registration(2)], lambda _: True
    ) == ReplicaChanges((), (1,))


def test_of_a_dropped_cluster_nothing_stays() -> None:
    assert reconcile_replicas(
        [], [registration(1), registration(2, is_alive=False)], lambda _: False
    ) == ReplicaChanges((), (1, 2))


def test_a_replica_that_does_not_start_is_retried_after_growing_delays() -> None:
    restarts = RestartBackoff()
    assert restarts.may_start(1, 0)
    pauses = []
    for _ in range(12):
        restarts.record_end(EndedProcess(1, Incarnation(1), "exit code 1"), 100)
        pauses.append(
            next(
                pause
                for pause in (0, 0.25, 0.5, 1, 2, 4, 8, 16, 30, 31)
                if restarts.may_start(1, 100 + pause)
            )
        )
    assert pauses == [0, 0.25, 0.5, 1, 2, 4, 8, 16, 30, 30, 30, 30]
    assert restarts.may_start(2, 100)
    restarts.reset(1)
    assert restarts.may_start(1, 100)
