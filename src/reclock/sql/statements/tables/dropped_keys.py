"""What becomes of foreign keys when the tables that they refer to are dropped."""

from __future__ import annotations

from collections.abc import Collection

from reclock.algebra.ids import GlobalId
from reclock.sql.catalog.foreign_keys import ForeignKey, keys_into
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import fold
from reclock.sql.planning.definitions import definition_text
from reclock.sql.syntax.parse import parse_one

Redefined = tuple[tuple[GlobalId, str], ...]
"""Tables that stay, and their new definitions."""


def keys_dropped_with(
    tables: Collection[GlobalId], catalog: PlannerCatalog
) -> tuple[list[str], Redefined]:
    """The names of the enforced foreign keys of other tables that refer to ``tables``, which only
    CASCADE drops; and the other tables without them."""
    keys = keys_into(tables, catalog)
    by_table: dict[GlobalId, list[ForeignKey]] = {}
    for key in keys:
        by_table.setdefault(key.table.id, []).append(key)
    names = [f"{key.table.name}.{key.constraint.name}" for key in keys]
    return names, tuple((id, _without(keys)) for id, keys in by_table.items())


def _without(keys: list[ForeignKey]) -> str:
    """The definition of the table of ``keys`` without these."""
    node = parse_one(keys[0].table.create_sql or "")
    dropped = {key.constraint.name for key in keys}
    remaining = [c for c in node.args["constraints"] if fold(c.this) not in dropped]
    node.set("constraints", remaining)
    return definition_text(node)
