"""Subqueries as syntax: the query that stands for one in the plan."""

from __future__ import annotations

from sqlglot import exp

from reclock.errors import InvalidColumnReference, SqlSyntaxError
from reclock.sql.parameters import Parameters
from reclock.sql.queries.around import NOT_ALONE
from reclock.sql.queries.expressions import reject_unsupported
from reclock.sql.queries.limits import limits
from reclock.sql.syntax.consumption import consume, tracked_copy


def unwrapped(node: exp.Expr) -> exp.Expr:
    """The query within parentheses that have no clauses of their own."""
    while isinstance(node, exp.Subquery) and not any(
        node.args.get(name) for name in ("order", "limit", "offset", "with_")
    ):
        reject_unsupported(node, "this")
        node = node.this
    return node


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
