"""INSERT, UPDATE, DELETE and TRUNCATE: compute the rows to remove and to add, and write them in a
transaction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pyarrow as pa

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
from reclock.adapter.statements.tables.on_conflict import InsertOrUpdate, keys_read
from reclock.adapter.statements.tables.rows import (
    check_not_null,
    complete_rows,
    compute_rows,
    with_diff,
)
from reclock.adapter.transaction.table_reads import tables_read
from reclock.algebra.relations import RelationDesc
from reclock.catalog.acl import Privilege
from reclock.catalog.objects import Kind
from reclock.collections.table_queues import Turn
from reclock.errors import UnsupportedSql
from reclock.plan.relational import Constant, Finishing, Get, Plan, Project
from reclock.sql.catalog.entries import SequenceEntry
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.tables.modify_plan import Modify, Truncate
from reclock.sql.statements.tables.targets import WRITTEN


@requires(Modify)
def _(statement: Modify, context: AuthorizationContext) -> Requirements:
    return context.require(*_needs(statement, context))


def _needs(statement: Modify, context: AuthorizationContext) -> Iterator[Need]:
    """The privilege of the statement, and SELECT where rows are read: by UPDATE, DELETE and
    RETURNING, and by the query."""
    reads = set(statement.depends_on)
    if statement.removes or statement.returning is not None:
        reads.add(statement.table)
    yield from context.on_item(statement.table, Privilege[statement.kind])
    for values in statement.generated:
        if not values.is_identity:
            yield from context.on_item(values.sequence, Privilege.USAGE)
    if statement.on_conflict is not None:
        reads.add(statement.table)
        if statement.on_conflict.is_update:
            yield from context.on_item(statement.table, Privilege.UPDATE)
    yield from context.reading(reads)


@describes(Modify)
def _(statement: Modify) -> RelationDesc | None:
    return statement.returning


@executes(Modify)
def _(statement: Modify, context: StatementContext) -> Result:
    turn = partial(_turn, (statement,), context)
    return change_tables(context, partial(modify, statement), turn)


@requires(Truncate)
def _(statement: Truncate, context: AuthorizationContext) -> Requirements:
    return context.require(
        *(
            need
            for part in statement.parts
            for need in context.on_item(part.table, Privilege.DELETE)
        ),
        owner_of=tuple((Kind.ITEM, sequence) for sequence in statement.restarted),
    )


@executes(Truncate)
def _(statement: Truncate, context: StatementContext) -> Result:
    def work(changes: StatementChanges) -> Result:
        for part in statement.parts:
            modify(part, changes)
        return Result(statement.tag)

    def empty() -> None:
        change_tables(context, work, partial(_turn, statement.parts, context))

    if not statement.restarted:
        empty()
        return Result(statement.tag)
    if context.transactions.explicit_block is not None:
        raise UnsupportedSql(
            "TRUNCATE ... RESTART IDENTITY in a transaction block is not supported",
            hint="a rollback takes nothing back from a sequence: TRUNCATE the table, and after "
            "COMMIT, ALTER SEQUENCE ... RESTART",
        )

    def empty_and_restart() -> None:
        empty()
        for id in statement.restarted:
            sequence = context.catalog.entry(id)
            assert isinstance(sequence, SequenceEntry)
            context.sequences.restart(sequence, sequence.sequence.start)

    context.transactions.run_alone(statement.tag, empty_and_restart)
    return Result(statement.tag)


def modify(statement: Modify, changes: StatementChanges) -> Result:
    """Raises ``NotNullViolation``, what the query raises, and what the transaction refuses."""
    context = changes.context
    changes.transaction.check_writable(statement.kind)
    table = context.catalog.relation(statement.table)
    rows = compute_rows(statement, changes.query)
    if statement.kind == "INSERT":
        rows = complete_rows(rows, statement.generated, table, context, changes.transaction)
    if statement.on_conflict is not None:
        return InsertOrUpdate(statement, statement.on_conflict, table, changes).write(rows)
    width, at = len(statement.desc), 0
    removed, added = None, None
    if statement.removes:
        removed = with_diff(_columns(rows, at, width), statement.desc, -1)
        at += width
    if statement.adds:
        added = with_diff(_columns(rows, at, width), statement.desc, 1)
        check_not_null(added, table)
        at += width
    changes.write(table, pa.concat_tables(part for part in (removed, added) if part is not None))
    if removed is not None:
        changes.follow(table, removed, added)
    tag = f"{statement.tag} {rows.num_rows}"
    if statement.returning is None:
        return Result(tag)
    if statement.returned is not None:
        written = pa.table(rows.columns, list(statement.desc.names))
        return _returned(tag, statement, statement.returned, written, changes)
    returned = _columns(rows, at, len(statement.returning)).rename_columns(
        list(statement.returning.names)
    )
    return Result(tag, statement.returning, returned.to_batches())


def _returned(
    tag: str, statement: Modify, plan: Plan, written: pa.Table, changes: StatementChanges
) -> Result:
    """The rows of RETURNING: those of its plan over the ``written`` rows."""
    if plan == Get(WRITTEN, "written", statement.desc):
        return Result(tag, statement.returning, written.to_batches())
    if isinstance(plan, Project) and isinstance(plan.input, Get):  # needs no engine
        columns = written.select(plan.indexes).rename_columns(list(plan.desc.names))
        return Result(tag, statement.returning, columns.to_batches())
    depends_on = statement.depends_on | {statement.table}
    select = Select(plan, Finishing(), plan.desc, depends_on=depends_on)
    return replace(changes.query(select, {WRITTEN: written}), tag=tag, desc=statement.returning)


def _turn(parts: tuple[Modify, ...], context: StatementContext) -> Turn:
    """The tables that the parts of a statement read and write, for the queues of tables."""
    return turn_of(
        (reads_of_modify(part, context) for part in parts), (part.table for part in parts)
    )


def reads_of_modify(statement: Modify, context: StatementContext) -> Reads:
    if isinstance(statement.plan, Constant):
        reads: Reads = {}
    else:
        reads = tables_read(context.definition_of(statement.plan).plan)
    if statement.on_conflict is not None:
        table = context.catalog.relation(statement.table)
        reads[statement.table] = None if statement.table in reads else keys_read(statement, table)
    return reads


def _columns(rows: pa.Table, start: int, width: int) -> pa.Table:
    return rows.select(range(start, start + width))
