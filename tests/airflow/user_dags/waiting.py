"""A DAG that waits for a table to be complete, by what it is asked for in its run."""

from __future__ import annotations

from airflow.sdk import dag

from reclock.airflow.sensors import ReclockSqlSensor


@dag(schedule="@once", is_paused_upon_creation=False)
def waiting() -> None:
    query = "SELECT count(*) = $1, sum(n) FROM waited_for"
    ReclockSqlSensor(task_id="enough", sql=query, parameters=[2], poke_interval=0.5)


waiting()
