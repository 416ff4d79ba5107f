"""SHOW PRIVILEGES."""

from __future__ import annotations

from typing import ClassVar

from reclock.sql.statements.roles.privileges_syntax import PLURALS
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import written_as


@written_as("SHOW [is_default: DEFAULT] PRIVILEGES [ON {kind}] [FOR {role}] [WHERE {where}]")
class ShowPrivilegesStatement(Statement):
    """``kind`` is a plural, as it is written after ON, or ``SYSTEM``."""

    arg_types: ClassVar[dict[str, bool]] = {
        "is_default": False,
        "kind": False,
        "role": False,
        "where": False,
    }


@parses("SHOW [DEFAULT] PRIVILEGES")
def show_privileges(parser: StatementParser) -> ShowPrivilegesStatement:
    kind = None
    if parser.accept("ON"):
        if not parser.accept_any((*PLURALS, "SYSTEM")):
            parser.raise_error(f"Expected {', '.join(PLURALS)} or SYSTEM")
        kind = parser.last_word
    role = parser.role_name() if parser.accept("FOR") else None
    where = parser.value() if parser.accept("WHERE") else None
    return ShowPrivilegesStatement(
        is_default="DEFAULT" in parser.phrase, kind=kind, role=role, where=where
    )
