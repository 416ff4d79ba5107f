"""SET CONSTRAINTS."""

from __future__ import annotations

from typing import ClassVar

from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import written_as


@written_as("SET CONSTRAINTS {names|ALL} {checked}")
class SetConstraintsStatement(Statement):
    """``names`` are of the constraints, or it means all. ``checked`` is ``DEFERRED`` or
    ``IMMEDIATE``."""

    arg_types: ClassVar[dict[str, bool]] = {"names": False, "checked": True}


@parses("SET CONSTRAINTS")
def set_constraints(parser: StatementParser) -> SetConstraintsStatement:
    names = None if parser.accept("ALL") else parser.comma_list(StatementParser.object_name)
    if not parser.accept_any(("DEFERRED", "IMMEDIATE")):
        parser.raise_error("Expected DEFERRED or IMMEDIATE")
    return SetConstraintsStatement(names=names, checked=parser.last_word)
