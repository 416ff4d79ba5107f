"""Lookups by key: they find every row that has a value of the keys, scan where that is better, and
stay within their memory."""

from __future__ import annotations

import errno
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from fixtures.lakes import updates_table
from fixtures.planning import World

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import (
    BIGINT,
    TEXT,
    TIME_COLUMN,
    TIMESTAMPTZ,
    Column,
    RelationDesc,
    ScalarType,
    numeric,
)
from reclock.algebra.timestamps import Timestamp
from reclock.algebra.updates import Update
from reclock.collections.lake import Lake
from reclock.collections.version import Version
from reclock.compute import maintenance
from reclock.compute.engines.arranged_files import MappedFiles
from reclock.compute.engines.duckdb import DuckDbEngine
from reclock.compute.engines.engine import CollectionInput
from reclock.compute.engines.group_states import GroupStates
from reclock.compute.engines.key_lookups import KeyHashes, KeyLookups
from reclock.plan.functions.sql_names import type_sql
from reclock.plan.relational import Get
from reclock.sql.queries.views import expand

ROWS = 20_000

NOON = datetime(2020, 1, 1, 12, tzinfo=UTC)


@pytest.fixture(params=["in memory", "mapped"])
def mapped(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> MappedFiles:
    if request.param == "mapped":
        monkeypatch.setattr("reclock.compute.engines.arranged_files._SMALL_BYTES", 0)
    return MappedFiles(tmp_path / "spill")


def stored(
    folder: Path, desc: RelationDesc, *parts: list[tuple[Any, ...]], id: str = "u1"
) -> Version:
    """A collection with a file for each part, the first at time 1."""
    collection = Lake(str(folder)).create(StorageCollectionId(GlobalId(id)), desc)
    for time, rows in enumerate(parts, 1):
        table = updates_table([Update(row, Timestamp(time), 1) for row in rows], desc)
        collection.append(table, expected_upper=collection.upper(), new_upper=Timestamp(time + 1))
    return collection.pin()


def look_up(
    lookups: KeyLookups, version: Version, columns: tuple[int, ...], keys: list[tuple[Any, ...]]
) -> pa.Table | None:
    types = [version.desc.columns[index].type for index in columns]
    with duckdb.connect() as session:
        listed = ", ".join(
            f"c{place} {type_sql('duckdb', type)}" for place, type in enumerate(types)
        )
        session.execute(f"CREATE TABLE keys ({listed})")
        if keys:
            session.executemany(f"INSERT INTO keys VALUES ({', '.join('?' for _ in types)})", keys)
        files = version.files(upper=version.upper)
        return lookups.matching(
            KeyHashes(session, "SELECT * FROM keys"), version, files, columns, version.desc.names
        )


@pytest.mark.parametrize(
    ("type", "value", "other"),
    [
        (BIGINT, 7, 8),
        (TEXT, "a", "b"),
        (numeric(15, 2), Decimal("1.50"), Decimal("1.51")),
        (TIMESTAMPTZ, NOON, NOON.replace(hour=13)),
        (BIGINT, None, 0),
    ],
)
def test_rows_are_found_in_every_file_by_values_of_every_type(
    mapped: MappedFiles, tmp_path: Path, type: ScalarType, value: Any, other: Any
) -> None:
    desc = RelationDesc((Column("n", BIGINT), Column("key", type)))
    version = stored(
        tmp_path, desc, [(1, value), (2, other)], [(3, other)], [(4, value), (5, value)]
    )
    lookups = KeyLookups(1 << 20, mapped, whole_rows=0)
    key = value.replace(tzinfo=None) if isinstance(value, datetime) else value  # as plans see it
    for _ in range(2):
        updates = look_up(lookups, version, (1,), [(key,)])
        assert updates is not None
        assert sorted(
            zip(updates["n"].to_pylist(), updates[TIME_COLUMN].to_pylist(), strict=True)
        ) == [(1, 1), (4, 3), (5, 3)]
    nothing = look_up(lookups, version, (1,), [])
    assert nothing is not None
    assert nothing.num_rows == 0


def test_several_columns_are_one_key(mapped: MappedFiles, tmp_path: Path) -> None:
    desc = RelationDesc((Column("a", BIGINT), Column("b", TEXT)))
    version = stored(tmp_path, desc, [(1, "x"), (1, "y"), (2, "x"), (None, "x")])
    updates = look_up(
        KeyLookups(1 << 20, mapped, whole_rows=0), version, (1, 0), [("x", 1), ("x", None)]
    )
    assert updates is not None
    assert sorted(updates["a"].to_pylist(), key=str) == [1, None]


def test_what_finds_much_scans(mapped: MappedFiles, tmp_path: Path) -> None:
    desc = RelationDesc((Column("n", BIGINT), Column("half", BIGINT)))
    version = stored(tmp_path, desc, [(n, n % 2) for n in range(ROWS)])
    lookups = KeyLookups(1 << 24, mapped)
    assert look_up(lookups, version, (1,), [(1,)]) is None
    assert look_up(lookups, version, (0,), [(n,) for n in range(ROWS // 2)]) is None
    updates = look_up(lookups, version, (0,), [(n,) for n in range(500)])
    assert updates is not None
    assert updates.num_rows == 500


def test_arranging_the_files_of_a_change_is_no_build(mapped: MappedFiles, tmp_path: Path) -> None:
    """A build makes the next refreshes cheaper; each of them has the files of its change to
    arrange."""
    desc = RelationDesc((Column("n", BIGINT),))
    version = stored(tmp_path, desc, [(n,) for n in range(ROWS)])
    lookups = KeyLookups(1 << 24, mapped)
    assert look_up(lookups, version, (0,), [(1,)]) is not None
    assert lookups.builds == 1
    collection = Lake(str(tmp_path)).open(version.id)
    changes = [Update((ROWS + n,), version.upper, 1) for n in range(ROWS // 5)]
    collection.append(
        updates_table(changes, desc),
        expected_upper=version.upper,
        new_upper=Timestamp(version.upper + 1),
    )
    updates = look_up(lookups, collection.pin(), (0,), [(1,), (ROWS,)])
    assert updates is not None
    assert updates.num_rows == 2
    assert lookups.builds == 1


def test_what_does_not_fit_scans(mapped: MappedFiles, tmp_path: Path) -> None:
    desc = RelationDesc((Column("n", BIGINT),))
    version = stored(tmp_path, desc, [(n,) for n in range(100)])
    assert look_up(KeyLookups(1 << 20, mapped, whole_rows=0), version, (0,), [(1,)]) is not None
    assert look_up(KeyLookups(100, mapped, whole_rows=0), version, (0,), [(1,)]) is None


def test_files_that_nobody_used_lately_make_room(
    mapped: MappedFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desc = RelationDesc((Column("n", BIGINT),))
    first, second = (
        stored(tmp_path, desc, [(n,) for n in range(5_000)], id=id) for id in ("u1", "u2")
    )
    lookups = KeyLookups(200_000, mapped)
    assert look_up(lookups, first, (0,), [(1,)]) is not None
    assert look_up(lookups, second, (0,), [(1,)]) is None
    monkeypatch.setattr("reclock.compute.engines.key_lookups._RECENT_S", -1.0)
    assert look_up(lookups, second, (0,), [(1,)]) is not None


def test_a_full_disk_means_a_scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desc = RelationDesc((Column("n", BIGINT),))
    version = stored(tmp_path, desc, [(n,) for n in range(100)])
    monkeypatch.setattr("reclock.compute.engines.arranged_files._SMALL_BYTES", 0)
    lookups = KeyLookups(1 << 20, MappedFiles(tmp_path / "spill"))

    def full(path: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(pa, "memory_map", full)
        assert look_up(lookups, version, (0,), [(1,)]) is None
    [folder] = (tmp_path / "spill").iterdir()
    assert list(folder.iterdir()) == []
    assert look_up(lookups, version, (0,), [(1,)]) is not None


class Counting(KeyLookups):
    """With the number of updates that each lookup found; None for a scan."""

    def matching(self, *arguments: Any) -> pa.Table | None:
        updates = super().matching(*arguments)
        self.counts.append(None if updates is None else updates.num_rows)
        return updates

    counts: list[int | None]


@pytest.mark.parametrize(("limit_bytes", "counts"), [(1 << 26, [2, 2]), (0, [None, None])])
def test_a_join_of_three_reads_only_what_matches_the_change(
    mapped: MappedFiles, tmp_path: Path, limit_bytes: int, counts: list[int | None]
) -> None:
    """Customers are reached from a line by its order, whatever the order of the join. Without room
    for what is searched, the step scans, and has the same rows."""
    world = World()
    for definition in (
        "CREATE TABLE customers (id bigint, name text)",
        "CREATE TABLE orders (id bigint, customer bigint)",
        "CREATE TABLE lines (order_id bigint, amount bigint)",
    ):
        world.execute(definition)
    world.execute(
        """CREATE VIEW v AS SELECT name, amount FROM customers JOIN orders ON customers.id = customer
           JOIN lines ON orders.id = order_id"""
    )
    view = world.catalog.relation(world.item("v").id)
    plan = expand(Get(view.collection, "v", view.desc), world.catalog)
    relations = [
        world.catalog.relation(world.item(name).id) for name in ("customers", "orders", "lines")
    ]
    rows: list[list[list[tuple[Any, ...]]]] = [
        [[(n, f"c{n}") for n in range(ROWS // 10)], []],
        [[(n, n % (ROWS // 10)) for n in range(ROWS)], []],
        [[(n, n) for n in range(ROWS)], [(77, -1), (78, -2)]],
    ]
    inputs = {
        relation.collection: CollectionInput(
            stored(tmp_path, relation.desc, *(part for part in parts if part), id=f"u{number}")
        )
        for number, (relation, parts) in enumerate(zip(relations, rows, strict=True), 1)
    }
    lookups = Counting(limit_bytes, mapped)
    lookups.counts = []
    engine = DuckDbEngine([str(tmp_path)], lookups=lookups)
    maintainer = maintenance.maintainer(plan, plan.desc)
    updates = maintenance.refresh_each(
        maintainer, engine, inputs, None, None, [Timestamp(1), Timestamp(2)]
    ).updates
    new = [row for row in updates.to_pylist() if row[TIME_COLUMN] == 2]
    assert sorted((row["name"], row["amount"]) for row in new) == [("c77", -1), ("c78", -2)]
    assert lookups.counts == counts


def test_an_anti_join_looks_up_only_rows_whose_matches_come_or_go(
    mapped: MappedFiles, tmp_path: Path
) -> None:
    """Once the engine keeps how many orders each customer has, no order is read again."""
    world = World()
    world.execute("CREATE TABLE customers (id bigint, name text)")
    world.execute("CREATE TABLE orders (id bigint, customer bigint)")
    world.execute(
        "CREATE VIEW v AS SELECT name FROM customers WHERE NOT EXISTS (SELECT 1 FROM "
        "orders WHERE customer = customers.id)"
    )
    view = world.catalog.relation(world.item("v").id)
    plan = expand(Get(view.collection, "v", view.desc), world.catalog)
    customers, orders = (
        world.catalog.relation(world.item(name).id) for name in ("customers", "orders")
    )
    in_files = [[(n, f"c{n}") for n in range(ROWS)]]
    with_orders = [
        [(n, n // 2) for n in range(ROWS)],
        [(-1, 7), (-2, 8)],
        [(-3, 9), (-4, ROWS - 1)],
    ]
    inputs = {
        customers.collection: CollectionInput(stored(tmp_path, customers.desc, *in_files, id="u1")),
        orders.collection: CollectionInput(stored(tmp_path, orders.desc, *with_orders, id="u2")),
    }
    lookups = Counting(1 << 26, mapped)
    lookups.counts = []
    engine = DuckDbEngine([str(tmp_path)], lookups=lookups, group_states=GroupStates(1 << 26))
    maintainer = maintenance.maintainer(plan, plan.desc, GlobalId("u3"))
    times = [Timestamp(time) for time in (1, 2, 3)]
    updates = maintenance.refresh_each(maintainer, engine, inputs, None, None, times).updates
    assert [row["name"] for row in updates.to_pylist() if row[TIME_COLUMN] > 1] == [f"c{ROWS - 1}"]
    assert lookups.counts == [0, 1]
