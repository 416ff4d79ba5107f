"""A tick: moves every source forward by one write timestamp, and then refreshes indexes and emits
sinks.

``reclock tick`` runs it in one process. The DAG runs each step of `source_steps` and
`cluster_steps` in its own task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from reclock.adapter.timestamps import readiness
from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.definitions.sources import SourceSpec
from reclock.errors import ReclockError, TimestampNotAllowed
from reclock.ingest.report import IngestReport
from reclock.pipeline.cluster_steps import cluster_names, emit_all, refresh, sink_names
from reclock.pipeline.source_steps import (
    audit,
    ingest_spec,
    publish,
    stalled_outputs,
    ticking_sources,
)
from reclock.pipeline.tick_reports import TickFailure, TickReport
from reclock.runtime.environment import Environment


def migrate(home: Path | str | None) -> int:
    """Initialise or upgrade the catalog if necessary, else join it. Returns the epoch."""
    with Environment.initialise(home) as environment:
        return environment.stores.leadership.epoch


def allocate(environment: Environment, *, at: int | None = None) -> Timestamp:
    """The tick's write timestamp. One that is set by hand must lie in ``(ReadTs, now]``, else this
    raises ``TimestampNotAllowed``."""
    stores = environment.stores
    environment.control_plane.await_storage(stores.planner_catalog())
    if at is None:
        return stores.oracle.write_ts(EPOCH_MS)
    read_ts, now = stores.oracle.read_ts(EPOCH_MS), stores.clock()
    if not read_ts < at <= now:
        raise TimestampNotAllowed(at, read_ts=read_ts, now=now)
    return Timestamp(at)


def run(
    environment: Environment,
    *,
    only: Sequence[str] | None = None,
    at: int | None = None,
    owner: str,
    patience_s: float | None = None,
    is_last: bool = True,
) -> TickReport:
    """Run a whole tick in this process.

    Each source moves at its own pace. After ``patience_s``, the ready sources are published, and
    their indexes and sinks follow, while other sources still read; each of these is published when
    it is ready. Unless the tick ``is_last``, it does not wait for them: the first later tick that
    finds them ready publishes them. Without ``patience_s``, all sources are published together.
    """
    time = allocate(environment, at=at)
    readiness.retry_unready(environment)
    specs = {spec.id: spec for spec in ticking_sources(environment, only)}
    pool = environment.runtime.ingestions

    def attempt(spec: SourceSpec) -> IngestReport | TickFailure:
        try:
            return ingest_spec(environment, spec, time, owner)
        except ReclockError as error:  # one source's trouble is not the others'
            return TickFailure.of(spec.name, error)

    for spec in specs.values():
        pool.start(spec.id, partial(attempt, spec))
    report = _finish(environment, specs, pool.take(specs, patience_s=patience_s), time, owner)
    if is_last:
        for later in settle(environment, only=only, owner=owner):
            report = report.followed_by(later)
    return report


def settle(
    environment: Environment, *, only: Sequence[str] | None = None, owner: str
) -> list[TickReport]:
    """Wait for the ingestions of earlier ticks, and publish each when it is ready."""
    specs = {spec.id: spec for spec in ticking_sources(environment, only)}
    reports = []
    while late := environment.runtime.ingestions.running() & specs.keys():
        outcomes = environment.runtime.ingestions.take(late, patience_s=None, waits_for_all=False)
        reports.append(_finish(environment, specs, outcomes, allocate(environment), owner))
    return reports


def _finish(
    environment: Environment,
    specs: Mapping[GlobalId, SourceSpec],
    outcomes: Mapping[GlobalId, IngestReport | TickFailure],
    time: Timestamp,
    owner: str,
) -> TickReport:
    """Audit and publish the sources whose ingestion has finished, and let indexes and sinks
    follow."""
    names = [specs[id].name for id in outcomes]
    failures = [outcome for outcome in outcomes.values() if isinstance(outcome, TickFailure)]
    ingested = {
        id: outcome for id, outcome in outcomes.items() if isinstance(outcome, IngestReport)
    }
    for id, outcome in ingested.items():
        failures += [
            TickFailure.of(str(entry.name), error)
            for entry, error in stalled_outputs(environment.stores, specs[id], outcome)
        ]
    audited = audit(environment.stores, names, owner=owner)
    published = publish(environment, names, time, owner=owner)
    through = published.upper - 1
    clusters = cluster_names(environment.stores)
    refreshed = [refresh(environment, cluster, through, owner=owner) for cluster in clusters]
    emitted, stalled = emit_all(environment, sink_names(environment), through, owner=owner)
    failures += [
        *published.failed,
        *(failure for report in refreshed for failure in report.failed),
        *stalled,
    ]
    steps = (tuple(ingested.values()), tuple(audited), published, tuple(refreshed), emitted)
    sources = tuple(spec.name for spec in specs.values())
    return TickReport(time, sources, *steps, tuple(failures))
