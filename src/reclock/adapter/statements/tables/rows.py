"""Rows on their way into a table: computed by a query, completed, checked, and given a diff."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import pyarrow as pa

from reclock.adapter.context.results import Result, check_years
from reclock.adapter.context.texts import text_of
from reclock.adapter.query.queries import QueryExecution
from reclock.adapter.statement_context import StatementContext
from reclock.adapter.statements.sequences import with_generated
from reclock.adapter.transaction.transaction import Transaction
from reclock.algebra.relations import DIFF_COLUMN, RelationDesc
from reclock.collections.tables import rows_schema
from reclock.compute.engines.engine import result_type
from reclock.errors import NotNullViolation
from reclock.plan.relational import Constant, Finishing
from reclock.plan.rules import optimize
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.tables.computed import NEW_ROWS, computed_rows
from reclock.sql.statements.tables.generated import GeneratedValues
from reclock.sql.statements.tables.modify_plan import Modify

_RECENT_SCHEMAS = 1024


def compute_rows(statement: Modify, run: Callable[[Select], Result]) -> pa.Table:
    """The rows of the statement's plan, with columns ``c0``, ``c1``, …; ``run`` runs a query in the
    transaction."""
    plan = statement.plan
    schema = numbered_schema(plan.desc)
    if isinstance(plan, Constant):  # needs no engine
        columns = zip(*plan.rows, strict=True) if plan.rows else [()] * len(schema)
        return pa.table(
            [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)],
            schema,
        )
    return read_all(
        run(Select(plan, Finishing(), plan.desc, depends_on=statement.depends_on)), schema
    )


def complete_rows(
    rows: pa.Table,
    generated: Sequence[GeneratedValues],
    table: RelationEntry,
    context: StatementContext,
    transaction: Transaction,
) -> pa.Table:
    """New rows of the table, in their order, with the next values of sequences in the ``generated``
    columns, and then the values of the computed columns."""
    assert table.table is not None
    rows = with_generated(rows, generated, context)
    if not table.table.computed or not rows.num_rows:
        return rows
    numbered = pa.table(rows.columns, names=list(table.desc.names)).append_column(
        "mz_number", pa.array(range(rows.num_rows), pa.int64())
    )
    plan = optimize(computed_rows(table))
    select = Select(plan, Finishing(), plan.desc)
    query = QueryExecution(context, select, transaction, provided={NEW_ROWS: numbered})
    computed = read_all(query.run(), numbered_schema(plan.desc))
    computed = computed.sort_by(computed.column_names[-1])
    for position in table.table.computed:
        name = rows.column_names[position]
        rows = rows.set_column(position, name, computed.column(position))
    return rows


@lru_cache(_RECENT_SCHEMAS)
def numbered_schema(desc: RelationDesc) -> pa.Schema:
    """The types of the columns, which are called ``c0``, ``c1``, …"""
    return pa.schema([(f"c{i}", result_type(type)) for i, type in enumerate(desc.types)])


def read_all(result: Result, schema: pa.Schema) -> pa.Table:
    """All rows of the result, with the names and types of ``schema``."""
    tables = [
        pa.table(dict(zip(schema.names, batch.columns, strict=True))).cast(schema)
        for batch in result.batches
    ]
    return pa.concat_tables([schema.empty_table(), *tables])


def with_diff(rows: pa.Table, desc: RelationDesc, diff: int) -> pa.Table:
    """Whole rows of a table in the shape that a commit takes. Raises ``EvaluationError`` if a new
    row has a date or timestamp beyond the years that a query can return."""
    for column in rows.columns if diff > 0 else ():
        check_years(column)
    diffs = pa.repeat(pa.scalar(diff, pa.int64()), rows.num_rows)
    return pa.table([*rows.columns, diffs], schema=_unchecked_schema(desc))


@lru_cache(_RECENT_SCHEMAS)
def _unchecked_schema(desc: RelationDesc) -> pa.Schema:
    """The columns of whole rows with their diffs, before NOT NULL is checked."""
    return pa.schema([field.with_nullable(True) for field in rows_schema(desc)])


def check_not_null(rows: pa.Table, table: RelationEntry) -> None:
    """Raises ``NotNullViolation`` for the first NULL in a column that is NOT NULL."""
    for index, column in enumerate(table.desc.columns):
        values = rows.column(index)
        if not column.is_nullable and values.null_count:
            first = values.is_null().index(True).as_py()
            row = rows.slice(first, 1).drop_columns([DIFF_COLUMN]).to_pylist()[0]
            written = ", ".join(
                "null" if value is None else text_of(value) for value in row.values()
            )
            raise NotNullViolation(column.name, table.name.item, row=written)
