"""The tables that plans over collections read, on whose rows a commit depends."""

from __future__ import annotations

from reclock.algebra.ids import CollectionType, GlobalId
from reclock.collections.keys import Keys
from reclock.compute.reads.lookups import point_lookups
from reclock.plan.relational import Plan, collections


def tables_read(definition: Plan) -> dict[GlobalId, Keys | None]:
    """The tables that a plan over collections reads, and by which keys; None stands for all
    rows."""
    tables: dict[GlobalId, Keys | None] = {
        id.source_id: None
        for id in collections(definition)
        if id.has_times and id.collection is CollectionType.TABLE
    }
    for get, column, values in point_lookups(definition):
        if get.collection.source_id in tables:
            tables[get.collection.source_id] = Keys(get.desc.names[column], values)
    return tables


def add_read(reads: dict[GlobalId, Keys | None], table: GlobalId, keys: Keys | None) -> None:
    """Add to ``reads`` that the table is read by ``keys``, or all of it."""
    earlier = reads.get(table)
    if table in reads:
        keys = earlier.union(keys) if earlier is not None and keys is not None else None
    reads[table] = keys
