"""Registrations of replicas: one incarnation is the present one, and it is alive while it says
so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.database.store import Consensus
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.consensus.processes.replicas import Incarnation, Replicas
from reclock.errors import Fenced, ReplicaSuperseded

REPLICA, CLUSTER, LEASE_MS = 5, 2, 100


@dataclass
class World:
    consensus: Consensus
    replicas: Replicas
    now: int = 1_000


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    consensus = Consensus.connect(
        f"sqlite:///{tmp_path / 'c.db'}", clock=lambda: Timestamp(created.now)
    )
    leadership = Leadership(epoch=2, deploy_generation=0)
    created = World(consensus, Replicas(consensus, leadership))
    consensus.transact(lambda connection: fence.advance(connection, leadership))
    yield created
    consensus.close()


def begun(world: World, *, supersede: bool = False) -> Incarnation:
    incarnation = world.replicas.begin(REPLICA, CLUSTER, lease_ms=LEASE_MS, supersede=supersede)
    assert incarnation is not None
    return incarnation


def test_one_is_begun_at_a_time(world: World) -> None:
    assert world.replicas.begin(REPLICA, CLUSTER, lease_ms=LEASE_MS) == 1
    assert world.replicas.begin(REPLICA, CLUSTER, lease_ms=LEASE_MS) is None
    world.now += LEASE_MS
    assert world.replicas.begin(REPLICA, CLUSTER, lease_ms=LEASE_MS) == 2


def test_it_can_be_asked_from_its_announcement_on_while_it_beats(world: World) -> None:
    first = begun(world)
    [registered] = world.replicas.of_cluster(CLUSTER)
    assert (registered.is_alive, registered.is_ready) == (True, False)
    world.replicas.announce(REPLICA, first, "grpc://127.0.0.1:1", lease_ms=LEASE_MS)
    for _ in range(3):
        world.now += LEASE_MS - 1
        world.replicas.beat(REPLICA, first, lease_ms=LEASE_MS)
        assert [replica.is_ready for replica in world.replicas.of_cluster(CLUSTER)] == [True]
    world.now += LEASE_MS
    assert not world.replicas.is_alive(REPLICA, first)
    world.replicas.beat(REPLICA, first, lease_ms=LEASE_MS)
    assert world.replicas.is_alive(REPLICA, first)
    assert world.replicas.of_cluster(CLUSTER + 1) == []


def test_a_superseded_or_forgotten_replica_learns_it(world: World) -> None:
    first = begun(world)
    second = begun(world, supersede=True)
    assert world.replicas.token(REPLICA, second)
    for use in (
        world.replicas.token,
        lambda *incarnation: world.replicas.beat(*incarnation, lease_ms=1),
    ):
        with pytest.raises(ReplicaSuperseded):
            use(REPLICA, first)
    with pytest.raises(ReplicaSuperseded):
        world.replicas.announce(REPLICA, first, "grpc://127.0.0.1:1", lease_ms=LEASE_MS)
    world.replicas.forget(REPLICA)
    with pytest.raises(ReplicaSuperseded):
        world.replicas.beat(REPLICA, second, lease_ms=LEASE_MS)
    assert world.replicas.all() == []


def test_a_lost_one_may_be_followed_at_once_and_why_is_known(world: World) -> None:
    first = begun(world)
    world.replicas.lost(REPLICA, first, "signal 9")
    assert world.replicas.begin(REPLICA, CLUSTER, lease_ms=LEASE_MS) == 2
    world.replicas.lost(REPLICA, first, "told late")
    [registered] = world.replicas.of_cluster(CLUSTER)
    assert (registered.is_alive, registered.trouble) == (True, "signal 9")


def test_each_incarnation_has_a_token_that_is_not_shown(world: World) -> None:
    tokens = []
    for _ in range(2):
        incarnation = begun(world, supersede=True)
        tokens.append(world.replicas.token(REPLICA, incarnation))
        assert tokens[-1] not in repr(world.replicas.of_cluster(CLUSTER))
    assert len(set(tokens)) == 2
    assert all(len(token) >= 32 for token in tokens)


def test_a_fenced_process_registers_nothing(world: World) -> None:
    incarnation = begun(world)
    world.consensus.transact(
        lambda connection: fence.advance(connection, Leadership(epoch=3, deploy_generation=0))
    )
    with pytest.raises(Fenced):
        world.replicas.beat(REPLICA, incarnation, lease_ms=LEASE_MS)
