"""ALTER TABLE: the definition that it leaves, and what the table's rows must meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import RelationDesc
from reclock.catalog.objects import ItemType
from reclock.errors import DependentObjects, InvalidConstraint, UnknownColumn, UnsupportedSql
from reclock.sql.catalog.constraints import Constraint, ConstraintKind
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName, SessionNames, fold, identifier, nearest, parts, quote
from reclock.sql.planning.definitions import definition_text
from reclock.sql.planning.registry import Skipped, plans
from reclock.sql.queries.columns import declared_column
from reclock.sql.statements.query.plan import plan_query_statement
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.tables.alter_syntax import AlterTableAction, AlterTableStatement
from reclock.sql.statements.tables.constraints_syntax import TableConstraint
from reclock.sql.statements.tables.declared_constraints import declare_constraints
from reclock.sql.statements.tables.generated import name_default
from reclock.sql.statements.tables.modify_plan import table_named
from reclock.sql.statements.tables.plan import define_table
from reclock.sql.statements.tables.syntax import CreateTableStatement, TableColumn
from reclock.sql.syntax.consumption import tracked_copy
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.nodes import QueryStatement
from reclock.sql.syntax.parse import parse_one


@dataclass(frozen=True, slots=True)
class Validation:
    """The rows of ``violations`` break the constraint; for a key, they are the keys that come
    twice."""

    constraint: Constraint
    violations: Select


@dataclass(frozen=True, slots=True)
class AlterTable:
    """The table gets another definition. ``validations`` come before it; the constraints of
    ``added`` hold for new rows only, until they are validated after it."""

    id: GlobalId
    name: QualifiedName
    create_sql: str
    validations: tuple[Validation, ...] = ()
    added: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    depends_on: frozenset[GlobalId] = frozenset()
    tag: str = "ALTER TABLE"


@plans(AlterTableStatement)
def alter_table(
    node: AlterTableStatement, catalog: PlannerCatalog, session: SessionNames
) -> AlterTable | Skipped:
    written = parts(node.this)
    if node.args.get("exists") and catalog.find(written, session) is None:
        notice = f'relation "{".".join(written)}" does not exist, skipping'
        return Skipped("ALTER TABLE", notice)
    table = table_named(node.this, catalog, session)
    definition = parse_one(table.create_sql or "")
    assert isinstance(definition, CreateTableStatement)
    change = _Change(table, definition, catalog, session, [], [], [])
    for action in tracked_copy(node).args["actions"]:
        change.apply(action)
    define_table(definition)
    return AlterTable(
        table.id,
        table.name,
        definition_text(definition),
        tuple(change.validations),
        tuple(change.added),
        tuple(change.notices),
        frozenset({table.id}),
    )


@dataclass(frozen=True, slots=True)
class _Change:
    """``definition`` while the actions change it, one after the other."""

    table: RelationEntry
    definition: CreateTableStatement
    catalog: PlannerCatalog
    session: SessionNames
    validations: list[Validation]
    added: list[str]
    notices: list[str]

    def apply(self, action: AlterTableAction) -> None:
        match action.args["kind"]:
            case "SET DEFAULT":
                column = self._column(action)
                if column.args.get("identity"):
                    raise InvalidConstraint(
                        f'column "{fold(column.this)}" of relation "{self.table.name.item}" is an '
                        "identity column",
                        sqlstate="42601",
                    )
                column.set("default", action.args["value"])
                name_default(column, self.catalog, self.session)
            case "DROP DEFAULT":
                self._column(action).set("default", None)
            case "TYPE":
                self._set_type(self._column(action), action.args["value"])
            case "ADD CONSTRAINT":
                self._add(action.args["value"])
            case "DROP CONSTRAINT":
                self._drop(action)
            case "VALIDATE CONSTRAINT":
                self._validate(self._constraint(action))
            case _:
                renamed, new = self._constraint(action), fold(action.args["value"])
                self._check_free(new)
                renamed.set("this", identifier(new))

    # --- columns ---

    def _column(self, action: AlterTableAction) -> TableColumn:
        name = fold(action.this)
        columns: list[TableColumn] = self.definition.args["columns"]
        for column in columns:
            if fold(column.this) == name:
                return column
        raise UnknownColumn(name, hint=nearest(name, self.table.desc.names))

    def _set_type(self, column: TableColumn, kind: exp.DataType) -> None:
        """A column of text may become longer: the rows stay as they are."""
        index = self.table.desc.names.index(fold(column.this))
        old = self.table.desc.columns[index]
        new = declared_column(old.name, kind, old.is_nullable)
        if new == old:
            return
        is_longer = old.limit is not None and (
            new.limit is None
            or (
                new.limit.ignores_blanks == old.limit.ignores_blanks
                and new.limit.characters >= old.limit.characters
            )
        )
        if new.type != old.type or not is_longer or (old.limit and old.limit.ignores_blanks):
            raise UnsupportedSql(
                f"ALTER COLUMN TYPE from {old.sql_type} to {new.sql_type} is not supported",
                detail="only varchar(n) can become longer, or text",
                hint="create another table with CREATE TABLE, and fill it with INSERT … SELECT",
            )
        if any(entry.type is ItemType.VIEW for entry in self.catalog.dependents(self.table.id)):
            raise UnsupportedSql("cannot alter type of a column used by a view or rule")
        column.set("kind", kind)

    # --- constraints ---

    @property
    def _constraints(self) -> list[TableConstraint]:
        return list(self.definition.args.get("constraints") or ())

    def _constraint(self, action: AlterTableAction) -> TableConstraint:
        name = fold(action.this)
        for constraint in self._constraints:
            if fold(constraint.this) == name:
                return constraint
        raise InvalidConstraint(
            f'constraint "{name}" of relation "{self.table.name.item}" does not exist',
            sqlstate="42704",
        )

    def _check_free(self, name: str) -> None:
        if any(fold(constraint.this) == name for constraint in self._constraints):
            raise InvalidConstraint(
                f'constraint "{name}" for relation "{self.table.name.item}" already exists',
                sqlstate="42710",
            )

    def _add(self, constraint: TableConstraint) -> None:
        old = self._constraints
        added = CreateTableStatement(
            this=self.table.name.to_table(),
            columns=self.definition.args["columns"],
            constraints=[constraint],
        )
        wants_no_validation = bool(constraint.args.get("is_not_valid"))
        self.notices.extend(
            declare_constraints(
                added, self.table.name, self.table.desc, self.catalog, self.session, old
            )
        )
        kind = ConstraintKind(constraint.args["kind"])
        if kind is ConstraintKind.PRIMARY_KEY:
            _check_not_null(self.table.desc, [fold(c) for c in constraint.args["columns"]])
        if wants_no_validation and kind in (ConstraintKind.PRIMARY_KEY, ConstraintKind.UNIQUE):
            raise InvalidConstraint(
                f"{kind} constraints cannot be marked NOT VALID", sqlstate="0A000"
            )
        is_enforced = not constraint.args.get("is_not_enforced")
        constraint.set("is_not_valid", is_enforced or None)
        if is_enforced and not wants_no_validation:
            self.added.append(fold(constraint.this))
        self.definition.set("columns", added.args["columns"])
        self.definition.set("constraints", [*old, constraint])

    def _drop(self, action: AlterTableAction) -> None:
        name = fold(action.this)
        if action.args.get("exists") and all(fold(c.this) != name for c in self._constraints):
            self.notices.append(
                f'constraint "{name}" of relation "{self.table.name.item}" does not exist, skipping'
            )
            return
        dropped = self._constraint(action)
        dependents = list(self._dependents(dropped))
        if dependents:
            raise DependentObjects("constraint", name, dependents)
        remaining = [constraint for constraint in self._constraints if constraint is not dropped]
        self.definition.set("constraints", remaining)

    def _dependents(self, key: TableConstraint) -> Iterator[str]:
        """The foreign keys that refer to the key."""
        if key.args["kind"] not in ("PRIMARY KEY", "UNIQUE"):
            return
        columns = {fold(column) for column in key.args["columns"]}
        table = parts(self.table.name.to_table())
        for entry in self.catalog.relations():
            for constraint in entry.table.constraints if entry.table is not None else ():
                if constraint.target == table and set(constraint.target_columns) == columns:
                    yield f"{entry.name}.{constraint.name}"

    def _validate(self, node: TableConstraint) -> None:
        constraint = next(
            constraint
            for constraint in (self.table.table.constraints if self.table.table else ())
            if constraint.name == fold(node.this)
        )
        if not constraint.is_enforced or constraint.is_valid:
            return
        node.set("is_not_valid", None)
        self.validations.append(self._validation(constraint))

    def _validation(self, constraint: Constraint) -> Validation:
        query = parse_one(_violations(self.table.name, constraint))
        assert isinstance(query, QueryStatement)
        select = plan_query_statement(query, self.catalog, SessionNames())
        return Validation(constraint, select)


def _violations(table: QualifiedName, constraint: Constraint) -> str:
    """A query for a row that breaks the CHECK, or for a key that several rows have."""
    if constraint.condition is not None:
        return f"SELECT * FROM {table} WHERE NOT ({to_sql(constraint.condition)}) LIMIT 1"
    columns = [quote(column) for column in constraint.columns]
    present = " AND ".join(f"{column} IS NOT NULL" for column in columns)
    key, where = ", ".join(columns), "" if constraint.are_nulls_equal else f"WHERE {present}"
    return f"SELECT {key} FROM {table} {where} GROUP BY {key} HAVING count(*) > 1 LIMIT 1"


def _check_not_null(desc: RelationDesc, columns: Sequence[str]) -> None:
    for name in columns:
        if desc.columns[desc.names.index(name)].is_nullable:
            raise UnsupportedSql(
                f'a primary key of column "{name}", which may be NULL, cannot be added',
                hint="declare the column NOT NULL in CREATE TABLE",
            )
