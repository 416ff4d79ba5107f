"""The storage controller over real stores: led for one step or by a loop, delayed, deposed, and
never waited for without need."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from fixtures.sessions import sql
from fixtures.waiting import eventually

from reclock import failpoints
from reclock.adapter.query import queries
from reclock.adapter.query.overview import overview_of
from reclock.adapter.session.session import Session
from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.consensus.database.changes import TimelineChanges
from reclock.consensus.leadership.elections import Seat
from reclock.controllers import elected
from reclock.controllers.storage import StorageController
from reclock.errors import DroppedMeanwhile, QueryCanceled, StatementTimeout
from reclock.pipeline import tick
from reclock.runtime.environment import Environment


def seat(environment: Environment, owner: str, lease_ms: int = 600_000) -> Seat:
    return Seat(
        environment.stores.consensus,
        environment.stores.leadership,
        "storage",
        owner=owner,
        lease_ms=lease_ms,
    )


def upper(environment: Environment) -> int:
    return environment.stores.catalog.sync().upper


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with Environment.initialise(tmp_path):
        return tmp_path


@pytest.fixture
def environment(home: Path) -> Iterator[Environment]:
    with Environment.open(home) as opened:
        yield opened


@pytest.fixture
def other(home: Path) -> Iterator[Environment]:
    with Environment.open(home) as opened:
        yield opened


def test_a_definition_waits_for_nobody(environment: Environment) -> None:
    seat(environment, "ghost").take()
    sql(environment, "CREATE TABLE t (a int); DROP TABLE t; CREATE TABLE t (a int)")
    assert environment.control_plane.storage_controller.frontier < upper(environment)
    assert environment.stores.tables.log.table_ids() == frozenset()


def test_without_a_leader_whoever_needs_a_collection_leads_for_one_step(
    environment: Environment, other: Environment
) -> None:
    sql(environment, "CREATE TABLE t (a int)")
    sql(other, "INSERT INTO t VALUES (1)")
    assert sql(environment, "SELECT a FROM t") == [(1,)]
    standing = seat(environment, "").look()
    assert (standing.leader, standing.catalog_frontier) == (None, upper(environment))


def test_a_statement_asks_consensus_once_how_far_the_controller_is(
    environment: Environment, monkeypatch
) -> None:
    sql(environment, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
    questions = []
    monkeypatch.setattr(Seat, "look", lambda self: questions.append(None))
    for _ in range(3):
        sql(environment, "INSERT INTO t VALUES (2); SELECT * FROM t")
    assert questions == []


def test_a_query_without_collections_needs_no_storage_controller(environment: Environment) -> None:
    seat(environment, "ghost").take()
    sql(environment, "CREATE TABLE t (a int)")
    assert sql(environment, "SELECT 1") == [(1,)]
    assert sql(environment, "SELECT name FROM mz_objects WHERE name = 't'") == [("t",)]
    assert sql(environment, "SELECT * FROM mz_frontiers") == []
    assert [(it.name, it.upper) for it in overview_of(environment).objects] == [
        ("reclock.public.t", None)
    ]


@pytest.mark.parametrize(
    "statement",
    ["INSERT INTO t VALUES (1)", "SELECT * FROM t", "COPY t TO STDOUT", "DELETE FROM t"],
)
def test_a_statement_waits_for_a_leader_that_is_late_and_says_so(
    environment: Environment, statement: str
) -> None:
    seat(environment, "ghost").take()
    with pytest.raises(StatementTimeout) as late:
        sql(environment, f"CREATE TABLE t (a int); SET statement_timeout = '2s'; {statement}")
    assert "the storage controller has not reached" in (late.value.detail or "")


def test_waiting_for_a_leader_can_be_cancelled(environment: Environment) -> None:
    seat(environment, "ghost").take()
    session, waiting = Session(environment, notice=lambda message: None), threading.Event()
    list(session.execute("CREATE TABLE t (a int)"))
    pause = session.cancellation.pause

    def noted(seconds: float, waiting_for: str) -> None:
        waiting.set()
        pause(seconds, waiting_for)

    session.cancellation.pause = noted  # type: ignore[method-assign]
    canceller = threading.Thread(target=lambda: waiting.wait() and session.cancellation.cancel())
    canceller.start()
    with pytest.raises(QueryCanceled):
        list(session.execute("SELECT * FROM t"))
    canceller.join()


def test_one_whose_lease_is_over_is_not_waited_for(environment: Environment) -> None:
    seat(environment, "ghost", lease_ms=100).take()
    sql(environment, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
    assert seat(environment, "").look().term == 2


def test_a_loop_follows_what_other_processes_define(
    environment: Environment, other: Environment
) -> None:
    with environment.control_plane.storage_controller.looping():
        for number in range(5):
            sql(other, f"CREATE TABLE t{number} (a int); INSERT INTO t{number} VALUES ({number})")
            assert sql(environment, f"SELECT a FROM t{number}") == [(number,)]
        assert seat(other, "").look().leader == environment.stores.actor
    assert seat(other, "").look().leader is None


def test_a_loop_follows_the_catalog_without_notifications(
    home: Path, other: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pooler may pass none on. Then the renewal of the lease notices the change."""
    monkeypatch.setattr(
        TimelineChanges, "calling", lambda self, callback, timeline="": nullcontext()
    )
    monkeypatch.setattr(elected, "SETTLED_S", 3_600.0)
    monkeypatch.setenv("RECLOCK_CONTROLLER_LEASE_MS", "300")
    with Environment.open(home) as leader, leader.control_plane.storage_controller.looping():
        eventually(lambda: leader.control_plane.storage_controller.is_leading)
        monkeypatch.setattr(StorageController, "step", only_of(leader))
        sql(other, "CREATE TABLE t (a int)")
        eventually(lambda: seat(other, "").look().catalog_frontier == upper(other))


