"""Syntax nodes of statements about roles, owners and privileges."""

from __future__ import annotations

from typing import ClassVar

from reclock.sql.nodes import Statement


class CreateRoleStatement(Statement):
    """``attributes`` are words as they were written, upper case; ``password`` is what is kept of it, NULL to have none."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "attributes": False, "password": False}


class AlterRoleStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "attributes": False, "password": False}


class AlterRoleRenameStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "to": True}


class SetDefaultStatement(Statement):
    """``ALTER ROLE … SET | RESET``, or without ``role`` ``ALTER SYSTEM``. Without ``values`` it is RESET; without ``this``, ALL."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False, "role": False, "values": False}


class DropRolesStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"names": True, "exists": False}


class AlterOwnerStatement(Statement):
    """``kind`` is ``SOURCE``, ``VIEW``, ``MATERIALIZED VIEW``, ``INDEX``, ``SCHEMA``, ``DATABASE`` or ``CLUSTER``."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "this": True, "to": True}


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


class ShowPrivilegesStatement(Statement):
    """``kind`` is a plural, as it is written after ON, or ``SYSTEM``."""

    arg_types: ClassVar[dict[str, bool]] = {"is_default": False, "kind": False, "role": False, "where": False}
