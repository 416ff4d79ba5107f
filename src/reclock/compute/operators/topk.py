"""TopK: of each group the rows from ``offset`` on, at most ``limit``, in a definite order."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.compute.operators.groups import regrouped
from reclock.compute.operators.rules import DeltaStep, Rendering, columns, delta, demand, every, has_delta, origin, snapshot
from reclock.plan.relational import Ordering, TopK


def order_by(order: Sequence[Ordering], width: int) -> str:
    """``order``, then ties by all remaining columns, ascending, so that equal inputs come out equally."""
    named = [ordering.index for ordering in order]
    whole = [*order, *(Ordering(index) for index in range(width) if index not in named)]
    terms = [f"c{o.index} {'DESC' if o.is_descending else 'ASC'} NULLS {'FIRST' if o.nulls_first else 'LAST'}" for o in whole]
    return ", ".join(terms)


def limited(limit: int | None, offset: int) -> str:
    return (f" LIMIT {limit:d}" if limit is not None else "") + (f" OFFSET {offset:d}" if offset else "")


@snapshot.register
def _(node: TopK, rendering: Rendering, inputs: Sequence[str]) -> str:
    order = order_by(node.order, len(node.desc))
    if not node.group_by:
        ordered = f" ORDER BY {order}" if order else ""
        return f"SELECT * FROM (SELECT * FROM {inputs[0]}{ordered}{limited(node.limit, node.offset)})"
    groups = ", ".join(f"c{index}" for index in node.group_by)
    ranked = f"SELECT *, row_number() OVER (PARTITION BY {groups} ORDER BY {order}) AS place FROM {inputs[0]}"
    last = f" AND place <= {node.offset + node.limit:d}" if node.limit is not None else ""
    return f"SELECT {', '.join(columns(node))} FROM ({ranked}) WHERE place > {node.offset:d}{last}"


@delta.register
def _(node: TopK, step: DeltaStep) -> str:
    merge = None if node.offset else lambda rows: snapshot(node, step.rendering, [rows])
    return regrouped(node, step, [node.group_by], node.group_by, merge)


@has_delta.register
def _(node: TopK, is_shown: bool) -> bool:
    return bool(node.group_by) or (is_shown and not node.offset)


@origin.register
def _(node: TopK, column: int) -> tuple[int | None, ...]:
    return (column if column in node.group_by else None,)


@demand.register
def _(node: TopK, wanted: frozenset[int]) -> tuple[frozenset[int], ...]:
    return (every(node),)
