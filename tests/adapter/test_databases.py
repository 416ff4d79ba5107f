"""Databases: made, joined with each other, renamed with all that names them, dropped with what is
inside."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.sessions import run

from reclock.adapter.session.session import Session
from reclock.errors import (
    DatabaseInUse,
    DependentObjects,
    DuplicateObject,
    ReclockError,
    UnknownObject,
    UnknownRelation,
)
from reclock.runtime.environment import Environment

DEFINED = """
CREATE DATABASE shop;
CREATE DATABASE IF NOT EXISTS shop;
CREATE SCHEMA shop.eu;
CREATE TYPE shop.eu.size AS ENUM ('small', 'large');
CREATE TABLE shop.public.orders (id int PRIMARY KEY, n serial, size shop.eu.size);
CREATE TABLE shop.eu.lines (order_id int REFERENCES shop.public.orders, item text);
CREATE FUNCTION shop.eu.twice(a int) RETURNS int LANGUAGE SQL RETURN a * 2;
CREATE TABLE items (item text, price int);
CREATE MATERIALIZED VIEW sales AS
    SELECT shop.public.orders.id, shop.eu.twice(price) AS twice
    FROM shop.public.orders JOIN shop.eu.lines ON order_id = id JOIN items USING (item)
    WHERE orders.size = 'large'::shop.eu.size;
CREATE INDEX by_item ON shop.eu.lines (item);
INSERT INTO shop.public.orders (id, size) VALUES (1, 'large'), (2, 'small');
INSERT INTO shop.eu.lines VALUES (1, 'cup'), (2, 'cup');
INSERT INTO items VALUES ('cup', 3)
"""


def test_what_names_a_database_follows_its_new_name(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        run(session, DEFINED)
        assert run(session, "SELECT * FROM sales") == [(1, 6)]
        run(session, "ALTER DATABASE shop RENAME TO store")
        run(session, "INSERT INTO store.public.orders VALUES (3, DEFAULT, 'large')")
        run(session, "INSERT INTO store.eu.lines VALUES (3, 'cup')")
        assert run(session, "SELECT * FROM sales ORDER BY id") == [(1, 6), (3, 6)]
        with pytest.raises(UnknownRelation):
            run(session, "SELECT * FROM shop.public.orders")
    with Environment.open(tmp_path) as environment:
        session = Session(environment)
        assert run(session, "SELECT id, n FROM store.public.orders WHERE id = 3") == [(3, 3)]
        assert run(session, "SELECT count(*) FROM mz_internal.mz_broken_objects") == [(0,)]
        for kind, name in (
            ("MATERIALIZED VIEW", "sales"),
            ("TABLE", "store.eu.lines"),
            ("TABLE", "store.public.orders"),
            ("INDEX", "store.eu.by_item"),
        ):
            [(_, text)] = run(session, f"SHOW CREATE {kind} {name}")
            assert "store." in text
            assert "shop" not in text


def test_a_session_is_in_one_database(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        run(session, DEFINED + "; SET database = shop")
        assert run(session, "SELECT id FROM orders ORDER BY id") == [(1,), (2,)]
        assert run(session, "SELECT item, price FROM reclock.public.items") == [("cup", 3)]
        assert {("eu",), ("public",)} < set(run(session, "SHOW SCHEMAS"))
        places = (
            "SELECT DISTINCT table_catalog, table_schema FROM information_schema.tables "
            "WHERE table_schema IN ('eu', 'public') ORDER BY 2"
        )
        assert run(session, places) == [("shop", "eu"), ("shop", "public")]
        for statement in ("DROP DATABASE shop", "ALTER DATABASE shop RENAME TO store"):
            with pytest.raises(DatabaseInUse):
                run(session, statement)
        other = Session(environment, startup={"database": "shop"})
        assert run(other, "SELECT current_database(), count(*) FROM eu.lines") == [("shop", 2)]


def test_dropping_a_database_drops_what_reads_it(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        run(session, DEFINED)
        run(session, "CREATE ROLE reader; CREATE TABLE kept (a int); INSERT INTO kept VALUES (1)")
        run(session, "ALTER DEFAULT PRIVILEGES IN DATABASE shop GRANT SELECT ON TABLES TO reader")
        run(session, "COMMENT ON DATABASE shop IS 'what is sold'")
        with pytest.raises(DependentObjects, match="shop") as refused:
            run(session, "DROP DATABASE shop RESTRICT")
        assert "reclock.public.sales" in str(refused.value.detail)
        run(session, "DROP DATABASE shop WITH (FORCE)")
        assert run(session, "SHOW DATABASES") == [("reclock",)]
        assert run(session, "SELECT name FROM mz_schemas WHERE database_id IS NOT NULL") == [
            ("public",)
        ]
        with pytest.raises(UnknownRelation):
            run(session, "SELECT * FROM sales")
        run(session, "DROP ROLE reader")
        run(session, "CREATE DATABASE shop; DROP DATABASE shop RESTRICT")
        assert run(session, "SELECT * FROM kept") == [(1,)]


def test_the_name_of_a_schema_means_that_of_the_current_database(tmp_path: Path) -> None:
    is_own = """SELECT 'public'::regnamespace::oid =
        (SELECT s.oid FROM mz_schemas AS s JOIN mz_databases AS d ON d.id = s.database_id
        WHERE s.name = 'public' AND d.name = current_database())"""
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        run(session, "CREATE DATABASE shop; CREATE SCHEMA shop.aisle")
        for database in ("reclock", "shop", "reclock"):
            assert run(session, f"SET database = {database}; {is_own}") == [(True,)]
        assert run(session, "SELECT to_regnamespace('aisle')") == [(None,)]
        with pytest.raises(UnknownObject):
            run(session, "SELECT has_schema_privilege('aisle', 'USAGE')")
        assert run(session, "SET database = shop; SELECT 'aisle'::regnamespace::text") == [
            ("aisle",)
        ]


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("CREATE DATABASE reclock", DuplicateObject),
        ("ALTER DATABASE other RENAME TO reclock", DuplicateObject),
        ("ALTER DATABASE missing RENAME TO found", UnknownObject),
        ("DROP DATABASE missing", UnknownObject),
        ("DROP DATABASE reclock", DatabaseInUse),
        ("SET database = other; DROP DATABASE reclock", DatabaseInUse),
    ],
)
def test_what_is_refused(tmp_path: Path, statement: str, error: type[ReclockError]) -> None:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        run(session, "CREATE DATABASE other; DROP DATABASE IF EXISTS missing")
        with pytest.raises(error):
            run(session, statement)
