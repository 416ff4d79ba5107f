"""A DAG that starts when new rows of a relation are published, and reads them."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Asset, AssetWatcher, dag, task

from reclock.airflow.triggers import ReclockPublishedTrigger

trigger = ReclockPublishedTrigger(relations="watched", poke_interval=0.5)
watched = Asset("watched", watchers=[AssetWatcher(name="watched", trigger=trigger)])


@dag(schedule=[watched], is_paused_upon_creation=False)
def react() -> None:
    @task
    def payloads(triggering_asset_events: Any) -> list[Any]:
        events = triggering_asset_events[watched]
        return [event.extra["payload"] for event in events]

    payloads()


react()
