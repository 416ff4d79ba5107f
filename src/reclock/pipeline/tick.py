"""The steps of a tick. ``reclock tick`` runs them in one process, the DAG each in a task, a job one of them in spark-submit.

Every step is idempotent and durable before the next; any process may do any of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import structlog

from reclock.adapter.statements.sinks import named_sink, sinks
from reclock.adapter.statements.sources.decisions import has_gaps
from reclock.adapter.statements.sources.specs import source_specs
from reclock.adapter.timestamps import readiness
from reclock.adapter.transaction import cleanup
from reclock.algebra.ids import TABLES, GlobalId
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.connectors.connector import RESTART_HINT
from reclock.connectors.factory import open_connector
from reclock.consensus.objects.statistics import Moved
from reclock.controllers.implied import is_dropped, sink_spec
from reclock.definitions.sources import SourceSpec
from reclock.errors import (
    AuditFailed,
    ClaimConflict,
    InternalError,
    OutputFailed,
    ReclockError,
    SourceError,
    TimestampNotAllowed,
    UnknownObject,
    UnknownRelation,
    UpperMismatch,
)
from reclock.ingest.audit import AuditCase, conclude_audit, open_audit
from reclock.ingest.commit import commit_and_publish
from reclock.ingest.difference import Engines
from reclock.ingest.payload import Step
from reclock.ingest.report import IngestReport, IngestState
from reclock.ingest.step import ingest as ingest_source
from reclock.pipeline.tick_reports import AuditReport, ClusterReport, PublishReport, RefreshReport, TickFailure, TickReport
from reclock.plan.relational import Plan, collections
from reclock.protocol.compute import Emit, Emitted, Refresh, Refreshed
from reclock.quality.results import AuditResult
from reclock.runtime.environment import Environment
from reclock.sql.catalog.entries import Entry

log = structlog.get_logger(__name__)

Done = TypeVar("Done")

_SHOWN_NAMES = 10
"""How many names of given up objects a status shows."""

_ATTEMPTS = 5
"""How often a source takes a newer time within one tick."""

_POLL_S = 0.2


def migrate(home: Path | str | None) -> int:
    """Initialise or upgrade the catalog if that is needed, else join it. Answers the epoch."""
    with Environment.initialise(home) as environment:
        return environment.stores.leadership.epoch


def allocate(environment: Environment, *, at: int | None = None) -> Timestamp:
    """The tick's write timestamp. One given by hand must lie in ``(ReadTs, now]``: raises ``TimestampNotAllowed``."""
    environment.control_plane.await_storage(environment.stores.planner_catalog())
    if at is None:
        return environment.stores.oracle.write_ts(EPOCH_MS)
    read_ts, now = environment.stores.oracle.read_ts(EPOCH_MS), environment.stores.clock()
    if not read_ts < at <= now:
        raise TimestampNotAllowed(at, read_ts=read_ts, now=now)
    return Timestamp(at)


def source_names(environment: Environment, only: Sequence[str] | None = None) -> list[str]:
    """The full names of all sources, or of those asked for, without those whose history is being given. Raises
    ``UnknownRelation``."""
    return [spec.name for spec in _ticking(environment, only)]


def _ticking(environment: Environment, only: Sequence[str] | None) -> list[SourceSpec]:
    environment.control_plane.await_storage(environment.stores.planner_catalog())
    backfilled = environment.stores.frontiers.backfilled()
    return [spec for spec in source_specs(environment, only) if spec.id not in backfilled]


def _still_there(environment: Environment, names: Sequence[str]) -> list[SourceSpec]:
    """Those that were not dropped since the tick began."""
    try:
        return source_specs(environment, names)
    except (UnknownObject, UnknownRelation):
        if len(names) == 1:
            return []
    found = [spec for name in names for spec in _still_there(environment, [name])]
    return list({spec.id: spec for spec in found}.values())


def cluster_names(environment: Environment) -> list[str]:
    """The clusters of the catalog, by id."""
    clusters = environment.stores.catalog.sync().clusters.values()
    return [cluster.name for cluster in sorted(clusters, key=lambda cluster: cluster.id)]


def sink_names(environment: Environment, clusters: Sequence[str] | None = None, *, over: str | None = None) -> list[str]:
    """The full names of all sinks, or of those in ``clusters``; or only those that read the frontier group ``over``."""
    catalog = environment.stores.planner_catalog()
    environment.control_plane.await_storage(catalog)
    wanted = {id for name, id in catalog.clusters.items() if clusters is None or name in clusters}
    return [
        str(sink.name)
        for sink in sinks(catalog)
        if sink.cluster_id in wanted and (over is None or _reads(sink_spec(catalog, sink.id).plan, over))
    ]


