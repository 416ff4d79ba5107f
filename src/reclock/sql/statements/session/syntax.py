"""SET, RESET and SHOW of variables, and their defaults."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.writing import clause, joined, listed, writes


class ShowVariableStatement(Statement):
    """Without ``this`` it is ``SHOW ALL``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False}


class SetVariableStatement(Statement):
    """``scope`` is ``SESSION``, ``LOCAL`` or absent. ``values`` holds literals and names; none is ``DEFAULT``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "values": False, "scope": False}


class ResetVariableStatement(Statement):
    """Without ``this`` it is ``RESET ALL``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False}


class SetDefaultStatement(Statement):
    """``ALTER ROLE … SET | RESET``, or without ``role`` ``ALTER SYSTEM``. Without ``values`` it is RESET; without ``this``, ALL."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False, "role": False, "values": False}


@writes(ShowVariableStatement)
def _write_show_variable(write: Generator, node: exp.Expression) -> str:
    return f"SHOW {write.sql(node, 'this') or 'ALL'}"


@writes(SetVariableStatement)
def _write_set_variable(write: Generator, node: exp.Expression) -> str:
    return joined("SET", node.args.get("scope") or "", f"{write.sql(node, 'this')} = {listed(write, node, 'values') or 'DEFAULT'}")


@writes(ResetVariableStatement)
def _write_reset_variable(write: Generator, node: exp.Expression) -> str:
    return f"RESET {write.sql(node, 'this') or 'ALL'}"


@writes(SetDefaultStatement)
def _write_set_default(write: Generator, node: exp.Expression) -> str:
    whose = clause(write, "ROLE", node, "role") or "SYSTEM"
    variable = write.sql(node, "this") or "ALL"
    change = f"SET {variable} = {listed(write, node, 'values')}" if node.args.get("values") else f"RESET {variable}"
    return f"ALTER {whose} {change}"
