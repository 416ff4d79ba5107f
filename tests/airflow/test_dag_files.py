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
    assert (dag["max_active_runs"], dag["catchup"], dag["is_paused_upon_creation"]) == (4, False, True)
    assert dag["params"] == {"sources": [], "at": None, "engine": "warm"}
    tasks = dag["tasks"]
    of_source = {f"source.{name}" for name in ("ingest", "ingest_by_spark_submit", "audit", "publish", "refresh_dependents")}
    assert {name for name, task in tasks.items() if task["is_mapped"]} == of_source | {"refresh", "emit", "work_by_spark_submit"}
    # a source waits for tasks of its own and for what the whole run begins with, never for another source
    whole_run = {"choose_engine", "allocate_write_timestamp", "list_sources", "list_clusters"}
    assert set().union(*(tasks[name]["upstream"] for name in of_source)) <= of_source | whole_run
    assert set(tasks["source.audit"]["upstream"]) >= {"source.ingest", "source.ingest_by_spark_submit"}
    assert "source.audit" in tasks["source.publish"]["upstream"]
    assert "source.publish" in tasks["source.refresh_dependents"]["upstream"]
    assert "source.refresh_dependents" in tasks["refresh"]["upstream"]
    assert tasks["refresh"]["rule"] == tasks["work_by_spark_submit"]["rule"] == tasks["emit"]["rule"] == "all_done"
    assert set(tasks["emit"]["upstream"]) >= {"refresh", "work_by_spark_submit"}
    # the only leaf sees every task, so that nothing that goes on after a failure can end the run green
    assert set(tasks["verdict"]["upstream"]) == set(tasks) - {"verdict"}
    assert tasks["verdict"]["rule"] == "one_failed"


@pytest.mark.parametrize(("given", "expected"), [("", None), ("*/5 * * * *", "*/5 * * * *")])
def test_the_schedule_is_a_setting(given: str, expected: str | None, run_worker: Worker) -> None:
    loaded = run_worker("dag_file_worker.py", RECLOCK_TICK_SCHEDULE=given)
    assert loaded["dags"]["reclock_tick"]["schedule"] == expected
