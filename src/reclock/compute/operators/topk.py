"""TopK: of each group the rows from ``offset`` on, at most ``limit``, in a definite order."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.algebra.relations import ScalarType
from reclock.compute.operators.groups import regrouped
from reclock.compute.operators.rules import (
    DeltaStep,
    KeyFilter,
    Rendering,
    columns,
    delta,
    demand,
    every,
    has_delta,
    origin,
    snapshot,
)
from reclock.plan.functions.orders import in_order, sort_key
from reclock.plan.relational import Arrangement, Ordering, TopK


def order_by(
    order: Sequence[Ordering], types: Sequence[ScalarType], engine: str, *, has_ties: bool = False
) -> str:
    """``order``, then ties by all remaining columns, ascending, so that equal inputs come out
    equally.

    ``types`` are those of all columns. Intervals are ordered by their spans. ``has_ties``: peers
    are not ordered. Among ties, ranges and documents are ordered as texts.
    """
    terms = []
    for ordering in order:
        column = f"c{ordering.index}"
        terms.append(term(sort_key(engine, column, types[ordering.index]), ordering))
    sorted_by = {o.index for o in order if not types[o.index].has_intervals}
    if not has_ties:
        terms += [
            term(_in_any_order(engine, f"c{index}", types[index]), Ordering(index))
            for index in range(len(types))
            if index not in sorted_by
        ]
    return ", ".join(terms)


def _in_any_order(engine: str, column: str, type: ScalarType) -> str:
    return column if type.has_order_key else in_order(engine, column, type)


def term(sql: str, ordering: Ordering) -> str:
    direction = "DESC" if ordering.is_descending else "ASC"
    return f"{sql} {direction} NULLS {'FIRST' if ordering.nulls_first else 'LAST'}"


def limited(limit: int | None, offset: int) -> str:
    return (f" LIMIT {limit:d}" if limit is not None else "") + (
        f" OFFSET {offset:d}" if offset else ""
    )


@snapshot.register
def _(node: TopK, rendering: Rendering, inputs: Sequence[str]) -> str:
    order = order_by(node.order, node.desc.types, rendering.engine)
    if not node.group_by:
        ordered = f" ORDER BY {order}" if order else ""
        return (
            f"SELECT * FROM (SELECT * FROM {inputs[0]}{ordered}{limited(node.limit, node.offset)})"
        )
    groups = ", ".join(f"c{index}" for index in node.group_by)
    ranked = (
        f"SELECT *, row_number() OVER (PARTITION BY {groups} ORDER BY {order}) AS place FROM "
        f"{inputs[0]}"
    )
    last = f" AND place <= {node.offset + node.limit:d}" if node.limit is not None else ""
    return f"SELECT {', '.join(columns(node))} FROM ({ranked}) WHERE place > {node.offset:d}{last}"


@delta.register
def _(node: TopK, step: DeltaStep) -> str:
    merge = None if node.offset else lambda rows: snapshot(node, step.rendering, [rows])
    return regrouped(
        node, step, [node.group_by], node.group_by, merge, lambda rows: _is_among(node, rows)
    )


def _is_among(node: TopK, rows: str) -> str:
    """Whether the row ``i`` of the input is among ``rows`` of the node: others come after these."""
    return KeyFilter(tuple(range(len(node.desc))), rows).condition(columns(node, "i"))


@has_delta.register
def _(node: TopK, is_shown: bool) -> bool:
    is_merged = is_shown and not node.offset
    return bool(node.group_by) or is_merged or isinstance(node.input, Arrangement)


@origin.register
def _(node: TopK, column: int) -> tuple[int | None, ...]:
    return (column if column in node.group_by else None,)


@demand.register
def _(node: TopK, required: frozenset[int]) -> tuple[frozenset[int], ...]:
    return (every(node),)
