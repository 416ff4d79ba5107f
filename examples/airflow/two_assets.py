"""Starts when two relations have changed, and reads both at one time: the rows that every retry
reads.

It needs a connection ``reclock_default``, the relations ``orders`` and ``customers``, and a
schedule for ``reclock_tick``.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import dag, task

from reclock.airflow.assets import relation_asset
from reclock.airflow.hooks import ReclockHook

ORDERS, CUSTOMERS = relation_asset("orders"), relation_asset("customers")

REVENUE = """SELECT c.name, sum(o.amount)
FROM orders AS o JOIN customers AS c ON c.id = o.customer
GROUP BY c.name ORDER BY c.name"""


@dag(schedule=[ORDERS, CUSTOMERS])
def two_assets() -> None:
    @task
    def revenue(triggering_asset_events: Any) -> list[list[str]]:
        """Of the newest time at which both changes can be read."""
        events = [*triggering_asset_events[ORDERS], *triggering_asset_events[CUSTOMERS]]
        at = max(event.extra["upper"] for event in events) - 1
        with ReclockHook().get_client() as client:
            return [[str(value) for value in row] for row in client.sql(REVENUE, as_of=at).rows()]

    revenue()


two_assets()
