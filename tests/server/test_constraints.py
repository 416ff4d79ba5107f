"""Constraints as clients find them: the same rows as PostgreSQL's, for the same definitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from fixtures.postgres import PostgresServer
from fixtures.server import SqlServer

SCHEMA = "declared"
DEFINITIONS = f"""
    CREATE SCHEMA {SCHEMA};
    CREATE TABLE {SCHEMA}.owners (
        id integer PRIMARY KEY, email text CONSTRAINT mail UNIQUE NULLS NOT DISTINCT, country text NOT NULL, "Number" integer,
        UNIQUE ("Number", country));
    CREATE TABLE {SCHEMA}.pets (
        owner integer REFERENCES {SCHEMA}.owners ON UPDATE SET NULL ON DELETE CASCADE NOT ENFORCED,
        country text, room integer, age integer CHECK (age >= 0) NOT ENFORCED, label text,
        kind text UNIQUE DEFERRABLE INITIALLY DEFERRED,
        CONSTRAINT lives FOREIGN KEY (country, room) REFERENCES {SCHEMA}.owners (country, "Number") MATCH FULL NOT ENFORCED,
        CONSTRAINT other FOREIGN KEY (room, country) REFERENCES {SCHEMA}.owners ("Number", country) DEFERRABLE NOT ENFORCED,
        CHECK (age < room) NOT ENFORCED,
        PRIMARY KEY (label, owner));
    CREATE TABLE {SCHEMA}.plain (a integer)
