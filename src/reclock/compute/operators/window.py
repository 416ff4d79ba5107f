"""Window: the position of each row in its group, a value of a nearby row, or an aggregate over a
frame."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.compute.expressions import aggregate_to_sql
from reclock.compute.operators.groups import regrouped
from reclock.compute.operators.rules import (
    DeltaStep,
    Rendering,
    columns,
    delta,
    demand,
    every,
    has_delta,
    origin,
    select_list,
    snapshot,
)
from reclock.compute.operators.topk import order_by
from reclock.plan.functions.sql_names import type_sql
from reclock.plan.relational import Frame, Window, WindowFunction
from reclock.plan.scalars import Aggregate


@snapshot.register
def _(node: Window, rendering: Rendering, inputs: Sequence[str]) -> str:
    input_columns = columns(node.input)
    return (
        f"SELECT {select_list([*input_columns, _function_sql(node, rendering.engine, input_columns)])} "
        f"FROM {inputs[0]}"
    )


def _function_sql(node: Window, engine: str, input_columns: Sequence[str]) -> str:
    function, frame, types = node.function, node.frame, node.input.desc.types
    match function:
        case Aggregate():
            is_whole = (frame.start is None and frame.end is None) or (
                frame.is_range and not node.order
            )
            order = order_by(node.order, types, engine, has_ties=frame.is_range)
            return aggregate_to_sql(
                function,
                engine,
                input_columns,
                _over(node.group_by, *(() if is_whole else (order, frame))),
            )
        case WindowFunction("rank" | "dense_rank" | "percent_rank" | "cume_dist"):
            over = _over(node.group_by, order_by(node.order, types, engine, has_ties=True) or "1")
        case WindowFunction("first_value") if frame.is_range and frame.start == 0:
            over = _over_alike(node, engine)
        case WindowFunction("last_value") if frame.is_range and frame.end == 0:
            over = _over_alike(node, engine)
        case WindowFunction("first_value" | "last_value"):
            over = _over(node.group_by, order_by(node.order, types, engine), _by_rows(frame))
        case _:
            over = _over(node.group_by, order_by(node.order, types, engine) or "1")
    called = _call(function) + over
    return (
        called
        if function.value is not None
        else f"CAST({called} AS {type_sql(engine, node.desc.columns[-1].type)})"
    )


def _over(group_by: Sequence[int], order: str = "", frame: Frame | None = None) -> str:
    groups = (
        f"PARTITION BY {', '.join(f'c{index}' for index in dict.fromkeys(group_by))}"
        if group_by
        else ""
    )
    rows = (
        ""
        if frame is None
        else f"{'RANGE' if frame.is_range else 'ROWS'} BETWEEN {_start(frame)} AND {_end(frame)}"
    )
    return f" OVER ({' '.join(part for part in (groups, order and f'ORDER BY {order}', rows) if part)})"


def _over_alike(node: Window, engine: str) -> str:
    """The peers of the row (those equal in the order), ordered by all columns."""
    peers = [*node.group_by, *(key.index for key in node.order)]
    order = order_by((), node.input.desc.types, engine)
    return _over(peers, order, Frame(None, None, is_range=False))


def _by_rows(frame: Frame) -> Frame:
    """A frame of rows with the same first row, or the same last row."""
    return Frame(frame.start, None if frame.is_range else frame.end, is_range=False)


def _start(frame: Frame) -> str:
    return "UNBOUNDED PRECEDING" if frame.start is None else _bound(frame.start)


def _end(frame: Frame) -> str:
    return "UNBOUNDED FOLLOWING" if frame.end is None else _bound(frame.end)


def _bound(offset: int) -> str:
    return (
        "CURRENT ROW"
        if offset == 0
        else f"{abs(offset):d} {'PRECEDING' if offset < 0 else 'FOLLOWING'}"
    )


def _call(function: WindowFunction) -> str:
    arguments = [] if function.value is None else [f"c{function.value}"]
    if function.name in ("lag", "lead", "ntile"):
        arguments.append(f"{function.offset:d}")
        arguments += [] if function.default is None else [f"c{function.default}"]
    return f"{function.name}({', '.join(arguments)})"


@delta.register
def _(node: Window, step: DeltaStep) -> str:
    return regrouped(node, step, [node.group_by], node.group_by)


@has_delta.register
def _(node: Window, is_shown: bool) -> bool:
    return bool(node.group_by)


@origin.register
def _(node: Window, column: int) -> tuple[int | None, ...]:
    return (column if column in node.group_by else None,)


@demand.register
def _(node: Window, wanted: frozenset[int]) -> tuple[frozenset[int], ...]:
    return (every(node.input),)
