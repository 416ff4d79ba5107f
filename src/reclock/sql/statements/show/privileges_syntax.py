"""SHOW PRIVILEGES."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.writing import clause, joined, when, writes


class ShowPrivilegesStatement(Statement):
    """``kind`` is a plural, as it is written after ON, or ``SYSTEM``."""

    arg_types: ClassVar[dict[str, bool]] = {"is_default": False, "kind": False, "role": False, "where": False}


@writes(ShowPrivilegesStatement)
def _write_show_privileges(write: Generator, node: exp.Expression) -> str:
    kind = f"ON {node.args['kind']}" if node.args.get("kind") else ""
    default = when(node, "is_default", "DEFAULT")
    return joined("SHOW", default, "PRIVILEGES", kind, clause(write, "FOR", node, "role"), clause(write, "WHERE", node, "where"))
