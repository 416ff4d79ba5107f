"""The plans of queries that read indexes in the place of the relations they are on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.plan.relational import Plan
from reclock.plan.rules import optimize
from reclock.sql.catalog.entries import IndexEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.queries.views import expand_views

Indexes: TypeAlias = Mapping[GlobalId, IndexEntry]
"""Indexes by the relations they are on."""
IndexedPlan: TypeAlias = tuple[Plan, tuple[IndexEntry, ...]]
"""A plan over collections, and the indexes that it reads."""


def arranged(plan: Plan, catalog: PlannerCatalog, indexes: Indexes) -> IndexedPlan:
    """As ``with_indexes``, optimized."""
    expanded, chosen = with_indexes(plan, catalog, indexes)
    return optimize(expanded), chosen


def with_indexes(plan: Plan, catalog: PlannerCatalog, indexes: Indexes) -> IndexedPlan:
    """``plan`` over collections, with indexes in the place of the relations they are on, and the
    indexes that it reads then."""
    chosen: dict[GlobalId, IndexEntry] = {}
    by_collection = {catalog.relation(on).collection: index for on, index in indexes.items()}

    def index_of(collection: StorageCollectionId) -> StorageCollectionId | None:
        index = by_collection.get(collection)
        if index is None:
            return None
        chosen[index.on] = index
        return StorageCollectionId(index.id)

    return expand_views(plan, catalog, index_of), tuple(chosen.values())
