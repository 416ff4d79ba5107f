"""A tick: moves every source forward by one write timestamp, and then refreshes indexes and emits
sinks. Its stages are a tuple, which ``run`` walks and ``explain`` shows.

``reclock tick`` runs it in one process. The DAG runs each step of `source_steps` and
`cluster_steps` in its own task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from structlog.contextvars import bound_contextvars

from reclock.adapter.timestamps import readiness
from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import EPOCH_MS, MINIMUM, Timestamp
from reclock.definitions.sources import SourceSpec
from reclock.errors import ReclockError, TimestampNotAllowed
from reclock.ingest.report import IngestReport, IngestState
from reclock.pipeline import openlineage, registrations
from reclock.pipeline.cluster_steps import attempt_emit, cluster_names, refresh, sink_names
from reclock.pipeline.source_steps import (
    audit,
    ingest_spec,
    publish,
    stalled_outputs,
    ticking_sources,
)
from reclock.pipeline.tick_reports import (
    AuditReport,
    PublishReport,
    RefreshReport,
    TickFailure,
    TickReport,
)
from reclock.pipeline.tick_targets import (
    index_targets,
    sink_targets,
    source_targets,
    steps_ahead,
)
from reclock.protocol.compute import Emitted
from reclock.runtime.environment import Environment
from reclock.runtime.stores import Stores
from reclock.tracing import span

_SETTLE_INTERVAL_S = 0.05
"""How often `settle` asks whether it is over."""


def migrate(home: Path | str | None) -> int:
    """Initialise or upgrade the catalog if necessary, else join it. Returns the epoch."""
    with Environment.initialise(home) as environment:
        return environment.stores.leadership.epoch


def allocate(environment: Environment, *, at: int | None = None) -> Timestamp:
    """The tick's write timestamp. One that is set by hand must lie in ``(ReadTs, now]``, else this
    raises ``TimestampNotAllowed``. Raises ``EnvironmentIsCopy``."""
    stores = environment.stores
    stores.require_no_copy()
    environment.control_plane.await_storage(stores.planner_catalog())
    if at is None:
        return stores.oracle.write_ts(EPOCH_MS)
    read_ts, now = stores.oracle.read_ts(EPOCH_MS), stores.clock()
    if not read_ts < at <= now:
        raise TimestampNotAllowed(at, read_ts=read_ts, now=now)
    return Timestamp(at)


@dataclass(slots=True)
class TickRun:
    """A tick while it runs: what it was asked for, then what its stages found and did."""

    environment: Environment
    owner: str
    only: Sequence[str] | None
    at: int | None = None
    patience_s: float | None = None
    """How long it waits for sources, and then for clusters and for sinks, that do not answer."""
    is_last: bool = False
    """Whether it waits for clusters and sinks without end, since no later tick reports them."""
    time: Timestamp = MINIMUM
    specs: Mapping[GlobalId, SourceSpec] = field(default_factory=dict)
    ingested: dict[GlobalId, IngestReport] = field(default_factory=dict)
    """The reports of the ingestions that have finished without a failure."""
    finished: tuple[str, ...] = ()
    """The sources whose ingestion has finished."""
    audited: tuple[AuditReport, ...] = ()
    published: PublishReport | None = None
    refreshed: tuple[RefreshReport, ...] = ()
    emitted: tuple[Emitted, ...] = ()
    failures: list[TickFailure] = field(default_factory=list)

    @property
    def finish_patience_s(self) -> float | None:
        return None if self.is_last else self.patience_s

    @property
    def through(self) -> Timestamp:
        """The newest time that is published."""
        assert self.published is not None
        return Timestamp(self.published.upper - 1)

    def walk(self, stages: Sequence[TickStage]) -> TickReport:
        """Run these stages, in order."""
        with span("tick", owner=self.owner):
            for stage in stages:
                with span(stage.name), bound_contextvars(**self._log_context()):
                    stage.run(self)
        assert self.published is not None
        return TickReport(
            self.time,
            tuple(spec.name for spec in self.specs.values()),
            tuple(self.ingested.values()),
            self.audited,
            self.published,
            self.refreshed,
            self.emitted,
            tuple(self.failures),
        )

    def _log_context(self) -> dict[str, Timestamp]:
        """What log lines of a stage have in addition: the tick's time, once it is allocated."""
        return {} if self.time == MINIMUM else {"tick": self.time}

    def take(self, outcomes: Mapping[GlobalId, IngestReport | TickFailure]) -> None:
        """Go on with the sources whose ingestions ended so."""
        self.finished = tuple(self.specs[id].name for id in outcomes)
        for id, outcome in outcomes.items():
            if isinstance(outcome, TickFailure):
                self.failures.append(outcome)
                continue
            self.ingested[id] = outcome
        for id, report in self.ingested.items():
            for entry, error in stalled_outputs(self.environment.stores, self.specs[id], report):
                self.failures.append(TickFailure.of(str(entry.name), error))


