"""The overview of an environment, gathered from its stores."""

from __future__ import annotations

from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId
from reclock.algebra.timestamps import Timestamp
from reclock.ingest.source_collections import read_bindings
from reclock.introspection.overview import Overview, overview
from reclock.protocol.introspection import IntrospectionType
from reclock.quality.docs_index import latest, read_index
from reclock.reclocking.remap import Remap
from reclock.runtime.environment import Environment


def overview_of(environment: Environment) -> Overview:
    """The environment as it is now, without bindings that are not published yet."""
    catalog = environment.stores.planner_catalog()
    assert catalog.snapshot is not None
    frontiers = {
        id: frontier for id, frontier in environment.control_plane.frontiers_of(catalog).items() if not catalog.is_subsource(id)
    }
    return overview(
        catalog.snapshot,
        frontiers,
        environment.stores.statuses.current(),
        lambda source: _remap(environment, catalog.relation(source).collection.source_id, frontiers[source].upper),
        latest(read_index(environment.stores.settings.home / "quality")),
        environment.stores.clock(),
        environment.stores.managed.read({IntrospectionType.REPLICA_STATUSES, IntrospectionType.REPLICA_METRICS}).rows,
    )


def _remap(environment: Environment, source: GlobalId, upper: Timestamp) -> Remap:
    id_ = StorageCollectionId(source, CollectionType.REMAPPING)
    if not environment.stores.lake.exists(id_):  # created a moment ago
        return Remap.of([])
    return Remap.of(read_bindings(environment.stores.lake.open(id_), Timestamp(0), upper))
