"""Views in plans: a query reads a view as a ``Get`` of its id, which is replaced here by the view's
definition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import is_not

from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId
from reclock.plan.relational import Get, Plan, Project, collections
from reclock.plan.rules import optimize
from reclock.plan.traversal import rewritten
from reclock.sql.catalog.entries import Entry, RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog, RelationPlan
from reclock.sql.queries.progress import over_frontiers

Instead = Callable[[StorageCollectionId], StorageCollectionId | None]


@dataclass(frozen=True, slots=True)
class Definition:
    """A query in terms of stored collections."""

    plan: Plan
    relations: frozenset[GlobalId]
    """The relations and views that the query reads, directly or through views."""
    reads: frozenset[StorageCollectionId]
    """The collections that ``plan`` reads."""


def definition_of(plan: Plan, catalog: PlannerCatalog) -> Definition:
    """The definition of the query that was planned as ``plan``. It uses no index, and is ``plan``
    itself if that reads no view."""
    reads = collections(plan)
    if not reads:
        return Definition(plan, frozenset(), reads)
    relations: set[GlobalId] = set()

    def note(collection: StorageCollectionId) -> None:
        entry = catalog.kept_in(collection)
        relations.update([entry.id] if entry is not None else [])

    over_stored = expand_views(plan, catalog, note)
    if over_stored is plan:
        return Definition(plan, frozenset(relations), reads)
    expanded = optimize(over_stored)
    return Definition(expanded, frozenset(relations), collections(expanded))


def expand(plan: Plan, catalog: PlannerCatalog, instead: Instead = lambda collection: None) -> Plan:
    """As ``expand_views``, then optimized: predicates move into the definitions of views."""
    return optimize(expand_views(plan, catalog, instead))


def expand_views(
    plan: Plan, catalog: PlannerCatalog, instead: Instead = lambda collection: None
) -> Plan:
    """``plan`` over stored collections. Where ``instead`` names another collection with the same
    rows (an index's), the plan reads that one; a view without one becomes its definition."""

    definitions: dict[StorageCollectionId, Plan] = {}

    def over_stored(node: Plan) -> Plan:
        if not isinstance(node, Get):
            return node
        collection = node.collection
        chosen = instead(collection)
        if chosen is not None:
            return _stored(node, chosen)
        if collection.collection is CollectionType.REMAPPING:
            source = catalog.relation(collection.source_id).source
            return node if source is None else over_frontiers(node, source.connector.reclocking)
        entry = catalog.kept_in(collection)
        if not isinstance(entry, RelationEntry) or entry.query is None:
            return node
        if collection not in definitions:  # one plan for all that read the view
            definitions[collection] = rewritten(entry.query, over_stored)
        return definitions[collection]

    return rewritten(plan, over_stored)


def relation_plan(relation: RelationEntry, catalog: PlannerCatalog) -> Plan:
    """The relation's rows in terms of stored collections, by its definition and no index.

    Catalogs share the plans of relations that are the same in both, with all that they read.
    """
    read = _entries_read(relation, catalog)
    known = catalog.relation_plans.get(relation.id)
    if known is None or len(known.read) != len(read) or any(map(is_not, known.read, read)):
        plan = expand(Get(relation.collection, str(relation.name), relation.desc), catalog)
        known = catalog.relation_plans[relation.id] = RelationPlan(plan, read)
    return known.plan


def _entries_read(relation: RelationEntry, catalog: PlannerCatalog) -> tuple[Entry | None, ...]:
    """The relation and all on which it depends, each once, in the same order for the same."""
    if relation.query is None:
        return (relation,)
    entries: dict[GlobalId, Entry | None] = {relation.id: relation}
    pending = [relation.depends_on]
    while pending:
        for id in pending.pop():
            if id not in entries:
                entry = entries[id] = catalog.entry(id)
                pending += [] if entry is None else [entry.depends_on]
    return tuple(entries.values())


def _stored(relation: Get, collection: StorageCollectionId) -> Plan:
    """``relation``, whose rows ``collection`` holds."""
    desc = relation.desc.stored
    stored = replace(relation, collection=collection, desc=desc)
    return (
        stored if desc == relation.desc else Project(stored, tuple(range(len(desc))), relation.desc)
    )
