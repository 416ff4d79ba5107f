"""ON CONFLICT of INSERT."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import TokenType

from reclock.errors import UnsupportedSql
from reclock.sql.statements.tables.assignments_syntax import assignments
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.writing import clause, generates, joined, list_clause, listed


class OnConflict(exp.Expression):
    """``columns`` or ``constraint`` say which key; without ``assignments`` it is DO NOTHING."""

    arg_types: ClassVar[dict[str, bool]] = {
        "columns": False,
        "constraint": False,
        "assignments": False,
        "where": False,
    }


def on_conflict(parser: StatementParser) -> OnConflict | None:
    """The clause, if it begins here."""
    if not parser.accept("ON", "CONFLICT"):
        return None
    columns, constraint = None, None
    if parser.accept("ON", "CONSTRAINT"):
        constraint = parser.name()
    elif parser.sees_token(TokenType.L_PAREN):
        columns = parser.wrapped_list(StatementParser.name)
        if parser.sees_token(TokenType.WHERE):
            raise UnsupportedSql(
                "ON CONFLICT (…) WHERE is not supported", detail="there are no partial indexes"
            )
    parser.expect("DO")
    if parser.accept("NOTHING"):
        return OnConflict(columns=columns, constraint=constraint)
    parser.expect("UPDATE")
    parser.expect("SET")
    changes = assignments(parser)
    where = parser.value() if parser.accept_token(TokenType.WHERE) else None
    return OnConflict(columns=columns, constraint=constraint, assignments=changes, where=where)


@generates(OnConflict)
def _write_on_conflict(write: Generator, node: exp.Expression) -> str:
    columns = list_clause(write, "", node, "columns")
    target = joined("ON CONFLICT", columns, clause(write, "ON CONSTRAINT", node, "constraint"))
    if not node.args.get("assignments"):
        return f"{target} DO NOTHING"
    changes = f"{target} DO UPDATE SET {listed(write, node, 'assignments')}"
    return joined(changes, clause(write, "WHERE", node, "where"))
