"""CREATE OR REPLACE VIEW: what goes with the old view, and what becomes of the objects that depend
on it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import RelationDesc
from reclock.errors import DependentObjects, InternalError, InvalidViewReplacement, quoted_name
from reclock.sql.catalog.entries import Entry, FunctionEntry, IndexEntry, RelationEntry
from reclock.sql.catalog.lookups import dependents_closure, snapshot_of
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import quote
from reclock.sql.planning.registry import item_planner_of
from reclock.sql.statements.tables.column_changes import ColumnChanges
from reclock.sql.statements.tables.rewrite_plan import Dependents
from reclock.sql.syntax.parse import parse_one


@dataclass(frozen=True, slots=True)
class DefinitionReplacement:
    """``dropped`` are the old view and its indexes, these first, or the old function. ``recreated``
    are the views, functions and indexes that depend on it, in this order, and their definitions over
    the new one."""

    dropped: tuple[GlobalId, ...] = ()
    recreated: tuple[tuple[GlobalId, str], ...] = ()


NO_REPLACEMENT = DefinitionReplacement()


def plan_replacement(
    old: Entry, new: RelationEntry, catalog: PlannerCatalog
) -> DefinitionReplacement:
    """Raises ``DependentObjects`` if ``new`` depends on the old view, or if objects depend on it that
    cannot follow, and ``InvalidViewReplacement`` if they would lose a column."""
    closure, names = dependents_closure({old.id}, catalog)
    if set(closure) & new.depends_on:
        raise DependentObjects("view", str(old.name), [str(new.name)])
    if not names:
        return DefinitionReplacement(closure)
    if not isinstance(old, RelationEntry) or any(id.startswith("t") for id in closure):
        raise DependentObjects("view", str(old.name), names)  # it is quarantined, or temporary
    not_views = [
        str(entry.name)
        for entry in map(catalog.entry, closure)
        if entry is not None
        and not isinstance(entry, IndexEntry)
        and not (isinstance(entry, RelationEntry) and entry.query is not None)
    ]
    if not_views:
        raise DependentObjects("view", str(old.name), not_views)
    _check_columns(old.desc, new.desc)
    columns = ColumnChanges(old.desc)
    columns.values |= {name: quote(name) for name in new.desc.names}
    dependents = Dependents(old, columns, catalog)
    dependents.plan()
    replaced_ids = {old.id, *(index.id for index in catalog.indexes_on(old.id))}
    recreated = tuple(
        (id, text) for id, text in dependents.recreated.items() if id not in replaced_ids
    )
    return DefinitionReplacement(tuple(id for id in closure if id in replaced_ids), recreated)


def plan_function_replacement(old: FunctionEntry, catalog: PlannerCatalog) -> DefinitionReplacement:
    """What becomes of the objects that call the function, which keeps its parameters and result.
    Raises ``DependentObjects`` if objects call it that cannot follow."""
    closure, names = dependents_closure({old.id}, catalog)
    entries = [
        catalog.entry(id) for id in sorted(set(closure) - {old.id}, key=lambda id: int(id[1:]))
    ]
    if not all(map(_can_follow, entries)):
        raise DependentObjects("function", str(old.name), names)
    return DefinitionReplacement(
        (old.id,), tuple((entry.id, entry.create_sql or "") for entry in entries if entry)
    )


def _can_follow(entry: Entry | None) -> bool:
    is_view = isinstance(entry, RelationEntry) and entry.query is not None
    is_kept = entry is not None and not entry.id.startswith("t")
    return is_kept and (is_view or isinstance(entry, IndexEntry | FunctionEntry))


def catalog_after(
    new: RelationEntry | FunctionEntry, replacement: DefinitionReplacement, catalog: PlannerCatalog
) -> PlannerCatalog:
    """The catalog in which ``new`` replaced the old view or function. Raises what planning an object raises that
    depends on it."""
    dropped_ids = {*replacement.dropped, *(id for id, _ in replacement.recreated)}
    after = catalog.at(snapshot_of(catalog), catalog.settings, dropped_ids)
    after.add(new)
    for id, text in replacement.recreated:
        node, item, entry = parse_one(text), snapshot_of(catalog).items[id], catalog.entry(id)
        planner = item_planner_of(type(node))
        if planner is None or entry is None:
            raise InternalError(f"{quoted_name(item.name)} has no planner")
        after.add(planner(node, replace(item, create_sql=text), entry.name, after))
    return after


def materialized_in(
    catalog: PlannerCatalog, replacement: DefinitionReplacement
) -> list[RelationEntry]:
    """The views that depend on the replaced one and that an index maintains."""
    entries = [catalog.entry(id) for id, _ in replacement.recreated]
    ids = dict.fromkeys(entry.on for entry in entries if isinstance(entry, IndexEntry))
    return [catalog.relation(id) for id in ids]


def _check_columns(old: RelationDesc, new: RelationDesc) -> None:
    if len(new) < len(old):
        raise InvalidViewReplacement("cannot drop columns from view")
    for before, after in zip(old.columns, new.columns, strict=False):
        if before.name != after.name:
            raise InvalidViewReplacement(
                f'cannot change name of view column "{before.name}" to "{after.name}"',
                hint="the columns that other objects may read stay, in their order, and new "
                "ones come after them",
            )
        if str(before.type.unconstrained) != str(after.type.unconstrained):
            raise InvalidViewReplacement(
                f'cannot change data type of view column "{before.name}" from '
                f"{before.sql_type} to {after.sql_type}"
            )
