"""A run of `reclock_maintenance` over a real environment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fixtures.airflow_processes import Zygote
from fixtures.maintained import World

pytestmark = pytest.mark.airflow


def test_the_file_is_wired_as_documented(loaded_dags: Any) -> None:
    dag = loaded_dags["dags"]["reclock_maintenance"]
    assert dag["schedule"] == "30 3 * * *"
    assert (dag["max_active_runs"], dag["catchup"], dag["is_paused_upon_creation"]) == (
        1,
        False,
        True,
    )
    tasks = dag["tasks"]
    assert {name for name, task in tasks.items() if task["is_mapped"]} == {"maintain"}
    assert set(tasks["record_storage_usage"]["upstream"]) == {"sweep", "maintain"}
    assert tasks["record_storage_usage"]["rule"] == "all_done"
    assert set(tasks["compact_catalog"]["upstream"]) == {"record_storage_usage"}
    assert tasks["compact_catalog"]["rule"] == "all_done"
    assert set(tasks["done"]["upstream"]) == set(tasks) - {"done"}
    assert tasks["done"]["rule"] == "none_failed"


def test_what_fails_is_red_and_the_rest_is_maintained_and_recorded(
    tmp_path: Path, airflow_database: dict[str, str], zygote: Zygote
) -> None:
    world = World(tmp_path / "home")
    broken, whole = world.create("broken"), world.create("whole")
    for group in (broken, whole):
        for at in range(1_010, 1_200, 10):
            world.write(group, at, "a")
    oldest = min(world.collection(broken).pin().all_files, key=lambda file: file.min_time)
    Path(oldest.uri).unlink()
    settings = airflow_database | {
        "RECLOCK_HOME": str(world.home),
        "RECLOCK_DAG_RETRIES": "0",
        "RECLOCK_RETENTION_MS": "100",
        "RECLOCK_CATALOG_RETENTION_MS": "0",
    }
    words = [settings["AIRFLOW__CORE__DAGS_FOLDER"], "reclock_maintenance"]
    run = zygote.run("dag_worker.py", words, settings)
    assert run.wait() == 0, run.output()[-8000:]
    assert f"reclock.public.broken ({broken}/reclocked)" in run.output()
    shown = json.loads(run.output().splitlines()[-1])
    assert (shown["state"], shown["states"]["done"]) == ("failed", "upstream_failed")
    assert shown["states"]["record_storage_usage"] == "success"
    assert [len(world.collection(group).pin().all_files) for group in (broken, whole)] == [19, 1]
    assert world.sql(f"SELECT count(*) FROM mz_storage_usage WHERE object_id = '{whole}'") == [(1,)]
    assert world.environment.stores.catalog.since > 0
    world.close()
