"""``LIKE … ESCAPE`` and ``SIMILAR TO``."""

from __future__ import annotations

from sqlglot import exp

from reclock.algebra.relations import TEXT
from reclock.errors import UnsupportedSql
from reclock.plan.functions.regular_expressions import similar_pattern
from reclock.plan.scalars import Literal
from reclock.sql.queries.coercion import default_to_text
from reclock.sql.queries.expressions import ExprContext, reject_unsupported, scalar
from reclock.sql.queries.operators import OPERATORS, WRITTEN_OPERATORS
from reclock.sql.queries.overloads import negated, operator
from reclock.sql.queries.planned import Planned, TypedExpr, Untyped
from reclock.sql.syntax.dialect import to_sql


@scalar.register
def _escape(node: exp.Escape, context: ExprContext) -> TypedExpr:
    like = node.this
    if isinstance(like, exp.SimilarTo):
        return _similar(like, context, scalar(node.expression, context))
    if not isinstance(like, exp.Like | exp.ILike):
        raise UnsupportedSql(f"{to_sql(node)[:80]} is not supported")
    character = scalar(node.expression, context)
    if not isinstance(character, Untyped | Literal):
        raise UnsupportedSql("an ESCAPE that is not a constant is not supported")
    operands = [scalar(like.this, context), scalar(like.expression, context), character]
    result = operator(OPERATORS[type(like)], operands, WRITTEN_OPERATORS[type(like)])
    return negated(result) if like.args.get("negate") else result


@scalar.register
def _similar_to(node: exp.SimilarTo, context: ExprContext) -> TypedExpr:
    return _similar(node, context, Literal("\\", TEXT))


def _similar(node: exp.SimilarTo, context: ExprContext, escape: Planned) -> TypedExpr:
    reject_unsupported(node, "this", "expression", "negate")
    pattern, escape = (default_to_text(part) for part in (scalar(node.expression, context), escape))
    if not isinstance(pattern, Literal) or not isinstance(escape, Literal):
        raise UnsupportedSql(
            "a pattern of SIMILAR TO that is not a constant is not supported",
            hint="write it as a constant",
        )
    text = None
    if pattern.value is not None and escape.value is not None:
        text = similar_pattern(str(pattern.value), str(escape.value))
    result = operator("~", [scalar(node.this, context), Literal(text, TEXT)], "SIMILAR TO")
    return negated(result) if node.args.get("negate") else result
