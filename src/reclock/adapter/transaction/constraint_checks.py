"""The constraints of the tables that a transaction writes, checked at the end of each statement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reclock.adapter.context.texts import text_of
from reclock.adapter.transaction.computed_keys import indexed_key
from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import BOOLEAN, DIFF_COLUMN
from reclock.algebra.timestamps import MAXIMUM, MINIMUM, Timestamp
from reclock.collections.key_counts import KeyCounts
from reclock.collections.key_hashes import Counts, Hashes, KeyColumns
from reclock.collections.table_commits import KeyRead
from reclock.compute.engines.engine import TableInput
from reclock.errors import CheckViolation, DomainViolation, UniqueViolation
from reclock.plan.conditions import is_satisfied, is_simple
from reclock.plan.relational import Filter, Finishing, Get
from reclock.plan.scalars import Call
from reclock.runtime.environment import Environment
from reclock.sql.catalog.constraints import Constraint, ConstraintKind
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.named_types import types_of
from reclock.sql.names import SessionNames
from reclock.sql.queries.domains import domain_requirements
from reclock.sql.statements.tables.declared_constraints import check_condition

_FEW_ROWS = 100
"""Up to this number of rows, a simple condition is checked without an engine."""

_KeyOfTable = tuple[GlobalId, KeyColumns]


@dataclass(slots=True)
class ConstraintChecks:
    """How the writes of one transaction change the counts of keys of its tables, and which counts it
    has read."""

    environment: Environment
    _written_counts: dict[_KeyOfTable, tuple[int, KeyCounts]] = field(default_factory=dict)
    """By table and key: the number of writes that were counted, and how they change the counts."""
    _reads: dict[_KeyOfTable, list[tuple[Timestamp, Hashes]]] = field(default_factory=dict)

    def check(
        self,
        table: RelationEntry,
        written: Sequence[pa.Table],
        rows: pa.Table,
        catalog: PlannerCatalog,
        *,
        is_new: bool,
    ) -> None:
        """Check ``rows``, the changes of one statement with their diffs, which follow ``written``, all
        earlier changes.

        A table that ``is_new`` has no other rows. Raises ``DomainViolation``, ``CheckViolation``,
        ``UniqueViolation``.
        """
        constraints = (
            [constraint for constraint in table.table.constraints if constraint.is_enforced]
            if table.table
            else []
        )
        checks = [
            constraint for constraint in constraints if constraint.kind is ConstraintKind.CHECK
        ]
        if checks or any(column.type.domain for column in table.desc.columns):
            self._check_conditions(table, checks, rows, catalog)
        for constraint in constraints:
            if constraint.is_unique:
                key = self._key(table, constraint, catalog)
                self._check_unique(table, constraint, key, written, rows, is_new=is_new)

    def key_reads(self) -> list[KeyRead]:
        """The counts of keys that must be unchanged at the commit."""
        return [
            KeyRead(
                table,
                min(at for at, _ in reads),
                key,
                np.concatenate([hashes for _, hashes in reads]),
            )
            for (table, key), reads in self._reads.items()
        ]

    def key_changes(
        self, written: Mapping[GlobalId, Sequence[pa.Table]]
    ) -> dict[_KeyOfTable, KeyCounts]:
        """How the transaction, which has ``written`` these changes, changes the counts of keys."""
        return {
            table_key: counts
            for table_key, (counted, counts) in self._written_counts.items()
            if counted == len(written.get(table_key[0], ()))
        }

    # --- keys ---

    def _key(
        self, table: RelationEntry, constraint: Constraint, catalog: PlannerCatalog
    ) -> KeyColumns:
        if constraint.is_key:
            return KeyColumns(constraint.columns, constraint.are_nulls_equal)
        cache_key = ("unique index", table.id, constraint.name)
        if cache_key not in catalog.planned:
            with types_of(catalog, SessionNames()):
                catalog.planned[cache_key] = indexed_key(
                    constraint, table.desc, self.environment.runtime.engines.small
                )
        return catalog.planned[cache_key]  # type: ignore[no-any-return]

    def _check_unique(
        self,
        table: RelationEntry,
        constraint: Constraint,
        key: KeyColumns,
        written: Sequence[pa.Table],
        rows: pa.Table,
        *,
        is_new: bool,
    ) -> None:
        changed, changes = key.net_counts(rows)
        added = changed[changes > 0]
        written_counts = self._counts_of_writes((table.id, key), written)
        written_counts.add(changed, changes)
        self._written_counts[table.id, key] = (len(written) + 1, written_counts)
        if not len(added):
            return
        counts = written_counts.counts(added) if written else changes[changes > 0]
        if not is_new:
            stored, _ = self._stored_counts(table.id, key, added)
            counts = counts + stored
        repeated = added[counts > 1]
        if len(repeated):
            self._check_rows(table, constraint, key, [*written, rows], repeated, is_new=is_new)

    def counts(
        self,
        table: GlobalId,
        key: KeyColumns,
        hashes: Hashes,
        written: Sequence[pa.Table],
        *,
        is_new: bool,
    ) -> tuple[Counts, Timestamp]:
        """How many rows of the table have a key of each hash after ``written``, all changes of the
        transaction; and the time at which the committed rows were counted."""
        counts = self._counts_of_writes((table, key), written).counts(hashes)
        if is_new:
            return counts, MINIMUM
        stored, at = self._stored_counts(table, key, hashes)
        return counts + stored, at

    def keys_among(
        self,
        table: GlobalId,
        key: KeyColumns,
        hashes: Hashes,
        written: Sequence[pa.Table],
        *,
        is_new: bool,
    ) -> pa.Table:
        """The keys with one of the hashes, each once, as columns, and then how many rows
        have it."""
        parts = [key.having(hashes, rows) for rows in written]
        if not is_new:
            parts.append(
                self.environment.stores.tables.key_indexes.of(table, key).changes_with(hashes)
            )
        keys = pa.concat_tables(parts)
        return keys.group_by(list(key.names), use_threads=False).aggregate([(DIFF_COLUMN, "sum")])

    def rewind(self, written: Mapping[GlobalId, Sequence[pa.Table]]) -> None:
        """Forget the counts of writes that are not among ``written`` any more."""
        for (table, key), (counted, _) in list(self._written_counts.items()):
            if counted > len(written.get(table, ())):
                del self._written_counts[table, key]

    def _stored_counts(
        self, table: GlobalId, key: KeyColumns, hashes: Hashes
    ) -> tuple[Counts, Timestamp]:
        """The counts in the table. They become part of ``key_reads``."""
        stored, at = self.environment.stores.tables.key_indexes.of(table, key).counts(hashes)
        self._reads.setdefault((table, key), []).append((at, hashes))
        return stored, at

    def _counts_of_writes(self, table_key: _KeyOfTable, written: Sequence[pa.Table]) -> KeyCounts:
        """How the earlier writes of the transaction change the counts."""
        counted, counts = self._written_counts.get(table_key, (0, KeyCounts()))
        if counted > len(written):  # a write failed after it was counted
            counted, counts = 0, KeyCounts()
        for rows in written[counted:]:
            counts.add(*table_key[1].net_counts(rows))
        self._written_counts[table_key] = (len(written), counts)
        return counts

    def _check_rows(
        self,
        table: RelationEntry,
        constraint: Constraint,
        key: KeyColumns,
        changes: Sequence[pa.Table],
        repeated: Hashes,
        *,
        is_new: bool,
    ) -> None:
        """Compare the keys themselves: different keys may have one hash."""
        counts = self.keys_among(table.id, key, repeated, changes, is_new=is_new)
        for row in (
            counts.filter(pc.greater(counts[f"{DIFF_COLUMN}_sum"], 1)).slice(0, 1).to_pylist()
        ):
            values = ", ".join(
                "null" if row[name] is None else text_of(row[name]) for name in key.names
            )
            raise UniqueViolation(
                constraint.name, table.name.item, key=f"({', '.join(key.names)})=({values})"
            )

    # --- conditions ---

    def _check_conditions(
        self,
        table: RelationEntry,
        checks: Sequence[Constraint],
        rows: pa.Table,
        catalog: PlannerCatalog,
    ) -> None:
        added = rows.filter(pc.greater(rows[DIFF_COLUMN], 0)).drop_columns([DIFF_COLUMN])
        if not added.num_rows:
            return
        for condition, violation in self._conditions(table, checks, catalog):
            for row in self._violations(table, condition, added):
                if isinstance(violation, DomainViolation):
                    raise violation
                written = ", ".join("null" if value is None else text_of(value) for value in row)
                raise CheckViolation(violation.name, table.name.item, row=written)

    @staticmethod
    def _conditions(
        table: RelationEntry, checks: Sequence[Constraint], catalog: PlannerCatalog
    ) -> list[tuple[Any, DomainViolation | Constraint]]:
        """What each row must meet, and what it breaks otherwise: domains come first."""
        cache_key = ("checks", table.id)
        if cache_key not in catalog.planned:
            in_order = sorted(checks, key=lambda constraint: constraint.name)
            with types_of(catalog, SessionNames()):
                catalog.planned[cache_key] = [
                    *domain_requirements(table.desc, catalog),
                    *((check_condition(check, table.desc), check) for check in in_order),
                ]
        return catalog.planned[cache_key]  # type: ignore[no-any-return]

    def _violations(
        self, table: RelationEntry, condition: Any, rows: pa.Table
    ) -> Iterator[tuple[Any, ...]]:
        """The first row for which the condition is false, if there is one."""
        if rows.num_rows <= _FEW_ROWS and is_simple(condition):
            values = zip(*(column.to_pylist() for column in rows.columns), strict=True)
            yield from (row for row in values if is_satisfied(condition, row) is False)
            return
        collection = StorageCollectionId(GlobalId("t0"))
        plan = Filter(
            Get(collection, table.name.item, table.desc), (Call("not", (condition,), BOOLEAN),)
        )
        answer = self.environment.runtime.engines.small.run(
            plan, Finishing(limit=1), {collection: TableInput(rows)}, MAXIMUM
        )
        for batch in answer.batches:
            yield from (tuple(row.values()) for row in batch.to_pylist())
