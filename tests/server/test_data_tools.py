"""The statements of tools that load, transform and inspect data, as they send them: DuckDB, dlt,
dbt, SQLMesh and pgcli."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from fixtures.postgres import PostgresServer
from fixtures.server import SqlServer

DEFINITIONS = """
    CREATE SCHEMA tools;
    CREATE TABLE tools.orders (id bigint PRIMARY KEY, name text, amount numeric(10, 2));
    CREATE VIEW tools.paid AS SELECT id FROM tools.orders WHERE amount > 0;
    INSERT INTO tools.orders VALUES (1, 'ada', 1.50), (2, NULL, NULL);
    CREATE ROLE tools_reader;
    GRANT SELECT ON tools.orders TO tools_reader;
    GRANT INSERT ON tools.orders TO tools_reader;
    GRANT SELECT ON tools.paid TO tools_reader
"""
REMOVALS = "DROP SCHEMA tools CASCADE; DROP ROLE tools_reader"


def _defined(connection: psycopg.Connection) -> Iterator[psycopg.Connection]:
    with connection:
        for statement in DEFINITIONS.split(";"):
            connection.execute(statement.encode())
        yield connection
        for statement in REMOVALS.split(";"):
            connection.execute(statement.encode())


@pytest.fixture
def ours(sql_server: SqlServer) -> Iterator[psycopg.Connection]:
    yield from _defined(sql_server.connect())


@pytest.fixture
def theirs(postgres_server: PostgresServer) -> Iterator[psycopg.Connection]:
    yield from _defined(psycopg.connect(postgres_server.dsn(), autocommit=True))


def test_duckdb_reads_and_writes_binary_rows(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    rows = []
    for connection in (ours, theirs):
        with connection.cursor() as cursor:
            query = 'SELECT "id", "name", "amount" FROM "tools"."orders" WHERE "id" < \'3\''
            with cursor.copy(f'COPY ({query}) TO STDOUT (FORMAT "binary");'.encode()) as copy:
                copy.set_types(["int8", "text", "numeric"])
                rows.append(sorted(copy.rows()))
            target = '"tools"."orders" ("id", "name")'
            with cursor.copy(f'COPY {target} FROM STDIN (FORMAT "binary")'.encode()) as copy:
                copy.set_types(["int8", "text"])
                copy.write_row((3, "cy"))
            rows.append(cursor.execute("SELECT id, name FROM tools.orders ORDER BY id").fetchall())
    assert rows[:2] == rows[2:]


def test_dlt_loads_files_whose_empty_fields_are_null(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    loaded = []
    for connection in (ours, theirs):
        with connection.cursor() as cursor:
            with cursor.copy(
                'COPY "tools"."orders" ("id","name","amount") FROM STDIN WITH (FORMAT CSV, '
                "DELIMITER ',', NULL '', FORCE_NULL(\"name\",\"amount\"), ENCODING 'utf-8')"
            ) as copy:
                copy.write('"7","","1.5"\n"8","x",""\n')
            cursor.execute("SELECT * FROM tools.orders WHERE id > 6 ORDER BY id")
            loaded.append(cursor.fetchall())
    assert loaded[0] == loaded[1]


@pytest.mark.parametrize(
    "query",
    [
        # dbt
        """select grantee, privilege_type from information_schema.role_table_grants
        where grantor = current_role and grantee != current_role and table_schema = 'tools'
        and table_name = 'orders' order by 2""",
        # SQLMesh
        """SELECT "privilege_type", "grantee" FROM "information_schema"."role_table_grants"
        WHERE ("table_schema" = 'tools' AND "table_name" = 'paid')
        AND "grantor" = CURRENT_ROLE AND "grantee" <> CURRENT_ROLE""",
        """SELECT table_name, is_grantable, with_hierarchy FROM information_schema.table_privileges
        WHERE table_schema = 'tools' AND privilege_type = 'SELECT' ORDER BY 1, 2""",
    ],
)
def test_grants_are_listed(
    ours: psycopg.Connection, theirs: psycopg.Connection, query: str
) -> None:
    expected = theirs.execute(query).fetchall()
    assert expected
    assert ours.execute(query).fetchall() == expected


def test_pgcli_lists_functions(ours: psycopg.Connection) -> None:
    query = """
        SELECT n.nspname schema_name,
                p.proname func_name,
                p.proargnames,
                COALESCE(proallargtypes::regtype[], proargtypes::regtype[])::text[],
                p.proargmodes,
                prorettype::regtype::text return_type,
                p.prokind = 'a' is_aggregate,
                p.prokind = 'w' is_window,
                p.proretset is_set_returning,
                d.deptype = 'e' is_extension,
                pg_get_expr(proargdefaults, 0) AS arg_defaults
        FROM pg_catalog.pg_proc p
                INNER JOIN pg_catalog.pg_namespace n
                    ON n.oid = p.pronamespace
        LEFT JOIN pg_depend d ON d.objid = p.oid and d.deptype = 'e'
        WHERE p.prorettype::regtype != 'trigger'::regtype
        ORDER BY 1, 2
    """
    ours.execute(
        "CREATE FUNCTION tools.twice(n integer, factors bigint[]) RETURNS integer "
        "LANGUAGE SQL AS 'SELECT n * 2'"
    )
    functions = {row[1]: row for row in ours.execute(query).fetchall()}
    assert functions["twice"][:6] == (
        "tools",
        "twice",
        ["n", "factors"],
        ["integer", "bigint[]"],
        None,
        "integer",
    )
    assert functions["int4in"][5] == "integer"


@pytest.mark.parametrize(
    "expression",
    [
        "ARRAY[23, 25, 0]::regtype[]::text[]",
        "'{}'::oid[]::regtype[]::text[]",
        "NULL::regtype[]::text[]",
        "ARRAY[NULL, 20]::oid[]::regtype[]::text[]",
        "array_to_string(ARRAY['pg_class'::regclass]::text[], ',')",
    ],
)
def test_arrays_of_ids_of_catalog_objects_as_texts(
    ours: psycopg.Connection, theirs: psycopg.Connection, expression: str
) -> None:
    query = f"SELECT {expression}"
    assert ours.execute(query).fetchall() == theirs.execute(query).fetchall()
