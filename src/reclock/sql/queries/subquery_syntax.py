"""Subqueries as syntax: the query that stands for one in the plan."""

from __future__ import annotations

from typing import TypeGuard

from sqlglot import exp

from reclock.errors import InvalidColumnReference, SqlSyntaxError
from reclock.sql.parameters import Parameters
from reclock.sql.queries.around import NOT_ALONE
from reclock.sql.queries.expressions import function_name, reject_unsupported
from reclock.sql.queries.limits import limits
from reclock.sql.queries.row_functions import ROW_FUNCTIONS
from reclock.sql.syntax.consumption import consume, tracked_copy

_CUT = ("distinct", "group", "having", "limit", "offset", "with_")
_CLAUSES = {"order": "ORDER BY", "limit": "LIMIT", "offset": "OFFSET"}


def unwrapped(node: exp.Expr) -> exp.Expr:
    """The query within parentheses that have no WITH before them."""
    while isinstance(node, exp.Subquery) and not node.args.get("with_"):
        reject_unsupported(node, "this", *_CLAUSES)
        node = inside(node)
    return node


def inside(node: exp.Subquery) -> exp.Expr:
    """The query within the parentheses, with the clauses after them, which are its own: ``(SELECT a
    FROM t LIMIT 1) ORDER BY a`` is ``SELECT a FROM t ORDER BY a LIMIT 1``. Raises
    ``SqlSyntaxError`` if it has such a clause already."""
    query: exp.Expr = node.this
    if not any(node.args.get(clause) for clause in _CLAUSES):
        return query
    node = tracked_copy(node)
    query = node.this
    if isinstance(query, exp.Subquery) and not query.args.get("with_"):
        reject_unsupported(query, "this", *_CLAUSES)
        query = inside(query)
    for clause, written in _CLAUSES.items():
        if node.args.get(clause) and query.args.get(clause):
            raise SqlSyntaxError(f"multiple {written} clauses not allowed")
        if node.args.get(clause):
            query.set(clause, node.args[clause])
    return query


def has_value_of_each_row(query: exp.Expr) -> TypeGuard[exp.Select]:
    """Whether the rows of ``query`` are those of its FROM and WHERE, each with one value."""
    if not isinstance(query, exp.Select) or len(query.expressions) != 1 or query.is_star:
        return False
    if any(query.args.get(clause) for clause in _CUT):
        return False
    return not answers_rows(query.expressions[0])


def answers_rows(value: exp.Expr) -> bool:
    """Whether it calls a function of several rows, outside of a subquery."""
    outside = value.walk(prune=lambda part: isinstance(part, exp.Query))
    return any(
        isinstance(expression, exp.Anonymous) and function_name(expression) in ROW_FUNCTIONS
        for expression in outside
    )


def ordered_by(term: exp.Expr, item: exp.Expr) -> exp.Expr:
    """``term`` of ORDER BY in a query whose only column is ``item``."""
    if not isinstance(term, exp.Literal):
        return term
    if term.is_string or not term.name.isdigit():
        raise SqlSyntaxError("non-integer constant in ORDER BY")
    if term.name != "1":
        raise InvalidColumnReference(f"ORDER BY position {term.name} is not in select list")
    return item


def without_limit(query: exp.Expr, parameters: Parameters) -> exp.Expr:
    """The query without a LIMIT that keeps a row if there is one."""
    if query.args.get("limit") is None:
        return query
    try:
        limit, offset = limits(query, parameters)
    except NOT_ALONE:
        return query
    if offset or limit is None or limit < 1:
        return query
    if query.args.get("order") is not None:
        consume(query.args["order"])
    query = tracked_copy(query)
    query.set("limit", None)
    query.set("order", None)
    return query
