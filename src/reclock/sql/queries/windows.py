"""Window functions, and aggregates over windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, InvalidOperation
from typing import Any

from sqlglot import exp

from reclock.algebra.intervals import DAY_US, Interval
from reclock.algebra.relations import (
    BIGINT,
    DOUBLE,
    INTEGER,
    INTERVAL,
    SMALLINT,
    TEXT,
    ScalarType,
    TypeName,
    numeric,
)
from reclock.errors import (
    InvalidFrameOffset,
    InvalidWindow,
    TypeMismatch,
    UnknownFunction,
    UnknownObject,
    UnsupportedSql,
)
from reclock.plan.functions import AGGREGATES
from reclock.plan.functions.aggregates import COUNTS
from reclock.plan.functions.domains import IN_DOMAIN
from reclock.plan.relational import Frame, FrameOffset, WindowFunction
from reclock.plan.scalars import Aggregate, Call, Case, Literal
from reclock.sql.names import fold
from reclock.sql.queries.aggregate_calls import (
    COLLECTING_AGGREGATES,
    aggregate,
    collected_argument,
    of_collected,
    reject_clause,
)
from reclock.sql.queries.coercion import expect, unified
from reclock.sql.queries.expressions import (
    ExprContext,
    function_name,
    reject_unsupported,
    scalar,
    typed,
)
from reclock.sql.queries.ordered_sets import ORDERED_SETS
from reclock.sql.queries.overloads import call, is_null, is_open
from reclock.sql.queries.planned import InWindow, Planned, TypedExpr, Untyped
from reclock.sql.syntax.consumption import consume
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.places import at

PLACES = {
    "row_number": BIGINT,
    "rank": BIGINT,
    "dense_rank": BIGINT,
    "percent_rank": DOUBLE,
    "cume_dist": DOUBLE,
    "ntile": INTEGER,
}
"""Functions of a row's position, and their result types."""

WINDOW_FUNCTIONS = (*PLACES, "lag", "lead", "first_value", "last_value", "nth_value")


@scalar.register
def _window(node: exp.Window, context: ExprContext) -> TypedExpr:
    reject_unsupported(node, "this", "partition_by", "order", "spec", "alias", "over")
    if node.args.get("over") not in (None, "OVER"):
        raise UnsupportedSql(f"{to_sql(node)[:80]} is not supported")
    if not context.takes_aggregates or context.clause not in ("SELECT", "ORDER BY", "DISTINCT ON"):
        with at(node):
            raise InvalidWindow(f"window functions are not allowed in {context.clause}")
    partition, order, spec = _defined(node)
    for ordering in order:
        reject_unsupported(ordering, "this", "desc", "nulls_first")
    within = replace(context, clause="a window function")
    of = InWindow(
        WindowFunction("row_number"),
        (),
        tuple(typed(expression, within) for expression in partition),
        tuple(typed(ordering.this, within) for ordering in order),
        tuple(bool(ordering.args.get("desc")) for ordering in order),
        tuple(bool(ordering.args.get("nulls_first")) for ordering in order),
        Frame(),
        BIGINT,
        _counts_groups(spec),
    )
    if spec is not None:
        of = replace(of, frame=_frame(spec, of.order, within))
    called, filter = (
        (node.this.this, node.this.expression.this)
        if isinstance(node.this, exp.Filter)
        else (node.this, None)
    )
    name = function_name(called) if isinstance(called, exp.Anonymous) else ""
    if name in COLLECTING_AGGREGATES:
        argument = collected_argument(name, called.expressions)
        collected = _aggregated("array_agg", [argument], order, filter, of, within)
        return of_collected(name, collected)
    if name in AGGREGATES and name not in ORDERED_SETS:
        return _aggregated(name, called.expressions, order, filter, of, within)
    if name not in WINDOW_FUNCTIONS and name not in ORDERED_SETS:
        reject_clause("OVER", called, within)
    if name not in WINDOW_FUNCTIONS or filter is not None:
        known = ", ".join(WINDOW_FUNCTIONS)
        raise UnsupportedSql(
            f"window function {to_sql(node.this)[:80]} is not supported",
            hint=f"there are {known}, and aggregates",
        )
    function, arguments, type = window_call(
        name, [scalar(argument, within) for argument in called.expressions]
    )
    window = replace(of, function=function, arguments=arguments, type=type)
    if name == "ntile" and arguments:
        return _positive(name, window)
    return _over_nothing(name, window) if _is_empty(of.frame) else window


