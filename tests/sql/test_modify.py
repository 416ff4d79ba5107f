"""INSERT, UPDATE and DELETE as plans: which rows go, which come, and what is refused."""

from __future__ import annotations

import pytest
from fixtures.planning import World

from reclock.errors import AmbiguousColumn, ReclockError
from reclock.plan.relational import Constant
from reclock.sql.statements.tables.modify_plan import Modify, Truncate
from reclock.sql.statements.tables.plan import CreateTable


@pytest.fixture
def world() -> World:
    world = World()
    world.execute(
        "CREATE TABLE t (a int NOT NULL DEFAULT 1, b text DEFAULT 'x', c numeric(10, "
        "2)); CREATE VIEW v AS SELECT a FROM t"
    )
    return world


def planned(world: World, sql: str) -> Modify:
    statement = world.plan(sql)
    assert isinstance(statement, Modify)
    return statement


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("INSERT INTO t VALUES (2, 'y', 3)", [(2, "y", 3)]),
        (
            "INSERT INTO t VALUES (2, DEFAULT, '2.345'), ('3', 'y', 1)",
            [(2, "x", "2.35"), (3, "y", 1)],
        ),
        ("INSERT INTO t (c, a) VALUES (1.005, 2)", [(2, "x", "1.01")]),
        ("INSERT INTO t (c) VALUES (NULL)", [(1, "x", None)]),
        ("INSERT INTO t VALUES (7)", [(7, "x", None)]),
        ("INSERT INTO t (b, a) VALUES (5, 2.5)", None),
    ],
)
def test_constants_are_known_when_they_are_planned(
    world: World, sql: str, rows: list[tuple[object, ...]] | None
) -> None:
    insert = planned(world, sql)
    assert (insert.kind, insert.removes, insert.adds) == ("INSERT", False, True)
    if rows is None:
        assert not isinstance(insert.plan, Constant)
    else:
        assert isinstance(insert.plan, Constant)
        assert [tuple(map(str, row)) for row in insert.plan.rows] == [
            tuple(
                str(value) if i < 2 or value is None else f"{float(str(value)):.2f}"
                for i, value in enumerate(row)
            )
            for row in rows
        ]


def test_an_update_says_the_rows_that_go_and_those_that_come_side_by_side(world: World) -> None:
    update = planned(
        world,
        (
            "UPDATE t AS q SET b = DEFAULT, a = a + 1 WHERE q.a IN (SELECT a FROM v) "
            "RETURNING b, q.a AS now"
        ),
    )
    assert (update.kind, update.removes, update.adds) == ("UPDATE", True, True)
    assert len(update.plan.desc) == 3 + 3 + 2
    assert update.plan.desc.types[:3] == update.plan.desc.types[3:6] == update.desc.types
    assert update.returning is not None
    assert update.returning.names == ("b", "now")
    assert len(update.depends_on) == 2


def test_a_delete_says_the_rows_that_go(world: World) -> None:
    delete = planned(world, "DELETE FROM t WHERE c IS NULL RETURNING *")
    assert (delete.kind, delete.removes, delete.adds, len(delete.plan.desc)) == (
        "DELETE",
        True,
        False,
        6,
    )


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("DELETE FROM t USING w, u AS x WHERE t.a = w.a AND x.d = t.b RETURNING *", "a b c a e d"),
        ("DELETE FROM t AS q USING w WHERE q.a = w.a RETURNING w.*, q.b, e || b AS f", "a e b f"),
        (
            "UPDATE t SET a = 0 FROM w JOIN u ON e = d WHERE t.a = w.a RETURNING *, d AS last",
            "a b c a e d last",
        ),
        (
            "UPDATE t SET a = 0 FROM (SELECT e AS k FROM w) s WHERE t.b = k RETURNING s.*, t.a",
            "k a",
        ),
    ],
)
def test_returning_may_name_the_columns_of_the_other_relations(
    world: World, sql: str, names: str
) -> None:
    world.execute("CREATE TABLE w (a int, e text); CREATE TABLE u (d text)")
    changed = planned(world, sql)
    assert changed.returning is not None
    assert " ".join(changed.returning.names) == names
    assert len(changed.plan.desc) == 3 * (changed.removes + changed.adds) + len(changed.returning)
    with pytest.raises(AmbiguousColumn):
        planned(world, "DELETE FROM t USING w WHERE t.a = w.a RETURNING a")


def test_truncate_empties_each_table_once(world: World) -> None:
    world.execute("CREATE TABLE u (a int)")
    statement = world.plan("TRUNCATE t, u, reclock.public.t")
    assert isinstance(statement, Truncate)
    assert [part.table for part in statement.parts] == [world.item("t").id, world.item("u").id]


