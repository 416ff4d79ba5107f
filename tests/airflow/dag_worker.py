"""Runs a DAG in this process, as `airflow dags test` does, and prints its tasks' states and
results."""

import json
import sys


def main(folder: str, dag_id: str) -> None:
    from airflow.dag_processing.dagbag import DagBag

    bag = DagBag(folder)
    assert not bag.import_errors, bag.import_errors
    run = bag.dags[dag_id].test()
    tasks = run.get_task_instances()
    pulled = {
        task.task_id: task.xcom_pull(task_ids=task.task_id, run_id=run.run_id) for task in tasks
    }
    states = {task.task_id: str(task.state) for task in tasks}
    print(
        "\n"
        + json.dumps({"state": str(run.state), "states": states, "results": pulled}, default=str)
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