def check_windows(windows: Sequence[exp.Window], context: ExprContext) -> None:
    """Read the windows of the WINDOW clause, among which may be some that no function names. Raises
    ``InvalidWindow``."""
    names = [fold(window.this) for window in windows]
    for i, (name, node) in enumerate(zip(names, windows, strict=True)):
        if name in names[:i]:
            raise InvalidWindow(f'window "{name}" is already defined')
        _check_window(node, context)


def _check_window(node: exp.Window, context: ExprContext) -> None:
    consume(node.this)  # its name, which may be unused
    partition, order, spec = _defined(node)
    within = replace(context, clause="a window definition")
    for expression in partition:
        typed(expression, within)
    keys = [typed(ordering.this, within) for ordering in order]
    if spec is not None:
        _frame(spec, keys, within)


def _aggregated(
    name: str,
    arguments: Sequence[exp.Expr],
    order: Sequence[exp.Ordered],
    filter: exp.Expr | None,
    of: InWindow,
    within: ExprContext,
) -> TypedExpr:
    if arguments and isinstance(arguments[-1], exp.Order):
        raise UnsupportedSql("aggregate ORDER BY is not implemented for window functions")
    call = aggregate(name, arguments, filter, within, order=order)
    if call.is_distinct:
        raise UnsupportedSql("DISTINCT is not supported in an aggregate over a window")
    values = call.arguments
    if call.filter is not None:
        if call.function == "array_agg":
            raise UnsupportedSql("FILTER is not supported in array_agg over a window")
        # no engine takes both: what is filtered away is NULL, which aggregates pass over
        value, *others = values or (Literal(1, INTEGER),)
        only = Case(((call.filter, value),), Literal(None, value.type), value.type)
        values = (only, *others)
    function = Aggregate(call.function, (), call.type)
    window = replace(of, function=function, arguments=values, type=call.type)
    return _over_nothing(name, window) if _is_empty(of.frame) else window


def _defined(
    node: exp.Window,
) -> tuple[Sequence[exp.Expr], Sequence[exp.Ordered], exp.WindowSpec | None]:
    """Partition, order and frame, with those of the window of the WINDOW clause that it names.
    Raises ``UnknownObject``."""
    partition, spec = node.args.get("partition_by") or (), node.args.get("spec")
    order = node.args["order"].expressions if node.args.get("order") else ()
    if node.args.get("alias") is None:
        return partition, order, spec
    name, select = fold(node.args["alias"]), node.find_ancestor(exp.Select)
    for definition in (select.args.get("windows") or ()) if select is not None else ():
        if fold(definition.this) == name and definition is not node:
            base_partition, base_order, base_spec = _defined(definition)
            if partition or (order and base_order) or (base_spec and (order or spec)):
                raise InvalidWindow(f'window "{name}" has that already')
            return base_partition, base_order or order, spec or base_spec
    with at(node.args["alias"]):
        raise UnknownObject("window", name)


