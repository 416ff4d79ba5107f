"""The inputs of plans, from versions of collections. A progress relation is read as the frontiers
that the bindings of its source add up to, so that a plan sees rows and not increments."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import pyarrow as pa

from reclock.algebra.ids import CollectionType, StorageCollectionId
from reclock.algebra.timestamps import MINIMUM
from reclock.collections.schema import arrow_schema
from reclock.collections.version import Version
from reclock.compute.engines.engine import CollectionInput, Input, TableInput
from reclock.definitions.sources import PLACE_COLUMN, frontiers_desc
from reclock.ingest.source_collections import bindings_in
from reclock.reclocking.progress import progress_updates
from reclock.reclocking.remap import Remap

_frontiers: WeakKeyDictionary[Version, pa.Table] = WeakKeyDictionary()
"""Frontiers computed from versions of remap collections, which never change."""


def plan_input(id: StorageCollectionId, version: Version) -> Input:
    """The input of a plan from the collection ``id``, exact at every time at which ``version`` is
    exact."""
    if id.collection is not CollectionType.REMAPPING:
        return CollectionInput(version)
    updates = _frontiers.get(version)
    if updates is None:
        updates = _frontiers[version] = _frontier_updates(version)
    return TableInput(updates, has_updates=True, since=version.since)


def _frontier_updates(bindings: Version) -> pa.Table:
    """The updates of a relation of ``frontiers_desc``: one row for each partition at each time."""
    shown = str if PLACE_COLUMN in bindings.desc.names else int
    remap = Remap.of(bindings_in(bindings, MINIMUM, bindings.upper) if bindings.upper else [])
    rows = [
        (*change.row.row[:-1], shown(change.row.offset), change.time, change.diff)
        for change in progress_updates(remap)
    ]
    schema = arrow_schema(frontiers_desc(bindings.desc), with_updates=True)
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
