"""Scalar expressions: from syntax to typed scalars over the columns of a scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, Protocol

from sqlglot import exp

from reclock.algebra.relations import BOOLEAN, INTERVAL, TEXT
from reclock.compute.functions import AGGREGATES, resolve_aggregate, resolve_scalar
from reclock.compute.scalars import Aggregate, Call, Case, Literal
from reclock.errors import (
    AggregateNotAllowed,
    SqlSyntaxError,
    TypeMismatch,
    UnknownFunction,
    UnknownOperator,
    UnknownParameter,
    UnsupportedSql,
)
from reclock.sql.dialect import to_sql
from reclock.sql.names import fold
from reclock.sql.parameters import Parameters
from reclock.sql.planner.coercion import cast, coerce, common_type, expect, scalar_type, settle
from reclock.sql.planner.literals import number
from reclock.sql.planner.rewrite import AggregateCall, OpenParameter, SubqueryValue, Untyped, has
from reclock.sql.planner.scope import Scope


class Subqueries(Protocol):
    """Who plans the subqueries of an expression, and knows what ``$1`` is; ``scope`` is what they stand in."""

    @property
    def parameters(self) -> Parameters: ...
    def value(self, query: exp.Expr, scope: Scope) -> Any: ...
    def exists(self, query: exp.Expr, scope: Scope) -> Any: ...
    def contains(self, operands: Sequence[Any], query: exp.Expr, scope: Scope) -> Any: ...
    def rows(self, query: exp.Expr, scope: Scope) -> Any: ...


@dataclass(frozen=True, slots=True)
class Reading:
    """Where an expression stands: the columns in reach, the clause (for messages), and whether aggregates mean anything there."""

    scope: Scope
    subqueries: Subqueries
    clause: str
    takes_aggregates: bool = False


def only(node: exp.Expr, *known: str) -> None:
    """Raises ``UnsupportedSql`` if the syntax carries more than what the caller looks at: nothing is passed over in silence."""
    for name, value in node.args.items():
        if name not in known and value not in (None, False, []):
            written = to_sql(value) if isinstance(value, exp.Expr) else name.strip("_").upper()
            raise UnsupportedSql(f"not supported here: {written[:80]}")


def typed(node: exp.Expr, reading: Reading) -> Any:
    """The scalar, with a type: a constant that nothing else gives one is text."""
    return settle(scalar(node, reading))


def condition(node: exp.Expr, reading: Reading) -> Any:
    """The scalar, which must be boolean."""
    return expect(scalar(node, reading), BOOLEAN, f"argument of {reading.clause}")


def call(name: str, arguments: Sequence[Any]) -> Any:
    """``name`` on ``arguments``, cast to the types it takes. Raises ``UnknownFunction``."""
    resolved = resolve_scalar(name, [argument.type for argument in arguments], _constants(arguments))
    cast_arguments = tuple(coerce(a, type) for a, type in zip(arguments, resolved.argument_types, strict=True))
    return Call(resolved.function, cast_arguments, resolved.result)


def operator(name: str, arguments: Sequence[Any], written: str | None = None) -> Any:
    """As ``call``, with an operator's message."""
    try:
        return call(name, arguments)
    except UnknownFunction as error:
        raise UnknownOperator(written or name, error.argument_types) from error


def _constants(arguments: Sequence[Any]) -> dict[int, object]:
    constants: dict[int, object] = {i: a.value for i, a in enumerate(arguments) if isinstance(a, Literal)}
    return constants | {i: a.text for i, a in enumerate(arguments) if isinstance(a, Untyped)}


def both(name: str, terms: Sequence[Any]) -> Any:
    """``terms`` joined by ``and`` or ``or``, as a tree of little depth."""
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return Call(name, (both(name, terms[:middle]), both(name, terms[middle:])), BOOLEAN)


def negated(value: Any) -> Any:
    return Call("not", (value,), BOOLEAN)


def is_null(value: Any) -> Any:
    return Call("is_null", (settle(value),), BOOLEAN)


def split(node: exp.Expr, kind: type[exp.Connector] = exp.And) -> list[exp.Expr]:
    """The terms of a chain of ANDs (or ORs), in order."""
    terms: list[exp.Expr] = []
    waiting = [node]
    while waiting:
        node = waiting.pop()
        inner = node.unnest() if isinstance(node, exp.Paren) else node
        if isinstance(inner, kind):
            waiting += [inner.expression, inner.this]
        else:
            terms.append(node)
    return terms


