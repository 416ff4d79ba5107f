"""Constraints of CREATE TABLE are checked as PostgreSQL checks them, kept in one form, and never
break a definition."""

from __future__ import annotations

import pytest
from fixtures.planning import World

from reclock.errors import ReclockError
from reclock.sql.catalog.foreign_keys import foreign_keys
from reclock.sql.statements.objects.plan import Drop, Rename
from reclock.sql.statements.tables.plan import CreateTable

USERS = "CREATE TABLE users (id int PRIMARY KEY, email text UNIQUE)"


@pytest.fixture
def world() -> World:
    world = World()
    world.execute(USERS)
    world.execute("CREATE VIEW adults AS SELECT id FROM users")
    return world


def created(world: World, sql: str) -> CreateTable:
    statement = world.execute(sql)
    assert isinstance(statement, CreateTable)
    return statement


def test_constraints_of_columns_and_of_the_table_are_kept_in_one_form(world: World) -> None:
    statement = created(
        world,
        """CREATE TABLE orders (
            id int CONSTRAINT first PRIMARY KEY, line int UNIQUE NULLS NOT DISTINCT,
            "Amount" numeric DEFAULT 0 CHECK ("Amount" > 0),
            buyer int NOT NULL REFERENCES users ON DELETE CASCADE ON UPDATE SET NULL DEFERRABLE INITIALLY DEFERRED,
            parent int REFERENCES orders (id) MATCH FULL NOT ENFORCED,
            UNIQUE (id, line), CHECK (orders.line < 10 AND public.orders.id > 0), CHECK (line <> id) NOT ENFORCED,
            CONSTRAINT mail FOREIGN KEY (line) REFERENCES public.users (id)
        )""",
    )
    assert statement.create_sql == (
        'CREATE TABLE reclock.public.orders (id INT NOT NULL, line INT, "Amount" DECIMAL '
        "DEFAULT 0, buyer INT NOT NULL, "
        "parent INT, "
        "CONSTRAINT first PRIMARY KEY (id), "
        "CONSTRAINT orders_line_key UNIQUE NULLS NOT DISTINCT (line), "
        'CONSTRAINT "orders_Amount_check" CHECK ("Amount" > 0), '
        "CONSTRAINT orders_buyer_fkey FOREIGN KEY (buyer) REFERENCES reclock.public.users (id) "
        "ON DELETE CASCADE ON UPDATE SET NULL DEFERRABLE INITIALLY DEFERRED, "
        "CONSTRAINT orders_parent_fkey FOREIGN KEY (parent) REFERENCES "
        "reclock.public.orders (id) MATCH FULL NOT ENFORCED, "
        "CONSTRAINT orders_id_line_key UNIQUE (id, line), "
        "CONSTRAINT orders_check CHECK (line < 10 AND id > 0), "
        "CONSTRAINT orders_check1 CHECK (line <> id) NOT ENFORCED, "
        "CONSTRAINT mail FOREIGN KEY (line) REFERENCES reclock.public.users (id))"
    )
    assert statement.notices == ()


def test_the_kept_text_reads_as_itself_without_a_notice(world: World) -> None:
    text = created(
        world, "CREATE TABLE t (a int CHECK (a > 0), b int REFERENCES users, PRIMARY KEY (b, a))"
    ).create_sql
    again = World()
    again.execute(USERS)
    statement = created(again, text)
    assert (statement.create_sql, statement.notices) == (text, ())


def test_the_columns_of_a_primary_key_are_not_null(world: World) -> None:
    statement = created(world, "CREATE TABLE t (a int, b int, c int UNIQUE, PRIMARY KEY (b, a))")
    assert [column.is_nullable for column in statement.table.desc.columns] == [False, False, True]
    assert statement.table.primary_key == ("b", "a")


def test_a_rename_reaches_the_foreign_keys_and_conditions(world: World) -> None:
    world.execute(
        "CREATE TABLE t (a int UNIQUE REFERENCES users, b int REFERENCES t (a), CHECK (t.a > 0))"
    )
    renamed = world.plan("ALTER TABLE users RENAME TO people")
    assert isinstance(renamed, Rename)
    texts = [text for _, text in renamed.create_sql]
    (text,) = (text for text in texts if text.startswith("CREATE TABLE reclock.public.t "))
    assert "FOREIGN KEY (a) REFERENCES reclock.public.people (id)" in text
    renamed = world.plan("ALTER TABLE t RENAME TO s")
    assert isinstance(renamed, Rename)
    (text,) = (text for _, text in renamed.create_sql)
    assert text.startswith("CREATE TABLE reclock.public.s (")
    assert "REFERENCES reclock.public.s (a), CONSTRAINT t_a_check CHECK (a > 0)" in text


def test_only_cascade_drops_a_foreign_key_with_its_target(world: World) -> None:
    world.execute("CREATE TABLE p (a int PRIMARY KEY)")
    world.execute("CREATE TABLE t (a int CHECK (a > 0), b int REFERENCES p)")
    for drop in ("DROP TABLE p", "DROP TABLE p RESTRICT"):
        with pytest.raises(ReclockError) as error:
            world.plan(drop)
        assert (error.value.sqlstate, "t.t_b_fkey" in str(error.value.detail)) == ("2BP01", True)
    cascade = world.plan("DROP TABLE p CASCADE")
    assert isinstance(cascade, Drop)
    remaining = "CREATE TABLE reclock.public.t (a INT, b INT, CONSTRAINT t_a_check CHECK (a > 0))"
    assert [text for _, text in cascade.redefined] == [remaining]
    both = world.plan("DROP TABLE p, t")
    assert isinstance(both, Drop)
    assert both.redefined == ()


