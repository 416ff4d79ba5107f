"""The DAG files: they load, cheaply, and are wired so that one source's failure is its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.airflow

Worker = Callable[..., Any]


@pytest.fixture
def loaded(run_worker: Worker) -> Any:
    return run_worker("dag_file_worker.py")


def test_dag_files_load_without_errors_and_import_nothing_heavy(loaded: Any) -> None:
    assert loaded["errors"] == {}
    assert loaded["heavy"] == []


def test_the_tick_is_wired_as_documented(loaded: Any) -> None:
    dag = loaded["dags"]["reclock_tick"]
    assert dag["schedule"] == "* * * * *"
    assert (dag["max_active_runs"], dag["catchup"], dag["is_paused_upon_creation"]) == (1, False, True)
    assert dag["params"] == {"sources": [], "at": None, "engine": "warm"}
    tasks = dag["tasks"]
    by_spark_submit = {"ingest_by_spark_submit", "work_by_spark_submit"}
    assert {name for name, task in tasks.items() if task["is_mapped"]} == {"ingest", "refresh", "emit"} | by_spark_submit
    assert set(tasks["audit"]["upstream"]) >= {"ingest", "ingest_by_spark_submit"}
    assert tasks["audit"]["rule"] == "all_done"
    assert "audit" in tasks["publish"]["upstream"]
    assert "publish" in tasks["refresh"]["upstream"]
    assert set(tasks["emit"]["upstream"]) >= {"refresh", "work_by_spark_submit"}
    # the only leaf sees every task, so that nothing that goes on after a failure can end the run green
    assert set(tasks["verdict"]["upstream"]) == set(tasks) - {"verdict"}
    assert tasks["verdict"]["rule"] == "one_failed"


@pytest.mark.parametrize(("given", "expected"), [("", None), ("*/5 * * * *", "*/5 * * * *")])
def test_the_schedule_is_a_setting(given: str, expected: str | None, run_worker: Worker) -> None:
    loaded = run_worker("dag_file_worker.py", RECLOCK_TICK_SCHEDULE=given)
    assert loaded["dags"]["reclock_tick"]["schedule"] == expected
