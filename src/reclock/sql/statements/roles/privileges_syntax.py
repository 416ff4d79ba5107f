"""GRANT and REVOKE, default privileges, and what a role owns."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.writing import joined, listed, when, writes


class ReassignOwnedStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"roles": True, "to": True}


class DropOwnedStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"roles": True, "behavior": False}


class PrivilegesStatement(Statement):
    """``verb`` is ``GRANT`` or ``REVOKE``; without ``privileges``, ALL of them. ``kind`` is ``TABLE`` (any relation),
    ``ALL TABLES IN SCHEMA``, ``SCHEMA``, ``DATABASE``, ``CLUSTER``, or ``SYSTEM``, which has no ``names``."""

    arg_types: ClassVar[dict[str, bool]] = {"verb": True, "privileges": False, "kind": True, "names": False, "grantees": True}


class MembershipStatement(Statement):
    """``verb`` is ``GRANT`` or ``REVOKE``."""

    arg_types: ClassVar[dict[str, bool]] = {"verb": True, "roles": True, "members": True}


class DefaultPrivilegesStatement(Statement):
    """Without ``owners`` it is about the current role's objects; ``within`` is ``SCHEMA``, ``DATABASE`` or absent."""

    arg_types: ClassVar[dict[str, bool]] = {
        "owners": False,
        "is_for_all": False,
        "within": False,
        "names": False,
        "verb": True,
        "privileges": False,
        "kind": True,
        "grantees": True,
    }


def _write_grantees(write: Generator, node: exp.Expression, name: str) -> str:
    return f"{'TO' if node.args['verb'] == 'GRANT' else 'FROM'} {listed(write, node, name)}"


@writes(ReassignOwnedStatement)
def _write_reassign_owned(write: Generator, node: exp.Expression) -> str:
    return f"REASSIGN OWNED BY {listed(write, node, 'roles')} TO {write.sql(node, 'to')}"


@writes(DropOwnedStatement)
def _write_drop_owned(write: Generator, node: exp.Expression) -> str:
    return joined(f"DROP OWNED BY {listed(write, node, 'roles')}", node.args.get("behavior") or "")


@writes(PrivilegesStatement)
def _write_privileges(write: Generator, node: exp.Expression) -> str:
    granted = listed(write, node, "privileges") or "ALL PRIVILEGES"
    on = joined("ON", node.args["kind"], listed(write, node, "names"))
    return joined(node.args["verb"], granted, on, _write_grantees(write, node, "grantees"))


@writes(MembershipStatement)
def _write_membership(write: Generator, node: exp.Expression) -> str:
    return joined(node.args["verb"], listed(write, node, "roles"), _write_grantees(write, node, "members"))


@writes(DefaultPrivilegesStatement)
def _write_default_privileges(write: Generator, node: exp.Expression) -> str:
    owners = f"FOR ROLE {listed(write, node, 'owners')}" if node.args.get("owners") else when(node, "is_for_all", "FOR ALL ROLES")
    within = f"IN {node.args['within']} {listed(write, node, 'names')}" if node.args.get("within") else ""
    granted = listed(write, node, "privileges") or "ALL PRIVILEGES"
    changed = f"{node.args['verb']} {granted} ON {node.args['kind']}S"
    return joined("ALTER DEFAULT PRIVILEGES", owners, within, changed, _write_grantees(write, node, "grantees"))
