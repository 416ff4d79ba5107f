"""Statements about clusters: what the catalog holds after any number of them, where the active
cluster comes from, and experimental mode."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fixtures.sessions import run

from reclock.adapter.planning.plan_cache import CachedPlan
from reclock.adapter.query.queries import QueryExecution
from reclock.adapter.session.session import Session
from reclock.algebra.timestamps import MAXIMUM
from reclock.catalog.objects import Kind
from reclock.catalog.source_indexes import INTROSPECTION_RELATIONS
from reclock.clusters.spark_options import configuration
from reclock.config import Settings
from reclock.errors import (
    ClusterDropped,
    ExperimentalFeature,
    PermissionDenied,
    ReclockError,
    UnknownFunction,
    UnknownObject,
)
from reclock.pipeline import cluster_steps
from reclock.pipeline.tick_reports import RefreshReport
from reclock.runtime.environment import Environment
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.planning.statement import plan_statement
from reclock.sql.statements.query.values import Select
from reclock.sql.syntax.parse import parse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZES = ("1", "2", "4")
NAMES = ("a", "b", '"C d"', "default")
ENDLESS = "SELECT count(*) FROM t a, t b, t c, t d"
REPLICAS = ("r1", "r2", "r3")


class Model:
    """What there should be: clusters and their replicas with sizes, indexes with clusters."""

    def __init__(self) -> None:
        self.clusters: dict[str, str | None] = {"default": None}
        self.replicas: dict[tuple[str, str], str] = {}
        self.indexes: dict[str, str] = {}

    def create(self, cluster: str, size: str | None) -> bool:
        if cluster in self.clusters:
            return False
        self.clusters[cluster] = size
        if size is not None:
            self.replicas[cluster, "r1"] = size
        return True

    def alter(self, cluster: str, size: str | None) -> bool:
        if cluster not in self.clusters:
            return False
        if self.clusters[cluster] is None and size is not None:
            self.replicas[cluster, "r1"] = size
        self.clusters[cluster] = size
        replica_keys = [key for key in self.replicas if key[0] == cluster]
        for key in replica_keys:
            if size is None:
                del self.replicas[key]
            else:
                self.replicas[key] = size
        return True

    def rename(self, cluster: str, to: str) -> bool:
        if cluster not in self.clusters or to in self.clusters:
            return False
        self.clusters[to] = self.clusters.pop(cluster)
        self.replicas = {
            (to if of == cluster else of, name): size for (of, name), size in self.replicas.items()
        }
        self.indexes = {index: to if of == cluster else of for index, of in self.indexes.items()}
        return True

    def swap(self, one: str, other: str) -> bool:
        if one not in self.clusters or other not in self.clusters:
            return False
        names = {one: other, other: one}
        self.clusters = {names.get(name, name): size for name, size in self.clusters.items()}
        self.replicas = {
            (names.get(of, of), name): size for (of, name), size in self.replicas.items()
        }
        self.indexes = {index: names.get(of, of) for index, of in self.indexes.items()}
        return True

    def drop(self, cluster: str, *, cascade: bool) -> bool:
        if cluster not in self.clusters or (cluster in self.indexes.values() and not cascade):
            return False
        del self.clusters[cluster]
        self.replicas = {key: size for key, size in self.replicas.items() if key[0] != cluster}
        self.indexes = {index: of for index, of in self.indexes.items() if of != cluster}
        return True

    def add_replica(self, cluster: str, name: str, size: str | None) -> bool:
        cluster_state = self.clusters.get(cluster)
        if cluster_state is None or (cluster, name) in self.replicas:
            return False
        self.replicas[cluster, name] = size or cluster_state
        return True

    def drop_replica(self, cluster: str, name: str) -> bool:
        return self.replicas.pop((cluster, name), None) is not None

    def index(self, cluster: str, name: str) -> bool:
        if cluster not in self.clusters or name in self.indexes:
            return False
        self.indexes[name] = cluster
        return True


def step(model: Model, chance: random.Random) -> tuple[str, bool]:
    """A statement, and whether it should succeed; the model has it then."""
    cluster, other, replica = chance.choice(NAMES), chance.choice(NAMES), chance.choice(REPLICAS)
    size = chance.choice((None, *SIZES))
    option = "VIRTUAL" if size is None else f"SIZE '{size}'"
    match chance.randrange(8):
        case 0:
            return f"CREATE CLUSTER {cluster} {option}", model.create(cluster, size)
        case 1:
            return f"ALTER CLUSTER {cluster} SET ({option})", model.alter(cluster, size)
        case 2:
            return f"ALTER CLUSTER {cluster} RENAME TO {other}", model.rename(cluster, other)
        case 7:
            return f"ALTER CLUSTER {cluster} SWAP WITH {other}", model.swap(cluster, other)
        case 3:
            cascade = chance.random() < 0.5
            return f"DROP CLUSTER {cluster} {'CASCADE' if cascade else ''}", model.drop(
                cluster, cascade=cascade
            )
        case 4:
            return (
                f"CREATE CLUSTER REPLICA {cluster}.{replica} {option if size else ''}",
                model.add_replica(cluster, replica, size),
            )
        case 5:
            return f"DROP CLUSTER REPLICA {cluster}.{replica}", model.drop_replica(cluster, replica)
        case _:
            name = chance.choice(("i", "j", "k"))
            return f"CREATE INDEX {name} IN CLUSTER {cluster} ON t (x)", model.index(cluster, name)


def succeeds(session: Session, text: str) -> bool:
    try:
        run(session, text)
    except ReclockError:
        return False
    return True


@pytest.mark.parametrize("seed", [1, 2])
def test_the_catalog_holds_what_statements_say_and_no_id_comes_twice(
    environment: Environment, seed: int
) -> None:
    session, model, chance = Session(environment), Model(), random.Random(seed)
    run(session, "CREATE TABLE t (x int)")
    cluster_ids: set[int] = set()
    replica_of: dict[int, tuple[int, str | None]] = {}
    for _ in range(120):
        text, should_succeed = step(model, chance)
        assert succeeds(session, text) is should_succeed, text
        snapshot = environment.stores.catalog.sync()
        clusters, replicas = dict(snapshot.clusters), dict(snapshot.cluster_replicas)
        names = {
            id: '"C d"' if cluster.name == "C d" else cluster.name
            for id, cluster in clusters.items()
        }
        assert {names[id]: cluster.size for id, cluster in clusters.items()} == model.clusters, text
        assert {
            (names[member.cluster_id], member.name): member.size for member in replicas.values()
        } == model.replicas, text
        indexes = {
            index.name.item: names[index.cluster_id]
            for index in environment.stores.planner_catalog().indexes()
        }
        assert indexes == model.indexes, text
        assert min(clusters.keys() - cluster_ids, default=MAXIMUM) > max(cluster_ids, default=0)
        assert min(replicas.keys() - replica_of.keys(), default=MAXIMUM) > max(
            replica_of, default=0
        )
        cluster_ids |= clusters.keys()
        for id, replica in replicas.items():
            what = (replica.cluster_id, replica.size)
            assert replica_of.setdefault(id, what) == what, "one of another size is another replica"
        user_replicas = [
            (index.cluster_id, index.name)
            for index in snapshot.sorted(Kind.CLUSTER_INTROSPECTION_SOURCE_INDEX)
        ]
        assert sorted(user_replicas) == sorted(
            (id, name) for id in clusters for name in INTROSPECTION_RELATIONS
        )
    assert len(cluster_ids) > 5
    assert len(replica_of) > 10


STATEMENTS = {
    "CREATE CLUSTER c": "CREATE CLUSTER",
    "ALTER CLUSTER default VIRTUAL": "ALTER CLUSTER",
    "ALTER CLUSTER default RENAME TO c": "ALTER CLUSTER",
    "ALTER CLUSTER default SWAP WITH default": "ALTER CLUSTER",
    "ALTER CLUSTER default OWNER TO reclock": "ALTER CLUSTER",
    "DROP CLUSTER default": "DROP CLUSTER",
    "DROP CLUSTER IF EXISTS none": "DROP CLUSTER",
    "CREATE CLUSTER REPLICA default.r": "CREATE CLUSTER REPLICA",
    "DROP CLUSTER REPLICA default.r": "DROP CLUSTER REPLICA",
    "SHOW CLUSTERS": "SHOW CLUSTERS",
    "SHOW CLUSTER REPLICAS": "SHOW CLUSTER REPLICAS",
    'SHOW CREATE CLUSTER "default"': "SHOW CREATE CLUSTER",
}


def test_without_experimental_mode_clusters_stay_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECLOCK_EXPERIMENTAL_MODE", "false")
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        for text, what in STATEMENTS.items():
            with pytest.raises(ExperimentalFeature) as error:
                run(session, text)
            assert error.value.message == f"{what} requires experimental mode"
            assert error.value.sqlstate == "0A000"
        run(session, "CREATE TABLE t (x int); CREATE INDEX i IN CLUSTER default ON t (x)")
        assert run(session, "SELECT name FROM mz_clusters; SHOW cluster") == [
            ("default",),
            ("default",),
        ]


def test_the_active_cluster_is_the_sessions_the_roles_or_the_systems(
    environment: Environment,
) -> None:
    active = "SHOW cluster"
    assert run(Session(environment), active) == [("default",)]
    run(Session(environment), "ALTER SYSTEM SET cluster = of_system; CREATE CLUSTER of_role")
    assert run(Session(environment), active) == [("of_system",)]
    run(Session(environment), "ALTER ROLE reclock SET cluster = of_role")
    assert run(Session(environment), active) == [("of_role",)]
    session = Session(environment, startup={"cluster": "of_start"})
    assert run(session, active) == [("of_start",)]
    assert run(
        session,
        (
            f"SET cluster = own; {active}; BEGIN; SET LOCAL cluster = inner; {active}; "
            f"COMMIT; {active}"
        ),
    ) == [
        ("own",),
        ("inner",),
        ("own",),
    ]
    assert run(session, f"RESET cluster; {active}") == [("of_start",)]
    run(Session(environment), "ALTER ROLE reclock RESET cluster; ALTER SYSTEM RESET cluster")
    assert run(Session(environment), active) == [("default",)]


@pytest.mark.parametrize("name", ["bad", "DEFAULT"])
def test_an_unknown_cluster_is_named_freely_and_found_when_it_is_used(
    environment: Environment, name: str
) -> None:
    notices: list[str] = []
    session = Session(environment, notices.append)
    run(session, "CREATE TABLE t (x int); INSERT INTO t VALUES (1)")
    run(session, f"SET cluster = '{name}'")
    assert notices == [f'cluster "{name}" does not exist']
    for text in (
        "SELECT 1",
        "SELECT x FROM t",
        "EXPLAIN SELECT x FROM t",
        "UPDATE t SET x = 2",
        "CREATE INDEX ON t (x)",
        "CREATE DEFAULT INDEX ON t",
        "CREATE MATERIALIZED VIEW v AS SELECT x FROM t",
        "CREATE MATERIALIZED SOURCE s FROM LOAD GENERATOR COUNTER",
    ):
        with pytest.raises(UnknownObject) as error:
            run(session, text)
        assert error.value.message == f'cluster "{name}" does not exist', text
    run(
        session,
        (
            "INSERT INTO t VALUES (2); CREATE VIEW v AS SELECT x FROM t; CREATE INDEX IN "
            "CLUSTER default ON t (x)"
        ),
    )
    assert run(
        session,
        "SHOW CLUSTERS; SELECT name FROM mz_clusters; SELECT count(*) FROM pg_class WHERE false",
    ) == [
        ("default",),
        ("default",),
        (0,),
    ]


def test_what_the_environment_is_known_by_is_no_cluster_any_more(environment: Environment) -> None:
    session = Session(environment)
    with pytest.raises(UnknownFunction) as error:
        run(session, "SELECT mz_cluster_id()")
    assert error.value.hint is not None
    assert "mz_legacy_installation_id()" in error.value.hint
    assert run(session, "SELECT mz_legacy_installation_id()") == [(environment.stores.mark.id,)]


def test_what_runs_on_a_cluster_that_is_dropped_ends_and_says_so(environment: Environment) -> None:
    """Whether it computes, answers, or has yet to begin; what runs on others goes on."""
    run(Session(environment), "CREATE CLUSTER c; CREATE TABLE t (x int)")
    run(
        Session(environment),
        "INSERT INTO t VALUES " + ", ".join(f"({number})" for number in range(2_000)),
    )
    on_c, on_default = Session(environment, startup={"cluster": "c"}), Session(environment)
    [answering] = on_c.execute("SELECT a.x FROM t a, t b, t c")
    [other] = on_default.execute("SELECT a.x FROM t a, t b, t c")
    next(iter(answering.batches))
    failures: list[ReclockError] = []

    def compute() -> None:
        try:
            run(
                Session(environment, startup={"cluster": "c"}),
                "SELECT count(*) FROM t a, t b, t c, t d WHERE a.x + b.x = c.x + d.x",
            )
        except ReclockError as error:
            failures.append(error)

    thread = threading.Thread(target=compute)
    thread.start()
    catalog = environment.stores.planner_catalog()
    while sum(peek.cluster == "c" for peek in environment.control_plane.active_peeks._active) < 2:
        time.sleep(0.01)
    run(Session(environment), "DROP CLUSTER c; SHOW CLUSTERS")
    thread.join(timeout=60)
    for dropped in (lambda: next(iter(answering.batches)), query_at(catalog, on_c).run):
        with pytest.raises(ClusterDropped) as error:
            dropped()
        failures.append(error.value)
    assert [(error.sqlstate, error.message) for error in failures] == [
        ("42704", 'query could not complete because cluster "c" was dropped')
    ] * 3
    assert cluster_steps.refresh(
        environment, "c", environment.stores.clock(), owner="tick"
    ) == RefreshReport("c", (), ())
    assert next(iter(other.batches)).num_rows
    other.close()
    assert not environment.control_plane.active_peeks._active


def query_at(catalog: PlannerCatalog, session: Session) -> QueryExecution:
    [parsed] = parse("SELECT x FROM t")
    select = plan_statement(parsed, catalog)
    assert isinstance(select, Select)
    return QueryExecution(session.context(parsed, CachedPlan(select), catalog), select)


def test_a_cluster_is_its_owners_and_of_those_it_is_granted_to(environment: Environment) -> None:
    root = Session(environment)
    run(
        root,
        (
            "CREATE ROLE ada LOGIN; CREATE ROLE bob LOGIN; CREATE TABLE t (x int); GRANT "
            "SELECT ON t TO ada, bob"
        ),
    )
    ada, bob = Session(environment, user="ada"), Session(environment, user="bob")
    with pytest.raises(PermissionDenied):
        run(ada, "CREATE CLUSTER own")
    run(root, "GRANT CREATECLUSTER ON SYSTEM TO ada")
    run(
        ada,
        "ALTER DEFAULT PRIVILEGES GRANT USAGE ON CLUSTERS TO bob; CREATE CLUSTER shared SIZE '1'",
    )
    run(
        ada,
        (
            "ALTER DEFAULT PRIVILEGES REVOKE USAGE ON CLUSTERS FROM bob; CREATE CLUSTER own; "
            "ALTER CLUSTER shared VIRTUAL"
        ),
    )
    for text in (
        "DROP CLUSTER shared",
        "ALTER CLUSTER shared SIZE '1'",
        "ALTER CLUSTER shared RENAME TO mine",
        "CREATE CLUSTER c",
    ):
        with pytest.raises(PermissionDenied):
            run(bob, text)
    assert run(bob, "SET cluster = shared; SELECT x FROM t; SET cluster = own") == []
    with pytest.raises(PermissionDenied):
        run(bob, "SELECT x FROM t")
    run(ada, "GRANT USAGE ON CLUSTER own TO bob")
    assert run(bob, "SELECT x FROM t") == []
    assert run(root, "SELECT name, privileges FROM mz_clusters WHERE id > 1 ORDER BY id") == [
        ("shared", "{u2=UC/u2,u3=U/u2}"),
        ("own", "{u2=UC/u2,u3=U/u2}"),
    ]
    run(ada, "DROP CLUSTER shared, own")


@pytest.mark.spark
def test_spark_jobs_of_a_virtual_cluster_are_in_a_pool_of_its_own(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECLOCK_SPARK_THRESHOLD_BYTES", "0")
    scheduler = spark.sparkContext._jsc.sc()
    assert (
        configuration(Settings.load(tmp_path))["spark.scheduler.mode"]
        == scheduler.getSchedulingMode().toString()
        == "FAIR"
    )
    with Environment.initialise(tmp_path, spark=spark) as environment:
        session = Session(environment)
        run(session, "CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)")
        environment.stores.tables.apply()
        # an id that is not that of another test's cluster in the same Spark session
        for number in range(20):
            run(session, f"CREATE CLUSTER c{number}")
        [id] = [
            cluster.id
            for cluster in environment.stores.catalog.sync().clusters.values()
            if cluster.name == "c19"
        ]
        assert not scheduler.getPoolForName(f"cluster-{id}").isDefined()
        [*_, result] = session.execute("SET cluster = c19; SELECT sum(a) FROM t")
        rows: list[tuple] = []
        # the pool is not that of who takes the rows
        taking = threading.Thread(target=lambda: rows.extend(result.rows()))
        taking.start()
        taking.join()
        assert rows == [(3,)]
        assert scheduler.getPoolForName(f"cluster-{id}").isDefined()
