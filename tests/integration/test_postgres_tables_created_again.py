"""Tables of a publication that are dropped and created again, or put back into it: RESNAPSHOT makes
their source follow the tables that have the names now."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.forks import die_at
from fixtures.publications import Lakehouse, Upstream

from reclock.adapter.session.session import Session
from reclock.runtime.environment import Environment

STALLED = "SELECT name FROM mz_source_statuses WHERE status = 'stalled' ORDER BY name"


@pytest.fixture
def source(upstream: Upstream, here: Lakehouse) -> None:
    upstream.run(
        "CREATE TABLE t (id int PRIMARY KEY, n int)", "INSERT INTO t VALUES (1, 1), (2, 2)"
    )
    upstream.run("CREATE TABLE u (id int PRIMARY KEY)", "INSERT INTO u VALUES (1)")
    here.create(upstream)
    here.sql("CREATE MATERIALIZED VIEW total AS SELECT sum(n) AS n FROM t")
    assert here.tick() == []


def create_again(upstream: Upstream) -> None:
    upstream.run(
        "DROP TABLE t",
        "CREATE TABLE t (id int PRIMARY KEY, n int)",
        "INSERT INTO t VALUES (2, 20), (3, 30)",
    )


def resnapshot(home: Path) -> None:
    with Environment.open(home) as environment:
        list(Session(environment).execute("ALTER SOURCE pg RESNAPSHOT"))


def assert_follows(upstream: Upstream, here: Lakehouse) -> None:
    """The relations have the upstream's rows, now and after its next changes."""
    for change in ("INSERT INTO t VALUES (4, 40)", "DELETE FROM t WHERE id = 4"):
        for query in ("SELECT * FROM t ORDER BY id", "SELECT * FROM u ORDER BY id"):
            assert here.sql(query) == upstream.run(query)
        assert here.sql("SELECT n FROM total") == upstream.run("SELECT sum(n) FROM t")
        upstream.run(change)
        assert here.tick() == []
    assert here.sql(STALLED) == []
    assert len(upstream.slots()) == 1


@pytest.mark.usefixtures("source")
def test_a_failed_table_is_followed_again(upstream: Upstream, here: Lakehouse) -> None:
    """The hint of its status is the statement that helps."""
    create_again(upstream)
    assert 'table "public.t" is another one of the same name' in here.tick()
    assert here.sql("SELECT * FROM u") == [(1,)]
    [(hint,)] = here.sql("SELECT hint FROM mz_source_statuses WHERE name = 't'")
    assert "ALTER SOURCE reclock.public.pg RESNAPSHOT brings back this one" in hint
    here.sql("ALTER SOURCE pg RESNAPSHOT")
    assert here.tick() == []
    assert_follows(upstream, here)
    create_again(upstream)  # the identity that the definition has now is compared from here on
    assert 'table "public.t" is another one of the same name' in here.tick()


@pytest.mark.usefixtures("source")
def test_a_table_that_was_put_back_is_followed_again(upstream: Upstream, here: Lakehouse) -> None:
    upstream.run("DROP PUBLICATION p", "CREATE PUBLICATION p FOR TABLE u", "DELETE FROM t")
    assert 'table "public.t" is not in publication "p" any more' in here.tick()
    here.sql("ALTER SOURCE pg RESNAPSHOT")
    here.tick()
    assert ("t",) in here.sql(STALLED)
    upstream.run("ALTER PUBLICATION p ADD TABLE t", "INSERT INTO t VALUES (7, 7)")
    here.sql("ALTER SOURCE pg RESNAPSHOT")
    assert here.tick() == []
    assert_follows(upstream, here)


@pytest.mark.usefixtures("source")
@pytest.mark.parametrize("killed_at", ["resnapshot.after_decision", "resnapshot.after_definition"])
def test_a_statement_that_dies_leaves_no_table_half_followed(
    upstream: Upstream, here: Lakehouse, killed_at: str
) -> None:
    """No tick saw yet that the table is another one. It is wholly the new one afterwards, or it
    failed and the statement helps when it is repeated."""
    create_again(upstream)
    die_at(killed_at, resnapshot, here.environment.stores.settings.home)
    here.tick()
    if here.sql(STALLED) != []:
        assert killed_at == "resnapshot.after_decision"
        here.sql("ALTER SOURCE pg RESNAPSHOT")
        assert here.tick() == []
    assert_follows(upstream, here)
