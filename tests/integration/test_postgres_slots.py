"""Replication slots of a real server: there for as long as their source is, however that ends, and
no longer."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import psycopg
import pytest
from fixtures.postgres import PASSWORD
from fixtures.publications import Killed, Lakehouse, Upstream, killing_at

from reclock.adapter.query.retained_wal import INTERVAL_S, RetainedWal
from reclock.adapter.transaction import cleanup
from reclock.connectors.postgres import connector
from reclock.connectors.postgres import slots as postgres_slots
from reclock.errors import InvalidOption, UpstreamUnavailable
from reclock.pipeline import maintenance


def test_a_slot_that_is_gone_or_was_moved_is_a_definite_error(
    upstream: Upstream, here: Lakehouse
) -> None:
    upstream.table("t (n int)")
    here.create(upstream)
    assert here.tick() == []
    upstream.run("INSERT INTO t VALUES (1)")
    [(slot, _)] = upstream.slots()
    upstream.run(f"SELECT pg_replication_slot_advance('{slot}', pg_current_wal_lsn())")
    assert here.tick() == [
        f'the server of publication "p" let another reader move the replication slot "{slot}"'
    ]
    upstream.run(f"SELECT pg_drop_replication_slot('{slot}')")
    assert here.tick() == [
        f'the server of publication "p" no longer has the replication slot "{slot}"'
    ]


@pytest.mark.parametrize("lost", ["between steps", "in a step"])
def test_a_source_whose_slot_is_lost_is_copied_anew(
    upstream: Upstream, here: Lakehouse, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    """Its relations get the difference to what the tables are now, also where what was to be read
    is bound already; then come the changes. RETRY says that it does not help."""
    upstream.table("whole (n int)")
    upstream.run(
        "CREATE TABLE keyed (id int PRIMARY KEY, n int)",
        "INSERT INTO keyed SELECT i, i FROM generate_series(1, 5) i",
    )
    upstream.run("INSERT INTO whole VALUES (1), (1), (2)")
    here.create(upstream)
    assert here.tick() == []
    [(before,)] = here.sql("SELECT mz_timestamp FROM pg_progress")
    here.sql("CREATE MATERIALIZED VIEW total AS SELECT sum(n) AS n FROM keyed")
    assert here.tick() == []
    [(slot, _)] = upstream.slots()
    upstream.run(
        "INSERT INTO whole VALUES (3)",
        "DELETE FROM whole WHERE n = 2",
        "UPDATE keyed SET n = 10 WHERE id = 1",
    )
    upstream.run("DELETE FROM keyed WHERE id = 5")
    if lost == "in a step":
        with monkeypatch.context() as patched:
            patched.setattr("reclock.failpoints.on_reach", killing_at("ingest.after_bound"))
            with pytest.raises(Killed):
                here.tick()
    upstream.run(f"SELECT pg_drop_replication_slot('{slot}')")
    assert here.tick() != []
    if lost == "between steps":
        for decision in ("RETRY",):
            with pytest.raises(InvalidOption, match="no decision brings this back"):
                here.sql(f"ALTER SOURCE pg {decision}")
        [hint] = here.sql(
            "SELECT DISTINCT hint FROM mz_source_statuses WHERE status = 'stalled' AND name = 'pg'"
        )
        assert hint == ("ALTER SOURCE reclock.public.pg RESNAPSHOT copies the tables anew",)
    here.sql("ALTER SOURCE pg RESNAPSHOT")
    assert here.tick() == []
    for _ in range(2):
        assert here.sql("SELECT n FROM whole ORDER BY n") == upstream.run(
            "SELECT n FROM whole ORDER BY n"
        )
        assert here.sql("SELECT * FROM keyed ORDER BY id") == upstream.run(
            "SELECT * FROM keyed ORDER BY id"
        )
        assert here.sql("SELECT n FROM total") == upstream.run("SELECT sum(n) FROM keyed")
        upstream.run(
            "INSERT INTO whole VALUES (4)",
            "UPDATE keyed SET n = 11 WHERE id = 1",
            "INSERT INTO keyed VALUES (5, 50)",
        )
        assert here.tick() == []
        assert here.tick() == []
        upstream.run("DELETE FROM keyed WHERE id = 5")
        assert here.tick() == []
    assert here.sql(f"SELECT sum(n) FROM keyed AS OF {before}") == [(15,)]
    assert len(upstream.slots()) == 1
    here.sql("ALTER SOURCE pg RESNAPSHOT")  # also where nothing is lost
    assert here.tick() == []
    assert here.sql("SELECT * FROM keyed ORDER BY id") == upstream.run(
        "SELECT * FROM keyed ORDER BY id"
    )


def test_a_table_that_was_altered_meanwhile_fails_alone_when_its_source_is_copied_anew(
    upstream: Upstream, here: Lakehouse
) -> None:
    upstream.table("whole (n int)")
    upstream.run(
        "CREATE TABLE altered (id int PRIMARY KEY, n int)", "INSERT INTO altered VALUES (1, 1)"
    )
    upstream.run("CREATE TABLE retyped (id int PRIMARY KEY, n int)", "INSERT INTO whole VALUES (1)")
    here.create(upstream)
    assert here.tick() == []
    [(slot, _)] = upstream.slots()
    upstream.run(f"SELECT pg_drop_replication_slot('{slot}')")
    upstream.run(
        "ALTER TABLE altered DROP COLUMN n",
        "ALTER TABLE retyped ALTER n TYPE text",
        "INSERT INTO whole VALUES (2)",
    )
    here.sql("ALTER SOURCE pg RESNAPSHOT")
    assert sorted(here.tick()) == [
        'table "public.altered" has no column "n" any more',
        'table "public.retyped" has a column "n" that is no integer any more',
    ]
    upstream.run("INSERT INTO whole VALUES (3)")
    assert here.tick() == []
    assert here.sql("SELECT n FROM whole ORDER BY n") == [(1,), (2,), (3,)]


def test_an_idle_publication_does_not_keep_the_log(
    upstream: Upstream, here: Lakehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where only tables beside it change, nothing is bound until there is much of it; then the slot
    lets that go."""
    monkeypatch.setattr(connector, "IDLE_BYTES", 200_000)
    upstream.run("DROP PUBLICATION p")
    upstream.table("t (n int)")
    upstream.run("CREATE TABLE beside (n int, x text)", "CREATE PUBLICATION p FOR TABLE t")
    here.create(upstream)
    assert here.tick() == []
    [(_, first_lsn)] = upstream.slots()
    upstream.run("INSERT INTO beside VALUES (1, 'x')")
    assert here.tick() == []
    assert upstream.slots()[0][1] == first_lsn
    upstream.run("INSERT INTO beside SELECT i, repeat('x', 100) FROM generate_series(1, 3000) i")
    assert here.tick() == []
    assert upstream.slots()[0][1] > first_lsn + 200_000
    assert here.sql("SELECT * FROM t") == []


