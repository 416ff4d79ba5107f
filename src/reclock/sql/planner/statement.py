"""The way from a parsed statement to a planned one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sqlglot import exp

from reclock.errors import ExperimentalFeature, UnsupportedSql
from reclock.sql import cluster_nodes, connection_nodes, nodes, role_nodes
from reclock.sql.catalog import PlannerCatalog
from reclock.sql.consumption import check_consumed
from reclock.sql.dialect import to_sql
from reclock.sql.names import SessionNames, fold
from reclock.sql.parse import ParsedStatement
from reclock.sql.planner import alter, clusters, create, drop, modify, show
from reclock.sql.planner.connections import alter_secret, create_connection, create_secret, validate_connection
from reclock.sql.planner.copy import plan_copy
from reclock.sql.planner.create_table import create_table, create_table_as
from reclock.sql.planner.effects import plan_statement_of_query
from reclock.sql.planner.privileges import (
    change_default_privileges,
    change_owner,
    change_privileges,
    drop_owned,
    reassign_owned,
)
from reclock.sql.planner.roles import alter_role, change_membership, create_role, drop_roles, rename_role, set_role, user_role
from reclock.sql.planner.schemas import create_schema, drop_schemas
from reclock.sql.planner.select_statement import plan_query_statement
from reclock.sql.planner.show_privileges import show_privileges
from reclock.sql.planner.sinks import create_sink
from reclock.sql.planner.subscribe import plan_subscribe
from reclock.sql.role_statements import SetDefault
from reclock.sql.statements import (
    Explain,
    ResetVariable,
    SetRole,
    SetVariable,
    ShowVariable,
    Skipped,
    Statement,
    TransactionControl,
)

ROLE = "role"
"""The variable that SET ROLE sets."""

Planner = Callable[[Any, PlannerCatalog, SessionNames], Statement]


def plan_statement(parsed: ParsedStatement, catalog: PlannerCatalog, session: SessionNames | None = None) -> Statement:
    """The statement with every name resolved and every expression typed. A function of its arguments; raises ``ReclockError``."""
    if not catalog.settings.experimental_mode and (what := clusters.experimental(parsed.node)) is not None:
        raise ExperimentalFeature(what)
    try:
        planned = PLANNERS[type(parsed.node)](parsed.node, catalog, session or SessionNames())
    except RecursionError as error:
        raise UnsupportedSql("the statement is nested too deeply") from error
    if not isinstance(planned, Skipped):
        check_consumed(parsed.node)
    return planned


def plan_explain(node: nodes.ExplainStatement, catalog: PlannerCatalog, session: SessionNames) -> Explain:
    return Explain(plan_query_statement(node.this, catalog, session), is_timestamp=node.args["kind"] == "TIMESTAMP")


def set_variable(node: nodes.SetVariableStatement, catalog: PlannerCatalog, session: SessionNames) -> SetVariable | SetRole:
    name, values = fold(node.this), _settings(node)
    if name == ROLE:
        return set_role(",".join(values) if values is not None else "none", catalog)
    return SetVariable(name, values, node.args.get("scope") == "LOCAL")


def reset_variable(node: nodes.ResetVariableStatement, catalog: PlannerCatalog, session: SessionNames) -> ResetVariable | SetRole:
    name = _variable_name(node)
    return replace(set_role("none", catalog), tag="RESET") if name == ROLE else ResetVariable(name)


def set_default(node: role_nodes.SetDefaultStatement, catalog: PlannerCatalog, session: SessionNames) -> SetDefault:
    role = user_role(node.args["role"], catalog, session) if node.args.get("role") is not None else None
    return SetDefault(role.id if role is not None else None, _variable_name(node), _settings(node))


def _settings(node: nodes.Statement) -> tuple[str, ...] | None:
    values = node.args.get("values")
    return tuple(_setting(value) for value in values) if values else None


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


DESCRIBED: frozenset[type[nodes.Statement]] = frozenset(
    {
        nodes.QueryStatement,
        nodes.SubscribeStatement,
        nodes.ExplainStatement,
        nodes.InsertStatement,
        nodes.UpdateStatement,
        nodes.DeleteStatement,
        nodes.ShowObjectsStatement,
        nodes.ShowColumnsStatement,
        nodes.ShowCreateStatement,
        nodes.ShowVariableStatement,
        role_nodes.ShowPrivilegesStatement,
        nodes.InsertStatement,
        nodes.UpdateStatement,
        nodes.DeleteStatement,
    }
)
"""What is planned already when it is prepared: statements that answer rows or take parameters."""


def _of_session(node: nodes.Statement, catalog: PlannerCatalog, session: SessionNames) -> Statement:
    raise UnsupportedSql(f"{to_sql(node).split()[0]} is only for sessions", hint="it cannot be prepared or explained")


PLANNERS: dict[type[nodes.Statement], Planner] = {
    nodes.PrepareStatement: _of_session,
    nodes.ExecuteStatement: _of_session,
    nodes.DeallocateStatement: _of_session,
    nodes.DeclareStatement: _of_session,
    nodes.FetchStatement: _of_session,
    nodes.CloseStatement: _of_session,
    nodes.DiscardStatement: _of_session,
    nodes.UnlistenStatement: _of_session,
    nodes.QueryStatement: plan_statement_of_query,
    nodes.SubscribeStatement: plan_subscribe,
    nodes.ExplainStatement: plan_explain,
    nodes.CreateSourceStatement: create.create_source,
    nodes.CreateSubsourceStatement: create.create_subsource,
    nodes.CreateViewStatement: create.create_view,
    nodes.CreateIndexStatement: create.create_index,
    nodes.CreateSinkStatement: create_sink,
    nodes.CreateTableStatement: create_table,
    connection_nodes.CreateSecretStatement: create_secret,
    connection_nodes.AlterSecretStatement: alter_secret,
    connection_nodes.CreateConnectionStatement: create_connection,
    connection_nodes.ValidateConnectionStatement: validate_connection,
    nodes.CreateTableAsStatement: create_table_as,
    nodes.InsertStatement: modify.insert,
    nodes.UpdateStatement: modify.update,
    nodes.DeleteStatement: modify.delete,
    nodes.TruncateStatement: modify.truncate,
    nodes.CopyStatement: plan_copy,
    nodes.DropStatement: drop.plan_drop,
    nodes.RefreshViewStatement: drop.refresh_view,
    nodes.AlterSourceRetryStatement: alter.retry,
    nodes.AlterSourceResnapshotStatement: alter.resnapshot,
    nodes.AlterSourceWaiveStatement: alter.waive,
    nodes.AlterSourceRestartStatement: alter.restart,
    nodes.AlterSourceSkipStatement: alter.skip,
    nodes.AlterSourceRetainStatement: alter.retain,
    nodes.AlterRenameStatement: alter.rename,
    nodes.ShowObjectsStatement: show.show_objects,
    nodes.ShowColumnsStatement: show.show_columns,
    nodes.ShowCreateStatement: show.show_create,
    nodes.ShowVariableStatement: lambda node, catalog, session: ShowVariable(_variable_name(node)),
    nodes.SetVariableStatement: set_variable,
    nodes.ResetVariableStatement: reset_variable,
    nodes.CreateSchemaStatement: create_schema,
    nodes.DropSchemasStatement: drop_schemas,
    cluster_nodes.CreateClusterStatement: clusters.create_cluster,
    cluster_nodes.AlterClusterStatement: clusters.alter_cluster,
    cluster_nodes.RenameClusterStatement: clusters.rename_cluster,
    cluster_nodes.DropClustersStatement: clusters.drop_clusters,
    cluster_nodes.CreateClusterReplicaStatement: clusters.create_replica,
    cluster_nodes.DropClusterReplicasStatement: clusters.drop_replicas,
    role_nodes.CreateRoleStatement: create_role,
    role_nodes.AlterRoleStatement: alter_role,
    role_nodes.AlterRoleRenameStatement: rename_role,
    role_nodes.DropRolesStatement: drop_roles,
    role_nodes.SetDefaultStatement: set_default,
    role_nodes.MembershipStatement: change_membership,
    role_nodes.PrivilegesStatement: change_privileges,
    role_nodes.DefaultPrivilegesStatement: change_default_privileges,
    role_nodes.AlterOwnerStatement: change_owner,
    role_nodes.ReassignOwnedStatement: reassign_owned,
    role_nodes.DropOwnedStatement: drop_owned,
    role_nodes.ShowPrivilegesStatement: show_privileges,
    nodes.TransactionStatement: lambda node, catalog, session: TransactionControl(
        node.args["kind"], node.args.get("isolation"), node.args.get("access"), fold(node.this) if node.this else ""
    ),
}
