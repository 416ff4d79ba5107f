"""Views in plans: a query reads a view as a ``Get`` of its id, which is replaced here by the view's
definition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId
from reclock.plan.relational import Get, Plan, Project, collections, inputs, with_inputs
from reclock.plan.rules import optimize
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
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

    expanded = expand(plan, catalog, note)
    if expanded == plan:
        return Definition(plan, frozenset(relations), reads)
    return Definition(expanded, frozenset(relations), collections(expanded))


def expand(plan: Plan, catalog: PlannerCatalog, instead: Instead = lambda collection: None) -> Plan:
    """As ``expand_views``, then optimized: predicates move into the definitions of views."""
    return optimize(expand_views(plan, catalog, instead))


def expand_views(
    plan: Plan, catalog: PlannerCatalog, instead: Instead = lambda collection: None
) -> Plan:
    """``plan`` over stored collections. Where ``instead`` names another collection with the same
    rows (an index's), the plan reads that one; a view without one becomes its definition."""

    def visit(plan: Plan) -> Plan:
        match plan:
            case Get(collection=collection):
                chosen = instead(collection)
                if chosen is not None:
                    return _stored(plan, chosen)
                if collection.collection is CollectionType.REMAPPING:
                    source = catalog.relation(collection.source_id).source
                    return (
                        plan
                        if source is None
                        else over_frontiers(plan, source.connector.reclocking)
                    )
                entry = catalog.kept_in(collection)
                is_view = isinstance(entry, RelationEntry) and entry.query is not None
                return visit(entry.query) if is_view else plan  # type: ignore[union-attr, arg-type]
            case _:
                return with_inputs(plan, [visit(input) for input in inputs(plan)])

    return visit(plan)


def _stored(relation: Get, collection: StorageCollectionId) -> Plan:
    """``relation``, whose rows ``collection`` holds."""
    desc = relation.desc.stored
    stored = replace(relation, collection=collection, desc=desc)
    return (
        stored if desc == relation.desc else Project(stored, tuple(range(len(desc))), relation.desc)
    )
