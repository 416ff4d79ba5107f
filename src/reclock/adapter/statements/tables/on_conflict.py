"""INSERT … ON CONFLICT: which rows are inserted, which are updated instead, and which are left
out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from reclock.adapter.context.results import Result
from reclock.adapter.statements.tables.rows import (
    check_not_null,
    numbered_schema,
    read_all,
    with_diff,
)
from reclock.adapter.transaction.transaction import Transaction
from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.relations import RelationDesc, TypeName
from reclock.collections.keys import Keys
from reclock.collections.schema import arrow_schema
from reclock.errors import RowAffectedTwice, UniqueViolation, WriteConflict
from reclock.plan.relational import Constant, Finishing, Plan
from reclock.plan.rules import optimize
from reclock.sql.catalog.constraints import Constraint
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.tables.modify_plan import Modify
from reclock.sql.statements.tables.on_conflict_plan import PROPOSED, ConflictAction, ConflictPlan
from reclock.sql.statements.tables.targets import WRITTEN

_FEW = 100
"""So many keys are looked up one by one."""

_LOOKED_UP = (TypeName.SMALLINT, TypeName.INTEGER, TypeName.BIGINT, TypeName.TEXT)

Run = Callable[[Select, Mapping[StorageCollectionId, pa.Table]], Result]
"""Runs a query in the transaction, over these rows too."""


@dataclass(frozen=True, slots=True)
class InsertOrUpdate:
    """The execution of one statement."""

    statement: Modify
    action: ConflictAction
    table: RelationEntry
    run: Run
    follow: Callable[[pa.Table, pa.Table], None]
    """Does what foreign keys say of rows that go and the rows that come in their place."""

    def write(self, rows: pa.Table, transaction: Transaction, catalog: PlannerCatalog) -> Result:
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
            transaction.write(self.table, pa.concat_tables([removed, added]), catalog)
            self.follow(removed, added)
            numbers += applied.column(2 * width).to_pylist()
            written = pa.concat_tables([inserted, changed.cast(inserted.schema)])
        self._insert(with_diff(inserted, desc, 1), transaction, catalog)
        order = pa.array(sorted(range(len(numbers)), key=numbers.__getitem__), pa.int64())
        return self._result(written.take(order))

    def _insert(self, added: pa.Table, transaction: Transaction, catalog: PlannerCatalog) -> None:
        try:
            transaction.write(self.table, added, catalog)
        except UniqueViolation as violation:
            arbiters = [conflict.arbiter.name for conflict in self.action.conflicts]
            if violation.constraint not in arbiters or transaction.read_at is None:
                raise
            raise WriteConflict(self.table.id, read_at=transaction.read_at) from violation

    def _matches(self, conflict: ConflictPlan, named: pa.Table) -> pa.Table:
        """The rows of the conflict's plan."""
        proposed = named.append_column("mz_number", pa.array(range(named.num_rows), pa.int64()))
        looked_up = lookup_values(conflict.arbiter, self.table, named)
        plan = conflict.plan if looked_up is None else conflict.among(*looked_up)
        return self._run(plan, PROPOSED, proposed)

    def _run(self, plan: Plan, collection: StorageCollectionId, rows: pa.Table) -> pa.Table:
        depends_on = self.statement.depends_on | {self.table.id}
        select = Select(optimize(plan), Finishing(), plan.desc, depends_on=depends_on)
        return read_all(self.run(select, {collection: rows}), numbered_schema(plan.desc))

    def _repeated(self, rows: pa.Table, is_present: Sequence[bool]) -> Iterator[int]:
        """The numbers of rows with the key of an earlier one."""
        seen: dict[str, set[tuple[Any, ...]]] = {}
        columns = [
            (c.arbiter, [rows.column(name).to_pylist() for name in c.arbiter.columns])
            for c in self.action.conflicts
        ]
        for number, present in enumerate(is_present):
            keys = {
                arbiter.name: tuple(values[number] for values in of_key)
                for arbiter, of_key in columns
            }
            unlike = {
                arbiter.name
                for arbiter, _ in columns
                if None in keys[arbiter.name] and not arbiter.are_nulls_equal
            }
            is_repeated = any(
                key in seen.get(name, ()) for name, key in keys.items() if name not in unlike
            )
            if is_repeated and self.action.is_update:
                raise RowAffectedTwice
            if is_repeated:
                yield number
            elif not present or self.action.is_update:
                for name, key in keys.items():
                    seen.setdefault(name, set()).add(key)

    def _result(self, written: pa.Table) -> Result:
        tag = f"{self.statement.tag} {written.num_rows}"
        if self.action.returning is None or self.statement.returning is None:
            return Result(tag)
        returned = self._run(self.action.returning, WRITTEN, written)
        return Result(
            tag,
            self.statement.returning,
            returned.rename_columns(list(self.statement.returning.names)).to_batches(),
        )


def lookup_values(
    arbiter: Constraint, table: RelationEntry, rows: pa.Table
) -> tuple[int, list[Any]] | None:
    """The position and the values of a column of the key by which few rows of the table are found;
    None if it is scanned."""
    for name in arbiter.columns:
        position = table.desc.names.index(name)
        if arbiter.are_nulls_equal and rows.column(name).null_count:
            continue
        values = few_values(table.desc, position, rows.column(name))
        if values is not None:
            return position, values
    return None


def few_values(desc: RelationDesc, position: int, values: pa.ChunkedArray) -> list[Any] | None:
    """The different values that are not NULL, if a column of the table can be looked up by these."""
    if desc.types[position].name not in _LOOKED_UP or desc.columns[position].limit:
        return None
    different = pc.unique(values).drop_null().to_pylist()
    return different if 0 < len(different) <= _FEW else None


def keys_read(statement: Modify, table: RelationEntry) -> Keys | None:
    """Which rows of the table the clause reads; None for all."""
    assert statement.on_conflict is not None
    conflicts, plan = statement.on_conflict.conflicts, statement.plan
    if len(conflicts) != 1 or not isinstance(plan, Constant) or statement.generated:
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
