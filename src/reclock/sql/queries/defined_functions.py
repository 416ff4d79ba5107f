"""Calls of functions that users defined. A call is planned as the function's body, over its
arguments in the place of the parameters, so that it is maintained as any query."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from reclock.algebra.relations import (
    BOOLEAN,
    DOUBLE,
    INTERVAL,
    OID,
    TEXT,
    TIMESTAMPTZ,
    Column,
    RelationDesc,
    ScalarType,
)
from reclock.errors import (
    AggregateNotAllowed,
    AmbiguousFunction,
    UnknownParameter,
    UnsupportedSql,
)
from reclock.plan.functions.typing import exact
from reclock.plan.relational import Get, Plan
from reclock.plan.scalars import Call, Case, ColumnRef, Literal
from reclock.sql.catalog.definitions import FunctionDefinition
from reclock.sql.catalog.entries import FunctionEntry
from reclock.sql.names import identifier
from reclock.sql.parameters import NO_PARAMETERS
from reclock.sql.queries.call_forms import named_arguments
from reclock.sql.queries.catalog_functions import with_arguments
from reclock.sql.queries.coercion import coerce
from reclock.sql.queries.context import Context, DefinedCall, PlannedQuery
from reclock.sql.queries.expressions import ExprContext, Subqueries, scalar
from reclock.sql.queries.overloads import balanced, is_null, negated, unknown_function
from reclock.sql.queries.planned import (
    AROUND,
    Elements,
    InWindow,
    Planned,
    SubqueryValue,
    TypedExpr,
    has,
    walk,
)
from reclock.sql.queries.scope import Scope, ScopeColumn, ScopedPlan
from reclock.sql.queries.session_functions import VOLATILE_FUNCTIONS
from reclock.sql.queries.type_names import type_syntax
from reclock.sql.syntax.dialect import to_sql

# --- which function is called ---

_NUMBER = "number of the name"
"""The key of a name's number in the meta data of its node."""


def defined_call(
    names: Sequence[str], node: exp.Anonymous, expr_context: ExprContext, context: Context
) -> DefinedCall | None:
    """The call ``node`` of the function with this written name; None if users defined none,
    or if it is written as one of an aggregate. Raises
    ``UnknownFunction`` if none of that name takes these arguments."""
    entries = context.catalog.functions(names, context.session)
    is_aggregate = any(
        isinstance(argument, exp.Distinct | exp.Order | exp.Star) for argument in node.expressions
    )
    if not entries or is_aggregate:
        return None
    values = {id(argument): scalar(_value(argument), expr_context) for argument in node.expressions}
    candidates = [
        (entry, placed)
        for entry in entries
        if (placed := _placed(node.expressions, entry.function)) is not None
    ]
    chosen = _chosen(candidates, values)
    if chosen is None:
        raise unknown_function(names, [values[id(argument)] for argument in node.expressions])
    entry, placed = chosen
    types = entry.function.types
    planned = [_planned(argument, values, expr_context) for argument in placed]
    call = DefinedCall(
        entry,
        tuple(coerce(value, type) for value, type in zip(planned, types, strict=True)),
        tuple(value.type != type for value, type in zip(planned, types, strict=True)),
    )
    context.depends_on.add(entry.id)
    if _NUMBER in node.meta:
        context.calls[node.meta[_NUMBER]] = call
    return call


def _value(argument: exp.Expr) -> exp.Expr:
    return argument.expression if isinstance(argument, exp.Kwarg) else argument


def _placed(arguments: Sequence[exp.Expr], function: FunctionDefinition) -> list[exp.Expr] | None:
    """The argument or default of each parameter; None if the function does not take these."""
    named = named_arguments(arguments)
    count = len(arguments) - len(named)
    parameters = function.parameters[count:]
    placed = [
        *arguments[:count],
        *(named.pop(parameter.name, parameter.default) for parameter in parameters),
    ]
    is_complete = len(placed) == len(function.parameters) and None not in placed
    return placed if is_complete and not named else None


Candidate = tuple[FunctionEntry, list[exp.Expr]]


