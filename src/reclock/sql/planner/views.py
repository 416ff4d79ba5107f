"""Views in plans: a query reads a view as a ``Get`` of its id; here such a ``Get`` becomes what the view is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from reclock.algebra.ids import StorageCollectionId
from reclock.compute.plan import Constant, Except, Get, Intersect, Join, Plan, Union
from reclock.sql.catalog import PlannerCatalog, RelationEntry
from reclock.sql.planner.pushdown import push_filters

Instead = Callable[[StorageCollectionId], StorageCollectionId | None]


def expand(plan: Plan, catalog: PlannerCatalog, instead: Instead = lambda collection: None) -> Plan:
    """``plan`` over collections that are kept. Where ``instead`` names another collection with the same rows (an index's), that
    one is read; a view without one becomes its definition. Filters are then moved into what views were made of.
    """

    def visit(plan: Plan) -> Plan:
        match plan:
            case Get(collection=collection):
                chosen = instead(collection)
                if chosen is not None:
                    return replace(plan, collection=chosen)
                entry = catalog.kept_in(collection)
                is_view = isinstance(entry, RelationEntry) and entry.query is not None
                return visit(entry.query) if is_view else plan  # type: ignore[union-attr, arg-type]
            case Constant():
                return plan
            case Join(left=left, right=right) | Except(left=left, right=right) | Intersect(left=left, right=right):
                return replace(plan, left=visit(left), right=visit(right))
            case Union(inputs=inputs):
                return replace(plan, inputs=tuple(visit(input) for input in inputs))
            case _:
                return replace(plan, input=visit(plan.input))

    return push_filters(visit(plan))
