"""Window: the position of each row in its group, a value of a nearby row, or an aggregate over a
frame."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.algebra.intervals import Interval
from reclock.algebra.relations import (
    BIGINT,
    DATE,
    DOUBLE,
    MAX_PRECISION,
    TIMESTAMP,
    ScalarType,
    numeric,
)
from reclock.compute.expressions.sql import aggregate_to_sql
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
from reclock.compute.operators.topk import order_by, term
from reclock.compute.operators.window_buckets import row_buckets
from reclock.compute.operators.window_suffixes import suffix_changes
from reclock.errors import UnsupportedSql
from reclock.plan.functions.sql_names import literal, type_sql
from reclock.plan.relational import Arrangement, Frame, FrameOffset, Window, WindowFunction
from reclock.plan.scalars import Aggregate


@snapshot.register
def _(node: Window, rendering: Rendering, inputs: Sequence[str]) -> str:
    input_columns, function = columns(node.input), node.function
    if isinstance(function, WindowFunction) and function.counts_buckets_by_row:
        return row_buckets(node, rendering.engine, inputs[0])
    return (
        f"SELECT {select_list([*input_columns, _function_sql(node, rendering.engine, input_columns)])} "
        f"FROM {inputs[0]}"
    )


def _function_sql(node: Window, engine: str, input_columns: Sequence[str]) -> str:
    function, frame, types = node.function, node.frame, node.input.desc.types
    if engine == "spark" and frame.excludes:
        raise UnsupportedSql(f"EXCLUDE {frame.excludes} is not computed by Spark")
    match function:
        case WindowFunction(row_offset=int()) if engine == "spark":
            raise UnsupportedSql(f"{function.name} by a column's offset is not computed by Spark")
        case Aggregate():
            is_whole = not frame.excludes and (
                (frame.start is None and frame.end is None) or (frame.is_range and not node.order)
            )
            return aggregate_to_sql(
                function,
                engine,
                input_columns,
                _over(node.group_by, *(() if is_whole else _framed(node, engine))),
            )
        case WindowFunction("rank" | "dense_rank" | "percent_rank" | "cume_dist"):
            over = _over(node.group_by, order_by(node.order, types, engine, has_ties=True) or "1")
        case WindowFunction("first_value" | "last_value" | "nth_value") if (
            frame.excludes
            or frame.has_distance
            or (frame.is_range and function.name == "nth_value")
        ):
            return _of_ordered_frame(node, function, engine)
        case WindowFunction("first_value") if frame.is_range and frame.start == 0:
            over = _over_alike(node, engine)
        case WindowFunction("last_value") if frame.is_range and frame.end == 0:
            over = _over_alike(node, engine)
        case WindowFunction("nth_value") if engine == "spark" and frame.start is not None:
            raise UnsupportedSql("nth_value over such a frame is not computed by Spark")
        case WindowFunction("first_value" | "last_value" | "nth_value"):
            over = _over(
                node.group_by, order_by(node.order, types, engine), _by_rows(frame, engine)
            )
        case _:
            over = _over(node.group_by, order_by(node.order, types, engine) or "1")
    called = _call(function) + over
    return (
        called
        if function.value is not None
        else f"CAST({called} AS {type_sql(engine, node.desc.columns[-1].type)})"
    )


def _of_ordered_frame(node: Window, function: WindowFunction, engine: str) -> str:
    """A value of a row of a frame in which peers are not ordered: the function orders them."""
    total = order_by(node.order, node.input.desc.types, engine)
    if engine == "duckdb":
        number = f", {_offset(function)}" if function.name == "nth_value" else ""
        called = f"{function.name}(c{function.value}{number} ORDER BY {total})"
        return called + _over(node.group_by, *_framed(node, engine))
    if function.name != "nth_value" or node.frame.has_distance or node.frame.start is not None:
        raise UnsupportedSql(f"{function.name} over such a frame is not computed by Spark")
    rows = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
    called = _call(function) + _over(node.group_by, total, rows)
    framed = _framed(node, engine) if node.order else ()
    count = f"count(*){_over(node.group_by, *framed)}"
    return f"CASE WHEN {count} >= {function.offset:d} THEN {called} END"


def _framed(node: Window, engine: str) -> tuple[str, str]:
    """The order and the frame. Of a frame of rows, the order is total."""
    frame, types = node.frame, node.input.desc.types
    if not frame.has_distance:
        order = order_by(node.order, types, engine, has_ties=frame.is_range)
        return order, _frame_sql(frame, engine)
    [key] = node.order
    of = _distance_type(types[key.index])
    column = f"CAST(c{key.index} AS {type_sql(engine, of)})"
    return term(column, key), _frame_sql(frame, engine, of)


def _distance_type(type: ScalarType) -> ScalarType:
    """The type in which an engine computes the ends of a frame, so that none overflows."""
    if type.is_moment:
        return TIMESTAMP if type == DATE else type
    if type.is_float:
        return DOUBLE
    return numeric(MAX_PRECISION, 0) if type.is_integer else type


def _over(group_by: Sequence[int], order: str = "", rows: str = "") -> str:
    groups = (
        f"PARTITION BY {', '.join(f'c{index}' for index in dict.fromkeys(group_by))}"
        if group_by
        else ""
    )
    return f" OVER ({' '.join(part for part in (groups, order and f'ORDER BY {order}', rows) if part)})"


def _over_alike(node: Window, engine: str) -> str:
    """The peers of the row (those equal in the order), ordered by all columns."""
    peers = [*node.group_by, *(key.index for key in node.order)]
    order = order_by((), node.input.desc.types, engine)
    return _over(peers, order, _frame_sql(Frame(None, None, is_range=False), engine))


def _by_rows(frame: Frame, engine: str) -> str:
    """A frame of rows with the same first row, or the same last row."""
    rows = Frame(frame.start, None if frame.is_range else frame.end, is_range=False)
    return _frame_sql(rows, engine)


def _frame_sql(frame: Frame, engine: str, type: ScalarType = BIGINT) -> str:
    """``type`` is that of the offsets, if they are distances of numbers."""
    start, end = (
        "UNBOUNDED" if bound is None else _bound(bound, engine, type)
        for bound in (frame.start, frame.end)
    )
    start += " PRECEDING" if frame.start is None else ""
    end += " FOLLOWING" if frame.end is None else ""
    excluded = f" EXCLUDE {frame.excludes}" if frame.excludes else ""
    return f"{'RANGE' if frame.is_range else 'ROWS'} BETWEEN {start} AND {end}{excluded}"


def _bound(offset: FrameOffset, engine: str, type: ScalarType) -> str:
    if not offset:
        return "CURRENT ROW"
    if isinstance(offset, Interval):
        if engine == "spark":
            raise UnsupportedSql("a frame of distances in time is not computed by Spark")
        is_before = offset.span_us < 0
        months, days, us = -offset if is_before else offset
        span = f"(to_months({months}) + to_days({days}) + to_microseconds({us}))"
        return f"{span} {_SIDES[is_before]}"
    amount = f"{abs(offset):d}" if type == BIGINT else literal(engine, abs(offset), type)
    return f"{amount} {_SIDES[offset < 0]}"


_SIDES = {True: "PRECEDING", False: "FOLLOWING"}


def _call(function: WindowFunction) -> str:
    arguments = [] if function.value is None else [f"c{function.value}"]
    if function.name in ("lag", "lead", "ntile", "nth_value"):
        arguments.append(_offset(function))
        arguments += [] if function.default is None else [f"c{function.default}"]
    return f"{function.name}({', '.join(arguments)})"


def _offset(function: WindowFunction) -> str:
    is_constant = function.row_offset is None
    return f"{function.offset:d}" if is_constant else f"c{function.row_offset}"


@delta.register
def _(node: Window, step: DeltaStep) -> str:
    return suffix_changes(node, step) or regrouped(node, step, [node.group_by], node.group_by)


@has_delta.register
def _(node: Window, is_shown: bool) -> bool:
    return bool(node.group_by) or isinstance(node.input, Arrangement)


@origin.register
def _(node: Window, column: int) -> tuple[int | None, ...]:
    return (column if column in node.group_by else None,)


@demand.register
def _(node: Window, required: frozenset[int]) -> tuple[frozenset[int], ...]:
    return (every(node.input),)
