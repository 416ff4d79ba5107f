"""A query as a statement: its plan, the order and limit of its rows, and its time."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from reclock.algebra.relations import RelationDesc
from reclock.plan.rules import optimize
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames
from reclock.sql.planning.registry import Skipped, plans
from reclock.sql.planning.statement import plan_node
from reclock.sql.queries.context import Context
from reclock.sql.queries.query import new_context, plan_query, with_names
from reclock.sql.statements.query.as_of import plan_as_of
from reclock.sql.statements.query.listings import with_listings
from reclock.sql.statements.query.syntax import ExplainDefinitionStatement, ExplainStatement
from reclock.sql.statements.query.values import Explain, ExplainDefinition, ExplainKind, Select
from reclock.sql.syntax import nodes


def plan_query_statement(
    node: nodes.QueryStatement, catalog: PlannerCatalog, session: SessionNames
) -> Select:
    return plan_query_within(node, new_context(catalog, session))


def plan_query_within(node: nodes.QueryStatement, context: Context) -> Select:
    """The query, which may name the CTEs of ``context``."""
    select = _planned(node, context)
    return replace(select, plan=optimize(select.plan))


def _planned(node: nodes.QueryStatement, context: Context) -> Select:
    """The query before the optimizer's rules."""
    query_node, context = with_listings(node.this, context)
    query = with_names(plan_query(query_node, context), context)
    as_of = (
        plan_as_of(node.args["as_of"], context.session.parameters)
        if node.args.get("as_of") is not None
        else None
    )
    desc = RelationDesc(query.plan.desc.columns[: query.visible])
    return Select(query.plan, query.finishing, desc, as_of, frozenset(context.depends_on))


def plan_bare_query(node: exp.Expr, catalog: PlannerCatalog, session: SessionNames) -> Select:
    """A query that is a part of another statement."""
    return plan_query_statement(nodes.QueryStatement(this=node), catalog, session)


@plans(ExplainStatement, returns_rows=True)
def plan_explain(node: ExplainStatement, catalog: PlannerCatalog, session: SessionNames) -> Explain:
    select = _planned(node.this, new_context(catalog, session))
    return Explain(
        replace(select, plan=optimize(select.plan)),
        ExplainKind(node.args["kind"]),
        select.plan,
        is_json=node.args["format"] == "JSON",
    )


@plans(ExplainDefinitionStatement, returns_rows=True)
def plan_explain_definition(
    node: ExplainDefinitionStatement, catalog: PlannerCatalog, session: SessionNames
) -> ExplainDefinition | Skipped:
    planned = plan_node(node.this, catalog, session)
    if isinstance(planned, Skipped):
        return replace(planned, tag="EXPLAIN")
    return ExplainDefinition(planned)
