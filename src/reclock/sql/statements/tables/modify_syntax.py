"""INSERT, UPDATE, DELETE and TRUNCATE."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.writing import clause, joined, listed, writes


class InsertStatement(Statement):
    """Without ``query`` it is ``DEFAULT VALUES``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "columns": False, "query": False, "returning": False}


class Assignment(exp.Expression):
    """``this = value`` of an UPDATE."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "value": True}


class UpdateStatement(Statement):
    """``others`` are what FROM says."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "assignments": True, "others": False, "where": False, "returning": False}


class DeleteStatement(Statement):
    """``others`` are what USING says."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "others": False, "where": False, "returning": False}


class TruncateStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"names": True}


def _write_returning(write: Generator, node: exp.Expression) -> str:
    return f"RETURNING {listed(write, node, 'returning')}" if node.args.get("returning") else ""


@writes(InsertStatement)
def _write_insert(write: Generator, node: exp.Expression) -> str:
    columns = f"({listed(write, node, 'columns')})" if node.args.get("columns") else ""
    rows = write.sql(node, "query") or "DEFAULT VALUES"
    return joined("INSERT INTO", write.sql(node, "this"), columns, rows, _write_returning(write, node))


@writes(Assignment)
def _write_assignment(write: Generator, node: exp.Expression) -> str:
    return f"{write.sql(node, 'this')} = {write.sql(node, 'value')}"


@writes(UpdateStatement)
def _write_update(write: Generator, node: exp.Expression) -> str:
    changed = f"UPDATE {write.sql(node, 'this')} SET {listed(write, node, 'assignments')}"
    others = f"FROM {listed(write, node, 'others')}" if node.args.get("others") else ""
    return joined(changed, others, clause(write, "WHERE", node, "where"), _write_returning(write, node))


@writes(DeleteStatement)
def _write_delete(write: Generator, node: exp.Expression) -> str:
    others = f"USING {listed(write, node, 'others')}" if node.args.get("others") else ""
    return joined(
        f"DELETE FROM {write.sql(node, 'this')}", others, clause(write, "WHERE", node, "where"), _write_returning(write, node)
    )


@writes(TruncateStatement)
def _write_truncate(write: Generator, node: exp.Expression) -> str:
    return f"TRUNCATE TABLE {listed(write, node, 'names')}"