def _chosen(candidates: Sequence[Candidate], values: Mapping[int, Planned]) -> Candidate | None:
    """The function to which PostgreSQL's rules lead: most of its parameters have the types of their
    arguments, then most have types that are preferred. Raises ``AmbiguousFunction``."""
    fitting: dict[tuple[int, int], list[tuple[Candidate, list[ScalarType]]]] = {}
    for entry, placed in candidates:
        pairs = [
            (values[id(argument)].type, type)
            for argument, type in zip(placed, entry.function.types, strict=True)
            if id(argument) in values
        ]
        parameter_types = [type for _, type in pairs]
        if exact((parameter_types, BOOLEAN))(tuple(type for type, _ in pairs), {}) is None:
            continue
        same = [type is not None and type.name is parameter.name for type, parameter in pairs]
        preferred = [type in _PREFERRED for type in parameter_types]
        score = sum(same), sum(map(operator.or_, same, preferred))
        fitting.setdefault(score, []).append(((entry, placed), parameter_types))
    if not fitting:
        return None
    best = fitting[max(fitting)]
    (chosen, parameter_types), *others = sorted(best, key=lambda candidate: len(candidate[0][1]))
    if any(types != parameter_types for _, types in others):
        types = [value.type for value in values.values()]
        raise AmbiguousFunction(
            chosen[0].function.name, ["unknown" if type is None else str(type) for type in types]
        )
    return chosen


_PREFERRED = (BOOLEAN, DOUBLE, TEXT, TIMESTAMPTZ, INTERVAL, OID)
"""The types that PostgreSQL prefers, one of each category."""


def _planned(
    argument: exp.Expr, values: Mapping[int, Planned], expr_context: ExprContext
) -> Planned:
    if id(argument) in values:
        return values[id(argument)]
    return scalar(argument, replace(expr_context, scope=Scope()))  # a default


# --- the text of a definition ---


def number_names(definition: exp.Expr) -> None:
    """Give each name of a relation or function in the definition a number, which copies of its node
    have too: what planning names in a copy is known by it in the definition."""
    for number, node in enumerate(definition.find_all(exp.Table, exp.Anonymous)):
        node.meta[_NUMBER] = number


def qualify_names(definition: exp.Expr, context: Context) -> None:
    """Write the full names of all relations and functions that planning named into the definition.
    A call gets all arguments with their types, so that it calls the same function whatever others
    there will be."""
    numbered = list(definition.find_all(exp.Table, exp.Anonymous))
    written = {node.meta.pop(_NUMBER): node for node in numbered if _NUMBER in node.meta}
    for table, name in context.named:
        original, full = written.get(table.meta.get(_NUMBER), table), name.to_table()
        for part in ("this", "db", "catalog"):
            original.set(part, full.args.get(part))
    for number, call in context.calls.items():
        node = written[number]
        assert isinstance(node, exp.Anonymous)
        _qualify(node, call)


def _qualify(node: exp.Anonymous, call: DefinedCall) -> None:
    placed = _placed(node.expressions, call.function) or []
    arguments = []
    for argument, type, is_cast in zip(placed, call.function.types, call.casts, strict=True):
        value = _value(argument).copy()
        to = type_syntax(type)
        arguments.append(exp.Cast(this=value, to=to) if is_cast else value)
    node.set("expressions", arguments)
    name = call.entry.name
    if isinstance(node.parent, exp.Table):
        table = name.to_table()
        node.parent.set("db", table.args.get("db"))
        node.parent.set("catalog", table.args.get("catalog"))
        return
    written: exp.Expr = node
    if isinstance(node.parent, exp.Dot) and node.parent.expression is node:
        written = node.parent
    qualifier: exp.Expr = identifier(name.schema)
    if name.database is not None:
        qualifier = exp.Dot(this=identifier(name.database), expression=qualifier)
    written.replace(exp.Dot(this=qualifier, expression=node.copy()))


# --- the body of a function ---


def number_parameters(query: exp.Expr, count: int) -> None:
    """Make a column of each ``$1`` in the body of a function with so many parameters. Raises
    ``UnknownParameter``."""
    for node in list(query.find_all(exp.Parameter)):
        number = node.this.name
        if not number.isdigit() or not 1 <= int(number[:9]) <= count:
            raise UnknownParameter(to_sql(node))
        node.replace(exp.Column(this=exp.Identifier(this=f"${number}", quoted=True)))


def parameter_scope(function: FunctionDefinition, uses: list[int] | None = None) -> Scope:
    """What the body of a function can name: its parameters, and then the same as ``$1``, …. Each
    use of a parameter is counted in ``uses``."""
    names = [*(parameter.name for parameter in function.parameters)]
    names += [f"${i}" for i in range(1, len(names) + 1)]

    def column(position: int, name: str) -> ScopeColumn:
        parameter = position % len(function.parameters)

        def on_use() -> None:
            if uses is not None:
                uses[parameter] += 1

        return ScopeColumn(
            function.name,
            name,
            function.parameters[parameter].type,
            is_around=True,
            on_use=on_use,
        )

    return Scope(tuple(column(i, name) for i, name in enumerate(names)))


