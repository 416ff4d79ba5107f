"""Number: the place of each row among those of its group."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.compute.operators.groups import regrouped
from reclock.compute.operators.rules import Rendering, Step, columns, delta, demand, every, has_delta, origin, select_list, snapshot
from reclock.compute.operators.topk import order_by
from reclock.compute.plan import Number


@snapshot.register
def _(node: Number, rendering: Rendering, inputs: Sequence[str]) -> str:
    groups = f"PARTITION BY {', '.join(f'c{index}' for index in node.group_by)} " if node.group_by else ""
    order = order_by(node.order, len(node.input.desc)) or "1"
    place = f"CAST(row_number() OVER ({groups}ORDER BY {order}) AS BIGINT)"
    return f"SELECT {select_list([*columns(node.input), place])} FROM {inputs[0]}"


@delta.register
def _(node: Number, step: Step) -> str:
    return regrouped(node, step, [node.group_by], node.group_by)


@has_delta.register
def _(node: Number, is_shown: bool) -> bool:
    return bool(node.group_by)


@origin.register
def _(node: Number, columns: tuple[int, ...]) -> tuple[tuple[int, ...] | None, ...]:
    return (columns if set(columns) <= set(node.group_by) else None,)


@demand.register
def _(node: Number, wanted: frozenset[int]) -> tuple[frozenset[int], ...]:
    return (every(node.input),)
