"""How ALTER TABLE makes a column an identity column, and one that is none."""

from __future__ import annotations

from reclock.errors import InvalidConstraint
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName, SessionNames, fold
from reclock.sql.statements.tables.alter_syntax import AlterTableAction
from reclock.sql.statements.tables.column_changes import ColumnChanges
from reclock.sql.statements.tables.declared_constraints import key_columns
from reclock.sql.statements.tables.generated import name_sequences
from reclock.sql.statements.tables.syntax import CreateTableStatement, TableColumn
from reclock.sql.syntax.consumption import consume


def add_identity(
    column: TableColumn,
    action: AlterTableAction,
    definition: CreateTableStatement,
    table: QualifiedName,
    catalog: PlannerCatalog,
    session: SessionNames,
) -> tuple[tuple[QualifiedName, str], ...]:
    """Make the column of the table's definition an identity column. Returns name and definition of
    its sequence. Raises ``InvalidConstraint``."""
    where, problem = _named(column, table), None
    if not column.args.get("not_null") and fold(column.this) not in key_columns(definition):
        problem = f"{where} must be declared NOT NULL before identity can be added"
    elif column.args.get("identity"):
        problem = f"{where} is already an identity column"
    elif column.args.get("default") is not None:
        problem = f"{where} already has a default value"
    elif column.args.get("computed") is not None:
        problem = f"{where} is a generated column"
    if problem is not None:
        raise InvalidConstraint(problem, sqlstate="55000")
    identity = action.args["value"]
    consume(identity)
    column.set("identity", identity.args["identity"])
    column.set("options", identity.args["options"])
    new_table = CreateTableStatement(this=table.to_table(), columns=[column.copy()])
    sequences = name_sequences(new_table, table, catalog, session)
    [named] = new_table.args["columns"]
    column.set("options", named.args["options"])
    return sequences


def set_identity(column: TableColumn, kind: str, table: QualifiedName) -> None:
    """Let statements set the identity column, or not. Raises ``InvalidConstraint``."""
    if not column.args.get("identity"):
        raise InvalidConstraint(_no_identity(column, table), sqlstate="55000")
    column.set("identity", kind.removeprefix("SET GENERATED "))


def drop_identity(
    column: TableColumn, action: AlterTableAction, table: QualifiedName, columns: ColumnChanges
) -> list[str]:
    """Let the column keep its values, as one without a sequence. Returns the notices. Raises
    ``InvalidConstraint``."""
    may_have_none = bool(action.args.get("exists"))
    if not column.args.get("identity"):
        if not may_have_none:
            raise InvalidConstraint(_no_identity(column, table), sqlstate="55000")
        return [f"{_no_identity(column, table)}, skipping"]
    column.set("identity", None)
    column.set("options", None)
    columns.without_identity.add(fold(column.this))
    columns.are_changed = True
    return []


def _named(column: TableColumn, table: QualifiedName) -> str:
    return f'column "{fold(column.this)}" of relation "{table.item}"'


def _no_identity(column: TableColumn, table: QualifiedName) -> str:
    return f"{_named(column, table)} is not an identity column"
