"""ALTER TABLE. If columns change, the rows are written again, to another table in the place of the
first. Otherwise a constraint is added in three steps, so that no row escapes it: it is enforced for
new rows, then the rows that are there are checked, then it counts as valid."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from reclock.adapter.context.results import Result
from reclock.adapter.context.texts import text_of
from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.query.queries import run_query
from reclock.adapter.statement_context import StatementContext, executes
from reclock.adapter.statements.definition import (
    change_catalog,
    check_permanent,
    define_in_transaction,
    send_notices,
)
from reclock.adapter.statements.tables.rows import complete_rows, read_all, with_diff
from reclock.adapter.transaction.catalog_change import CatalogChange, defines
from reclock.adapter.transaction.ddl_transaction import DdlStatement
from reclock.adapter.transaction.reference_checks import MIXED_NULLS
from reclock.adapter.transaction.transaction import Transaction
from reclock.algebra.ids import GlobalId
from reclock.catalog.objects import ItemType, Kind
from reclock.collections.schema import arrow_schema
from reclock.errors import (
    CheckViolation,
    ForeignKeyViolation,
    NotNullViolation,
    ReclockError,
    UniqueViolation,
)
from reclock.sql.catalog.constraints import ConstraintKind
from reclock.sql.names import identifier
from reclock.sql.planning.registry import PlannedStatement
from reclock.sql.statements.tables.alter_plan import AlterTable
from reclock.sql.statements.tables.alter_syntax import AlterTableAction, AlterTableStatement
from reclock.sql.statements.tables.generated import generated_by_default
from reclock.sql.statements.tables.rewrite_plan import TableRewrite
from reclock.sql.statements.tables.validations import Validation
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.parse import ParsedStatement


@requires(AlterTable)
def _(statement: AlterTable, context: AuthorizationContext) -> Requirements:
    owned = {statement.id: None} | dict.fromkeys(statement.referenced)
    return context.require(owner_of=tuple((Kind.ITEM, id) for id in owned))


@defines(AlterTable)
def _(statement: AlterTable, change: CatalogChange) -> None:
    create_sql = statement.create_sql
    if change.new_table is None:
        change.redefine(statement.id, create_sql)
    else:
        assert statement.rewrite is not None
        rewrite = statement.rewrite()
        create_sql = rewrite.create_sql
        _replace(statement.id, rewrite, change)
    change.audit("alter", "table", statement.name, create_sql=create_sql)


def _replace(id: GlobalId, rewrite: TableRewrite, change: CatalogChange) -> None:
    """Replace the table by one with its new rows, and what depends on it by the same over that."""
    for dropped in rewrite.dropped:
        change.drop_item(dropped)
    for name, create_sql in rewrite.sequences:
        change.insert_sequence(name, create_sql)
    change.replace_item(id, rewrite.create_sql, rewrite.renamed)
    for dependent, create_sql in rewrite.recreated:
        change.replace_item(dependent, create_sql)
    for other, create_sql in rewrite.redefined:
        change.redefine(other, create_sql)


@executes(AlterTable)
def _(statement: AlterTable, context: StatementContext) -> Result:
    if statement.name.is_temporary:
        return _alter_temporary(statement, context)
    block = context.transactions.explicit_block
    has_other_rows = block is not None and statement.id not in block.created
    is_checked = bool(statement.added or statement.validations)
    if statement.must_rewrite or (has_other_rows and is_checked):
        return _rewrite(statement, context)
    for validation in statement.validations:
        _validate(statement, validation, context)
    result = change_catalog(statement, context)
    for name in statement.added:
        try:
            _follow(statement, "VALIDATE CONSTRAINT", name, context)
        except ReclockError:
            if block is None:
                _follow(statement, "DROP CONSTRAINT", name, context)
            raise
    return result


def _rewrite(statement: AlterTable, context: StatementContext) -> Result:
    """Write the rows of the table again, with its new columns, to a new table in its place."""
    check_permanent(statement, context)
    assert statement.rewrite is not None
    rewrite = statement.rewrite()
    definition = DdlStatement(context.parsed, context.planner, (context.catalog, statement))

    def work(transaction: Transaction) -> Result:
        rows = _remaining_rows(statement, rewrite, context, transaction)
        id = transaction.replace(statement.id, definition)
        catalog = context.transactions.temporary.over(transaction.definitions.catalog)
        _refill(id, rows, rewrite, replace(context, catalog=catalog), transaction)
        return Result(statement.tag)

    return define_in_transaction(statement, context, work)


def _alter_temporary(statement: AlterTable, context: StatementContext) -> Result:
    """Its rows are in memory: they are always written again, which checks new constraints."""
    temporary = context.transactions.temporary
    rewrite = None if statement.rewrite is None else statement.rewrite()

    def work(transaction: Transaction) -> Result:
        if rewrite is None:
            temporary.redefine({statement.id: statement.create_sql})
            return Result(statement.tag)
        rows = _remaining_rows(statement, rewrite, context, transaction)
        for name, create_sql in rewrite.sequences:
            temporary.create(name, ItemType.SEQUENCE, create_sql, context.users)
        temporary.drop(rewrite.dropped)
        definition = (statement.id, rewrite.create_sql)
        temporary.redefine(dict((definition, *rewrite.recreated, *rewrite.redefined)))
        temporary.empty([statement.id])
        catalog, _ = context.transactions.present()
        _refill(statement.id, rows, rewrite, replace(context, catalog=catalog), transaction)
        return Result(statement.tag)

    result = context.transactions.run(work)
    send_notices(statement, context)
    return result


def _remaining_rows(
    statement: AlterTable,
    rewrite: TableRewrite,
    context: StatementContext,
    transaction: Transaction,
) -> pa.Table:
    """The rows of the table, with its new columns."""
    schema = arrow_schema(rewrite.rows.desc, with_updates=False)
    if not context.catalog.relation(statement.id).desc.columns:
        return schema.empty_table()
    return read_all(run_query(context, rewrite.rows, transaction), schema)


def _refill(
    id: GlobalId,
    rows: pa.Table,
    rewrite: TableRewrite,
    context: StatementContext,
    transaction: Transaction,
) -> None:
    """Write the rows, completed by values that sequences generate, to the table that is new in the
    context's catalog. Raises the violations of its constraints."""
    catalog = context.catalog
    table = catalog.relation(id)
    generated = [
        values
        for position, name in enumerate(table.desc.names)
        if name in rewrite.generated
        and (values := generated_by_default(table, position, catalog)) is not None
    ]
    rows = complete_rows(rows, generated, table, context, transaction)
    for column, values in zip(table.desc.columns, rows.columns, strict=True):
        if not column.is_nullable and values.null_count:
            raise NotNullViolation(column.name, table.name.item, row=None)
    transaction.write(table, with_diff(rows, table.desc, 1), catalog)


