"""What a step of a plan reads, and whether it can be one step for many times, from the plan
alone."""

from __future__ import annotations

from collections.abc import Set

from reclock.algebra.ids import StorageCollectionId
from reclock.compute.operators.partial_aggregates import partial_aggregates
from reclock.compute.steps.kept_rows import over_kept_rows
from reclock.plan.relational import (
    Filter,
    FlatMap,
    Get,
    Join,
    JoinKind,
    Map,
    Plan,
    Project,
    Union,
    collections,
    inputs,
)
from reclock.plan.temporal import is_temporal_filter
from reclock.plan.traversal import nodes_by_id


def has_time_rules(plan: Plan) -> bool:
    """Whether a step by time is expected to succeed: what temporal filters change only passes
    operators that say at which time a row changes."""
    plan = over_kept_rows(plan)
    nodes = nodes_by_id(plan)
    changed: set[int] = set()
    for key, node in nodes.items():
        changing = sum(id(part) in changed for part in inputs(node))
        if not changing and not is_temporal_filter(node):
            continue
        changed.add(key)
        match node:
            case Filter() if changing and is_temporal_filter(node):
                return False
            case Filter() | Map() | Project() | Union() | FlatMap():
                pass
            case Join(kind=JoinKind.INNER) if changing == 1:
                pass
            case _ if partial_aggregates(node) is None:
                return False
    return id(plan) in changed


def read_in_full(plan: Plan, changed: Set[StorageCollectionId]) -> frozenset[StorageCollectionId]:
    """The collections of which a step reads more than the changes, if ``changed`` have any. Rows
    that an engine finds by key count as if it read them all."""
    read = frozenset[StorageCollectionId]().union(
        *(read_in_full(part, changed) for part in inputs(plan))
    )
    is_changed = [bool(collections(part) & changed) for part in inputs(plan)]
    match plan:
        case Filter() if is_temporal_filter(plan):
            return collections(plan)
        case Get(may_be_negative=True):
            return collections(plan) & changed
        case Get() | Filter() | Map() | Project() | Union() | FlatMap():
            return read
        case Join(kind=JoinKind.INNER):
            sides = zip(inputs(plan), reversed(is_changed), strict=True)
            return read.union(*(collections(side) for side, is_partner in sides if is_partner))
        case _:
            return collections(plan) if any(is_changed) else read
