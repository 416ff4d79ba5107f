"""The names of temporary tables and views: they are made by being made in their schema, which every
session has for itself."""

from __future__ import annotations

from sqlglot import exp

from reclock.errors import InvalidSchema

TEMPORARY_SCHEMA = "mz_temp"
"""The schema, of no database, of what a session makes for itself; searched after the system
schemas."""
TEMPORARY_SCHEMAS = (TEMPORARY_SCHEMA, "pg_temp")
"""The names that it goes by."""

TEMPORARY = "(LOCAL TEMP|LOCAL TEMPORARY|TEMP|TEMPORARY)"
"""The modifier of CREATE in the phrases of ``registry.parses``."""


def is_temporary(words: tuple[str, ...]) -> bool:
    """Whether the words that a statement begins with have the modifier."""
    return "TEMP" in words or "TEMPORARY" in words


def make_temporary(name: exp.Table) -> None:
    """Bring what CREATE TEMPORARY names into the schema. Raises ``InvalidSchema`` if the name says
    another one."""
    if not name.args.get("db"):
        name.set("db", exp.to_identifier(TEMPORARY_SCHEMA))
    elif name.args.get("catalog") or name.db.lower() not in TEMPORARY_SCHEMAS:
        raise InvalidSchema("cannot create temporary relation in non-temporary schema")