def ingest(environment: Environment, source: str, at: int, *, owner: str, is_history: bool = False) -> IngestReport:
    """Bring one source to a staged step at ``at``, or go on with the one that was left. Raises ``SourceError`` if it stalls.
    With ``is_history`` it binds what the upstream had before ``at``, and takes no newer time.

    The source's status says so either way. Any other exception becomes an ``InternalError`` of this source.
    """
    readiness.retry_unready(environment)
    [spec] = source_specs(environment, [source])
    return _ingest(environment, spec, Timestamp(at), owner, is_history)


def _ingest(environment: Environment, spec: SourceSpec, at: Timestamp, owner: str, is_history: bool = False) -> IngestReport:
    try:
        report = _ingest_in_time(environment, spec, at, owner, is_history)
    except UpperMismatch:
        raise  # it is moved further and further by others: nothing is wrong with the source
    except Exception as failure:  # the edge of the loop over sources
        error = _error_of(environment, failure, f'source "{spec.name}"')
        _record_stall(environment, *spec.all_ids, error=error)
        raise error from failure
    for id in spec.all_ids if report.state is not IngestState.BLOCKED else ():
        waits_for = report.waiting.get(id)
        if id not in report.waiting:
            detail, hint = _given_up(report.abandoned)
            environment.stores.statuses.record(id, "running", detail=detail, hint=hint, at=environment.stores.clock())
        elif isinstance(waits_for, str):
            environment.stores.statuses.record(id, "starting", detail=waits_for, at=environment.stores.clock())
    for entry, lost in _lost(environment, spec, report):
        _record_stall(environment, entry.id, error=lost)
    catalog = environment.stores.planner_catalog()
    for output in report.revived:
        if (revived := catalog.kept_in(spec.output(output))) is not None:
            environment.stores.statuses.record(revived.id, "running", at=environment.stores.clock())
    return report


def _given_up(names: Sequence[str]) -> tuple[str | None, str | None]:
    """The detail and the hint of the status of a source that runs without some of its objects."""
    if not names:
        return None, None
    shown = ", ".join(f'"{name}"' for name in names[:_SHOWN_NAMES])
    others = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return f"given up, nothing more is read of: {shown}{others}", RESTART_HINT


def _lost(environment: Environment, spec: SourceSpec, report: IngestReport) -> list[tuple[Entry, SourceError]]:
    """The subsources of which nothing is known from the step on, and the guests that cannot begin."""
    catalog = environment.stores.planner_catalog()
    found: list[tuple[Entry | None, SourceError]] = [
        (catalog.kept_in(spec.output(output)), OutputFailed(failed.message, detail=failed.detail))
        for output, failed in report.failed
    ]
    found += [(catalog.entry(guest), error) for guest, error in report.waiting.items() if isinstance(error, SourceError)]
    return [(entry, error) for entry, error in found if entry is not None]


def _ingest_in_time(environment: Environment, spec: SourceSpec, at: Timestamp, owner: str, is_history: bool) -> IngestReport:
    """At ``at``, or at a newer time if a reader of what was applied since, or another tick, has moved the idle source past it."""
    settings = environment.stores.settings
    engines = Engines(
        lambda: environment.runtime.engines.spark(pool=spec.id),
        lambda: environment.runtime.engines.small,
        settings.spark_threshold_bytes,
    )
    for _ in range(_ATTEMPTS):
        try:
            return ingest_source(
                spec,
                at,
                owner,
                frontiers=environment.stores.frontiers,
                lake=environment.stores.lake,
                connector=open_connector(spec, environment.runtime.connection_context),
                engines=engines,
                lease_ms=settings.claim_lease_ms,
                is_history=is_history,
                has_gaps=lambda: has_gaps(environment, spec.id),
                is_wanted=lambda: not is_dropped(environment.stores.catalog.sync(), spec.id),
                restarts=lambda: environment.stores.restarts.of(spec.id),
            )
        except UpperMismatch as passed:
            if is_history:
                raise
            mismatch = passed
            at = environment.stores.oracle.write_ts(EPOCH_MS)
    raise mismatch


