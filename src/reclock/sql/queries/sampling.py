"""TABLESAMPLE: a random part of the rows of a relation."""

from __future__ import annotations

from sqlglot import exp

from reclock.algebra.relations import DOUBLE, TEXT
from reclock.errors import EvaluationError, UnknownObject, UnsupportedSql
from reclock.plan.build import filter_rows
from reclock.plan.scalars import Call, ColumnRef, Literal
from reclock.sql.queries.coercion import cast
from reclock.sql.queries.context import Context
from reclock.sql.queries.expressions import ExprContext, reject_unsupported, scalar
from reclock.sql.queries.limits import NoSubqueries
from reclock.sql.queries.overloads import call
from reclock.sql.queries.planned import TypedExpr, scalars_of
from reclock.sql.queries.scope import Scope, ScopedPlan
from reclock.sql.syntax.dialect import to_sql

_HASHES = 16**12
"""How many beginnings of 12 hexadecimal digits the MD5 hashes have that rows are chosen by."""


def sampled(relation: ScopedPlan, node: exp.TableSample, context: Context) -> ScopedPlan:
    """The rows of ``relation`` that the clause chooses, each by itself, whatever its method.

    With REPEATABLE the choice follows from the seed and the row's key, or its values if it has
    none, so that views may have it; rows that are equal are in the sample together. Raises
    ``EvaluationError`` if the percentage is not from 0 to 100, and ``UnsupportedSql`` for a random
    sample in a view.
    """
    reject_unsupported(node, "method", "percent", "seed")
    method = node.args["method"].name
    if method.upper() not in ("BERNOULLI", "SYSTEM"):
        raise UnknownObject("tablesample method", method.lower())
    percentage = _number(node.args["percent"], context)
    if not 0 <= percentage <= 100:
        raise EvaluationError("sample percentage must be between 0 and 100", sqlstate="2202H")
    if node.args.get("seed") is None:
        number = context.about_session(Call("random", (), DOUBLE))
        limit = Literal(percentage / 100, DOUBLE)
    else:
        number = _hash(relation, _number(node.args["seed"], context))
        limit = _text(f"{round(percentage / 100 * _HASHES):012x}" if percentage < 100 else "g")
    is_chosen = call("<", [number, limit])
    return ScopedPlan(filter_rows(relation.plan, scalars_of([is_chosen])), relation.scope)


def _hash(relation: ScopedPlan, seed: float) -> TypedExpr:
    columns = relation.scope.columns
    places = [i for i, column in enumerate(columns) if column.is_key] or range(len(columns))
    values = [cast(ColumnRef(i, columns[i].type), TEXT) for i in places]
    return call("md5", [call("concat_ws", [_text("\x1f"), _text(f"{seed:g}"), *values])])


def _text(value: str) -> Literal:
    return Literal(value, TEXT)


def _number(node: exp.Expr, context: Context) -> float:
    constants = NoSubqueries(context.session.parameters)
    value = scalar(node, ExprContext(Scope(), constants, "TABLESAMPLE"))
    if not isinstance(value, Literal):
        raise UnsupportedSql(
            f"TABLESAMPLE with {to_sql(node)[:80]} is not supported", hint="write a number"
        )
    return float(value.value)
