"""AS OF: a constant moment as a timestamp."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from sqlglot import exp

from reclock.algebra.intervals import Interval
from reclock.algebra.relations import TEXT, TIMESTAMPTZ
from reclock.algebra.timestamps import MAXIMUM, MINIMUM, Timestamp
from reclock.errors import InvalidOption, TypeMismatch, UnsupportedSql
from reclock.plan.scalars import Literal, Parameter
from reclock.sql.parameters import Parameters
from reclock.sql.queries.coercion import default_to_text
from reclock.sql.queries.expressions import ExprContext, scalar
from reclock.sql.queries.limits import NoSubqueries
from reclock.sql.queries.literals import parse_text
from reclock.sql.queries.planned import OpenParameter, Planned, Untyped, has
from reclock.sql.queries.scope import Scope
from reclock.sql.statements.query.values import AsOf
from reclock.sql.syntax import nodes
from reclock.sql.syntax.dialect import to_sql

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def plan_as_of(node: nodes.AsOfClause, parameters: Parameters) -> AsOf:
    """Milliseconds as a number or as digits, or a moment in text or of a date or timestamp type (in
    UTC without a zone)."""
    value = scalar(node.this, ExprContext(Scope(), NoSubqueries(parameters), "AS OF"))
    value = default_to_text(value) if isinstance(value, OpenParameter) else value
    if not isinstance(value, Untyped) and has(value, Parameter):
        return AsOf(MINIMUM, bool(node.args.get("at_least")))
    if isinstance(node.this, exp.Parameter) and isinstance(value, Literal) and value.type == TEXT:
        value = Untyped(value.value)
    at = _milliseconds(value, to_sql(node.this)[:80])
    if not 0 <= at <= MAXIMUM:
        raise InvalidOption(
            f"AS OF {at} is not a timestamp",
            detail=f"timestamps are milliseconds from 0 to {MAXIMUM}",
        )
    return AsOf(Timestamp(at), bool(node.args.get("at_least")))


def _milliseconds(value: Planned, written: str) -> int:
    if isinstance(value, Untyped):
        if value.text is None:
            raise InvalidOption("AS OF NULL is not a timestamp")
        if value.text.strip().isdigit():
            return int(value.text[:30])
        return _milliseconds(Literal(parse_text(value.text, TIMESTAMPTZ), TIMESTAMPTZ), written)
    if not isinstance(value, Literal):
        raise UnsupportedSql(
            f"AS OF {written} is not supported", hint="give milliseconds or a moment as a constant"
        )
    match value.value:
        case bool() | str() | bytes() | float() | Interval():
            raise TypeMismatch(
                "argument of AS OF must be a timestamp or a number of milliseconds, not "
                f"type {value.type.name}"
            )
        case int():
            return value.value
        case Decimal() if value.value == value.value.to_integral_value():
            return int(value.value)
        case datetime():
            moment = value.value if value.value.tzinfo else value.value.replace(tzinfo=UTC)
            return (moment - _EPOCH) // timedelta(milliseconds=1)
        case date():
            return (
                datetime(value.value.year, value.value.month, value.value.day, tzinfo=UTC) - _EPOCH
            ) // timedelta(milliseconds=1)
        case _:
            raise InvalidOption(f"AS OF {written} is not a timestamp")
