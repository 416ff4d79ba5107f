"""ON DELETE and ON UPDATE of foreign keys: what becomes of the rows that refer to rows that go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from reclock.adapter.context.results import Result
from reclock.adapter.statements.tables.key_lookups import lookup_values
from reclock.adapter.statements.tables.rows import (
    check_not_null,
    numbered_schema,
    read_all,
    with_diff,
)
from reclock.adapter.transaction.transaction import Transaction
from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.relations import BOOLEAN, Column, RelationDesc
from reclock.collections.key_hashes import KeyColumns
from reclock.collections.schema import arrow_schema
from reclock.plan.build import compute, join
from reclock.plan.relational import Finishing, Get, JoinKind, Plan
from reclock.plan.rules import optimize
from reclock.plan.scalars import Call, ColumnRef, Literal, Scalar
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.foreign_keys import ForeignKey, foreign_keys
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames
from reclock.sql.queries.assignment import assign
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.tables.computed import with_computed
from reclock.sql.statements.tables.modify_plan import default_of
from reclock.sql.statements.tables.on_conflict_plan import reading_only
from reclock.sql.statements.tables.targets import WRITTEN, column_refs

Run = Callable[[Select, Mapping[StorageCollectionId, pa.Table]], Result]
"""Runs a query in the transaction, over these rows too."""


@dataclass(frozen=True, slots=True)
class ReferentialActions:
    """The actions of one statement. ``run`` runs a query in the transaction, over rows that it is
    given too.

    They need no privilege, as in PostgreSQL: whoever declared the foreign key owns the table that it
    refers to.
    """

    transaction: Transaction
    catalog: PlannerCatalog
    session: SessionNames
    run: Run

    def follow(self, table: RelationEntry, removed: pa.Table, added: pa.Table | None) -> None:
        """``removed`` are rows that went from the table; ``added``, if it was an update, those that
        came in their places. Changes the rows that refer to them, and what refers to these."""
        for key in foreign_keys(self.catalog).to.get(table.id, ()):
            action = key.constraint.on_delete if added is None else key.constraint.on_update
            if action in ("NO ACTION", "RESTRICT"):
                continue
            changed = self._referenced(key, removed, added)
            if changed is None:
                continue
            plan = self._plan(key, action, changed)
            select = Select(
                optimize(plan), Finishing(), plan.desc, depends_on=frozenset({key.table.id})
            )
            rows = read_all(self.run(select, {WRITTEN: changed}), numbered_schema(plan.desc))
            self._write(key.table, rows)

    def _write(self, table: RelationEntry, rows: pa.Table) -> None:
        """``rows`` have the row that is removed and then, in an update, the row that is added."""
        width, names = len(table.desc), list(table.desc.names)
        removed = rows.select(range(width)).rename_columns(names)
        changes, added = [with_diff(removed, table.desc, -1)], None
        if rows.num_columns > width:
            added = rows.select(range(width, 2 * width)).rename_columns(names)
            changes.append(with_diff(added, table.desc, 1))
            check_not_null(changes[-1], table)
        self.transaction.write(table, pa.concat_tables(changes), self.catalog)
        self.follow(table, removed, added)

    def _referenced(
        self, key: ForeignKey, removed: pa.Table, added: pa.Table | None
    ) -> pa.Table | None:
        """The keys that went and are referred to, in columns like the referring ones, and behind
        them, in an update, the keys that came; None if there are none."""
        columns = KeyColumns(key.target_columns)
        hashes, goes = columns.hashes(removed)
        if added is not None:
            new_hashes, has_key = columns.hashes(added)
            goes = goes & ((hashes != new_hashes) | ~has_key)
        if not goes.any():
            return None
        counts, _ = self.transaction.reference_checks().counts(
            key.table.id, KeyColumns(key.columns), hashes[goes]
        )
        goes[goes] = counts > 0
        _, first = np.unique(hashes, return_index=True)  # each key once
        goes = goes & np.isin(np.arange(len(hashes)), first)
        if not goes.any():
            return None
        is_referenced, desc = pa.array(goes), key.table.desc
        old = removed.select(key.target_columns).filter(is_referenced)
        columns_there = pa.schema([stored_as(desc, column) for column in key.columns])
        changed = pa.table(
            [values.cast(f.type) for values, f in zip(old.columns, columns_there, strict=True)],
            names=list(key.columns),
        )
        if added is not None:
            for i, name in enumerate(key.target_columns):
                changed = changed.append_column(f"new{i}", added[name].filter(is_referenced))
        return changed

    def _plan(self, key: ForeignKey, action: str, changed: pa.Table) -> Plan:
        """The referring rows and, unless they are deleted, after each the row that replaces it."""
        table, width = key.table, len(key.table.desc)
        positions = [table.desc.names.index(column) for column in key.columns]
        columns = [Column(column, table.desc.types[i]) for column, i in zip(key.columns, positions)]
        if changed.num_columns > len(columns):
            types = (
                key.target.desc.types[key.target.desc.names.index(c)] for c in key.target_columns
            )
            columns += [Column(f"new{i}", type) for i, type in enumerate(types)]
        rows: Plan = Get(table.collection, table.name.item, table.desc)
        changed_keys = Get(WRITTEN, "changed", RelationDesc(tuple(columns)))
        equal = [
            Call("=", (ColumnRef(i, type), ColumnRef(width + place, type)), BOOLEAN)
            for place, i in enumerate(positions)
            for type in (table.desc.types[i],)
        ]
        looked_up = lookup_values(key.constraint, table, changed)
        if looked_up is not None:
            rows = reading_only(rows, rows, *looked_up)
        pairs = join(rows, changed_keys, JoinKind.INNER, equal)
        new: list[Scalar] = column_refs(table.desc)
        if action == "CASCADE" and changed.num_columns == len(positions):
            return compute(pairs, new, table.desc.names)
        for place, position in enumerate(positions):
            column = table.desc.columns[position]
            if action == "SET NULL":
                new[position] = Literal(None, column.type)
            elif action == "SET DEFAULT":
                default = default_of(table, position, self.session)
                new[position] = default or Literal(None, column.type)
            else:
                new_key = width + len(positions) + place
                new[position] = assign(ColumnRef(new_key, pairs.desc.types[new_key]), column)
        names = [f"c{i}" for i in range(2 * width)]
        return with_computed(compute(pairs, [*column_refs(table.desc), *new], names), table, width)


def stored_as(desc: RelationDesc, column: str) -> pa.Field:
    """The column as it is stored."""
    return arrow_schema(desc, with_updates=False).field(column)
