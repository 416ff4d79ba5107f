"""Runs `reclock_backfill` in this process, once for each logical date and configuration given, and
prints what came of the tasks; then what the timetable answers the scheduler, and a backfill."""

import json
import os
import sys
from typing import Any


def main(asked_runs: list[tuple[str, dict[str, Any]]]) -> None:
    from airflow.dag_processing.dagbag import DagBag
    from airflow.sdk.timezone import parse
    from airflow.timetables.base import TimeRestriction
    from airflow.utils.session import create_session

    runs = []
    for date, conf in asked_runs:
        dag = DagBag(os.environ["AIRFLOW__CORE__DAGS_FOLDER"]).dags["reclock_backfill"]
        run = dag.test(logical_date=parse(date), run_conf=conf)
        with create_session() as session:
            tasks = {
                f"{task.task_id}[{task.rendered_map_index or task.map_index}]"
                if task.map_index >= 0
                else task.task_id: str(task.state)
                for task in run.get_task_instances(session=session)
            }
        runs.append({"state": str(run.state), "tasks": tasks})
    timetable = dag.timetable
    requested = {
        name: timetable.next_dagrun_info(
            last_automated_data_interval=None,
            restriction=TimeRestriction(parse(asked_runs[0][0]), None, catchup=catchup),
        )
        for name, catchup in (("scheduler", False), ("backfill", True))
    }
    found = {name: info and info.logical_date.isoformat() for name, info in requested.items()}
    print("\n" + json.dumps({"runs": runs, "asked": found}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
