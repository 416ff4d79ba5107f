"""Views and indexes."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.writing import clause, joined, listed, when, writes


class CreateViewStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "exists": False,
        "replace": False,
        "materialized": False,
        "cluster": False,
        "columns": False,
        "query": True,
    }


class CreateIndexStatement(Statement):
    """Without ``keys`` it is ``CREATE DEFAULT INDEX``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False, "cluster": False, "on": True, "keys": False, "exists": False}


class RefreshViewStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True}


@writes(CreateViewStatement)
def _write_create_view(write: Generator, node: exp.Expression) -> str:
    return joined(
        "CREATE",
        when(node, "replace", "OR REPLACE"),
        when(node, "materialized", "MATERIALIZED"),
        "VIEW",
        when(node, "exists", "IF NOT EXISTS"),
        write.sql(node, "this"),
        clause(write, "IN CLUSTER", node, "cluster"),
        f"({listed(write, node, 'columns')})" if node.args.get("columns") else "",
        f"AS {write.sql(node, 'query')}",
    )


@writes(CreateIndexStatement)
def _write_create_index(write: Generator, node: exp.Expression) -> str:
    keys = node.args.get("keys")
    return joined(
        "CREATE",
        "" if keys else "DEFAULT",
        "INDEX",
        when(node, "exists", "IF NOT EXISTS"),
        write.sql(node, "this"),
        clause(write, "IN CLUSTER", node, "cluster"),
        f"ON {write.sql(node, 'on')}",
        f"({listed(write, node, 'keys')})" if keys else "",
    )


@writes(RefreshViewStatement)
def _write_refresh_view(write: Generator, node: exp.Expression) -> str:
    return f"REFRESH MATERIALIZED VIEW {write.sql(node, 'this')}"
