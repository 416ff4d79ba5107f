"""MERGE: the source is read, then what becomes of each pair of rows, and all is written at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reclock.adapter.context.results import Result, describes
from reclock.adapter.planning.authorization import (
    AuthorizationContext,
    Need,
    Requirements,
    requires,
)
from reclock.adapter.statement_context import StatementContext, executes
from reclock.adapter.statements.tables.changes import (
    Reads,
    StatementChanges,
    change_tables,
    turn_of,
)
from reclock.adapter.statements.tables.key_lookups import few_values
from reclock.adapter.statements.tables.rows import (
    check_not_null,
    complete_rows,
    numbered_schema,
    read_all,
    with_diff,
)
from reclock.adapter.transaction.table_reads import tables_read
from reclock.algebra.relations import RelationDesc
from reclock.catalog.acl import Privilege
from reclock.collections.key_hashes import KeyColumns
from reclock.collections.table_queues import Turn
from reclock.errors import MergedTwice
from reclock.plan.relational import Finishing, Plan
from reclock.plan.rules import optimize
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.queries.views import expand
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.tables.merge_plan import PROVIDED, Merge, MergeAction, MergePart
from reclock.sql.statements.tables.on_conflict_plan import reading_only


@requires(Merge)
def _(statement: Merge, context: AuthorizationContext) -> Requirements:
    return context.require(*_needs(statement, context))


def _needs(statement: Merge, context: AuthorizationContext) -> Iterator[Need]:
    for kind in sorted(statement.kinds):
        yield from context.on_item(statement.table, Privilege[kind])
    for part in statement.parts:
        for action in part.actions:
            for values in action.generated if action is not None else ():
                if not values.is_identity:
                    yield from context.on_item(values.sequence, Privilege.USAGE)
    yield from context.reading(statement.depends_on)


@describes(Merge)
def _(statement: Merge) -> RelationDesc | None:
    return statement.returning


@executes(Merge)
def _(statement: Merge, context: StatementContext) -> Result:
    def turn() -> Turn:
        return turn_of([reads_of_merge(statement, context.catalog)], [statement.table])

    return change_tables(context, partial(merge, statement), turn)


def merge(statement: Merge, changes: StatementChanges) -> Result:
    """Raises ``MergedTwice`` and what every write raises."""
    changes.transaction.check_writable("MERGE")
    return _Execution(statement, changes).run()


def reads_of_merge(statement: Merge, catalog: PlannerCatalog) -> Reads:
    return {**tables_read(expand(statement.source.plan, catalog)), statement.table: None}


@dataclass(frozen=True, slots=True)
class _Changes:
    """The rows of one action: of the table as they were and as they come, and of the source with
    their numbers. Rows that there are none of are NULL."""

    action: MergeAction
    old: pa.Table
    new: pa.Table
    source: pa.Table


@dataclass(frozen=True, slots=True)
class _Execution:
    statement: Merge
    changes: StatementChanges

    def run(self) -> Result:
        statement = self.statement
        table = self.changes.context.catalog.relation(statement.table)
        source = self._source()
        changes = [change for part in statement.parts for change in self._changes(part, source)]
        self._check_once(changes)
        written = []
        for change in changes:
            if change.action.kind != "INSERT":
                written.append(with_diff(change.old, table.desc, -1))
            if change.action.kind != "DELETE":
                added = with_diff(change.new, table.desc, 1)
                check_not_null(added, table)
                written.append(added)
        if written:
            self.changes.write(table, pa.concat_tables(written))
        for change in changes:
            if change.action.kind != "INSERT":
                is_update = change.action.kind == "UPDATE"
                self.changes.follow(table, change.old, change.new if is_update else None)
        count = sum(change.old.num_rows for change in changes)
        return self._result(f"{statement.tag} {count}", changes)

    def _source(self) -> pa.Table:
        """The rows of the source, numbered."""
        select = self.statement.source
        rows = read_all(self.changes.query(select), numbered_schema(select.desc))
        rows = rows.rename_columns(list(select.desc.names))
        return rows.append_column("mz_number", pa.array(range(rows.num_rows), pa.int64()))

    def _changes(self, part: MergePart, source: pa.Table) -> Iterator[_Changes]:
        plan = part.plan
        for column, other in part.keys:
            values = few_values(self.statement.desc, column, source.column(other))
            if values is not None:
                plan = reading_only(plan, part.target, column, values)
                break
        rows, width = self._run(plan, source), len(self.statement.desc)
        names = list(self.statement.desc.names)
        for i, action in enumerate(part.actions):
            chosen = rows.filter(pc.equal(rows.column(rows.num_columns - 1), i))
            if action is None or not chosen.num_rows:
                continue
            new = chosen.select(range(width, 2 * width)).rename_columns(names)
            yield _Changes(
                action,
                chosen.select(range(width)).rename_columns(names),
                new if action.kind == "DELETE" else self._completed(new, action),
                chosen.select(range(2 * width, rows.num_columns - 1)),
            )

    def _completed(self, rows: pa.Table, action: MergeAction) -> pa.Table:
        context, transaction = self.changes.context, self.changes.transaction
        table = context.catalog.relation(self.statement.table)
        return complete_rows(rows, action.generated, table, context, transaction)

    def _run(self, plan: Plan, provided: pa.Table) -> pa.Table:
        depends_on = self.statement.depends_on
        select = Select(optimize(plan), Finishing(), plan.desc, depends_on=depends_on)
        result = self.changes.query(select, {PROVIDED: provided})
        return read_all(result, numbered_schema(plan.desc))

    def _check_once(self, changes: list[_Changes]) -> None:
        """No row is changed for the sake of two rows of the source. Copies of a row are one here:
        each is matched by the same rows."""
        changed = [change for change in changes if change.action.kind != "INSERT"]
        if not changed:
            return
        row = KeyColumns(self.statement.desc.names, are_nulls_equal=True)
        hashes, _ = row.hashes(pa.concat_tables([change.old for change in changed]))
        numbers = pa.chunked_array(
            [chunk for c in changed for chunk in c.source.column(c.source.num_columns - 1).chunks],
            pa.int64(),
        )
        by = np.stack([hashes, pc.fill_null(numbers, -1).to_numpy().view(np.uint64)], axis=1)
        if len(np.unique(by, axis=0)) > len(np.unique(hashes)):
            raise MergedTwice

    def _result(self, tag: str, changes: list[_Changes]) -> Result:
        returned = self.statement.returned
        if returned is None:
            return Result(tag)
        width = len(self.statement.source.desc)
        provided = []
        for change in changes:
            shown = change.old if change.action.kind == "DELETE" else change.new
            kind = pa.repeat(pa.scalar(change.action.kind), shown.num_rows)
            provided.append((*change.source.columns[:width], *shown.columns, kind))
        source = [f"s{i}" for i in range(width)]
        names = [*source, *(f"t{i}" for i in range(len(self.statement.desc))), "merge_action"]
        tables = [pa.table(list(columns), names=names) for columns in provided]
        if not tables:
            return Result(tag, returned.desc, [])
        rows = self._run(returned, pa.concat_tables(tables, promote_options="permissive"))
        return Result(
            tag, returned.desc, rows.rename_columns(list(returned.desc.names)).to_batches()
        )
