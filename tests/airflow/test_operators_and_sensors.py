"""Runs of DAGs that use the provider's operators and sensors, over a home and over a server."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from fixtures import forks
from fixtures.airflow_processes import Zygote
from fixtures.server import start_server
from fixtures.waiting import eventually

import reclock
from reclock.quality.suites import suite_path

pytestmark = [pytest.mark.airflow, pytest.mark.spark]

FOLDER = Path(__file__).resolve().parent
EXAMPLES = FOLDER.parents[1] / "examples" / "airflow"

Run = Callable[..., Any]

DEFERRED = "Pausing task as DEFERRED"

SOURCE = """CREATE SOURCE {name} (k text, v integer) FROM S3
  DISCOVER OBJECTS MATCHING '**' USING BUCKET SCAN '{name}' FORMAT CSV WITH HEADER"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, spark_remote: str) -> Iterator[Any]:
    """A server, with a source and a materialized view of it. Ticks use the warm Spark session."""
    server = start_server(tmp_path_factory.mktemp("users"))
    append(server.home, "a", "k,v\nx,1\ny,2\n")
    append(server.home, "broken", "k,v\nx,1\nx,none\n")
    with reclock.connect(server.home) as client:
        client.sql(SOURCE.format(name="a"))
        client.sql("CREATE MATERIALIZED VIEW v AS SELECT k, sum(v) AS v FROM a GROUP BY k")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECLOCK_SPARK_REMOTE", spark_remote)
        yield server
    server.kill()


@pytest.fixture(scope="module")
def run_dag(airflow_database: dict[str, str], zygote: Zygote, server: Any) -> Run:
    """Run a DAG of a folder once; answers its tasks' states and results, and the log. ``meanwhile``
    is done once a sensor waits."""
    connections = {
        "AIRFLOW_CONN_RECLOCK_DEFAULT": {
            "conn_type": "reclock",
            "extra": {"home": str(server.home)},
        },
        "AIRFLOW_CONN_SERVER": {"conn_type": "reclock", "host": "127.0.0.1", "port": server.port},
    }
    settings = airflow_database | {
        name: json.dumps(connection) for name, connection in connections.items()
    }

    def run(
        dag: str,
        folder: Path = FOLDER / "user_dags",
        *,
        meanwhile: Callable[[], None] | None = None,
    ) -> Any:
        environment = settings | {
            "RECLOCK_SPARK_REMOTE": os.environ["RECLOCK_SPARK_REMOTE"],
            "AIRFLOW__CORE__DAGS_FOLDER": str(folder),
            "AIRFLOW__LOGGING__LOGGING_LEVEL": "INFO",
        }
        process = zygote.run("dag_worker.py", [str(folder), dag], environment)
        if meanwhile is not None:
            while DEFERRED not in process.output():
                assert process.is_running(), process.output()[-4000:]
                time.sleep(0.1)
            meanwhile()
        assert process.wait() == 0, process.output()[-8000:]
        log = process.output()
        answer = next(line for line in log.splitlines() if line.startswith('{"state"'))
        return json.loads(answer) | {"log": log}

    return run


def append(home: Path, bucket: str, text: str) -> None:
    path = home / "buckets" / bucket / "object.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(text)


def is_ticked(home: Path, *sources: str) -> bool:
    """Whether a tick succeeds, in a process of its own: this one may have a Spark session that is
    no client of the warm one."""
    options = [option for source in sources for option in ("--source", source)]
    return forks.command("tick", "--home", str(home), *options) == 0


def test_operators_tick_refresh_and_read_at_the_time_of_the_tick(run_dag: Run, server: Any) -> None:
    run = run_dag("work")
    assert run["state"] == "success", run["log"][-4000:]
    results = run["results"]
    assert results["tick"]["rows"] == {"reclock.public.a": 2}
    assert results["tick"]["at"] < results["tick"]["upper"]
    assert results["counted"] == [[1]]
    assert results["created"] is None
    assert results["common"][0]["__data__"] == [2]  # a tuple
    with reclock.connect(server.home) as client:
        assert client.sql("SELECT * FROM made").rows() == []
    refreshed = results["refresh"]["reclock.public.v_primary_idx"]
    assert refreshed >= results["tick"]["upper"]
    for line in (
        f"reclock.public.v_primary_idx: 0 updates below {refreshed}",
        f"SELECT, rows: 1, as of {results['tick']['upper'] - 1}",
        "CREATE TABLE",
    ):
        assert line in run["log"], line
    (values,) = results["described"]
    assert values == [
        "bool True",
        "int 2",
        "str x",
        "NoneType None",
        "list [1, 2]",
        "date 2026-11-21",
        "str 1 day",
        "datetime 2026-11-21 10:00:00.123456+00:00",
        "str 2026-11-21 10:00:00",
        "str 12345678901234567890.10",
        "str \\x0102",
        "str it's",
    ]


