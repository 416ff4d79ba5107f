"""The leader of the storage controller is killed at every point of its way: whoever comes next
finishes, from the catalog alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from crashes import storage_worker
from fixtures.forks import die_at
from fixtures.replicas import killing
from fixtures.server import SqlServer, stop_outside_transactions
from fixtures.sessions import sql

from reclock.algebra.ids import StorageCollectionId
from reclock.runtime.environment import Environment

POINTS = [
    "controllers.storage.elected",
    "controllers.storage.before_command",
    "collections.create.landed",
    "tables.create.before_register",
    "controllers.storage.after_command",
    "controllers.storage.before_advance",
    "controllers.storage.after_advance",
]


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RECLOCK_CONTROLLER_LEASE_MS", "500")
    with Environment.initialise(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize("killed_at", POINTS)
def test_what_a_killed_leader_was_about_to_make_is_made_by_the_next(
    environment: Environment, tmp_path: Path, killed_at: str
) -> None:
    sql(environment, "CREATE TABLE t (a int); CREATE DEFAULT INDEX ON t; CREATE TABLE u (a int)")
    die_at(killed_at, storage_worker.lead, tmp_path)
    assert sql(
        environment, "INSERT INTO t VALUES (1); INSERT INTO u VALUES (2); SELECT t.a, u.a FROM t, u"
    ) == [(1, 2)]
    [index] = [entry.id for entry in environment.stores.planner_catalog().indexes()]
    assert environment.stores.lake.exists(StorageCollectionId(index))
    assert index in environment.stores.frontiers.get_all()


@pytest.mark.parametrize(
    "killed_at",
    ["controllers.storage.before_command", "collections.drop.hidden", "tables.drop.before_forget"],
)
def test_what_a_killed_leader_was_about_to_drop_the_next_drops(
    environment: Environment, tmp_path: Path, killed_at: str
) -> None:
    sql(
        environment,
        (
            "CREATE TABLE t (a int); CREATE DEFAULT INDEX ON t; CREATE TABLE u (a int); "
            "INSERT INTO t VALUES (1)"
        ),
    )
    sql(environment, "DROP TABLE t CASCADE")
    die_at(killed_at, storage_worker.lead, tmp_path)
    assert sql(
        environment,
        (
            "INSERT INTO u VALUES (2); CREATE TABLE v (a int); INSERT INTO v VALUES (3); "
            "SELECT a FROM u"
        ),
    ) == [(2,)]
    remaining = {
        entry.id
        for entry in environment.stores.planner_catalog().relations()
        if entry.table is not None
    }
    assert environment.stores.tables.log.table_ids() == remaining
    assert environment.stores.frontiers.get_all().keys() == {"tables"}
    assert {id.source_id for id in environment.stores.lake.list()} == remaining


@pytest.mark.parametrize(
    "killed_at", ["controllers.compute.after_command", "controllers.compute.before_advance"]
)
def test_a_reader_that_is_killed_takes_no_index_along(
    environment: Environment, tmp_path: Path, killed_at: str
) -> None:
    sql(environment, "CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE DEFAULT INDEX ON t")
    die_at(killed_at, storage_worker.execute, tmp_path, "SELECT a FROM t")
    assert sql(environment, "INSERT INTO t VALUES (2); SELECT a FROM t ORDER BY a") == [(1,), (2,)]


@pytest.mark.parametrize(
    "killed_at",
    [
        "controllers.managed.elected",
        "controllers.managed.begun",
        "controllers.managed.after_command",
        "controllers.managed.before_advance",
    ],
)
def test_what_a_killed_leader_of_a_cluster_had_begun_the_next_goes_on_with(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed_at: str
) -> None:
    monkeypatch.setenv("RECLOCK_REPLICA_WARM_UP", "false")
    monkeypatch.setenv("RECLOCK_REPLICA_START_MS", "30000")
    sql(environment, "CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE CLUSTER c SIZE '1'")
    sql(environment, "CREATE DEFAULT INDEX IN CLUSTER c ON t")
    with killing(tmp_path):
        die_at(killed_at, storage_worker.lead_cluster, tmp_path, "c")
        assert sql(environment, "SET cluster = c; SELECT a FROM t") == [(1,)]


def test_a_peek_that_waits_for_a_server_that_is_killed_is_answered_by_another(
    tmp_path: Path, new_server: Callable[..., SqlServer]
) -> None:
    """The first server leads and is stopped (SIGSTOP) before it can follow; then it is killed, and
    the second takes over when the lease is over."""
    first = new_server(tmp_path, RECLOCK_CONTROLLER_LEASE_MS="10000")
    with first.connect() as client:
        client.execute("CREATE TABLE a (n int)")
        client.execute("INSERT INTO a VALUES (1)")
    second = new_server(tmp_path, RECLOCK_CONTROLLER_LEASE_MS="10000")
    with second.connect() as client:
        for number in range(3):
            client.execute(f"CREATE TABLE b{number} (n int)")
            client.execute(f"INSERT INTO b{number} VALUES ({number})")
        stop_outside_transactions(first.pid, tmp_path / "consensus.db")
        client.execute("CREATE TABLE c (n int)")
        client.execute("SET statement_timeout = 2000")
        with pytest.raises(psycopg.errors.QueryCanceled) as late:
            client.execute("SELECT count(*) FROM c")
        assert "storage controller" in (late.value.diag.message_detail or "")
        client.execute("RESET statement_timeout")
        first.kill()
        assert client.execute("SELECT count(*) FROM c").fetchall() == [(0,)]
        assert client.execute("SELECT n FROM b2").fetchall() == [(2,)]
