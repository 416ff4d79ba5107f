"""Parts of the statements that change a table: the columns they name, what they assign, and what
they return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from sqlglot import exp

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import Column, RelationDesc
from reclock.algebra.zones import UTC_NAME
from reclock.errors import (
    AggregateNotAllowed,
    DuplicateColumn,
    InvalidWindow,
    SqlSyntaxError,
    TypeMismatch,
    UnknownColumn,
    UnsupportedSql,
)
from reclock.plan.build import compute
from reclock.plan.functions import AGGREGATES
from reclock.plan.relational import Get, Plan
from reclock.plan.scalars import ColumnRef, Scalar
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.names import fold, nearest
from reclock.sql.queries.assignment import assign
from reclock.sql.queries.attach import attach
from reclock.sql.queries.context import Context
from reclock.sql.queries.expressions import ExprContext, function_name, scalar
from reclock.sql.queries.planned import Planned, TypedExpr, scalar_of
from reclock.sql.queries.scope import Scope, ScopeColumn
from reclock.sql.queries.select_items import select_list
from reclock.sql.session_zone import planned_in
from reclock.sql.statements.tables.assigned_parts import with_part
from reclock.sql.statements.tables.generated import (
    check_always_updated,
    is_default,
    next_value_of,
)
from reclock.sql.syntax.consumption import tracked_copy
from reclock.sql.syntax.places import at

_NO_OTHERS = Scope()


def target_columns(columns: Sequence[exp.Expr] | None, table: RelationEntry) -> tuple[int, ...]:
    """The positions of the columns named, or of all. Raises ``UnknownColumn``, ``DuplicateColumn``,
    or ``UnsupportedSql`` for a table without columns, which cannot have rows."""
    if columns is None and not table.desc.columns:
        raise UnsupportedSql(
            f'table "{table.name.item}" has no columns, and so no rows',
            hint="give it a column with ALTER TABLE … ADD COLUMN",
        )
    if columns is None:
        return tuple(range(len(table.desc.names)))
    names = [fold(column) for column in columns]
    for i, (name, column) in enumerate(zip(names, columns, strict=True)):
        if name not in table.desc.names:
            hint = nearest(name, table.desc.names)
            with at(column):
                raise UnknownColumn(name, relation=table.name.item, hint=hint)
        if name in names[:i]:
            with at(column):
                raise DuplicateColumn(name)
    return tuple(table.desc.names.index(name) for name in names)


def assigned_values(
    assignments: Sequence[exp.Expr], table: RelationEntry, named: exp.Table
) -> dict[int, exp.Expr]:
    """What SET assigns to columns of the table, as the statement names it, by their positions.
    Raises ``UnknownColumn``, ``GeneratedAlways``."""
    alias = named.args.get("alias")
    relation = fold(alias.this if alias is not None else named.this)
    values: dict[int, exp.Expr] = {}
    in_parts: set[int] = set()
    for assignment in assignments:
        name, parts = assignment.this, assignment.args.get("parts")
        (position,) = target_columns([name], table)
        if position in values and not (parts and position in in_parts):
            raise SqlSyntaxError(f'multiple assignments to same column "{fold(name)}"')
        written = assignment.args["value"]
        _reject_functions_of_rows(written)
        check_always_updated(written, position, table)
        if parts and is_default(written):
            kind = "a subfield" if isinstance(parts[-1], exp.Identifier) else "an array element"
            with at(name):
                raise UnsupportedSql(f"cannot set {kind} to DEFAULT")
        value = assigned_value(written, position, table)
        if parts:
            whole = values.get(position) or exp.column(fold(name), relation, quoted=True)
            with at(name):
                value = with_part(whole, fold(name), table.desc.types[position], parts, value)
            in_parts.add(position)
        values[position] = value
    return values


def _reject_functions_of_rows(value: exp.Expr) -> None:
    for part in value.walk(prune=lambda part: isinstance(part, exp.Query)):
        if isinstance(part, exp.Window):
            with at(part):
                raise InvalidWindow("window functions are not allowed in UPDATE")
        if isinstance(part, exp.Anonymous) and function_name(part) in AGGREGATES:
            with at(part):
                raise AggregateNotAllowed("aggregate functions are not allowed in UPDATE")


def assigned_value(node: exp.Expr, position: int, table: RelationEntry) -> exp.Expr:
    """The value that an UPDATE assigns; for DEFAULT, the default of the column."""
    if not is_default(node):
        return tracked_copy(node)
    assert table.table is not None
    if position in table.table.generated:
        return next_value_of(table.table.generated[position].sequence)
    default = table.table.default(position)
    if default is None:
        return exp.Null()
    return ColumnDefault(this=default.copy(), column=table.desc.columns[position])


class ColumnDefault(exp.Expression):
    """The DEFAULT of ``column``. Like all definitions, it reads moments in UTC."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "column": True}


