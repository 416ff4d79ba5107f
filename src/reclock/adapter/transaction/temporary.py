"""Temporary tables and views: one session's own, in the memory of its process, and gone with either.

They are items of a catalog that only the session sees: that of the environment, and on top of it a schema with them. So planning,
privileges and ``pg_catalog`` know them as they know others. Nothing of them is durable, and no other process hears of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeGuard

import pyarrow as pa

from reclock.adapter.context.users import Users
from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import MINIMUM
from reclock.catalog.objects import Item, ItemType, Schema
from reclock.catalog.roles import Target
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.collections.tables import rows_of
from reclock.errors import UnsupportedSql
from reclock.runtime.environment import Environment
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.planning.registry import PlannedStatement
from reclock.sql.statements.objects.plan import Drop
from reclock.sql.statements.tables.plan import CreateTable
from reclock.sql.statements.views.plan import CreateView
from reclock.sql.syntax.parse import ParsedStatement, parse_one
from reclock.sql.syntax.temporary import TEMPORARY_SCHEMA

_SCHEMA_ID = -1
_IDS = count(1)

TemporaryDefinition = CreateTable | CreateView | Drop


@dataclass(frozen=True, slots=True)
class TemporaryState:
    """What there is: it can be gone back to."""

    items: tuple[Item, ...] = ()
    rows: Mapping[GlobalId, pa.Table] = field(default_factory=dict)


class TemporaryObjects:
    """Those of one session."""

    def __init__(self, environment: Environment) -> None:
        self.state = TemporaryState()
        self._environment = environment
        self._planned: tuple[PlannerCatalog, TemporaryState, PlannerCatalog] | None = None

    def over(self, catalog: PlannerCatalog) -> PlannerCatalog:
        """``catalog`` with what there is. A view goes when what it stands on does: it is left out."""
        if not self.state.items:
            return catalog
        if self._planned is None or self._planned[0] is not catalog or self._planned[1] is not self.state:
            self._planned = (catalog, self.state, self._over(catalog))
        return self._planned[2]

    def define(self, statement: TemporaryDefinition, users: Users) -> GlobalId | None:
        """Make or drop; the id of what is made."""
        if isinstance(statement, Drop):
            if not all(id.startswith("t") for id in statement.ids):
                raise UnsupportedSql("one DROP cannot name temporary and other objects")
            self._keep([item for item in self.state.items if item.id not in statement.ids])
            return None
        is_table = isinstance(statement, CreateTable)
        replaced = () if isinstance(statement, CreateTable) else statement.replaces
        id, type = GlobalId(f"t{next(_IDS)}"), ItemType.TABLE if is_table else ItemType.VIEW
        made = Item(id, _SCHEMA_ID, statement.name.item, type, statement.create_sql, users.current_id, MINIMUM)
        self._keep([*(item for item in self.state.items if item.id not in replaced), made])
        return id

    def clear(self) -> None:
        self.state = TemporaryState()

    def rows(self, table: RelationEntry) -> pa.Table:
        found = self.state.rows.get(table.id)
        return rows_of([], table.desc) if found is None else found

    def write(self, table: RelationEntry, changes: pa.Table) -> None:
        """Rows with their diffs."""
        rows = self.rows(table)
        before = pa.table([*rows.columns, pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows)], names=changes.column_names)
        written = rows_of([before, changes], table.desc)
        self.state = replace(self.state, rows={**self.state.rows, table.id: written})

    def _keep(self, items: list[Item]) -> None:
        kept = {item.id for item in items}
        self.state = TemporaryState(tuple(items), {id: rows for id, rows in self.state.rows.items() if id in kept})

    def _over(self, catalog: PlannerCatalog) -> PlannerCatalog:
        assert catalog.snapshot is not None
        owner = self.state.items[0].owner_role_id
        snapshot = catalog.snapshot.with_change(None, Schema(_SCHEMA_ID, None, TEMPORARY_SCHEMA, owner))
        return self._environment.stores.planner_catalogs.resolve(_with(snapshot, self.state.items), catalog)


def _with(snapshot: CatalogSnapshot, items: tuple[Item, ...] | list[Item]) -> CatalogSnapshot:
    for item in items:
        snapshot = snapshot.with_change(None, item)
    return snapshot


def is_temporary(statement: PlannedStatement) -> TypeGuard[TemporaryDefinition]:
    """Whether it defines or drops something temporary, and nothing else."""
    match statement:
        case CreateTable(name=name) | CreateView(name=name):
            return name.is_temporary
        case Drop(named=named):
            return any(id.startswith("t") for id in named)
        case _:
            return False


def without_temporary(parsed: ParsedStatement, statement: PlannedStatement, owned: tuple[Target, ...]) -> ParsedStatement:
    """A definition that is kept, in words that everyone understands. ``owned`` is what it takes to be the owner of.

    Raises ``UnsupportedSql`` if it stands on something temporary, or changes it.
    """
    if isinstance(statement, CreateTable) and statement.query is not None:
        if any(id.startswith("t") for id in statement.query.depends_on):
            made = parse_one(statement.create_sql)
            made.set("exists", parsed.node.args.get("exists"))
            return replace(parsed, node=made)
        return parsed
    mentioned = {getattr(statement, "on", None), *getattr(statement, "depends_on", ()), *(target[1] for target in owned if target)}
    if any(isinstance(id, str) and id.startswith("t") for id in mentioned):
        raise UnsupportedSql(
            f"{statement.tag} cannot be of a temporary table or view",
            detail="what is kept would stand on what is gone with the session",
        )
    return parsed