@pytest.mark.parametrize(
    ("sql", "sqlstate", "message"),
    [
        ("INSERT INTO t (a) VALUES ('x')", "22P02", 'invalid input syntax for type integer: "x"'),
        (
            "INSERT INTO t (a) SELECT '-Infinity'::numeric",
            "22003",
            'value "-Infinity" is out of range for type numeric',
        ),
        (
            "INSERT INTO t (a) VALUES ('NaN'::numeric(4, 2))",
            "22003",
            'value "NaN" is out of range for type numeric',
        ),
        (
            "INSERT INTO t (a) VALUES (3000000000)",
            "22003",
            'value "3000000000" is out of range for type integer',
        ),
        (
            "INSERT INTO t (a) VALUES (true)",
            "42804",
            'column "a" is of type integer but expression is of type boolean',
        ),
        (
            "INSERT INTO t (a) SELECT b FROM t",
            "42804",
            'column "a" is of type integer but expression is of type text',
        ),
        (
            "UPDATE t SET a = b",
            "42804",
            'column "a" is of type integer but expression is of type text',
        ),
        (
            "INSERT INTO t VALUES (1, 'x', 2, 3)",
            "42601",
            "INSERT has more expressions than target columns",
        ),
        (
            "INSERT INTO t (a, b) VALUES (1)",
            "42601",
            "INSERT has more target columns than expressions",
        ),
        (
            "INSERT INTO t (a) VALUES (1), (1, 2)",
            "42601",
            "VALUES lists must all be the same length",
        ),
        ("INSERT INTO t (z) VALUES (1)", "42703", 'column "z" of relation "t" does not exist'),
        ("INSERT INTO t (a, a) VALUES (1, 2)", "42701", 'column "a" specified more than once'),
        ("UPDATE t SET a = 1, a = 2", "42601", 'multiple assignments to same column "a"'),
        ("UPDATE t SET z = 1", "42703", 'column "z" of relation "t" does not exist'),
        ("INSERT INTO v VALUES (1)", "42809", '"v" is not a table'),
        ("DELETE FROM mz_sources", "42501", None),
        ("DELETE FROM nowhere", "42P01", None),
        ("INSERT INTO t (a) VALUES (1) RETURNING count(*)", "42803", None),
        ("CREATE TABLE x (a int DEFAULT 'y')", "22P02", None),
        (
            "CREATE TABLE x (a int DEFAULT b)",
            "42P10",
            "cannot use column reference in DEFAULT expression",
        ),
        (
            "CREATE TABLE x (a int DEFAULT true)",
            "42804",
            'column "a" is of type integer but default expression is of type boolean',
        ),
        ("CREATE TABLE x (a int DEFAULT (SELECT 1))", "0A000", None),
        ("CREATE TABLE x (a int, a text)", "42701", None),
        ("CREATE TABLE x (a interval[])", "0A000", None),
        ("CREATE TABLE x (mz_diff int)", "42939", None),
        ("CREATE TABLE t (a int)", "42P07", None),
        ("DROP TABLE v", "42809", None),
        ("DROP TABLE t", "2BP01", None),
        ("INSERT INTO t (a) SELECT", "42601", None),
        ("UPDATE t SET a", "42601", None),
        (
            "UPDATE t SET a = generate_series(1, 2)",
            "0A000",
            "set-returning functions are not allowed in UPDATE",
        ),
    ],
)
def test_what_is_refused_as_postgresql_refuses_it(
    world: World, sql: str, sqlstate: str, message: str | None
) -> None:
    with pytest.raises(ReclockError) as error:
        world.plan(sql)
    assert error.value.sqlstate == sqlstate
    assert message in (None, error.value.message)


def test_a_renamed_table_is_read_by_its_views_under_its_new_name(world: World) -> None:
    world.execute("ALTER TABLE t RENAME TO things")
    assert (
        world.item("v").create_sql
        == "CREATE VIEW reclock.public.v AS SELECT a FROM reclock.public.things AS t"
    )
    assert planned(world, "DELETE FROM things").table == world.item("things").id


@pytest.mark.parametrize(
    "query", ["SELECT t.* FROM t JOIN pairs USING (b)", "SELECT t.* FROM pairs NATURAL JOIN t"]
)
def test_a_table_made_from_all_columns_of_a_relation_has_them_in_its_order(
    world: World, query: str
) -> None:
    world.execute("CREATE TABLE pairs (b text, d int)")
    created = world.plan(f"CREATE TABLE copied AS {query}")
    assert isinstance(created, CreateTable)
    assert created.query is not None
    assert created.query.desc.names == ("a", "b", "c")
