"""The compute controller of a cluster with replicas, where these are made to behave badly."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from fixtures.scripted_replicas import ScriptedReplica

from reclock.adapter.session.session import Session
from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.consensus.processes.replicas import Incarnation, Registration
from reclock.controllers import controller
from reclock.errors import NoReplicas, ReplicaLost, StatementTimeout, UnknownObject
from reclock.protocol.compute import (
    ComputeCommand,
    Peek,
    PeekResponse,
    Refresh,
    Refreshed,
    RefreshResponse,
)
from reclock.protocol.orchestration import EndedProcess, ReplicaDescription
from reclock.runtime.environment import Environment
from reclock.runtime.replica import find, run


class NeverUp:
    """An `Orchestrator` whose processes end at once."""

    def __init__(self) -> None:
        self.started: list[tuple[str, Incarnation]] = []
        self._ended: list[EndedProcess] = []

    def has_room(self) -> bool:
        return True

    def start(self, replica: ReplicaDescription, incarnation: Incarnation) -> None:
        self.started.append((str(replica), incarnation))
        self._ended.append(EndedProcess(replica.id, incarnation, "exit code 1: no memory"))

    def stop(self, replica_id: int) -> None:
        pass

    def ended(self) -> Sequence[EndedProcess]:
        ended, self._ended = self._ended, []
        return ended


def test_the_error_of_a_wait_says_why_each_replica_is_absent(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        orchestrator = environment.control_plane.orchestrator = NeverUp()
        session = Session(environment)
        list(
            session.execute(
                "CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE CLUSTER c SIZE '1'"
            )
        )
        with pytest.raises(StatementTimeout) as raised:
            list(session.execute("SET cluster = c; SET statement_timeout = 3000; SELECT a FROM t"))
        assert raised.value.detail is not None
        assert '"c.r1"' in raised.value.detail
        assert "exit code 1: no memory" in raised.value.detail
        names, incarnations = zip(*orchestrator.started, strict=True)
        assert (set(names), incarnations) == ({"c.r1"}, tuple(range(1, len(incarnations) + 1)))


def test_a_cluster_without_replicas_answers_at_once_that_it_has_none(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        environment.control_plane.orchestrator = NeverUp()
        list(session.execute("CREATE TABLE t (a int); INSERT INTO t VALUES (1)"))
        list(
            session.execute(
                "CREATE CLUSTER c SIZE '1'; DROP CLUSTER REPLICA c.r1; SET cluster = c; "
                "SET statement_timeout = 0"
            )
        )
        with pytest.raises(NoReplicas, match='cluster "c" has no replicas'):
            list(session.execute("SELECT a FROM t"))
        [explained] = session.execute("EXPLAIN SELECT a FROM t")
        assert ('engine: none: cluster "c" has no replicas',) in list(explained.rows())


def test_without_autostart_a_replica_is_whoever_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECLOCK_REPLICA_AUTOSTART", "false")
    monkeypatch.setenv("RECLOCK_REPLICA_WARM_UP", "false")
    with Environment.initialise(tmp_path) as environment, Environment.open(tmp_path) as elsewhere:
        session, stopping = Session(environment), threading.Event()
        list(
            session.execute(
                "CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE CLUSTER c SIZE '1'"
            )
        )
        with pytest.raises(StatementTimeout) as raised:
            list(session.execute("SET cluster = c; SET statement_timeout = 3000; SELECT a FROM t"))
        assert '"c.r1" was not started yet' in str(raised.value.detail)

        def be() -> None:
            run(elsewhere, find(elsewhere, "c", "r1"), incarnation=None, stopping=stopping)

        replica = threading.Thread(target=be)
        replica.start()
        try:
            [*_, result] = session.execute("SET statement_timeout = 60000; SELECT a FROM t")
            assert list(result.rows()) == [(1,)]
        finally:
            stopping.set()
            replica.join()


@pytest.mark.parametrize(("lost", "succeeds"), [(3, True), (100, False)])
def test_a_refresh_over_which_replicas_are_lost_waits_for_the_next_a_few_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: int, succeeds: bool
) -> None:
    clock = [0.0]
    monkeypatch.setattr(
        controller, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=time.sleep)
    )
    refreshed = (Refreshed("i", Timestamp(7), (Timestamp(6),), 1),)
    replica_ids: list[int] = []

    class UpAtOnce(NeverUp):
        """An `Orchestrator` whose processes are there at once."""

        def start(self, replica: ReplicaDescription, incarnation: Incarnation) -> None:
            environment.stores.replicas.announce(
                replica.id, incarnation, "nowhere", lease_ms=600_000
            )

    class Computes(ScriptedReplica):
        """A `Replica` that refreshes; the first of them for an hour, until they are no more."""

        def __init__(self, registration: Registration) -> None:
            self._registration = registration

        def refresh(self, refresh: Refresh) -> RefreshResponse:
            replica_ids.append(self._registration.incarnation)
            if len(replica_ids) > lost:
                return refreshed
            clock[0] += 3600
            environment.stores.replicas.lost(
                self._registration.replica_id, self._registration.incarnation, "killed"
            )
            raise ReplicaLost("c.r1")

    with Environment.initialise(tmp_path) as environment:
        environment.control_plane.orchestrator = UpAtOnce()
        list(Session(environment).execute("CREATE CLUSTER c SIZE '1'"))
        sized = environment.control_plane.managed_controller(
            environment.stores.planner_catalog().cluster_id("c")
        )
        sized.requests.links.connect = sized._commanded.connect = Computes
        if succeeds:
            assert sized.refresh(Refresh((GlobalId("u1"),), Timestamp(6), "test")) == refreshed
            assert replica_ids == [1, 2, 3, 4]
        else:
            with pytest.raises(StatementTimeout):
                sized.refresh(Refresh((GlobalId("u1"),), Timestamp(6), "test"))
            assert len(replica_ids) < lost


class Present(NeverUp):
    """An `Orchestrator` whose processes are there at once, and stay."""

    def __init__(self, environment: Environment) -> None:
        super().__init__()
        self._environment = environment

    def start(self, replica: ReplicaDescription, incarnation: Incarnation) -> None:
        self._environment.stores.replicas.announce(
            replica.id, incarnation, "nowhere", lease_ms=600_000
        )


def test_a_peek_is_answered_by_another_replica_than_one_that_hangs_unless_that_is_named(
    tmp_path: Path,
) -> None:
    release, requests = threading.Event(), []

    class Peeks(ScriptedReplica):
        """A `Replica` that answers with its id; the first to be asked hangs."""

        def __init__(self, registration: Registration) -> None:
            self._id = registration.replica_id

        def peek(self, peek: Peek) -> PeekResponse:
            requests.append(self._id)
            if self._id == requests[0]:
                assert release.wait(60)

            def batches():
                yield pa.record_batch({"id": [self._id]})

            return PeekResponse("none", pa.schema([("id", pa.int64())]), batches())

    with Environment.initialise(tmp_path) as environment:
        environment.control_plane.orchestrator = Present(environment)
        session = Session(environment)
        list(
            session.execute(
                "CREATE TABLE t (a bigint); CREATE CLUSTER c SIZE '1'; CREATE CLUSTER "
                "REPLICA c.r2; SET cluster = c"
            )
        )
        sized = environment.control_plane.managed_controller(
            environment.stores.planner_catalog().cluster_id("c")
        )
        sized.requests.links.connect = sized._commanded.connect = Peeks
        for _ in range(2):
            [result] = session.execute("SELECT a FROM t")
            [(answered,)] = result.rows()
            assert answered != requests[0]
        assert requests == [requests[0], answered, answered], "it is asked first from now on"
        with pytest.raises(UnknownObject):
            list(session.execute("SET cluster_replica = nobody; SELECT a FROM t"))
        names = {
            replica.id: replica.name
            for replica in environment.stores.planner_catalog().snapshot.cluster_replicas.values()
        }
        release.set()
        [_, result] = session.execute(
            f"SET cluster_replica = {names[requests[0]]}; SELECT a FROM t"
        )
        assert list(result.rows()) == [(requests[0],)]
        list(session.execute("SET cluster_replica = nobody; SELECT count(*) FROM mz_objects"))


def test_a_replica_is_the_same_one_in_the_next_term_of_its_leader(tmp_path: Path) -> None:
    class Silent(ScriptedReplica):
        """A `Replica` that does what it is commanded."""

        def __init__(self, registration: Registration) -> None:
            self.commands: list[ComputeCommand] = []

        def carry_out(self, command: ComputeCommand) -> None:
            self.commands.append(command)

    with Environment.initialise(tmp_path) as environment:
        environment.control_plane.orchestrator = Present(environment)
        list(Session(environment).execute("CREATE CLUSTER c SIZE '1'"))
        sized = environment.control_plane.managed_controller(
            environment.stores.planner_catalog().cluster_id("c")
        )
        sized._commanded.connect = Silent
        sized.step(stays=True)
        replica: Any
        [replica] = sized.led().values()
        other_options = (
            replica_id
            for replica_id, (_, led) in environment.control_plane.reported_replicas().items()
            if led is None
        )
        assert list(other_options) == []
        sized._end_term()
        assert sized.led() == {}
        assert [
            led for id, (_, led) in environment.control_plane.reported_replicas().items() if id > 0
        ] == [None]
        commanded = len(replica.commands)
        sized._seat.leave()
        sized.step(stays=True)
        assert list(sized.led().values()) == [replica]
        # another leader might have commanded something else
        assert len(replica.commands) > commanded
