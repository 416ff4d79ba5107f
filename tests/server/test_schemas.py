"""Schemas: made, found by the search path, dropped with what is in them."""

from __future__ import annotations

import psycopg
import pytest
from fixtures.server import SqlServer
from fixtures.side_by_side import assert_same_answers


def test_a_schema_holds_what_is_made_in_it_until_it_is_dropped(sql_server: SqlServer) -> None:
    with sql_server.connect() as connection:
        notices: list[str] = []
        connection.add_notice_handler(lambda notice: notices.append(str(notice.message_primary)))
        connection.execute("CREATE SCHEMA lab")
        connection.execute("CREATE SCHEMA IF NOT EXISTS lab")
        assert notices == ['schema "lab" already exists, skipping']
        connection.execute("CREATE TABLE lab.results (a int); INSERT INTO lab.results VALUES (1)")
        connection.execute("CREATE VIEW public.shown AS SELECT a FROM lab.results")
        connection.execute("SET search_path = lab, public")
        assert connection.execute("SELECT a FROM results").fetchone() == (1,)
        assert connection.execute("SELECT current_schema(), 'results'::regclass").fetchone() == (
            "lab",
            "results",
        )
        assert ("lab",) in connection.execute("SELECT nspname FROM pg_namespace").fetchall()
        with pytest.raises(psycopg.errors.DependentObjectsStillExist):
            connection.execute("DROP SCHEMA lab")
        connection.execute("DROP SCHEMA lab CASCADE")
        for relation in (
            "SELECT * FROM results",
            "SELECT * FROM public.shown",
            "CREATE TABLE lab.t (a int)",
        ):
            with pytest.raises(psycopg.errors.ProgrammingError):
                connection.execute(relation)
        connection.execute("DROP SCHEMA IF EXISTS lab")
        assert notices[-1] == 'schema "lab" does not exist, skipping'
        events = connection.execute(
            "SELECT event_type FROM mz_audit_events WHERE object_type = 'schema' AND "
            "object_name = 'lab'"
        )
        assert events.fetchall() == [("create",), ("drop",)]


@pytest.mark.parametrize(
    ("text", "sqlstate"),
    [
        ("CREATE SCHEMA public", "42P06"),
        ("CREATE SCHEMA pg_mine", "42939"),
        ("CREATE SCHEMA nowhere.s", "3D000"),
        ("DROP SCHEMA pg_catalog CASCADE", "42501"),
        ("DROP SCHEMA nothing", "3F000"),
    ],
)
def test_what_is_no_schema_to_make_or_drop_is_refused(
    sql_server: SqlServer, text: str, sqlstate: str
) -> None:
    with sql_server.connect() as connection:
        with pytest.raises(psycopg.Error) as error:
            connection.execute(text)
        assert error.value.sqlstate == sqlstate


def test_making_a_schema_takes_create_on_the_database_and_dropping_it_its_owner(
    sql_server: SqlServer,
) -> None:
    with sql_server.connect() as root:
        root.execute("CREATE ROLE ulla LOGIN; CREATE SCHEMA of_root")
        with sql_server.connect(user="ulla") as connection:
            for refused in ("CREATE SCHEMA hers", "DROP SCHEMA of_root"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(refused)
            root.execute("GRANT CREATE ON DATABASE reclock TO ulla")
            connection.execute(
                "CREATE SCHEMA hers; CREATE TABLE hers.t (a int); DROP SCHEMA hers CASCADE"
            )
        root.execute("DROP SCHEMA of_root")


SEARCH_PATHS = """
    SET search_path = "ba r", foo, "x, y", public;
    SHOW search_path;
    SELECT current_setting('search_path');
    SET search_path TO "$user", public;
    SHOW search_path;
    SELECT current_schema()::text;
    SELECT set_config('search_path', 'a, "B""c"', false);
    SHOW search_path;
    SELECT set_config('search_path', '"a', false);
    SET search_path = 'a,b';
    SHOW search_path;
    SET search_path TO a, b;
    SHOW search_path;
    SET SCHEMA 'x y';
    SHOW search_path
"""


def test_a_search_path_is_written_as_postgresql_writes_it(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    assert_same_answers(ours, theirs, SEARCH_PATHS, messages=())


EXISTING_SCHEMAS = """
    SET search_path = nowhere;
    SELECT current_schema()::text, current_schemas(false)::text[];
    CREATE TABLE in_no_schema (a int);
    SET search_path = nowhere, side_by_side, side_by_side;
    SELECT current_schema()::text, current_schemas(false)::text[];
    CREATE TABLE placed (a int);
    SELECT 'side_by_side.placed'::regclass::text;
    SET search_path = pg_catalog;
    SELECT current_schema()::text, current_schemas(false)::text[]
"""


def test_schemas_of_the_search_path_that_do_not_exist_are_passed_over(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    assert_same_answers(ours, theirs, EXISTING_SCHEMAS, messages={"3F000"}, details=())


RESERVED_NAMES = """
    CREATE TABLE side_by_side.outer (a int, "from" int);
    INSERT INTO side_by_side.outer VALUES (1, 2), (3, 4);
    SELECT DISTINCT ON (a) * FROM side_by_side.outer AS o ORDER BY a;
    SELECT o.from, side_by_side.outer.a FROM side_by_side.outer o, side_by_side.outer ORDER BY 1, 2;
    SELECT side_by_side.outer.a FROM side_by_side.outer ORDER BY 1;
    CREATE VIEW side_by_side.left AS SELECT a FROM side_by_side.outer WHERE a > 1;
    SELECT * FROM side_by_side.left;
    SELECT * FROM outer;
    DROP VIEW side_by_side.left;
    SELECT * FROM side_by_side.;
    DROP TABLE side_by_side.outer
"""


def test_behind_a_dot_every_word_is_a_name(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    assert_same_answers(ours, theirs, RESERVED_NAMES, messages=())