def test_sensors_wait_for_relations_and_for_a_condition(run_dag: Run, server: Any) -> None:
    started_ms = time.time() * 1000

    def tick() -> None:
        append(server.home, "a", "z,3\n")
        assert is_ticked(server.home)

    run = run_dag("wait", meanwhile=tick)
    assert run["state"] == "success", run["log"][-4000:]
    published = run["results"]["published"]
    assert published > started_ms
    assert run["results"]["poked"] == published
    assert run["results"]["enough"] == [True, 3]
    assert DEFERRED in run["log"]
    rows = f"all rows of a, v up to {datetime.fromtimestamp(published / 1000, UTC):%F}"
    for line in (f"waiting for {rows}", f"found {rows}", "found a first value that is true of"):
        assert line in run["log"], line
    with reclock.connect(server.home) as client:
        assert client.sql("SELECT count(*) FROM a", as_of=published).rows() == [(2,)]


def test_a_source_has_caught_up_once_its_upstream_was_asked_later(
    run_dag: Run, server: Any
) -> None:
    with reclock.connect(server.home) as client:
        started_ms = time.time() * 1000
        client.sql("SELECT * FROM a")  # a reader moves the time of the source, and asks no upstream
        (before,) = client.sql("SELECT count(*) FROM a").rows()

    def tick() -> None:
        with reclock.connect(server.home) as client:
            client.sql("SELECT * FROM a")
        append(server.home, "a", "late,4\n")
        assert is_ticked(server.home, "a")

    run = run_dag("catch_up", meanwhile=tick)
    assert run["state"] == "success", run["log"][-4000:]
    caught_up = run["results"]["caught_up"]
    assert caught_up > started_ms
    assert run["results"]["counted"] == [[before[0] + 1]]
    (audit,) = run["results"]["checked"]
    assert (audit["source"], audit["at"], audit["outcome"]) == ("a", caught_up, "passed")
    assert audit["rows"] == 1
    assert (server.home / "quality" / audit["page"]).exists()

    def is_probed() -> bool:
        assert is_ticked(server.home, "a")  # with nothing new; it does not wait for a slow source
        with reclock.connect(server.home) as client:
            query = "SELECT probed_at FROM mz_internal.mz_source_probes WHERE name = 'a'"
            ((probed_at,),) = client.sql(query).rows()
        return bool(probed_at.timestamp() * 1000 > caught_up)

    eventually(is_probed)


def test_what_cannot_be_waited_for_or_done_fails_and_says_why(run_dag: Run, server: Any) -> None:
    with reclock.connect(server.home) as client:
        client.sql(SOURCE.format(name="broken"))
        client.sql(SOURCE.format(name="waived"))
    assert not is_ticked(server.home, "broken")
    check = {"type": "expect_column_values_to_be_between", "meta": {"check": "v_is_small"}}
    check["kwargs"] = {"column": "v", "max_value": 1}
    suite = suite_path(server.home / "expectations", "reclock.public.waived")
    suite.parent.mkdir()
    suite.write_text(json.dumps({"expectations": [check]}))
    append(server.home, "waived", "k,v\nx,2\n")
    assert not is_ticked(server.home, "waived")
    with reclock.connect(server.home) as client:
        client.sql("ALTER SOURCE waived WAIVE 'v_is_small'")
    assert is_ticked(server.home, "waived")
    run = run_dag("fail")
    states = run["states"]
    assert states.pop("skipped") == "skipped"
    assert states.pop("moved") == "success"
    assert states.pop("waived_but_not_asked_for") == "success"
    assert len(run["results"]["waived_but_not_asked_for"]) == 1
    assert set(states.values()) == {"failed"}
    for message in (
        '"reclock.public.broken" is stalled',
        'relation "nowhere" does not exist',
        '"soon" is not a time',
        "reclock.public.broken: record at byte",
        "a client of a server cannot tick",
        "a server does no work for an operator",
        '"v" is not a source',
        'audit of source "waived" failed: v_is_small',
        "the query has 11 rows, more than max_rows = 10",
        'column "colour" does not exist (SQLSTATE 42703)',
    ):
        assert message in run["log"], message
    with reclock.connect(server.home) as client:
        client.sql("DROP SOURCE broken, waived")


def test_the_example_reads_two_relations_at_the_time_it_waited_for(
    run_dag: Run, server: Any
) -> None:
    with reclock.connect(server.home) as client:
        client.sql("CREATE TABLE customers (id bigint, name text)")
        client.sql("CREATE TABLE orders (customer bigint, amount numeric(10, 2))")
        client.sql("INSERT INTO customers VALUES (1, 'ada'), (2, 'bob')")
        client.sql("INSERT INTO orders VALUES (1, 12.50), (2, 8), (1, 30)")

    def insert() -> None:
        with reclock.connect(server.home) as client:
            client.sql("INSERT INTO orders VALUES (2, 100)")

    run = run_dag("hourly_revenue", EXAMPLES, meanwhile=insert)
    assert run["state"] == "success", run["log"][-4000:]
    assert run["results"]["revenue"] == [["ada", "42.50"], ["bob", "8.00"]]
    assert run["results"]["report"] == "ada: 42.50\nbob: 8.00"
