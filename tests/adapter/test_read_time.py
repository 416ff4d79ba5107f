"""When a query reads: at one moment for the catalog and the data, found by one look at
consensus."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fixtures.sent_statements import sent_statements
from fixtures.sessions import last_answer

from reclock.adapter.session.session import Session
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.errors import NotReadable, StatementTimeout
from reclock.oracle.batching import BatchingOracle
from reclock.runtime.environment import Environment
from reclock.sql.names import SessionNames


@pytest.mark.parametrize("catalog", ["stash", "persist"])
def test_a_query_looks_at_consensus_once_and_sees_what_others_did_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, catalog: str
) -> None:
    monkeypatch.setenv("RECLOCK_CATALOG", catalog)
    with Environment.initialise(tmp_path) as here, Environment.open(tmp_path) as there:
        ours, theirs = Session(here), Session(there)
        last_answer(theirs, "CREATE TABLE t (n int); INSERT INTO t VALUES (1)")
        assert last_answer(ours, "SELECT n FROM t") == [(1,)]
        with sent_statements(by_thread=threading.get_ident()) as sent:
            assert last_answer(ours, "SELECT n FROM t") == [(1,)]
        assert len(sent) == 1, sent
        last_answer(theirs, "INSERT INTO t VALUES (2)")
        assert last_answer(ours, "SELECT n FROM t ORDER BY n") == [(1,), (2,)]
        last_answer(theirs, "CREATE TABLE u (n int); INSERT INTO u VALUES (3)")
        assert last_answer(ours, "SELECT n FROM u") == [(3,)]


def test_a_catalog_that_is_newer_than_the_look_is_read_at_a_newer_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy of the catalog may be newer than the look: the read timestamp of that moment is then
    of another."""
    with Environment.initialise(tmp_path) as environment:
        ours, theirs = Session(environment), Session(environment)
        look: Callable[[BatchingOracle], Any] = BatchingOracle.read_all
        statements = iter(["CREATE TABLE t (n int); INSERT INTO t VALUES (1)"])

        def slow(oracle: BatchingOracle) -> Any:
            found = look(oracle)
            if statement := next(statements, None):
                last_answer(theirs, statement)
            return found

        monkeypatch.setattr(BatchingOracle, "read_all", slow)
        assert last_answer(ours, "SELECT n FROM t") == [(1,)]


def test_a_consensus_that_went_back_is_not_read(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        last_answer(session, "CREATE TABLE t (n int)")
        back: list[Any] = [
            "UPDATE reclock_timeline SET read_ts = read_ts - 1 WHERE timeline = 'catalog'",
            "UPDATE catalog_upper SET upper = upper - 1",
        ]
        environment.stores.consensus.transact(
            lambda connection: [connection.execute(sa.text(text)) for text in back]
        )
        with pytest.raises(Exception, match="went back"):
            last_answer(session, "SELECT n FROM t")


def test_what_is_idle_can_be_read_as_of_any_time_that_is_over(tmp_path: Path) -> None:
    now = [1_000]
    with Environment.initialise(tmp_path, clock=lambda: Timestamp(now[0])) as environment:
        session = Session(environment)
        last_answer(session, "CREATE TABLE t (n int); INSERT INTO t VALUES (1)")
        now[0] = 10_000
        assert last_answer(session, "SELECT n FROM t AS OF 9500") == [(1,)]
        now[0] = 9_000  # the clock goes back; what was answered stays true
        last_answer(session, "INSERT INTO t VALUES (2)")
        assert last_answer(session, "SELECT n FROM t AS OF 9500") == [(1,)]
        assert last_answer(session, "SELECT n FROM t ORDER BY n") == [(1,), (2,)]
        subscribed = last_answer(session, "SUBSCRIBE (SELECT n FROM t) AS OF 8900 UP TO 8901")
        assert [row[-1] for row in subscribed] == [1]


def test_a_time_to_come_cannot_be_read_and_the_relations_are_named(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path, clock=lambda: Timestamp(1_000)) as environment:
        session = Session(environment)
        last_answer(session, "CREATE TABLE t (n int); CREATE TABLE u (n int)")
        last_answer(session, "CREATE VIEW v AS SELECT t.n FROM t JOIN u ON t.n = u.n")
        with pytest.raises(
            NotReadable, match=r'"reclock.public.t", "reclock.public.u" cannot be read at 5000'
        ):
            last_answer(session, "SELECT n FROM v AS OF 5000")


@pytest.mark.parametrize(("lease_ms", "is_over"), [(60_000, False), (0, True)])
def test_a_read_says_whether_the_owner_of_the_claim_it_waits_for_is_gone(
    tmp_path: Path, lease_ms: int, is_over: bool
) -> None:
    """A tick that was killed leaves its claim. Without another tick the read would wait for ever,
    and the reader has to be told."""
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        list(session.execute("CREATE SOURCE s FROM LOAD GENERATOR COUNTER"))
        environment.control_plane.await_storage(environment.stores.planner_catalog())
        source = environment.stores.planner_catalog().resolve(("s",), SessionNames())
        at = environment.stores.oracle.write_ts(EPOCH_MS)
        environment.stores.frontiers.claim(
            source.id, at=at, payload={}, owner="tick", lease_ms=lease_ms
        )
        environment.stores.oracle.apply_write(EPOCH_MS, at)
        list(session.execute("SET statement_timeout = 50"))
        with pytest.raises(StatementTimeout) as late:
            list(session.execute("SELECT * FROM s"))
        assert f"claimed at {at} by tick" in str(late.value.detail)
        assert ("no sign of life" in str(late.value.detail)) == is_over
        assert ("run reclock tick" in str(late.value.hint)) == is_over


def test_a_read_of_a_source_without_its_history_says_to_backfill_it(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        list(
            session.execute("CREATE SOURCE s FROM LOAD GENERATOR COUNTER WITH (START '2026-03-01')")
        )
        environment.control_plane.await_storage(environment.stores.planner_catalog())
        with pytest.raises(NotReadable) as refused:
            list(session.execute("SELECT * FROM s"))
        assert str(refused.value.hint).endswith("run reclock backfill reclock.public.s")
