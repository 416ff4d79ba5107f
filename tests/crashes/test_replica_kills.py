"""Replicas are killed while they refresh and emit, ``--replica-kills`` times: every index is what
its view would be, and every time is in the target of a sink once."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fixtures.kafka import Broker
from fixtures.sunk import delta_history, replayed, topic_messages

import reclock
from reclock.adapter.session.session import Session
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.consensus.processes.replicas import Incarnation
from reclock.errors import ClaimConflict, ReplicaBehind, ReplicaLost, UpperMismatch
from reclock.pipeline import cluster_steps
from reclock.protocol.compute import Refresh, RefreshFailed
from reclock.protocol.orchestration import EndedProcess, ReplicaDescription
from reclock.runtime.environment import Environment

DEFINE = """
CREATE TABLE t (k int, n int);
CREATE VIEW sums AS SELECT k, sum(n) AS n, count(*) AS c FROM t GROUP BY k;
CREATE VIEW pairs AS SELECT a.k, a.n FROM t a JOIN sums b ON a.k = b.k AND a.n < b.n;
CREATE CLUSTER c SIZE '1';
CREATE CLUSTER REPLICA c.r2;
CREATE INDEX sums_idx IN CLUSTER c ON sums (k);
CREATE INDEX pairs_idx IN CLUSTER c ON pairs (k)
"""
POINTS = (
    "sinks.emit.after_claim",
    "sinks.delta.before_commit",
    "sinks.delta.after_commit",
    "sinks.kafka.before_commit",
    "sinks.kafka.after_commit",
)
VIEWS = ("SELECT k, n, c FROM sums ORDER BY 1, 2, 3", "SELECT k, n FROM pairs ORDER BY 1, 2")


class Forked:
    """An `Orchestrator` of forks."""

    def __init__(self, home: Path) -> None:
        script = Path(__file__).parents[1] / "fixtures" / "replica_zygote.py"
        variables = {
            "PYTHONPATH": str(Path(reclock.__file__).parents[1]),
            "RECLOCK_REPLICA_WARM_UP": "false",
        }
        self.zygote = subprocess.Popen(
            [sys.executable, str(script), str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | variables,
        )
        assert self.zygote.stdout is not None
        assert self.zygote.stdout.readline() == "ready\n"
        self.pids: dict[int, tuple[Incarnation, int]] = {}
        self.kills = 0
        self.points: list[str] = []
        """Where those that are started next will be killed."""

    def has_room(self) -> bool:
        return True

    def start(self, replica: ReplicaDescription, incarnation: Incarnation) -> None:
        assert self.zygote.stdin is not None
        assert self.zygote.stdout is not None
        point = self.points.pop(0) if self.points else "never"
        self.zygote.stdin.write(f"{replica.cluster} {replica.name} {incarnation} {point}\n")
        self.zygote.stdin.flush()
        self.pids[replica.id] = (incarnation, int(self.zygote.stdout.readline()))

    def stop(self, replica_id: int) -> None:
        if replica_id in self.pids:
            kill(self.pids.pop(replica_id)[1])

    def ended(self) -> Sequence[EndedProcess]:
        ended_pids = {
            id: incarnation
            for id, (incarnation, pid) in list(self.pids.items())
            if not Path(f"/proc/{pid}").exists()
        }
        for id in ended_pids:
            del self.pids[id]
        return [EndedProcess(id, incarnation, "killed") for id, incarnation in ended_pids.items()]

    def kill_any(self, chance: random.Random) -> None:
        for _, pid in chance.sample(
            sorted(self.pids.values()), k=min(len(self.pids), chance.choice((1, 1, 2)))
        ):
            self.kills += 1
            kill(pid)


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


@pytest.fixture
def environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Environment]:
    monkeypatch.setenv("RECLOCK_CLAIM_LEASE_MS", getattr(request, "param", "2000"))
    with Environment.initialise(tmp_path) as opened:
        forked = opened.control_plane.orchestrator = Forked(tmp_path)
        try:
            yield opened
        finally:
            for id in list(forked.pids):
                forked.stop(id)
            forked.zygote.kill()
            forked.zygote.wait()


def rows(environment: Environment, cluster: str, query: str) -> list[tuple]:
    session = Session(environment)
    return [
        row
        for result in session.execute(f"SET cluster = {cluster}; {query}")
        for row in result.rows()
    ]


@pytest.mark.parametrize("environment", ["1"], indirect=True)
def test_what_two_replicas_refresh_at_once_lands_once(environment: Environment) -> None:
    """With leases so short that each takes over what the other is about, it is compare-and-append
    that decides."""
    list(Session(environment).execute(DEFINE))
    [id] = [
        cluster.id
        for cluster in environment.stores.catalog.sync().clusters.values()
        if cluster.name == "c"
    ]
    controller, chance = environment.control_plane.managed_controller(id), random.Random(11)

    def refresh(name: str, number: int, at: Timestamp, begins_s: float) -> None:
        snapshot = environment.stores.planner_catalog().snapshot
        assert snapshot is not None
        time.sleep(begins_s)
        for dataflow in controller.dataflows():
            while True:
                try:
                    request = Refresh(
                        (dataflow.id,), at, f"{name} {number}", snapshot.content_upper
                    )
                    [response] = controller.target(name).refresh(request)
                    if isinstance(response, RefreshFailed):
                        raise response.error
                    break
                except (ClaimConflict, UpperMismatch, ReplicaBehind, ReplicaLost):
                    # the other was faster, or this is not there yet
                    controller.step()
                    time.sleep(0.01)

    for number in range(12):
        values = ", ".join(f"({chance.randrange(5)}, {chance.randrange(100)})" for _ in range(20))
        rows(
            environment,
            "default",
            f"DELETE FROM t WHERE k = {chance.randrange(5)}; INSERT INTO t VALUES {values}",
        )
        at = environment.stores.oracle.read_ts(EPOCH_MS)
        environment.stores.tables.apply(through=at)
        with ThreadPoolExecutor() as both:
            response = [
                both.submit(refresh, name, number, at, chance.uniform(0, 0.02))
                for name in ("r1", "r2")
            ]
        assert [future.result() for future in response] == [None, None]
        for query in VIEWS:
            assert rows(environment, "c", query) == rows(environment, "default", query)


def test_every_index_equals_recomputation(
    environment: Environment, request: pytest.FixtureRequest
) -> None:
    forked, chance = environment.control_plane.orchestrator, random.Random(7)
    assert isinstance(forked, Forked)
    list(
        Session(environment).execute(
            DEFINE + "; CREATE SINK k IN CLUSTER c FROM sums INTO DELTA 'sums'"
        )
    )
    assert rows(environment, "c", "SELECT count(*) FROM t") == [(0,)]
    began = 0
    while forked.kills < request.config.getoption("--replica-kills"):
        began += 1
        values = ", ".join(f"({chance.randrange(5)}, {chance.randrange(100)})" for _ in range(20))
        rows(
            environment,
            "default",
            f"DELETE FROM t WHERE k = {chance.randrange(5)}; INSERT INTO t VALUES {values}",
        )
        at = environment.stores.oracle.read_ts(EPOCH_MS)
        killer = threading.Timer(chance.uniform(0, 0.4), forked.kill_any, [chance])
        killer.start()
        report = cluster_steps.work(environment, "c", at, owner=f"tick {began}")
        killer.join()
        assert report.failed == ()
        for query in VIEWS:
            assert rows(environment, "c", query) == rows(environment, "default", query)
    target = environment.stores.settings.home / "sinks" / "sums"
    check_history(environment, list(delta_history(target)), VIEWS[0])
    for query, index in zip(VIEWS, ("sums_idx", "pairs_idx"), strict=True):
        [(used,)] = rows(environment, "c", f"EXPLAIN {query}")[-1:]
        assert index in used


def test_a_replica_killed_in_the_middle_of_an_emission_leaves_each_time_once(
    environment: Environment, kafka: Broker
) -> None:
    forked, topic = environment.control_plane.orchestrator, kafka.topic(retention_ms="-1")
    assert isinstance(forked, Forked)
    define = f"""
        CREATE TABLE t (id int, word text);
        CREATE CLUSTER c SIZE '1';
        CREATE SINK files IN CLUSTER c FROM t INTO DELTA 't';
        CREATE SINK topics IN CLUSTER c FROM t INTO KAFKA BROKER '{kafka.address}' TOPIC '{topic}' FORMAT JSON ENVELOPE DEBEZIUM
    """
    list(Session(environment).execute(define))
    for number, point in enumerate(POINTS):
        for id in list(forked.pids):
            forked.stop(id)
        forked.points = [point]
        for change in (
            f"INSERT INTO t VALUES ({number}, 'a'), ({number}, 'a')",
            f"UPDATE t SET word = 'b' WHERE id = {number}",
        ):
            rows(environment, "default", change)
        before = environment.stores.replicas.all()
        at = environment.stores.oracle.read_ts(EPOCH_MS)
        emitted, stalled = cluster_steps.emit_all(
            environment, ["files", "topics"], at, owner=f"tick {number}"
        )
        assert stalled == ()
        assert [response.upper for response in emitted] == [at + 1, at + 1]
        assert forked.points == []
        assert (
            sum(response.incarnation for response in environment.stores.replicas.all())
            >= sum(response.incarnation for response in before) + 2
        )
    files = list(delta_history(environment.stores.settings.home / "sinks" / "t"))
    topics = [
        (at, Counter({tuple(json.loads(row).values()): count for row, count in counts.items()}))
        for at, counts in replayed(topic_messages(kafka.address, topic)).items()
    ]
    for counts in (files, topics):
        check_history(environment, counts, "SELECT id, word FROM t")
    # an empty snapshot is a commit, and no message
    assert (len(files), len(topics)) == (2 * len(POINTS) + 1, 2 * len(POINTS))


def check_history(environment: Environment, history: list[tuple[int, Counter]], query: str) -> None:
    """The target was the relation at each of these times, which come once, in order; the last is
    the present."""
    assert [at for at, _ in history] == sorted({at for at, _ in history})
    for at, told in history:
        assert told == Counter(rows(environment, "default", f"{query} AS OF {at}"))
    assert history[-1][1] == Counter(rows(environment, "default", query))
