"""``JSON_OBJECT`` and ``JSON_ARRAY``, by the functions that they mean."""

from __future__ import annotations

from sqlglot import exp

from reclock.algebra.relations import JSONB
from reclock.sql.queries.casts import cast_to
from reclock.sql.queries.expressions import ExprContext, reject_unsupported, scalar
from reclock.sql.queries.planned import TypedExpr
from reclock.sql.queries.type_names import scalar_type
from reclock.sql.syntax.consumption import tracked_copy
from reclock.sql.syntax.json_calls import JsonConstructor


@scalar.register
def _json_constructor(node: JsonConstructor, context: ExprContext) -> TypedExpr:
    reject_unsupported(node, "keys", "values", "is_absent_on_null", "returning")
    document = cast_to(scalar(_document(node), context), JSONB, context)
    kind = node.args.get("returning")
    return document if kind is None else cast_to(document, scalar_type(kind), context)


def _document(node: JsonConstructor) -> exp.Expr:
    """A call with all members, or a concatenation of calls with one, of those that are not NULL."""
    is_array, values = node.args.get("keys") is None, node.args["values"]
    function = "jsonb_build_array" if is_array else "jsonb_build_object"
    members = (
        [[value] for value in values]
        if is_array
        else [list(member) for member in zip(node.args["keys"], values, strict=True)]
    )
    if not node.args["is_absent_on_null"] or not members:
        arguments = [argument for member in members for argument in member]
        return exp.Anonymous(this=function, expressions=arguments)
    document = _empty(is_array)
    for member in members:
        is_null = exp.Is(this=tracked_copy(member[-1]), expression=exp.Null())
        one = exp.Anonymous(this=function, expressions=member)
        part = exp.Case(ifs=[exp.If(this=is_null, true=_empty(is_array))], default=one)
        document = exp.DPipe(this=document, expression=part)
    return document


def _empty(is_array: bool) -> exp.Expr:
    text = exp.Literal.string("[]" if is_array else "{}")
    return exp.Cast(this=text, to=exp.DataType(this=exp.DType.JSONB, nested=False))
