"""The DAG files: they load, cheaply, and are wired so that one source's failure is its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.airflow

DEFAULTS = ("reclock", "default_pool", 2, 10.0, 21600.0)
"""Owner, pool, retries, delay and timeout of every task."""

Worker = Callable[..., Any]


def test_dag_files_load_without_errors_and_import_nothing_heavy(loaded_dags: Any) -> None:
    assert loaded_dags["errors"] == {}
    assert loaded_dags["heavy"] == []
    assert len(loaded_dags["dags"]) == 3
    for dag in loaded_dags["dags"].values():
        assert dag["description"].endswith(".")  # a whole sentence, beside the name in the UI
        assert {tuple(task["defaults"]) for task in dag["tasks"].values()} == {DEFAULTS}


def test_the_tick_is_wired_as_documented(loaded_dags: Any) -> None:
    dag = loaded_dags["dags"]["reclock_tick"]
    assert dag["schedule"] == "* * * * *"
    assert (dag["max_active_runs"], dag["catchup"], dag["is_paused_upon_creation"]) == (
        4,
        False,
        True,
    )
    assert dag["params"] == {"sources": [], "at": None, "engine": "warm"}
    tasks = dag["tasks"]
    assert {name: task["upstream"] for name, task in tasks.items()} == {
        "plan": [],
        "source": ["plan"],
        "clusters": ["source"],
        # sees every task that may fail, so that nothing that goes on after a failure can end the
        # run green
        "announce": ["clusters"],
        "done": ["announce", "clusters", "source"],
    }
    assert [name for name, task in tasks.items() if task["is_mapped"]] == ["source"]
    rules = {name: task["rule"] for name, task in tasks.items()}
    assert rules["clusters"] == rules["announce"] == "all_done"
    assert rules["done"] == "all_success"
    # events are made by one task at a time, so that none is made twice, nor an asset
    assert [name for name, task in tasks.items() if task["has_outlets"]] == ["announce"]
    assert tasks["announce"]["max_active"] == 1


def test_an_asset_is_the_one_that_a_user_writes_by_its_uri(loaded_dags: Any) -> None:
    assert loaded_dags["uris"] == {
        "orders": "reclock://reclock/public/orders",
        "shop.orders": "reclock://reclock/shop/orders",
        'a."q""x"': "reclock://reclock/a/q%22x",
        '"we.ird"': "reclock://reclock/public/we.ird",
    }
    assert loaded_dags["schedule"] == [
        "reclock://reclock/public/customers",
        "reclock://reclock/public/orders",
    ]


def test_retries_timeouts_pool_and_owner_are_settings(run_worker: Worker) -> None:
    loaded = run_worker(
        "dag_file_worker.py",
        RECLOCK_DAG_OWNER="data",
        RECLOCK_DAG_POOL="lake",
        RECLOCK_DAG_RETRIES="5",
        RECLOCK_DAG_RETRY_DELAY="1.5",
        RECLOCK_DAG_TASK_TIMEOUT="60",
        RECLOCK_DAG_RUN_TIMEOUT="90",
        RECLOCK_DAG_ON_FAILURE="pprint:pprint",
        RECLOCK_TICK_SCHEDULE="",
    )
    dag = loaded["dags"]["reclock_tick"]
    assert dag["schedule"] is None
    assert dag["run_timeout_s"] == 90
    assert dag["tasks"]["source"]["defaults"] == ["data", "lake", 5, 1.5, 60]
    assert dag["tasks"]["source"]["on_failure"] == ["pprint"]


@pytest.mark.parametrize(("given", "expected"), [("*/5 * * * *", "*/5 * * * *")])
def test_the_schedule_is_a_setting(given: str, expected: str | None, run_worker: Worker) -> None:
    loaded = run_worker("dag_file_worker.py", RECLOCK_TICK_SCHEDULE=given)
    assert loaded["dags"]["reclock_tick"]["schedule"] == expected
