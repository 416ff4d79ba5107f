"""Ticks when an upstream has news, in place of a schedule: the triggerer asks the upstreams of all
sources for news every 15 seconds.

It needs a connection ``reclock_default`` with the home of the environment, and a triggerer. News
that comes while a run is at work causes the next run.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import Asset, AssetWatcher, dag

from reclock.airflow.operators import ReclockTickOperator
from reclock.airflow.triggers import ReclockUpstreamTrigger

WATCHER = AssetWatcher(name="upstreams", trigger=ReclockUpstreamTrigger())
NEWS = Asset("reclock_upstream_news", watchers=[WATCHER])


@dag(schedule=[NEWS], max_active_runs=1)
def tick_on_news() -> None:
    ReclockTickOperator(task_id="tick", retries=3, retry_delay=timedelta(seconds=30))


tick_on_news()
