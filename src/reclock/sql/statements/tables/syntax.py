"""CREATE TABLE."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.writing import clause, joined, listed, when, writes


class TableColumn(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True, "not_null": False, "default": False}


class CreateTableStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exists": False, "columns": True, "constraints": False}


class CreateTableAsStatement(Statement):
    """``names`` are of the columns; without them they are those of ``query``. ``is_empty`` is WITH NO DATA."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exists": False, "names": False, "query": True, "is_empty": False}


@writes(TableColumn)
def _write_table_column(write: Generator, node: exp.Expression) -> str:
    not_null, default = when(node, "not_null", "NOT NULL"), clause(write, "DEFAULT", node, "default")
    return joined(write.sql(node, "this"), write.sql(node, "kind"), not_null, default)


@writes(CreateTableAsStatement)
def _write_create_table_as(write: Generator, node: exp.Expression) -> str:
    name = joined("CREATE TABLE", when(node, "exists", "IF NOT EXISTS"), write.sql(node, "this"))
    names = f"({listed(write, node, 'names')})" if node.args.get("names") else ""
    return joined(name, names, "AS", write.sql(node, "query"), when(node, "is_empty", "WITH NO DATA"))


@writes(CreateTableStatement)
def _write_create_table(write: Generator, node: exp.Expression) -> str:
    name = joined("CREATE TABLE", when(node, "exists", "IF NOT EXISTS"), write.sql(node, "this"))
    elements = [listed(write, node, "columns"), listed(write, node, "constraints")]
    return f"{name} ({', '.join(element for element in elements if element)})"
