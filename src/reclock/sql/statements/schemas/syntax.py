"""CREATE SCHEMA and DROP SCHEMA."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.writing import joined, listed, when, writes


class CreateSchemaStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exists": False}


class DropSchemasStatement(Statement):
    """``behavior`` is ``CASCADE``, ``RESTRICT`` or not said."""

    arg_types: ClassVar[dict[str, bool]] = {"names": True, "exists": False, "behavior": False}


@writes(CreateSchemaStatement)
def _write_create_schema(write: Generator, node: exp.Expression) -> str:
    return joined("CREATE SCHEMA", when(node, "exists", "IF NOT EXISTS"), write.sql(node, "this"))


@writes(DropSchemasStatement)
def _write_drop_schemas(write: Generator, node: exp.Expression) -> str:
    return joined("DROP SCHEMA", when(node, "exists", "IF EXISTS"), listed(write, node, "names"), node.args.get("behavior") or "")
