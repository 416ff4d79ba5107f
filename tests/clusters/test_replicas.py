"""Clusters of a size: what their processes answer while some of them, or who leads them, are
killed, hang or are replaced."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fixtures import forks
from fixtures.replicas import QUICK, killing, processes
from fixtures.server import SqlServer, start_server, stop_outside_transactions
from fixtures.sunk import delta_rows
from fixtures.waiting import eventually

from reclock import failpoints
from reclock.runtime.environment import Environment

SUM = "SELECT sum(a) FROM t"


class World:
    """One home, its servers, and a cluster ``c`` with a replica ``r1``."""

    def __init__(self, home: Path, variables: dict[str, str]) -> None:
        self.home, self.variables = home, variables
        self.servers = [self.serve()]

    def serve(self) -> SqlServer:
        return start_server(self.home, self.variables)

    def connect(self, server: int = 0) -> psycopg.Connection:
        connection = self.servers[server].connect()
        connection.execute("SET cluster = c")
        return connection

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        with self.connect() as connection:
            found = connection.execute(text)
            return found.fetchall() if found.description else []

    def pids(self, replica: str | None = None) -> list[int]:
        return [process.pid for process in processes(self.home, replica)]

    def reporting(self) -> set[str]:
        """The replicas of which something is said, as who is on another cluster reads it."""
        with self.servers[0].connect() as connection:
            query = """SELECT r.name FROM mz_internal.mz_cluster_replica_metrics m JOIN mz_cluster_replicas r ON r.id = m.replica_id"""  # noqa: E501
            return {name for (name,) in connection.execute(query)}

    def incarnations(self) -> dict[int, int]:
        with Environment.open(self.home) as environment:
            return {
                replica.replica_id: replica.incarnation
                for replica in environment.stores.replicas.all()
                if replica.is_ready
            }

    def tick(self, **more: str) -> str:
        variables = self.variables | {"RECLOCK_HOME": str(self.home)} | more
        done = forks.completed("tick", **variables)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    home = tmp_path_factory.mktemp("replicas")
    with killing(home):
        world = World(
            home,
            QUICK
            | {"RECLOCK_INTROSPECTION_INTERVAL_MS": "200", "RECLOCK_REPLICA_HOST": "127.0.0.2"},
        )
        try:
            with world.servers[0].connect() as connection:
                connection.execute("CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)")
                connection.execute("CREATE CLUSTER c SIZE '1'")
            assert world.sql(SUM) == [(3,)]
            yield world
        finally:
            for server in world.servers:
                server.kill()


def test_a_replica_is_a_process_and_answers(world: World) -> None:
    [replica] = processes(world.home, "r1")
    assert replica.pid != world.servers[0].pid
    assert replica.ppid() == world.servers[0].pid
    assert world.sql("SELECT a FROM t ORDER BY a") == [(1,), (2,)]


def test_it_is_reached_where_other_machines_would(world: World) -> None:
    with Environment.open(world.home) as environment:
        [registration] = environment.stores.replicas.all()
    assert registration.address is not None
    assert registration.address.startswith("grpc+tls://127.0.0.2:")


def test_the_usage_of_a_replica_is_known_and_that_of_a_shared_process_is_not(world: World) -> None:
    usage = """SELECT c.name, u.cpu_percent >= 0, u.memory_bytes > 0, u.memory_percent BETWEEN 0.1 AND 99
        FROM mz_internal.mz_cluster_replica_metrics u JOIN mz_internal.mz_cluster_replica_statuses s USING (replica_id)
        JOIN mz_clusters c ON c.id = s.cluster_id"""
    eventually(
        lambda: set(world.sql(usage)) == {("c", True, True, True), ("default", None, None, None)}
    )


def test_an_endless_query_holds_up_nobody_on_another_cluster(world: World) -> None:
    ended: list[Exception] = []
    with world.connect() as endless, world.servers[0].connect() as other:

        def compute() -> None:
            try:
                endless.execute(
                    "SELECT sum((a.n * b.n) % 7 + c.n) "
                    "FROM generate_series(1, 100000) a(n), generate_series(1, 100000) "
                    "b(n), generate_series(1, 100000) c(n)"
                )
            except psycopg.Error as error:
                ended.append(error)

        running = threading.Thread(target=compute)
        running.start()
        for _ in range(20):
            assert other.execute(SUM).fetchall() == [(3,)]
        assert running.is_alive()
        eventually(lambda: endless.cancel() or not running.is_alive())
        assert [type(error) for error in ended] == [psycopg.errors.QueryCanceled]


def test_a_query_waits_for_the_only_replica_to_come_back(world: World) -> None:
    [killed] = processes(world.home, "r1")
    killed.kill()
    assert world.sql(SUM) == [(3,)]
    assert world.pids("r1") != [killed.pid]


def test_a_sink_is_emitted_by_a_replica_of_its_cluster(world: World) -> None:
    world.sql("CREATE SINK k IN CLUSTER c FROM t INTO DELTA 't'")
    # the tick would die of emitting itself
    output = world.tick(**{failpoints.VARIABLE: "sinks.emit.after_claim"})
    assert "2 changes emitted" in output
    assert sum(delta_rows(world.home / "sinks" / "t").values()) == 2
    world.sql("DROP SINK k")


def test_while_another_lives_nobody_waits(world: World) -> None:
    world.sql("CREATE CLUSTER REPLICA c.r2 SIZE '1'")
    eventually(lambda: len(world.incarnations()) == 2)
    eventually(lambda: world.reporting() == {"r1", "r2"})
    before = world.incarnations()
    with world.connect() as connection:
        connection.execute(SUM)
        for replica in ("r1", "r2"):
            [killed] = processes(world.home, replica)
            killed.kill()
            assert connection.execute(SUM).fetchall() == [(3,)]
            eventually(lambda: len(world.incarnations()) == 2)
    restarted = {id: incarnation + 1 for id, incarnation in before.items()}
    eventually(lambda: world.incarnations() == restarted)
    was_offline = """SELECT r.name FROM mz_internal.mz_cluster_replica_status_history h
        JOIN mz_cluster_replicas r ON r.id = h.replica_id WHERE h.status = 'offline'"""
    eventually(lambda: {name for (name,) in world.sql(was_offline)} == {"r1", "r2"})
    eventually(lambda: world.reporting() == {"r1", "r2"})


def test_one_that_hangs_is_missed_and_replaced(world: World) -> None:
    before = world.incarnations()
    stopped = processes(world.home)[0]
    stop_outside_transactions(stopped.pid, world.home / "consensus.db")
    with world.connect() as connection:
        assert [connection.execute(SUM).fetchone() for _ in range(3)] == [(3,)] * 3
    # what the other says, and what the one that hangs said for as long as it counts as alive
    assert world.reporting()
    eventually(lambda: sum(world.incarnations().values()) == sum(before.values()) + 1)
    eventually(lambda: stopped.pid not in world.pids())


def test_replicas_live_on_without_their_leader_and_the_next_adopts_them(world: World) -> None:
    before, pids = world.incarnations(), world.pids()
    world.servers.append(world.serve())
    world.servers.pop(0).kill()
    with world.connect() as connection:
        assert connection.execute(SUM).fetchall() == [(3,)]
        connection.execute("CREATE INDEX t_idx IN CLUSTER c ON t (a)")
        assert connection.execute(SUM).fetchall() == [(3,)]  # after the commands of the new leader
    assert (world.incarnations(), world.pids()) == (before, pids)


def test_a_tick_refreshes_through_a_replica(world: World) -> None:
    world.tick()
    [(plan,)] = world.sql("EXPLAIN SELECT * FROM t WHERE a = 1")[-1:]
    assert "t_idx" in plan
    assert world.sql("SELECT a FROM t WHERE a = 1") == [(1,)]


def test_another_size_takes_over_without_a_gap(world: World) -> None:
    before, failed, answered = world.incarnations(), [], 0
    is_over = threading.Event()

    def read() -> None:
        nonlocal answered
        with world.connect() as connection:
            while not is_over.is_set():
                try:
                    assert connection.execute(SUM).fetchall() == [(3,)]
                    answered += 1
                except (psycopg.Error, AssertionError) as error:
                    failed.append(str(error))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        world.sql("ALTER CLUSTER c SET (SIZE '2')")
        eventually(
            lambda: (
                len(world.incarnations()) == 2 and not world.incarnations().keys() & before.keys()
            )
        )
        was_answered = answered
        eventually(lambda: answered > was_answered or not reader.is_alive())
    finally:
        is_over.set()
        reader.join()
    assert failed == []
    eventually(lambda: len(world.pids()) == 2)


def test_a_dropped_cluster_leaves_no_process(world: World) -> None:
    world.sql("DROP CLUSTER c CASCADE")
    eventually(lambda: world.pids() == [])
    eventually(
        lambda: (
            world.sql("SELECT * FROM mz_internal.mz_cluster_replica_metrics WHERE replica_id > 0")
            == []
        )
    )
    with Environment.open(world.home) as environment:
        eventually(lambda: environment.stores.replicas.all() == [])
