"""CREATE UNIQUE INDEX, and DROP INDEX and ALTER INDEX … RENAME of one.

A unique index is a constraint of the table: UNIQUE if its keys are columns and it has all rows."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from reclock.errors import InvalidConstraint, UnsupportedSql
from reclock.sql.catalog.constraints import ConstraintKind
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName, SessionNames, fold, identifier
from reclock.sql.planning.registry import Skipped
from reclock.sql.queries.output_names import UNNAMED, output_name
from reclock.sql.statements.tables.alter_plan import AlterTable, alter_table
from reclock.sql.statements.tables.alter_syntax import AlterTableAction, AlterTableStatement
from reclock.sql.statements.tables.constraints_syntax import TableConstraint
from reclock.sql.statements.tables.modify_plan import table_named
from reclock.sql.statements.views.syntax import CreateIndexStatement
from reclock.sql.syntax.consumption import tracked_copy

_INDEXES = (ConstraintKind.UNIQUE, ConstraintKind.UNIQUE_INDEX)


def add_unique_index(
    statement: CreateIndexStatement, catalog: PlannerCatalog, session: SessionNames
) -> AlterTable | Skipped:
    """The table with the constraint, which has the name of the index."""
    node = tracked_copy(statement)
    if node.args.get("method") is not None:
        method = fold(node.args["method"])
        raise UnsupportedSql(f'access method "{method}" does not support unique indexes')
    table = table_named(node.args["on"], catalog, session)
    keys, predicate = node.args["keys"], node.args.get("where")
    if predicate is None and all(isinstance(key, exp.Identifier) for key in keys):
        kind, keyed = ConstraintKind.UNIQUE, {"columns": keys, "is_index": True}
    else:
        written = [
            exp.column(identifier(fold(key))) if isinstance(key, exp.Identifier) else key
            for key in keys
        ]
        kind, keyed = ConstraintKind.UNIQUE_INDEX, {"keys": written, "where": predicate}
    name = (
        fold(node.this)
        if node.this is not None
        else _free_name(table, [*keys, *(node.args.get("include") or ())])
    )
    if node.args.get("exists") and _has_constraint(table, name):
        return Skipped("CREATE INDEX", f'relation "{name}" already exists, skipping')
    constraint = TableConstraint(
        this=identifier(name),
        kind=str(kind),
        are_nulls_equal=node.args["unique"] == "NULLS NOT DISTINCT",
        orders=node.args.get("orders"),
        include=node.args.get("include"),
        **keyed,
    )
    action = AlterTableAction(kind="ADD CONSTRAINT", value=constraint)
    return _altered(table, action, "CREATE INDEX", catalog, session)


def drop_unique_index(
    name: tuple[str, ...], catalog: PlannerCatalog, session: SessionNames
) -> AlterTable | None:
    """The table without its unique index of that name; None if no table has it. Raises
    ``InvalidConstraint`` if it is the primary key, which only ALTER TABLE drops."""
    key = catalog.find_key(name, session)
    if key is not None and key[0].constraints[key[1]].kind is ConstraintKind.PRIMARY_KEY:
        index, table = name[-1], key[0].name.item
        raise InvalidConstraint(
            f"cannot drop index {index} because constraint {index} on table {table} requires it",
            hint=f"You can drop constraint {index} on table {table} instead.",
            sqlstate="2BP01",
        )
    action = AlterTableAction(kind="DROP CONSTRAINT", this=identifier(name[-1]))
    return _changed_index(name, action, "DROP INDEX", catalog, session)


def rename_unique_index(
    name: tuple[str, ...], to: str, catalog: PlannerCatalog, session: SessionNames
) -> AlterTable | None:
    """The table whose unique index has another name; None if no table has it."""
    action = AlterTableAction(
        kind="RENAME CONSTRAINT", this=identifier(name[-1]), value=identifier(to)
    )
    return _changed_index(name, action, "ALTER INDEX", catalog, session)


def comment_on_unique_index(
    name: tuple[str, ...], comment: exp.Expr | None, catalog: PlannerCatalog, session: SessionNames
) -> AlterTable | None:
    """The table whose unique index has the comment; None if no table has it."""
    action = AlterTableAction(
        kind="COMMENT ON CONSTRAINT", this=identifier(name[-1]), value=comment
    )
    return _changed_index(name, action, "COMMENT", catalog, session)


def _changed_index(
    name: tuple[str, ...],
    action: AlterTableAction,
    tag: str,
    catalog: PlannerCatalog,
    session: SessionNames,
) -> AlterTable | None:
    key = catalog.find_key(name, session)
    return None if key is None else _altered(key[0], action, tag, catalog, session)


def _altered(
    table: RelationEntry,
    action: AlterTableAction,
    tag: str,
    catalog: PlannerCatalog,
    session: SessionNames,
) -> AlterTable:
    node = AlterTableStatement(this=table.name.to_table(), actions=[action])
    planned = alter_table(node, catalog, session)
    assert isinstance(planned, AlterTable)
    return replace(planned, tag=tag)


def _has_constraint(table: RelationEntry, name: str) -> bool:
    constraints = table.table.constraints if table.table is not None else ()
    return any(
        constraint.name == name and constraint.kind in _INDEXES for constraint in constraints
    )


def _free_name(table: RelationEntry, keys: list[exp.Expr]) -> str:
    names = [fold(key) if isinstance(key, exp.Identifier) else output_name(key) for key in keys]
    columns = "_".join("expr" if name == UNNAMED else name for name in names)
    preferred: QualifiedName = table.name.sibling(f"{table.name.item}_{columns}_idx")
    constraints = table.table.constraints if table.table is not None else ()
    taken_names = [constraint.name for constraint in constraints]
    name, number = preferred.item, 0
    while name in taken_names:
        number += 1
        name = f"{preferred.item}{number}"
    return name
