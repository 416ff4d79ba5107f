"""Which changes are published and not announced to Airflow yet, whoever published them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import structlog

from reclock.algebra.ids import CollectionType, StorageCollectionId
from reclock.algebra.relations import TIME_COLUMN
from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.collections.version import Version
from reclock.consensus.frontiers.groups import GroupFrontier
from reclock.definitions.lineage import asset_uri
from reclock.errors import ReclockError
from reclock.runtime.environment import Environment
from reclock.sql.catalog.entries import IndexEntry, RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName

_logger = structlog.get_logger(__name__)

Changes = dict[str, int]
"""The ``rows`` (or changes) of a relation or sink that are new, all below ``upper``. Of a sink also
the ``total`` of the changes that it has ever emitted."""

Positions = dict[str, int]
"""How far each asset is announced, by URI: a relation's upper, or the total of a sink."""


def unannounced(
    environment: Environment, announced: Mapping[str, int]
) -> tuple[dict[str, Changes], Positions]:
    """The changes of sources, tables, views and sinks beyond the positions ``announced``, by name,
    and the positions after them. An asset without a position has all of its changes before it.

    Nothing is moved: what is published now counts. A relation that cannot be read keeps its
    position.
    """
    stores = environment.stores
    catalog = stores.planner_catalog()
    frontiers = stores.frontiers.get_all()
    changed: dict[str, Changes] = {}
    positions: Positions = {}
    for name, collection in _collections(catalog, frontiers):
        uri = uri_of(name)
        before = positions[uri] = announced.get(uri, int(MINIMUM))
        try:
            version = stores.lake.open(collection).pin()
            upper = min(version.upper, frontiers[collection.group].upper)
            if upper <= before:
                continue
            rows = new_updates(version, Timestamp(before), upper)
        except ReclockError as error:  # one relation's trouble is not the others'
            _logger.warning("changes cannot be counted", relation=str(name), error=error.message)
            continue
        positions[uri] = int(upper)
        if rows:
            changed[str(name)] = {"upper": int(upper), "rows": rows}
    totals = {total.object_id: total for total in stores.statistics.get_all()}
    for sink in catalog.sinks():
        uri = uri_of(sink.name)
        before = positions[uri] = announced.get(uri, 0)
        total = totals.get(sink.id)
        if total is not None and total.updates > before:
            positions[uri] = total.updates
            changed[str(sink.name)] = {
                "upper": int(total.last_at) + 1,
                "rows": total.updates - before,
                "total": total.updates,
            }
    return changed, positions


def new_updates(version: Version, lower: Timestamp, upper: Timestamp) -> int:
    """How many updates were appended at times in ``[lower, upper)``.

    Compaction moves earlier times to ``since``, where older updates cannot be told from new ones.
    There, only the later ones count; if there are none, all of them do.
    """
    merged = Timestamp(version.since + 1)
    if merged <= lower:
        return count_updates(version, lower, upper)
    return count_updates(version, merged, upper) or count_updates(version, lower, upper)


def count_updates(version: Version, lower: Timestamp, upper: Timestamp) -> int:
    """How many updates the version has at times in ``[lower, upper)``. Files whose times lie
    within are counted by the log alone."""
    count, partly_within = 0, []
    for file in version.all_files:
        if lower <= file.min_time and file.max_time < upper:
            count += file.rows
        elif file.min_time < upper and lower <= file.max_time:
            partly_within.append(file)
    if partly_within:
        import pyarrow.compute as pc

        time = pc.field(TIME_COLUMN)
        with version.reading():
            dataset = version.dataset(partly_within)
            count += dataset.count_rows(filter=(time >= lower) & (time < upper))
    return count


def uri_of(name: QualifiedName) -> str:
    """That of the asset of a relation or sink."""
    return asset_uri([part for part in (name.database, name.schema, name.item) if part is not None])


def _collections(
    catalog: PlannerCatalog, frontiers: Mapping[str, GroupFrontier]
) -> Iterator[tuple[QualifiedName, StorageCollectionId]]:
    """Each relation whose updates are stored, and where: of a view, in the index that is ahead of
    its others."""
    indexes: dict[str, IndexEntry] = {}
    for index in catalog.indexes():
        if index.id in frontiers:
            other = indexes.setdefault(index.on, index)
            if frontiers[other.id].upper < frontiers[index.id].upper:
                indexes[index.on] = index
    for entry in catalog.relations():
        if entry.is_system or entry.is_temporary:
            continue
        if entry.query is not None:
            if (maintained := indexes.get(entry.id)) is not None:
                yield entry.name, StorageCollectionId(maintained.id)
        elif _is_stored(entry) and entry.collection.group in frontiers:
            yield entry.name, entry.collection


def _is_stored(entry: RelationEntry) -> bool:
    """Whether the relation has updates of its own. A source has none if its subsources have
    them."""
    if entry.source is not None and entry.source.subsources:
        return False
    return entry.collection.collection is not CollectionType.REMAPPING
