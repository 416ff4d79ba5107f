"""CREATE DOMAIN and ALTER DOMAIN."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count

from sqlglot import exp

from reclock.algebra.defined_types import DefinedName
from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import Column, ScalarType
from reclock.catalog.objects import Item
from reclock.errors import (
    DomainViolation,
    InvalidConstraint,
    UnsupportedSql,
    WrongObjectType,
)
from reclock.plan.relational import Filter, Finishing, Get
from reclock.plan.scalars import ColumnRef
from reclock.sql.catalog.definitions import DomainCheck, DomainDefinition
from reclock.sql.catalog.entries import DomainEntry, RelationEntry
from reclock.sql.catalog.lookups import find_object
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.named_types import defined_domain, domain_of
from reclock.sql.names import QualifiedName, SessionNames, fold, identifier, parts
from reclock.sql.planning.definitions import check_free, definition_text
from reclock.sql.planning.registry import Skipped, plans, plans_item
from reclock.sql.queries.columns import check_stored, declared_column
from reclock.sql.queries.domains import check_condition, requirements
from reclock.sql.queries.overloads import negated
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.tables.constraints_syntax import TableConstraint
from reclock.sql.statements.tables.plan import default_value
from reclock.sql.statements.types.domains_syntax import (
    AlterDomainStatement,
    CreateDomainStatement,
)
from reclock.sql.statements.types.plan import built_again, shown_name
from reclock.sql.syntax.consumption import tracked_copy
from reclock.sql.syntax.parse import parse_one


@plans(CreateDomainStatement)
def create_domain(
    node: CreateDomainStatement, catalog: PlannerCatalog, session: SessionNames
) -> CreateDomain:
    name = catalog.locate(parts(node.this), session)
    if name.is_temporary:
        raise UnsupportedSql("temporary types are not supported")
    check_free(name, catalog)
    normal = tracked_copy(node)
    normal.set("this", name.to_table())
    names: list[str] = []
    for constraint in normal.args.get("constraints") or ():
        names.append(_named(constraint, name, names))
    column = _value_column(normal, name)
    for check in _checks(normal):
        check_condition(check, column.type)
    if (default := normal.args.get("default")) is not None:
        default_value(default, column)
    return CreateDomain(name, definition_text(normal))


@plans_item(CreateDomainStatement)
def domain_entry(
    node: CreateDomainStatement, item: Item, name: QualifiedName, catalog: PlannerCatalog
) -> DomainEntry:
    column = _value_column(node, name)
    domain = DomainDefinition(
        replace(column.type, domain=DefinedName(item.id, *shown_name(name))),
        column.limit,
        node.args["kind"],
        node.args.get("default"),
        bool(node.args.get("not_null")),
        tuple(_checks(node)),
        defined_domain(node.args["kind"]),
    )
    return DomainEntry(item.id, name, domain, item.create_sql or "")


def _value_column(node: CreateDomainStatement, name: QualifiedName) -> Column:
    """A value of the base type, as a column with the name of the domain."""
    column = declared_column(name.item, node.args["kind"], True)
    check_stored([column])
    return column


def _checks(node: CreateDomainStatement) -> Iterator[DomainCheck]:
    for constraint in node.args.get("constraints") or ():
        yield DomainCheck(
            fold(constraint.this),
            constraint.args["check"],
            not constraint.args.get("is_not_valid"),
            constraint.text("comment") or None,
        )


def _named(constraint: TableConstraint, domain: QualifiedName, taken: list[str]) -> str:
    """The name of the constraint, which is made as in PostgreSQL if none is written. Raises
    ``InvalidConstraint`` for one that is taken."""
    if constraint.this is None:
        base = f"{domain.item}_check"
        numbered = (f"{base}{number or ''}" for number in count())
        constraint.set("this", identifier(next(name for name in numbered if name not in taken)))
    name = fold(constraint.this)
    if name in taken:
        raise InvalidConstraint(
            f'constraint "{name}" for domain "{domain.item}" already exists', sqlstate="42710"
        )
    return name


@plans(AlterDomainStatement)
def alter_domain(
    node: AlterDomainStatement, catalog: PlannerCatalog, session: SessionNames
) -> AlterDomain | Skipped:
    entry = find_object(parts(node.this), "DOMAIN", catalog, session)
    assert isinstance(entry, DomainEntry)
    definition = parse_one(entry.create_sql)
    if not isinstance(definition, CreateDomainStatement):
        raise WrongObjectType(str(entry.name), "domain", "type")
    change = _Change(node, entry, definition, catalog)
    return change.planned()


@dataclass(slots=True)
class _Change:
    """What an ALTER DOMAIN makes of the ``definition`` of a domain."""

    node: AlterDomainStatement
    entry: DomainEntry
    definition: CreateDomainStatement
    catalog: PlannerCatalog
    added: DomainDefinition | None = None
    """The domain with those constraints alone that must hold of all stored values."""
    undo: AlterDomainStatement | None = None

    def planned(self) -> AlterDomain | Skipped:
        skipped = _ACTIONS[self.node.args["action"]](self)
        if skipped is not None:
            return skipped
        entry = self.entry
        return AlterDomain(
            entry.id,
            entry.name,
            definition_text(self.definition),
            built_again(entry, self.catalog),
            tuple(self._validations()),
            self.undo,
        )

    def _validations(self) -> Iterator[ColumnValidation]:
        if self.added is None:
            return
        for table in self.catalog.relations():
            for i, column in enumerate(table.desc.columns if table.table is not None else ()):
                if self.entry.id in _lineage_ids(column.type, self.catalog):
                    yield _validation(table, i, self.added)

    def set_default(self) -> None:
        default = tracked_copy(self.node.args["value"])
        column = _value_column(self.definition, self.entry.name)
        default_value(default, column)
        self.definition.set("default", default)

    def drop_default(self) -> None:
        self.definition.set("default", None)

    def set_not_null(self) -> None:
        if not self.definition.args.get("not_null"):
            self.definition.set("not_null", True)
            self.added = self._with_only(is_not_null=True)
            self.undo = self._undone_by("DROP NOT NULL")

    def drop_not_null(self) -> None:
        self.definition.set("not_null", None)

    def add(self) -> None:
        constraint = tracked_copy(self.node.args["value"])
        existing = [fold(other.this) for other in self._constraints]
        _named(constraint, self.entry.name, existing)
        self.definition.set("constraints", [*self._constraints, constraint])
        *_, check = _checks(self.definition)
        check_condition(check, self.entry.domain.type)
        if check.is_valid:
            self.added = self._with_only(check)
            self.undo = self._undone_by("DROP CONSTRAINT", constraint.this)

    def validate(self) -> None:
        constraint = self._constraint(self.node.args["value"])
        constraint.set("is_not_valid", None)
        checks = [
            check for check in _checks(self.definition) if check.name == fold(constraint.this)
        ]
        self.added = replace(self.entry.domain, is_not_null=False, checks=tuple(checks))

    def drop_constraint(self) -> Skipped | None:
        name = fold(self.node.args["value"])
        if self.node.args.get("exists") and name not in map(fold, self._names):
            return Skipped(
                "ALTER DOMAIN",
                f'constraint "{name}" of domain "{self.entry.name.item}" does not exist, skipping',
            )
        constraint = self._constraint(self.node.args["value"])
        remaining = [other for other in self._constraints if other is not constraint]
        self.definition.set("constraints", remaining)
        return None

    def rename_constraint(self) -> None:
        constraint = self._constraint(self.node.args["value"])
        others = [name for name in map(fold, self._names) if name != fold(constraint.this)]
        constraint.set("this", tracked_copy(self.node.args["to"]))
        _named(constraint, self.entry.name, others)

    def comment_on(self) -> None:
        self._constraint(self.node.args["value"]).set("comment", self.node.args.get("comment"))

    def _with_only(self, *checks: DomainCheck, is_not_null: bool = False) -> DomainDefinition:
        return replace(self.entry.domain, is_not_null=is_not_null, checks=checks, parent=None)

    @property
    def _constraints(self) -> list[TableConstraint]:
        return list(self.definition.args.get("constraints") or ())

    @property
    def _names(self) -> list[exp.Identifier]:
        return [constraint.this for constraint in self._constraints]

    def _constraint(self, name: exp.Identifier) -> TableConstraint:
        """Raises ``InvalidConstraint``."""
        for constraint in self._constraints:
            if fold(constraint.this) == fold(name):
                return constraint
        raise InvalidConstraint(
            f'constraint "{fold(name)}" of domain "{self.entry.name.item}" does not exist',
            sqlstate="42704",
        )

    def _undone_by(self, action: str, value: exp.Identifier | None = None) -> AlterDomainStatement:
        return AlterDomainStatement(this=self.entry.name.to_table(), action=action, value=value)


_ACTIONS: dict[str, Callable[[_Change], Skipped | None]] = {
    "SET DEFAULT": _Change.set_default,
    "DROP DEFAULT": _Change.drop_default,
    "SET NOT NULL": _Change.set_not_null,
    "DROP NOT NULL": _Change.drop_not_null,
    "ADD": _Change.add,
    "VALIDATE CONSTRAINT": _Change.validate,
    "DROP CONSTRAINT": _Change.drop_constraint,
    "RENAME CONSTRAINT": _Change.rename_constraint,
    "COMMENT ON CONSTRAINT": _Change.comment_on,
}


def _lineage_ids(type: ScalarType, catalog: PlannerCatalog) -> list[str]:
    """The ids of the domain that the type names, and of those that it is over."""
    domain = domain_of(type, catalog)
    lineage = () if domain is None else domain.lineage
    return [part.type.domain.id for part in lineage if part.type.domain is not None]


def _validation(table: RelationEntry, position: int, added: DomainDefinition) -> ColumnValidation:
    column = table.desc.columns[position]
    [(condition, violation)] = requirements(ColumnRef(position, column.type), added)
    rows = Get(table.collection, table.name.item, table.desc)
    query = Select(
        Filter(rows, (negated(condition),)),
        Finishing(limit=1),
        table.desc,
        depends_on=frozenset({table.id}),
    )
    violating = "null values" if added.is_not_null else "values that violate the new constraint"
    message = f'column "{column.name}" of table "{table.name.item}" contains {violating}'
    return ColumnValidation(
        query, DomainViolation(violation.domain, message, sqlstate=violation.sqlstate)
    )


@dataclass(frozen=True, slots=True)
class CreateDomain:
    name: QualifiedName
    create_sql: str
    tag: str = "CREATE DOMAIN"


@dataclass(frozen=True, slots=True)
class ColumnValidation:
    """The rows of ``violations`` break a constraint of a domain, which is the ``error``."""

    violations: Select
    error: DomainViolation


@dataclass(frozen=True, slots=True)
class AlterDomain:
    """The domain gets another definition. A new constraint holds for new rows from then on; it is
    taken back by ``undo`` if one of the ``validations`` finds a row that breaks it. Without an
    ``undo``, they come before the change.

    The indexes ``built_again`` are replaced by new ones.
    """

    id: GlobalId
    name: QualifiedName
    create_sql: str
    built_again: tuple[tuple[GlobalId, str], ...]
    validations: tuple[ColumnValidation, ...] = ()
    undo: AlterDomainStatement | None = None
    tag: str = "ALTER DOMAIN"
