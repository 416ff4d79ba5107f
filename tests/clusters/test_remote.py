"""A replica behind the wire answers as it does without, and whoever asks learns when it is gone,
hangs or is another."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight
import pytest

from reclock.adapter.session.session import Session
from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import EPOCH_MS, MAXIMUM
from reclock.clusters.flight import HEADER, RUNNING, ReplicaServer
from reclock.clusters.identity import NAME, identity
from reclock.clusters.remote import CHECK_INTERVAL_S, COMMAND_TIMEOUT_S, RemoteReplica
from reclock.config import Settings
from reclock.controllers.implied import sink_spec
from reclock.controllers.subscribes import ReportedReplicas
from reclock.errors import (
    ConfigurationError,
    EvaluationError,
    QueryCanceled,
    ReplicaBehind,
    ReplicaLost,
    UnknownCollection,
)
from reclock.pipeline import cluster_steps, source_steps, tick
from reclock.protocol import wire
from reclock.protocol.compute import (
    CancelPeek,
    Emit,
    Emitted,
    Peek,
    Refresh,
    Refreshed,
    RefreshFailed,
    Replica,
)
from reclock.protocol.introspection import (
    CancelSubscribe,
    LogChanges,
    LogFailed,
    LogName,
    Subscribe,
)
from reclock.runtime.environment import Environment
from reclock.sql.names import SessionNames
from reclock.sql.planning.statement import plan_statement
from reclock.sql.queries.views import expand
from reclock.sql.statements.query.values import Select
from reclock.sql.syntax.parse import parse

CLUSTER = 1
TOKEN = "token of this incarnation"
NUMBERS = ", ".join(f"({number})" for number in range(2_000))
TABLES = (
    f"CREATE TABLE t (a int); INSERT INTO t VALUES {NUMBERS}; CREATE VIEW v AS SELECT sum(a) "
    "AS s FROM t; CREATE INDEX i ON v (s)"
)


@dataclass
class World:
    environment: Environment
    replica: Any
    servers: list[ReplicaServer] = field(default_factory=list)

    def sql(self, text: str) -> list[tuple]:
        return [row for result in Session(self.environment).execute(text) for row in result.rows()]

    def serve(self, **where: str) -> ReplicaServer:
        self.servers.append(ReplicaServer(self.replica, TOKEN, **where))
        return self.servers[-1]

    def remote(
        self,
        server: ReplicaServer,
        *,
        token: str = TOKEN,
        is_alive: Callable[[], bool] = lambda: True,
    ) -> RemoteReplica:
        return RemoteReplica("c.r1", server.address, token, is_alive)

    def peek(self, query: str) -> Peek:
        catalog = self.environment.stores.planner_catalog()
        statement = plan_statement(parse(query)[0], catalog, SessionNames())
        assert isinstance(statement, Select)
        at = self.environment.stores.oracle.read_ts(EPOCH_MS)
        return Peek(
            "p1",
            catalog.snapshot.content_upper,
            at,
            expand(statement.plan, catalog),
            statement.finishing,
        )


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with Environment.initialise(tmp_path) as opened:
        controller: Any = opened.control_plane.compute_controller(CLUSTER)
        world = World(opened, controller.replica)
        world.sql(TABLES)
        controller.step()
        yield world
        for server in world.servers:
            server.shutdown()


def rows(response: Any) -> list[dict]:
    return pa.Table.from_batches(response.batches, response.schema).to_pylist()


def test_a_sink_is_emitted_behind_the_wire(world: World) -> None:
    world.sql("CREATE SINK k FROM v INTO DELTA 'v'")
    world.environment.control_plane.storage_controller.step()
    remote, at = world.remote(world.serve()), world.environment.stores.oracle.read_ts(EPOCH_MS)
    catalog = world.environment.stores.planner_catalog()
    [entry] = catalog.sinks()
    sink, known_at = sink_spec(catalog, entry.id), catalog.snapshot.content_upper
    with pytest.raises(ReplicaBehind):
        remote.emit(Emit(sink, at, "r", known_at))
    controller: Any = world.environment.control_plane.compute_controller(CLUSTER)
    controller.step()
    emitted = remote.emit(Emit(sink, at, "r", known_at))
    assert (emitted.commits, emitted.changes, emitted.upper) == (1, 1, at + 1)
    assert world.replica.emit(Emit(sink, at, "r", known_at)) == Emitted(emitted.sink, emitted.upper)
    with pytest.raises(UnknownCollection):
        remote.emit(Emit(replace(sink, id=GlobalId("u99")), at, "r"))


def test_it_answers_as_the_replica_does(world: World) -> None:
    remote = world.remote(world.serve())
    peek = world.peek("SELECT a, a::text AS b FROM t WHERE a > 1990 ORDER BY a DESC")
    assert remote.running() == world.replica.running() != {}
    assert remote.engine_of(peek) == world.replica.engine_of(peek) == "duckdb"
    near, far = world.replica.peek(peek), remote.peek(peek)
    assert (far.engine, far.schema) == (near.engine, near.schema)
    assert rows(far) == rows(near) != []


def test_an_answer_without_rows_has_its_columns(world: World) -> None:
    far = world.remote(world.serve()).peek(world.peek("SELECT a FROM t WHERE a < 0"))
    assert (far.schema.names, rows(far)) == (["a"], [])


def test_it_refreshes_and_is_commanded(world: World) -> None:
    remote = world.remote(world.serve())
    source_steps.publish(world.environment, [], tick.allocate(world.environment), owner="t")
    cluster_steps.complete_tables(
        world.environment.stores, world.environment.stores.oracle.read_ts(EPOCH_MS)
    )
    [index] = world.replica.running()
    at = world.environment.stores.oracle.read_ts(EPOCH_MS)
    [done] = remote.refresh(Refresh((index,), at, "tick"))
    assert isinstance(done, Refreshed)
    assert (done.upper, done.updates) == (at + 1, 1)
    assert world.sql("SELECT s FROM v") == [(1_999_000,)]
    world.sql("DROP INDEX i")
    controller: Any = world.environment.control_plane.compute_controller(CLUSTER)
    controller.step()
    [deletion] = remote.refresh(Refresh((index,), at, "tick"))
    assert isinstance(deletion, RefreshFailed)
    assert isinstance(deletion.error, UnknownCollection)


def test_its_errors_are_the_callers(world: World) -> None:
    remote = world.remote(world.serve())
    with pytest.raises(ReplicaBehind):
        remote.peek(replace(world.peek("SELECT a FROM t"), catalog_ts=MAXIMUM))
    with pytest.raises(EvaluationError) as raised:
        rows(remote.peek(world.peek("SELECT 1 / a FROM t")))
    assert raised.value.sqlstate == "22012"


def test_it_is_reached_where_it_says(world: World) -> None:
    near, everywhere = (
        world.serve(host="127.0.0.2"),
        world.serve(host="0.0.0.0", advertised="127.0.0.3"),  # noqa: S104
    )
    assert near.address == f"grpc+tls://127.0.0.2:{near.port}"
    assert everywhere.address == f"grpc+tls://127.0.0.3:{everywhere.port}"
    for server in (near, everywhere):
        assert world.remote(server).running() == world.replica.running()
    behind = world.serve(advertised="2001:db8::7")
    assert behind.address == f"grpc+tls://[2001:db8::7]:{behind.port}"


def test_a_replica_that_listens_on_all_addresses_needs_an_advertised_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECLOCK_REPLICA_HOST", "::")
    with pytest.raises(ConfigurationError) as raised:
        Settings.load(tmp_path)
    assert "replica_advertised_host" in str(raised.value.detail)
    monkeypatch.setenv("RECLOCK_REPLICA_ADVERTISED_HOST", "replicas.example")
    assert Settings.load(tmp_path).replica_advertised_host == "replicas.example"


def test_it_does_not_listen_on_another_machines_address(world: World) -> None:
    with pytest.raises(ConfigurationError, match=re.escape('cannot listen on "198.51.100.7"')):
        world.serve(host="198.51.100.7")


@pytest.mark.parametrize("token", ["", TOKEN.upper()])
def test_another_token_is_another_replica(world: World, token: str) -> None:
    """And does not say its own token to it."""
    with pytest.raises(ReplicaLost, match="lost the replica"):
        world.remote(world.serve(), token=token).running()


@pytest.mark.parametrize(
    "header", [b"", b"Bearer ", b"Bearer " + TOKEN.upper().encode(), TOKEN.encode()]
)
def test_a_client_with_the_certificate_and_no_token_is_refused(world: World, header: bytes) -> None:
    client = flight.connect(
        world.serve().address, tls_root_certs=identity(TOKEN).certificate, override_hostname=NAME
    )
    options = flight.FlightCallOptions(headers=[(HEADER.encode(), header)] if header else [])
    with pytest.raises(flight.FlightUnauthenticatedError):
        list(client.do_action(flight.Action(RUNNING, b""), options))
    with pytest.raises(flight.FlightUnauthenticatedError):
        client.do_get(flight.Ticket(wire.encode(world.peek("SELECT a FROM t"))), options).read_all()


def test_nothing_is_said_in_the_clear(world: World) -> None:
    client = flight.connect(world.serve().address.replace("grpc+tls", "grpc"))
    options = flight.FlightCallOptions(headers=[(HEADER.encode(), f"Bearer {TOKEN}".encode())])
    with pytest.raises(flight.FlightUnavailableError):
        list(client.do_action(flight.Action(RUNNING, b""), options))


def test_a_peek_is_cancelled_from_afar(world: World) -> None:
    remote, peek = world.remote(world.serve()), world.peek("SELECT x.a FROM t x, t y, t z")
    batches = remote.peek(peek).batches
    next(batches)
    remote.carry_out(CancelPeek(peek.id))
    with pytest.raises(QueryCanceled):
        list(batches)


def test_a_replica_that_is_gone_is_lost(world: World) -> None:
    server = world.serve()
    remote = world.remote(server)
    server.shutdown()
    with pytest.raises(ReplicaLost):
        remote.running()
    with pytest.raises(ReplicaLost):
        remote.peek(world.peek("SELECT a FROM t"))


def test_a_replica_without_a_sign_of_life_is_lost(world: World) -> None:
    """And what it computes ends, though it has no batch to give at which it would see that."""
    lives = threading.Event()
    lives.set()
    remote = world.remote(world.serve(), is_alive=lives.is_set)
    batches = remote.peek(world.peek("SELECT sum(x.a + y.a * z.a) FROM t x, t y, t z, t w")).batches
    lives.clear()
    with pytest.raises(ReplicaLost):
        next(batches)
    wait_until(lambda: not world.replica._peeks)


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = threading.Event()
    for _ in range(6_000):
        if is_so():
            return
        deadline.wait(0.01)
    raise AssertionError("it did not come to that within a minute")


def test_a_server_that_stops_waits_for_no_endless_peek(world: World) -> None:
    with world.serve() as server:
        batches = (
            world.remote(server)
            .peek(world.peek("SELECT sum(x.a + y.a * z.a) FROM t x, t y, t z, t w"))
            .batches
        )
        wait_until(lambda: bool(world.replica._peeks))
    with pytest.raises(QueryCanceled):
        next(batches)


@pytest.mark.parametrize("slow_call", ["carry_out", "take_changes"])
def test_a_replica_that_is_slow_to_report_is_waited_for_while_it_lives(
    slow_call: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, beyond_deadline = [], threading.Event()

    def is_alive() -> bool:
        looks.append(1)
        if len(looks) * CHECK_INTERVAL_S > COMMAND_TIMEOUT_S:
            beyond_deadline.set()
        return True

    original = getattr(type(world.replica), slow_call)

    def slow(replica: Replica, argument: object) -> object:
        assert beyond_deadline.wait(60)
        return original(replica, argument)

    monkeypatch.setattr(type(world.replica), slow_call, slow)
    manager = world.environment.runtime.collection_manager
    remote = world.remote(world.serve(), is_alive=is_alive)
    replicas = ReportedReplicas(
        lambda: {1: (CLUSTER, remote)}, manager, "p1", world.environment.stores.clock
    )
    replicas.step()
    manager.flush()
    assert beyond_deadline.is_set()
    assert world.sql("SELECT status FROM mz_internal.mz_cluster_replica_status_history") == [
        ("online",)
    ]
    assert world.sql("SELECT replica_id FROM mz_internal.mz_cluster_replica_metrics") == [(1,)]


def test_what_a_replica_measures_goes_over_the_wire(world: World) -> None:
    with world.serve() as server:
        remote = world.remote(server)
        remote.carry_out(Subscribe("t1", LogName.PROCESS_USAGE))
        [changes] = remote.take_changes(["t1"])
        assert isinstance(changes, LogChanges)
        assert changes.changes == ((remote.log(LogName.PROCESS_USAGE)[0], 1),)
        assert remote.take_changes(["t1"]) == []  # nothing has changed
        remote.carry_out(CancelSubscribe("t1"))
        [failed] = remote.take_changes(["t1"])
        assert isinstance(failed, LogFailed)
        remote.close()
