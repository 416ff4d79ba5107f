"""Syntax nodes of statements about secrets and connections."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp

from reclock.sql.nodes import Statement


class CreateSecretStatement(Statement):
    """``reference`` is where the value is kept. The value itself is no argument: the text of the statement does not have it."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exists": False, "reference": True}


class AlterSecretStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "reference": True}


class SecretName(exp.Expression):
    """``SECRET name`` as the value of an option."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class ConnectionOption(exp.Expression):
    """``name`` is of ``sources.connections.OPTIONS``; ``value`` a string or a ``SecretName``."""

    arg_types: ClassVar[dict[str, bool]] = {"name": True, "value": True}


class CreateConnectionStatement(Statement):
    """``options`` are those of WITH."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "exists": False,
        "kind": True,
        "connection_options": True,
        "options": False,
    }


class ValidateConnectionStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True}