def body_context(context: Context) -> Context:
    """The context of the body of a function that is called in ``context``: it sees nothing of the
    query around, and its text has full names."""
    return replace(
        context,
        session=replace(context.session, parameters=NO_PARAMETERS),
        ctes={},
        outer_widths={},
        without_rows=frozenset(),
        named=[],
        calls={},
        depends_on=set(),
        around=None,
    )


def planned_body(
    function: FunctionDefinition, context: Context, arguments: Plan | None = None
) -> PlannedQuery:
    """The body for each row of ``arguments``, whose columns follow those of the body. Without, for
    rows that are not known yet."""
    scope = parameter_scope(function)
    if not scope.columns:
        return context.queries.plan(function.body, context)
    desc = RelationDesc(tuple(Column(column.name, column.type) for column in scope.columns))
    rows = Get(AROUND, "around", desc) if arguments is None else arguments
    return context.queries.plan(function.body, replace(context, around=ScopedPlan(rows, scope)))


def only_expression(query: exp.Expr) -> exp.Expr | None:
    """The expression that is all there is of the query, as in ``SELECT a + b``."""
    if not isinstance(query, exp.Select) or len(query.expressions) != 1:
        return None
    if any(value for name, value in query.args.items() if name != "expressions"):
        return None
    item = query.expressions[0].unalias()
    is_starred = item.is_star or isinstance(item, exp.Star)
    return None if is_starred else item


# --- a call in an expression ---


def called_value(call: DefinedCall, subqueries: Subqueries, clause: str) -> TypedExpr:
    """The value of the call; ``Elements`` of a function of several rows. ``subqueries`` plans those
    of the body. Raises ``UnsupportedSql`` for a function of records."""
    function = call.function
    if len(function.columns) != 1:
        raise UnsupportedSql(
            f"function {function.name}, which returns records, is not supported here",
            hint=f"call it in FROM: SELECT … FROM {function.name}(…)",
        )
    uses = [int(function.is_strict)] * len(function.parameters)
    scope = parameter_scope(function, uses)
    value = _value_of_body(function, scope, subqueries, clause)
    if function.is_strict and function.parameters:
        known = [negated(is_null(parameter)) for parameter in parameter_columns(function)]
        value = Case(((balanced("and", known), value),), Literal(None, value.type), value.type)
    _check_uses(call, uses)
    if has(value, SubqueryValue) and any(
        has(argument, InWindow, Elements) for argument in call.arguments
    ):
        raise UnsupportedSql(
            f"a window function or a function of several rows as an argument of {function.name} is "
            "not supported",
            hint="compute it in a subquery in FROM",
        )
    value = with_arguments(value, [*call.arguments, *call.arguments])
    return Elements(value) if function.is_set else value


def parameter_columns(function: FunctionDefinition) -> list[TypedExpr]:
    return [ColumnRef(i, type) for i, type in enumerate(function.types)]


def _value_of_body(
    function: FunctionDefinition, scope: Scope, subqueries: Subqueries, clause: str
) -> TypedExpr:
    query = exp.Subquery(this=function.body)
    if function.is_set:
        return subqueries.array(query, scope)
    item = only_expression(function.body)
    if item is not None:
        try:
            value = scalar(item, ExprContext(scope, subqueries, clause))
            return coerce(value, function.columns[0].type)
        except AggregateNotAllowed:
            pass  # of the rows of a query without FROM
    return subqueries.value(query, scope)


def _check_uses(call: DefinedCall, uses: Sequence[int]) -> None:
    """Raises ``UnsupportedSql`` if an argument with another value each time would be computed more
    than once."""
    for argument, count, parameter in zip(
        call.arguments, uses, call.function.parameters, strict=True
    ):
        if count > 1 and any(map(_is_volatile, walk(argument))):
            raise UnsupportedSql(
                f"a volatile argument of {call.function.name} is not supported",
                detail=f'the function uses its parameter "{parameter.name}" more than once, and each '
                "use would have a value of its own",
                hint="compute the argument in a subquery in FROM",
            )


def _is_volatile(part: TypedExpr) -> bool:
    return isinstance(part, Call) and part.function in VOLATILE_FUNCTIONS