@pytest.mark.parametrize(
    "point",
    ["ingest.after_claim", "ingest.after_read_once", "ingest.after_claimed", "ingest.after_bind"],
)
def test_killed_at_the_beginning_it_begins_again(
    upstream: Upstream, here: Lakehouse, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """The copy is of one moment: a row that comes between the attempts is in the second copy, or
    follows it, and is there once."""
    upstream.table("t (n int)")
    upstream.run("INSERT INTO t VALUES (1)")
    here.create(upstream)

    with monkeypatch.context() as patched:
        patched.setattr("reclock.failpoints.on_reach", killing_at(point))
        with pytest.raises(Killed):
            here.tick()
    upstream.run("INSERT INTO t VALUES (2)")
    assert here.tick() == []
    assert here.tick() == []
    assert here.sql("SELECT n FROM t ORDER BY n") == [(1,), (2,)]
    assert len(upstream.slots()) == 1


def test_a_dropped_source_leaves_no_slot_behind(
    upstream: Upstream, here: Lakehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.table("t (n int)")
    here.create(upstream)
    assert here.tick() == []
    assert len(upstream.slots()) == 1
    with monkeypatch.context() as patched:
        patched.setattr("reclock.failpoints.on_reach", killing_at("definitions.after_commit"))
        with pytest.raises(Killed):
            here.sql("DROP SOURCE pg CASCADE")
    assert len(upstream.slots()) == 1
    assert maintenance.sweep(here.environment).failed_cleanups == 0
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
    """Before the tick makes it; while the server makes it, and the tick is killed; while the tables
    are copied."""
    upstream.table("t (n int)")
    here.create(upstream)
    monkeypatch.setattr(postgres_slots, "_LOCK_MS", 100)
    create_slot = postgres_slots.create_slot

    def drop_before(name: str) -> None:
        if name == "ingest.after_claim":
            here.sql("DROP SOURCE pg CASCADE")

    def drop_while(*arguments: Any) -> tuple[str, str]:
        here.sql("DROP SOURCE pg CASCADE")
        create_slot(*arguments)
        raise Killed

    def drop_after(*arguments: Any) -> tuple[str, str]:
        made = create_slot(*arguments)
        here.sql("DROP SOURCE pg CASCADE")
        return made

    with monkeypatch.context() as patched:
        if moment == "before":
            patched.setattr("reclock.failpoints.on_reach", drop_before)
        else:
            patched.setattr(
                connector, "create_slot", drop_while if moment == "while" else drop_after
            )
        with suppress(Killed):
            here.tick()
    assert len(upstream.slots()) == (moment != "before")
    monkeypatch.setattr(postgres_slots, "_LOCK_MS", 30_000)
    assert maintenance.sweep(here.environment).failed_cleanups == 0
    assert upstream.slots() == []


def test_a_slot_whose_server_is_away_is_dropped_later(
    upstream: Upstream, here: Lakehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then it is told where to see it, and the password is kept, whatever of the definitions
    is gone."""
    upstream.table("t (n int)")
    place = (
        f"HOST '127.0.0.1', PORT {upstream.server.port}, DATABASE '{upstream.database}', "
        "USER 'postgres'"
    )
    here.sql(
        f"CREATE SECRET word AS '{PASSWORD}'; CREATE CONNECTION pg_server TO POSTGRES "
        f"({place}, PASSWORD SECRET word)"
    )
    here.sql("CREATE SOURCE pg FROM POSTGRES CONNECTION pg_server (PUBLICATION 'p') FOR ALL TABLES")
    assert here.tick() == []
    [(slot, _)] = upstream.slots()
    slot_name = f'replication slot "{slot}" of publication "p"'
    with monkeypatch.context() as patched:
        patched.setattr(connector.Postgres, "dismiss", _away)
        here.sql("DROP SECRET word CASCADE")
        assert here.notices == [
            (
                f'the upstream of "reclock.public.pg" still has the {slot_name}: it is away; the '
                "drop is retried later"
            )
        ]
        query = "SELECT name, kept, error, detail FROM mz_source_leftovers"
        assert here.sql(query) == [("reclock.public.pg", slot_name, "it is away", "no route")]
        assert maintenance.sweep(here.environment).failed_cleanups == 1
    assert here.tick() == []
    assert upstream.slots() == [(slot, upstream.slots()[0][1])]  # it was tried a moment ago
    monkeypatch.setattr(cleanup, "AGAIN_AFTER_MS", 0)
    assert here.tick() == []
    assert (upstream.slots(), here.sql(query)) == ([], [])


def test_a_source_that_waits_for_an_open_transaction_says_so_and_holds_up_nobody(
    upstream: Upstream, here: Lakehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server makes no slot before the transaction has ended. Until then no row is read."""
    monkeypatch.setattr(postgres_slots, "PATIENCE_S", 0.2)
    upstream.table("t (n int)")
    upstream.run("INSERT INTO t VALUES (1)")
    here.sql("CREATE SOURCE other FROM LOAD GENERATOR COUNTER (TICK INTERVAL '1ms')")
    with psycopg.connect(upstream.connection) as open_one:
        open_one.execute("INSERT INTO t VALUES (2)")
        here.create(upstream)
        assert here.tick() == []
        assert here.sql("SELECT count(*) > 0 FROM other") == [(True,)]
        statuses = (
            "SELECT status, detail FROM mz_source_statuses WHERE name IN ('pg', 't') ORDER BY name"
        )
        [(status, detail), *_] = here.sql(statuses)
        assert status == "starting"
        assert f"pid {open_one.info.backend_pid} of user" in detail
        assert upstream.slots() == []
        open_one.commit()
    assert here.tick() == []
    assert here.sql("SELECT n FROM t ORDER BY n") == [(1,), (2,)]
    assert here.sql(statuses)[0][0] == "running"


def _away(self: connector.Postgres) -> None:
    raise UpstreamUnavailable("it is away", detail="no route")


def test_the_wal_that_a_slot_retains_is_measured_while_its_source_is_behind(
    upstream: Upstream, here: Lakehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scrapes show the last measurement and do not wait for one; without an answer of the upstream
    there is none."""
    now_s = 0.0
    environment = here.environment
    retained_wal = RetainedWal(environment.runtime.connection_context, lambda: now_s)

    def measured() -> list[int]:
        """The measurement that begins at this time."""
        nonlocal now_s
        now_s += INTERVAL_S
        catalog = environment.stores.planner_catalog()
        retained_wal.newest(catalog)
        assert retained_wal._thread is not None
        retained_wal._thread.join()
        return list(retained_wal.newest(catalog).values())

    assert measured() == []
    upstream.table("t (n int, filling text)")
    here.create(upstream)
    assert measured() == []  # the first tick makes the slot
    assert here.tick() == []
    [before] = measured()
    upstream.run("INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, 3000) i")
    assert list(retained_wal.newest(environment.stores.planner_catalog()).values()) == [before]
    [behind] = measured()
    assert behind > before + 3_000_000
    with monkeypatch.context() as patched:
        patched.setattr(connector, "retained_bytes", lambda *_: upstream.run("SELECT 1 / 0"))
        assert measured() == []
    here.sql("DROP SOURCE pg CASCADE")
    assert measured() == []
