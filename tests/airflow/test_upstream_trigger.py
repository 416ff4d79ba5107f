"""``ReclockUpstreamTrigger`` in an event loop: what it fires for, and what only once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fixtures.airflow_processes import Zygote
from fixtures.ports import free_port
from fixtures.server import SqlServer

import reclock
from reclock.runtime.environment import Environment

pytestmark = pytest.mark.airflow

SOURCE = """CREATE SOURCE {name} (v int) FROM S3
  DISCOVER OBJECTS USING BUCKET SCAN '{name}' FORMAT CSV WITH HEADER"""
A, B = "reclock.public.a", "reclock.public.b"
PROJECT = Path(__file__).resolve().parents[2]
EXAMPLES = PROJECT / "examples" / "airflow"

Worker = Callable[..., Any]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An environment with the sources a and b, whose buckets are empty."""
    home = tmp_path / "home"
    Environment.initialise(home).close()
    with reclock.connect(home) as client:
        for name in ("a", "b"):
            (home / "buckets" / name).mkdir(parents=True)
            client.sql(SOURCE.format(name=name))
    return home


def connection_to(home: Path) -> dict[str, str]:
    connection = {"conn_type": "reclock", "extra": {"home": str(home)}}
    return {"AIRFLOW_CONN_RECLOCK_DEFAULT": json.dumps(connection)}


@pytest.mark.parametrize("prober", ["the triggerer", "a warm process"])
def test_an_upstream_with_news_is_an_event_once(
    prober: str,
    home: Path,
    run_worker: Worker,
    airflow_database: dict[str, str],
    new_server: Callable[..., SqlServer],
) -> None:
    arguments: dict[str, Any] = {}
    settings = connection_to(home)
    if prober == "a warm process":
        port = free_port()
        new_server(home, RECLOCK_SERVE_HTTP=f"127.0.0.1:{port}")
        arguments = {"sources": ["a", "b"], "warm_conn_id": "warm"}
        settings = {"AIRFLOW_CONN_WARM": f"http://127.0.0.1:{port}"}
    answers = run_worker(
        "upstream_worker.py", {"home": str(home), "arguments": arguments}, **settings
    )
    assert answers["phases"] == {
        "nothing is new": [],
        "a has rows, for many polls": [[A]],
        "they are ingested": [[A]],
        "both have rows": [[A], [A, B]],
        "the triggerer is another": [],
        "a has more": [[A]],
        "nothing is stored": [[A, B]],
    }
    assert answers["stored"] == [[A, B]]
    assert not answers["blocks"]


def test_the_example_ticks_and_is_the_one_of_the_page(
    home: Path, zygote: Zygote, airflow_database: dict[str, str]
) -> None:
    code = (EXAMPLES / "tick_on_news.py").read_text().split('"""', 2)[2].strip()
    page = (PROJECT / "docs" / "airflow.md").read_text()
    assert code.replace("from __future__ import annotations\n\n", "") in page
    (home / "buckets" / "a" / "o.csv").write_text("v\n1\n")
    words = [str(EXAMPLES), "tick_on_news"]
    folder = {"AIRFLOW__CORE__DAGS_FOLDER": str(EXAMPLES)}
    process = zygote.run("dag_worker.py", words, airflow_database | connection_to(home) | folder)
    assert process.wait() == 0, process.output()[-8000:]
    line = next(line for line in process.output().splitlines() if line.startswith('{"state"'))
    run = json.loads(line)
    assert run["state"] == "success", process.output()[-8000:]
    assert run["results"]["tick"]["rows"] == {A: 1}