@scalar.register
def _column_default(node: ColumnDefault, context: ExprContext) -> TypedExpr:
    with planned_in(UTC_NAME):
        return assign(scalar(node.this, context), node.args["column"])


def column_refs(desc: RelationDesc, start: int = 0) -> list[Any]:
    return [ColumnRef(start + i, type) for i, type in enumerate(desc.types)]


def plan_returning(
    node: exp.Expr,
    plan: Plan,
    start: int,
    table: RelationEntry,
    context: Context,
    other_relations: Scope = _NO_OTHERS,
) -> tuple[Plan, RelationDesc | None]:
    """``plan`` with what RETURNING says behind it; and the columns of that.

    It may name the table's columns, which begin at ``start``, and those of ``other_relations``,
    which are last and go.
    """
    returning = node.args.get("returning")
    if not returning:
        return plan, None
    alias = node.this.args.get("alias")
    table_scope = Scope.of(
        table.desc, fold(alias.this) if alias else table.name.item, None if alias else table.name
    )
    hidden = tuple(ScopeColumn(None, "", type, None, True) for type in plan.desc.types[:start])
    items = select_list(
        returning,
        Scope(hidden + table_scope.columns + other_relations.columns),
        context,
        "RETURNING",
    )
    wide, values = attach(plan, [value for _, value in items])
    width = len(plan.desc) - len(other_relations.columns)
    row = [*column_refs(plan.desc)[:width], *values]
    wide = compute(wide, row, [*plan.desc.names[:width], *(name for name, _ in items)])
    limits = {start + place: column.limit for place, column in enumerate(table.desc.columns)}
    return wide, RelationDesc(
        tuple(
            replace(column, limit=limits.get(value.index))
            if isinstance(value, ColumnRef)
            else column
            for value, column in zip(values, wide.desc.columns[width:], strict=True)
        )
    )


WRITTEN = StorageCollectionId(GlobalId("t0"))
"""The rows that a statement has written, for RETURNING."""


def plan_returning_written(
    node: exp.Expr, table: RelationEntry, context: Context
) -> tuple[Plan | None, RelationDesc | None]:
    """RETURNING as a plan over ``WRITTEN``; None without the clause."""
    written = Get(WRITTEN, "written", table.desc)
    wide, returned = plan_returning(node, written, 0, table, context)
    if returned is None:
        return None, None
    width = len(table.desc)
    return compute(wide, column_refs(wide.desc)[width:], returned.names), returned


def default_of(value: Planned, column: Column) -> Scalar:
    """The value of a default or of a generated column, as the column's type. Raises
    ``TypeMismatch``."""
    try:
        return scalar_of(assign(value, column))
    except TypeMismatch as error:
        of = value.type.unconstrained if value.type is not None else "unknown"
        raise TypeMismatch(
            f'column "{column.name}" is of type {column.type.unconstrained} but default '
            f"expression is of type {of}"
        ) from error
