"""Arithmetic of moments and intervals that are constants, and texts that are put together of
constants, computed when a statement is planned."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

from reclock.algebra.intervals import Interval, between, shifted
from reclock.algebra.relations import DATE, TEXT, TIMESTAMP, TypeName
from reclock.plan.scalars import Call, Cast, Literal
from reclock.sql.queries.planned import TypedExpr

Moment = datetime | Interval


def folded(call: Call[TypedExpr]) -> TypedExpr:
    """The constant that ``call`` computes, or ``call`` itself if the engine must compute it."""
    if call.function == "concat" and call.type == TEXT:
        return _joined(call)
    if call.function not in ("+", "-", "negate") or not _is_of_time(call.type.name):
        return call
    values = [value for value in map(_constant, call.arguments) if value is not None]
    if len(values) < len(call.arguments):
        return call
    try:
        value = _computed(call.function, values)
    except (OverflowError, ValueError):  # outside of the years that Python has
        return call
    if value is None or (isinstance(value, Interval) and not value.fits()):
        return call
    return Literal(value, call.type)


def _joined(call: Call[TypedExpr]) -> TypedExpr:
    parts = []
    for argument in call.arguments:
        if not isinstance(argument, Literal) or not isinstance(argument.value, str):
            return call
        parts.append(argument.value)
    return Literal("".join(parts), TEXT)


def comparable_moments(operands: Sequence[TypedExpr]) -> Sequence[TypedExpr]:
    """A date and a constant at the start of a day, compared as timestamps, are compared as dates.

    A reader of files can then use the date's statistics.
    """
    if len(operands) != 2:
        return operands
    dates = [date for date in map(_as_date, operands) if date is not None]
    if len(dates) < 2 or all(isinstance(operand, Literal) for operand in operands):
        return operands
    return dates


def _as_date(operand: TypedExpr) -> TypedExpr | None:
    match operand:
        case Cast(inner, target) if inner.type == DATE and target == TIMESTAMP:
            return inner
        case Literal(datetime() as at, type) if type == TIMESTAMP and at == _day(at):
            return Literal(at.date(), DATE)
        case _:
            return None


def _day(at: datetime) -> datetime:
    return datetime(at.year, at.month, at.day)


def _is_of_time(name: TypeName) -> bool:
    return name in (TypeName.TIMESTAMP, TypeName.TIMESTAMPTZ, TypeName.INTERVAL)


def _constant(scalar: TypedExpr) -> Moment | None:
    """The moment or interval that ``scalar`` is; None for NULL and other scalars."""
    match scalar:
        case Literal(datetime() | Interval() as value, _):
            return value
        case Cast(Literal(date() as day, _), target) if target == TIMESTAMP:
            return datetime(day.year, day.month, day.day)
        case _:
            return None


def _computed(function: str, values: Sequence[Moment]) -> Moment | None:
    match (function, *values):
        case ("negate", Interval() as interval):
            return -interval
        case ("+", Interval() as left, Interval() as right):
            return left + right
        case ("-", Interval() as left, Interval() as right):
            return left + -right
        case ("+", datetime() as at, Interval() as by) | ("+", Interval() as by, datetime() as at):
            return shifted(at, by)
        case ("-", datetime() as at, Interval() as by):
            return shifted(at, -by)
        case ("-", datetime() as end, datetime() as start):
            return between(start, end)
        case _:
            return None
