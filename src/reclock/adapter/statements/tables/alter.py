"""ALTER TABLE. A constraint is added in three steps, so that no row escapes it: it is enforced for new
rows, then the rows that are there are checked, then it counts as valid."""

from __future__ import annotations

from dataclasses import replace

from reclock.adapter.context.results import Result
from reclock.adapter.context.texts import text_of
from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.query.queries import run_query
from reclock.adapter.statement_context import StatementContext, executes
from reclock.adapter.statements.definition import change_catalog
from reclock.adapter.transaction.catalog_change import CatalogChange, defines
from reclock.adapter.transaction.ddl_transaction import DdlStatement
from reclock.catalog.objects import Kind
from reclock.errors import CheckViolation, ReclockError, UniqueViolation, UnsupportedSql
from reclock.sql.names import identifier
from reclock.sql.planning.registry import PlannedStatement
from reclock.sql.statements.tables.alter_plan import AlterTable, Validation
from reclock.sql.statements.tables.alter_syntax import AlterTableAction, AlterTableStatement
from reclock.sql.syntax.parse import ParsedStatement


@requires(AlterTable)
def _(statement: AlterTable, context: AuthorizationContext) -> Requirements:
    return context.require(owner_of=((Kind.ITEM, statement.id),))


@defines(AlterTable)
def _(statement: AlterTable, change: CatalogChange) -> None:
    change.redefine(statement.id, statement.create_sql)
    change.audit("alter", "table", statement.name, create_sql=statement.create_sql)


@executes(AlterTable)
def _(statement: AlterTable, context: StatementContext) -> Result:
    block = context.transactions.explicit_block
    if (
        (statement.added or statement.validations)
        and block is not None
        and statement.id not in block.made
    ):
        raise UnsupportedSql(
            "adding a constraint to a table that exists is not supported in a transaction block",
            hint="COMMIT or ROLLBACK first",
        )
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
    """Raises ``CheckViolation`` or ``UniqueViolation`` if a row breaks the constraint."""
    rows = context.transactions.run(
        lambda transaction: list(run_query(context, validation.violations, transaction).rows())
    )
    if not rows:
        return
    constraint, table = validation.constraint, statement.name.item
    values = ", ".join("null" if value is None else text_of(value) for value in rows[0])
    if constraint.condition is not None:
        raise CheckViolation(constraint.name, table, row=values)
    columns = ", ".join(constraint.columns)
    raise UniqueViolation(constraint.name, table, key=f"({columns})=({values})")