def only_of(leader: Environment) -> Callable[..., None]:
    """``StorageController.step``, which does nothing in other processes."""
    step = StorageController.step

    def guarded(self: StorageController, **options: Any) -> None:
        if self is leader.control_plane.storage_controller:
            step(self, **options)

    return guarded


def test_of_two_loops_one_leads_and_the_other_takes_over(
    environment: Environment, other: Environment
) -> None:
    with other.control_plane.storage_controller.looping():
        with environment.control_plane.storage_controller.looping():
            sql(other, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
            leader = seat(other, "").look().leader
            assert leader in (environment.stores.actor, other.stores.actor)
            sql(environment, "CREATE TABLE u (a int); INSERT INTO u VALUES (1)")
            assert seat(other, "").look().leader == leader
        sql(environment, "CREATE TABLE v (a int)")
        assert sql(other, "INSERT INTO v VALUES (1); SELECT a FROM v") == [(1,)]


@pytest.mark.parametrize(
    "asleep_at", ["controllers.storage.before_command", "tables.create.before_register"]
)
def test_a_leader_that_slept_over_its_lease_makes_nothing_that_was_dropped(
    environment: Environment, other: Environment, monkeypatch: pytest.MonkeyPatch, asleep_at: str
) -> None:
    sql(environment, "CREATE TABLE t (a int); CREATE DEFAULT INDEX ON t")
    ids = set(environment.stores.planner_catalog().snapshot.items)

    def sleep(point: str) -> None:
        if point == asleep_at:
            monkeypatch.undo()
            clock = environment.stores.clock
            # its lease is over
            monkeypatch.setattr(
                other.stores.consensus, "_clock", lambda: Timestamp(clock() + 600_000)
            )
            sql(other, "DROP TABLE t CASCADE")
            other.control_plane.storage_controller.step()
            monkeypatch.undo()

    monkeypatch.setattr(failpoints, "on_reach", sleep)
    environment.control_plane.storage_controller.step()
    assert environment.stores.tables.log.table_ids() == frozenset()
    assert not ids & environment.stores.frontiers.get_all().keys()


def test_what_a_reader_is_at_goes_when_it_has_left(environment: Environment) -> None:
    sql(environment, "CREATE TABLE t (a int); CREATE DEFAULT INDEX ON t; INSERT INTO t VALUES (1)")
    [index] = [entry.id for entry in environment.stores.planner_catalog().indexes()]
    at = environment.stores.frontiers.get(index).upper
    hold = environment.stores.holds.acquire([index], at, owner="reader", lease_ms=600_000)
    sql(environment, "DROP TABLE t CASCADE")
    environment.control_plane.storage_controller.step()
    assert environment.stores.lake.exists(StorageCollectionId(index))
    environment.stores.holds.release(hold)
    environment.control_plane.storage_controller.step()
    assert not environment.stores.lake.exists(StorageCollectionId(index))
    assert index not in environment.stores.frontiers.get_all()


def test_a_drop_that_the_lake_refuses_is_done_later_and_holds_up_nobody(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql(environment, "CREATE TABLE t (a int); CREATE INDEX i ON t (a); INSERT INTO t VALUES (1)")
    [index] = [entry.id for entry in environment.stores.planner_catalog().indexes()]

    def refuse(id: GlobalId) -> None:
        raise OSError("no")

    with monkeypatch.context() as patch:
        patch.setattr(environment.stores.lake, "drop_all", refuse)
        sql(environment, "DROP INDEX i; CREATE TABLE u (a int); INSERT INTO u VALUES (1)")
        assert index in environment.stores.frontiers.get_all()
    environment.control_plane.storage_controller.step()
    assert index not in environment.stores.frontiers.get_all()
    assert not environment.stores.lake.exists(StorageCollectionId(index))


def test_a_table_goes_when_the_reads_that_began_before_are_done(
    environment: Environment, other: Environment
) -> None:
    sql(
        environment,
        (
            "CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE TABLE u (a int); "
            "CREATE DEFAULT INDEX ON u"
        ),
    )
    tick.run(environment, owner="tick")  # the index holds the tables for ever
    [table] = [
        entry.collection
        for entry in environment.stores.planner_catalog().relations()
        if entry.name.item == "t"
    ]
    session = Session(environment)
    list(session.execute("BEGIN; SELECT a FROM u"))
    sql(other, "DROP TABLE t")
    other.control_plane.storage_controller.step()
    assert other.stores.lake.exists(table)
    assert other.control_plane.storage_controller.frontier == upper(other)
    session.close()
    environment.stores.shared_holds.release_idle(["tables"])
    other.control_plane.storage_controller.step()
    assert not other.stores.lake.exists(table)


@pytest.mark.parametrize("kind", ["table", "index"])
def test_a_query_of_what_is_dropped_before_it_holds_it_says_so(
    environment: Environment, other: Environment, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    sql(
        environment,
        (
            "CREATE TABLE t (a int); CREATE MATERIALIZED VIEW v AS SELECT sum(a) FROM t; "
            "INSERT INTO t VALUES (1)"
        ),
    )
    dropped, prepare = [], queries.QueryExecution.prepare

    def overtaken(query: queries.QueryExecution) -> queries.ReadPlan:
        ready = prepare(query)
        if not dropped:
            dropped.append(sql(other, "DROP TABLE t CASCADE"))
            environment.stores.shared_holds.release_idle(["tables"])
            other.control_plane.storage_controller.step()
        return ready

    monkeypatch.setattr(queries.QueryExecution, "prepare", overtaken)
    with pytest.raises(DroppedMeanwhile, match=r"reclock\.public\.t"):
        sql(environment, "SELECT * FROM t" if kind == "table" else "SELECT * FROM v")


def test_a_peek_whose_index_is_dropped_by_then_computes_the_view(
    environment: Environment, other: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql(
        environment,
        "CREATE TABLE t (a int); CREATE VIEW v AS SELECT sum(a) FROM t; CREATE DEFAULT INDEX ON v",
    )
    sql(environment, "INSERT INTO t VALUES (1)")
    tick.run(environment, owner="tick")
    controller: Any = environment.control_plane.compute_controller(1)
    used: list[int] = []
    peek = controller.peek

    def overtaken(request, pause, *, replica):
        used.append(len(request.dataflows))
        if len(used) == 1:
            sql(other, "DROP INDEX v_primary_idx CASCADE")
            controller.step()
        return peek(request, pause, replica=replica)

    monkeypatch.setattr(controller, "peek", overtaken)
    assert sql(environment, "SET transaction_isolation = 'serializable'; SELECT * FROM v") == [(1,)]
    assert used == [1, 0]


def test_everything_is_rebuilt_from_the_catalog_alone(environment: Environment) -> None:
    sql(
        environment,
        (
            "CREATE TABLE t (a int); CREATE DEFAULT INDEX ON t; CREATE TABLE u (a int); "
            "INSERT INTO t VALUES (1)"
        ),
    )
    [index] = [entry.id for entry in environment.stores.planner_catalog().indexes()]
    environment.stores.frontiers.drop([index])
    environment.stores.lake.drop_all(GlobalId(index))
    environment.stores.frontiers.create(
        "u999",
        since=environment.stores.oracle.read_ts(EPOCH_MS),
        upper=environment.stores.oracle.read_ts(EPOCH_MS),
    )
    environment.control_plane.storage_controller.step()
    assert environment.stores.lake.exists(StorageCollectionId(index))
    assert {index, "u999"} <= environment.stores.frontiers.get_all().keys()
    assert sql(environment, "SELECT a FROM t") == [(1,)]