def _frame(spec: exp.WindowSpec, order: Sequence[TypedExpr], context: ExprContext) -> Frame:
    reject_unsupported(spec, "kind", "start", "start_side", "end", "end_side", "exclude")
    excluded = spec.args.get("exclude")
    kind = spec.args["kind"].upper()
    sides = [str(spec.args.get(side) or "").upper() for side in ("start_side", "end_side")]
    if kind == "GROUPS" and not order:
        raise InvalidWindow("GROUPS mode requires an ORDER BY clause")
    first, last = spec.args["start"], spec.args["end"]
    if (first, sides[0]) == ("UNBOUNDED", "FOLLOWING"):
        raise InvalidWindow("frame start cannot be UNBOUNDED FOLLOWING")
    if (last, sides[1]) == ("UNBOUNDED", "PRECEDING"):
        raise InvalidWindow("frame end cannot be UNBOUNDED PRECEDING")
    begins, ends = (_SIDES.index(side) for side in sides)
    if begins > ends:
        raise InvalidWindow(
            f"frame starting from {_PLACES[begins]} row cannot end with {_PLACES[ends]} row"
        )
    start, end = (
        _bound(bound, side, which, lambda: _offset_type(kind, order), context)
        for bound, side, which in zip((first, last), sides, ("starting", "ending"), strict=True)
    )
    excludes = excluded.name.upper().replace("NO OTHERS", "") if excluded is not None else ""
    is_whole = start is None and end is None  # rows and ranges are the same then
    is_range = kind != "ROWS" or (is_whole and excludes in ("GROUP", "TIES"))
    if not is_range and excludes in ("GROUP", "TIES"):
        # the order of rows is made total, so that the answer is definite: there are no peers in it
        raise UnsupportedSql(
            f"EXCLUDE {excludes} in a frame of ROWS is not supported", hint="use RANGE or GROUPS"
        )
    return Frame(start, end, is_range=is_range, excludes=excludes)


def _counts_groups(spec: exp.WindowSpec | None) -> bool:
    return spec is not None and bool(spec.args["kind"].upper() == "GROUPS")


def _offset_type(kind: str, order: Sequence[TypedExpr]) -> ScalarType:
    """The type of the frame's offsets. Raises ``InvalidWindow`` and ``UnsupportedSql`` if there can
    be none."""
    if kind != "RANGE":
        return BIGINT
    if len(order) != 1:
        raise InvalidWindow(
            "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column"
        )
    type = order[0].type
    if not type.is_moment and not type.is_number:
        raise UnsupportedSql(f"RANGE with an offset is not supported for column type {type}")
    return (
        INTERVAL
        if type.is_moment
        else BIGINT
        if type.is_integer
        else DOUBLE
        if type.is_float
        else type.unconstrained
    )


_SIDES, _PLACES = ("PRECEDING", "", "FOLLOWING"), ("preceding", "current", "following")


def _is_empty(frame: Frame) -> bool:
    """Whether it ends before it starts, as `1 PRECEDING AND 2 PRECEDING`."""
    if frame.start is None or frame.end is None:
        return False
    if not isinstance(frame.start, Interval) and not isinstance(frame.end, Interval):
        return frame.start > frame.end
    start, end = frame.start or Interval(), frame.end or Interval()
    assert isinstance(start, Interval)
    assert isinstance(end, Interval)
    months, days, us = start + -end
    return months * (28 if months > 0 else 31) * DAY_US + days * DAY_US + us > 0  # in any month


def _over_nothing(name: str, window: InWindow) -> TypedExpr:
    """The value of the function where the frame ends before it starts. It has no row, except where
    every distance from the row's value leads to that value itself: its peers are in the frame
    then."""
    if name in PLACES or name in ("lag", "lead"):  # these look at no frame
        return window
    nothing = Literal(0 if name in COUNTS else None, window.type)
    if not window.frame.has_distance or window.counts_groups:
        return nothing
    [key] = window.order
    fixed = _FIXED if key.type.is_float else ()
    are_fixed = is_null(key), *(call("=", [key, Literal(value, key.type)]) for value in fixed)
    peers = replace(window, frame=replace(window.frame, start=0, end=0))
    return Case(tuple((is_fixed, peers) for is_fixed in are_fixed), nothing, window.type)


_FIXED = (float("nan"), float("inf"), float("-inf"))
"""Values from which every distance leads to them, besides NULL."""


def _bound(
    bound: Any, side: str, which: str, type_of: Callable[[], ScalarType], context: ExprContext
) -> FrameOffset | None:
    if bound == "UNBOUNDED":
        return None
    if bound == "CURRENT ROW":
        return 0
    type, value = type_of(), scalar(bound, context)
    if not isinstance(value, Literal | Untyped):
        raise UnsupportedSql(
            f"frame offset {to_sql(bound)[:80]} that is no constant is not supported"
        )
    if type.name is TypeName.NUMERIC:
        value = _of_scale(value, type, side, which)
    offset = expect(value, type, f"frame {which} offset")
    assert isinstance(offset, Literal)
    if offset.value is None:
        raise InvalidFrameOffset(f"frame {which} offset must not be null", "22004")
    amount: FrameOffset = offset.value
    size = amount.span_us if isinstance(amount, Interval) else amount
    if size < 0:
        raise InvalidFrameOffset(f"frame {which} offset must not be negative", "22013")
    if not size:
        return 0
    return -amount if side == "PRECEDING" else amount


