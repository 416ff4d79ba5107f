"""SHOW."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.writing import clause, joined, writes


class ShowObjectsStatement(Statement):
    """``within`` names a schema, or for ``INDEXES`` a relation."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "within": False, "cluster": False, "like": False, "where": False}


class ShowColumnsStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "like": False, "where": False}


class ShowCreateStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "this": True}


def write_filter(write: Generator, node: exp.Expression) -> str:
    """LIKE or WHERE of a SHOW."""
    return joined(clause(write, "LIKE", node, "like"), clause(write, "WHERE", node, "where"))


@writes(ShowObjectsStatement)
def _write_show_objects(write: Generator, node: exp.Expression) -> str:
    within, cluster = clause(write, "FROM", node, "within"), clause(write, "IN CLUSTER", node, "cluster")
    return joined("SHOW", node.args["kind"], within, cluster, write_filter(write, node))


@writes(ShowColumnsStatement)
def _write_show_columns(write: Generator, node: exp.Expression) -> str:
    return joined(f"SHOW COLUMNS FROM {write.sql(node, 'this')}", write_filter(write, node))


@writes(ShowCreateStatement)
def _write_show_create(write: Generator, node: exp.Expression) -> str:
    return f"SHOW CREATE {node.args['kind']} {write.sql(node, 'this')}"
