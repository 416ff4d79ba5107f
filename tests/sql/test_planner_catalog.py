"""The catalog as planning reads it: names, entries, and views by their own id."""

from __future__ import annotations

from fixtures.planning import S3, SYSTEM_RELATION, World

from reclock.algebra.ids import StorageCollectionId
from reclock.catalog.objects import ItemType
from reclock.definitions.sources import ObjectsConnector
from reclock.plan.relational import Get, collections
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog_builder import build_catalog
from reclock.sql.names import SessionNames
from reclock.sql.queries.views import expand, relation_plan
from reclock.sql.statements.views.plan import CreateView


def test_views_are_read_by_their_own_id_until_they_are_expanded(world: World) -> None:
    select = world.select("SELECT carrier FROM delays")
    view, flights = world.item("delays").id, world.item("flights").id
    assert collections(select.plan) == {StorageCollectionId(view)}
    assert collections(expand(select.plan, world.catalog)) == {StorageCollectionId(flights)}
    index = StorageCollectionId(SYSTEM_RELATION.id)
    chosen = expand(
        select.plan,
        world.catalog,
        lambda collection: index if collection.source_id == view else None,
    )
    assert collections(chosen) == {index}


def test_names_are_looked_up_along_the_search_path(world: World) -> None:
    world.execute("CREATE VIEW lab.delays AS SELECT 1 AS a; CREATE VIEW lab.solo AS SELECT 2 AS b")
    assert world.select("SELECT * FROM delays").desc.names[0] == "carrier"
    assert world.select("SELECT * FROM lab.delays").desc.names == ("a",)
    assert world.select("SELECT * FROM reclock.lab.delays").desc.names == ("a",)
    world.session = SessionNames(search_path=("lab", "public"))
    assert world.select("SELECT * FROM delays").desc.names == ("a",)
    assert world.select("SELECT name FROM airlines").desc.names == ("name",)
    created = world.plan("CREATE VIEW here AS SELECT b FROM solo")
    assert isinstance(created, CreateView)
    assert str(created.name) == "reclock.lab.here"
    assert created.create_sql.endswith("FROM reclock.lab.solo")


def test_a_newer_catalog_keeps_the_entries_that_did_not_change(world: World) -> None:
    before = {entry.name.item: entry for entry in world.catalog.entries()}
    world.execute("CREATE VIEW another AS SELECT 1 AS a")
    after = {entry.name.item: entry for entry in world.catalog.entries()}
    assert all(after[name] is entry for name, entry in before.items())
    assert "another" in after


STATEMENTS = (
    "CREATE TABLE t (a int PRIMARY KEY, b text)",
    "CREATE VIEW v AS SELECT a FROM t",
    "CREATE MATERIALIZED VIEW m AS SELECT count(*) AS c FROM v",
    "CREATE VIEW w AS SELECT c FROM m",
    "DROP VIEW w",
    "CREATE INDEX i ON v (a)",
    "ALTER TABLE t ADD CONSTRAINT positive CHECK (a > 0)",
    "CREATE VIEW by_key AS SELECT a, b FROM t GROUP BY a",
    "ALTER TABLE t ALTER COLUMN b SET DEFAULT 'x'",
    "DROP VIEW by_key",
    "ALTER TABLE t DROP CONSTRAINT t_pkey",
    "ALTER TABLE t ADD CONSTRAINT again PRIMARY KEY (a)",
    "ALTER TABLE t RENAME TO u",
    "CREATE VIEW w AS SELECT v.a FROM v JOIN u ON v.a = u.a",
    "DROP INDEX i",
    "CREATE VIEW lab.w AS SELECT * FROM w",
    "DROP TABLE u CASCADE",
    f"CREATE SOURCE src (a int) {S3} FORMAT JSON EXPOSE PROGRESS AS src_progress",
    "DROP SOURCE src",
)