def test_a_foreign_key_whose_target_cannot_be_planned_is_not_forgotten(world: World) -> None:
    world.execute("CREATE TABLE p (a int PRIMARY KEY)")
    world.execute("CREATE TABLE t (a int REFERENCES p)")
    table = world.catalog.resolve(("t",), world.session)
    assert foreign_keys(world.catalog).without_target == {}
    world.execute("DROP TABLE p CASCADE")  # the world leaves the other table as it is
    (constraint,) = foreign_keys(world.catalog).without_target[table.id]
    assert constraint.name == "t_a_fkey"


def test_a_definition_does_not_stand_on_a_table_that_it_does_not_enforce(world: World) -> None:
    world.execute("CREATE TABLE t (a int REFERENCES users NOT ENFORCED)")
    world.execute("DROP TABLE users CASCADE")
    entry = world.catalog.resolve(("t",), world.session)
    assert entry.table is not None
    assert not entry.depends_on
    assert not world.catalog.quarantined()
    world.execute("CREATE VIEW users AS SELECT 1 AS other")
    assert not world.catalog.quarantined()


def test_words_of_constraints_are_names_of_columns_where_a_type_follows(world: World) -> None:
    statement = created(world, "CREATE TABLE t (constraint text NOT NULL, check int, exclude int)")
    assert statement.table.desc.names == ("constraint", "check", "exclude")


@pytest.mark.parametrize(
    ("sql", "sqlstate", "message"),
    [
        (
            "(a int PRIMARY KEY, b int PRIMARY KEY)",
            "42P16",
            'multiple primary keys for table "t" are not allowed',
        ),
        ("(a int PRIMARY KEY, PRIMARY KEY (a))", "42P16", "multiple primary keys"),
        ("(a int NULL PRIMARY KEY)", "42601", "conflicting NULL/NOT NULL declarations"),
        ("(a int, PRIMARY KEY (b))", "42703", '"b" named in key does not exist'),
        ("(a int, UNIQUE (a, a))", "42701", 'column "a" appears twice in unique constraint'),
        (
            "(a int, FOREIGN KEY (b) REFERENCES users)",
            "42703",
            '"b" referenced in foreign key constraint does not exist',
        ),
        ("(a int REFERENCES nobody)", "42P01", "nobody"),
        (
            "(a int REFERENCES users (b))",
            "42703",
            '"b" referenced in foreign key constraint does not exist',
        ),
        (
            "(a int, b int, FOREIGN KEY (a, b) REFERENCES users)",
            "42830",
            "number of referencing and referenced columns",
        ),
        (
            "(a int, b int REFERENCES t (a))",
            "42830",
            'there is no unique constraint matching given keys for referenced table "t"',
        ),
        (
            "(a text REFERENCES users (id))",
            "42804",
            'foreign key constraint "t_a_fkey" cannot be implemented',
        ),
        ("(a int REFERENCES t)", "42704", 'there is no primary key for referenced table "t"'),
        ("(a int REFERENCES adults)", "42809", "is not a table"),
        ("(a int CHECK (a))", "42804", "argument of CHECK must be type boolean, not type integer"),
        ("(a int CHECK (b > 0))", "42703", '"b" does not exist'),
        ("(a int CHECK (users.id > 0))", "42P01", "users"),
        (
            "(a int CHECK (sum(a) > 0))",
            "42803",
            "aggregate functions are not allowed in check constraints",
        ),
        ("(a int CHECK (a IN (SELECT id FROM users)))", "0A000", "subquery"),
        (
            "(a int CONSTRAINT x UNIQUE, CONSTRAINT x CHECK (a > 0))",
            "42710",
            'constraint "x" for relation "t" already exists',
        ),
        ("(a int, EXCLUDE USING gist (a WITH =))", "0A000", "EXCLUDE"),
        ("(a int REFERENCES users ON DELETE NOTHING)", "42601", 'at or near "NOTHING"'),
        ("(a int NOT NULL NOT ENFORCED)", "42601", 'at or near "NOT"'),
    ],
)
def test_constraints_that_cannot_be(world: World, sql: str, sqlstate: str, message: str) -> None:
    with pytest.raises(ReclockError) as error:
        world.plan(f"CREATE TABLE t {sql}")
    assert error.value.sqlstate == sqlstate
    assert message in str(error.value)


def test_a_temporary_table_refers_to_temporary_tables_alone(world: World) -> None:
    with pytest.raises(ReclockError) as error:
        world.plan("CREATE TEMPORARY TABLE t (a int REFERENCES users)")
    assert error.value.sqlstate == "42P16"
    statement = world.plan("CREATE TEMPORARY TABLE t (a int PRIMARY KEY, b int REFERENCES t)")
    assert isinstance(statement, CreateTable)
    assert "REFERENCES mz_temp.t (a)" in statement.create_sql


def test_a_condition_may_ask_about_the_session(world: World) -> None:
    assert "CHECK" in created(world, "CREATE TABLE t (a timestamptz CHECK (a <= now()))").create_sql
