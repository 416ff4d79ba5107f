"""VACUUM and ANALYZE."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import written_as


@written_as("{command} [({options})] {targets}")
class MaintenanceStatement(Statement):
    """``command`` is ``VACUUM`` or ``ANALYZE``. Without ``targets`` it is about all tables."""

    arg_types: ClassVar[dict[str, bool]] = {"command": True, "options": False, "targets": False}


@written_as("{this} {value}")
class MaintenanceOption(exp.Expression):
    """``this`` is the upper-case name of an option, ``value`` a literal or a word."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "value": True}


@written_as("{this} [({columns})]")
class MaintenanceTarget(exp.Expression):
    """A relation, and those of its columns that are analyzed, if not all."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "columns": False}


_WORDS = {"VACUUM": ("FULL", "FREEZE", "VERBOSE", "ANALYZE", "ANALYSE"), "ANALYZE": ("VERBOSE",)}
"""The options that may be written without parentheses, in this order."""
_OPTIONS = {
    "VACUUM": (
        *("FULL", "FREEZE", "VERBOSE", "ANALYZE", "ANALYSE", "DISABLE_PAGE_SKIPPING"),
        *("SKIP_LOCKED", "PROCESS_MAIN", "PROCESS_TOAST", "TRUNCATE", "SKIP_DATABASE_STATS"),
        *("ONLY_DATABASE_STATS", "INDEX_CLEANUP", "PARALLEL", "BUFFER_USAGE_LIMIT"),
    ),
    "ANALYZE": ("VERBOSE", "SKIP_LOCKED", "BUFFER_USAGE_LIMIT"),
}
_NOT_BOOLEAN = ("INDEX_CLEANUP", "PARALLEL", "BUFFER_USAGE_LIMIT")
BOOLEANS = {"TRUE": True, "ON": True, "1": True, "FALSE": False, "OFF": False, "0": False}


@parses("VACUUM", "ANALYZE|ANALYSE")
def maintain(parser: StatementParser) -> MaintenanceStatement:
    command = parser.phrase[0].replace("ANALYSE", "ANALYZE")
    if parser.sees_token(TokenType.L_PAREN):
        options = parser.wrapped_list(lambda parser: _option(parser, _OPTIONS[command]))
    else:
        options = [_set(word) for word in _WORDS[command] if parser.accept(word)]
    targets = parser.comma_list(_target) if parser.token else None
    return MaintenanceStatement(command=command, options=options, targets=targets)


def _set(name: str, value: exp.Expr | None = None) -> MaintenanceOption:
    is_on = exp.to_identifier("true")
    return MaintenanceOption(this=name.replace("ANALYSE", "ANALYZE"), value=value or is_on)


def _option(parser: StatementParser, names: Collection[str]) -> MaintenanceOption:
    if not parser.accept_any(names):
        parser.raise_error(f"Expected {', '.join(names)}")
    name = parser.last_word
    if parser.sees_token(TokenType.COMMA) or parser.sees_token(TokenType.R_PAREN):
        return _set(name)
    value = parser.string() or parser.number() or parser.any_name() or parser.missing()
    if name not in _NOT_BOOLEAN and value.name.upper() not in BOOLEANS:
        parser.reject(f"{name.lower()} requires a Boolean value", parser.last_token)
    return _set(name, value)


def _target(parser: StatementParser) -> MaintenanceTarget:
    relation = parser.object_name()
    columns = None
    if parser.sees_token(TokenType.L_PAREN):
        columns = parser.wrapped_list(StatementParser.name)
    return MaintenanceTarget(this=relation, columns=columns)
