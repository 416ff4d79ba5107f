"""The types that users defined, as a statement names them: in its catalog, by its search path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from sqlglot import exp

from reclock.algebra.ids import GlobalId
from reclock.algebra.object_ids import type_oid
from reclock.algebra.relations import RecordField, ScalarType, array, enum, record
from reclock.catalog.objects import ItemType
from reclock.sql.catalog.definitions import DomainDefinition
from reclock.sql.catalog.entries import (
    CompositeEntry,
    DomainEntry,
    EnumEntry,
    QuarantinedEntry,
    RelationEntry,
    TypeEntry,
)
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, fold, identifier
from reclock.sql.names import parts as name_parts


@dataclass(slots=True)
class TypeScope:
    """Where types are looked up. ``used`` are those that were found."""

    catalog: PlannerCatalog
    session: SessionNames
    used: set[GlobalId] = field(default_factory=set)
    has_row_types: bool = False
    """Whether the name of a relation is that of the type of its rows. In definitions, which would
    have to follow the relation, it is none."""

    def row_type(self, parts: Sequence[str]) -> ScalarType | None:
        """The type of the rows of the relation of that name, if it is one and has columns."""
        if not self.has_row_types or len(parts) > 3:
            return None
        entry = self.catalog.find(parts, self.session)
        if not isinstance(entry, RelationEntry) or not entry.desc.columns:
            return None
        return record(
            [RecordField(column.name, column.type, column.limit) for column in entry.desc.columns]
        )

    def find(self, parts: Sequence[str]) -> TypeEntry | None:
        """The type of that name, if it is one. Raises ``ObjectQuarantined``."""
        if not self.catalog.has_types or len(parts) > 3:
            return None
        entry = self.catalog.find(parts, self.session)
        if isinstance(entry, QuarantinedEntry) and entry.type is ItemType.TYPE:
            raise entry.refusal
        if not isinstance(entry, TypeEntry):
            return None
        self.used.add(entry.id)
        return entry


_scope: ContextVar[TypeScope | None] = ContextVar("types", default=None)


@contextmanager
def types_of(
    catalog: PlannerCatalog, session: SessionNames, *, has_row_types: bool = False
) -> Iterator[TypeScope]:
    """Names of types mean those of ``catalog`` meanwhile; with ``has_row_types``, also those of
    relations."""
    scope = TypeScope(catalog, session, has_row_types=has_row_types)
    token = _scope.set(scope)
    try:
        yield scope
    finally:
        _scope.reset(token)


def defined_type(parts: Sequence[str]) -> ScalarType | None:
    """The type of that name that a user defined; None if there is none."""
    entry, scope = _entry(parts), _scope.get()
    if entry is None:
        return None if scope is None else scope.row_type(parts)
    return _type_of(entry)


def defined_domain(node: exp.Expr) -> DomainDefinition | None:
    """The domain that the type name means; None if it is no domain."""
    parts = written_parts(node)
    entry = _entry(parts) if parts else None
    return entry.domain if isinstance(entry, DomainEntry) else None


def domain_of(type: ScalarType, catalog: PlannerCatalog) -> DomainDefinition | None:
    """The domain that the type names in the catalog; None if it names none."""
    entry = None if type.domain is None else catalog.entry(GlobalId(type.domain.id))
    return entry.domain if isinstance(entry, DomainEntry) else None


def _entry(parts: Sequence[str]) -> TypeEntry | None:
    scope = _scope.get()
    return None if scope is None else scope.find(parts)


def _type_of(entry: TypeEntry) -> ScalarType:
    match entry:
        case EnumEntry():
            return enum(entry.enum)
        case CompositeEntry():
            return entry.composite
        case DomainEntry():
            return entry.domain.type


def type_of_oid(oid: int, catalog: PlannerCatalog) -> ScalarType | None:
    """The type that clients know by this number, if a user defined it, or its elements."""
    for entry in catalog.entries() if catalog.has_types else ():
        if isinstance(entry, EnumEntry | CompositeEntry):
            defined = _type_of(entry)
            for type in (defined, array(defined)):
                if type_oid(type) == oid:
                    return type
    return None


def written_parts(node: exp.Expr) -> tuple[str, ...]:
    """The parts of the name of a type that is none of the grammar; none of any other type."""
    if not isinstance(node, exp.DataType) or node.this != exp.DType.USERDEFINED:
        return ()
    kind = node.args.get("kind")
    names = kind.flatten() if isinstance(kind, exp.Dot) else (kind,)
    return tuple(fold(name) for name in names if isinstance(name, exp.Identifier))


def set_parts(node: exp.DataType, parts: Sequence[str]) -> None:
    """Give the type the name of these parts."""
    names = [identifier(part) for part in parts]
    node.set("kind", exp.Dot.build(names) if len(names) > 1 else names[0])


def qualify_types(node: exp.Expr, catalog: PlannerCatalog, session: SessionNames) -> None:
    """Write the full names of the types that users defined into ``node``."""
    if not catalog.has_types:
        return
    scope = TypeScope(catalog, session)
    for kind in node.find_all(exp.DataType):
        parts = written_parts(kind)
        entry = scope.find(parts) if parts else None
        if entry is not None:
            set_parts(kind, name_parts(entry.name.to_table()))
