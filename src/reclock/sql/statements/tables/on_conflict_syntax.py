"""ON CONFLICT of INSERT."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import TokenType

from reclock.sql.statements.tables.assignments_syntax import assignments
from reclock.sql.syntax.index_elements import index_key
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.writing import clause, generates, joined, list_clause, listed


class OnConflict(exp.Expression):
    """``columns`` or ``constraint`` say which key; without ``assignments`` it is DO NOTHING.

    Among the columns may be expressions, those of a unique index, and ``of_rows`` is its condition.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "columns": False,
        "of_rows": False,
        "constraint": False,
        "assignments": False,
        "where": False,
    }


def on_conflict(parser: StatementParser) -> OnConflict | None:
    """The clause, if it begins here."""
    if not parser.accept("ON", "CONFLICT"):
        return None
    columns, of_rows, constraint = None, None, None
    if parser.accept("ON", "CONSTRAINT"):
        constraint = parser.name()
    elif parser.sees_token(TokenType.L_PAREN):
        columns = parser.wrapped_list(index_key)
        if parser.accept_token(TokenType.WHERE):
            of_rows = parser.value()
    parser.expect("DO")
    if parser.accept("NOTHING"):
        return OnConflict(columns=columns, of_rows=of_rows, constraint=constraint)
    parser.expect("UPDATE")
    parser.expect("SET")
    changes = assignments(parser)
    where = parser.value() if parser.accept_token(TokenType.WHERE) else None
    return OnConflict(
        columns=columns,
        of_rows=of_rows,
        constraint=constraint,
        assignments=changes,
        where=where,
    )


@generates(OnConflict)
def _write_on_conflict(write: Generator, node: exp.Expression) -> str:
    columns = list_clause(write, "", node, "columns")
    of_rows = clause(write, "WHERE", node, "of_rows")
    target = joined(
        "ON CONFLICT", columns, of_rows, clause(write, "ON CONSTRAINT", node, "constraint")
    )
    if not node.args.get("assignments"):
        return f"{target} DO NOTHING"
    changes = f"{target} DO UPDATE SET {listed(write, node, 'assignments')}"
    return joined(changes, clause(write, "WHERE", node, "where"))
