"""LIKE in CREATE TABLE: columns that are copied from another relation."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import Column, ScalarType, numeric
from reclock.plan.functions.typing import declared
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.lookups import find_object
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.named_types import qualify_types
from reclock.sql.names import SessionNames, identifier, parts
from reclock.sql.queries.type_names import full_name
from reclock.sql.statements.tables.constraints_syntax import TableConstraint
from reclock.sql.statements.tables.syntax import CreateTableStatement, TableColumn
from reclock.sql.syntax.parse import parse_one


def copy_columns(
    node: CreateTableStatement, catalog: PlannerCatalog, session: SessionNames
) -> tuple[frozenset[GlobalId], frozenset[GlobalId]]:
    """Replace every LIKE of ``node`` by the columns of its relation, and by what it includes.
    Returns the relations, and those whose comments the columns keep."""
    columns: list[TableColumn] = []
    constraints = list(node.args.get("constraints") or ())
    copied, commented = set(), set()
    for element in node.args["columns"]:
        if isinstance(element, TableColumn):
            columns.append(element)
            continue
        entry = catalog.resolve(parts(element.this), session)
        copied.add(entry.id)
        if "COMMENTS" in element.included:
            commented.add(entry.id)
        table, included = _table_of(entry, catalog), element.included
        columns += [_column(column, included, catalog) for column in table.args["columns"]]
        constraints += _constraints(table.args.get("constraints") or (), included)
    node.set("columns", columns)
    node.set("constraints", constraints)
    return frozenset(copied), frozenset(commented)


def table_with(columns: Iterable[Column]) -> CreateTableStatement:
    """A table of these columns, each of which may be null."""
    types = [(identifier(column.name).sql(), _kept_type(column)) for column in columns]
    table = parse_one(f"CREATE TABLE t ({', '.join(f'{name} {type}' for name, type in types)})")
    assert isinstance(table, CreateTableStatement)
    return table


def _kept_type(column: Column) -> ScalarType | str:
    if column.type.domain or column.type.base.enum or column.type.base.composite:
        return full_name(column.type)
    if column.limit is not None:
        return column.sql_type
    return (
        column.type
        if column.type == numeric()
        else declared(replace(column.type, is_unconstrained=False))
    )


def _table_of(entry: RelationEntry, catalog: PlannerCatalog) -> CreateTableStatement:
    if entry.table is None or entry.create_sql is None:
        return table_with(entry.desc.columns)
    table = parse_one(entry.create_sql)
    assert isinstance(table, CreateTableStatement)
    qualify_types(table, catalog, SessionNames())
    return table


def _column(column: TableColumn, included: Collection[str], catalog: PlannerCatalog) -> TableColumn:
    copy = column.copy()
    if "DEFAULTS" not in included:
        copy.set("default", None)
    if "GENERATED" not in included:
        copy.set("computed", None)
    if copy.args.get("identity") is None:
        return copy
    if "IDENTITY" not in included:
        copy.set("identity", None)
        copy.set("options", None)
        return copy
    name = parts(copy.args["options"].args["name"])
    sequence = find_object(name, "SEQUENCE", catalog, SessionNames())
    assert sequence.create_sql is not None
    options = parse_one(sequence.create_sql).args["options"].copy()
    for belonging in ("owner", "type"):
        options.set(belonging, None)
    copy.set("options", options)
    return copy


def _constraints(
    constraints: Iterable[TableConstraint], included: Collection[str]
) -> list[TableConstraint]:
    """A check keeps its name, and keys get new ones, since they are unique within a schema."""
    copies = []
    for constraint in constraints:
        kind = constraint.args["kind"]
        if kind == "CHECK" and "CONSTRAINTS" in included:
            copies.append(constraint.copy())
        elif kind in ("PRIMARY KEY", "UNIQUE", "UNIQUE INDEX") and "INDEXES" in included:
            copy = constraint.copy()
            copy.set("this", None)
            copies.append(copy)
    if "COMMENTS" not in included:
        for copy in copies:
            copy.set("comment", None)
    return copies
