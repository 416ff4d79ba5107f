"""Sources move at their own pace in Airflow: a slow and a failing one beside a fast one, with a
real scheduler."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from fixtures.kinesis import Kinesis
from fixtures.sunk import delta_rows
from fixtures.waiting import eventually

from reclock.adapter.session.session import Session
from reclock.runtime.environment import Environment

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.timeout(1800)]

STACK = Path(__file__).resolve().parents[2] / "examples" / "flights"
PAUSE_S = 1
"""Between two requests to the API server, which take it a good part of a core otherwise."""

DEFINITIONS = """
    CREATE SOURCE slow FROM KINESIS (STREAM '{stream}', REGION 'us-east-1', ENDPOINT '{endpoint}') FORMAT TEXT;
    CREATE SOURCE fast (k text, v int) FROM S3 DISCOVER OBJECTS MATCHING '**' USING BUCKET SCAN 'fast' FORMAT CSV WITH HEADER;
    CREATE SOURCE broken (k text, v int) FROM S3 DISCOVER OBJECTS MATCHING '**' USING BUCKET SCAN 'broken' FORMAT CSV WITH HEADER;
    CREATE MATERIALIZED VIEW sums AS SELECT sum(v) AS v FROM fast;
    CREATE MATERIALIZED VIEW sizes AS SELECT (SELECT count(*) FROM fast) AS fast, (SELECT count(*) FROM slow) AS slow;
    CREATE SINK out FROM sums INTO DELTA 'out'
"""


def test_a_fast_source_is_published_and_refreshed_while_others_are_slow_or_fail(
    tmp_path: Path, kinesis: Kinesis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(STACK))
    from stack import running  # type: ignore[import-not-found]

    stream, home = kinesis.stream(), tmp_path / "home"
    with Environment.initialise(home) as environment:
        list(
            Session(environment).execute(
                DEFINITIONS.format(stream=stream, endpoint=kinesis.endpoint)
            )
        )
    kinesis.put(stream, [b"one", b"two"])
    append(home, "fast", "k,v\nx,1\n")
    append(home, "broken", "k,v\nx,not a number\n")
    with running(home) as airflow:
        os.kill(kinesis.process.pid, signal.SIGSTOP)  # it accepts requests, and does not answer
        try:
            first = begin_run(airflow)
            await_state(airflow, first, "source reclock.public.fast")
            states = task_states(airflow, first)
            assert states["source reclock.public.slow"] in ("running", "deferred")
            assert rows(home, "SELECT v FROM sums") == [(1,)]
            assert sorted(delta_rows(home / "sinks" / "out")) == [(1,)]
            await_state(airflow, first, "source reclock.public.broken", "failed")

            # the next run does not wait for the slow source of this one either
            append(home, "fast", "y,2\n")
            second = begin_run(airflow, sources=["fast"])
            await_run(airflow, second, "success")
            assert rows(home, "SELECT v FROM sums") == [(3,)]
            assert task_states(airflow, first)["source reclock.public.slow"] in (
                "running",
                "deferred",
            )
        finally:
            os.kill(kinesis.process.pid, signal.SIGCONT)
        await_run(airflow, first, "failed")
        third = begin_run(airflow)
        await_run(airflow, third, "failed")
        states = task_states(airflow, third)
    red = {name for name, state in states.items() if state in ("failed", "upstream_failed")}
    assert red == {"source reclock.public.broken", "done"}
    assert states["clusters"] == "success"
    assert rows(home, "SELECT fast, slow FROM sizes") == [(2, 2)]
    assert sorted(rows(home, "SELECT text FROM slow")) == [("one",), ("two",)]
    assert sorted(delta_rows(home / "sinks" / "out")) == [(3,)]


def append(home: Path, bucket: str, text: str) -> None:
    path = home / "buckets" / bucket / "object.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(text)


def rows(home: Path, text: str) -> list[tuple[Any, ...]]:
    with Environment.open(home) as environment:
        (result,) = Session(environment).execute(text)
        return list(result.rows())


def begin_run(airflow: Any, **conf: Any) -> str:
    """The address of a new run of the DAG."""
    created = airflow.call(
        "POST", "/dags/reclock_tick/dagRuns", json={"logical_date": None, "conf": conf}
    )
    return f"/dags/reclock_tick/dagRuns/{created['dag_run_id']}"


def await_run(airflow: Any, run: str, state: str) -> None:
    eventually(
        lambda: airflow.call("GET", run)["state"] == state,
        lambda: task_states(airflow, run),
        pause_s=PAUSE_S,
    )


def task_states(airflow: Any, run: str) -> dict[str, str | None]:
    """By a task's id and the name of its instance, or its number before it has begun."""
    tasks = airflow.call("GET", f"{run}/taskInstances", params={"limit": 100})["task_instances"]
    return {
        f"{task['task_id']} {task['rendered_map_index'] or ''}".strip(): task["state"]
        for task in tasks
    }


def await_state(airflow: Any, run: str, task: str, state: str = "success") -> None:
    eventually(
        lambda: task_states(airflow, run).get(task) == state,
        lambda: task_states(airflow, run),
        pause_s=PAUSE_S,
    )