def audit(environment: Environment, sources: Sequence[str], *, owner: str) -> list[AuditReport]:
    """Check every staged step of ``sources`` in one pass. What failed is in its claim and in the source's status."""
    frontiers, lease_ms = environment.stores.frontiers, environment.stores.settings.claim_lease_ms
    claimed = {group for group, frontier in frontiers.get_all().items() if frontier.claim is not None}
    specs = [spec for spec in _still_there(environment, sources) if spec.id in claimed]
    found = (open_audit(spec, owner, frontiers=frontiers, lake=environment.stores.lake, lease_ms=lease_ms) for spec in specs)
    cases = [case for case in found if case is not None]
    if not cases:
        return []
    from reclock.quality.audit import audit as check

    home = environment.stores.settings.home
    results = check(
        [case.slice for case in cases],
        docs_root=home / "quality",
        suites=home / "expectations",
        waived={case.source.name: frozenset(case.step.decisions.waive) for case in cases},
    )
    return [_conclude(environment, case, result) for case, result in zip(cases, results, strict=True)]


def _conclude(environment: Environment, case: AuditCase, result: AuditResult) -> AuditReport:
    failed = [*result.names("failed"), *result.names("waived")]
    try:
        step = conclude_audit(case, failed=failed, report={"docs": result.docs})
    except ClaimConflict:
        # Somebody decided about the step meanwhile: it is audited again at the next tick.
        return AuditReport(case.source.name, case.step.at, False, (), (), result.docs)
    if step.blocking:
        details = "; ".join(f"{check.name}: {check.detail}" for check in result.checks if check.status == "failed")
        error = AuditFailed(case.source.name, list(step.blocking), detail=details)
        _record_stall(environment, *case.source.all_ids, error=error)
    return AuditReport(case.source.name, step.at, not step.blocking, step.blocking, tuple(result.names("waived")), result.docs)


def publish(environment: Environment, sources: Sequence[str], at: int, *, owner: str) -> PublishReport:
    """Commit what passed its audit, publish it with every idle source in one go, and let the oracle know.

    A source whose step did not pass stays claimed and is in ``failed`` or ``waiting``.
    """
    frontiers = environment.stores.frontiers
    standing = {group: frontier for group, frontier in frontiers.get_all().items() if frontier.claim is not None}
    specs = _still_there(environment, sources)
    published = commit_and_publish(
        [spec for spec in specs if spec.id in standing],
        Timestamp(at),
        owner,
        frontiers=frontiers,
        lake=environment.stores.lake,
        lease_ms=environment.stores.settings.claim_lease_ms,
        count=environment.stores.statistics.add,
    )
    frontiers.advance_idle([spec.id for spec in specs], published.upper)
    environment.stores.oracle.apply_write(EPOCH_MS, Timestamp(published.upper - 1))
    for spec in specs:
        if spec.name in published.steps:
            _acknowledge(environment, spec, published.steps[spec.name])
    cleanup.run_all(environment, is_patient=True)
    return PublishReport(
        Timestamp(at),
        published.upper,
        {name: step.rows for name, step in published.steps.items()},
        tuple(TickFailure.of(name, error) for name, error in published.failed.items()),
        published.waiting,
    )


def _acknowledge(environment: Environment, source: SourceSpec, step: Step) -> None:
    """Tell the upstream, which may be told again with the next step: failing to is no failure of the source."""
    try:
        open_connector(source, environment.runtime.connection_context).acknowledge(
            {own.partition: own.upper for own in step.increments}
        )
    except SourceError as error:
        log.warning("upstream was not told what is published", source=source.name, error=error.message, detail=error.detail)


def refresh(
    environment: Environment, cluster: str, at: int, *, owner: str, over: str | None = None, is_patient: bool = False
) -> RefreshReport:
    """Bring every index of ``cluster`` up to ``at``, or as far as its inputs are complete; or only those that read the frontier
    group ``over``. A cluster that was dropped has none.

    An index that another process refreshes is left to that process, and the report omits it. With ``is_patient`` it is first waited
    for, as long as a claim outlives a process that has died.
    """
    catalog = environment.stores.planner_catalog()
    if cluster not in catalog.clusters:
        return RefreshReport(cluster, (), ())
    environment.control_plane.await_storage(catalog)
    readiness.retry_unready(environment)
    assert catalog.snapshot is not None
    controller = environment.control_plane.compute_controller(catalog.clusters[cluster])
    _complete_tables(environment, Timestamp(at))
    reports: list[Refreshed] = []
    failures: list[TickFailure] = []
    for index in controller.dataflows():
        if not _reads(index.plan, over):
            continue
        command = Refresh(index.id, Timestamp(at), owner, catalog.snapshot.content_upper)
        try:
            report = _attempt(environment, partial(controller.refresh, command), is_patient=is_patient)
            reports.append(report)
            if report.error is None:
                environment.stores.statuses.record(index.id, "running", at=environment.stores.clock())
            else:
                failures.append(TickFailure.of(index.name, error := report.error.error()))
                _record_status(environment, index.id, status="failing", error=error)
        except ClaimConflict as conflict:
            log.info("another process refreshes the index", index=index.name, detail=conflict.detail)
        except ReclockError as failure:  # one index's trouble is not the others'
            stall = readiness.about_object(failure, environment)
            failures.append(TickFailure.of(index.name, stall))
            _record_stall(environment, index.id, error=stall)
    return RefreshReport(cluster, tuple(reports), tuple(failures))