def test_a_catalog_that_follows_another_is_the_one_built_from_nothing(world: World) -> None:
    for statement in STATEMENTS:
        world.execute(statement)
        assert world.catalog.snapshot is not None
        anew = build_catalog(world.catalog.snapshot, [SYSTEM_RELATION])
        assert list(world.catalog.entries()) == list(anew.entries()), statement
        assert list(world.catalog.indexes()) == list(anew.indexes())
        for entry in anew.entries():
            scope = entry.name.scope
            assert dict(world.catalog.within(scope)) == dict(anew.within(scope))
            assert list(world.catalog.indexes_on(entry.id)) == list(anew.indexes_on(entry.id))


def test_the_plan_of_a_relation_follows_what_it_reads(world: World) -> None:
    """Each catalog's is as planned anew, though they share those that stay the same."""
    for statement in STATEMENTS:
        catalog = world.catalog
        plans = {entry.id: relation_plan(entry, catalog) for entry in catalog.relations()}
        world.execute(statement)
        for entry in world.catalog.relations():
            get = Get(entry.collection, str(entry.name), entry.desc)
            assert relation_plan(entry, world.catalog) == expand(get, world.catalog), statement
        assert plans == {entry.id: relation_plan(entry, catalog) for entry in catalog.relations()}


def test_a_definition_of_a_table_keeps_the_plans_of_what_does_not_see_it(world: World) -> None:
    world.execute("CREATE TABLE t (a int NOT NULL, b int); CREATE VIEW v AS SELECT a FROM t")
    view, table = world.item("v").id, world.item("t").id
    before = world.catalog
    world.execute("ALTER TABLE t ADD CONSTRAINT positive CHECK (a > 0)")
    assert world.catalog.entry(view) is before.entry(view)
    assert world.catalog.relation(table).constraints
    assert not before.relation(table).constraints
    world.execute("ALTER TABLE t ADD CONSTRAINT key PRIMARY KEY (a)")
    assert world.catalog.entry(view) is not before.entry(view)


def test_entries_of_another_catalog_are_not_taken_for_ours() -> None:
    first, second = World(), World()
    first.execute(f"CREATE SOURCE s (a int) {S3} FORMAT JSON; CREATE VIEW v AS SELECT * FROM s")
    second.execute(f"CREATE SOURCE s (b text) {S3} FORMAT JSON; CREATE VIEW v AS SELECT * FROM s")
    assert second.catalog.snapshot is not None
    mixed = build_catalog(second.catalog.snapshot, [SYSTEM_RELATION], first.catalog)
    assert mixed.relation(second.item("v").id).desc.names == ("b",)


def test_what_a_transaction_has_planned_is_not_planned_again_after_its_commit() -> None:
    one, other = World(), World()
    for catalog in (one, other):
        catalog.execute(f"CREATE SOURCE s (a int, b text) {S3} FORMAT JSON")
    before = one.catalog, other.catalog
    one.execute("CREATE VIEW v AS SELECT a FROM s; CREATE INDEX i ON v (a)")
    other.execute("CREATE VIEW v AS SELECT b FROM s; CREATE INDEX i ON v (b)")
    assert one.catalog.snapshot is not None
    assert other.catalog.snapshot is not None
    builtins = [SYSTEM_RELATION]
    ids = one.item("v").id, one.item("i").id
    assert ids == (other.item("v").id, other.item("i").id)
    after = build_catalog(one.catalog.snapshot, builtins, before[0], uncommitted=one.catalog)
    assert all(after.entry(id) is one.catalog.entry(id) for id in ids)
    # another process has committed others under the same ids
    after = build_catalog(other.catalog.snapshot, builtins, before[1], uncommitted=one.catalog)
    assert list(after.entries()) == list(other.catalog.entries())


def test_an_entry_says_what_a_source_is(world: World) -> None:
    entry = world.catalog.relation(world.item("flights").id)
    assert isinstance(entry, RelationEntry)
    assert entry.type is ItemType.SOURCE
    assert entry.source is not None
    assert entry.source.connector == ObjectsConnector("nyc", "flights/**/*.csv")
    progress = world.item("flights_progress").id
    assert progress in {dependent.id for dependent in world.catalog.dependents(entry.id)}
    assert world.select("SELECT * FROM flights").plan == Get(
        entry.collection, "flights", entry.desc
    )