def _of_scale(value: Literal | Untyped, type: ScalarType, side: str, which: str) -> Planned:
    """A distance with as many digits as the values of a numeric have, between which there are the
    same values."""
    written: Any = value.text if isinstance(value, Untyped) else value.value
    try:
        distance = Decimal(written)
        is_rounded_down = (side == "PRECEDING") is (which == "starting")
        rounding = ROUND_FLOOR if is_rounded_down else ROUND_CEILING
        rounded = distance.quantize(Decimal(1).scaleb(-(type.scale or 0)), rounding)
    except (InvalidOperation, TypeError, ValueError):  # which no numeric is
        return value
    is_rounded = not distance.is_nan() and rounded != distance
    return Literal(rounded, numeric()) if is_rounded else value


def window_call(
    name: str, arguments: Sequence[Planned]
) -> tuple[WindowFunction, tuple[TypedExpr, ...], ScalarType]:
    """The function, its value, default and offset, and the type of what it says. Raises
    ``UnknownFunction``."""
    most = 3 if name in ("lag", "lead") else 2 if name == "nth_value" else 1
    if (
        (name == "nth_value" and len(arguments) < 2)
        or (name in PLACES and bool(arguments) != (name == "ntile"))
        or (name not in PLACES and not arguments)
        or len(arguments) > most
        or (name in _NO_COUNTS and arguments[-1].type not in (None, SMALLINT, INTEGER))
    ):
        raise UnknownFunction(
            name,
            ["unknown" if argument.type is None else str(argument.type) for argument in arguments],
        )
    if name in PLACES:
        offset, of_row = _count(name, arguments[0]) if arguments else (1, ())
        return WindowFunction(name, offset=offset), of_row, PLACES[name]
    value, *options = arguments
    if is_open(value):
        raise TypeMismatch("could not determine polymorphic type because input has type unknown")
    values, type = unified([value, *options[1:]], name)
    if name == "nth_value":
        offset, of_row = _count(name, options[0])
        checked = (_positive(name, number) for number in of_row)
        return WindowFunction(name, offset=offset), (*values, *checked), type
    if name not in ("lag", "lead") or not options:
        return WindowFunction(name), tuple(values), type
    match options[0]:
        case Literal(int() as constant):
            return WindowFunction(name, offset=constant), tuple(values), type
    row_offset = expect(options[0], INTEGER, f"offset of {name}")
    values = [*values, Literal(None, type)][:2]
    return WindowFunction(name), (*values, row_offset), type


def _count(name: str, argument: Planned) -> tuple[int, tuple[TypedExpr, ...]]:
    """The count if it is a constant, otherwise 1 and the count of each row. Raises
    ``InvalidFrameOffset``."""
    count = expect(argument, INTEGER, f"argument of {name}")
    if not isinstance(count, Literal) or count.value is None:
        return 1, (count,)
    if count.value < 1:
        raise InvalidFrameOffset(_NOT_POSITIVE.format(name), _NO_COUNTS[name])
    return count.value, ()


_NOT_POSITIVE = "argument of {} must be greater than zero"
_NO_COUNTS = {"nth_value": "22016", "ntile": "22014"}


def _positive(name: str, number: TypedExpr) -> TypedExpr:
    """The number, which fails the statement unless it is positive or NULL."""
    message = Literal(_NOT_POSITIVE.format(name), TEXT)
    is_wrong = call("<=", [number, Literal(0, INTEGER)])
    failure = Case(((is_wrong, message),), Literal(None, TEXT), TEXT)
    return Call(IN_DOMAIN, (number, failure, Literal(_NO_COUNTS[name], TEXT)), INTEGER)
