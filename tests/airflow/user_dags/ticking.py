"""A DAG that ticks when the upstream of a source has news."""

from __future__ import annotations

from airflow.sdk import Asset, AssetWatcher, dag

from reclock.airflow.operators import ReclockTickOperator
from reclock.airflow.triggers import ReclockUpstreamTrigger

trigger = ReclockUpstreamTrigger(sources="arriving", poke_interval=0.5)
news = Asset("news", watchers=[AssetWatcher(name="arriving", trigger=trigger)])


@dag(schedule=[news], max_active_runs=1, is_paused_upon_creation=False)
def ticking() -> None:
    ReclockTickOperator(task_id="tick", sources=["arriving"])


ticking()
