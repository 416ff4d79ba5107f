"""DAGs of a user of the provider. The connection `reclock_default` opens a home, `server` a
server."""

from __future__ import annotations

from typing import Any

from airflow.providers.common.sql.operators.sql import SQLExecuteQueryOperator
from airflow.sdk import dag, task

from reclock.airflow.operators import (
    ReclockRefreshOperator,
    ReclockSqlOperator,
    ReclockTickOperator,
)
from reclock.airflow.sensors import (
    ReclockCaughtUpSensor,
    ReclockChecksSensor,
    ReclockPublishedSensor,
    ReclockSqlSensor,
)

VALUES = """
    SELECT true, 2::bigint, 'x', NULL, ARRAY[1, 2], date '2026-11-21', interval '1 day',
      timestamptz '2026-11-21 10:00:00.123456+00', timestamp '2026-11-21 10:00:00',
      12345678901234567890.10::numeric(30, 2), '\\x0102'::bytea, $1
"""


@task
def described(rows: list[list[Any]]) -> list[list[str]]:
    return [[f"{type(value).__name__} {value}" for value in row] for row in rows]


@dag(schedule=None)
def work() -> None:
    tick = ReclockTickOperator(task_id="tick", sources="a")
    refresh = ReclockRefreshOperator(task_id="refresh", clusters="default")
    counted = ReclockSqlOperator(
        task_id="counted",
        sql="SELECT count(*) FROM a WHERE v >= $1; ",
        parameters=["{{ 1 + 1 }}"],
        as_of="{{ ti.xcom_pull(task_ids='tick')['upper'] - 1 }}",
    )
    created = ReclockSqlOperator(task_id="created", sql="CREATE TABLE made (n integer)")
    common = SQLExecuteQueryOperator(
        task_id="common", conn_id="reclock_default", sql="SELECT %(n)s + 1", parameters={"n": 1}
    )
    values = ReclockSqlOperator(task_id="values", sql=VALUES, parameters=["it's"])
    tick >> refresh >> counted >> created >> common >> described(values.output)


@dag(schedule=None)
def wait() -> None:
    published = ReclockPublishedSensor(task_id="published", relations=["a", "v"], poke_interval=0.5)
    query = "SELECT count(*) >= $1, count(*) FROM a"
    enough = ReclockSqlSensor(
        task_id="enough", sql=query, parameters=[3], poke_interval=0.5, reclock_conn_id="server"
    )
    poked = ReclockPublishedSensor(
        task_id="poked", relations="a", deferrable=False, poke_interval=0.5
    )
    published >> enough >> poked


@dag(schedule=None)
def catch_up() -> None:
    caught_up = ReclockCaughtUpSensor(task_id="caught_up", sources="a", poke_interval=0.5)
    checked = ReclockChecksSensor(
        task_id="checked",
        sources=["a"],
        since="{{ ti.xcom_pull(task_ids='caught_up') - 1 }}",
        time="{{ ti.xcom_pull(task_ids='caught_up') }}",
        reclock_conn_id="server",
    )
    counted = ReclockSqlOperator(
        task_id="counted",
        sql="SELECT count(*) FROM a",
        as_of="{{ ti.xcom_pull(task_ids='caught_up') }}",
    )
    caught_up >> checked >> counted


@dag(schedule=None)
def fail() -> None:
    later = "2100-01-01T00:00:00+00:00"
    options: dict[str, Any] = {"time": later, "timeout": 3, "poke_interval": 0.5}
    in_worker = options | {"deferrable": False}  # `airflow dags test` has no timeout of triggers
    ReclockPublishedSensor(task_id="stalled", relations="broken", **options)
    ReclockPublishedSensor(task_id="late", relations="a", **in_worker)
    ReclockPublishedSensor(task_id="skipped", relations="a", soft_fail=True, **in_worker)
    ReclockPublishedSensor(task_id="unknown", relations="nowhere", **options)
    ReclockPublishedSensor(task_id="no_time", relations="a", time="soon")
    ReclockCaughtUpSensor(task_id="never_caught_up", sources="broken", **options)
    ReclockCaughtUpSensor(task_id="no_source", sources="v", **options)
    ReclockChecksSensor(task_id="stalled_by_a_check", sources="broken", **options)
    now = "{{ dag_run.run_after }}"
    moved = ReclockSqlOperator(task_id="moved", sql="SELECT count(*) FROM waived", as_of=now)
    of_waived: dict[str, Any] = {"sources": "waived", "since": 0, "time": now}
    moved >> ReclockChecksSensor(task_id="waived", **of_waived)
    moved >> ReclockChecksSensor(task_id="waived_but_not_asked_for", checks="another", **of_waived)
    ReclockTickOperator(task_id="tick")
    ReclockTickOperator(task_id="tick_of_a_server", reclock_conn_id="server")
    ReclockRefreshOperator(task_id="refresh_of_a_server", reclock_conn_id="server")
    many = "SELECT * FROM generate_series(1, 11)"
    ReclockSqlOperator(task_id="many", sql=many, max_rows=10)
    ReclockSqlOperator(task_id="wrong", sql="SELECT colour FROM a")


work()
wait()
catch_up()
fail()
