"""COPY."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.writing import joined, listed, writes


class CopyStatement(Statement):
    """``is_from`` STDIN or else to STDOUT. ``this`` is the table, unless there is a ``query``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False, "columns": False, "query": False, "is_from": False, "options": False}


@writes(CopyStatement)
def _write_copy(write: Generator, node: exp.Expression) -> str:
    what = f"({write.sql(node, 'query')})" if node.args.get("query") else write.sql(node, "this")
    columns = f"({listed(write, node, 'columns')})" if node.args.get("columns") else ""
    options = ", ".join(f"{write.sql(option, 'this')} {write.sql(option, 'value')}" for option in node.args.get("options") or ())
    return joined("COPY", what, columns, "FROM STDIN" if node.args.get("is_from") else "TO STDOUT", options and f"WITH ({options})")
