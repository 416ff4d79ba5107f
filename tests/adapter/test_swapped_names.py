"""A schema and a cluster that were prepared take the names of those that clients use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.sessions import run

from reclock.adapter.session.session import Session
from reclock.errors import SystemObjectProtected, UnknownObject
from reclock.runtime.environment import Environment

PREPARED = """
    CREATE SCHEMA prod; CREATE SCHEMA prod_new; CREATE CLUSTER serving; CREATE CLUSTER serving_new;
    CREATE TABLE orders (id int, total int);
    INSERT INTO orders VALUES (1, 10), (2, 20);
    CREATE MATERIALIZED VIEW prod.sales IN CLUSTER serving AS SELECT count(*) AS sold FROM orders;
    CREATE MATERIALIZED VIEW prod_new.sales IN CLUSTER serving_new AS
        SELECT count(*) AS sold, sum(total) AS total FROM orders;
    CREATE VIEW report AS SELECT sold, total FROM prod_new.sales JOIN prod.sales USING (sold)
"""
SWAP = "ALTER SCHEMA prod SWAP WITH prod_new; ALTER CLUSTER serving SWAP WITH serving_new"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        run(session, PREPARED)
        yield session


def test_clients_read_what_was_prepared_under_the_old_name(session: Session) -> None:
    assert run(session, "SELECT * FROM prod.sales") == [(2,)]
    run(session, f"BEGIN; {SWAP}; COMMIT")
    assert run(session, "SELECT * FROM prod.sales") == [(2, 30)]
    assert run(session, "SELECT * FROM prod_new.sales") == [(2,)]
    (_, definition), *_ = run(session, "SHOW CREATE MATERIALIZED VIEW prod.sales")
    assert "prod.sales IN CLUSTER serving AS" in definition
    run(session, "DROP CLUSTER serving_new CASCADE")
    assert run(session, "SELECT name FROM (SHOW MATERIALIZED VIEWS FROM prod) AS listed") == [
        ("sales",)
    ]


def test_definitions_follow_the_objects_that_they_were_made_over(session: Session) -> None:
    run(session, SWAP)
    assert run(session, "SELECT * FROM report") == [(2, 30)]
    (_, definition), *_ = run(session, "SHOW CREATE VIEW report")
    assert "FROM reclock.prod.sales JOIN reclock.prod_new.sales" in definition


def test_a_swap_that_is_rolled_back_or_repeated_changes_nothing(session: Session) -> None:
    run(session, f"BEGIN; {SWAP}; ROLLBACK")
    assert run(session, "SELECT * FROM prod.sales") == [(2,)]
    run(session, f"{SWAP}; {SWAP}; ALTER SCHEMA prod SWAP WITH prod")
    assert run(session, "SELECT * FROM prod.sales") == [(2,)]
    assert run(session, "SELECT * FROM report") == [(2, 30)]


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("ALTER SCHEMA prod SWAP WITH missing", UnknownObject),
        ("ALTER SCHEMA missing SWAP WITH prod", UnknownObject),
        ("ALTER SCHEMA pg_catalog SWAP WITH prod", SystemObjectProtected),
        ("ALTER SCHEMA prod SWAP WITH pg_catalog", UnknownObject),
        ("ALTER CLUSTER serving SWAP WITH missing", UnknownObject),
        ("ALTER CLUSTER missing SWAP WITH serving", UnknownObject),
    ],
)
def test_both_exist_and_are_not_the_systems(
    session: Session, statement: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        run(session, statement)
