"""Window functions, and aggregates over windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from reclock.algebra.relations import BIGINT, DOUBLE, INTEGER, ScalarType
from reclock.errors import (
    InvalidWindow,
    SqlSyntaxError,
    TypeMismatch,
    UnknownFunction,
    UnknownObject,
    UnsupportedSql,
)
from reclock.plan.functions import AGGREGATES
from reclock.plan.relational import Frame, WindowFunction
from reclock.plan.scalars import Aggregate, Case, Literal
from reclock.sql.names import fold
from reclock.sql.queries.aggregate_calls import ORDERED_SETS, SORTED, aggregate
from reclock.sql.queries.coercion import unified
from reclock.sql.queries.expressions import (
    ExprContext,
    function_name,
    reject_unsupported,
    scalar,
    typed,
)
from reclock.sql.queries.overloads import is_open
from reclock.sql.queries.planned import InWindow, Planned, TypedExpr
from reclock.sql.syntax.consumption import consume
from reclock.sql.syntax.dialect import to_sql

PLACES = {
    "row_number": BIGINT,
    "rank": BIGINT,
    "dense_rank": BIGINT,
    "percent_rank": DOUBLE,
    "cume_dist": DOUBLE,
    "ntile": INTEGER,
}
"""Functions of a row's position, and their result types."""

FUNCTIONS = (*PLACES, "lag", "lead", "first_value", "last_value")
ORDERED = (*SORTED, *ORDERED_SETS)
"""Aggregates with an order of their own, independent of the window's."""


@scalar.register
def _window(node: exp.Window, context: ExprContext) -> TypedExpr:
    reject_unsupported(node, "this", "partition_by", "order", "spec", "alias", "over")
    if node.args.get("over") not in (None, "OVER"):
        raise UnsupportedSql(f"{to_sql(node)[:80]} is not supported")
    if not context.takes_aggregates or context.clause not in ("SELECT", "ORDER BY"):
        raise SqlSyntaxError(f"window functions are not allowed in {context.clause}")
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
        _frame(spec) if spec is not None else Frame(),
        BIGINT,
    )
    called, filter = (
        (node.this.this, node.this.expression.this)
        if isinstance(node.this, exp.Filter)
        else (node.this, None)
    )
    name = function_name(called) if isinstance(called, exp.Anonymous) else ""
    if name in AGGREGATES and name not in ORDERED:
        window = _aggregated(name, called.expressions, filter, of, within)
        return _over_nothing(window) if _is_empty(of.frame) else window
    if name not in FUNCTIONS or filter is not None:
        known = ", ".join(FUNCTIONS)
        raise UnsupportedSql(
            f"window function {to_sql(node.this)[:80]} is not supported",
            hint=f"there are {known}, and aggregates",
        )
    function, arguments, type = _called(
        name, [scalar(argument, within) for argument in called.expressions]
    )
    window = replace(of, function=function, arguments=arguments, type=type)
    return _over_nothing(window) if _is_empty(of.frame) else window


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
    for expression in (*partition, *(ordering.this for ordering in order)):
        typed(expression, within)
    if spec is not None:
        _frame(spec)


def _aggregated(
    name: str, arguments: list[exp.Expr], filter: exp.Expr | None, of: InWindow, within: ExprContext
) -> InWindow:
    call = aggregate(name, arguments, filter, within)
    if call.is_distinct:
        raise UnsupportedSql("DISTINCT is not supported in an aggregate over a window")
    values = call.arguments
    # no engine takes both: what is not kept is NULL, which aggregates pass over
    if call.filter is not None:
        values = tuple(
            Case(((call.filter, value),), Literal(None, value.type), value.type)
            for value in values or (Literal(1, INTEGER),)
        )
    return replace(
        of, function=Aggregate(call.function, (), call.type), arguments=values, type=call.type
    )


def _defined(
    node: exp.Window,
) -> tuple[Sequence[exp.Expr], Sequence[exp.Expr], exp.WindowSpec | None]:
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
    raise UnknownObject("window", name)


def _frame(spec: exp.WindowSpec) -> Frame:
    reject_unsupported(spec, "kind", "start", "start_side", "end", "end_side", "exclude")
    if (excluded := spec.args.get("exclude")) is not None and excluded.name.upper() != "NO OTHERS":
        raise UnsupportedSql(
            f"EXCLUDE {excluded.name} is not supported", hint="compute it from several windows"
        )
    kind = spec.args["kind"].upper()
    sides = [str(spec.args.get(side) or "").upper() for side in ("start_side", "end_side")]
    if kind not in ("ROWS", "RANGE"):
        raise UnsupportedSql(f"frames of {kind} are not supported", hint="there are ROWS and RANGE")
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
        _bound(bound, side, is_range=kind == "RANGE")
        for bound, side in zip((first, last), sides, strict=True)
    )
    return Frame(start, end, is_range=kind == "RANGE")


_SIDES, _PLACES = ("PRECEDING", "", "FOLLOWING"), ("preceding", "current", "following")


def _is_empty(frame: Frame) -> bool:
    """Whether it ends before it starts, as `1 PRECEDING AND 2 PRECEDING`."""
    return frame.start is not None and frame.end is not None and frame.start > frame.end


def _over_nothing(window: InWindow) -> InWindow:
    """The same where no row has a row in its frame: a function of the frame sees NULLs alone."""
    if isinstance(window.function, WindowFunction) and window.function.name not in (
        "first_value",
        "last_value",
    ):
        return window
    nulls = tuple(
        Literal(None, argument.type) for argument in window.arguments or (Literal(1, INTEGER),)
    )
    return replace(window, arguments=nulls, frame=Frame())


def _bound(bound: Any, side: str, *, is_range: bool) -> int | None:
    if bound == "UNBOUNDED":
        return None
    if bound == "CURRENT ROW":
        return 0
    if (
        is_range
        or not isinstance(bound, exp.Literal)
        or bound.is_string
        or not str(bound.this).isdigit()
    ):
        hint = "ROWS takes constant integers, RANGE none"
        raise UnsupportedSql(
            f"frame offset {to_sql(bound)[:80]} {side} is not supported", hint=hint
        )
    return int(bound.this) * (-1 if side == "PRECEDING" else 1)


def _called(
    name: str, arguments: Sequence[Planned]
) -> tuple[WindowFunction, tuple[TypedExpr, ...], ScalarType]:
    """The function, its value and default, and the type of what it says. Raises
    ``UnknownFunction``."""
    most = 3 if name in ("lag", "lead") else 1
    if (
        (name in PLACES and bool(arguments) != (name == "ntile"))
        or (name not in PLACES and not arguments)
        or len(arguments) > most
    ):
        raise UnknownFunction(
            name,
            ["unknown" if argument.type is None else str(argument.type) for argument in arguments],
        )
    if name in PLACES:
        return (
            WindowFunction(name, offset=_constant(name, arguments[0], 1) if arguments else 1),
            (),
            PLACES[name],
        )
    value, *others = arguments
    if is_open(value):
        raise TypeMismatch("could not determine polymorphic type because input has type unknown")
    shown, type = unified([value, *others[1:]], name)
    offset = _constant(name, others[0]) if others else 1
    return WindowFunction(name, offset=offset), tuple(shown), type


def _constant(name: str, argument: Planned, least: int | None = None) -> int:
    if not isinstance(argument, Literal) or not isinstance(argument.value, int):
        raise UnsupportedSql(f"an offset of {name} that is not a constant integer is not supported")
    if least is not None and argument.value < least:
        raise SqlSyntaxError(f"argument of {name} must be greater than zero")
    return argument.value