def _reads(plan: Plan, over: str | None) -> bool:
    """Whether the plan reads that frontier group; any plan, if none is named."""
    return over is None or any(id.group == over for id in collections(plan))


def _attempt(environment: Environment, work: Callable[[], Done], *, is_patient: bool) -> Done:
    """The result of ``work``. With ``is_patient`` it is repeated while another process is at work, until a claim that was there
    at the beginning can be taken over if its process has died."""
    deadline = time.monotonic() + (environment.stores.settings.claim_lease_ms / 1000 + 1 if is_patient else 0)
    while True:
        try:
            return work()
        except (ClaimConflict, UpperMismatch):
            if time.monotonic() >= deadline:
                raise
            time.sleep(_POLL_S)


def emit(environment: Environment, sink: str, at: int, *, owner: str, is_patient: bool = False) -> Emitted:
    """Have the sink's cluster bring its target up to ``at``, or as far as its inputs are complete. Its status says how that went.

    Raises ``SinkError`` if it stalls, and ``ClaimConflict`` if another process emits it, with ``is_patient`` not before a claim of
    one that has died would have ended; any other exception becomes an ``InternalError`` of this sink.
    """
    catalog = environment.stores.planner_catalog()
    environment.control_plane.await_storage(catalog)
    entry = named_sink(catalog, sink)
    _complete_tables(environment, Timestamp(at))
    assert catalog.snapshot is not None
    known_at = catalog.snapshot.content_upper
    controller = environment.control_plane.compute_controller(entry.cluster_id)
    try:
        controller.await_frontier(known_at)
        command = Emit(entry.id, Timestamp(at), owner, known_at)
        emitted = _attempt(environment, partial(controller.emit, command), is_patient=is_patient)
    except ClaimConflict:
        raise  # another process emits: nothing is wrong with the sink
    except Exception as failure:  # the edge of the loop over sinks
        error = _error_of(environment, failure, f'sink "{entry.name}"')
        _record_stall(environment, entry.id, error=error)
        raise error from failure
    environment.stores.statuses.record(entry.id, "running", at=environment.stores.clock())
    if emitted.commits:
        environment.stores.statistics.add({entry.id: Moved(Timestamp(emitted.upper - 1), 0, emitted.changes, emitted.bytes)})
    return emitted


def _complete_tables(environment: Environment, at: Timestamp) -> None:
    """The Delta tables of all tables hold everything up to ``at``."""
    if environment.stores.tables.log.known():
        environment.stores.frontiers.advance_idle([TABLES], Timestamp(min(at, environment.stores.oracle.read_ts(EPOCH_MS)) + 1))
        environment.stores.tables.apply(through=at)


def _error_of(environment: Environment, failure: Exception, what: str) -> ReclockError:
    """What people are told of a failure of the object ``what``."""
    if isinstance(failure, ReclockError):
        return readiness.about_object(failure, environment)
    return InternalError(f"{what} failed", detail=str(failure))


def _record_stall(environment: Environment, *ids: str, error: ReclockError) -> None:
    for id in ids:
        _record_status(environment, id, status="stalled", error=error)


def _record_status(environment: Environment, id: str, *, status: str, error: ReclockError) -> None:
    environment.stores.statuses.record(
        id, status, error=error.message, detail=error.detail, hint=error.hint, at=environment.stores.clock()
    )