@dataclass(frozen=True, slots=True)
class TickStage:
    """A stage of a tick: what it does, and, without doing anything, to what: ``targets`` has the
    names of sources, of clusters with their indexes, or of sinks."""

    name: str
    does: str
    run: Callable[[TickRun], None]
    targets: Callable[[Stores, Sequence[str] | None], list[str]]


def _allocate(tick: TickRun) -> None:
    tick.time = allocate(tick.environment, at=tick.at)


def _ingest(tick: TickRun) -> None:
    environment = tick.environment
    readiness.retry_unready(environment)
    tick.specs = {spec.id: spec for spec in ticking_sources(environment, tick.only)}
    pool = environment.runtime.ingestions

    def attempt(spec: SourceSpec) -> IngestReport | TickFailure:
        try:
            with span("source", name=spec.name, at=tick.time):
                return ingest_spec(environment, spec, tick.time, tick.owner)
        except ReclockError as error:  # one source's trouble is not the others'
            return TickFailure.of(spec.name, error)

    for spec in tick.specs.values():
        pool.start(spec.id, partial(attempt, spec))
    tick.take(pool.take(tick.specs, patience_s=tick.patience_s))


def _audit(tick: TickRun) -> None:
    tick.audited = tuple(audit(tick.environment, tick.finished, owner=tick.owner))


def _publish(tick: TickRun) -> None:
    idle = [
        id
        for id, report in tick.ingested.items()
        if report.state is IngestState.IDLE and report.at >= tick.time
    ]
    tick.published = publish(
        tick.environment, tick.finished, tick.time, owner=tick.owner, idle=idle
    )
    tick.failures += tick.published.failed


def _refresh(tick: TickRun) -> None:
    work = {
        cluster: partial(refresh, tick.environment, cluster, tick.through, owner=tick.owner)
        for cluster in cluster_names(tick.environment.stores)
    }
    refreshes = tick.environment.runtime.refreshes
    tick.refreshed = tuple(refreshes.run_all(work, patience_s=tick.finish_patience_s))
    tick.failures += [failure for report in tick.refreshed for failure in report.failed]


def _emit(tick: TickRun) -> None:
    work = {
        sink: partial(attempt_emit, tick.environment, sink, tick.through, owner=tick.owner)
        for sink in sink_names(tick.environment)
    }
    emissions = tick.environment.runtime.emissions
    outcomes = emissions.run_all(work, patience_s=tick.finish_patience_s)
    registrations.begin(tick.environment)
    tick.emitted = tuple(outcome for outcome in outcomes if isinstance(outcome, Emitted))
    tick.failures += [outcome for outcome in outcomes if isinstance(outcome, TickFailure)]


ALLOCATE = TickStage(
    "allocate", "takes a write timestamp from the oracle", _allocate, lambda *_: []
)
INGEST = TickStage(
    "ingest", "probes, binds and stages each source, or goes on with its step", _ingest, steps_ahead
)
FINISH = (
    TickStage("audit", "checks the staged steps", _audit, source_targets),
    TickStage("publish", "commits and publishes what passed", _publish, source_targets),
    TickStage("refresh", "brings the indexes of each cluster up to date", _refresh, index_targets),
    TickStage("emit", "emits changes to sinks", _emit, sink_targets),
)
STAGES = (ALLOCATE, INGEST, *FINISH)
"""The stages of a tick, in order."""


def explain(stores: Stores, only: Sequence[str] | None = None) -> list[str]:
    """What a tick would do now, stage by stage, as lines. Writes nothing and asks no upstream."""
    return [
        line
        for number, stage in enumerate(STAGES, 1)
        for line in (
            f"{number}. {stage.name}: {stage.does}",
            *(f"   {target}" for target in stage.targets(stores, only)),
        )
    ]


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
    it is ready. So do the clusters that refresh indexes, and the sinks. Unless the tick
    ``is_last``, it does not wait for them: `settle` or a later tick that finds sources ready
    publishes them, and reports clusters and sinks. Without ``patience_s``, all sources are
    published together.
    """
    report = TickRun(environment, owner, only, at, patience_s, is_last).walk(STAGES)
    if is_last:
        for later in settle(environment, only=only, owner=owner):
            report = report.followed_by(later)
    openlineage.report(environment, report)
    return report


def settle(
    environment: Environment,
    *,
    only: Sequence[str] | None = None,
    owner: str,
    patience_s: float | None = None,
    is_over: Callable[[], bool] = lambda: False,
) -> Iterator[TickReport]:
    """Wait for the ingestions of earlier ticks, and publish each when it is ready; no longer than
    until ``is_over``."""
    ingestions = environment.runtime.ingestions
    if not ingestions.running():
        return
    specs = {spec.id: spec for spec in ticking_sources(environment, only)}
    while (late := ingestions.running() & specs.keys()) and not is_over():
        outcomes = ingestions.take(late, patience_s=_SETTLE_INTERVAL_S, waits_for_all=False)
        if outcomes:
            tick = TickRun(environment, owner, only, patience_s=patience_s, specs=specs)
            tick.take(outcomes)
            yield tick.walk((ALLOCATE, *FINISH))
