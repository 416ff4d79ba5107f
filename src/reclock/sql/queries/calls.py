"""Calls of functions: aggregates, functions that users define, those of the registry, and functions
about the session, the catalog or the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from reclock.errors import (
    AggregateNotAllowed,
    NotComposite,
    OverRequired,
    SubqueryWidth,
    UnknownFunction,
    UnsupportedSql,
    WithinGroupRequired,
)
from reclock.plan.functions import AGGREGATES
from reclock.sql.names import fold
from reclock.sql.queries.aggregate_calls import (
    COLLECTING_AGGREGATES,
    aggregate_call,
    collecting_aggregate,
    reject_clause,
)
from reclock.sql.queries.call_forms import positional
from reclock.sql.queries.catalog_functions import CATALOG_FUNCTIONS, expression
from reclock.sql.queries.coercion import coerce, common_type, default_to_text
from reclock.sql.queries.defined_calls import (
    about_session,
    catalog_call,
    privilege_call,
    with_body,
)
from reclock.sql.queries.expressions import (
    SESSION_WORDS,
    ExprContext,
    dotted_parts,
    function_name,
    row_values,
    scalar,
    typed,
    written_name,
)
from reclock.sql.queries.list_calls import list_of_rows, map_of_rows, row_function
from reclock.sql.queries.ordered_sets import ORDERED_SETS
from reclock.sql.queries.outer_aggregates import check_level
from reclock.sql.queries.overloads import call, unknown_function
from reclock.sql.queries.planned import Elements, GroupingCall, Planned, TypedExpr
from reclock.sql.queries.privilege_functions import PRIVILEGE_FUNCTIONS
from reclock.sql.queries.record_values import field, is_record, record_of
from reclock.sql.queries.row_functions import COLUMNS, PAIRS, ROW_FUNCTIONS
from reclock.sql.queries.scope import Scope
from reclock.sql.queries.session_functions import is_about_session
from reclock.sql.queries.special_calls import Called, special_arguments, special_call
from reclock.sql.queries.sql_functions import overload
from reclock.sql.queries.variadic import is_variadic, without_variadic
from reclock.sql.queries.windows import WINDOW_FUNCTIONS, window_call
from reclock.sql.syntax.consumption import tracked_copy
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.places import at


@scalar.register
def _function(node: exp.Anonymous, context: ExprContext) -> TypedExpr:
    name = function_name(node)
    if is_variadic(node):
        return typed(without_variadic(node, name), context)
    if (value := _defined([written_name(node)], node, context)) is not None:
        return value
    arguments = positional(name, node.expressions)
    if (value := _of_rows(node, name, arguments, context)) is not None:
        return value
    for argument in arguments:
        if (clause := _AGGREGATE_CLAUSES.get(type(argument))) is not None:
            reject_clause(clause.format(name), node, context)
    if name == "row":
        return record_of(list(map(default_to_text, row_values(arguments, context))))
    values = special_arguments(name, [scalar(argument, context) for argument in arguments])
    with at(node, UnknownFunction):
        value = special_call(Called(name, arguments, values, context))
    if value is not None:
        return value
    with at(node):
        try:
            return _plain_call(name, values, context)
        except UnknownFunction:
            if name in _OF_ONE_TYPE and values:
                common_type([value.type for value in values], name.upper(), arguments)
            raise


_OF_ONE_TYPE = ("coalesce", "greatest", "least")


_AGGREGATE_CLAUSES: dict[type[exp.Expr], str] = {
    exp.Distinct: "DISTINCT",
    exp.Order: "ORDER BY",
    exp.Star: "{}(*)",
}
"""What stands as an argument and only aggregates take."""


def _of_rows(
    node: exp.Anonymous, name: str, arguments: list[exp.Expr], context: ExprContext
) -> TypedExpr | None:
    """The value of a call that is about several rows: an aggregate, GROUPING, or the array of a
    query."""
    query = _query(arguments)
    if query is not None:
        if name in ("array", "list"):
            with at(node, SubqueryWidth):
                rows = context.subqueries.array(query, context.scope)
            return list_of_rows(rows) if name == "list" else rows
        if name == "map":
            return map_of_rows(context.subqueries.array(_of_whole_rows(query), context.scope))
    if name in ORDERED_SETS:
        with at(node):
            raise WithinGroupRequired(name)
    if name in COLLECTING_AGGREGATES:
        return collecting_aggregate(node, name, arguments, None, context)
    if name in AGGREGATES:
        return aggregate_call(node, name, arguments, None, context)
    if name == "grouping" and arguments:
        return _grouping(node, context)
    return None


def _query(arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """The only argument, if it is a query. What ORDER BY follows is VALUES, or in parentheses."""
    argument = arguments[0] if len(arguments) == 1 else None
    if isinstance(argument, exp.Order) and isinstance(argument.this, exp.Query | exp.Values):
        alias = exp.TableAlias(this=exp.to_identifier("rows"))
        source = exp.Subquery(this=tracked_copy(argument.this), alias=alias)
        return exp.Select(
            expressions=[exp.Star()],
            from_=exp.From(this=source),
            order=exp.Order(expressions=[tracked_copy(term) for term in argument.expressions]),
        )
    return argument if isinstance(argument, exp.Query | exp.Values) else None


def _of_whole_rows(query: exp.Expr) -> exp.Expr:
    """The rows of ``query``, each as one record."""
    alias = exp.TableAlias(this=exp.to_identifier("entry"))
    source = exp.Subquery(this=tracked_copy(query), alias=alias)
    return exp.Select(
        expressions=[exp.Column(this=exp.to_identifier("entry"))], from_=exp.From(this=source)
    )


def _plain_call(name: str, values: list[Planned], context: ExprContext) -> TypedExpr:
    if is_about_session(name):
        return about_session(name, values, context)
    if name in CATALOG_FUNCTIONS:
        return catalog_call(name, values, context)
    if name in PRIVILEGE_FUNCTIONS:
        return privilege_call(name, values, context)
    if (defined := overload(name, tuple(value.type for value in values))) is not None:
        coerced = [coerce(value, type) for value, type in zip(values, defined.types, strict=True)]
        return with_body(defined.types, expression(defined.body), coerced, context)
    if name in WINDOW_FUNCTIONS:
        window_call(name, values)
        raise OverRequired(name)
    if name in ROW_FUNCTIONS:
        return _elements(name, values, context)
    if name in _OPERATOR_NAMES or not name.isidentifier():
        raise unknown_function([name], values)
    return call(name, values)


def _defined(names: Sequence[str], node: exp.Anonymous, context: ExprContext) -> TypedExpr | None:
    """The value of a call of a function that a user defined; None if there is none of that
    name."""
    with at(node):
        value = context.subqueries.defined(names, node, context)
    if isinstance(value, Elements):
        _check_answers_rows(names[-1], context)
    return value


def _grouping(node: exp.Anonymous, context: ExprContext) -> TypedExpr:
    within = replace(context, takes_aggregates=False)
    called = GroupingCall(tuple(typed(argument, within) for argument in node.expressions))
    check_level(node, called, context.scope)
    if not context.takes_aggregates:
        raise AggregateNotAllowed(f"grouping operations are not allowed in {context.clause}")
    return called


_OPERATOR_NAMES = frozenset(
    {
        *(
            "and",
            "or",
            "not",
            "is_null",
            "is_not_distinct",
            "is_true",
            "is_false",
            "negate",
            "like",
            "ilike",
        ),
        *("array", "elements", "series", "slice", "subscript", "within_length", "name"),
        "left_of_each",
    }
)
"""Names of operators in the registry, which SQL cannot call as functions."""


@scalar.register
def _qualified_function(node: exp.Dot, context: ExprContext) -> Planned:
    """A function with its schema, or a field of a record."""
    if isinstance(node.expression, exp.Anonymous):
        schema = "information_schema" if function_name(node.expression) == PAIRS else "pg_catalog"
        if fold(node.this) == schema:
            return scalar(node.expression, context)
        names = [*map(fold, dotted_parts(node.this)), written_name(node.expression)]
        if (value := _defined(names, node.expression, context)) is not None:
            return value
        values = [scalar(argument, context) for argument in node.expression.expressions]
        with at(node):
            raise unknown_function(names, values)
    if isinstance(node.expression, exp.Identifier):
        if (column := _column_of_row(node, context.scope)) is not None:
            return scalar(column, context)
        value = typed(node.this, context)
        if not is_record(value):
            with at(node.this):
                raise NotComposite(str(value.type), fold(node.expression))
        return field(value, fold(node.expression))
    raise UnsupportedSql(f"expression {to_sql(node)[:80]} is not supported")


def _column_of_row(node: exp.Dot, scope: Scope) -> exp.Column | None:
    """``i.x`` for ``(i).x``, if ``i`` is a relation of FROM: the name of its column counts, not that
    of the field in its row."""
    row = node.this.unnest()
    if (
        not isinstance(row, exp.Column)
        or len(row.parts) > 1
        or scope.find(fold(row.this)) is not None
    ):
        return None
    if not scope.row_of([fold(row.this)]):
        return None
    return exp.Column(this=tracked_copy(node.expression), table=tracked_copy(row.this))


def _session_word(node: exp.Expr, context: ExprContext) -> TypedExpr:
    return about_session(SESSION_WORDS[type(node)], [], context)


for _word in SESSION_WORDS:
    scalar.register(_word)(_session_word)


def _elements(name: str, values: Sequence[Planned], context: ExprContext) -> TypedExpr:
    _check_answers_rows(name, context)
    name, values = row_function(name, values)
    columns = ROW_FUNCTIONS[name](call, values)
    elements: list[TypedExpr] = [Elements(column) for column in columns]
    if len(elements) == 1:
        return elements[0]
    return record_of(elements, COLUMNS.get(name, ()))


def _check_answers_rows(name: str, context: ExprContext) -> None:
    is_output = context.takes_aggregates and context.clause in ("SELECT", "ORDER BY")
    if not is_output and context.clause != "GROUP BY":
        raise UnsupportedSql(f"{name}, which answers rows, is not supported in {context.clause}")
