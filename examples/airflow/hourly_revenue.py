"""A DAG of your own: each hour, revenue by customer, from two relations at one time.

It waits until both relations are published beyond the hour. Then it reads them `AS OF` the hour, so
that a run that is cleared reads the same rows again.

    airflow connections add reclock_default --conn-type reclock --conn-extra '{"home": "/data/lake"}'
    airflow dags unpause hourly_revenue
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import dag, task

from reclock.airflow.operators import ReclockSqlOperator
from reclock.airflow.sensors import ReclockPublishedSensor


@dag(schedule="0 * * * *", catchup=False, doc_md=__doc__)
def hourly_revenue() -> None:
    published = ReclockPublishedSensor(
        task_id="wait_for_the_hour",
        relations=["orders", "customers"],
        timeout=timedelta(hours=1),
    )
    revenue = ReclockSqlOperator(
        task_id="revenue",
        sql="""
            SELECT c.name, sum(o.amount) AS amount
            FROM orders AS o JOIN customers AS c ON c.id = o.customer
            GROUP BY c.name ORDER BY amount DESC, c.name
        """,
        as_of="{{ ti.xcom_pull(task_ids='wait_for_the_hour') }}",
    )

    @task
    def report(rows: list[list[object]]) -> str:
        return "\n".join(f"{name}: {amount}" for name, amount in rows)

    published >> revenue
    report(revenue.output)


hourly_revenue()
