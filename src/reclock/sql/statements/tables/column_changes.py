"""How ALTER TABLE changes the columns of a table: where the values of the new columns come from."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from reclock.algebra.relations import Column, RelationDesc
from reclock.errors import TypeMismatch
from reclock.sql.named_types import defined_domain
from reclock.sql.names import QualifiedName, fold, identifier, parts, quote
from reclock.sql.parameters import NO_PARAMETERS
from reclock.sql.queries.assignment import assign
from reclock.sql.queries.expressions import ExprContext, scalar
from reclock.sql.queries.limits import NoSubqueries
from reclock.sql.queries.scope import Scope
from reclock.sql.statements.tables.constraints_syntax import TableConstraint, expressions_of
from reclock.sql.statements.tables.syntax import TableColumn
from reclock.sql.syntax.consumption import consume
from reclock.sql.syntax.dialect import to_sql


@dataclass(slots=True)
class ColumnChanges:
    """The changes to the columns of a table with ``old`` columns."""

    old: RelationDesc
    are_changed: bool = False
    """Whether the rows, or what the stored rows may be, change."""
    values: dict[str, str] = field(init=False)
    """SQL over the old table for each column of the new one, in its order."""
    renamed: dict[str, str] = field(init=False)
    """The new name of each old column that remains."""
    dropped: dict[str, bool] = field(default_factory=dict)
    """The old columns that are dropped, and whether their dependents are dropped with them."""
    assigned: dict[str, Column] = field(default_factory=dict)
    """The columns whose values are assigned, as by UPDATE, which cuts no text to its length."""
    converted: set[str] = field(default_factory=set)
    """The old columns that get another type."""
    identities: dict[str, exp.DataType] = field(default_factory=dict)
    """The new types of old identity columns, and of their sequences."""
    without_identity: set[str] = field(default_factory=set)
    """The columns that are identity columns no more."""
    generated: set[str] = field(default_factory=set)
    """The new columns whose values a sequence generates."""
    dropped_keys: list[frozenset[str]] = field(default_factory=list)
    """The columns of the keys that are dropped with a column."""
    sequences: tuple[tuple[QualifiedName, str], ...] = ()
    """Names and definitions of the sequences that added columns own."""

    def __post_init__(self) -> None:
        self.values = {name: quote(name) for name in self.old.names}
        self.renamed = {name: name for name in self.old.names}

    @property
    def added(self) -> set[str]:
        """The columns that are new."""
        return self.values.keys() - self.renamed.values()

    def add(self, name: str, column: TableColumn, *, is_generated: bool) -> None:
        """Add a column at the end."""
        default, type = column.args.get("default"), column.args["kind"]
        domain = defined_domain(type)
        if column.args.get("computed") and domain is not None:
            type = domain.value_type  # until it is computed, it is NULL, which a domain may refuse
        elif default is None and domain is not None:
            default = domain.inherited_default
        if is_generated:
            self.generated.add(name)
            default = None
        self.values[name] = f"CAST({to_sql(default) if default else 'NULL'} AS {to_sql(type)})"
        self.are_changed = True

    def drop(self, name: str, *, is_cascading: bool) -> None:
        """Drop the column that has this name now."""
        del self.values[name]
        self.assigned.pop(name, None)
        self.generated.discard(name)
        for old in [old for old, new in self.renamed.items() if new == name]:
            del self.renamed[old]
            self.dropped[old] = is_cascading
        self.are_changed = True

    def rename(self, name: str, to: str) -> None:
        """Rename the column that has this name now."""
        self.values = {to if key == name else key: value for key, value in self.values.items()}
        if name in self.assigned:
            self.assigned[to] = self.assigned.pop(name)
        self.renamed = {old: to if new == name else new for old, new in self.renamed.items()}
        if name in self.generated:
            self.generated = self.generated - {name} | {to}
        self.are_changed = True

    def convert(
        self, new: Column, kind: exp.DataType, using: exp.Expr | None, *, is_identity: bool
    ) -> None:
        """Give the column another type: ``using`` computes the values from old columns."""
        name = new.name
        if using is not None:
            self.values[name] = to_sql(using)
            consume(using)
        if defined_domain(kind) is not None:
            self.values[name] = f"CAST({self.values[name]} AS {to_sql(kind)})"
        else:
            self.assigned[name] = new
        old_names = {old for old, new in self.renamed.items() if new == name}
        self.converted |= old_names
        if is_identity:
            self.identities |= dict.fromkeys(old_names, kind)
        self.are_changed = True


def check_assignable(desc: RelationDesc, old: Column, new: Column) -> None:
    """Raises ``TypeMismatch`` unless values of the column convert to its new type by
    themselves."""
    scope = Scope.of(desc, None)
    context = ExprContext(scope, NoSubqueries(NO_PARAMETERS), "ALTER COLUMN TYPE")
    try:
        assign(scalar(exp.column(identifier(old.name)), context), new)
    except TypeMismatch as error:
        raise TypeMismatch(
            f'column "{old.name}" cannot be cast automatically to type {new.sql_type}',
            hint=f'You might need to specify "USING {quote(old.name)}::{new.sql_type}".',
        ) from error


def constrained_columns(constraint: TableConstraint) -> set[str]:
    """The columns of its table that the constraint names."""
    columns = [*(constraint.args.get("columns") or ()), *(constraint.args.get("include") or ())]
    used = [column for part in expressions_of(constraint) for column in part.find_all(exp.Column)]
    return {*map(fold, columns), *(fold(column.this) for column in used)}


def rename_in_constraint(
    constraint: TableConstraint, table: QualifiedName, old: str, new: str
) -> None:
    """Rename a column in a constraint of its ``table``."""
    names = [*(constraint.args.get("columns") or ()), *(constraint.args.get("include") or ())]
    for part in expressions_of(constraint):
        names += [column.this for column in part.find_all(exp.Column)]
    target = constraint.args.get("target")
    if target is not None and parts(target) == parts(table.to_table()):
        names += constraint.args.get("target_columns") or ()
    rename_identifiers(names, old, new)


def rename_identifiers(names: list[exp.Identifier], old: str, new: str) -> None:
    """Replace the identifiers that mean ``old``."""
    for name in names:
        if fold(name) == old:
            name.replace(identifier(new))
