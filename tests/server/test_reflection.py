"""What drivers and SQLAlchemy find out about a database: types by name, relations, columns,
indexes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from fixtures.server import SqlServer, start_server
from psycopg.types import TypeInfo


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlServer]:
    server = start_server(tmp_path_factory.mktemp("reflection"))
    try:
        with server.connect() as connection:
            connection.execute(
                "CREATE TABLE people (id bigint NOT NULL, name text NOT NULL DEFAULT "
                "'x', pay numeric(10, 2), born date)"
            )
            connection.execute("CREATE VIEW paid AS SELECT id, pay FROM people WHERE pay > 0")
            connection.execute(
                "CREATE MATERIALIZED VIEW payroll AS SELECT sum(pay) AS total FROM people"
            )
            connection.execute("CREATE INDEX by_name ON people (name, born)")
            connection.execute(
                "INSERT INTO people VALUES (1, 'ada', 3.50, '1815-12-10'), (2, 'bob', NULL, NULL)"
            )
        yield server
    finally:
        server.kill()


@pytest.fixture(scope="module")
def engine(server: SqlServer) -> Iterator[sa.Engine]:
    engine = sa.create_engine(f"postgresql+psycopg://reclock@127.0.0.1:{server.port}/reclock")
    yield engine
    engine.dispose()


# --- SQLAlchemy ---


def test_a_connection_that_committed_each_statement_returns_to_the_pool(
    sql_server: SqlServer,
) -> None:
    engine = sa.create_engine(f"postgresql+psycopg://reclock@127.0.0.1:{sql_server.port}/reclock")
    try:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(sa.text("SELECT 1"))
        with engine.connect() as connection:
            assert connection.get_isolation_level() == connection.default_isolation_level
    finally:
        engine.dispose()


def test_the_inspector_lists_what_is_there(engine: sa.Engine) -> None:
    inspector: Any = sa.inspect(engine)  # PostgreSQL's has more than the generic one
    assert set(inspector.get_schema_names()) == {
        "public",
        "mz_catalog",
        "mz_internal",
        "information_schema",
    }
    assert inspector.get_table_names() == ["people"]
    assert inspector.get_view_names() == ["paid"]
    assert inspector.get_materialized_view_names() == ["payroll"]
    assert inspector.has_table("people")
    assert inspector.has_table("paid", schema="public")
    assert not inspector.has_table("nobody")
    assert inspector.has_schema("public")
    assert not inspector.has_schema("private")
    assert inspector.get_sequence_names() == inspector.get_enums() == inspector.get_domains() == []


def test_the_inspector_describes_a_table(engine: sa.Engine) -> None:
    inspector = sa.inspect(engine)
    columns = [
        (c["name"], str(c["type"]), c["nullable"], c["default"])
        for c in inspector.get_columns("people")
    ]
    assert columns == [
        ("id", "BIGINT", False, None),
        ("name", "TEXT", False, "'x'"),
        ("pay", "NUMERIC(10, 2)", True, None),
        ("born", "DATE", True, None),
    ]
    [index] = inspector.get_indexes("people")
    assert (index["name"], index["column_names"], index["unique"]) == (
        "by_name",
        ["name", "born"],
        False,
    )
    assert inspector.get_pk_constraint("people")["constrained_columns"] == []
    for nothing in (
        inspector.get_foreign_keys,
        inspector.get_unique_constraints,
        inspector.get_check_constraints,
    ):
        assert nothing("people") == []
    assert inspector.get_table_comment("people") == {"text": None}
    assert "FROM reclock.public.people WHERE pay > 0" in inspector.get_view_definition("paid")


def test_a_reflected_table_is_queried(engine: sa.Engine) -> None:
    people = sa.Table("people", sa.MetaData(), autoload_with=engine)
    with engine.connect() as connection:
        assert connection.execute(
            sa.select(people.c.name).where(people.c.pay > 1)
        ).scalars().all() == ["ada"]
        with connection.begin_nested():
            connection.execute(people.insert().values(id=3, name="cy"))
        assert connection.scalar(sa.select(sa.func.count()).select_from(people)) == 3
        connection.rollback()


def test_a_computed_column_is_created_and_reflected(engine: sa.Engine) -> None:
    declared = sa.Table(
        "rooms",
        sa.MetaData(),
        sa.Column("width", sa.Integer),
        sa.Column("area", sa.Integer, sa.Computed("width * 2", persisted=True)),
    )
    with engine.begin() as connection:
        declared.create(connection)
        connection.execute(declared.insert().values(width=4))
        assert connection.execute(sa.select(declared)).all() == [(4, 8)]
        rooms = sa.Table("rooms", sa.MetaData(), autoload_with=connection)
        assert rooms.c.area.computed is not None
        assert str(rooms.c.area.computed.sqltext) == "width * 2"
        assert rooms.c.width.computed is None
        declared.drop(connection)


# --- psycopg ---


@pytest.mark.parametrize("name", ["int4", "text", "numeric", "timestamptz", "bool", "int8", "name"])
def test_types_by_name_are_those_of_postgresql(server: SqlServer, name: str) -> None:
    with server.connect() as connection:
        found = TypeInfo.fetch(connection, name)
        known = psycopg.adapters.types[name]
        assert found is not None
        assert (found.oid, found.array_oid) == (known.oid, known.array_oid)
        assert TypeInfo.fetch(connection, "hstore") is None


VALUES: list[tuple[str, Any]] = [
    ("'people'::regclass", "people"),
    ("'pg_catalog.pg_class'::regclass", "pg_class"),
    (
        (
            "(SELECT format('%I.%I', schemaname, tablename)::regclass::oid = "
            "'people'::regclass FROM pg_tables)"
        ),
        True,
    ),
    (
        (
            "(SELECT count(*) FROM pg_class c WHERE relname = 'people' AND EXISTS (SELECT FROM "
            "pg_attribute WHERE attrelid = ('public.' || c.relname)::regclass))"
        ),
        1,
    ),
    (
        (
            "(SELECT max((SELECT max(attname) FROM pg_attribute WHERE attnum = 2 AND attrelid = "
            "n::regclass)) FROM (VALUES ('people')) AS v (n))"
        ),
        "name",
    ),
    ("'people'::regclass::oid = (SELECT oid FROM pg_class WHERE relname = 'people')", True),
    ("'numeric(10,2)'::regtype", "numeric"),
    ("'public'::regnamespace", "public"),
    ("to_regclass('nothing')", None),
    ("1184::regtype::text", "timestamp with time zone"),
    ("ARRAY['a', NULL, 'b c']", ["a", None, "b c"]),
    ("'{1,2}'::int[]", [1, 2]),
    ("ARRAY[1, 2] || 3", [1, 2, 3]),
    ("current_schemas(true)", ["mz_catalog", "mz_internal", "pg_catalog", "public"]),
    ("(current_schemas(false))[1]", "public"),
    ("current_setting('TimeZone')", "UTC"),
    ("current_setting('nothing', true)", None),
    ("format_type(1700, 655366)", "numeric(10,2)"),
    ("pg_get_userbyid((SELECT relowner FROM pg_class WHERE relname = 'people'))", "reclock"),
    (
        (
            "has_table_privilege('people', 'select') AND has_schema_privilege('reclock', "
            "'public', 'USAGE')"
        ),
        True,
    ),
    (
        (
            "array_to_string(ARRAY(SELECT attname FROM pg_attribute WHERE attrelid = "
            "'people'::regclass ORDER BY attnum), ',')"
        ),
        "id,name,pay,born",
    ),
    ("(SELECT indkey FROM pg_index WHERE indrelid = 'people'::regclass)", "2 4"),
]


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
@pytest.mark.parametrize(
    ("expression", "value"), VALUES, ids=[expression[:40] for expression, _ in VALUES]
)
def test_a_catalog_expression_has_this_value(
    server: SqlServer, expression: str, value: Any, binary: bool
) -> None:
    if binary and "indkey" in expression:
        value = b"binary"
    with server.connect() as connection:
        [found] = connection.execute(f"SELECT {expression}", binary=binary).fetchone() or [None]
    assert found == value or (value == b"binary" and isinstance(found, bytes))


@pytest.mark.parametrize(
    "values",
    [
        ["a", None, 'q"uote,{}\\'],
        [1, 2, None],
        [True, False],
        [],
        [[1, 2], [3, None]],
        [[["a", "b c"]], [[None, "{"]]],
    ],
)
def test_arrays_go_there_and_back(server: SqlServer, values: list[Any]) -> None:
    element: Any = values
    while isinstance(element, list) and element:
        element = element[0]
    kind = {list: "text", str: "text", int: "int", bool: "bool"}[type(element)]
    with server.connect() as connection:
        for marker in ("%s", "%t", "%b"):
            [found] = connection.execute(f"SELECT {marker}::{kind}[]", [values]).fetchone() or [
                None
            ]
            assert found == values
        chosen = connection.execute(
            "SELECT id FROM people WHERE id = ANY(%s) ORDER BY id", [[2, 1, 7]]
        ).fetchall()
        assert chosen == [(1,), (2,)]


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
def test_arrays_of_several_dimensions_are_stored_and_read(server: SqlServer, binary: bool) -> None:
    values = [[[1, 2], [3, None]], [[7]], []]
    with server.connect() as connection:
        connection.execute("CREATE TEMPORARY TABLE grids (n int, a int[][])")
        for marker in ("%s", "%t", "%b"):
            for n, value in enumerate(values):
                connection.execute(f"INSERT INTO grids VALUES (%s, {marker})", [n, value])
        cursor = connection.execute("SELECT DISTINCT n, a FROM grids ORDER BY n", binary=binary)
        assert cursor.fetchall() == list(enumerate(values))
        described = cursor.description
        assert described is not None
        assert described[1].type_code == 1007
        found = connection.execute("SELECT n FROM grids WHERE a = %s", [values[0]]).fetchall()
        assert found == [(0,)] * 3
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            connection.execute("INSERT INTO grids VALUES (9, %s)", [[1, 2]])


def test_every_relation_of_the_catalog_can_be_read(server: SqlServer) -> None:
    with server.connect() as connection:
        names = connection.execute(
            "SELECT schemaname || '.' || viewname FROM pg_views WHERE schemaname <> 'public'"
        ).fetchall()
        assert len(names) > 80
        for (name,) in names:
            cursor = connection.execute(f"SELECT * FROM {name} LIMIT 1")
            declared = connection.execute(
                "SELECT count(*) FROM pg_attribute WHERE attrelid = %s::regclass", [name]
            ).fetchone()
            assert (len(cursor.description or ()),) == declared, name


def test_object_ids_are_those_of_the_object_for_ever(server: SqlServer) -> None:
    with server.connect() as connection:
        before = connection.execute("SELECT relname, oid FROM pg_class ORDER BY 1").fetchall()
        connection.execute("CREATE TABLE more (a int)")
        connection.execute("ALTER TABLE more RENAME TO most")
        after = connection.execute("SELECT relname, oid FROM pg_class ORDER BY 1").fetchall()
        connection.execute("DROP TABLE most")
        assert set(before) < set(after)
        assert len({oid for _, oid in after}) == len(after)


def test_a_relation_is_visible_where_its_name_alone_means_it(server: SqlServer) -> None:
    query = """SELECT pg_table_is_visible('public.pg_am'::regclass), 'public.pg_am'::regclass::text,
               pg_table_is_visible('pg_am'::regclass)"""
    with server.connect() as connection:
        connection.execute("CREATE TABLE public.pg_am (a int)")
        assert connection.execute(query).fetchone() == (False, "public.pg_am", True)
        connection.execute("SET search_path = nowhere")
        assert connection.execute(
            "SELECT pg_table_is_visible('public.people'::regclass)"
        ).fetchone() == (False,)
        connection.execute("DROP TABLE public.pg_am")


def test_what_a_view_stands_on_is_found_as_dbt_looks_for_it(server: SqlServer) -> None:
    query = """SELECT DISTINCT dependent.relname, referenced.relname FROM pg_class dependent
               JOIN pg_depend own ON own.refobjid = dependent.oid AND own.classid = 'pg_rewrite'::regclass
                 AND own.refclassid = 'pg_class'::regclass AND own.deptype = 'i'
               JOIN pg_depend d ON d.objid = own.objid AND d.classid = 'pg_rewrite'::regclass
                 AND d.refclassid = 'pg_class'::regclass AND d.refobjid != own.refobjid
               JOIN pg_class referenced ON referenced.oid = d.refobjid ORDER BY 1"""
    with server.connect() as connection:
        connection.execute("CREATE VIEW owed AS SELECT id FROM paid WHERE pay > 100")
        assert connection.execute(query).fetchall() == [
            ("owed", "paid"),
            ("paid", "people"),
            ("payroll", "people"),
        ]
        connection.execute("DROP VIEW owed")
