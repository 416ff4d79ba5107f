"""A tick in Airflow: five sources of CSV objects, each with a new object before each run.

The DAG ``reclock_tick`` with a warm process, which also audits and refreshes a view, beside a DAG of
five `SparkSubmitOperator`s that run Structured Streaming, and beside the command `reclock tick`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import reclock
from benchmarks.figures import Figures, timed

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "flights"))

from stack import DAG, PROJECT, Stack, running

SOURCES, ROWS, RUNS = 5, 700, 2
DONE = ("success", "failed")


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="reclock-benchmark-"))
    try:
        home, dags = folder / "home", folder / "dags"
        shutil.copytree(PROJECT / "dags", dags)
        shutil.copytree(PROJECT / "benchmarks" / "airflow_peer", dags, dirs_exist_ok=True)
        settings = {
            "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
            "BENCH_SOURCES": str(SOURCES),
            "RECLOCK_STAGING_THRESHOLD_BYTES": str(32 << 20),
        }
        with reclock.connect(home, create=True) as client:
            _declare(client)
        with running(home, settings=settings) as stack:
            _compare(stack, home)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _declare(client: Any) -> None:
    for number in range(SOURCES):
        client.sql(
            f"CREATE SOURCE s{number} (id bigint, at timestamp, customer text, amount numeric(10, 2)) "
            f"FROM S3 DISCOVER OBJECTS MATCHING 's{number}/*' USING BUCKET SCAN 'bench' "
            "FORMAT CSV WITH HEADER"
        )
    client.sql(
        "CREATE MATERIALIZED VIEW totals AS SELECT customer, count(*) AS orders, sum(amount) AS "
        "amount FROM s0 GROUP BY customer"
    )


def _compare(stack: Stack, home: Path) -> None:
    sizes = []

    def feed(round: int) -> None:
        lines = [
            f"{round * ROWS + row},2026-11-21 10:{row % 60:02d}:00,customer {row % 97},{row / 4}\n"
            for row in range(ROWS)
        ]
        for number in range(SOURCES):
            path = home / "buckets" / "bench" / f"s{number}" / f"{round}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("id,at,customer,amount\n" + "".join(lines))
            sizes.append(path.stat().st_size)

    def command() -> None:
        words = [sys.executable, "-m", "reclock", "tick", "--home", str(home)]
        subprocess.run(words, check=True, capture_output=True)

    ours, theirs, commands = [], [], []
    for round in range(RUNS + 1):
        feed(2 * round)
        ours.append(_run(stack, DAG))
        theirs.append(_run(stack, "streams"))
        feed(2 * round + 1)
        commands.append(timed(command))
    with reclock.connect(home) as client:
        (total,) = client.sql("SELECT count(*) FROM s4").rows()[0]
    assert total == 2 * (RUNS + 1) * ROWS, total
    print(f"{SOURCES} sources, each with a new object of {sizes[-1]} bytes; the first runs warm up")
    mine, peer, commanded = (Figures(tuple(side[1:])) for side in (ours, theirs, commands))
    print(f"run of {DAG}, with audits and a view:   {mine}")
    print(f"run of Structured Streaming's tasks: {peer}")
    print(f"command `reclock tick`, from its start: {commanded}")
    print(f"ratio of time: {peer.median / mine.median:.1f}")


def _run(stack: Stack, dag: str) -> float:
    """Trigger the DAG; seconds from the begin of the run until its end."""
    body = {"logical_date": None}
    run = stack.call("POST", f"/dags/{dag}/dagRuns", json=body)["dag_run_id"]
    while (state := stack.call("GET", f"/dags/{dag}/dagRuns/{run}"))["state"] not in DONE:
        time.sleep(0.5)
    assert state["state"] == "success", state
    begin, end = (datetime.fromisoformat(state[name]) for name in ("start_date", "end_date"))
    return (end - begin).total_seconds()
