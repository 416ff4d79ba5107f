"""The tables that FOR TABLES names, as the upstream knows them."""

from __future__ import annotations

from sqlglot import exp

from reclock.definitions.sources import PublishedTable
from reclock.sql.names import fold


def upstream_name(table: exp.Expression) -> str:
    """The source's name for a table of ``FOR TABLES``."""
    schema = table.args.get("schema")
    return f"{fold(schema)}.{fold(table.this)}" if schema is not None else fold(table.this)


def set_identity(table: exp.Expression, identity: PublishedTable) -> None:
    """Write the identity of a published table into its part of ``FOR TABLES``."""
    table.set("oid", exp.Literal.number(identity.oid))
    table.set("entries", [exp.Literal.number(entry) for entry in identity.entries])
