"""DROP, RENAME TO and OWNER TO, of objects of any kind."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.writing import joined, listed, when, writes


class DropStatement(Statement):
    """``kind`` is ``SOURCE``, ``TABLE``, ``VIEW``, ``MATERIALIZED VIEW``, ``INDEX``, ``SINK``, ``SECRET`` or ``CONNECTION``.

    ``behavior`` is ``CASCADE``, ``RESTRICT`` or absent.
    """

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "names": True, "exists": False, "behavior": False}


class AlterRenameStatement(Statement):
    """``kind`` is ``SOURCE``, ``TABLE``, ``SECRET`` or ``CONNECTION``."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "this": True, "exists": False, "to": True}


class AlterOwnerStatement(Statement):
    """``kind`` is ``SOURCE``, ``VIEW``, ``MATERIALIZED VIEW``, ``INDEX``, ``SCHEMA``, ``DATABASE`` or ``CLUSTER``."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "this": True, "to": True}


@writes(DropStatement)
def _write_drop(write: Generator, node: exp.Expression) -> str:
    names = listed(write, node, "names")
    return joined("DROP", node.args["kind"], when(node, "exists", "IF EXISTS"), names, node.args.get("behavior") or "")


@writes(AlterRenameStatement)
def _write_rename(write: Generator, node: exp.Expression) -> str:
    what = joined("ALTER", node.args["kind"], when(node, "exists", "IF EXISTS"), write.sql(node, "this"))
    return f"{what} RENAME TO {write.sql(node, 'to')}"


@writes(AlterOwnerStatement)
def _write_alter_owner(write: Generator, node: exp.Expression) -> str:
    return f"ALTER {node.args['kind']} {write.sql(node, 'this')} OWNER TO {write.sql(node, 'to')}"