"""


@pytest.fixture(scope="module")
def ours(sql_server: SqlServer) -> Iterator[psycopg.Connection]:
    with sql_server.connect() as connection:
        for definition in DEFINITIONS.split(";"):
            connection.execute(definition)
        yield connection
        connection.execute(f"DROP SCHEMA {SCHEMA} CASCADE")


@pytest.fixture(scope="module")
def theirs(postgres_server: PostgresServer) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres_server.dsn(), autocommit=True) as connection:
        connection.execute(DEFINITIONS)
        yield connection
        connection.execute(f"DROP SCHEMA {SCHEMA} CASCADE")


_IN_SCHEMA = f"connamespace = '{SCHEMA}'::regnamespace AND contype <> 'n'"
QUERIES = {
    "pg_constraint": f"""SELECT conname, contype, condeferrable, condeferred, confupdtype, confdeltype, confmatchtype,
        contypid::bigint, conparentid::bigint, conislocal, coninhcount, connoinherit, conkey, confkey
        FROM pg_constraint WHERE {_IN_SCHEMA}""",
    (
        "what constraints are of"
    ): f"""SELECT c.conname, n.nspname, t.relname, f.relname, i.relname FROM pg_constraint c
        JOIN pg_namespace n ON n.oid = c.connamespace JOIN pg_class t ON t.oid = c.conrelid
        LEFT JOIN pg_class f ON f.oid = c.confrelid LEFT JOIN pg_class i ON i.oid = c.conindid WHERE {_IN_SCHEMA}""",
    "definitions": (
        "SELECT conname, replace(pg_get_constraintdef(oid), 'ENFORCED', 'VALID') FROM "
        f"pg_constraint WHERE {_IN_SCHEMA}"
    ),
    "conditions": (
        f"SELECT conname, pg_get_expr(conbin, conrelid) FROM pg_constraint WHERE {_IN_SCHEMA}"
    ),
    "pg_index": f"""SELECT i.relname, t.relname, indnatts, indnkeyatts, indisunique, indnullsnotdistinct, indisprimary,
        indisexclusion, indimmediate, indisvalid, indkey, pg_get_indexdef(i.oid), pg_get_indexdef(i.oid, 1, true)
        FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
        JOIN pg_namespace n ON n.oid = i.relnamespace WHERE n.nspname = '{SCHEMA}'""",
    "columns of indexes": f"""SELECT i.relname, attname, attnum, atttypid::bigint, attnotnull
        FROM pg_attribute a JOIN pg_class i ON i.oid = a.attrelid JOIN pg_namespace n ON n.oid = i.relnamespace
        WHERE n.nspname = '{SCHEMA}' AND i.relkind = 'i'""",
    "pg_indexes": f"SELECT * FROM pg_indexes WHERE schemaname = '{SCHEMA}'",
    "pg_class": f"""SELECT relname, relkind, relhasindex, relchecks, relnatts FROM pg_class c
        JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = '{SCHEMA}'""",
    "what ADBC asks": f"""WITH fk_unnest AS (SELECT con.conname, 'FOREIGN KEY' AS contype, conrelid, UNNEST(con.conkey) AS conkey,
            confrelid, UNNEST(con.confkey) AS confkey
            FROM pg_catalog.pg_constraint AS con INNER JOIN pg_catalog.pg_class AS cls ON cls.oid = conrelid
            INNER JOIN pg_catalog.pg_namespace AS nsp ON nsp.oid = cls.relnamespace
            WHERE con.contype = 'f' AND nsp.nspname = '{SCHEMA}' AND cls.relname = 'pets'
        ), fk_names AS (SELECT fk_unnest.conname, fk_unnest.contype, fk_unnest.conkey, fk_unnest.confkey, attr.attname,
            fnsp.nspname AS fschema, fcls.relname AS ftable, fattr.attname AS fattname FROM fk_unnest
            INNER JOIN pg_catalog.pg_class AS cls ON cls.oid = fk_unnest.conrelid
            INNER JOIN pg_catalog.pg_class AS fcls ON fcls.oid = fk_unnest.confrelid
            INNER JOIN pg_catalog.pg_namespace AS fnsp ON fnsp.oid = fcls.relnamespace
            INNER JOIN pg_catalog.pg_attribute AS attr ON attr.attnum = fk_unnest.conkey AND attr.attrelid = fk_unnest.conrelid
            LEFT JOIN pg_catalog.pg_attribute AS fattr ON fattr.attnum = fk_unnest.confkey
                AND fattr.attrelid = fk_unnest.confrelid
        ), fkeys AS (SELECT conname, contype, ARRAY_AGG(attname::text ORDER BY conkey) AS colnames, fschema, ftable,
            ARRAY_AGG(fattname::text ORDER BY confkey) AS fcolnames FROM fk_names GROUP BY conname, contype, fschema, ftable
        ), other_constraints AS (SELECT con.conname,
            CASE con.contype WHEN 'c' THEN 'CHECK' WHEN 'u' THEN 'UNIQUE' WHEN 'p' THEN 'PRIMARY KEY' END AS contype,
            ARRAY_AGG(attr.attname::text ORDER BY attr.attname) AS colnames
            FROM pg_catalog.pg_constraint AS con CROSS JOIN UNNEST(conkey) AS conkeys
            INNER JOIN pg_catalog.pg_class AS cls ON cls.oid = con.conrelid
            INNER JOIN pg_catalog.pg_namespace AS nsp ON nsp.oid = cls.relnamespace
            INNER JOIN pg_catalog.pg_attribute AS attr ON attr.attnum = conkeys AND cls.oid = attr.attrelid
            WHERE con.contype IN ('c', 'u', 'p') AND nsp.nspname = '{SCHEMA}' AND cls.relname = 'pets' GROUP BY conname, contype
        ) SELECT conname, contype, colnames, fschema, ftable, fcolnames FROM fkeys
        UNION ALL SELECT conname, contype, colnames, NULL, NULL, NULL FROM other_constraints""",
    "table_constraints": f"""SELECT constraint_schema, constraint_name, table_schema, table_name, constraint_type, is_deferrable,
        initially_deferred, nulls_distinct FROM information_schema.table_constraints WHERE table_schema = '{SCHEMA}'""",
    "key_column_usage": f"""SELECT constraint_schema, constraint_name, table_schema, table_name, column_name, ordinal_position,
        position_in_unique_constraint FROM information_schema.key_column_usage WHERE table_schema = '{SCHEMA}'""",
    "constraint_column_usage": f"""SELECT table_schema, table_name, column_name, constraint_schema, constraint_name
        FROM information_schema.constraint_column_usage WHERE table_schema = '{SCHEMA}'""",
    "check_constraints": f"""SELECT constraint_schema, constraint_name, check_clause FROM information_schema.check_constraints
        WHERE constraint_schema = '{SCHEMA}'""",
    "referential_constraints": f"""SELECT constraint_schema, constraint_name, unique_constraint_schema, unique_constraint_name,
        match_option, update_rule, delete_rule FROM information_schema.referential_constraints
        WHERE constraint_schema = '{SCHEMA}'""",
}


def rows(connection: psycopg.Connection, query: str) -> list[tuple[Any, ...]]:
    return sorted(connection.execute(query).fetchall(), key=repr)


@pytest.mark.parametrize("name", QUERIES)
def test_a_relation_has_the_rows_of_postgresql(
    ours: psycopg.Connection, theirs: psycopg.Connection, name: str
) -> None:
    expected = rows(theirs, QUERIES[name])
    assert expected
    assert rows(ours, QUERIES[name]) == expected


def test_what_is_not_enforced_says_so(ours: psycopg.Connection) -> None:
    query = "SELECT DISTINCT {} FROM {}"
    assert rows(ours, query.format("contype, conenforced", "pg_constraint")) == [
        ("c", False),
        ("f", False),
        ("p", True),
        ("u", True),
    ]
    assert rows(ours, query.format("contype, convalidated", "pg_constraint")) == [
        ("c", False),
        ("f", False),
        ("p", True),
        ("u", True),
    ]
    constraints = f"information_schema.table_constraints WHERE table_schema = '{SCHEMA}'"
    enforced = rows(ours, query.format("constraint_name", f"{constraints} AND enforced = 'YES'"))
    assert [name for (name,) in enforced] == [
        "mail",
        "owners_Number_country_key",
        "owners_country_not_null",
        "owners_id_not_null",
        "owners_pkey",
        "pets_kind_key",
        "pets_label_not_null",
        "pets_owner_not_null",
        "pets_pkey",
    ]


def inspected(url: str) -> dict[str, Any]:
    engine = sa.create_engine(url)
    inspector = sa.inspect(engine)
    methods = ("get_pk_constraint", "get_foreign_keys", "get_unique_constraints", "get_indexes")
    inspected_constraints: dict[str, Any] = {
        f"{ask} {table}": getattr(inspector, ask)(table, SCHEMA)
        for ask in methods
        for table in ("owners", "pets")
    }
    engine.dispose()
    return inspected_constraints


def test_the_inspector_of_sqlalchemy_finds_what_it_finds_in_postgresql(
    ours: psycopg.Connection,
    theirs: psycopg.Connection,
    sql_server: SqlServer,
    postgres_server: PostgresServer,
) -> None:
    url = f"postgresql+psycopg://reclock@127.0.0.1:{sql_server.port}/reclock"
    assert inspected(url) == inspected(postgres_server.url())
    inspector = sa.inspect(sa.create_engine(url))
    assert [
        (check["name"], check["sqltext"], check["dialect_options"])
        for check in inspector.get_check_constraints("pets", SCHEMA)
    ] == [
        ("pets_age_check", "age >= 0", {"not_valid": True}),
        ("pets_check", "age < room", {"not_valid": True}),
    ]
    assert [
        foreign_key["referred_table"] for foreign_key in inspector.get_foreign_keys("pets", SCHEMA)
    ] == ["owners"] * 3


def test_a_foreign_key_goes_with_its_table(ours: psycopg.Connection) -> None:
    query = "SELECT conname FROM pg_constraint WHERE conrelid = 'orders'::regclass"
    ours.execute("CREATE TABLE buyers (id integer PRIMARY KEY)")
    ours.execute("CREATE TABLE orders (buyer integer REFERENCES buyers NOT ENFORCED)")
    try:
        assert rows(ours, query) == [("orders_buyer_fkey",)]
        ours.execute("ALTER TABLE buyers RENAME TO people")
        assert rows(ours, f"{query} AND confrelid = 'people'::regclass") == [("orders_buyer_fkey",)]
        ours.execute("DROP TABLE people CASCADE")
        assert rows(ours, query) == []
    finally:
        ours.execute("DROP TABLE orders")


def test_numbers_of_constraints_are_for_ever_and_those_of_temporary_tables_are_others(
    ours: psycopg.Connection,
) -> None:
    query = f"SELECT oid::bigint, conname FROM pg_constraint WHERE {_IN_SCHEMA}"
    before = rows(ours, query)
    ours.execute("CREATE TEMPORARY TABLE passing (id integer PRIMARY KEY)")
    assert rows(ours, query) == before
    numbers = [
        oid
        for (oid,) in rows(
            ours, "SELECT oid::bigint FROM pg_class UNION ALL SELECT oid::bigint FROM pg_proc"
        )
    ]
    assert len(set(numbers)) == len(numbers)
    assert rows(
        ours, "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'passing_pkey'"
    ) == [("PRIMARY KEY (id)",)]
    ours.execute("DROP TABLE passing")
