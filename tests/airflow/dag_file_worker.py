"""Loads the DAG folder as Airflow does, and prints what it found."""

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def defaults(task: Any) -> list[Any]:
    timeout = task.execution_timeout
    timeout_s = timeout.total_seconds() if timeout else None
    return [task.owner, task.pool, task.retries, task.retry_delay.total_seconds(), timeout_s]


def as_list(callbacks: Any) -> list[Any]:
    return (
        []
        if callbacks is None
        else list(callbacks)
        if isinstance(callbacks, list | tuple)
        else [callbacks]
    )


def main() -> None:
    import airflow.sdk

    before = set(sys.modules)
    from airflow.dag_processing.dagbag import DagBag

    bag = DagBag(os.environ["AIRFLOW__CORE__DAGS_FOLDER"])
    dags = {
        dag.dag_id: {
            "tasks": {
                task.task_id: {
                    "upstream": sorted(task.upstream_task_ids),
                    "rule": task.trigger_rule.value,
                    "has_outlets": bool(task.outlets),
                    "max_active": task.max_active_tis_per_dag,
                    "defaults": defaults(task),
                    "on_failure": [
                        callback.__name__ for callback in as_list(task.on_failure_callback)
                    ],
                    "is_mapped": task.is_mapped or task.get_closest_mapped_task_group() is not None,
                }
                for task in dag.tasks
            },
            "run_timeout_s": dag.dagrun_timeout.total_seconds() if dag.dagrun_timeout else None,
            "max_active_runs": dag.max_active_runs,
            "catchup": dag.catchup,
            "is_paused_upon_creation": dag.is_paused_upon_creation,
            "schedule": getattr(dag.timetable, "expression", None),
            "params": dag.params.dump(),
            "description": dag.description,
        }
        for dag in bag.dags.values()
    }
    heavy = {
        "pyspark",
        "pandas",
        "pyarrow",
        "great_expectations",
        "deltalake",
        "duckdb",
        "boto3",
        "sqlglot",
    }
    for module in ("hooks", "operators", "sensors", "triggers", "assets"):  # as users' DAGs do
        import_module(f"reclock.airflow.{module}")
    loaded = sorted({name.partition(".")[0] for name in set(sys.modules) - before} & heavy)
    assert airflow.sdk
    from reclock.airflow.assets import relation_asset

    examples = DagBag(Path(__file__).resolve().parents[2] / "examples" / "airflow")
    assets = {
        name: relation_asset(name) for name in ("orders", "shop.orders", 'a."q""x"', '"we.ird"')
    }
    report = {
        "errors": bag.import_errors | examples.import_errors,
        "dags": dags,
        "heavy": loaded,
        "uris": {
            name: asset.uri
            for name, asset in assets.items()
            if asset == airflow.sdk.Asset(asset.uri)
        },
        "schedule": sorted(
            asset.uri for asset in examples.dags["two_assets"].timetable.asset_condition.objects
        ),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
