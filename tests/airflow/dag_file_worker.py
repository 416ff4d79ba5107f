"""Loads the DAG folder as Airflow does, and prints what it found."""

import json
import os
import sys


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
                    "is_mapped": task.is_mapped or task.get_closest_mapped_task_group() is not None,
                }
                for task in dag.tasks
            },
            "max_active_runs": dag.max_active_runs,
            "catchup": dag.catchup,
            "is_paused_upon_creation": dag.is_paused_upon_creation,
            "schedule": getattr(dag.timetable, "expression", None),
            "params": dag.params.dump(),
        }
        for dag in bag.dags.values()
    }
    heavy = {"pyspark", "pandas", "pyarrow", "great_expectations", "deltalake", "duckdb", "boto3", "reclock"}
    loaded = sorted({name.partition(".")[0] for name in set(sys.modules) - before} & heavy)
    assert airflow.sdk
    print(json.dumps({"errors": bag.import_errors, "dags": dags, "heavy": loaded}))


if __name__ == "__main__":
    main()
