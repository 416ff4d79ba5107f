"""Connectors and predicates that have words for names: AND, IS, BETWEEN, OVERLAPS; and those of
``jsonpath``."""

from __future__ import annotations

from sqlglot import exp

from reclock.algebra.relations import (
    BOOLEAN,
    INTERVAL,
    JSONB,
    TEXT,
    TypeName,
)
from reclock.errors import (
    SqlSyntaxError,
    TypeMismatch,
    UnknownOperator,
    UnsupportedSql,
)
from reclock.plan.functions.jsonb import KIND_OF_TEXT
from reclock.plan.scalars import Literal
from reclock.sql.queries.coercion import default_to_text, expect
from reclock.sql.queries.expressions import (
    ExprContext,
    condition,
    reject_unsupported,
    row_items,
    scalar,
    split,
)
from reclock.sql.queries.overloads import (
    balanced,
    call,
    is_null,
    negated,
    operator,
)
from reclock.sql.queries.planned import Planned, TypedExpr
from reclock.sql.queries.record_values import has_no_nulls, has_only_nulls, is_record
from reclock.sql.syntax.consumption import tracked_copy
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.places import at


@scalar.register
def _overlaps(node: exp.Overlaps, context: ExprContext) -> Planned:
    """``(start, end) OVERLAPS (start, end)``. An end that is an interval is counted from its start."""
    ends: list[exp.Expr] = []
    for period in (node.this, node.expression):
        items = row_items(period.unnest() if isinstance(period, exp.Paren) else period)
        if items is None or len(items) != 2:
            raise SqlSyntaxError("wrong number of parameters on a side of OVERLAPS expression")
        start, end = items
        if scalar(end, context).type == INTERVAL:
            end = exp.Add(this=tracked_copy(start), expression=end)
        ends += [start, end]
    return scalar(exp.Anonymous(this="overlaps", expressions=ends), context)


@scalar.register(exp.And)
@scalar.register(exp.Or)
def _connector(node: exp.Connector, context: ExprContext) -> TypedExpr:
    kind, word = (exp.And, "AND") if isinstance(node, exp.And) else (exp.Or, "OR")
    conditions = [condition(term, context, of=word) for term in split(node, kind)]
    return balanced(word.lower(), conditions)


@scalar.register
def _not(node: exp.Not, context: ExprContext) -> TypedExpr:
    return negated(condition(node.this, context, of="NOT"))


@scalar.register
def _is(node: exp.Is, context: ExprContext) -> TypedExpr:
    reject_unsupported(node, "this", "expression", "negate")
    operand, test = scalar(node.this, context), node.expression
    if isinstance(test, exp.Null):
        value = default_to_text(operand)
        if is_record(value):
            return has_no_nulls(value) if node.args.get("negate") else has_only_nulls(value)
        result = is_null(value)
    elif isinstance(test, exp.Boolean):
        result = call(
            "is_true" if test.this else "is_false",
            [_truth(operand, node, "TRUE" if test.this else "FALSE")],
        )
    elif isinstance(test, exp.Column) and test.name.upper() == "UNKNOWN":
        result = is_null(_truth(operand, node, "UNKNOWN"))
    elif isinstance(test, exp.JSON):
        result = _is_json(operand, node, test)
    else:
        raise UnsupportedSql(f"expression {to_sql(node)[:80]} is not supported")
    return negated(result) if node.args.get("negate") else result


_SCALAR_KINDS = ("string", "number", "boolean", "null")


def _is_json(operand: Planned, node: exp.Is, test: exp.JSON) -> TypedExpr:
    """Whether a text spells a document, perhaps of one kind."""
    reject_unsupported(test, "this", "with_", "unique")
    if test.args.get("with_"):
        raise UnsupportedSql("IS JSON WITH UNIQUE KEYS is not supported")
    test.args.get("unique")  # keys need not be unique: WITHOUT UNIQUE KEYS changes nothing
    value = default_to_text(operand)
    if value.type == JSONB:
        kind = call("jsonb_typeof", [value])
    elif value.type.name in (TypeName.TEXT, TypeName.BPCHAR):
        kind = call(KIND_OF_TEXT, [value])
    else:
        with at(node.this):
            raise TypeMismatch(f"cannot use type {value.type} in IS JSON predicate")
    match test.this:
        case "OBJECT" | "ARRAY" as written:
            return call("=", [kind, Literal(written.lower(), TEXT)])
        case "SCALAR":
            kinds = [call("=", [kind, Literal(name, TEXT)]) for name in _SCALAR_KINDS]
            return balanced("or", kinds)
        case _:
            return call("<>", [kind, Literal("", TEXT)])


def _truth(operand: Planned, node: exp.Is, word: str) -> TypedExpr:
    with at(node.this):
        return expect(operand, BOOLEAN, f"argument of IS {word}")


@scalar.register
def _between(node: exp.Between, context: ExprContext) -> TypedExpr:
    reject_unsupported(node, "this", "low", "high", "symmetric")
    value, low, high = (scalar(node.args[name], context) for name in ("this", "low", "high"))

    def is_between(low: Planned, high: Planned) -> TypedExpr:
        with at(node, UnknownOperator, sign="BETWEEN"):
            return balanced("and", [operator(">=", [value, low]), operator("<=", [value, high])])

    if node.args.get("symmetric"):
        return balanced("or", [is_between(low, high), is_between(high, low)])
    return is_between(low, high)


@scalar.register
def _path_exists(node: exp.JSONBPathExists, context: ExprContext) -> TypedExpr:
    return _by_path("jsonb_path_exists", node.this, node.expression, context)


@scalar.register
def _path_match(node: exp.MatchAgainst, context: ExprContext) -> TypedExpr:
    """``document @@ path``."""
    reject_unsupported(node, "this", "expressions")
    [document] = node.expressions
    return _by_path("jsonb_path_match", document, node.this, context)


def _by_path(name: str, document: exp.Expr, path: exp.Expr, context: ExprContext) -> TypedExpr:
    """An operator of paths, which passes over errors of the document."""
    operands = [scalar(document, context), scalar(path, context)]
    return call(name, [*operands, Literal("{}", JSONB), Literal(True, BOOLEAN)])
