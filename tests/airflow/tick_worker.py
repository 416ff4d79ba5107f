"""Runs `reclock_tick` in this process, once for each configuration given, and prints what came of
the tasks and the assets."""

import json
import os
import sys
from typing import Any


def main(confs: list[dict[str, Any]]) -> None:
    from airflow.dag_processing.dagbag import DagBag
    from airflow.models.asset import AssetEvent, AssetModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    runs = []
    for conf in confs:
        # loaded anew for each run: the parameters of one would be seen by the next
        dag = DagBag(os.environ["AIRFLOW__CORE__DAGS_FOLDER"]).dags["reclock_tick"]
        run = dag.test(run_conf=conf)
        with create_session() as session:
            tasks = {
                f"{task.task_id}[{task.rendered_map_index or task.map_index}]"
                if task.map_index >= 0
                else task.task_id: str(task.state)
                for task in run.get_task_instances(session=session)
            }
            events = session.execute(
                select(AssetModel.uri, AssetEvent.extra)
                .join(AssetEvent, AssetEvent.asset_id == AssetModel.id)
                .where(AssetEvent.source_run_id == run.run_id)
                .where(AssetModel.name != "reclock://announced")
            )
            runs.append(
                {
                    "run_id": run.run_id,
                    "state": str(run.state),
                    "tasks": tasks,
                    "assets": dict(map(tuple, events)),
                }
            )
    print("\n" + json.dumps(runs))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
