"""Relations that follow the catalog are computed once for each moment of it."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from fixtures.sessions import run

from reclock.adapter.query.peek_rows import PeekRows
from reclock.adapter.session.session import Session
from reclock.runtime.environment import Environment

TABLES = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1"
DETAILS = (
    "SELECT c.relname, a.attname, t.typname, pg_get_userbyid(c.relowner) FROM pg_class c JOIN "
    "pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid WHERE c.relname = "
)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with Environment.initialise(tmp_path_factory.mktemp("catalog")) as environment:
        yield environment


@pytest.fixture
def session(environment: Environment) -> Iterator[Session]:
    session = Session(environment)
    yield session
    session.close()


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows of builtin views were computed, view by view."""
    computed: list[int] = []
    view_rows = PeekRows._view_rows

    def counted(self: PeekRows, *arguments: object) -> pa.Table:
        rows = view_rows(self, *arguments)  # type: ignore[arg-type]
        computed.append(rows.num_rows)
        return rows

    monkeypatch.setattr(PeekRows, "_view_rows", counted)
    return computed


def test_views_are_computed_once_until_the_catalog_changes(
    environment: Environment, session: Session, computed: list[int]
) -> None:
    run(session, "CREATE TABLE one (a int)")
    assert run(session, TABLES) == [("one",)]
    first = len(computed)
    assert first > 0
    other = Session(environment)
    for reader in (session, other):
        assert run(reader, TABLES) == [("one",)]
        assert run(reader, f"{DETAILS} 'one'") == [("one", "a", "int4", "reclock")]
    views = len(computed)
    run(other, f"{DETAILS} 'pg_class' LIMIT 1")
    assert len(computed) == views
    run(other, "CREATE TABLE two (b text)")
    assert run(session, TABLES) == [("one",), ("two",)]
    assert run(session, f"{DETAILS} 'two'") == [("two", "b", "text", "reclock")]
    assert len(computed) > views
    other.close()


def test_a_query_joins_system_relations_with_a_table_that_was_just_created(
    session: Session,
) -> None:
    run(session, "CREATE TABLE joined (a int)")
    run(session, "INSERT INTO joined VALUES (7)")
    row = "SELECT 'joined'::regclass::text, a, relkind FROM joined, pg_class"
    assert run(session, f"{row} WHERE relname = 'joined'") == [("joined", 7, "r")]
    run(session, "DROP TABLE joined")


def test_a_block_reads_its_own_definitions_and_no_other_session_does(
    environment: Environment, session: Session
) -> None:
    other = Session(environment)
    before = run(other, TABLES)
    run(session, "CREATE TEMP TABLE mine (a int)")
    run(session, "BEGIN")
    run(session, "CREATE TABLE three (c int)")
    assert run(session, TABLES) == sorted([*before, ("three",)])
    assert run(other, TABLES) == before
    count = "SELECT count(*) FROM pg_class WHERE relname = 'mine'"
    assert run(session, count) == [(1,)]
    assert run(other, count) == [(0,)]
    run(session, "ROLLBACK")
    assert run(session, TABLES) == before
    other.close()


def test_what_depends_on_the_session_is_computed_for_each_session(
    environment: Environment, session: Session
) -> None:
    run(session, "CREATE SCHEMA lab; CREATE TABLE lab.four (d int)")
    other = Session(environment)
    run(other, "SET search_path = lab")
    name = "SELECT oid::regclass::text FROM pg_class WHERE relname = 'four'"
    assert run(session, name) == [("lab.four",)]
    assert run(other, name) == [("four",)]
    run(other, "SET extra_float_digits = 2")
    setting = "SELECT setting FROM pg_settings WHERE name = 'extra_float_digits'"
    assert run(session, setting) != run(other, setting) == [("2",)]
    other.close()
