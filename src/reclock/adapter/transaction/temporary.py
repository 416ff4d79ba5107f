"""Temporary tables and views. They belong to one session and live in the memory of its process.

They are items of a catalog that only the session sees: the environment's catalog with one more
schema. Planning, privileges and ``pg_catalog`` therefore treat them like other objects. Nothing of
them is durable, and no other process sees them.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from uuid import uuid4

import pyarrow as pa

from reclock.adapter.context.users import Users
from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import MINIMUM
from reclock.catalog.objects import Item, ItemType, Schema
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.collections.tables import rows_of
from reclock.errors import UnsupportedSql
from reclock.runtime.environment import Environment
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName
from reclock.sql.statements.objects.plan import renamed
from reclock.sql.statements.schemas.moved_text import with_moved_names
from reclock.sql.syntax.temporary import TEMPORARY_SCHEMA

_SCHEMA_ID = -1
_IDS = count(1)


@dataclass(frozen=True, slots=True)
class TemporaryState:
    """The temporary objects at one moment. A rollback goes back to an earlier state."""

    items: tuple[Item, ...] = ()
    rows: Mapping[GlobalId, pa.Table] = field(default_factory=dict)
    names: Mapping[GlobalId, QualifiedName] = field(default_factory=dict)
    """The names that the definitions of the items have for objects of the environment."""
    on_commit: Mapping[GlobalId, str] = field(default_factory=dict)
    """The objects that do not outlast a transaction as they are: ``DROP`` or ``DELETE ROWS``."""

    def rows_of(self, table: RelationEntry) -> pa.Table:
        rows = self.rows.get(table.id)
        return rows_of([], table.desc) if rows is None else rows


class TemporaryObjects:
    """The temporary objects of one session."""

    def __init__(self, environment: Environment) -> None:
        self.state = TemporaryState()
        self._environment = environment
        self._planned: tuple[PlannerCatalog, TemporaryState, PlannerCatalog] | None = None

    def over(self, catalog: PlannerCatalog) -> PlannerCatalog:
        """``catalog`` with the temporary objects. A view whose input was dropped is left out, and
        one whose input got another name follows it."""
        if not self.state.items:
            return catalog
        if (
            self._planned is None
            or self._planned[0] is not catalog
            or self._planned[1] is not self.state
        ):
            items = _following(self.state, catalog)
            self.state = replace(self.state, items=items)
            planned = self._over(catalog)
            self.state = replace(self.state, names=_names(self.state, planned))
            self._planned = (catalog, self.state, planned)
        return self._planned[2]

    def create(
        self,
        name: QualifiedName,
        type: ItemType,
        create_sql: str,
        users: Users,
        replaces: Sequence[GlobalId] = (),
    ) -> GlobalId:
        """Create a table or a view, in the place of those that it ``replaces``; returns its id."""
        id = GlobalId(f"t{next(_IDS)}")
        item = Item(
            id,
            _SCHEMA_ID,
            name.item,
            type,
            create_sql,
            users.current_id,
            MINIMUM,
            incarnation=uuid4().hex,
        )
        self._set_items([*(item for item in self.state.items if item.id not in replaces), item])
        return id

    def drop(self, ids: Sequence[GlobalId]) -> None:
        """Raises ``UnsupportedSql`` if one of them is not temporary."""
        if not all(id.startswith("t") for id in ids):
            raise UnsupportedSql("one DROP cannot name temporary and other objects")
        self._set_items([item for item in self.state.items if item.id not in ids])

    def at_commit(self, id: GlobalId, action: str | None) -> None:
        """What the end of a transaction does to the object: ``DROP``, ``DELETE ROWS`` or nothing."""
        if action is not None:
            self.state = replace(self.state, on_commit={**self.state.on_commit, id: action})

    def end_transaction(self) -> None:
        """Drop, or empty, what does not outlast the transaction that is committed."""
        actions = self.state.on_commit
        if not actions:
            return
        self.empty(actions)
        self.drop(self._with_dependents({id for id in actions if actions[id] == "DROP"}))

    def _with_dependents(self, ids: set[GlobalId]) -> list[GlobalId]:
        """``ids``, and those of what reads the objects."""
        entries = self._planned[2] if self._planned is not None else None
        for item in self.state.items:  # each comes after what it reads
            entry = entries.entry(item.id) if entries is not None else None
            if entry is not None and not ids.isdisjoint(entry.depends_on):
                ids.add(item.id)
        return list(ids)

    def empty(self, ids: Container[GlobalId]) -> None:
        """Remove the rows of tables."""
        rows = {id: rows for id, rows in self.state.rows.items() if id not in ids}
        self.state = replace(self.state, rows=rows)

    def redefine(self, definitions: Mapping[GlobalId, str]) -> None:
        """Give objects other definitions. Tables keep their rows."""
        self._set_items(
            [
                replace(item, create_sql=definitions.get(item.id, item.create_sql))
                for item in self.state.items
            ]
        )

    def rename(self, id: GlobalId, name: str) -> None:
        self._set_items(
            [replace(item, name=name) if item.id == id else item for item in self.state.items]
        )

    def clear(self) -> None:
        self.state = TemporaryState()

    def rows(self, table: RelationEntry) -> pa.Table:
        return self.state.rows_of(table)

    def write(self, table: RelationEntry, changes: pa.Table) -> None:
        """Apply ``changes``, rows with their diffs."""
        rows = self.rows(table)
        before = pa.table(
            [*rows.columns, pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows)],
            names=changes.column_names,
        )
        written = rows_of([before, changes], table.desc)
        self.state = replace(self.state, rows={**self.state.rows, table.id: written})

    def _set_items(self, items: list[Item]) -> None:
        ids = {item.id for item in items}
        rows = {id: rows for id, rows in self.state.rows.items() if id in ids}
        on_commit = {id: action for id, action in self.state.on_commit.items() if id in ids}
        self.state = replace(self.state, items=tuple(items), rows=rows, on_commit=on_commit)

    def _over(self, catalog: PlannerCatalog) -> PlannerCatalog:
        assert catalog.snapshot is not None
        owner = self.state.items[0].owner_role_id
        snapshot = catalog.snapshot.with_change(
            None, Schema(_SCHEMA_ID, None, TEMPORARY_SCHEMA, owner)
        )
        return self._environment.stores.planner_catalogs.resolve(
            _with(snapshot, self.state.items), catalog
        )


def _with(snapshot: CatalogSnapshot, items: tuple[Item, ...] | list[Item]) -> CatalogSnapshot:
    for item in items:
        snapshot = snapshot.with_change(None, item)
    return snapshot


def _following(state: TemporaryState, catalog: PlannerCatalog) -> tuple[Item, ...]:
    """The items with the new names of what was renamed or moved since they were planned."""
    moved: dict[QualifiedName, QualifiedName] = {}
    for id, name in state.names.items():
        entry = catalog.entry(id)
        if entry is not None and entry.name != name:
            moved[name] = entry.name
    if not moved:
        return state.items
    return tuple(
        replace(item, create_sql=_with_names(item.create_sql, moved)) for item in state.items
    )


def _with_names(create_sql: str | None, moved: Mapping[QualifiedName, QualifiedName]) -> str | None:
    """The definition with the new name of each object, also if two of them swap theirs."""
    if create_sql is None:
        return None
    between = {name: name.sibling(f"{name.item} {number}") for number, name in enumerate(moved)}
    for name, unused in between.items():
        create_sql = renamed(create_sql, name, unused)
    for name, to in moved.items():
        schema, unused = (name.database or "", name.schema), between[name]
        target = QualifiedName(to.database, to.schema, unused.item)
        if target != unused:
            to_schema = to.database or "", to.schema
            create_sql = (
                with_moved_names(create_sql, schema, to_schema, {unused.item}) or create_sql
            )
        create_sql = renamed(create_sql, target, to)
    return create_sql


def _names(state: TemporaryState, catalog: PlannerCatalog) -> dict[GlobalId, QualifiedName]:
    """The names of what the items read or use. Those of an item that cannot be planned stay as they
    were."""
    names = dict(state.names)
    for item in state.items:
        entry = catalog.entry(item.id)
        for id in entry.depends_on if entry is not None else ():
            used = catalog.entry(id)
            if used is not None and used.name.database is not None:
                names[id] = used.name
    return names
