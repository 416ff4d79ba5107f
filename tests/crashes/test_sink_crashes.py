"""An emitter killed anywhere, or overtaken by others, leaves a Delta table that is the relation at
one time, each time once."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.emitters import Emitters
from fixtures.maintained import World
from fixtures.sunk import delta_history

from reclock.errors import ClaimConflict
from reclock.pipeline import cluster_steps

POINTS = [
    "sinks.emit.after_claim",
    "sinks.emit.begun",
    "sinks.delta.before_commit",
    "collections.commit.landed",
    "sinks.delta.after_commit",
    "sinks.emit.committed",
    "sinks.emit.published",
]

CHANGES = [
    "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (2, 'b')",
    "UPDATE t SET word = 'c' WHERE id = 2",
    "DELETE FROM t WHERE id = 1",
]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    (tmp_path / "reclock.toml").write_text("claim_lease_ms = 600000\n")  # no machine is so slow
    made = World(tmp_path)
    make(made)
    yield made
    made.close()


def make(world: World) -> None:
    world.sql("CREATE TABLE t (id int, word text)")
    world.sql("CREATE SINK k FROM t INTO DELTA 't'")


def change(world: World, *statements: str) -> None:
    for statement in statements:
        world.now += 1000
        world.sql(statement)
    # or else the emitter does, and commits to the lake before it claims
    world.environment.stores.tables.apply()


def check(world: World, *, times: int) -> None:
    """Every commit of the sink is the table at the time it names: read from the target alone."""
    history = list(delta_history(world.home / "sinks" / "t"))
    assert [at for at, _ in history] == sorted({at for at, _ in history})
    for at, rows in history:
        assert rows == Counter(world.sql(f"SELECT * FROM t AS OF {at}"))
    assert len(history) == times


@pytest.mark.parametrize("killed_at", POINTS)
def test_killed_at_any_point_it_repeats_and_loses_nothing(
    world: World, emitters: Emitters, killed_at: str
) -> None:
    change(world, *CHANGES)
    assert emitters.emit(world, "k", points=(killed_at,)) == [-signal.SIGKILL]
    if not killed_at.endswith("published"):
        with pytest.raises(ClaimConflict):
            # the lease of the dead lasts
            cluster_steps.emit(world.environment, "k", world.now, owner="another")
    change(world, "INSERT INTO t VALUES (5, 'e')", "DELETE FROM t WHERE id = 2")
    assert emitters.emit(world, "k", points=(killed_at,)) == [-signal.SIGKILL]
    cluster_steps.emit(world.environment, "k", world.now, owner="worker")
    check(world, times=6)


def test_emitters_that_take_one_another_for_dead_write_each_time_once(
    tmp_path: Path, emitters: Emitters
) -> None:
    (tmp_path / "reclock.toml").write_text("claim_lease_ms = 1\n")
    world = World(tmp_path)
    try:
        make(world)
        for _ in range(2):
            change(world, *CHANGES)
            owners = ("one", "two", "three")
            assert set(emitters.emit(world, "k", points=("never",) * 3, owners=owners)) <= {0, 1}
        while 0 not in emitters.emit(world, "k"):
            pass
        check(world, times=7)
    finally:
        world.close()
