"""Constraints in CREATE TABLE: PRIMARY KEY, UNIQUE, FOREIGN KEY and CHECK, of a column or of the table."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.writing import clause, joined, listed, when, writes


class TableConstraint(exp.Expression):
    """``this`` is the name, if one is written, and ``kind`` is ``PRIMARY KEY``, ``UNIQUE``, ``FOREIGN KEY`` or ``CHECK``.

    The constraint of a column is parsed to that of the table with this one column. ``on_delete``, ``on_update``, ``match`` and
    ``deferrable`` are words as written, upper case.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "this": False,
        "kind": True,
        "columns": False,
        "are_nulls_equal": False,
        "target": False,
        "target_columns": False,
        "match": False,
        "on_delete": False,
        "on_update": False,
        "check": False,
        "deferrable": False,
        "is_not_enforced": False,
    }


_FOREIGN_KEY_WORDS = (("MATCH", "match"), ("ON DELETE", "on_delete"), ("ON UPDATE", "on_update"))


@writes(TableConstraint)
def _write_table_constraint(write: Generator, node: exp.Expression) -> str:
    words = (clause(write, keyword, node, name) for keyword, name in _FOREIGN_KEY_WORDS)
    target_columns = f"({listed(write, node, 'target_columns')})" if node.args.get("target_columns") else ""
    return joined(
        clause(write, "CONSTRAINT", node, "this"),
        node.args["kind"],
        when(node, "are_nulls_equal", "NULLS NOT DISTINCT"),
        f"({write.sql(node, 'check') or listed(write, node, 'columns')})",
        joined(clause(write, "REFERENCES", node, "target"), target_columns, *words),
        node.args.get("deferrable") or "",
        when(node, "is_not_enforced", "NOT ENFORCED"),
    )