def emit_all(
    environment: Environment, names: Sequence[str], at: int, *, owner: str, is_patient: bool = False
) -> tuple[tuple[Emitted, ...], tuple[TickFailure, ...]]:
    """See `emit`: what was emitted of these sinks, and which of them stall. A sink that another process emits is left to it."""
    emitted: list[Emitted] = []
    failures: list[TickFailure] = []
    for sink in names:
        try:
            emitted.append(emit(environment, sink, at, owner=owner, is_patient=is_patient))
        except ClaimConflict as conflict:
            log.info("another process emits the sink", sink=sink, detail=conflict.detail)
        except ReclockError as error:  # one sink's trouble is not the others'
            failures.append(TickFailure.of(sink, error))
    return tuple(emitted), tuple(failures)


def work(environment: Environment, cluster: str, at: int, *, owner: str) -> ClusterReport:
    """Refresh the indexes of ``cluster``, then emit its sinks."""
    refreshed = refresh(environment, cluster, at, owner=owner)
    emitted, stalled = emit_all(environment, sink_names(environment, [cluster]), at, owner=owner)
    return ClusterReport(refreshed.indexes, emitted, refreshed.failed + stalled)


def refresh_dependents(
    environment: Environment, source: str, at: int, *, clusters: Sequence[str], owner: str
) -> tuple[ClusterReport, ...]:
    """Refresh the indexes of ``clusters`` that read this source, and emit the sinks there that do: up to ``at``, or as far as their
    other inputs are complete. One report each cluster; none if the source was dropped."""
    reports = []
    for group in (spec.id for spec in _still_there(environment, [source])):
        for cluster in clusters:
            refreshed = refresh(environment, cluster, at, owner=owner, over=group, is_patient=True)
            names = sink_names(environment, [cluster], over=group)
            emitted, stalled = emit_all(environment, names, at, owner=owner, is_patient=True)
            reports.append(ClusterReport(refreshed.indexes, emitted, refreshed.failed + stalled))
    return tuple(reports)


def run(
    environment: Environment,
    *,
    only: Sequence[str] | None = None,
    at: int | None = None,
    owner: str,
    patience_s: float | None = None,
    is_last: bool = True,
) -> TickReport:
    """A whole tick in this process.

    Sources move at their own pace: what is ready after ``patience_s`` is published, and the indexes and sinks over it go on,
    while other sources still read; each of those is published when it is ready. Unless the tick ``is_last``, it does not wait
    for them: they are published by the first later tick that finds them ready. Without ``patience_s`` all are published together.
    """
    time = allocate(environment, at=at)
    readiness.retry_unready(environment)
    specs = {spec.id: spec for spec in _ticking(environment, only)}
    pool = environment.runtime.ingestions

    def attempt(spec: SourceSpec) -> IngestReport | TickFailure:
        try:
            return _ingest(environment, spec, time, owner)
        except ReclockError as error:  # one source's trouble is not the others'
            return TickFailure.of(spec.name, error)

    for spec in specs.values():
        pool.start(spec.id, partial(attempt, spec))
    report = _finish(environment, specs, pool.take(specs, patience_s=patience_s), time, owner)
    if is_last:
        for later in settle(environment, only=only, owner=owner):
            report = report.followed_by(later)
    return report


def settle(environment: Environment, *, only: Sequence[str] | None = None, owner: str) -> list[TickReport]:
    """Wait for the ingestions that earlier ticks have started, and publish each when it is ready."""
    specs = {spec.id: spec for spec in _ticking(environment, only)}
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
    """Audit and publish the sources whose ingestion has finished, and let indexes and sinks follow."""
    names = [specs[id].name for id in outcomes]
    failures = [outcome for outcome in outcomes.values() if isinstance(outcome, TickFailure)]
    ingested = {id: outcome for id, outcome in outcomes.items() if isinstance(outcome, IngestReport)}
    for id, outcome in ingested.items():
        failures += [TickFailure.of(str(entry.name), lost) for entry, lost in _lost(environment, specs[id], outcome)]
    audited = audit(environment, names, owner=owner)
    published = publish(environment, names, time, owner=owner)
    refreshed = [refresh(environment, cluster, published.upper - 1, owner=owner) for cluster in cluster_names(environment)]
    emitted, stalled = emit_all(environment, sink_names(environment), published.upper - 1, owner=owner)
    failures += [*published.failed, *(failure for report in refreshed for failure in report.failed), *stalled]
    steps = (tuple(ingested.values()), tuple(audited), published, tuple(refreshed), emitted)
    sources = tuple(spec.name for spec in specs.values())
    return TickReport(time, sources, *steps, tuple(failures))
