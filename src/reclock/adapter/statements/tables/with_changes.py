"""WITH that holds statements that change tables: its statements one after the other, and the main
statement last."""

from __future__ import annotations

from functools import partial

from reclock.adapter.context.results import Result, describes, result_desc
from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.statement_context import StatementContext, executes
from reclock.adapter.statements.tables.changes import (
    Reads,
    StatementChanges,
    change_tables,
    turn_of,
)
from reclock.adapter.statements.tables.merge import merge, reads_of_merge
from reclock.adapter.statements.tables.modify import modify, reads_of_modify
from reclock.adapter.statements.tables.rows import numbered_schema, read_all
from reclock.adapter.transaction.table_reads import tables_read
from reclock.algebra.relations import RelationDesc
from reclock.collections.table_queues import Turn
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.tables.merge_plan import Merge
from reclock.sql.statements.tables.modify_plan import Modify
from reclock.sql.statements.tables.with_plan import Part, With


@requires(With)
def _(statement: With, context: AuthorizationContext) -> Requirements:
    parts = (context.of(part) for part in statement.statements)
    return context.require(*(need for required in parts for need in required.needs))


@describes(With)
def _(statement: With) -> RelationDesc | None:
    return result_desc(statement.main)


@executes(With)
def _(statement: With, context: StatementContext) -> Result:
    def work(changes: StatementChanges) -> Result:
        for step in statement.steps:
            result = _execute(step.statement, changes)
            if result.desc is not None:
                changes.returned[step.rows] = read_all(result, numbered_schema(result.desc))
        return _execute(statement.main, changes)

    return change_tables(context, work, partial(_turn, statement, context))


def _execute(statement: Part, changes: StatementChanges) -> Result:
    match statement:
        case Modify():
            return modify(statement, changes)
        case Merge():
            return merge(statement, changes)
        case Select(desc=desc):  # read to its end, since an error in it undoes the changes
            rows = read_all(changes.query(statement), numbered_schema(desc))
            return Result(statement.tag, desc, rows.rename_columns(list(desc.names)).to_batches())


def _turn(statement: With, context: StatementContext) -> Turn:
    writes = [part.table for part in statement.statements if not isinstance(part, Select)]
    return turn_of((_reads(part, context) for part in statement.statements), writes)


def _reads(statement: Part, context: StatementContext) -> Reads:
    match statement:
        case Modify():
            return reads_of_modify(statement, context)
        case Merge():
            return reads_of_merge(statement, context.catalog)
        case Select():
            return tables_read(context.definition_of(statement.plan).plan)
