"""COPY."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from reclock.adapter.context.results import Result
from reclock.adapter.copy.export import export
from reclock.adapter.copy.transfer import CopyIn, CopyOut
from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.query.queries import QueryExecution
from reclock.adapter.statement_context import StatementContext, executes
from reclock.adapter.statements.subscribe import subscribe
from reclock.adapter.statements.tables.rows import (
    check_not_null,
    complete_rows,
    compute_rows,
    with_diff,
)
from reclock.adapter.transaction.transaction import Transaction
from reclock.catalog.acl import Privilege
from reclock.collections.table_queues import Turn
from reclock.collections.text_lengths import within_limit
from reclock.plan.relational import Constant
from reclock.sql.statements.copy.plan import COPIED, CopyFrom, CopyTo, CopyToFiles, defaults
from reclock.sql.statements.subscribe.plan import SubscribeQuery
from reclock.sql.statements.tables.modify_plan import Modify


@requires(CopyTo)
def _(statement: CopyTo, context: AuthorizationContext) -> Requirements:
    return context.of(statement.select)


@executes(CopyTo)
def _(statement: CopyTo, context: StatementContext) -> CopyOut:
    if isinstance(statement.select, SubscribeQuery):
        return CopyOut(subscribe(statement.select, context), statement.format, statement.style)
    query = QueryExecution(
        context, statement.select, context.transactions.block, read_ts=context.read_ts
    )
    return CopyOut(query.run(), statement.format, statement.style)


@requires(CopyToFiles)
def _(statement: CopyToFiles, context: AuthorizationContext) -> Requirements:
    """With credentials of the server, only superusers write: as in PostgreSQL, where COPY writes
    what the server may write."""
    required = context.of(statement.select)
    connection = statement.connection
    has_credentials = connection is not None and "ACCESS KEY ID" in dict(connection.options)
    return replace(
        required,
        needs=(*required.needs, *context.using(statement.uses)),
        superuser_to=None if has_credentials else "COPY with the credentials of the server",
    )


@executes(CopyToFiles)
def _(statement: CopyToFiles, context: StatementContext) -> Result:
    query = QueryExecution(
        context,
        statement.select,
        context.transactions.block,
        read_ts=context.read_ts,
        is_export=True,
    )
    return Result(f"COPY {export(statement, context.environment.runtime.sink_context, query.run)}")


@requires(CopyFrom)
def _(statement: CopyFrom, context: AuthorizationContext) -> Requirements:
    return context.require(*context.on_item(statement.table, Privilege.INSERT))


@executes(CopyFrom)
def _(statement: CopyFrom, context: StatementContext) -> CopyIn:
    context.await_storage()
    return CopyIn(statement, partial(_insert, statement, context), context.transactions.fail)


def _insert(statement: CopyFrom, context: StatementContext, rows: pa.Table) -> None:
    def work(transaction: Transaction) -> None:
        _write(statement, rows, transaction, context)

    context.transactions.run(work, lambda: Turn({}, frozenset({statement.table})))


def _write(
    statement: CopyFrom, rows: pa.Table, transaction: Transaction, context: StatementContext
) -> None:
    """Write rows of the statement's columns; the other columns get their defaults, or are computed.
    Raises ``NotNullViolation``."""
    transaction.check_writable("INSERT")
    table = context.catalog.relation(statement.table)
    names = context.planner.names_at(context.catalog)
    plan = defaults(statement, table, context.catalog, names)
    columns_at = dict(zip(statement.positions, rows.columns, strict=True))
    if len(columns_at) < len(table.desc):
        by_default = _default_rows(plan, rows.num_rows, transaction, context)
        columns_at = dict(enumerate(by_default.columns)) | columns_at
    columns = [within_limit(columns_at[i], column) for i, column in enumerate(table.desc.columns)]
    new = pa.table(columns, list(table.desc.names))
    complete = complete_rows(new, plan.generated, table, context, transaction)
    added = with_diff(complete, table.desc, 1)
    check_not_null(added, table)
    transaction.write(table, added, context.catalog)


def _default_rows(
    plan: Modify, count: int, transaction: Transaction, context: StatementContext
) -> pa.Table:
    """``count`` rows that have the defaults of the columns that are not copied."""
    numbers = {COPIED: pa.table({"number": pa.array(range(count), pa.int64())})}
    rows = compute_rows(
        plan, lambda select: QueryExecution(context, select, transaction, provided=numbers).run()
    )
    if isinstance(plan.plan, Constant):
        rows = rows.take(pa.array(np.zeros(count, np.int64)))
    return rows
