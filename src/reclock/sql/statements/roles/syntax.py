"""Roles."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.writing import clause, joined, listed, when, writes


class CreateRoleStatement(Statement):
    """``attributes`` are words as they were written, upper case; ``password`` is what is kept of it, NULL to have none."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "attributes": False, "password": False}


class AlterRoleStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "attributes": False, "password": False}


class AlterRoleRenameStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "to": True}


class DropRolesStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"names": True, "exists": False}


def _write_options(write: Generator, node: exp.Expression) -> str:
    attributes = (attribute.name for attribute in node.args.get("attributes") or ())
    return joined(*attributes, clause(write, "PASSWORD", node, "password"))


@writes(CreateRoleStatement)
def _write_create_role(write: Generator, node: exp.Expression) -> str:
    return joined("CREATE ROLE", write.sql(node, "this"), _write_options(write, node))


@writes(AlterRoleStatement)
def _write_alter_role(write: Generator, node: exp.Expression) -> str:
    return joined("ALTER ROLE", write.sql(node, "this"), _write_options(write, node))


@writes(AlterRoleRenameStatement)
def _write_rename_role(write: Generator, node: exp.Expression) -> str:
    return f"ALTER ROLE {write.sql(node, 'this')} RENAME TO {write.sql(node, 'to')}"


@writes(DropRolesStatement)
def _write_drop_roles(write: Generator, node: exp.Expression) -> str:
    return joined("DROP ROLE", when(node, "exists", "IF EXISTS"), listed(write, node, "names"))
