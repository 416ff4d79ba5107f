"""ALTER TABLE: the definition that it leaves, and what the table's rows must meet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial

from sqlglot import exp

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import Column, RelationDesc
from reclock.catalog.objects import ItemType
from reclock.errors import DependentObjects, InvalidConstraint, UnknownColumn, UnsupportedSql
from reclock.sql.catalog.constraints import ConstraintKind
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.foreign_keys import foreign_keys, referring_keys, targets_of
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName, SessionNames, fold, identifier, nearest, parts
from reclock.sql.planning.definitions import definition_text, skip_missing
from reclock.sql.planning.registry import Skipped, plans
from reclock.sql.queries.columns import declared_column
from reclock.sql.statements.tables.alter_syntax import (
    AlterTableAction,
    AlterTableStatement,
)
from reclock.sql.statements.tables.column_changes import (
    ColumnChanges,
    check_assignable,
    constrained_columns,
    rename_identifiers,
    rename_in_constraint,
)
from reclock.sql.statements.tables.computed import computed_from, declare_computed
from reclock.sql.statements.tables.constraints_syntax import TableConstraint
from reclock.sql.statements.tables.declared_constraints import (
    check_comparable,
    declare_constraints,
    key_columns,
)
from reclock.sql.statements.tables.generated import generated_columns, name_default, name_sequences
from reclock.sql.statements.tables.identity_changes import (
    add_identity,
    drop_identity,
    set_identity,
)
from reclock.sql.statements.tables.modify_plan import table_named
from reclock.sql.statements.tables.plan import define_table, table_columns
from reclock.sql.statements.tables.rewrite_plan import (
    TableRewrite,
    plan_rewrite,
    views_that_need_the_key,
)
from reclock.sql.statements.tables.syntax import CreateTableStatement, TableColumn
from reclock.sql.statements.tables.validations import Validation, plan_validation
from reclock.sql.syntax.consumption import consume, tracked_copy
from reclock.sql.syntax.parse import parse_one


@dataclass(frozen=True, slots=True)
class AlterTable:
    """The table gets another definition. ``validations`` come before it; the constraints of
    ``added`` hold for new rows only, until they are validated after it.

    With a ``rewrite``, it may instead get its rows again, which leaves nothing to validate. That
    reads the definitions of all that depends on the table, so it is planned when it is called for.
    ``referenced`` are the tables that new foreign keys refer to.
    """

    id: GlobalId
    name: QualifiedName
    create_sql: str
    validations: tuple[Validation, ...] = ()
    added: tuple[str, ...] = ()
    rewrite: Callable[[], TableRewrite] | None = None
    must_rewrite: bool = False
    notices: tuple[str, ...] = ()
    depends_on: frozenset[GlobalId] = frozenset()
    referenced: tuple[GlobalId, ...] = ()
    tag: str = "ALTER TABLE"


@plans(AlterTableStatement, is_definition=True)
def alter_table(
    node: AlterTableStatement, catalog: PlannerCatalog, session: SessionNames
) -> AlterTable | Skipped:
    skipped = skip_missing(node, "TABLE", catalog.find(parts(node.this), session))
    if skipped is not None:
        return skipped
    table = table_named(node.this, catalog, session)
    definition = parse_one(table.create_sql or "")
    assert isinstance(definition, CreateTableStatement)
    change = _Change(table, definition, catalog, session)
    for action in tracked_copy(node).args["actions"]:
        change.apply(action)
    constraints = define_table(definition).constraints
    declared = table.table.constraints if table.table is not None else ()
    must_rewrite = change.columns.are_changed
    rewrite = None
    if must_rewrite or change.added or change.validations:
        valid = _all_valid(definition)
        rewrite = cache(partial(plan_rewrite, table, valid, change.columns, catalog, session))
    if rewrite is not None and must_rewrite:
        rewrite()  # raises what refuses the statement
    return AlterTable(
        table.id,
        table.name,
        definition_text(definition),
        tuple(change.validations),
        tuple(change.added),
        rewrite,
        must_rewrite,
        tuple(change.notices),
        frozenset({table.id}),
        tuple(targets_of((c for c in constraints if c not in declared), catalog)),
    )


def _all_valid(definition: CreateTableStatement) -> CreateTableStatement:
    """The definition of a table whose rows are all checked as they are written."""
    valid = definition.copy()
    for constraint in valid.args.get("constraints") or ():
        constraint.set("is_not_valid", None)
    return valid


@dataclass(frozen=True, slots=True)
class _Change:
    """``definition`` while the actions change it, one after the other."""

    table: RelationEntry
    definition: CreateTableStatement
    catalog: PlannerCatalog
    session: SessionNames
    validations: list[Validation] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    columns: ColumnChanges = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", ColumnChanges(self.table.desc))

    def apply(self, action: AlterTableAction) -> None:
        match action.args["kind"]:
            case "ADD COLUMN":
                self._add_column(action)
            case "DROP COLUMN":
                self._drop_column(action)
            case "RENAME COLUMN":
                self._rename_column(self._column(action), fold(action.args["value"]))
            case "SET NOT NULL":
                self._column(action).set("not_null", True)
                self.columns.are_changed = True
            case "DROP NOT NULL":
                self._drop_not_null(self._column(action))
            case "ADD IDENTITY":
                added = add_identity(
                    self._column(action),
                    action,
                    self.definition,
                    self.table.name,
                    self.catalog,
                    self.session,
                )
                self.columns.sequences += added
                self.columns.are_changed = True
            case "SET GENERATED ALWAYS" | "SET GENERATED BY DEFAULT" as kind:
                set_identity(self._column(action), kind, self.table.name)
            case "DROP IDENTITY":
                column = self._column(action)
                self.notices.extend(drop_identity(column, action, self.table.name, self.columns))
            case "SET DEFAULT":
                column = self._column(action)
                self._refuse_identity(column)
                self._refuse_computed(column)
                column.set("default", action.args["value"])
                name_default(column, self.catalog, self.session)
            case "DROP DEFAULT":
                column = self._column(action)
                self._refuse_computed(
                    column, "Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead."
                )
                column.set("default", None)
            case "SET EXPRESSION":
                self._set_expression(self._column(action), action.args["value"])
            case "DROP EXPRESSION":
                self._drop_expression(action)
            case "TYPE":
                self._set_type(self._column(action), action.args["value"], action.args.get("using"))
            case "ADD CONSTRAINT":
                self._add(action.args["value"])
            case "DROP CONSTRAINT":
                self._drop(action)
            case "SET STATISTICS":
                self._column(action)
            case "SET WITHOUT CLUSTER":
                pass
            case "VALIDATE CONSTRAINT":
                self._validate(self._constraint(action))
            case "COMMENT ON CONSTRAINT":
                self._constraint(action).set("comment", action.args.get("value"))
            case _:
                renamed, new = self._constraint(action), fold(action.args["value"])
                self._check_free(new)
                renamed.set("this", identifier(new))

    # --- columns ---

    @property
    def _desc(self) -> RelationDesc:
        return define_table(self.definition).desc

    def _column(self, action: AlterTableAction) -> TableColumn:
        name = fold(action.this)
        columns: list[TableColumn] = self.definition.args["columns"]
        for column in columns:
            if fold(column.this) == name:
                return column
        hint = nearest(name, self._desc.names)
        raise UnknownColumn(name, relation=self.table.name.item, hint=hint)

    def _refuse_identity(self, column: TableColumn) -> None:
        if column.args.get("identity"):
            raise InvalidConstraint(
                f'column "{fold(column.this)}" of relation "{self.table.name.item}" is an '
                "identity column",
                sqlstate="42601",
            )

    def _refuse_computed(self, column: TableColumn, hint: str | None = None) -> None:
        if column.args.get("computed"):
            raise InvalidConstraint(
                f'column "{fold(column.this)}" of relation "{self.table.name.item}" is a '
                "generated column",
                hint=hint,
                sqlstate="42601",
            )

    def _computed_from(self, name: str) -> list[TableColumn]:
        """The columns that are computed from this one."""
        columns: list[TableColumn] = self.definition.args["columns"]
        return [column for column in columns if name in map(fold, computed_from(column))]

    def _set_expression(self, column: TableColumn, computed: exp.Paren) -> None:
        if not column.args.get("computed"):
            raise InvalidConstraint(
                f'column "{fold(column.this)}" of relation "{self.table.name.item}" is not a '
                "generated column",
                sqlstate="55000",
            )
        column.set("computed", computed.this)
        declare_computed(self.definition, self.table.name, table_columns(self.definition))
        self.columns.are_changed = True

    def _drop_expression(self, action: AlterTableAction) -> None:
        """Let the column keep its values, as one that statements set."""
        column, name = self._column(action), fold(action.this)
        if column.args.get("computed"):
            column.set("computed", None)
            return
        message = (
            f'column "{name}" of relation "{self.table.name.item}" is not a stored generated column'
        )
        if not action.args.get("exists"):
            raise InvalidConstraint(message, sqlstate="55000")
        self.notices.append(f"{message}, skipping")

    def _add_column(self, action: AlterTableAction) -> None:
        column: TableColumn = action.args["value"]
        name = fold(column.this)
        if self._is_taken(name, may_exist=bool(action.args.get("exists"))):
            consume(action)
            return
        new_table = CreateTableStatement(this=self.table.name.to_table(), columns=[column])
        sequences = name_sequences(new_table, self.table.name, self.catalog, self.session)
        self.columns.sequences += sequences
        self.definition.set("columns", [*self.definition.args["columns"], column])
        declare_computed(self.definition, self.table.name, table_columns(self.definition))
        self.columns.add(name, column, is_generated=bool(generated_columns(new_table)))
        for constraint in action.args.get("constraints") or ():
            self._add(constraint)

    def _is_taken(self, name: str, *, may_exist: bool = False) -> bool:
        if name not in self._desc.names:
            return False
        message = f'column "{name}" of relation "{self.table.name.item}" already exists'
        if not may_exist:
            raise InvalidConstraint(message, sqlstate="42701")
        self.notices.append(f"{message}, skipping")
        return True

    def _drop_column(self, action: AlterTableAction) -> None:
        name = fold(action.this)
        if action.args.get("exists") and name not in self._desc.names:
            self.notices.append(
                f'column "{name}" of relation "{self.table.name.item}" does not exist, skipping'
            )
            return
        column, is_cascading = self._column(action), action.args.get("behavior") == "CASCADE"
        for computed in self._computed_from(name):
            if not is_cascading:
                raise DependentObjects(
                    "column",
                    name,
                    [f"{self.table.name}.{fold(computed.this)}"],
                    of=f"of table {self.table.name.item}",
                )
            self._drop_column(
                AlterTableAction(kind="DROP COLUMN", this=computed.this, behavior="CASCADE")
            )
        remaining = [other for other in self.definition.args["columns"] if other is not column]
        if not remaining:
            raise UnsupportedSql("a table without columns is not supported")
        self.columns.drop(name, is_cascading=is_cascading)
        constraints = []
        for constraint in self._constraints:
            if name not in constrained_columns(constraint):
                constraints.append(constraint)
            elif not is_cascading and (dependents := list(self._dependents(constraint))):
                of = f"of table {self.table.name.item}"
                raise DependentObjects("column", name, dependents, of=of)
            else:
                self.columns.dropped_keys += self._keys(constraint)
        self.definition.set("columns", remaining)
        self.definition.set("constraints", constraints)

    def _rename_column(self, column: TableColumn, new: str) -> None:
        old = fold(column.this)
        self._is_taken(new)
        column.set("this", identifier(new))
        for constraint in self._constraints:
            rename_in_constraint(constraint, self.table.name, old, new)
        for computed in self._computed_from(old):
            rename_identifiers(computed_from(computed), old, new)
        self.columns.rename(old, new)

    def _drop_not_null(self, column: TableColumn) -> None:
        self._refuse_identity(column)
        name = fold(column.this)
        if name in key_columns(self.definition):
            raise InvalidConstraint(f'column "{name}" is in a primary key')
        column.set("not_null", None)
        self.columns.are_changed = True

    def _set_type(self, column: TableColumn, kind: exp.DataType, using: exp.Expr | None) -> None:
        """A column of text may become longer: the rows stay as they are. Else they are written
        again."""
        desc = self._desc
        old = desc.columns[desc.names.index(fold(column.this))]
        new = declared_column(old.name, kind, old.is_nullable)
        is_same_domain = new.type.domain == old.type.domain
        if new == old and is_same_domain and using is None:
            return
        is_longer = old.limit is not None and (
            new.limit is None
            or (
                new.limit.is_name == old.limit.is_name
                and new.limit.characters >= old.limit.characters
            )
        )
        for computed in self._computed_from(old.name):
            raise UnsupportedSql(
                "cannot alter type of a column used by a generated column",
                detail=f'Column "{old.name}" is used by generated column "{fold(computed.this)}".',
            )
        if using is not None and column.args.get("computed"):
            raise InvalidConstraint(
                "cannot specify USING when altering type of generated column",
                detail=f'Column "{old.name}" is a generated column.',
                sqlstate="42611",
            )
        column.set("kind", kind)
        if using is not None or new.type != old.type or not (is_longer and is_same_domain):
            is_identity = bool(column.args.get("identity"))
            if is_identity and not new.type.is_integer:
                raise InvalidConstraint(
                    "identity column type must be smallint, integer, or bigint", sqlstate="22023"
                )
            if using is None:
                check_assignable(desc, old, new)
            self._check_foreign_keys(old, new, is_computed=using is not None)
            self.columns.convert(new, kind, using, is_identity=is_identity)
        elif any(entry.type is ItemType.VIEW for entry in self.catalog.dependents(self.table.id)):
            raise UnsupportedSql("cannot alter type of a column used by a view or rule")

    def _check_foreign_keys(self, old: Column, new: Column, *, is_computed: bool) -> None:
        """Refuse to convert what foreign keys refer to, unless its values stay, and what could not
        be compared with what it refers to."""
        keys, column = foreign_keys(self.catalog), old.name
        keeps_values = old.type.is_integer and new.type.is_integer and not is_computed
        for key in keys.to.get(self.table.id, ()):
            if column in key.target_columns and not keeps_values:
                raise UnsupportedSql(
                    f'the type of column "{column}" cannot change, because foreign key '
                    f'"{key.constraint.name}" of table "{key.table.name.item}" refers to it',
                    hint="drop the foreign key, and add it again afterwards",
                )
        for key in keys.of.get(self.table.id, ()):
            node = next((c for c in self._constraints if fold(c.this) == key.constraint.name), None)
            if node is not None and column in key.columns:
                names = key.constraint.target_columns
                check_comparable(node, self._desc, names, key.target.desc)

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
        wants_no_validation, desc = bool(constraint.args.get("is_not_valid")), self._desc
        self.notices.extend(
            declare_constraints(added, self.table.name, self._desc, self.catalog, self.session, old)
        )
        kind = ConstraintKind(constraint.args["kind"])
        if self._desc.columns != desc.columns:  # of a primary key, which allows no NULL
            self.columns.are_changed = True
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
            of = f"on table {self.table.name.item}"
            raise DependentObjects("constraint", name, dependents, of=of)
        remaining = [constraint for constraint in self._constraints if constraint is not dropped]
        self.definition.set("constraints", remaining)

    def _keys(self, key: TableConstraint) -> list[frozenset[str]]:
        """The columns of the constraint, if it is a key to which foreign keys may refer."""
        if key.args["kind"] not in ("PRIMARY KEY", "UNIQUE"):
            return []
        return [frozenset(fold(column) for column in key.args["columns"])]

    def _dependents(self, key: TableConstraint) -> Iterator[str]:
        """The foreign keys that refer to the key, and the views that need it."""
        if key.args["kind"] == "PRIMARY KEY":
            for view in views_that_need_the_key(self.table, self.catalog):
                yield str(view.name)
        for columns in self._keys(key):
            for entry, constraint in referring_keys(self.table.name, self.catalog):
                if set(constraint.target_columns) == columns:
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
        self.validations.append(
            plan_validation(self.table.name, constraint, self.catalog, self.session)
        )
