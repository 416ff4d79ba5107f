"""DROP: what goes, in which order, and what stands in the way."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from reclock.algebra.ids import GlobalId
from reclock.algebra.index_keys import is_default_name
from reclock.catalog.objects import ItemType
from reclock.errors import DependentObjects, RequiredIndex, SystemObjectProtected, UnknownObject, UnknownRelation, WrongObjectType
from reclock.sql import nodes
from reclock.sql.catalog import Entry, IndexEntry, PlannerCatalog, QuarantinedEntry
from reclock.sql.names import SessionNames, parts
from reclock.sql.statements import Drop, Skipped

_TYPES = {
    "SOURCE": ItemType.SOURCE,
    "TABLE": ItemType.TABLE,
    "VIEW": ItemType.VIEW,
    "MATERIALIZED VIEW": ItemType.VIEW,
    "INDEX": ItemType.INDEX,
    "SECRET": ItemType.SECRET,
    "CONNECTION": ItemType.CONNECTION,
    "SINK": ItemType.SINK,
}


def find(
    name: tuple[str, ...], kind: str, catalog: PlannerCatalog, session: SessionNames, *, may_be_quarantined: bool = False
) -> Entry:
    """The item of that name and kind (``SOURCE``, ``MATERIALIZED VIEW``, …).

    Raises ``Unknown…``, ``WrongObjectType``, and ``ObjectQuarantined`` unless ``may_be_quarantined``.
    """
    entry = catalog.find(name, session)
    if isinstance(entry, QuarantinedEntry) and entry.type is _TYPES[kind]:
        if may_be_quarantined:
            return entry
        raise entry.refusal
    if entry is None:
        if kind in ("INDEX", "SINK", "SECRET", "CONNECTION"):
            raise UnknownObject(kind.lower(), ".".join(name))
        catalog.resolve(name, session)
        raise UnknownRelation(".".join(name))
    is_materialized = entry.type is ItemType.VIEW and any(catalog.indexes(entry.id))
    if entry.type is not _TYPES[kind] or (kind == "MATERIALIZED VIEW" and not is_materialized):
        raise WrongObjectType(str(entry.name), kind.lower(), entry.type.value.replace("_", " "))
    return entry


def plan_drop(node: nodes.DropStatement, catalog: PlannerCatalog, session: SessionNames) -> Drop | Skipped:
    kind: str = node.args["kind"]
    targets: dict[GlobalId, Entry] = {}
    notices = []
    for name in (parts(table) for table in node.args["names"]):
        if node.args.get("exists") and catalog.find(name, session) is None:
            notices.append(f'{kind.lower()} "{".".join(name)}" does not exist, skipping')
            continue
        entry = find(name, kind, catalog, session, may_be_quarantined=True)
        if entry.is_system:
            raise SystemObjectProtected(str(entry.name))
        targets[entry.id] = entry
    if not targets:
        return Skipped(f"DROP {kind}", "; ".join(notices))
    if kind == "INDEX" and node.args.get("behavior") != "CASCADE":
        for entry in targets.values():
            _check_not_the_last(entry, targets, catalog)
    ids, dependents = closure(targets, catalog)
    if dependents and node.args.get("behavior") != "CASCADE":
        first = next(iter(targets.values()))
        raise DependentObjects(kind.lower(), str(first.name), dependents)
    names = tuple(gone.name for id in ids if (gone := catalog.entry(id)) is not None)
    return Drop(kind.lower(), ids, names, frozenset(targets), tuple(notices))


def refresh_view(node: nodes.RefreshViewStatement, catalog: PlannerCatalog, session: SessionNames) -> Skipped:
    """Nothing is to be done. Raises as ``find`` does if the name is not one of a materialized view."""
    view = find(parts(node.this), "MATERIALIZED VIEW", catalog, session)
    return Skipped("REFRESH MATERIALIZED VIEW", f'materialized view "{view.name.item}" is always kept up to date')


def _check_not_the_last(entry: Entry, targets: Collection[GlobalId], catalog: PlannerCatalog) -> None:
    """Without its default index, if it has no other, a materialized view would silently be a plain one."""
    if not (isinstance(entry, IndexEntry) and is_default_name(entry.name.item)):
        return
    view = catalog.entry(entry.on)
    others = [index for index in catalog.indexes(entry.on) if index.id not in targets]
    if view is not None and view.type is ItemType.VIEW and not others:
        raise RequiredIndex(entry.name.item, view.name.item)


def closure(targets: Iterable[GlobalId], catalog: PlannerCatalog) -> tuple[tuple[GlobalId, ...], list[str]]:
    """Every id that goes if ``targets`` do, dependents first; and the names of those that only CASCADE takes along.

    Indexes and progress relations are parts of what they are on, and go with it.
    """
    wanted = set(targets)
    ordered: dict[GlobalId, None] = {}
    others: list[str] = []

    def visit(id: GlobalId) -> None:
        if id in ordered:
            return
        for entry in catalog.dependents(id):
            is_part = entry.type in (ItemType.INDEX, ItemType.SOURCE_PROGRESS) or catalog.is_subsource(entry.id)
            if not is_part and entry.id not in wanted and str(entry.name) not in others:
                others.append(str(entry.name))
            visit(entry.id)
        ordered[id] = None

    for id in sorted(wanted, key=lambda id: int(id[1:])):
        visit(id)
    return tuple(ordered), others
