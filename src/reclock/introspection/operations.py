"""System relations for operating an environment: dependencies, broken objects, statistics and
lag."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import BIGINT, TEXT, TIMESTAMPTZ, array
from reclock.algebra.timestamps import as_datetime
from reclock.catalog.objects import ItemType
from reclock.consensus.objects.statistics import Total
from reclock.introspection.overview import full_name
from reclock.introspection.relation import Builtin, CatalogState, Rows, SystemState, desc
from reclock.introspection.views import views

_STATISTICS = desc(
    id=TEXT,
    name=TEXT,
    steps=BIGINT,
    offsets=BIGINT,
    updates_committed=BIGINT,
    bytes_committed=BIGINT,
    last_committed_at=TIMESTAMPTZ,
)


def _dependencies(state: CatalogState) -> Rows:
    return (
        (id, referenced) for id, on in state.dependencies().items() for referenced in sorted(on)
    )


def _broken(state: SystemState) -> Rows:
    return (
        (object.id, object.name, object.type, object.part, object.error, object.hint)
        for object in state.broken()
    )


def _lags(state: SystemState) -> Rows:
    now = state.now()
    return ((id, frontier.lag_ms(now)) for id, frontier in state.frontiers().items())


def _totals(state: SystemState, type: ItemType) -> Iterator[tuple[Total, str]]:
    for total in state.statistics():
        item = state.catalog.items.get(GlobalId(total.object_id))
        if item is not None and item.type is type:
            yield total, item.name


def _sources(state: SystemState) -> Rows:
    for total, name in _totals(state, ItemType.SOURCE):
        at = as_datetime(total.last_at)
        yield total.object_id, name, total.steps, total.offsets, total.updates, total.bytes, at


def _probes(state: SystemState) -> Rows:
    for id, frontier in state.frontiers().items():
        item = state.catalog.items.get(id)
        if item is not None and item.type is ItemType.SOURCE and frontier.probed_at is not None:
            yield id, item.name, as_datetime(frontier.probed_at)


def _audits(state: SystemState) -> Rows:
    catalog = state.catalog
    sources = (item for item in catalog.items.values() if item.type is ItemType.SOURCE)
    ids = {full_name(catalog, source): source.id for source in sources}
    for audit in state.audits():
        if (id := ids.get(audit.source)) is not None:
            at = as_datetime(audit.at)
            audited_at = datetime.fromisoformat(audit.audited_at)
            checks = audit.failed, audit.waived
            yield id, at, audit.outcome, *checks, audit.rows, audited_at, audit.page


def _sinks(state: SystemState) -> Rows:
    return (
        (total.object_id, name, total.steps, total.updates, total.bytes)
        for total, name in _totals(state, ItemType.SINK)
    )


_SINK_STATISTICS = desc(
    id=TEXT, name=TEXT, emissions=BIGINT, messages_committed=BIGINT, bytes_committed=BIGINT
)

_AUDITS = desc(
    "source_id",
    "at",
    source_id=TEXT,
    at=TIMESTAMPTZ,
    outcome=TEXT,
    failed=array(TEXT),
    waived=array(TEXT),
    rows=BIGINT,
    audited_at=TIMESTAMPTZ,
    page=TEXT,
)

_BROKEN = desc(id=TEXT, name=TEXT, type=TEXT, broken=TEXT, error=TEXT, hint=TEXT)

OPERATIONS = (
    Builtin("mz_internal", "mz_broken_objects", _BROKEN, _broken),
    Builtin(
        "mz_internal",
        "mz_object_dependencies",
        desc(object_id=TEXT, referenced_object_id=TEXT),
        catalog_rows=_dependencies,
    ),
    Builtin(
        "mz_internal", "mz_wallclock_lag", desc("object_id", object_id=TEXT, lag_ms=BIGINT), _lags
    ),
    Builtin("mz_internal", "mz_source_statistics", _STATISTICS, _sources),
    Builtin(
        "mz_internal", "mz_source_probes", desc(id=TEXT, name=TEXT, probed_at=TIMESTAMPTZ), _probes
    ),
    Builtin("mz_internal", "mz_source_audits", _AUDITS, _audits),
    Builtin("mz_internal", "mz_sink_statistics", _SINK_STATISTICS, _sinks),
    *views(
        "mz_internal",
        "mz_compute_hydration_statuses",
        "mz_cluster_cpu_usage",
        "mz_cluster_memory_usage",
        "mz_cluster_replica_utilization",
        "mz_cluster_replica_utilization_history",
    ),
)
