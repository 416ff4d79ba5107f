"""A sink that ALTER SINK gave another relation writes the difference between the relations exactly
once, whoever is killed or late: every version of its target is one of the relations at one time."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.emitters import Emitters
from fixtures.maintained import World
from fixtures.sunk import alter, change, delta_history, delta_rows, emit

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.controllers.implied import sink_spec
from reclock.errors import DependentObjects, InvalidOption, SinkNotSwitched
from reclock.pipeline import cluster_steps
from reclock.pipeline.maintenance import maintain
from reclock.protocol.compute import Emit

POINTS = [
    "sinks.emit.after_claim",
    "sinks.emit.begun",
    "sinks.delta.before_commit",
    "sinks.delta.after_commit",
    "sinks.emit.committed",
    "sinks.emit.published",
]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    (tmp_path / "reclock.toml").write_text("claim_lease_ms = 600000\n")  # no machine is so slow
    world = World(tmp_path)
    world.sql("CREATE TABLE t (id int, word text); CREATE SINK k FROM t INTO DELTA 't'")
    world.sql("CREATE VIEW loud AS SELECT id, upper(word) AS word FROM t WHERE id > 1")
    change(world, "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (2, 'b'), (3, 'C')")
    yield world
    world.close()


def check(world: World, *relations: str) -> None:
    """Every version is a relation at the time it says, and these follow one another in this
    order."""
    order, last = list(relations), 0
    for at, rows in delta_history(world.home / "sinks" / "t"):
        assert at > last
        last = at
        while rows != Counter(world.sql(f"SELECT * FROM {order[0]} AS OF {at}")):
            order.pop(0)
            assert order, f"no relation has these rows at {at}"
    assert len(order) == 1
    rows = Counter(world.sql(f"SELECT * FROM {relations[-1]}"))
    assert delta_rows(world.home / "sinks" / "t") == rows


def test_the_target_gets_the_difference_and_then_the_changes(world: World) -> None:
    emit(world)
    world.sql("COMMENT ON SINK k IS 'kept'")
    alter(world, "ALTER SINK k SET FROM loud")
    switched = emit(world)
    assert (switched.commits, switched.changes) == (1, 5)  # C stays
    change(world, "INSERT INTO t VALUES (1, 'x'), (4, 'd')")
    assert emit(world).changes == 1
    check(world, "t", "loud")
    assert world.sql("SELECT comment FROM mz_internal.mz_comments") == [("kept",)]
    alter(world, "ALTER SINK k SET FROM loud")  # a notice
    alter(world, "CREATE TABLE u (id int, word text)", "ALTER SINK k SET FROM u")
    emit(world)
    check(world, "t", "loud", "u")
    [(definition,)] = world.sql("SELECT create_sql FROM mz_sinks")
    assert "REPLACING" not in definition
    world.sql("DROP TABLE t CASCADE")
    change(world, "INSERT INTO u VALUES (7, 'u')")
    assert emit(world).changes == 1


@pytest.mark.parametrize("killed_at", POINTS)
def test_killed_while_it_switches_it_writes_the_difference_once(
    world: World, emitters: Emitters, killed_at: str
) -> None:
    emit(world)
    alter(world, "INSERT INTO t VALUES (5, 'e')", "ALTER SINK k SET FROM loud")
    change(world, "INSERT INTO t VALUES (6, 'f')")
    assert emitters.emit(world, "k", points=(killed_at,)) == [-signal.SIGKILL]
    change(world, "INSERT INTO t VALUES (8, 'h')", "DELETE FROM t WHERE id = 3")
    emit(world, owner="worker")
    check(world, "t", "loud")


@pytest.mark.parametrize("killed_at", ["sinks.emit.begun", "sinks.delta.after_commit"])
def test_what_an_emitter_of_the_old_relation_wrote_at_last_is_the_base(
    world: World, emitters: Emitters, killed_at: str
) -> None:
    emit(world)
    change(world, "INSERT INTO t VALUES (5, 'e')", "DELETE FROM t WHERE id = 2")
    assert emitters.emit(world, "k", points=(killed_at,)) == [-signal.SIGKILL]
    alter(world, "ALTER SINK k SET FROM loud")
    emit(world, owner="another")  # the lease of the dead does not count
    check(world, "t", "loud")


def test_an_emitter_that_read_the_catalog_before_can_write_nothing_more(world: World) -> None:
    emit(world)
    catalog = world.environment.stores.planner_catalog()
    old = sink_spec(catalog, GlobalId(world.id_of("k")))
    assert catalog.snapshot is not None
    alter(world, "ALTER SINK k SET FROM loud", "INSERT INTO t VALUES (5, 'e')")
    controller = world.environment.control_plane.compute_controller(1)
    command = Emit(old, Timestamp(world.now), "late", catalog.snapshot.content_upper)
    for _ in range(2):
        world.environment.control_plane.await_storage(world.environment.stores.planner_catalog())
        with pytest.raises(Exception, match=f'"{old.id}"'):
            controller.emit(command)
        emit(world)
    check(world, "t", "loud")


def test_before_its_first_emission_it_begins_with_the_new_relation(world: World) -> None:
    alter(world, "ALTER SINK k SET FROM loud")
    assert emit(world).changes == 3
    check(world, "loud")


def test_the_previous_relation_stays_readable_until_the_switch(world: World) -> None:
    emit(world)
    alter(world, "CREATE TABLE other (id int, word text)", "ALTER SINK k SET FROM other")
    world.sql("DROP VIEW loud")
    with pytest.raises(DependentObjects):
        world.sql("DROP TABLE t")
    with pytest.raises(SinkNotSwitched):
        world.sql("ALTER SINK k SET FROM t")
    change(world, "INSERT INTO t VALUES (9, 'z')", "INSERT INTO other VALUES (1, 'o')")
    world.now += 10 * 86_400_000
    maintain(world.environment.stores, "tables")
    emit(world)
    check(world, "t", "other")
    assert cluster_steps.sink_names(world.environment) == ["reclock.public.k"]


@pytest.mark.parametrize(
    "columns", ["word, id", "id::bigint AS id, word", "id, word, 1 AS n", "id AS no, word"]
)
def test_a_relation_with_other_columns_is_refused(world: World, columns: str) -> None:
    world.sql(f"CREATE VIEW v AS SELECT {columns} FROM t")
    with pytest.raises(InvalidOption, match="has other columns"):
        world.sql("ALTER SINK k SET FROM v")
