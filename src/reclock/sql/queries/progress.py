"""Progress relations in plans: a view over the frontiers that a source's bindings add up to."""

from __future__ import annotations

from reclock.algebra.relations import BIGINT, Column, RelationDesc
from reclock.definitions.sources import Reclocking, frontiers_desc
from reclock.plan.functions import resolve_scalar
from reclock.plan.relational import Get, Map, Plan, Project
from reclock.plan.scalars import Call, ColumnRef, Literal, Scalar


def over_frontiers(progress: Get, reclocking: Reclocking) -> Plan:
    """The progress relation ``progress`` of a source that is bound in this way, over its
    frontiers."""
    desc = frontiers_desc(reclocking.remap_desc)
    if progress.desc.names == desc.names:  # it is already
        return progress
    frontiers, width = Get(progress.collection, progress.name, desc), len(desc)
    if reclocking.unit == 1:
        return Project(frontiers, tuple(range(width)), progress.desc)
    offset, unit = ColumnRef(width - 1, desc.types[-1]), Literal(reclocking.unit, BIGINT)
    divide = resolve_scalar("/", [BIGINT, BIGINT], {}).function
    shown: Scalar = Call(divide, (offset, unit), BIGINT)
    mapped = Map(frontiers, (shown,), RelationDesc((*desc.columns, Column("shown", BIGINT, False))))
    return Project(mapped, (*range(width - 1), width), progress.desc)
