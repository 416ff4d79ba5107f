"""The way from a parsed statement to a planned one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from reclock.algebra.relations import RelationDesc
from reclock.errors import UnsupportedSql
from reclock.sql import nodes
from reclock.sql.catalog import PlannerCatalog
from reclock.sql.names import SessionNames, fold
from reclock.sql.parse import ParsedStatement
from reclock.sql.planner import alter, create, drop, show
from reclock.sql.planner.as_of import plan_as_of
from reclock.sql.planner.pushdown import push_filters
from reclock.sql.planner.query import new_context, plan_query
from reclock.sql.statements import Explain, ResetVariable, Select, SetVariable, ShowVariable, Statement, Transaction

Planner = Callable[[Any, PlannerCatalog, SessionNames], Statement]


def plan_statement(parsed: ParsedStatement, catalog: PlannerCatalog, session: SessionNames | None = None) -> Statement:
    """The statement with every name resolved and every expression typed. A function of its arguments; raises ``ReclockError``."""
    try:
        return PLANNERS[type(parsed.node)](parsed.node, catalog, session or SessionNames())
    except RecursionError as error:
        raise UnsupportedSql("the statement is nested too deeply") from error


def plan_select(node: nodes.QueryStatement, catalog: PlannerCatalog, session: SessionNames) -> Select:
    context = new_context(catalog, session)
    query = plan_query(node.this, context)
    as_of = plan_as_of(node.args["as_of"]) if node.args.get("as_of") is not None else None
    desc = RelationDesc(query.plan.desc.columns[: query.visible])
    return Select(push_filters(query.plan), query.finishing, desc, as_of, frozenset(context.depends_on))


def plan_explain(node: nodes.ExplainStatement, catalog: PlannerCatalog, session: SessionNames) -> Explain:
    return Explain(plan_select(node.this, catalog, session), is_timestamp=node.args["kind"] == "TIMESTAMP")


def set_variable(node: nodes.SetVariableStatement, catalog: PlannerCatalog, session: SessionNames) -> SetVariable:
    values = node.args.get("values")
    return SetVariable(
        fold(node.this), tuple(_setting(value) for value in values) if values else None, node.args.get("scope") == "LOCAL"
    )


def _setting(node: exp.Expr) -> str:
    match node:
        case exp.Boolean():
            return "on" if node.this else "off"
        case exp.Literal():
            return node.name
        case _:
            return fold(node)


def _variable_name(node: nodes.Statement) -> str | None:
    return fold(node.this) if node.this is not None else None


PLANNERS: dict[type[nodes.Statement], Planner] = {
    nodes.QueryStatement: plan_select,
    nodes.ExplainStatement: plan_explain,
    nodes.CreateSourceStatement: create.create_source,
    nodes.CreateViewStatement: create.create_view,
    nodes.CreateIndexStatement: create.create_index,
    nodes.DropStatement: drop.plan_drop,
    nodes.AlterSourceRetryStatement: alter.retry,
    nodes.AlterSourceWaiveStatement: alter.waive,
    nodes.AlterSourceSkipStatement: alter.skip,
    nodes.AlterSourceRenameStatement: alter.rename,
    nodes.ShowObjectsStatement: show.show_objects,
    nodes.ShowColumnsStatement: show.show_columns,
    nodes.ShowCreateStatement: show.show_create,
    nodes.ShowVariableStatement: lambda node, catalog, session: ShowVariable(_variable_name(node)),
    nodes.SetVariableStatement: set_variable,
    nodes.ResetVariableStatement: lambda node, catalog, session: ResetVariable(_variable_name(node)),
    nodes.TransactionStatement: lambda node, catalog, session: Transaction(
        node.args["kind"], node.args.get("isolation"), node.args.get("access")
    ),
}