@singledispatch
def scalar(node: exp.Expr, reading: Reading) -> Any:
    """The scalar that ``node`` means. A constant whose type is open comes back as ``Untyped``."""
    raise UnsupportedSql(f"expression {to_sql(node)[:80]} is not supported")


# --- constants and columns ---


@scalar.register
def _literal(node: exp.Literal, reading: Reading) -> Any:
    if node.is_string:
        return Untyped(node.name)
    return Literal(*number(node.name))


@scalar.register
def _null(node: exp.Null, reading: Reading) -> Any:
    return Untyped(None)


@scalar.register
def _boolean(node: exp.Boolean, reading: Reading) -> Any:
    return Literal(bool(node.this), BOOLEAN)


@scalar.register
def _interval(node: exp.Interval, reading: Reading) -> Any:
    only(node, "this")
    return coerce(Untyped(node.this.name), INTERVAL)


@scalar.register
def _column(node: exp.Column, reading: Reading) -> Any:
    only(node, "this", "table", "db", "catalog")
    qualifier = [fold(part) for part in (node.args.get("catalog"), node.args.get("db"), node.args.get("table")) if part]
    if isinstance(node.this, exp.Star):
        raise SqlSyntaxError(f"{to_sql(node)} is not allowed in {reading.clause}")
    return reading.scope.resolve(fold(node.this), qualifier)


@scalar.register
def _star(node: exp.Star, reading: Reading) -> Any:
    raise SqlSyntaxError(f"* is not allowed in {reading.clause}")


@scalar.register
def _parameter(node: exp.Parameter, reading: Reading) -> Any:
    name = node.this.name
    if not isinstance(node.this, exp.Literal) or not name.isdigit():
        raise UnknownParameter(to_sql(node))
    number, parameters = int(name[:9]), reading.subqueries.parameters
    value = parameters.read(number)
    return OpenParameter(None, number=number, parameters=parameters) if value is None else value


@scalar.register
def _paren(node: exp.Paren, reading: Reading) -> Any:
    return scalar(node.this, reading)


@scalar.register(exp.CurrentTimestamp)
@scalar.register(exp.CurrentDate)
@scalar.register(exp.CurrentTime)
@scalar.register(exp.Localtime)
@scalar.register(exp.Localtimestamp)
def _present(node: exp.Expr, reading: Reading) -> Any:
    raise UnsupportedSql(
        f"{to_sql(node)} is not supported",
        detail="a result depends on its inputs and on the time it is read at, not on when it is computed",
        hint="write the moment as a constant, or read with AS OF",
    )


# --- operators ---

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.DPipe: "concat",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.Like: "like",
    exp.ILike: "ilike",
    exp.NullSafeEQ: "is_not_distinct",
}
_WRITTEN = {exp.DPipe: "||", exp.Like: "LIKE", exp.ILike: "ILIKE", exp.NullSafeEQ: "IS NOT DISTINCT FROM"}


def _binary(node: exp.Binary, reading: Reading) -> Any:
    only(node, "this", "expression", "typed", "safe", "negate")
    if isinstance(node.expression, exp.Any | exp.All):
        return _quantified(node, reading)
    left, right = _operand(node.this), _operand(node.expression)
    if isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple) and isinstance(node, exp.EQ | exp.NEQ):
        result = _rows_equal(left, right, reading)
        return negated(result) if isinstance(node, exp.NEQ) else result
    result = operator(_OPERATORS[type(node)], [scalar(left, reading), scalar(right, reading)], _WRITTEN.get(type(node)))
    return negated(result) if node.args.get("negate") else result


for _kind in _OPERATORS:
    scalar.register(_kind)(_binary)


def _operand(node: exp.Expr) -> exp.Expr:
    return node.unnest() if isinstance(node, exp.Paren) else node


def _rows_equal(left: exp.Tuple, right: exp.Tuple, reading: Reading) -> Any:
    if len(left.expressions) != len(right.expressions):
        raise TypeMismatch("unequal number of entries in row expressions")
    pairs = zip(left.expressions, right.expressions, strict=True)
    return both("and", [operator("=", [scalar(a, reading), scalar(b, reading)]) for a, b in pairs])


def _quantified(node: exp.Binary, reading: Reading) -> Any:
    query = node.expression.this
    is_any, is_all = isinstance(node.expression, exp.Any), isinstance(node.expression, exp.All)
    if isinstance(query, exp.Query) and ((is_any and isinstance(node, exp.EQ)) or (is_all and isinstance(node, exp.NEQ))):
        found = reading.subqueries.contains([scalar(node.this, reading)], query, reading.scope)
        return found if is_any else negated(found)
    raise UnsupportedSql(f"expression {to_sql(node)[:80]} is not supported", hint="use IN or NOT IN with a subquery")


