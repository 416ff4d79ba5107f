"""SHOW as the relation of a query: ``SELECT … FROM (SHOW TABLES)``."""

from __future__ import annotations

from sqlglot import exp

from reclock.plan.build import project
from reclock.sql.names import identifier
from reclock.sql.planning.statement import plan_node
from reclock.sql.queries.context import Context
from reclock.sql.statements.query.values import Select
from reclock.sql.syntax.consumption import tracked_copy
from reclock.sql.syntax.nodes import Statement


def with_listings(query: exp.Expr, context: Context) -> tuple[exp.Expr, Context]:
    """The query with a name in place of each SHOW, and a context that has its rows under this name.

    The rows are those of the moment at which the query is planned, so that a definition, or a query
    whose changes are followed, cannot have a SHOW.
    """
    if not _listings(query):
        return query, context
    query = tracked_copy(query)
    for number, show in enumerate(_listings(query)):
        rows = plan_node(show, context.catalog, context.session)
        assert isinstance(rows, Select)
        name = f"show {number}"
        context = context.with_cte(name, project(rows.plan, range(len(rows.desc))))
        table = exp.Table(this=identifier(name))
        show.replace(exp.Select(expressions=[exp.Star()], from_=exp.From(this=table)))
    return query, context


def _listings(query: exp.Expr) -> list[Statement]:
    """What the query has as relations. A statement that is a query of WITH changes a table."""
    return [node for node in query.find_all(Statement) if not isinstance(node.parent, exp.CTE)]
