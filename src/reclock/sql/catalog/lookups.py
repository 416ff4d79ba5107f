"""Objects by name and kind, and what depends on them."""

from __future__ import annotations

from collections.abc import Container, Iterable

from reclock.algebra.ids import GlobalId
from reclock.catalog.objects import ItemType
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.errors import (
    AmbiguousFunction,
    SystemObjectProtected,
    UnknownFunction,
    UnknownObject,
    UnknownRelation,
    UnsupportedSql,
    WrongObjectType,
    quoted_name,
    with_article,
)
from reclock.sql.catalog.entries import DomainEntry, Entry, QuarantinedEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, nearest, parts
from reclock.sql.syntax import nodes

_TYPES = {
    "SOURCE": ItemType.SOURCE,
    "TABLE": ItemType.TABLE,
    "VIEW": ItemType.VIEW,
    "MATERIALIZED VIEW": ItemType.VIEW,
    "INDEX": ItemType.INDEX,
    "SECRET": ItemType.SECRET,
    "CONNECTION": ItemType.CONNECTION,
    "SINK": ItemType.SINK,
    "SEQUENCE": ItemType.SEQUENCE,
    "FUNCTION": ItemType.FUNCTION,
    "TYPE": ItemType.TYPE,
    "DOMAIN": ItemType.TYPE,
}


_DROPPED_RELATIONS = ("SOURCE", "TABLE", "VIEW", "MATERIALIZED VIEW", "INDEX", "SEQUENCE")
_ALSO_TABLES = (ItemType.VIEW, ItemType.SEQUENCE)


def find_named(
    name: tuple[str, ...], kind: str, catalog: PlannerCatalog, session: SessionNames
) -> Entry | None:
    """The item of that name, which may be of another kind. A function is also found by its name
    without parameters, if it is the only one of that name. Raises ``AmbiguousFunction``."""
    entry = catalog.find(name, session)
    if entry is not None or kind != "FUNCTION":
        return entry
    functions = catalog.functions(name, session)
    if len(functions) > 1:
        raise AmbiguousFunction(name[-1], None)
    return functions[0] if functions else None


def altered_kind(
    name: tuple[str, ...], kind: str, catalog: PlannerCatalog, session: SessionNames
) -> str:
    """The kind of the object that ``ALTER kind name`` changes: ALTER TABLE changes views and
    sequences too, as in PostgreSQL."""
    entry = find_named(name, kind, catalog, session)
    if kind == "TABLE" and entry is not None and entry.type in _ALSO_TABLES:
        return entry.type.value.upper()
    return kind


def find_object(
    name: tuple[str, ...],
    kind: str,
    catalog: PlannerCatalog,
    session: SessionNames,
    *,
    may_be_quarantined: bool = False,
) -> Entry:
    """The item of that name and kind (``SOURCE``, ``MATERIALIZED VIEW``, …).

    Raises ``Unknown…``, ``WrongObjectType``, and ``ObjectQuarantined`` unless
    ``may_be_quarantined``.
    """
    entry = find_named(name, kind, catalog, session)
    if isinstance(entry, QuarantinedEntry) and entry.type is _TYPES[kind]:
        if may_be_quarantined:
            return entry
        raise entry.refusal
    if entry is None:
        if kind == "FUNCTION":
            written, _, types = name[-1].removesuffix(")").partition("(")
            raise UnknownFunction(
                written, [types] if types else None, hint="SHOW FUNCTIONS lists the functions"
            )
        if kind == "DOMAIN":
            raise UnknownObject("type", ".".join(name))
        if kind in ("SINK", "SECRET", "CONNECTION", "TYPE"):
            raise UnknownObject(kind.lower(), ".".join(name))
        catalog.resolve(name, session)
        raise UnknownRelation(".".join(name))
    is_materialized = entry.type is ItemType.VIEW and bool(catalog.indexes_on(entry.id))
    is_other = (kind == "MATERIALIZED VIEW" and not is_materialized) or (
        kind == "DOMAIN" and not isinstance(entry, DomainEntry)
    )
    if entry.type is not _TYPES[kind] or is_other:
        actual = "materialized view" if is_materialized else entry.type.value.replace("_", " ")
        raise WrongObjectType(str(entry.name), kind.lower(), actual)
    return entry


def find_dropped(
    name: tuple[str, ...], kind: str, catalog: PlannerCatalog, session: SessionNames
) -> Entry:
    """The item of that name and kind, which DROP names. Raises as ``find_object``."""
    if kind in _DROPPED_RELATIONS and find_named(name, kind, catalog, session) is None:
        if len(name) > 1:
            catalog.scope(name[:-1], session)
        among = (entry.name.item for entry in catalog.relations() if entry.type is _TYPES[kind])
        raise UnknownRelation(".".join(name), kind=kind.lower(), hint=nearest(name[-1], among))
    try:
        return find_object(name, kind, catalog, session, may_be_quarantined=True)
    except WrongObjectType as error:
        if error.actual.upper() not in _TYPES:
            raise
        hint = f"use DROP {error.actual.upper()} to remove {with_article(error.actual)}"
        raise WrongObjectType(error.name, error.expected, error.actual, hint=hint) from None


def dependents_closure(
    targets: Iterable[GlobalId], catalog: PlannerCatalog
) -> tuple[tuple[GlobalId, ...], list[str]]:
    """Every id that is dropped with ``targets``, dependents first, and the names of those that only
    CASCADE drops. Indexes, progress relations and sequences that a column owns are parts of their
    relation, and are dropped with it."""
    target_ids = set(targets)
    ordered: dict[GlobalId, None] = {}
    dependent_names: list[str] = []

    def visit(id: GlobalId) -> None:
        if id in ordered:
            return
        for entry in catalog.dependents(id):
            if entry.id in ordered:  # the table that owns the sequence
                continue
            is_part = entry.type in (
                ItemType.INDEX,
                ItemType.SOURCE_PROGRESS,
            ) or catalog.is_subsource(entry.id)
            if (
                not is_part
                and entry.id not in target_ids
                and str(entry.name) not in dependent_names
            ):
                dependent_names.append(str(entry.name))
            visit(entry.id)
        ordered[id] = None
        table = catalog.entry(id)
        if table is not None and table.type is ItemType.TABLE:
            for sequence in catalog.sequences(table.name):
                visit(sequence.id)

    for id in sorted(target_ids, key=lambda id: int(id[1:])):
        visit(id)
    return tuple(ordered), dependent_names


def check_tables_named(
    ids: Iterable[GlobalId], targets: Container[GlobalId], catalog: PlannerCatalog
) -> None:
    """Raises ``UnsupportedSql`` if a table, none of ``targets``, is among the ``ids`` that are
    dropped: it depends on a type, and PostgreSQL drops only the column."""
    for entry in map(catalog.entry, ids):
        if entry is not None and entry.type is ItemType.TABLE and entry.id not in targets:
            raise UnsupportedSql(
                f"a type is not dropped while table {quoted_name(entry.name)} has a column of it",
                hint=f"ALTER TABLE {entry.name} DROP COLUMN … first",
            )


def snapshot_of(catalog: PlannerCatalog) -> CatalogSnapshot:
    return catalog.snapshot if catalog.snapshot is not None else CatalogSnapshot.empty()


def find_user_object(
    node: nodes.Statement, kind: str, catalog: PlannerCatalog, session: SessionNames
) -> Entry:
    entry = find_object(parts(node.this), kind, catalog, session)
    if entry.is_system:
        raise SystemObjectProtected(str(entry.name))
    if catalog.is_subsource(entry.id):
        raise WrongObjectType(str(entry.name), "source", "subsource")
    return entry
