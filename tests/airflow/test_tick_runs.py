"""Runs of `reclock_tick` over a real environment, with a real Spark."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fixtures.ports import free_port
from fixtures.replicas import killing, processes
from fixtures.server import RECLOCK
from fixtures.sunk import delta_rows
from fixtures.waiting import eventually

from reclock.adapter.session.session import Session
from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.timestamps import MAXIMUM, MINIMUM
from reclock.pipeline import tick
from reclock.quality.suites import suite_path
from reclock.runtime.environment import Environment

pytestmark = [pytest.mark.airflow, pytest.mark.spark]

Ticks = Callable[..., list[dict[str, Any]]]

CREATE = """CREATE SOURCE {name} (k text, v integer) FROM S3 DISCOVER OBJECTS MATCHING '**' USING BUCKET SCAN '{name}'
FORMAT CSV WITH HEADER"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An environment with the sources a and b, one object each, and an index on what they have
    together."""
    with Environment.initialise(tmp_path / "home") as environment:
        session = Session(environment)
        for name in ("a", "b"):
            append(tmp_path / "home", name, "k,v\nx,1\ny,2\n")
            list(session.execute(CREATE.format(name=name)))
        list(
            session.execute(
                "CREATE MATERIALIZED VIEW both AS SELECT a.k, a.v + b.v AS v FROM a JOIN "
                "b ON a.k = b.k"
            )
        )
        list(session.execute("CREATE SINK out FROM both INTO DELTA 'both'"))
    return tmp_path / "home"


@pytest.fixture
def ticks(
    home: Path, run_worker: Callable[..., Any], airflow_database: dict[str, str], spark_remote: str
) -> Ticks:
    """Run the DAG once for each configuration given, with these settings."""

    def run(*confs: dict[str, Any], **settings: str) -> list[dict[str, Any]]:
        settings |= {"RECLOCK_HOME": str(home), "RECLOCK_SPARK_REMOTE": spark_remote}
        settings.setdefault("RECLOCK_DAG_RETRIES", "0")
        done: list[dict[str, Any]] = run_worker("tick_worker.py", list(confs), **settings)
        return done

    return run


def append(home: Path, bucket: str, text: str) -> None:
    path = home / "buckets" / bucket / "object.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(text)


def rows(home: Path, text: str) -> list[tuple[Any, ...]]:
    with Environment.open(home) as environment:
        (result,) = Session(environment).execute(text)
        return [tuple(row.values()) for batch in result.batches for row in batch.to_pylist()]


def states(run: dict[str, Any], task: str) -> dict[str, str]:
    """By the name shown in the UI, a number for what has not begun, the state of each mapped
    instance of ``task``."""
    return {
        name.removeprefix(f"{task}[").removesuffix("]"): state
        for name, state in run["tasks"].items()
        if name.partition("[")[0] == task
    }


def test_ticks_publish_every_source_and_refresh_the_indexes(home: Path, ticks: Ticks) -> None:
    """And every change is an event once, whoever published it."""
    first, idle = ticks({}, {})
    assert first["state"] == idle["state"] == "success"
    # nothing is skipped: what has nothing to do is not there, or says so
    assert first["tasks"] == {
        "plan": "success",
        "source[reclock.public.a]": "success",
        "source[reclock.public.b]": "success",
        "clusters": "success",
        "announce": "success",
        "done": "success",
    }
    assert idle["tasks"] == {
        "plan": "success",
        "source[nothing new]": "success",
        "clusters": "success",
        "announce": "success",
        "done": "success",
    }
    assert rows(home, "SELECT k, v FROM both ORDER BY k") == [("x", 2), ("y", 4)]
    assert sorted(delta_rows(home / "sinks" / "both")) == [("x", 2), ("y", 4)]
    # what other DAGs follow carries the upper; nothing new upstream is no event
    with Environment.open(home) as environment:
        uppers = {frontier.upper for frontier in environment.stores.frontiers.get_all().values()}
    assert set(first["assets"]) == {
        f"reclock://reclock/public/{name}" for name in ("a", "b", "both", "out")
    }
    assert all(
        extra["rows"] == 2 and 0 < extra["upper"] <= max(uppers)
        for extra in first["assets"].values()
    )
    assert idle["assets"] == {}

    append(home, "a", "x,5\n")
    with Environment.open(home) as environment:
        assert tick.run(environment, owner="by hand").succeeded
    first_tick, second_tick = ticks({}, {})
    assert {
        uri.rpartition("/")[2]: extra["rows"] for uri, extra in first_tick["assets"].items()
    } == {
        "a": 1,
        "both": 1,
        "out": 1,
    }
    assert states(first_tick, "source") == {"nothing new": "success"}
    assert second_tick["assets"] == {}


def test_parameters_choose_sources_and_time(home: Path, ticks: Ticks) -> None:
    (only,) = ticks({"sources": ["b"]})
    assert states(only, "source") == {"reclock.public.b": "success"}
    assert rows(home, "SELECT count(*) FROM b") == [(2,)]
    with Environment.open(home) as environment:
        before = environment.stores.frontiers.get_all()
    (refused,) = ticks({"at": 4_000_000_000_000})
    assert refused["state"] == "failed"
    assert refused["tasks"]["plan"] == "failed"
    assert refused["tasks"]["source"] == refused["tasks"]["done"] == "upstream_failed"
    with Environment.open(home) as environment:
        assert environment.stores.frontiers.get_all() == before


def test_a_failed_source_fails_its_own_task_and_ends_every_run_red(
    home: Path, ticks: Ticks
) -> None:
    append(home, "a", "z,not a number\n")
    append(home, "b", "z,3\n")
    with Environment.open(home) as environment:
        session = Session(environment)
        list(session.execute("CREATE SINK broken FROM b INTO DELTA 'broken'"))
        list(session.execute("CREATE TABLE t (n int); INSERT INTO t VALUES (1), (2)"))
        list(session.execute("CREATE MATERIALIZED VIEW of_t AS SELECT n FROM t"))
    (home / "sinks").mkdir()
    (home / "sinks" / "broken").write_text("no folder")
    run, again = ticks({}, {})
    for failed in (run, again):
        assert failed["state"] == "failed", failed
        assert failed["tasks"]["clusters"] == "failed"
        assert failed["tasks"]["done"] == "upstream_failed"
    # a sink over b fails
    assert states(run, "source") == {"reclock.public.a": "failed", "reclock.public.b": "success"}
    assert states(again, "source") == {"reclock.public.a": "failed"}
    # also what a task refreshed before it failed
    assert set(run["assets"]) == {f"reclock://reclock/public/{name}" for name in ("b", "t", "of_t")}
    assert run["assets"]["reclock://reclock/public/of_t"]["rows"] == 2
    assert again["assets"] == {}
    assert rows(home, "SELECT count(*) FROM b") == [(3,)]
    statuses = (
        "SELECT name, status, error FROM mz_internal.mz_source_statuses WHERE name IN ('a', "
        "'b') ORDER BY name"
    )
    (a, b) = rows(home, statuses)
    assert (a[:2], b[:2]) == (("a", "stalled"), ("b", "running"))
    assert "object.csv" in a[2]


def test_a_failed_check_keeps_its_source_back_until_it_is_waived(home: Path, ticks: Ticks) -> None:
    check = {
        "type": "expect_column_values_to_be_between",
        "kwargs": {"column": "v", "max_value": 1},
        "meta": {"check": "v_is_small"},
    }
    suite = suite_path(home / "expectations", "reclock.public.a")
    suite.parent.mkdir()
    suite.write_text(json.dumps({"expectations": [check]}))
    (blocked,) = ticks({})
    assert blocked["state"] == "failed"
    assert states(blocked, "source") == {
        "reclock.public.a": "failed",
        "reclock.public.b": "success",
    }
    assert blocked["tasks"]["clusters"] == "success"
    assert blocked["tasks"]["done"] == "upstream_failed"
    assert set(blocked["assets"]) == {"reclock://reclock/public/b"}
    assert rows(home, "SELECT count(*) FROM b") == [(2,)]
    assert rows(home, "SELECT status FROM mz_internal.mz_source_statuses WHERE name = 'a'") == [
        ("stalled",)
    ]
    with Environment.open(home) as environment:
        list(Session(environment).execute("ALTER SOURCE a WAIVE 'v_is_small'"))
    (waived,) = ticks({})
    assert waived["state"] == "success"
    assert rows(home, "SELECT count(*) FROM a") == [(2,)]


def test_spark_submit_does_what_the_warm_engine_does(home: Path, ticks: Ticks) -> None:
    shutil.rmtree(home / "buckets" / "b")
    (run,) = ticks({"engine": "spark-submit"})
    assert run["state"] == "failed"
    assert states(run, "source") == {"reclock.public.a": "success", "reclock.public.b": "failed"}
    assert set(run["assets"]) == {"reclock://reclock/public/a"}
    assert rows(home, "SELECT count(*) FROM a") == [(2,)]


def test_a_cluster_works_through_its_replica_or_as_one_that_lives_for_the_task(
    home: Path, ticks: Ticks
) -> None:
    with Environment.open(home) as environment, killing(home):
        session = Session(environment)
        for cluster in ("served", "dormant"):
            list(session.execute(f"CREATE CLUSTER {cluster} SIZE '1'"))
            list(
                session.execute(
                    f"CREATE MATERIALIZED VIEW in_{cluster} IN CLUSTER {cluster} AS "
                    "SELECT k, v FROM a"
                )
            )
            list(
                session.execute(
                    f"CREATE SINK of_{cluster} IN CLUSTER {cluster} FROM in_{cluster} "
                    f"INTO DELTA '{cluster}'"
                )
            )
        command = [
            RECLOCK,
            "replica",
            "--home",
            str(home),
            "--cluster",
            "served",
            "--replica",
            "r1",
        ]
        patient = {"RECLOCK_REPLICA_LINGER_MS": "600000", "RECLOCK_REPLICA_WARM_UP": "false"}
        with (home / "served.log").open("wb") as log:
            subprocess.Popen(command, env=os.environ | patient, stdout=log, stderr=log)
        eventually(lambda: any(replica.is_ready for replica in environment.stores.replicas.all()))

        (run,) = ticks({})

        assert run["state"] == "success"
        assert run["tasks"]["clusters"] == "success"
        served, dormant = environment.stores.replicas.all()
        assert (served.incarnation, served.is_ready, dormant.incarnation, dormant.is_alive) == (
            1,
            True,
            1,
            False,
        )
        assert len(processes(home)) == 1
        indexes = {
            index.cluster_id: index.id for index in environment.stores.planner_catalog().indexes()
        }
        contents = [
            environment.stores.lake.open(StorageCollectionId(indexes[replica.cluster_id]))
            .pin()
            .changes(MINIMUM, MAXIMUM)
            .num_rows
            for replica in (served, dormant)
        ]
        assert contents == [2, 2]
        for cluster in ("served", "dormant"):
            assert sorted(delta_rows(home / "sinks" / cluster)) == [("x", 1), ("y", 2)]


def test_a_cluster_of_a_standalone_master_works_on_its_executors(
    home: Path,
    ticks: Ticks,
    spark_cluster: str,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = home / "sizes.json"
    sizes.write_text(json.dumps({"far": {"master": spark_cluster, "cores": 1, "memory": "512m"}}))
    on_spark = {"RECLOCK_CLUSTER_REPLICA_SIZES": str(sizes), "RECLOCK_SPARK_THRESHOLD_BYTES": "0"}

    def applications() -> set[Path]:
        """Folders of their executors, where the worker keeps them."""
        return set(tmp_path_factory.getbasetemp().glob("spark-cluster[0-9]/app-*"))

    before = applications()
    monkeypatch.setenv("RECLOCK_CLUSTER_REPLICA_SIZES", str(sizes))
    with Environment.open(home) as environment:
        session = Session(environment)
        list(session.execute("CREATE CLUSTER far SIZE 'far'"))
        list(
            session.execute(
                "CREATE MATERIALIZED VIEW sums IN CLUSTER far AS SELECT k, sum(v) AS v "
                "FROM a GROUP BY k"
            )
        )
        list(session.execute("CREATE SINK of_far IN CLUSTER far FROM sums INTO DELTA 'far'"))
    (run,) = ticks({}, **on_spark)
    assert run["state"] == "success", run
    assert len(applications() - before) == 1
    assert sorted(delta_rows(home / "sinks" / "far")) == [("x", 1), ("y", 2)]
    assert sorted(delta_rows(home / "sinks" / "both")) == [("x", 2), ("y", 4)]


def test_a_warm_process_does_the_work_and_may_be_killed_in_the_middle(
    home: Path, ticks: Ticks, spark_remote: str
) -> None:
    """It dies when the first source is bound and staged, and before it is published: the tasks go
    on themselves."""
    port = free_port()
    command = [RECLOCK, "serve", "--home", str(home), "--port", "0", "--http", str(port)]
    variables = os.environ | {
        "RECLOCK_SPARK_REMOTE": spark_remote,
        "RECLOCK_FAILPOINT": "ingest.before_commit",
    }
    with (home / "serve.log").open("wb") as log:
        warm = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=log)
    try:
        assert warm.stdout is not None
        assert b"listening" in warm.stdout.readline()
        settings = {"AIRFLOW_CONN_RECLOCK_WARM": f"http://127.0.0.1:{port}"}
        killed, after = ticks({}, {}, **settings)
    finally:
        warm.kill()
        assert warm.wait() == -signal.SIGKILL
    assert killed["state"] == after["state"] == "success", (killed, after)
    assert states(killed, "source") == {
        "reclock.public.a": "success",
        "reclock.public.b": "success",
    }
    assert states(after, "source") == {"nothing new": "success"}
    for source in ("a", "b"):
        assert rows(home, f"SELECT k, v FROM {source} ORDER BY k") == [("x", 1), ("y", 2)]
    assert sorted(delta_rows(home / "sinks" / "both")) == [("x", 2), ("y", 4)]


def test_the_log_of_a_failed_source_leads_to_the_page(run_worker: Callable[..., Any]) -> None:
    failure = {
        "name": "reclock.public.a",
        "sqlstate": "22P02",
        "message": "does not decode",
        "detail": "two fields, not three",
        "hint": "correct it",
    }
    url = "http://127.0.0.1:8187"
    assert run_worker("failed_source_worker.py", failure, AIRFLOW__API__BASE_URL=url) == [
        f"problems: {url}/reclock/overview?status=problem",
        "reclock.public.a: does not decode (SQLSTATE 22P02)",
        "DETAIL: two fields, not three",
        "HINT: correct it",
    ]
