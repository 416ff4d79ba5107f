"""Unified introspection: what replicas say of themselves is kept, in their names, and goes when
they go."""

from __future__ import annotations

import threading
from collections.abc import Collection
from functools import partial
from typing import Any

import psycopg
import pytest
from fixtures.server import SqlServer
from fixtures.sessions import sql
from fixtures.waiting import eventually

from reclock.adapter.query.overview import overview_of
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.clusters.measurements import bucket
from reclock.controllers.subscribes import (
    DEFINITIONS,
    ReplicaSubscribes,
    ReportedReplicas,
    Reporting,
    in_process_replica_id,
)
from reclock.errors import (
    NotReadable,
    ReplicaLost,
    SystemObjectProtected,
    UnknownObject,
    UnsupportedSql,
)
from reclock.introspection.farewells import KILLED, farewells
from reclock.introspection.page import render
from reclock.introspection.reports import Reports
from reclock.introspection.types import LOGS, MANAGED
from reclock.pipeline import tick
from reclock.protocol.introspection import (
    CancelSubscribe,
    IntrospectionType,
    LogChanges,
    LogFailed,
    LogName,
    LogResponse,
    Row,
    Subscribe,
)
from reclock.runtime.environment import Environment
from reclock.runtime.reporting import reporting

CLUSTER = 1


class Scripted:
    """A replica that answers what it is told to."""

    def __init__(self) -> None:
        self.subscribed: dict[LogName, str] = {}
        self.answers: list[LogResponse] = []
        self.is_lost = False

    def carry_out(self, command: Subscribe | CancelSubscribe) -> None:
        if self.is_lost:
            raise ReplicaLost("r1", detail="connection refused")
        match command:
            case Subscribe(id, log):
                self.subscribed[log] = id
            case CancelSubscribe(id):
                self.subscribed = {
                    log: known for log, known in self.subscribed.items() if known != id
                }

    def take_changes(self, subscribes: Collection[str]) -> list[LogResponse]:
        if self.is_lost:
            raise ReplicaLost("r1", detail="connection refused")
        answers, self.answers = self.answers, []
        return answers

    def says(self, log: LogName, *changes: tuple) -> None:
        self.answers.append(LogChanges(self.subscribed[log], changes, upper=5_000))


def connected(environment: Environment, replica: Scripted, id: int = 1) -> ReplicaSubscribes:
    subscribes = ReplicaSubscribes(
        environment.runtime.collection_manager, id, CLUSTER, "p1", replica, environment.stores.clock
    )
    subscribes.connect()
    return subscribes


FRONTIERS = "SELECT replica_id, export_id, time FROM mz_compute_frontiers_unified ORDER BY 1, 2"
ERRORS = "SELECT replica_id, export_id, count FROM mz_compute_error_counts_unified ORDER BY 1, 2"


def test_a_replica_that_connects_is_subscribed_to_and_named_in_front(
    environment: Environment,
) -> None:
    replicas = {1: Scripted(), 2: Scripted()}
    subscribes = {name: connected(environment, replica, name) for name, replica in replicas.items()}
    assert set(replicas[1].subscribed) == {definition.log for definition in DEFINITIONS}
    for name, replica in replicas.items():
        replica.says(LogName.FRONTIERS, (("u1", 10), 1))
        subscribes[name].step()
    environment.runtime.collection_manager.flush()
    assert sql(environment, FRONTIERS) == [(1, "u1", 10), (2, "u1", 10)]
    replicas[1].says(LogName.FRONTIERS, (("u1", 10), -1), (("u1", 20), 1))
    subscribes[1].step()
    subscribes[2].disconnect("dropped")
    environment.runtime.collection_manager.flush()
    assert replicas[2].subscribed == {}
    assert sql(environment, FRONTIERS) == [(1, "u1", 20)]
    query = (
        "SELECT replica_id, status, reason FROM mz_cluster_replica_status_history ORDER BY "
        "1, 2 DESC"
    )
    assert sql(environment, query) == [
        (1, "online", None),
        (2, "online", None),
        (2, "offline", "dropped"),
    ]
    assert sql(environment, "SELECT replica_id, status FROM mz_cluster_replica_statuses") == [
        (1, "online")
    ]


