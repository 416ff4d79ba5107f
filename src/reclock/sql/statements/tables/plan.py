"""CREATE TABLE: columns, their defaults, and the normalised text the catalog keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId
from reclock.algebra.relations import (
    Column,
    RelationDesc,
)
from reclock.catalog.objects import Item, ItemType
from reclock.errors import (
    AggregateNotAllowed,
    InvalidColumnReference,
    SqlSyntaxError,
    UnknownColumn,
)
from reclock.plan.scalars import Call, Scalar
from reclock.sql.catalog.definitions import TableDefinition
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.named_types import defined_domain
from reclock.sql.names import QualifiedName, SessionNames, fold, parts
from reclock.sql.parameters import NO_PARAMETERS
from reclock.sql.planning.definitions import definition_text, skip_existing
from reclock.sql.planning.registry import Skipped, plans, plans_item
from reclock.sql.queries.columns import check_columns, check_stored, declared_column
from reclock.sql.queries.expressions import ExprContext, scalar
from reclock.sql.queries.limits import NoSubqueries
from reclock.sql.queries.planned import TypedExpr
from reclock.sql.queries.scope import Scope
from reclock.sql.statements.query.plan import plan_bare_query
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.tables.computed import (
    computed_columns,
    computed_scalars,
    declare_computed,
)
from reclock.sql.statements.tables.declared_constraints import (
    declare_constraints,
    declared_constraints,
    key_columns,
)
from reclock.sql.statements.tables.generated import generated_columns, name_sequences
from reclock.sql.statements.tables.like_plan import copy_columns, table_with
from reclock.sql.statements.tables.syntax import CreateTableStatement
from reclock.sql.statements.tables.targets import default_of
from reclock.sql.syntax.consumption import tracked_copy
from reclock.sql.syntax.nodes import CreateTableAsStatement


@plans(CreateTableStatement)
def create_table(
    node: CreateTableStatement, catalog: PlannerCatalog, session: SessionNames
) -> CreateTable | Skipped:
    name = catalog.locate(parts(node.this), session)
    skipped = skip_existing(node, name, ItemType.TABLE, catalog)
    if skipped is not None:
        return skipped
    normal = tracked_copy(node)
    normal.set("exists", None)
    normal.set("on_commit", None)
    normal.set("this", name.to_table())
    copied, commented = copy_columns(normal, catalog, session)
    sequences = name_sequences(normal, name, catalog, session)
    desc = table_columns(normal)
    declare_computed(normal, name, desc)
    notices = declare_constraints(normal, name, desc, catalog, session)
    return CreateTable(
        name,
        definition_text(normal),
        define_table(normal),
        notices=notices,
        sequences=sequences,
        copied=copied,
        commented=commented,
        on_commit=node.args.get("on_commit"),
    )


@plans(CreateTableAsStatement)
def create_table_as(
    node: CreateTableAsStatement, catalog: PlannerCatalog, session: SessionNames
) -> CreateTable | Skipped:
    """The table has the columns of the query; each may be null."""
    name = catalog.locate(parts(node.this), session)
    skipped = skip_existing(node, name, ItemType.TABLE, catalog)
    if skipped is not None:
        return skipped
    query = plan_bare_query(node.args["query"], catalog, session)
    column_names = [fold(column) for column in node.args.get("names") or ()]
    if len(column_names) > len(query.desc):
        raise SqlSyntaxError("too many column names were specified")
    names = [*column_names, *query.desc.names[len(column_names) :]]
    check_columns(names)
    columns = [
        replace(column, name=name) for name, column in zip(names, query.desc.columns, strict=True)
    ]
    check_stored(columns)
    create_table = table_with(columns)
    create_table.set("this", name.to_table())
    table = define_table(create_table)
    return CreateTable(
        name,
        definition_text(create_table),
        table,
        None if node.args.get("is_empty") else query,
        on_commit=node.args.get("on_commit"),
    )


def define_table(node: CreateTableStatement) -> TableDefinition:
    """The table that the statement describes. Raises for columns or defaults that cannot be;
    constraints are not looked into."""
    desc = table_columns(node)
    defaults = tuple(column.args.get("default") for column in node.args["columns"])
    generated, computed = generated_columns(node), computed_columns(node)
    for i, (column, default) in enumerate(zip(desc.columns, defaults, strict=True)):
        if default is not None and i not in generated:
            default_value(default, column)
    computed_scalars(desc, computed)
    return TableDefinition(
        desc, defaults, declared_constraints(node), generated, computed, _domain_defaults(node)
    )


def _domain_defaults(node: CreateTableStatement) -> dict[int, exp.Expr]:
    domains = [defined_domain(column.args["kind"]) for column in node.args["columns"]]
    defaults = [None if domain is None else domain.inherited_default for domain in domains]
    return {i: default for i, default in enumerate(defaults) if default is not None}


def table_columns(node: CreateTableStatement) -> RelationDesc:
    """The columns of the table that the statement describes. Raises for columns that cannot be."""
    key = key_columns(node)
    columns = []
    for column in node.args["columns"]:
        name = fold(column.this)
        columns.append(
            declared_column(
                name, column.args["kind"], not column.args.get("not_null") and name not in key
            )
        )
    if columns:
        check_columns([column.name for column in columns])
    check_stored(columns)
    return RelationDesc(tuple(columns))


SessionAnswer = Callable[[Call[TypedExpr]], TypedExpr]
"""What a call about the session becomes."""


def default_value(
    node: exp.Expr, column: Column, answer: SessionAnswer = lambda call: call
) -> Scalar:
    """The scalar of a DEFAULT, as the column's type: it has only constants and functions.
    ``answer`` replaces its calls about the session."""
    try:
        value = scalar(
            node, ExprContext(Scope(), _InDefault(NO_PARAMETERS, answer=answer), "DEFAULT")
        )
    except UnknownColumn as error:
        raise InvalidColumnReference("cannot use column reference in DEFAULT expression") from error
    except AggregateNotAllowed as error:
        raise AggregateNotAllowed(
            "aggregate functions are not allowed in DEFAULT expressions"
        ) from error
    return default_of(value, column)


@dataclass(frozen=True, slots=True)
class _InDefault(NoSubqueries):
    """A default may ask about the session that inserts the row."""

    answer: SessionAnswer = lambda call: call

    def about_session(self, call: Call[TypedExpr]) -> TypedExpr:
        return self.answer(call)


@dataclass(frozen=True, slots=True)
class CreateTable:
    name: QualifiedName
    create_sql: str
    table: TableDefinition
    query: Select | None = None
    """Whose rows it begins with."""
    notices: tuple[str, ...] = ()
    sequences: tuple[tuple[QualifiedName, str], ...] = ()
    """Names and definitions of the sequences that its columns own."""
    copied: frozenset[GlobalId] = frozenset()
    """The relations whose columns it copies."""
    commented: frozenset[GlobalId] = frozenset()
    """The relations that give their columns' comments to columns of the same names."""
    on_commit: str | None = None
    """``DROP`` or ``DELETE ROWS``: what the end of a transaction does to a temporary table."""
    tag: str = "CREATE TABLE"

    @property
    def reads(self) -> frozenset[GlobalId]:
        """The relations of its query, or of LIKE."""
        return self.query.depends_on if self.query is not None else self.copied


@plans_item(CreateTableStatement)
def table_entry(
    node: CreateTableStatement, item: Item, name: QualifiedName, catalog: PlannerCatalog
) -> RelationEntry:
    table = define_table(node)
    rows = StorageCollectionId(item.id, CollectionType.TABLE)
    return RelationEntry(
        item.id, rows, name, item.type, table.desc, create_sql=item.create_sql, table=table
    )
