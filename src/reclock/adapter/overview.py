"""The overview of an environment, gathered from its stores."""

from __future__ import annotations

from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId
from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN
from reclock.algebra.timestamps import Timestamp
from reclock.environment import Environment
from reclock.introspection.overview import Overview, overview
from reclock.quality.docs_index import latest, read_index
from reclock.reclocking.mint import Binding
from reclock.reclocking.remap import Remap


def overview_of(environment: Environment) -> Overview:
    """The environment as it is now, bindings that are not published yet left out."""
    frontiers = environment.frontiers.get_all()
    return overview(
        environment.catalog.sync(),
        frontiers,
        environment.statuses.current(),
        lambda source: _remap(environment, source, frontiers[source].upper),
        latest(read_index(environment.settings.home / "quality")),
        environment.clock(),
    )


def _remap(environment: Environment, source: GlobalId, upper: Timestamp) -> Remap:
    id_ = StorageCollectionId(source, CollectionType.REMAPPING)
    if not environment.lake.exists(id_):  # created a moment ago
        return Remap.of([])
    updates = environment.lake.open(id_).pin().changes(Timestamp(0), upper).to_pylist()
    return Remap.of(Binding(update["object_key"], update[TIME_COLUMN], update[DIFF_COLUMN]) for update in updates)
