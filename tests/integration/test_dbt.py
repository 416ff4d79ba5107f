"""dbt-postgres over the SQL port: a project is built, and built again after its data has
changed."""

from __future__ import annotations

import json
from collections.abc import Callable

from fixtures.dbt import Dbt
from fixtures.server import SqlServer

ORDERS = "id,customer,amount\n1,ada,10.50\n2,bob,20.00\n3,ada,5.25\n"
PROJECT = {
    "models/paid.sql": (
        "{{ config(materialized='view') }} select id, customer, amount from {{ ref('orders') "
        "}} where amount > 0"
    ),
    "models/totals.sql": """{{ config(materialized='table', indexes=[{'columns': ['customer']}]) }}
        select customer, count(*) as orders, sum(amount) as amount from {{ ref('paid') }} group by customer""",
    "models/appended.sql": """{{ config(materialized='incremental') }} select id, amount from {{ ref('orders') }}
        {% if is_incremental() %} where id > (select max(id) from {{ this }}) {% endif %}""",
    "models/replaced.sql": """{{ config(materialized='incremental', unique_key='id', on_schema_change='append_new_columns') }}
        select id, amount, {{ is_incremental() | int }} as round from {{ ref('orders') }}
        {% if is_incremental() %} where id > 1 {% endif %}""",
    "models/doubled.sql": """{{ config(materialized='incremental', unique_key=['id', 'customer'],
        incremental_strategy='delete+insert') }} select id, customer, amount * 2 as amount from {{ ref('paid') }}""",
    "models/named.sql": (
        "{{ config(materialized='ephemeral') }} select distinct customer from {{ ref('orders') }}"
    ),
    "models/people.sql": "select customer from {{ ref('named') }}",
    "models/schema.yml": """
models:
  - name: paid
    description: what was paid
    columns:
      - name: id
        description: the number of the order
        data_tests: [unique, not_null, {relationships: {arguments: {to: ref('orders'), field: id}}}]
      - name: customer
        data_tests: [{accepted_values: {arguments: {values: [ada, bob, cy]}}}]
""",
    "snapshots/history.yml": """
snapshots:
  - name: history
    relation: ref('orders')
    config: {unique_key: id, strategy: check, check_cols: [amount]}
""",
    "tests/whole.sql": """select 1 as wrong where (select sum(amount) from {{ ref('totals') }}) <>
        (select sum(amount) from {{ ref('orders') }})""",
}
NODES = {
    "orders",
    "paid",
    "totals",
    "appended",
    "replaced",
    "doubled",
    "people",
    "history",
    "whole",
}


def test_a_project_is_built_and_built_again(
    dbt: Callable[[str], Dbt], sql_server: SqlServer
) -> None:
    project = dbt("shop")
    for path, text in PROJECT.items():
        project.write(path, text)
    for orders in (ORDERS, ORDERS.replace("2,bob,20.00", "2,bob,25.00") + "4,cy,7.00\n"):
        project.write("seeds/orders.csv", orders)
        statuses = project.run("build")
        assert statuses.keys() >= NODES
        assert set(statuses.values()) == {"success", "pass"}

    with sql_server.connect() as connection:

        def rows(columns: str, table: str) -> list[tuple[object, ...]]:
            column_rows = connection.execute(
                f"SELECT {columns} FROM shop.{table} ORDER BY 1, 2"
            ).fetchall()
            return [
                tuple(float(v) if v.__class__.__name__ == "Decimal" else v for v in row)
                for row in column_rows
            ]

        assert rows("id, amount", "paid") == [(1, 10.5), (2, 25), (3, 5.25), (4, 7)]
        assert rows("customer, orders, amount", "totals") == [
            ("ada", 2, 15.75),
            ("bob", 1, 25),
            ("cy", 1, 7),
        ]
        assert rows("id, amount", "appended") == [(1, 10.5), (2, 20), (3, 5.25), (4, 7)]
        assert rows("id, amount, round", "replaced") == [
            (1, 10.5, 0),
            (2, 25, 1),
            (3, 5.25, 1),
            (4, 7, 1),
        ]
        assert rows("id, amount", "doubled") == [(1, 21), (2, 50), (3, 10.5), (4, 14)]
        history = rows("id, amount, dbt_valid_to IS NULL", "history")
        assert history == [
            (1, 10.5, True),
            (2, 20, False),
            (2, 25, True),
            (3, 5.25, True),
            (4, 7, True),
        ]
        meeting = (
            "SELECT count(*) FROM shop.history a JOIN shop.history b ON a.dbt_valid_to = "
            "b.dbt_valid_from WHERE a.id = b.id"
        )
        assert connection.execute(meeting).fetchall() == [(1,)]
        assert connection.execute(
            "SELECT count(*) FROM pg_class WHERE relname LIKE '%__dbt_%'"
        ).fetchall() == [(0,)]

    project.run("docs", "generate", "--no-compile")
    catalog = json.loads((project.folder / "target" / "catalog.json").read_text())
    columns = {
        name.split(".")[-1]: list(node["columns"]) for name, node in catalog["nodes"].items()
    }
    assert columns["totals"] == ["customer", "orders", "amount"]
    assert columns["paid"] == ["id", "customer", "amount"]


def test_a_materialized_view_stays_one(dbt: Callable[[str], Dbt], sql_server: SqlServer) -> None:
    """dbt drops the indexes that it did not ask for, and refreshes."""
    project = dbt("kept")
    query = "select n % 10 as digit, count(*) as numbers from public.numbers group by 1"
    project.write("models/plain.sql", "{{ config(materialized='materialized_view') }} " + query)
    project.write(
        "models/indexed.sql",
        "{{ config(materialized='materialized_view', indexes=[{'columns': ['digit']}]) }} " + query,
    )
    with sql_server.connect() as connection:
        for _ in range(3):
            assert project.run("run") == {"plain": "success", "indexed": "success"}
            kinds = connection.execute(
                "SELECT name, type FROM mz_objects WHERE name IN ('plain', 'indexed') ORDER BY 1"
            ).fetchall()
            assert kinds == [("indexed", "materialized_view"), ("plain", "materialized_view")]
            assert connection.execute(
                "SELECT numbers FROM kept.plain WHERE digit = 3"
            ).fetchall() == [(100,)]
