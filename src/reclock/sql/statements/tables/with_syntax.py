"""WITH before a statement that changes a table, and WITH that holds such statements."""

from __future__ import annotations

from typing import ClassVar

from reclock.sql.syntax.expressions import QUERY_STARTS
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import CHANGES, StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import written_as


@written_as("{with_} {this}")
class WithStatement(Statement):
    """``this`` is the main statement. It is a query only if WITH changes tables: otherwise
    the WITH is a part of the query."""

    arg_types: ClassVar[dict[str, bool]] = {"with_": True, "this": True}


@parses("WITH")
def with_statement(parser: StatementParser) -> Statement:
    start = parser.index - 1
    clause = parser.with_clause()
    is_query = parser.token.token_type in QUERY_STARTS
    if is_query and not any(isinstance(cte.this, Statement) for cte in clause.expressions):
        parser.retreat(start)
        return parser.query_statement()
    if not is_query and parser.token.text.upper() not in CHANGES:
        parser.raise_error("Expected a query, INSERT, UPDATE, DELETE or MERGE")
    return WithStatement(with_=clause, this=parser.statement())
