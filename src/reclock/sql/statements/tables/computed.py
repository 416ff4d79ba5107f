"""Columns that are computed from other columns of their row: GENERATED ALWAYS AS (…) STORED."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

from sqlglot import exp

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import BIGINT, Column, RelationDesc
from reclock.algebra.zones import UTC_NAME
from reclock.errors import AggregateNotAllowed, InvalidConstraint, UnsupportedSql
from reclock.plan.build import compute
from reclock.plan.relational import Get, Plan
from reclock.plan.scalar_trees import columns_of, move_columns
from reclock.plan.scalars import ColumnRef, Scalar
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.names import QualifiedName
from reclock.sql.parameters import NO_PARAMETERS
from reclock.sql.queries.expressions import ExprContext, scalar
from reclock.sql.queries.limits import NoSubqueries
from reclock.sql.queries.scope import Scope
from reclock.sql.session_zone import planned_in
from reclock.sql.statements.tables.syntax import CreateTableStatement, TableColumn
from reclock.sql.statements.tables.targets import default_of

NEW_ROWS = StorageCollectionId(GlobalId("t0"))
"""New rows of a table, each with its number as the last column."""


def computed_columns(node: CreateTableStatement) -> Mapping[int, exp.Expr]:
    """The expressions of the computed columns of a definition, by position."""
    columns: list[TableColumn] = node.args["columns"]
    expressions = (column.args.get("computed") for column in columns)
    return {i: expression for i, expression in enumerate(expressions) if expression is not None}


def computed_from(column: TableColumn) -> list[exp.Identifier]:
    """The names of columns in the expression of the column, if it is computed."""
    expression = column.args.get("computed")
    names = expression.find_all(exp.Column) if expression is not None else ()
    return [name.this for name in names]


def declare_computed(node: CreateTableStatement, name: QualifiedName, desc: RelationDesc) -> None:
    """Bring the expressions of computed columns into the form that is kept, in which they name
    columns alone."""
    for position, expression in computed_columns(node).items():
        _scalar(expression, desc.columns[position], Scope.of(desc, name.item, name))
        for column in expression.find_all(exp.Column):
            for qualifier in ("table", "db", "catalog"):
                column.set(qualifier, None)


def computed_scalars(desc: RelationDesc, computed: Mapping[int, exp.Expr]) -> Mapping[int, Scalar]:
    """The values of the computed columns, over the columns of the row. Raises for expressions that
    PostgreSQL refuses."""
    scope, scalars = Scope.of(desc, None), dict[int, Scalar]()
    for position, expression in computed.items():
        value = _scalar(expression, desc.columns[position], scope)
        for used in sorted(columns_of(value) & computed.keys()):
            raise InvalidConstraint(
                f'cannot use generated column "{desc.names[used]}" in column generation expression',
                detail="A generated column cannot reference another generated column.",
                sqlstate="42P17",
            )
        scalars[position] = value
    return scalars


def with_computed(plan: Plan, table: RelationEntry, start: int = 0) -> Plan:
    """``plan``, which has a new row of the table from the column ``start`` on, with the values of
    the computed columns in that row."""
    assert table.table is not None
    if not table.table.computed:
        return plan
    columns: list[Scalar] = [ColumnRef(i, type) for i, type in enumerate(plan.desc.types)]
    for position, value in computed_scalars(table.desc, table.table.computed).items():
        columns[start + position] = move_columns(value, partial(int.__add__, start))
    return compute(plan, columns, plan.desc.names)


def computed_rows(table: RelationEntry) -> Plan:
    """Whole rows, with the values of the computed columns, from ``NEW_ROWS``."""
    columns = (Column(column.name, column.type) for column in table.desc.columns)
    number = Column("mz_number", BIGINT, is_nullable=False)
    return with_computed(Get(NEW_ROWS, "new", RelationDesc((*columns, number))), table)


def _scalar(expression: exp.Expr, column: Column, scope: Scope) -> Scalar:
    context = ExprContext(scope, _InComputed(NO_PARAMETERS), "GENERATED")
    try:
        with planned_in(UTC_NAME):
            value = scalar(expression, context)
    except AggregateNotAllowed as error:
        raise AggregateNotAllowed(
            "aggregate functions are not allowed in column generation expressions"
        ) from error
    return default_of(value, column)


@dataclass(frozen=True, slots=True)
class _InComputed(NoSubqueries):
    """The value of a computed column depends on its row alone."""

    def value(self, *_: object, **_named: object) -> NoReturn:
        raise UnsupportedSql("cannot use subquery in column generation expression")

    exists = contains = any = compared = rows = array = value

    def about_session(self, *_: object) -> NoReturn:
        raise InvalidConstraint("generation expression is not immutable", sqlstate="42P17")

    def object_id(self, *_: object) -> NoReturn:
        self.about_session()