def test_a_replica_that_is_lost_is_offline_until_it_answers_again(environment: Environment) -> None:
    replica = Scripted()
    reported = ReportedReplicas(
        lambda: {1: (CLUSTER, replica)},
        environment.runtime.collection_manager,
        "p1",
        environment.stores.clock,
    )

    def told(query: str) -> list[tuple]:
        reported.step()
        reported.step()
        environment.runtime.collection_manager.flush()
        return sql(environment, query)

    now = "SELECT replica_id, cluster_id, status FROM mz_cluster_replica_statuses"
    ever = "SELECT status, reason FROM mz_cluster_replica_status_history ORDER BY occurred_at"
    assert told(now) == [(1, CLUSTER, "online")]
    replica.is_lost = True
    assert told(now) == []
    replica.is_lost = False
    assert told(now) == [(1, CLUSTER, "online")]
    assert told(ever) == [("online", None), ("offline", "connection refused"), ("online", None)]


def test_a_replica_is_not_offline_for_want_of_a_leader(environment: Environment) -> None:
    sized, in_process, led = Scripted(), Scripted(), [True]

    def present() -> dict[int, tuple[int, Reporting | None]]:
        return {1: (CLUSTER, sized if led[0] else None), -1: (CLUSTER, in_process)}

    reported = ReportedReplicas(
        present, environment.runtime.collection_manager, "p1", environment.stores.clock
    )

    def told(query: str) -> list[tuple]:
        reported.step()
        environment.runtime.collection_manager.flush()
        return sql(environment, query)

    now = "SELECT replica_id FROM mz_cluster_replica_statuses ORDER BY replica_id"
    assert told(now) == [(-1,), (1,)]
    led[0] = False
    assert told(now) == [(-1,)]
    led[0] = True
    assert told(now) == [(-1,), (1,)]
    reported.close()
    environment.runtime.collection_manager.flush()
    ever = (
        "SELECT replica_id, reason FROM mz_cluster_replica_status_history WHERE status = 'offline'"
    )
    assert sql(environment, ever) == [(-1, "its process ended")]


def test_a_killed_process_says_farewell_only_to_the_replicas_in_it() -> None:
    statuses: dict[IntrospectionType, dict[Row, int]] = {
        IntrospectionType.REPLICA_STATUSES: {
            (id, CLUSTER, "p1", "online", None, None): 1 for id in (1, -1)
        }
    }
    assert list(farewells("1", statuses, Timestamp(5))) == []
    [(collection, row)] = farewells("-1", statuses, Timestamp(5))
    assert (collection, row[3:5]) == (IntrospectionType.REPLICA_STATUS_HISTORY, ("offline", KILLED))


def test_a_subscribe_that_fails_takes_back_what_it_said(environment: Environment) -> None:
    replica = Scripted()
    subscribes = connected(environment, replica)
    replica.says(LogName.FRONTIERS, (("u1", 10), 1))
    replica.says(LogName.ERROR_COUNTS, (("u1", 3), 1))
    replica.answers.append(LogFailed(replica.subscribed[LogName.FRONTIERS], "it is gone"))
    replica.says(LogName.FRONTIERS, (("u1", 11), 1))  # of a subscribe that is over
    subscribes.step()
    environment.runtime.collection_manager.flush()
    assert sql(environment, FRONTIERS) == []
    assert sql(environment, ERRORS) == [(1, "u1", 3)]


def test_the_page_shows_replicas_and_what_they_use(environment: Environment) -> None:
    replica = Scripted()
    subscribes = connected(environment, replica)
    assert "No process reports a replica" in render(overview_of(environment), root="/")
    replica.says(LogName.PROCESS_USAGE, (("p1", 12.5, 5 << 20, 0.5), 1))
    subscribes.step()
    environment.runtime.collection_manager.flush()
    [shown] = overview_of(environment).replicas
    assert (shown.cluster, shown.id, shown.status, shown.cpu_percent) == (
        "default",
        1,
        "online",
        12.5,
    )
    page = render(overview_of(environment), root="/")
    assert all(text in page for text in ('title="1">virtual</td>', "12.5 %", "5.2 MB"))


