"""Replication slots of a real server: there for as long as their source is, however that ends, and no longer."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from fixtures.postgres import PASSWORD
from fixtures.publications import Killed, Lakehouse, Upstream, killing_at

from reclock import maintenance
from reclock.adapter import leftovers
from reclock.errors import UpstreamUnavailable
from reclock.sources import postgres as connector

pytestmark = pytest.mark.spark


def test_a_slot_that_is_gone_or_was_moved_is_a_definite_error(upstream: Upstream, here: Lakehouse) -> None:
    upstream.table("t (n int)")
    here.create(upstream)
    assert here.tick() == []
    upstream.run("INSERT INTO t VALUES (1)")
    [(slot, _)] = upstream.slots()
    upstream.run(f"SELECT pg_replication_slot_advance('{slot}', pg_current_wal_lsn())")
    assert here.tick() == [f'the server of publication "p" let another reader move the replication slot "{slot}"']
    upstream.run(f"SELECT pg_drop_replication_slot('{slot}')")
    assert here.tick() == [f'the server of publication "p" no longer has the replication slot "{slot}"']


def test_an_idle_publication_does_not_keep_the_log(upstream: Upstream, here: Lakehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only tables beside it change, nothing is bound until there is much of it; then the slot lets that go."""
    monkeypatch.setattr(connector, "IDLE_BYTES", 200_000)
    upstream.run("DROP PUBLICATION p")
    upstream.table("t (n int)")
    upstream.run("CREATE TABLE beside (n int, x text)", "CREATE PUBLICATION p FOR TABLE t")
    here.create(upstream)
    assert here.tick() == []
    [(_, begun)] = upstream.slots()
    upstream.run("INSERT INTO beside VALUES (1, 'x')")
    assert here.tick() == []
    assert upstream.slots()[0][1] == begun
    upstream.run("INSERT INTO beside SELECT i, repeat('x', 100) FROM generate_series(1, 3000) i")
    assert here.tick() == []
    assert upstream.slots()[0][1] > begun + 200_000
    assert here.sql("SELECT * FROM t") == []


@pytest.mark.parametrize("point", ["ingest.after_claim", "ingest.after_read_once", "ingest.after_claimed", "ingest.after_bind"])
def test_killed_at_the_beginning_it_begins_again(
    upstream: Upstream, here: Lakehouse, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """The copy is of one moment: a row that comes between the attempts is in the second copy, or follows it, and is there once."""
    upstream.table("t (n int)")
    upstream.run("INSERT INTO t VALUES (1)")
    here.create(upstream)

    with monkeypatch.context() as patched:
        patched.setattr("reclock.crashpoints.reach", killing_at(point))
        with pytest.raises(Killed):
            here.tick()
    upstream.run("INSERT INTO t VALUES (2)")
    assert here.tick() == []
    assert here.tick() == []
    assert here.sql("SELECT n FROM t ORDER BY n") == [(1,), (2,)]
    assert len(upstream.slots()) == 1


def test_a_dropped_source_leaves_no_slot_behind(upstream: Upstream, here: Lakehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    upstream.table("t (n int)")
    here.create(upstream)
    assert here.tick() == []
    assert len(upstream.slots()) == 1
    with monkeypatch.context() as patched:
        patched.setattr("reclock.crashpoints.reach", killing_at("definitions.after_commit"))
        with pytest.raises(Killed):
            here.sql("DROP SOURCE pg CASCADE")
    assert len(upstream.slots()) == 1
    assert maintenance.sweep(here.environment).leftovers == 0
    assert upstream.slots() == []
    here.create(upstream)
    assert here.tick() == []
    here.sql("DROP SOURCE pg CASCADE")
    assert (upstream.slots(), here.notices) == ([], [])
    assert here.sql("SELECT * FROM mz_source_leftovers") == []


@pytest.mark.parametrize("moment", ["before", "while", "after"])
def test_a_source_that_is_dropped_at_its_first_tick_leaves_no_slot(
    upstream: Upstream, here: Lakehouse, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Before the tick makes it; while the server makes it, and the tick is killed; while the tables are copied."""
    upstream.table("t (n int)")
    here.create(upstream)
    monkeypatch.setattr(connector, "_LOCK_MS", 100)
    create_slot = connector.Postgres._create_slot

    def drop_before(name: str) -> None:
        if name == "ingest.after_claim":
            here.sql("DROP SOURCE pg CASCADE")

    def drop_while(*arguments: Any) -> tuple[int, str]:
        here.sql("DROP SOURCE pg CASCADE")
        create_slot(*arguments)
        raise Killed

    def drop_after(*arguments: Any) -> tuple[int, str]:
        made = create_slot(*arguments)
        here.sql("DROP SOURCE pg CASCADE")
        return made

    with monkeypatch.context() as patched:
        if moment == "before":
            patched.setattr("reclock.crashpoints.reach", drop_before)
        else:
            patched.setattr(connector.Postgres, "_create_slot", drop_while if moment == "while" else drop_after)
        with suppress(Killed):
            here.tick()
    assert len(upstream.slots()) == (moment != "before")
    monkeypatch.setattr(connector, "_LOCK_MS", 30_000)
    assert maintenance.sweep(here.environment).leftovers == 0
    assert upstream.slots() == []


def test_a_slot_whose_server_is_away_is_dropped_later(upstream: Upstream, here: Lakehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until then it is told where to see it, and the password is kept, whatever of the definitions is gone."""
    upstream.table("t (n int)")
    place = f"HOST '127.0.0.1', PORT {upstream.server.port}, DATABASE '{upstream.database}', USER 'postgres'"
    here.sql(f"CREATE SECRET word AS '{PASSWORD}'; CREATE CONNECTION pg_server TO POSTGRES ({place}, PASSWORD SECRET word)")
    here.sql("CREATE SOURCE pg FROM POSTGRES CONNECTION pg_server (PUBLICATION 'p') FOR ALL TABLES")
    assert here.tick() == []
    [(slot, _)] = upstream.slots()
    kept = f'replication slot "{slot}" of publication "p"'
    with monkeypatch.context() as patched:
        patched.setattr(connector.Postgres, "dismiss", _away)
        here.sql("DROP SECRET word CASCADE")
        assert here.notices == [f'the upstream of "reclock.public.pg" still has the {kept}: it is away; it will be told later']
        query = "SELECT name, kept, error, detail FROM mz_source_leftovers"
        assert here.sql(query) == [("reclock.public.pg", kept, "it is away", "no route")]
        assert maintenance.sweep(here.environment).leftovers == 1
    assert here.tick() == []
    assert upstream.slots() == [(slot, upstream.slots()[0][1])]  # it was tried a moment ago
    monkeypatch.setattr(leftovers, "AGAIN_AFTER_MS", 0)
    assert here.tick() == []
    assert (upstream.slots(), here.sql(query)) == ([], [])


def _away(self: connector.Postgres) -> None:
    raise UpstreamUnavailable("it is away", detail="no route")