@scalar.register
def _not_distinct(node: exp.NullSafeNEQ, reading: Reading) -> Any:
    return negated(operator("is_not_distinct", [scalar(node.this, reading), scalar(node.expression, reading)], "IS DISTINCT FROM"))


@scalar.register
def _negate(node: exp.Neg, reading: Reading) -> Any:
    operand = scalar(node.this, reading)
    if isinstance(operand, Literal) and operand.type.is_number and operand.value is not None:
        return Literal(-operand.value, operand.type)
    return operator("negate", [operand], "-")


@scalar.register
def _power(node: exp.Pow, reading: Reading) -> Any:
    return operator("power", [scalar(node.this, reading), scalar(node.expression, reading)], "^")


@scalar.register(exp.And)
@scalar.register(exp.Or)
def _connector(node: exp.Connector, reading: Reading) -> Any:
    kind, word = (exp.And, "AND") if isinstance(node, exp.And) else (exp.Or, "OR")
    within = replace(reading, clause=word)
    return both(word.lower(), [condition(term, within) for term in split(node, kind)])


@scalar.register
def _not(node: exp.Not, reading: Reading) -> Any:
    return negated(condition(node.this, replace(reading, clause="NOT")))


@scalar.register
def _is(node: exp.Is, reading: Reading) -> Any:
    only(node, "this", "expression", "negate")
    operand, what = scalar(node.this, reading), node.expression
    if isinstance(what, exp.Null):
        result = is_null(operand)
    elif isinstance(what, exp.Boolean):
        result = call("is_true" if what.this else "is_false", [expect(operand, BOOLEAN, "argument of IS TRUE")])
    elif isinstance(what, exp.Column) and what.name.upper() == "UNKNOWN":
        result = is_null(expect(operand, BOOLEAN, "argument of IS UNKNOWN"))
    else:
        raise UnsupportedSql(f"expression {to_sql(node)[:80]} is not supported")
    return negated(result) if node.args.get("negate") else result


@scalar.register
def _escape(node: exp.Escape, reading: Reading) -> Any:
    if node.expression.name == "\\" and isinstance(node.this, exp.Like | exp.ILike):
        return scalar(node.this, reading)
    raise UnsupportedSql(f"{to_sql(node)[:80]} is not supported", hint="the escape character of LIKE is the backslash")


@scalar.register
def _between(node: exp.Between, reading: Reading) -> Any:
    only(node, "this", "low", "high", "symmetric")
    if node.args.get("symmetric"):
        raise UnsupportedSql("BETWEEN SYMMETRIC is not supported")
    value, low, high = (scalar(node.args[name], reading) for name in ("this", "low", "high"))
    return both("and", [operator(">=", [value, low]), operator("<=", [value, high])])


@scalar.register
def _in(node: exp.In, reading: Reading) -> Any:
    only(node, "this", "expressions", "query")
    operand, query = _operand(node.this), node.args.get("query")
    if query is not None:
        operands = operand.expressions if isinstance(operand, exp.Tuple) else [operand]
        return reading.subqueries.contains([scalar(each, reading) for each in operands], query, reading.scope)
    items = [_operand(item) for item in node.expressions]
    if not items:
        raise SqlSyntaxError("IN needs at least one value")
    if isinstance(operand, exp.Tuple):
        if not all(isinstance(item, exp.Tuple) for item in items):
            raise TypeMismatch("unequal number of entries in row expressions")
        return both("or", [_rows_equal(operand, item, reading) for item in items])  # type: ignore[arg-type]
    value, values = scalar(operand, reading), [scalar(item, reading) for item in items]
    type = common_type([value.type, *(each.type for each in values)], "IN")
    return both("or", [call("=", [coerce(value, type), coerce(each, type)]) for each in values])


@scalar.register
def _case(node: exp.Case, reading: Reading) -> Any:
    only(node, "this", "ifs", "default")
    operand, within = node.args.get("this"), replace(reading, clause="CASE/WHEN")
    conditions = []
    for branch in node.args["ifs"]:
        if operand is not None:
            conditions.append(operator("=", [scalar(operand, reading), scalar(branch.this, reading)]))
        else:
            conditions.append(condition(branch.this, within))
    results = [scalar(branch.args["true"], reading) for branch in node.args["ifs"]]
    default = node.args.get("default")
    otherwise = scalar(default, reading) if default is not None else Untyped(None)
    type = common_type([each.type for each in (*results, otherwise)], "CASE")
    branches = tuple(zip(conditions, (coerce(result, type) for result in results), strict=True))
    return Case(branches, coerce(otherwise, type), type)


