"""INSERT … ON CONFLICT: which rows are inserted, which are updated instead, and which are left
out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from reclock.adapter.context.results import Result
from reclock.adapter.statements.tables.changes import StatementChanges
from reclock.adapter.statements.tables.key_lookups import lookup_values
from reclock.adapter.statements.tables.rows import (
    check_not_null,
    numbered_schema,
    read_all,
    with_diff,
)
from reclock.algebra.ids import StorageCollectionId
from reclock.collections.keys import Keys
from reclock.collections.schema import arrow_schema
from reclock.errors import RowAffectedTwice, UniqueViolation, WriteConflict
from reclock.plan.relational import Constant, Finishing, Plan
from reclock.plan.rules import optimize
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.tables.modify_plan import Modify
from reclock.sql.statements.tables.on_conflict_plan import PROPOSED, ConflictAction, ConflictPlan
from reclock.sql.statements.tables.targets import WRITTEN


@dataclass(frozen=True, slots=True)
class InsertOrUpdate:
    """The execution of one statement."""

    statement: Modify
    action: ConflictAction
    table: RelationEntry
    changes: StatementChanges

    def write(self, rows: pa.Table) -> Result:
        """Insert ``rows``, or do what the clause says. Raises ``RowAffectedTwice``,
        ``WriteConflict`` if a key was inserted since the transaction's read time, and what every
        write raises."""
        desc = self.statement.desc
        named = pa.table(rows.columns, names=list(desc.names))
        check_not_null(with_diff(named, desc, 1), self.table)
        is_present, updates = [False] * rows.num_rows, None
        for conflict in self.action.conflicts:
            matches = self._matches(conflict, named)
            for number in matches.column(
                matches.num_columns - (2 if self.action.is_update else 1)
            ).to_pylist():
                is_present[number] = True
            updates = matches
        for number in self._repeated(named, is_present):
            is_present[number] = True
        inserted = named.filter(pa.array([not present for present in is_present], pa.bool_()))
        numbers = [number for number, present in enumerate(is_present) if not present]
        written = inserted
        if self.action.is_update and updates is not None and updates.num_rows:
            applied = updates.filter(updates.column(updates.num_columns - 1))
            width = len(desc)
            changed = pa.table(applied.columns[width : 2 * width], names=list(desc.names))
            added = with_diff(changed, desc, 1)
            check_not_null(added, self.table)
            removed = with_diff(applied.select(range(width)), desc, -1)
            self.changes.write(
                self.table, pa.concat_tables([removed, added]), has_read_present=True
            )
            self.changes.follow(self.table, removed, added)
            numbers += applied.column(2 * width).to_pylist()
            written = pa.concat_tables([inserted, changed.cast(inserted.schema)])
        self._insert(with_diff(inserted, desc, 1))
        order = pa.array(sorted(range(len(numbers)), key=numbers.__getitem__), pa.int64())
        return self._result(written.take(order))

    def _insert(self, added: pa.Table) -> None:
        try:
            self.changes.write(self.table, added)
        except UniqueViolation as violation:
            arbiters = [conflict.arbiter.name for conflict in self.action.conflicts]
            read_at = self.changes.transaction.read_at
            if violation.constraint not in arbiters or read_at is None:
                raise
            raise WriteConflict(self.table.id, read_at=read_at) from violation

    def _matches(self, conflict: ConflictPlan, named: pa.Table) -> pa.Table:
        """The rows of the conflict's plan."""
        looked_up = lookup_values(conflict.arbiter, self.table, named)
        plan = conflict.plan if looked_up is None else conflict.among(*looked_up)
        return self._run(plan, {PROPOSED: _numbered(named)}, reads_present=True)

    def _run(
        self,
        plan: Plan,
        provided: Mapping[StorageCollectionId, pa.Table],
        *,
        reads_present: bool = False,
    ) -> pa.Table:
        depends_on = self.statement.depends_on | {self.table.id}
        select = Select(optimize(plan), Finishing(), plan.desc, depends_on=depends_on)
        result = self.changes.query(select, provided, reads_present=reads_present)
        return read_all(result, numbered_schema(plan.desc))

    def _repeated(self, rows: pa.Table, is_present: Sequence[bool]) -> Iterator[int]:
        """The numbers of rows that have the same key as an earlier row. Raises ``RowAffectedTwice`` for
        an update."""
        earlier_keys: dict[str, set[tuple[Any, ...]]] = {}
        all_keys = [
            (conflict.arbiter, self._keys(conflict, rows)) for conflict in self.action.conflicts
        ]
        for number, present in enumerate(is_present):
            keys = {
                arbiter.name: key
                for arbiter, keys_of_rows in all_keys
                if (key := keys_of_rows[number]) is not None
                and (arbiter.are_nulls_equal or None not in key)
            }
            is_repeated = any(key in earlier_keys.get(name, ()) for name, key in keys.items())
            if is_repeated and self.action.is_update:
                raise RowAffectedTwice
            if is_repeated:
                yield number
            elif not present or self.action.is_update:
                for name, key in keys.items():
                    earlier_keys.setdefault(name, set()).add(key)

    def _keys(self, conflict: ConflictPlan, rows: pa.Table) -> list[tuple[Any, ...] | None]:
        """The key of each row; None where the conflict's index has no key of it."""
        if conflict.keys is None:
            columns = [rows.column(name).to_pylist() for name in conflict.arbiter.columns]
            return list(zip(*columns, strict=True))
        computed = self._run(conflict.keys, {PROPOSED: _numbered(rows)})
        keys: list[tuple[Any, ...] | None] = [None] * rows.num_rows
        for number, *key in zip(*(c.to_pylist() for c in computed.columns), strict=True):
            keys[number] = tuple(key)
        return keys

    def _result(self, written: pa.Table) -> Result:
        tag = f"{self.statement.tag} {written.num_rows}"
        if self.action.returning is None or self.statement.returning is None:
            return Result(tag)
        returned = self._run(self.action.returning, {WRITTEN: written})
        return Result(
            tag,
            self.statement.returning,
            returned.rename_columns(list(self.statement.returning.names)).to_batches(),
        )


def _numbered(rows: pa.Table) -> pa.Table:
    return rows.append_column("mz_number", pa.array(range(rows.num_rows), pa.int64()))


def keys_read(statement: Modify, table: RelationEntry) -> Keys | None:
    """Which rows of the table the clause reads; None for all."""
    assert statement.on_conflict is not None
    conflicts, plan = statement.on_conflict.conflicts, statement.plan
    assert table.table is not None
    is_incomplete = bool(statement.generated or table.table.computed)
    if len(conflicts) != 1 or not isinstance(plan, Constant) or is_incomplete:
        return None
    schema = arrow_schema(statement.desc, with_updates=False)
    columns = zip(*plan.rows, strict=True) if plan.rows else [()] * len(schema)
    rows = pa.table(
        [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)],
        names=schema.names,
    )
    looked_up = lookup_values(conflicts[0].arbiter, table, rows)
    return (
        Keys(table.desc.names[looked_up[0]], frozenset(looked_up[1]))
        if looked_up is not None
        else None
    )
