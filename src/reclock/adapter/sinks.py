"""Sinks as emitting wants them, from the catalog."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from reclock.adapter.sources import written_parts
from reclock.compute.plan import Get
from reclock.environment import Environment
from reclock.errors import UnknownObject
from reclock.sinks.changes import Reader
from reclock.sinks.description import SinkSpec
from reclock.sinks.emitter import Emitter
from reclock.sinks.opening import Means, open_writer
from reclock.sql.catalog import PlannerCatalog, SinkEntry
from reclock.sql.names import SessionNames
from reclock.sql.planner.views import expand

_NAMES = SessionNames()


def sink_specs(environment: Environment, only: Sequence[str] | None = None) -> list[SinkSpec]:
    """Every sink, or those named (as SQL would, qualified or not), in order of id. Raises ``UnknownObject``."""
    catalog = environment.planner_catalog()
    if only is not None:
        return [_spec(catalog, _named(catalog, name)) for name in dict.fromkeys(only)]
    return [_spec(catalog, entry) for entry in sorted(catalog.sinks(), key=lambda entry: int(entry.id[1:]))]


def emitter(environment: Environment, owner: str) -> Emitter:
    """Emits, as ``owner``, with the stores and engines of this process."""
    settings = environment.settings
    means = Means(settings, environment.mark.id, environment.clock, environment.means.reveal)
    reader = Reader(environment.lake, environment.frontiers, settings, environment.small_engine, environment.large_engine)
    writer = partial(open_writer, means=means)
    return Emitter(environment.frontiers, environment.holds, reader, writer, owner, settings.claim_lease_ms)


def _named(catalog: PlannerCatalog, name: str) -> SinkEntry:
    entry = catalog.find(written_parts(name), _NAMES)
    if not isinstance(entry, SinkEntry):
        raise UnknownObject("sink", name)
    return entry


def _spec(catalog: PlannerCatalog, sink: SinkEntry) -> SinkSpec:
    assert catalog.snapshot is not None
    on = catalog.relation(sink.on)
    indexes = tuple(index.id for index in catalog.indexes(on.id) if index.cluster_id == sink.cluster_id)
    plan = expand(Get(on.collection, str(on.name), on.desc), catalog)
    created_at = catalog.snapshot.items[sink.id].created_at
    return SinkSpec(sink.id, str(sink.name), plan, on.desc, sink.sink.target, sink.sink.with_snapshot, created_at, indexes)