@scalar.register
def _cast(node: exp.Cast, reading: Reading) -> Any:
    only(node, "this", "to")
    return cast(scalar(node.this, reading), scalar_type(node.args["to"]))


@scalar.register
def _extract(node: exp.Extract, reading: Reading) -> Any:
    field = Literal(node.this.name.lower(), TEXT)
    return call("extract", [field, scalar(node.expression, reading)])


# --- functions ---


@scalar.register
def _function(node: exp.Anonymous, reading: Reading) -> Any:
    name, arguments = _function_name(node), node.expressions
    if name in AGGREGATES:
        return _aggregate(name, arguments, None, reading)
    for argument in arguments:
        if isinstance(argument, exp.Distinct | exp.Order | exp.Star):
            raise SqlSyntaxError(f"{to_sql(argument)[:80]} is not allowed: {name} is not an aggregate function")
    values = [scalar(argument, reading) for argument in arguments]
    if name == "concat" and values:  # as a function it passes NULLs over; the registry's "concat" is the operator
        return call("concat_ws", [Literal("", TEXT), *values])
    if name in _OPERATOR_NAMES or not name.isidentifier():
        raise UnknownFunction(name, ["unknown" if value.type is None else str(value.type) for value in values])
    return call(name, values)


_OPERATOR_NAMES = frozenset({"and", "or", "not", "is_null", "is_not_distinct", "is_true", "is_false", "negate", "like", "ilike"})
"""Names the registry gives to operators: not functions that SQL can call."""


@scalar.register
def _filtered(node: exp.Filter, reading: Reading) -> Any:
    function = node.this
    if not isinstance(function, exp.Anonymous) or _function_name(function) not in AGGREGATES:
        raise SqlSyntaxError(f"FILTER is not allowed: {to_sql(function)[:80]} is not an aggregate function")
    return _aggregate(_function_name(function), function.expressions, node.expression.this, reading)


@scalar.register
def _qualified_function(node: exp.Dot, reading: Reading) -> Any:
    if isinstance(node.expression, exp.Anonymous) and fold(node.this) == "pg_catalog":
        return scalar(node.expression, reading)
    raise UnsupportedSql(f"expression {to_sql(node)[:80]} is not supported")


@scalar.register
def _window(node: exp.Window, reading: Reading) -> Any:
    raise UnsupportedSql("window functions are not supported", hint="use GROUP BY, or DISTINCT ON with ORDER BY")


def _function_name(node: exp.Anonymous) -> str:
    return fold(node.this) if isinstance(node.this, exp.Expr) else node.name.lower()


def _aggregate(name: str, arguments: list[exp.Expr], filter: exp.Expr | None, reading: Reading) -> Any:
    if not reading.takes_aggregates:
        raise AggregateNotAllowed(f"aggregate functions are not allowed in {reading.clause}")
    is_distinct = len(arguments) == 1 and isinstance(arguments[0], exp.Distinct)
    if is_distinct:
        arguments = arguments[0].expressions
    if any(isinstance(argument, exp.Order) for argument in arguments):
        raise UnsupportedSql(f"ORDER BY in {name} is not supported")
    if len(arguments) == 1 and isinstance(arguments[0], exp.Star):
        if name != "count" or is_distinct:
            raise UnknownFunction(name, ["*"])
        arguments = []
    elif not arguments and name == "count":
        raise SqlSyntaxError("count(*) must be used to call a parameterless aggregate function")
    within = replace(reading, takes_aggregates=False, clause="an aggregate function")
    values = [scalar(argument, within) for argument in arguments]
    resolved = resolve_aggregate(name, [value.type for value in values])
    cast_values = tuple(coerce(value, type) for value, type in zip(values, resolved.argument_types, strict=True))
    kept = condition(filter, replace(within, clause="FILTER")) if filter is not None else None
    if any(has(value, SubqueryValue) for value in (*cast_values, *([kept] if kept is not None else []))):
        raise UnsupportedSql(
            "subqueries in an aggregate function are not supported", hint="compute the value in a subquery of FROM"
        )
    return AggregateCall(Aggregate(resolved.function, cast_values, resolved.result, is_distinct, kept))


# --- subqueries ---


@scalar.register
def _subquery(node: exp.Subquery, reading: Reading) -> Any:
    return reading.subqueries.value(node, reading.scope)


@scalar.register
def _exists(node: exp.Exists, reading: Reading) -> Any:
    return reading.subqueries.exists(node.this, reading.scope)
