"""LIMIT and OFFSET."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import NoReturn

from sqlglot import exp

from reclock.algebra.relations import BIGINT, ScalarType
from reclock.errors import EvaluationError, SqlSyntaxError, UnsupportedSql
from reclock.plan.scalars import Call, Cast, Literal, Parameter
from reclock.plan.temporal import NOW
from reclock.sql.parameters import Parameters
from reclock.sql.queries.coercion import cast, expect
from reclock.sql.queries.expressions import ExprContext, reject_unsupported, scalar
from reclock.sql.queries.planned import Planned, TypedExpr, has
from reclock.sql.queries.scope import Scope
from reclock.sql.queries.session_functions import VOLATILE_FUNCTIONS
from reclock.sql.syntax.dialect import to_sql


def limits(node: exp.Expr, parameters: Parameters) -> tuple[int | None, int]:
    """LIMIT (or FETCH FIRST) and OFFSET of a query: nonnegative constants. NULL and ALL mean no
    limit."""
    count, skipped = written_limits(node)
    return _count(count, "LIMIT", parameters), _count(skipped, "OFFSET", parameters) or 0


def has_ties(node: exp.Expr) -> bool:
    """Whether rows that tie with the last one are added: ``FETCH FIRST n ROWS WITH TIES``. Raises
    ``SqlSyntaxError`` if nothing orders the rows."""
    limit = node.args.get("limit")
    options = limit.args.get("limit_options") if isinstance(limit, exp.Fetch) else None
    if options is None or not options.args.get("with_ties"):
        return False
    if not node.args.get("order"):
        raise SqlSyntaxError("WITH TIES cannot be specified without ORDER BY clause")
    return True


def written_limits(
    node: exp.Expr, *, has_ties: bool = False
) -> tuple[exp.Expr | None, exp.Expr | None]:
    """The expressions of LIMIT and OFFSET, as far as there are any. WITH TIES is only accepted of
    those that ``has_ties``."""
    limit, offset = node.args.get("limit"), node.args.get("offset")
    count: exp.Expr | None = None
    if isinstance(limit, exp.Fetch):
        options = limit.args.get("limit_options")
        if options is not None:
            reject_unsupported(options, "rows", *(("with_ties",) if has_ties else ()))
        count = limit.args.get("count") or exp.Literal.number(1)
    elif limit is not None:
        reject_unsupported(limit, "this", "expression")
        count = limit.expression
        if isinstance(count, exp.Var) and count.name.upper() == "ALL":
            count = None
    if offset is not None:
        reject_unsupported(offset, "this", "expression")
    return count, offset.expression if offset is not None else None


def _count(node: exp.Expr | None, clause: str, parameters: Parameters) -> int | None:
    if node is None:
        return None
    value = row_count(scalar(node, ExprContext(Scope(), NoSubqueries(parameters), clause)), clause)
    if has(value, Parameter):
        return None
    value = _computed(value)
    if not isinstance(value, Literal):
        raise UnsupportedSql(
            f"{clause} {to_sql(node)[:80]} is not supported", hint=f"{clause} takes a constant"
        )
    if value.value is not None and value.value < 0:
        raise EvaluationError(f"{clause} must not be negative", sqlstate=_NEGATIVE[clause])
    return None if value.value is None else int(value.value)


_NEGATIVE = {"LIMIT": "2201W", "OFFSET": "2201X"}


def row_count(value: Planned, clause: str) -> TypedExpr:
    """What the clause takes as a number of rows: a number of any type, rounded. Raises
    ``TypeMismatch``."""
    if value.type is not None and value.type.is_number:
        value = cast(value, BIGINT)
    return expect(value, BIGINT, f"argument of {clause}")


_ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def _computed(value: TypedExpr) -> TypedExpr:
    """A sum, difference or product of constants as a constant."""
    match value:
        case Cast(operand=operand) if isinstance(constant := _computed(operand), Literal):
            return Literal(constant.value, value.type)
        case Call(function=function, arguments=(left, right)) if function in _ARITHMETIC:
            sides = _computed(left), _computed(right)
            values = [side.value for side in sides if isinstance(side, Literal)]
            if len(values) == 2 and None not in values:
                return Literal(_ARITHMETIC[function](*values), value.type)
    return value


@dataclass(frozen=True, slots=True)
class NoSubqueries:
    """For places that accept constants only, or what ``hint`` says."""

    parameters: Parameters
    hint: str = "write a constant"

    def value(self, *_: object, **_named: object) -> NoReturn:
        raise UnsupportedSql("a subquery is not supported here", hint=self.hint)

    def defined(self, *_: object) -> None:
        """Functions that users defined are not known here."""

    exists = contains = any = compared = rows = array = value

    def about_session(self, call: Call[TypedExpr]) -> TypedExpr:
        if call.function in VOLATILE_FUNCTIONS and call.function != NOW:
            return call
        raise UnsupportedSql(f"{call.function} is not supported here", hint=self.hint)

    def object_id(self, value: Planned, target: ScalarType, kind: str = "database") -> NoReturn:
        raise UnsupportedSql(f"a cast to {target} is not supported here", hint=self.hint)
