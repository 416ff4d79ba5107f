"""INSERT, UPDATE, DELETE and TRUNCATE: the rows that go and the rows that come, computed and entered into a transaction."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from reclock.adapter.context.results import Result
from reclock.adapter.transaction.transaction import Transaction, tables_read
from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import DIFF_COLUMN, RelationDesc
from reclock.collections.keys import Keys
from reclock.collections.schema import arrow_schema
from reclock.collections.table_queues import Turn
from reclock.collections.tables import rows_schema
from reclock.collections.text_lengths import within_limit
from reclock.errors import NotNullViolation
from reclock.plan.relational import Constant, Finishing
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.queries.views import expand
from reclock.sql.statements.copy.plan import CopyFrom, defaults
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.tables.modify_plan import Modify, Truncate

Run = Callable[[Select], Result]
"""Runs a query in the transaction."""


def modify(statement: Modify, transaction: Transaction, catalog: PlannerCatalog, run: Run) -> Result:
    """Raises ``NotNullViolation``, what the query raises, and what the transaction has against the write."""
    transaction.check_writable(statement.kind)
    table = catalog.relation(statement.table)
    found = _rows(statement, run)
    width, at = len(statement.desc), 0
    parts = []
    if statement.removes:
        parts.append(with_diff(_columns(found, at, width), statement.desc, -1))
        at += width
    if statement.adds:
        added = with_diff(_columns(found, at, width), statement.desc, 1)
        check_not_null(added, table)
        parts.append(added)
        at += width
    transaction.write(table, pa.concat_tables(parts), catalog)
    tag = f"{statement.tag} {found.num_rows}"
    if statement.returning is None:
        return Result(tag)
    shown = _columns(found, at, len(statement.returning)).rename_columns(list(statement.returning.names))
    return Result(tag, statement.returning, shown.to_batches())


def turn_of(statement: Modify | Truncate, catalog: PlannerCatalog) -> Turn:
    """What the statement reads and writes, for the queues of tables."""
    parts = statement.parts if isinstance(statement, Truncate) else (statement,)
    reads: dict[GlobalId, Keys | None] = {}
    for part in parts:
        reads |= tables_read(expand(part.plan, catalog))
    return Turn(reads, frozenset(part.table for part in parts))


def truncate(statement: Truncate, transaction: Transaction, catalog: PlannerCatalog, run: Run) -> Result:
    for part in statement.parts:
        modify(part, transaction, catalog, run)
    return Result(statement.tag)


def copy_in(statement: CopyFrom, rows: pa.Table, transaction: Transaction, catalog: PlannerCatalog, run: Run) -> None:
    """Write rows of the statement's columns; the others have their defaults. Raises as `modify`."""
    transaction.check_writable("INSERT")
    table = catalog.relation(statement.table)
    given = dict(zip(statement.positions, rows.columns, strict=True))
    if len(given) < len(table.desc):
        row = _rows(defaults(statement, table), run)
        given = {i: pa.chunked_array([pa.repeat(column[0], rows.num_rows)]) for i, column in enumerate(row.columns)} | given
    columns = [within_limit(given[i], column) for i, column in enumerate(table.desc.columns)]
    whole = pa.table(columns, list(table.desc.names))
    added = with_diff(whole, table.desc, 1)
    check_not_null(added, table)
    transaction.write(table, added, catalog)


def fill(table: RelationEntry, query: Select, transaction: Transaction, catalog: PlannerCatalog, run: Run) -> Result:
    """What the query answers is what the new table holds."""
    schema = arrow_schema(table.desc, with_updates=False)
    arrays = [pa.table(dict(zip(schema.names, batch.columns, strict=True))).cast(schema) for batch in run(query).batches]
    found = pa.concat_tables([schema.empty_table(), *arrays])
    transaction.write(table, with_diff(found, table.desc, 1), catalog)
    return Result(f"SELECT {found.num_rows}")


def with_diff(rows: pa.Table, desc: RelationDesc, diff: int) -> pa.Table:
    """Whole rows of a table as a commit takes them."""
    schema = rows_schema(desc)
    diffs = pa.repeat(pa.scalar(diff, pa.int64()), rows.num_rows)
    nullable = pa.schema([field.with_nullable(True) for field in schema])
    return pa.table([*rows.columns, diffs], schema=nullable)


def check_not_null(rows: pa.Table, table: RelationEntry) -> None:
    for index, column in enumerate(table.desc.columns):
        values = rows.column(index)
        if not column.is_nullable and values.null_count:
            first = values.is_null().index(True).as_py()
            row = rows.slice(first, 1).drop_columns([DIFF_COLUMN]).to_pylist()[0]
            written = ", ".join("null" if value is None else str(value) for value in row.values())
            raise NotNullViolation(column.name, table.name.item, row=written)


def _rows(statement: Modify, run: Run) -> pa.Table:
    plan = statement.plan
    schema = pa.schema([pa.field(f"c{i}", field.type) for i, field in enumerate(arrow_schema(plan.desc, with_updates=False))])
    if isinstance(plan, Constant):  # no engine is needed to know them
        columns = zip(*plan.rows, strict=True) if plan.rows else [()] * len(schema)
        return pa.table([pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)], schema)
    answer = run(Select(plan, Finishing(), plan.desc, depends_on=statement.depends_on))
    arrays = [pa.table(dict(zip(schema.names, batch.columns, strict=True))).cast(schema) for batch in answer.batches]
    return pa.concat_tables([schema.empty_table(), *arrays])


def _columns(rows: pa.Table, start: int, width: int) -> pa.Table:
    return rows.select(range(start, start + width))
