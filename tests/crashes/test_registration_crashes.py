"""A process that is killed between a change in a metastore and its record, or overtaken by another,
leaves the entries of the catalog's sinks after the next tick, and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path

import pytest
from fixtures import workers
from fixtures.forks import die_at
from fixtures.maintained import World
from fixtures.metastore import Metastore
from fixtures.sunk import alter, change, emit

from reclock import failpoints
from reclock.algebra.timestamps import Timestamp
from reclock.connectors import hive_metastore
from reclock.consensus.objects.registrations import TableEntry
from reclock.pipeline import registrations, tick
from reclock.runtime.environment import Environment

pytestmark = pytest.mark.servers

CHANGES: Mapping[str, tuple[str, list[str]]] = {
    "created": ("", ["k"]),
    "renamed": ("ALTER SINK k RENAME TO n", ["n"]),
    "dropped": ("DROP SINK k", []),
}
"""What happens to the sink ``k``, and the tables of its namespace in the metastore afterwards."""

RECORDED, BEFORE, _ = POINTS = (
    "registrations.recorded",
    "metastore.before_change",
    "metastore.after_change",
)
KILLS = [
    (kind, point) for kind in CHANGES for point in POINTS if (kind, point) != ("dropped", RECORDED)
]
_namespaces = count()


class Shop:
    """A world with a sink ``k`` that has written a row, and its namespace in the metastore."""

    def __init__(self, folder: Path, metastore: Metastore) -> None:
        self.world, self.metastore = World(folder), metastore
        self.namespace = f"crashed{next(_namespaces)}"
        self.world.sql(
            f"CREATE TABLE t (id int, word text); CREATE CONNECTION hive TO HIVE METASTORE (URL '{metastore.url}')"
        )
        self.create_sink()

    def create_sink(self) -> None:
        self.world.sql(
            f"CREATE SINK k FROM t INTO DELTA 't{self.world.now}' "
            f"CATALOG CONNECTION hive (NAMESPACE '{self.namespace}')"
        )
        change(self.world, "INSERT INTO t VALUES (1, 'a')")
        emit(self.world)

    def alter(self, statement: str) -> None:
        if statement:
            assert self.reconcile() == 0
            alter(self.world, statement)

    def reconcile(self) -> int:
        return reconcile(self.world.home, self.world.now)

    def tick(self) -> None:
        self.world.now += 1000
        tick.run(self.world.environment, owner="ticking")
        self.world.environment.runtime.registrations.take(["registrations"], patience_s=None)

    def assert_registered(self, tables: list[str]) -> None:
        assert self.metastore.tables(self.namespace) == tables
        recorded = self.world.environment.stores.registrations.get_all().values()
        assert [(table.entry.table, table.is_registered) for table in recorded] == [
            (name, True) for name in tables
        ]


@pytest.fixture
def shop(tmp_path: Path, metastore: Metastore) -> Iterator[Shop]:
    shop = Shop(tmp_path, metastore)
    yield shop
    shop.world.close()


def reconcile(home: Path, now: int) -> int:
    with Environment.open(home, clock=lambda: Timestamp(now)) as environment:
        return registrations.reconcile(environment)


def reconcile_at_once(begin_together: Callable[[], None], home: Path, now: int) -> int:
    with Environment.open(home, clock=lambda: Timestamp(now)) as environment:
        begin_together()
        return registrations.reconcile(environment)


@pytest.mark.parametrize(("kind", "killed_at"), KILLS)
def test_a_process_is_killed(shop: Shop, kind: str, killed_at: str) -> None:
    statement, tables = CHANGES[kind]
    shop.alter(statement)
    die_at(killed_at, reconcile, shop.world.home, shop.world.now)
    shop.tick()
    shop.assert_registered(tables)


@pytest.mark.parametrize("killed_at", POINTS)
def test_a_process_is_killed_and_the_sink_is_renamed_or_dropped_then(
    shop: Shop, killed_at: str
) -> None:
    die_at(killed_at, reconcile, shop.world.home, shop.world.now)
    alter(shop.world, "ALTER SINK k RENAME TO n")
    die_at(killed_at, reconcile, shop.world.home, shop.world.now)
    alter(shop.world, "ALTER SINK n RENAME TO k")
    shop.tick()
    shop.assert_registered(["k"])
    alter(shop.world, "ALTER SINK k RENAME TO n")
    die_at(killed_at, reconcile, shop.world.home, shop.world.now)
    alter(shop.world, "DROP SINK n")
    shop.tick()
    shop.assert_registered([])


@pytest.mark.parametrize("kind", CHANGES)
def test_processes_at_once(shop: Shop, kind: str) -> None:
    statement, tables = CHANGES[kind]
    shop.alter(statement)
    arguments = [(shop.world.home, shop.world.now)] * 3
    assert workers.run_at_once(reconcile_at_once, arguments) == [0, 0, 0]
    shop.assert_registered(tables)


def put_at_once(begin_together: Callable[[], None], entry: TableEntry, former: TableEntry) -> None:
    begin_together()
    hive_metastore.put(entry, [former])


def drop_at_once(begin_together: Callable[[], None], entry: TableEntry) -> None:
    begin_together()
    hive_metastore.drop(entry)


def test_the_metastore_tells_lost_races_in_many_ways(tmp_path: Path, metastore: Metastore) -> None:
    for number in range(5):
        former, entry = (
            TableEntry(
                metastore.url, "raced", f"{name}{number}", f"file:{tmp_path}", (("a", "int"),), "me"
            )
            for name in ("former", "present")
        )
        hive_metastore.put(former)
        workers.run_at_once(put_at_once, [(entry, former)] * 4)
        assert metastore.tables("raced") == [entry.table]
        hive_metastore.drop(entry)
    hive_metastore.put(entry)
    workers.run_at_once(drop_at_once, [(entry,)] * 4)
    assert metastore.tables("raced") == []


@pytest.mark.parametrize("overtaken_at", POINTS)
@pytest.mark.parametrize("kind", CHANGES)
def test_a_process_is_overtaken_by_another_that_does_the_same(
    shop: Shop, kind: str, overtaken_at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement, tables = CHANGES[kind]
    shop.alter(statement)
    once(monkeypatch, overtaken_at, lambda: shop.reconcile())
    assert shop.reconcile() == 0
    shop.assert_registered(tables)


@pytest.mark.parametrize("overtaken_at", POINTS)
@pytest.mark.parametrize("kind", ["renamed", "dropped"])
def test_a_process_is_overtaken_by_another_that_knows_of_a_change(
    shop: Shop, kind: str, overtaken_at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement, tables = CHANGES[kind]

    def overtake() -> None:
        alter(shop.world, statement)
        assert shop.reconcile() == 0

    once(monkeypatch, overtaken_at, overtake)
    assert shop.reconcile() == 0
    shop.tick()
    shop.assert_registered(tables)


@pytest.mark.parametrize("overtaken_at", POINTS)
def test_a_process_is_overtaken_by_another_and_the_sink_is_dropped(
    shop: Shop, overtaken_at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overtake() -> None:
        alter(shop.world, "ALTER SINK k RENAME TO n")
        assert shop.reconcile() == 0

    once(monkeypatch, overtaken_at, overtake)
    assert shop.reconcile() == 0
    alter(shop.world, "DROP SINK n")
    shop.tick()
    shop.assert_registered([])


def test_a_verification_is_overtaken(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shop.reconcile() == 0
    [table] = shop.world.environment.stores.registrations.get_all().values()
    hive_metastore.drop(table.entry)

    def overtake() -> None:
        alter(shop.world, "ALTER SINK k RENAME TO n")
        assert shop.reconcile() == 0

    once(monkeypatch, BEFORE, overtake)
    registrations.reconcile(shop.world.environment, is_verified=True)
    shop.tick()
    shop.assert_registered(["n"])


def test_a_new_sink_takes_the_name_of_a_dropped_one_at_once(shop: Shop) -> None:
    assert shop.reconcile() == 0
    alter(shop.world, "DROP SINK k")
    shop.create_sink()
    assert shop.reconcile() == 0
    shop.assert_registered(["k"])


def once(monkeypatch: pytest.MonkeyPatch, point: str, overtake: Callable[[], object]) -> None:
    """The first that reaches the point is overtaken there."""

    def reach(name: str) -> None:
        if name == point:
            monkeypatch.setattr(failpoints, "on_reach", None)
            overtake()

    monkeypatch.setattr(failpoints, "on_reach", reach)
