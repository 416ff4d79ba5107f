"""Roles, and who may do what: the statements as text."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql import role_nodes
from reclock.sql.writing import clause, joined, listed, when, writes


def _role_options(write: Generator, node: exp.Expression) -> str:
    attributes = (attribute.name for attribute in node.args.get("attributes") or ())
    return joined(*attributes, clause(write, "PASSWORD", node, "password"))


@writes(role_nodes.CreateRoleStatement)
def _create_role(write: Generator, node: exp.Expression) -> str:
    return joined("CREATE ROLE", write.sql(node, "this"), _role_options(write, node))


@writes(role_nodes.AlterRoleStatement)
def _alter_role(write: Generator, node: exp.Expression) -> str:
    return joined("ALTER ROLE", write.sql(node, "this"), _role_options(write, node))


@writes(role_nodes.AlterRoleRenameStatement)
def _rename_role(write: Generator, node: exp.Expression) -> str:
    return f"ALTER ROLE {write.sql(node, 'this')} RENAME TO {write.sql(node, 'to')}"


@writes(role_nodes.SetDefaultStatement)
def _set_default(write: Generator, node: exp.Expression) -> str:
    whose = clause(write, "ROLE", node, "role") or "SYSTEM"
    variable = write.sql(node, "this") or "ALL"
    change = f"SET {variable} = {listed(write, node, 'values')}" if node.args.get("values") else f"RESET {variable}"
    return f"ALTER {whose} {change}"


@writes(role_nodes.DropRolesStatement)
def _drop_roles(write: Generator, node: exp.Expression) -> str:
    return joined("DROP ROLE", when(node, "exists", "IF EXISTS"), listed(write, node, "names"))


@writes(role_nodes.AlterOwnerStatement)
def _alter_owner(write: Generator, node: exp.Expression) -> str:
    return f"ALTER {node.args['kind']} {write.sql(node, 'this')} OWNER TO {write.sql(node, 'to')}"


@writes(role_nodes.ReassignOwnedStatement)
def _reassign_owned(write: Generator, node: exp.Expression) -> str:
    return f"REASSIGN OWNED BY {listed(write, node, 'roles')} TO {write.sql(node, 'to')}"


@writes(role_nodes.DropOwnedStatement)
def _drop_owned(write: Generator, node: exp.Expression) -> str:
    return joined(f"DROP OWNED BY {listed(write, node, 'roles')}", node.args.get("behavior") or "")


def _grantees(write: Generator, node: exp.Expression, name: str) -> str:
    return f"{'TO' if node.args['verb'] == 'GRANT' else 'FROM'} {listed(write, node, name)}"


@writes(role_nodes.PrivilegesStatement)
def _privileges(write: Generator, node: exp.Expression) -> str:
    granted = listed(write, node, "privileges") or "ALL PRIVILEGES"
    on = joined("ON", node.args["kind"], listed(write, node, "names"))
    return joined(node.args["verb"], granted, on, _grantees(write, node, "grantees"))


@writes(role_nodes.MembershipStatement)
def _membership(write: Generator, node: exp.Expression) -> str:
    return joined(node.args["verb"], listed(write, node, "roles"), _grantees(write, node, "members"))


@writes(role_nodes.DefaultPrivilegesStatement)
def _default_privileges(write: Generator, node: exp.Expression) -> str:
    owners = f"FOR ROLE {listed(write, node, 'owners')}" if node.args.get("owners") else when(node, "is_for_all", "FOR ALL ROLES")
    within = f"IN {node.args['within']} {listed(write, node, 'names')}" if node.args.get("within") else ""
    granted = listed(write, node, "privileges") or "ALL PRIVILEGES"
    changed = f"{node.args['verb']} {granted} ON {node.args['kind']}S"
    return joined("ALTER DEFAULT PRIVILEGES", owners, within, changed, _grantees(write, node, "grantees"))


@writes(role_nodes.ShowPrivilegesStatement)
def _show_privileges(write: Generator, node: exp.Expression) -> str:
    kind = f"ON {node.args['kind']}" if node.args.get("kind") else ""
    default = when(node, "is_default", "DEFAULT")
    return joined("SHOW", default, "PRIVILEGES", kind, clause(write, "FOR", node, "role"), clause(write, "WHERE", node, "where"))