def test_a_history_of_new_rows_stays_when_the_replica_goes(environment: Environment) -> None:
    replica = Scripted()
    subscribes = connected(environment, replica)
    replica.says(LogName.PROCESS_USAGE, (("p1", 12.5, 1000, 0.5), 1))
    subscribes.step()
    replica.says(LogName.PROCESS_USAGE, (("p1", 12.5, 1000, 0.5), -1), (("p1", 99.0, 2000, 1.0), 1))
    subscribes.step()
    subscribes.disconnect("dropped")
    environment.runtime.collection_manager.flush()
    assert sql(environment, "SELECT * FROM mz_cluster_replica_metrics") == []
    history = "SELECT cpu_percent, memory_bytes FROM mz_cluster_replica_metrics_history ORDER BY 1"
    assert sql(environment, history) == [(12.5, 1000), (99.0, 2000)]


def test_what_was_recorded_is_read_as_of_a_time_beside_other_collections(
    environment: Environment,
) -> None:
    sql(environment, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
    before = environment.stores.clock() - 1
    replica = Scripted()
    subscribes = connected(environment, replica)
    replica.says(LogName.FRONTIERS, (("u1", 10), 1))
    subscribes.step()
    environment.runtime.collection_manager.flush()
    environment.stores.managed.tables.apply()
    at = environment.stores.oracle.write_ts(EPOCH_MS)
    environment.stores.oracle.apply_write(EPOCH_MS, at)
    subscribes.disconnect("dropped")
    environment.runtime.collection_manager.flush()
    joined = "SELECT time, a FROM mz_compute_frontiers_unified, t"
    assert sql(environment, f"{joined} AS OF {at}") == [(10, 1)]
    assert sql(environment, joined) == []
    with pytest.raises(NotReadable):
        sql(environment, f"SELECT * FROM mz_compute_frontiers_unified AS OF {before}")


def test_a_replica_measures_its_own_work(environment: Environment) -> None:
    sql(
        environment,
        (
            "CREATE TABLE t (a int); CREATE MATERIALIZED VIEW v AS SELECT sum(a) AS s FROM "
            "t; INSERT INTO t VALUES (1)"
        ),
    )
    logs = {log: f"SELECT * FROM {log}" for log in LogName}
    assert sql(environment, logs[LogName.HYDRATION_TIMES]) == [("u3", None)]
    tick.run(environment, owner="tick")
    assert sql(environment, "SELECT s FROM v") == [(1,)]
    [(_, upper)] = sql(environment, logs[LogName.FRONTIERS])
    assert upper == environment.stores.frontiers.get("u3").upper
    [(_, hydrated_ns)] = sql(environment, logs[LogName.HYDRATION_TIMES])
    assert hydrated_ns > 0
    [(id, duration_ns, count)] = sql(environment, logs[LogName.REFRESH_DURATIONS])
    assert (id, count, bucket(duration_ns)) == ("u3", 1, duration_ns)
    assert sum(row[2] for row in sql(environment, logs[LogName.PEEK_DURATIONS])) > 0
    [refreshed] = sql(environment, logs[LogName.LAST_REFRESHES])
    id, at, how, updates, last_ns, *estimates, delta_error = refreshed
    assert (id, how, updates, bucket(last_ns)) == ("u3", "maintained from changes", 3, duration_ns)
    assert estimates == [None] * 4  # the inputs are too small for a choice
    assert delta_error is None
    assert at < upper
    [(_, records, batches, size)] = sql(environment, logs[LogName.ARRANGEMENT_SIZES])
    assert records >= 1
    assert batches >= 1
    assert size > 0
    # it shares the process with whatever else works there
    unknown = (environment.stores.actor, None, None, None)
    assert sql(environment, logs[LogName.PROCESS_USAGE]) == [unknown]
    sql(environment, "DROP VIEW v")
    assert sql(environment, logs[LogName.FRONTIERS]) == []


def test_a_former_leader_takes_nothing_from_who_leads_now(environment: Environment) -> None:
    sql(
        environment,
        "CREATE TABLE t (a int); CREATE MATERIALIZED VIEW v AS SELECT sum(a) AS s FROM t",
    )
    controller: Any = environment.control_plane.compute_controller(CLUSTER)
    controller.step()
    former, present = (
        ReplicaSubscribes(
            environment.runtime.collection_manager,
            1,
            CLUSTER,
            process,
            controller.target(""),
            environment.stores.clock,
        )
        for process in ("p1", "p2")
    )
    former.connect()
    present.connect()
    present.step()
    tick.run(environment, owner="tick")
    for response in controller.target("").take_changes(list(former._subscribes)):
        assert response.id not in present._subscribes
    former.disconnect("another process leads")
    present.step()
    environment.runtime.collection_manager.flush()
    assert sql(environment, FRONTIERS) == [(1, "u3", environment.stores.frontiers.get("u3").upper)]
    assert sql(environment, "SELECT process FROM mz_cluster_replica_statuses") == [("p2",)]


def test_a_log_is_read_from_the_replica_that_is_targeted(environment: Environment) -> None:
    replica_id = in_process_replica_id(CLUSTER, environment.stores.actor)
    [(peek, *_)] = sql(environment, "SELECT * FROM mz_active_peeks") or [("none",)]
    assert peek == "none"
    assert (
        len(sql(environment, "SELECT * FROM mz_process_usage", cluster_replica=str(replica_id)))
        == 1
    )
    with pytest.raises(UnknownObject, match='cluster replica "bad"'):
        sql(environment, "SELECT * FROM mz_process_usage", cluster_replica="bad")
    assert LOGS.keys() == set(LogName)
    assert all(desc.names[0] != "replica_id" for desc in LOGS.values())


class Rounds(threading.Event):
    """The event of a loop that is to go round so many times."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.left = count

    def wait(self, _: float | None = None) -> bool:
        self.left -= 1
        return self.left == 0


@pytest.mark.parametrize("count", [1, 8])
def test_a_round_is_one_commit_however_many_replicas_report(
    environment: Environment, reported: Reports, count: int
) -> None:
    log = environment.stores.managed.tables.log
    manager = environment.runtime.collection_manager
    rounds = 3
    replicas = {id: Scripted() for id in range(1, count + 1)}
    scripted = ReportedReplicas(
        lambda: {id: (CLUSTER, replica) for id, replica in replicas.items()},
        manager,
        "p1",
        environment.stores.clock,
    )
    scripted.step()
    manager.flush()

    def commits() -> set[Timestamp]:
        return {write.at for write in log.pending()}

    def gather(says: bool) -> None:
        for replica in replicas.values() if says else ():
            for name in (LogName.FRONTIERS, LogName.ERROR_COUNTS, LogName.HYDRATION_TIMES):
                replica.says(name, *(((f"u{index}", len(commits())), 1) for index in range(5)))
        reported.step()
        scripted.step()

    for says, most in ((True, rounds), (False, 0)):
        before = commits()
        manager.loop(Rounds(rounds), interval_ms=1, gather=partial(gather, says))
        assert len(commits() - before) == most
    [(number,)] = sql(environment, "SELECT count(*) FROM mz_compute_frontiers_unified")
    assert number == 5 * count * rounds


def test_a_round_under_way_when_reporting_ends_leaves_nothing_behind(
    environment: Environment,
) -> None:
    """A replica that connects in that round would else be reported online for ever."""
    sql(environment, "SELECT 1")
    manager = environment.runtime.collection_manager
    replicas = ReportedReplicas(
        lambda: {7: (CLUSTER, Scripted())}, manager, "p1", environment.stores.clock
    )
    stopping = threading.Event()

    def gather() -> None:
        stopping.set()  # the process is told to end now
        replicas.step()

    manager.loop(stopping, interval_ms=1, gather=gather, close=replicas.close)
    assert sql(environment, "SELECT replica_id FROM mz_cluster_replica_statuses") == []
    assert sql(environment, "SELECT status FROM mz_cluster_replica_status_history ORDER BY 1") == [
        ("online",)
    ]


def test_frontiers_and_lags_are_those_of_objects(
    environment: Environment, reported: Reports
) -> None:
    sql(
        environment,
        (
            "CREATE TABLE t (a int); CREATE TABLE gone (a int); DROP TABLE gone; CREATE VIEW "
            "v AS SELECT a FROM t"
        ),
    )
    sql(environment, "CREATE INDEX i ON v (a)")
    sql(environment, "CREATE SOURCE house FROM LOAD GENERATOR AUCTION FOR TABLES (users, bids)")
    names = ["bids", "house", "house_progress", "i", "t", "users"]
    named = "SELECT name FROM {} JOIN mz_objects ON id = object_id WHERE id LIKE 'u%' ORDER BY name"
    for relation in ("mz_frontiers", "mz_wallclock_lag"):
        assert [name for (name,) in sql(environment, named.format(relation))] == names
        objects = (
            f"SELECT count(*) FROM {relation} WHERE object_id NOT IN (SELECT id FROM mz_objects)"
        )
        assert sql(environment, objects) == [(0,)]
    of_source = (
        "SELECT count(DISTINCT upper) FROM mz_frontiers JOIN mz_objects ON id = object_id "
        "WHERE name IN ('house', 'bids')"
    )
    assert sql(environment, of_source) == [(1,)]
    environment.runtime.collection_manager.flush()
    managed = (
        "SELECT count(*) FROM mz_frontiers JOIN mz_objects ON id = object_id WHERE name = "
        "'mz_sessions'"
    )
    assert sql(environment, managed) == [(1,)]
    assert [source.name for source in overview_of(environment).of_type("source")] == [
        "reclock.public.house"
    ]
    lags = environment.control_plane.object_lags_ms()
    assert lags is not None
    assert {id for (id,) in sql(environment, "SELECT object_id FROM mz_frontiers")} == lags.keys()


def test_indexes_of_a_virtual_cluster_are_told_of_before_a_session_uses_it(
    environment: Environment,
) -> None:
    sql(
        environment,
        "CREATE CLUSTER quiet VIRTUAL; CREATE TABLE t (a int); CREATE VIEW v AS SELECT a FROM t",
    )
    sql(environment, "CREATE INDEX i IN CLUSTER quiet ON v (a)")
    query = """SELECT o.name FROM mz_internal.mz_compute_frontiers_unified f JOIN mz_objects o ON o.id = f.export_id"""
    with reporting(environment):
        tick.run(environment, owner="tick")
    with Environment.open(environment.stores.settings.home) as other, reporting(other):
        eventually(lambda: ("i",) in sql(other, query))


@pytest.mark.parametrize(
    "relation", ["mz_internal.mz_compute_frontiers_unified", "mz_internal.mz_compute_frontiers"]
)
def test_an_index_over_introspection_is_refused(environment: Environment, relation: str) -> None:
    """Queries read these relations as they are now, and an index would have them as they were at
    its last refresh."""
    sql(environment, f"CREATE VIEW live AS SELECT export_id FROM {relation}")
    for statement in (
        "CREATE DEFAULT INDEX ON live",
        f"CREATE MATERIALIZED VIEW m AS SELECT export_id FROM {relation}",
    ):
        with pytest.raises(UnsupportedSql, match="system relation") as refused:
            sql(environment, statement)
        assert refused.value.hint == "make a plain view, or SUBSCRIBE to the query"
    with pytest.raises(SystemObjectProtected):
        sql(environment, f"CREATE DEFAULT INDEX ON {relation}")
    assert sql(environment, "SELECT * FROM live") == []
    assert sql(environment, "SELECT * FROM mz_indexes") == []


def test_a_system_relation_says_who_may_change_it(sql_server: SqlServer) -> None:
    assert {managed.desc.names[0] for managed in MANAGED.values()} == {"replica_id", "process"}
    with sql_server.connect() as connection, pytest.raises(psycopg.Error):
        connection.execute(
            "INSERT INTO mz_internal.mz_compute_frontiers_unified VALUES (1, 'u1', 1)"
        )
