"""A DAG whose tasks read and write, for what OpenLineage hears of it."""

from __future__ import annotations

from airflow.sdk import dag

from reclock.airflow.operators import ReclockRefreshOperator, ReclockTickOperator


@dag(schedule="@once", is_paused_upon_creation=False)
def lineage() -> None:
    tick = ReclockTickOperator(task_id="tick", sources=["a"])
    tick >> ReclockRefreshOperator(task_id="refresh")


lineage()