def _follow(statement: AlterTable, kind: str, name: str, context: StatementContext) -> None:
    """Validate or drop a constraint of the table, as a statement of its own."""
    action = AlterTableAction(kind=kind, this=identifier(name))
    node = AlterTableStatement(this=statement.name.to_table(), actions=[action])
    parsed: ParsedStatement = replace(context.parsed, node=node)
    catalog, _ = context.transactions.present()
    planned: PlannedStatement = context.planner.plan(parsed, catalog)
    assert isinstance(planned, AlterTable)
    present = replace(context, catalog=catalog, parsed=parsed)
    for validation in planned.validations:
        _validate(planned, validation, present)
    change_catalog(planned, present, DdlStatement(parsed, context.planner, (catalog, planned)))


def _validate(statement: AlterTable, validation: Validation, context: StatementContext) -> None:
    """Raises the constraint's violation if a row breaks it."""
    rows = context.transactions.run(
        lambda transaction: list(run_query(context, validation.violations, transaction).rows())
    )
    if not rows:
        return
    constraint, table = validation.constraint, statement.name.item
    values = ", ".join("null" if value is None else text_of(value) for value in rows[0])
    if constraint.condition is not None:
        raise CheckViolation(constraint.name, table, row=values)
    columns = ", ".join([to_sql(key) for key in constraint.keys] or constraint.columns)
    if constraint.kind is ConstraintKind.FOREIGN_KEY:
        detail = f'Key ({columns})=({values}) is not present in table "{constraint.target[-1]}".'
        if None in rows[0]:
            detail = MIXED_NULLS
        raise ForeignKeyViolation.of_referring(constraint.name, table, detail=detail)
    raise UniqueViolation(constraint.name, table, key=f"({columns})=({values})")
