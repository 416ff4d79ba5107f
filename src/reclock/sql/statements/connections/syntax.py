"""Secrets and connections."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.writing import clause, joined, listed, when, writes


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


@writes(CreateSecretStatement)
def _write_create_secret(write: Generator, node: exp.Expression) -> str:
    exists = when(node, "exists", "IF NOT EXISTS")
    return joined("CREATE SECRET", exists, write.sql(node, "this"), clause(write, "STORED AS", node, "reference"))


@writes(AlterSecretStatement)
def _write_alter_secret(write: Generator, node: exp.Expression) -> str:
    return f"ALTER SECRET {write.sql(node, 'this')} STORED AS {write.sql(node, 'reference')}"


@writes(SecretName)
def _write_secret_name(write: Generator, node: exp.Expression) -> str:
    return f"SECRET {write.sql(node, 'this')}"


@writes(ConnectionOption)
def _write_connection_option(write: Generator, node: exp.Expression) -> str:
    return f"{node.args['name']} = {write.sql(node, 'value')}"


@writes(CreateConnectionStatement)
def _write_create_connection(write: Generator, node: exp.Expression) -> str:
    return joined(
        "CREATE CONNECTION",
        when(node, "exists", "IF NOT EXISTS"),
        write.sql(node, "this"),
        f"TO {node.args['kind']} ({listed(write, node, 'connection_options')})",
        f"WITH ({listed(write, node, 'options')})" if node.args.get("options") else "",
    )


@writes(ValidateConnectionStatement)
def _write_validate_connection(write: Generator, node: exp.Expression) -> str:
    return f"VALIDATE CONNECTION {write.sql(node, 'this')}"
