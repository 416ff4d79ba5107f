"""Buckets of the rows of a window, where a column says how many there are."""

from __future__ import annotations

from reclock.compute.operators.rules import columns, select_list
from reclock.compute.operators.topk import order_by
from reclock.plan.functions.sql_names import type_sql
from reclock.plan.relational import Window, WindowFunction

_BUCKET = """CASE
WHEN buckets <= 0 THEN buckets
WHEN rows < buckets THEN place + 1
WHEN place < larger * (size + 1) THEN place {div} (size + 1) + 1
ELSE larger + (place - larger * (size + 1)) {div} size + 1 END"""
"""The first ``larger`` buckets have one row more than the ``size`` of the others."""


def row_buckets(node: Window, engine: str, input: str) -> str:
    """The input's rows, each followed by its bucket, as PostgreSQL's ``ntile`` numbers them: the
    first row of the group whose number of buckets is not NULL says how many there are. Rows before
    it have NULL. If its number is not positive, each row from there on has that number."""
    assert isinstance(node.function, WindowFunction)
    number, div = f"c{node.function.row_offset}", "DIV" if engine == "spark" else "//"
    groups = [f"c{index}" for index in dict.fromkeys(node.group_by)]
    order = f"ORDER BY {order_by(node.order, node.input.desc.types, engine) or number}"

    def over(*keys: str, order: str = "") -> str:
        partition = f"PARTITION BY {', '.join(keys)} " if keys else ""
        return f"OVER ({partition}{order})"

    until = over(*groups, order=f"{order} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW")
    counted = (
        f"SELECT *, count({number}) {until} > 0 AS is_numbered, count(*) {over(*groups)} AS rows "
        f"FROM {input}"
    )
    numbered = over(*groups, "is_numbered", order=order)
    placed = (
        f"SELECT *, first_value({number}) {numbered} AS buckets, "
        f"row_number() {numbered} - 1 AS place FROM ({counted}) AS counted"
    )
    sized = (
        f"SELECT *, rows {div} nullif(buckets, 0) AS size, rows % nullif(buckets, 0) AS larger "
        f"FROM ({placed}) AS placed"
    )
    bucket = f"CAST({_BUCKET.format(div=div)} AS {type_sql(engine, node.desc.columns[-1].type)})"
    return f"SELECT {select_list([*columns(node.input), bucket])} FROM ({sized}) AS sized"
