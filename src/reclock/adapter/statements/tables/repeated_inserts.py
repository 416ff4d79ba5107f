"""An INSERT that is executed many times with other parameters: all rows are written at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from reclock.adapter.statement_context import StatementContext
from reclock.adapter.statements.tables.rows import check_not_null, complete_rows, with_diff
from reclock.collections.schema import arrow_schema


def insert_rows(columns: Sequence[Sequence[Any]], count: int, context: StatementContext) -> bool:
    """Add one row for each of ``count`` executions to the open block. ``columns`` holds the values
    of each parameter.

    The context's plan is that of the first execution. False if the rows of the others do not follow
    from it; nothing is written then, nor if it raises what an execution raises.
    """
    template, transaction = context.planned.template, context.transactions.block
    assert transaction is not None
    if template is None:
        return False
    modify = template.modify
    names = context.planner.names_at(context.catalog)
    computed = template.columns(columns, count, context.catalog, names)
    if computed is None:
        return False
    transaction.check_writable(modify.kind)
    table = context.catalog.relation(modify.table)
    [row] = template.plan.rows
    arrays = [
        pa.array(computed.get(i) or [row[i]] * count, field.type)
        for i, field in enumerate(arrow_schema(modify.desc, with_updates=False))
    ]
    context.await_storage()
    context.cancellation.check()
    new = pa.table(arrays, list(modify.desc.names))
    complete = complete_rows(new, modify.generated, table, context, transaction)
    rows = with_diff(complete, modify.desc, 1)
    check_not_null(rows, table)
    transaction.write(table, rows, context.catalog)
    return True
