"""Tables of Delta sinks in a real Hive metastore, by name: as its own protocol and Spark's catalog
show them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fixtures.maintained import World
from fixtures.metastore import Metastore
from fixtures.ports import free_port
from fixtures.sunk import alter, change, delta_rows, emit

from reclock.connectors import hive_metastore
from reclock.consensus.objects.registrations import TableEntry
from reclock.errors import RegistrationFailed, UpstreamUnavailable
from reclock.pipeline import registrations, tick

pytestmark = pytest.mark.servers


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    world.sql(
        "CREATE TABLE sold (id int NOT NULL, word text, amount numeric(10,2), at timestamptz)"
    )
    yield world
    world.close()


def create(world: World, url: str, name: str = "") -> None:
    """A sink ``k`` that has written one row."""
    world.sql(
        f"CREATE CONNECTION hive TO HIVE METASTORE (URL '{url}') WITH (VALIDATE = false); "
        f"CREATE SINK k FROM sold INTO DELTA 'shop/sold' CATALOG CONNECTION hive {name}"
    )
    change(world, "INSERT INTO sold VALUES (1, 'a', 1.5, '2020-02-29 12:00+00')")
    emit(world)


def reconcile(world: World) -> int:
    return registrations.reconcile(world.environment)


def registered_sinks(world: World) -> list[tuple[Any, ...]]:
    return world.sql("SELECT sink, namespace, table_name, status FROM mz_sink_registrations")


def test_spark_finds_a_sink_by_name(world: World, metastore: Metastore) -> None:
    create(world, metastore.url, "(NAMESPACE 'shop', TABLE 'sold')")
    assert reconcile(world) == 0
    assert registered_sinks(world) == [("reclock.public.k", "shop", "sold", "registered")]
    provider, location = metastore.in_spark("shop", "sold")
    assert (provider, location) == ("delta", f"file:{world.home}/sinks/shop/sold")
    [row] = delta_rows(Path(location.removeprefix("file:")))
    assert row[:2] == (1, "a")
    registered = metastore.table("shop", "sold")
    assert [(column.name, column.type) for column in registered.sd.cols] == [
        ("id", "int"),
        ("word", "string"),
        ("amount", "decimal(10,2)"),
        ("at", "timestamp"),
    ]
    assert registered.parameters["spark.sql.sources.provider"] == "delta"


def test_the_entry_follows_the_sink(world: World, metastore: Metastore) -> None:
    create(world, metastore.url)
    assert reconcile(world) == 0
    created = metastore.table("public", "k").createTime
    world.sql("ALTER SINK k RENAME TO kept")
    assert reconcile(world) == 0
    assert metastore.table("public", "k") is None
    assert metastore.table("public", "kept").createTime == created
    world.sql("CREATE VIEW dear AS SELECT id, upper(word) AS word, amount, at FROM sold")
    alter(world, "ALTER SINK kept SET FROM dear")
    assert reconcile(world) == 0  # it is still the same sink
    assert registered_sinks(world) == [("reclock.public.kept", "public", "kept", "registered")]
    world.sql("DROP SINK kept; DROP CONNECTION hive")
    assert reconcile(world) == 0
    assert metastore.table("public", "kept") is None
    assert registered_sinks(world) == []
    assert list((world.home / "sinks" / "shop" / "sold").glob("*.parquet"))


def test_what_is_not_of_the_sink_is_left_alone(world: World, metastore: Metastore) -> None:
    entry = TableEntry(metastore.url, "public", "foreign", "file:/nowhere", (("a", "int"),), "x/u1")
    hive_metastore.put(entry)
    hive_metastore.put(entry)
    create(world, metastore.url, "(TABLE 'foreign')")
    assert reconcile(world) == 1
    [(status, error, hint)] = world.sql("SELECT status, error, hint FROM mz_sink_registrations")
    assert (status, "another table" in error, "drop it" in hint) == ("failing", True, True)
    world.sql("DROP SINK k")
    world.now += registrations.RETRY_AFTER_MS
    assert reconcile(world) == 0
    assert metastore.table("public", "foreign").parameters[hive_metastore.OWNER_PROPERTY] == "x/u1"
    with pytest.raises(RegistrationFailed, match="refuses"):
        hive_metastore.put(TableEntry(metastore.url, "public", "no-name", "file:/x", (), "x/u2"))


def test_maintenance_mends_what_others_changed(world: World, metastore: Metastore) -> None:
    create(world, metastore.url, "(TABLE 'mended')")
    assert reconcile(world) == 0
    present = metastore.table("public", "mended").parameters[hive_metastore.OWNER_PROPERTY]
    hive_metastore.drop(TableEntry(metastore.url, "public", "mended", "", (), present))
    assert reconcile(world) == 0
    assert metastore.table("public", "mended") is None
    assert registrations.reconcile(world.environment, is_verified=True) == 0
    assert metastore.table("public", "mended") is not None
    world.sql("VALIDATE CONNECTION hive")


def test_a_metastore_that_is_away_delays_nothing(world: World) -> None:
    url = f"thrift://127.0.0.1:{free_port()}"
    with pytest.raises(UpstreamUnavailable):
        world.sql(f"CREATE CONNECTION away TO HIVE METASTORE (URL '{url}')")
    create(world, url)
    report = tick.run(world.environment, owner="e1")
    assert report.succeeded
    world.environment.runtime.registrations.close()
    [(status, error, hint)] = world.sql("SELECT status, error, hint FROM mz_sink_registrations")
    assert (status, "does not answer" in error, "every minute" in hint) == ("failing", True, True)
    assert world.sql("SELECT name, status FROM mz_sink_statuses") == [("k", "running")]
    assert reconcile(world) == 0  # not again at once
    world.now += registrations.RETRY_AFTER_MS
    assert reconcile(world) == 1
