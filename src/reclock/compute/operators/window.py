"""Window: the place of each row among those of its group, or what stands near it there."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.compute.operators.groups import regrouped
from reclock.compute.operators.rules import Rendering, Step, columns, delta, demand, every, has_delta, origin, select_list, snapshot
from reclock.compute.operators.topk import order_by
from reclock.compute.plan import Window, WindowFunction


@snapshot.register
def _(node: Window, rendering: Rendering, inputs: Sequence[str]) -> str:
    function, width = node.function, len(node.input.desc)
    groups = f"PARTITION BY {', '.join(f'c{index}' for index in node.group_by)} " if node.group_by else ""
    shares_places = function.name in ("rank", "dense_rank")
    order = order_by(node.order, 0 if shares_places else width) or "1"
    said = f"{_call(function)} OVER ({groups}ORDER BY {order})"
    if function.value is None:
        said = f"CAST({said} AS BIGINT)"
    return f"SELECT {select_list([*columns(node.input), said])} FROM {inputs[0]}"


def _call(function: WindowFunction) -> str:
    arguments = [] if function.value is None else [f"c{function.value}"]
    if function.name in ("lag", "lead"):
        arguments.append(f"{function.offset:d}")
        arguments += [] if function.default is None else [f"c{function.default}"]
    return f"{function.name}({', '.join(arguments)})"


@delta.register
def _(node: Window, step: Step) -> str:
    return regrouped(node, step, [node.group_by], node.group_by)


@has_delta.register
def _(node: Window, is_shown: bool) -> bool:
    return bool(node.group_by)


@origin.register
def _(node: Window, columns: tuple[int, ...]) -> tuple[tuple[int, ...] | None, ...]:
    return (columns if set(columns) <= set(node.group_by) else None,)


@demand.register
def _(node: Window, wanted: frozenset[int]) -> tuple[frozenset[int], ...]:
    return (every(node.input),)
