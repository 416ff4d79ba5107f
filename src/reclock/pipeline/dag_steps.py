"""The steps of the DAG ``reclock_tick``: plan, one source, all clusters, announce. Each answers
JSON, in a task or in a warm process. ``STEPS`` has them, and those of the other DAGs, by name.

``tell`` is given a line for each thing that a step has done, as it is done: they are the task's
log. Log lines of a plan and of the step of a source have the time of the run as ``tick``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from structlog.contextvars import bound_contextvars

from reclock.adapter.timestamps import readiness
from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.definitions.sources import SourceSpec
from reclock.errors import ClaimConflict, ReclockError
from reclock.ingest.report import IngestReport, IngestState
from reclock.pipeline import (
    backfill_steps,
    cluster_steps,
    maintenance_steps,
    registrations,
    source_steps,
)
from reclock.pipeline.announcements import Changes, unannounced
from reclock.pipeline.counts import counted
from reclock.pipeline.lineage import described
from reclock.pipeline.source_probes import busy_sources, probe_all, upstream_news
from reclock.pipeline.tick import allocate
from reclock.pipeline.tick_reports import AuditReport, ClusterReport, PublishReport, TickFailure
from reclock.runtime import task_replica
from reclock.runtime.environment import Environment

Tell = Callable[[str], None]

_SHOWN_PARTITIONS = 10
"""How many partitions of a step are listed."""


def plan(
    environment: Environment,
    *,
    sources: Sequence[str] | None,
    at: int | None,
    tell: Tell,
) -> list[dict[str, Any]]:
    """What the run works on: a source each, with the time of its step. Sources without news are
    complete up to that time afterwards; if no source has any, the one item has no name.

    A source that does not answer within ``tick_patience_ms`` is worked on, so that others do not
    wait for it; one on which a live process is at work is left to that. Raises ``UnknownRelation``,
    ``TimestampNotAllowed``.
    """
    time_of_run = allocate(environment, at=at)
    with bound_contextvars(tick=time_of_run):
        return _plan_at(environment, sources, time_of_run, tell)


def _plan_at(
    environment: Environment, sources: Sequence[str] | None, time_of_run: Timestamp, tell: Tell
) -> list[dict[str, Any]]:
    """See `plan`."""
    readiness.retry_unready(environment)
    specs = source_steps.ticking_sources(environment, sources)
    busy = busy_sources(environment, specs)
    for spec in specs:
        if spec.id in busy:
            tell(f"{spec.name}: left to {busy[spec.id]}, which is at work on it")
    outcomes = _probe([spec for spec in specs if spec.id not in busy], environment, time_of_run)
    idle = {spec.id: spec.name for spec in specs if outcomes.get(spec.id) is IngestState.IDLE}
    if idle or not specs:
        names = list(idle.values())
        source_steps.publish(environment, names, time_of_run, owner="plan", idle=idle)
    worked_on = [spec.name for spec in specs if spec.id not in busy and spec.id not in idle]
    tell(f"time {time_of_run}: news in {len(worked_on)} of {len(specs)} sources")
    for name in worked_on:
        tell(f"  {name}")
    return [{"source": name, "at": int(time_of_run)} for name in worked_on or [""]]


def _probe(
    specs: Sequence[SourceSpec], environment: Environment, at: Timestamp
) -> dict[GlobalId, IngestState]:
    """What each source has that answers in time. Those that fail are new: their own task says
    why. The late answer to an earlier probe says nothing about what has come since."""
    answers = probe_all(environment, specs, at, environment.runtime.probes)
    return {
        id: IngestState.NEW if isinstance(answer.outcome, ReclockError) else answer.outcome.state
        for id, answer in answers.items()
        if answer.at >= at
    }


def move_source(
    environment: Environment,
    *,
    source: str,
    at: int,
    owner: str,
    is_staged: bool = False,
    tell: Tell,
) -> dict[str, Any]:
    """Ingest, audit and publish one source, then refresh the indexes and emit the sinks that read
    it. With ``is_staged``, another process has ingested it.

    Answers what ``changed``, by the names of relations and sinks: how many rows or changes, and the
    ``upper`` below which they can be read; the page of the audit in the data ``docs``; what
    ``failed``; and the ``lineage`` of what changed. What failed holds up nothing else: a source
    that binds nothing is complete up to the time even so.
    """
    with bound_contextvars(tick=at):
        step = _SourceStep(environment, source, at, owner, tell)
        has_step, idle = (True, frozenset[GlobalId]()) if is_staged else step.ingest()
        if has_step and not step.failed:
            step.audit()
        published = step.publish(idle)
        if published.rows:
            step.refresh_dependents(published.upper - 1)
        return {
            "changed": step.changed,
            "docs": step.docs,
            "failed": _as_json(step.failed),
            "lineage": _lineage(environment, step.changed),
        }


@dataclass(slots=True)
class _SourceStep:
    """The work of `move_source` on one source, and what has come of it so far."""

    environment: Environment
    source: str
    at: int
    owner: str
    tell: Tell
    failed: list[TickFailure] = field(default_factory=list)
    changed: dict[str, Changes] = field(default_factory=dict)
    docs: str | None = None

    def ingest(self) -> tuple[bool, frozenset[GlobalId]]:
        """Whether a step waits for its audit; the source's id if the upstream had nothing new at
        the time of the run."""
        with _recorded(self.failed, self.source, self.tell), _timed(self.tell) as report_line:
            report = source_steps.ingest(self.environment, self.source, self.at, owner=self.owner)
            stores = self.environment.stores
            spec = next(iter(source_steps.existing_sources(stores, [self.source])), None)
            report_line(_ingest_line(report, spec))
            if spec is not None:
                stalled = source_steps.stalled_outputs(stores, spec, report)
                self.failed += [TickFailure.of(str(entry.name), error) for entry, error in stalled]
            is_idle = report.state is IngestState.IDLE and report.at >= self.at
            has_step = report.state in (IngestState.STAGED, IngestState.BLOCKED)
            return has_step, frozenset([spec.id] if spec is not None and is_idle else [])
        return False, frozenset()

    def audit(self) -> None:
        with _recorded(self.failed, self.source, self.tell), _timed(self.tell) as report_line:
            for audit in source_steps.audit(self.environment, [self.source], owner=self.owner):
                self.docs = audit.docs
                report_line(_audit_line(audit))
                if audit.error is not None:
                    self.failed.append(TickFailure.of(self.source, audit.error))

    def publish(self, idle: frozenset[GlobalId]) -> PublishReport:
        with _timed(self.tell) as report_line:
            published = source_steps.publish(
                self.environment, [self.source], self.at, owner=self.owner, idle=idle
            )
            for name, rows in published.rows.items():
                report_line(f"published {counted(rows, 'row')} of {name} below {published.upper}")
                self.changed[name] = {"upper": int(published.upper), "rows": rows}
        known = {failure.sqlstate for failure in self.failed}
        self.failed += [failure for failure in published.failed if failure.sqlstate not in known]
        return published

    def refresh_dependents(self, through: int) -> None:
        """Refresh the indexes and emit the sinks that read the source. A failure of one is only
        told: nothing is wrong with the source, and the step of the clusters fails for it."""
        attended = task_replica.attended(self.environment)
        by = f"{self.owner} {self.source}"
        with _timed(self.tell) as report_line:
            for report in cluster_steps.refresh_dependents(
                self.environment, self.source, through, clusters=attended, owner=by
            ):
                self.changed |= _changed(self.environment, report, report_line)
                for failure in report.failed:
                    self.tell(
                        f"{failure.name} failed, and is tried again with all clusters: "
                        f"{failure.message}"
                    )


def work_clusters(environment: Environment, *, owner: str, tell: Tell) -> dict[str, Any]:
    """Bring every index and sink up to what can be read now, or as far as its inputs are complete.

    Answers what ``failed``, and the ``lineage``, as `move_source` does, the ``uppers`` of all
    indexes and sinks by name, and the jobs to be ``submitted`` for clusters whose replicas nobody
    sees to (see ``reclock.runtime.task_replica``).
    """
    at = environment.stores.oracle.read_ts(EPOCH_MS)
    uppers: dict[str, int] = {}
    changed: dict[str, Changes] = {}
    failed: list[TickFailure] = []
    environment.stores.require_no_copy()
    cluster_steps.complete_tables(environment.stores, at)
    clusters, submitted = _clusters_with_work(environment, at, owner)
    if not clusters and not submitted:
        tell("no cluster has an index or a sink")
    for cluster in clusters:
        with _timed(tell) as report_line:
            refreshed = cluster_steps.refresh(
                environment, cluster, at, owner=owner, is_patient=True
            )
            sinks = cluster_steps.sink_names(environment, [cluster])
            emitted, stalled = cluster_steps.emit_all(
                environment, sinks, at, owner=owner, is_patient=True
            )
            report = ClusterReport(refreshed.indexes, emitted, refreshed.failed + stalled)
            changed |= _changed(environment, report, report_line)
        uppers |= {index.index: int(index.upper) for index in report.indexes}
        uppers |= {sink.sink: int(sink.upper) for sink in report.emitted}
        failed += report.failed
    registrations.begin(environment)
    if clusters and not changed and not failed:
        tell("all indexes and sinks are up to date")
    return {
        "uppers": uppers,
        "submitted": submitted,
        "failed": _as_json(failed),
        "lineage": _lineage(environment, changed),
    }


def _clusters_with_work(
    environment: Environment, at: int, owner: str
) -> tuple[list[str], list[dict[str, object]]]:
    """The clusters that have an index or a sink: those that work for any process, and the jobs to
    be submitted for the others."""
    catalog = environment.stores.planner_catalog()
    used = {index.cluster_id for index in catalog.indexes()}
    with_work = [
        name
        for name, id in sorted(catalog.clusters.items(), key=lambda cluster: cluster[1])
        if id in used or cluster_steps.sink_names(environment, [name])
    ]
    attended = [name for name in task_replica.attended(environment) if name in with_work]
    others = [name for name in catalog.clusters if name not in with_work]
    submitted = task_replica.submissions(environment, but=[*attended, *others], at=at, owner=owner)
    return attended, submitted


def announce(
    environment: Environment, *, announced: Mapping[str, int], tell: Tell
) -> dict[str, Any]:
    """What ``changed`` beyond the positions ``announced``, by the names of relations and sinks, and
    the ``positions`` after that."""
    changed, positions = unannounced(environment, announced)
    for name, changes in changed.items():
        tell(f"{name}: {counted(changes['rows'], 'change')} below {changes['upper']}")
    if not changed:
        tell("nothing has changed")
    return {"changed": changed, "positions": positions}


STEPS: Mapping[str, Callable[..., Any]] = {
    "plan": plan,
    "source": move_source,
    "clusters": work_clusters,
    "announce": announce,
    "upstream news": upstream_news,
    "sweep": maintenance_steps.sweep,
    "maintained groups": maintenance_steps.list_groups,
    "maintain": maintenance_steps.maintain,
    "record storage usage": maintenance_steps.record_storage_usage,
    "compact catalog": maintenance_steps.compact_catalog,
    "backfill sources": backfill_steps.list_sources,
    "backfill turn": backfill_steps.is_next,
    "backfill": backfill_steps.fill,
}


# --- lines of the report ---


@contextmanager
def _timed(tell: Tell) -> Iterator[Tell]:
    """In the block, each line ends with the seconds since the line before."""
    began = time.perf_counter()

    def report_line(line: str) -> None:
        nonlocal began
        now = time.perf_counter()
        tell(f"{line} ({now - began:.2f} s)")
        began = now

    yield report_line


@contextmanager
def _recorded(failed: list[TickFailure], name: str, tell: Tell) -> Iterator[None]:
    """An error of the block is one of ``failed``, and ends the block."""
    try:
        yield
    except ClaimConflict as conflict:
        tell(f"another process took it over: {conflict.detail or conflict.message}")
    except ReclockError as error:
        failed.append(TickFailure.of(name, error))


def _ingest_line(report: IngestReport, spec: SourceSpec | None) -> str:
    match report.state:
        case IngestState.BUSY:
            return f"{report.claimed_by}; that process publishes it"
        case IngestState.IDLE:
            return "the upstream has nothing new"
        case IngestState.WAITING:
            reasons = {str(reason) for reason in report.waiting.values()}
            return f"the upstream cannot begin yet: {'; '.join(reasons)}"
        case _:
            unit = spec.connector.reclocking.counted if spec is not None else "offsets"
            given_up = (
                f"; gave up {counted(len(report.rejected), 'record')} that did not decode"
                if report.rejected
                else ""
            )
            return _step_line(report, unit) + given_up


def _step_line(report: IngestReport, unit: str) -> str:
    shown = report.bindings[:_SHOWN_PARTITIONS]
    partitions = ", ".join(f"{name} +{count:,}".lstrip() for name, count in shown)
    more_partitions = (
        f" and {more} more" if (more := len(report.bindings) - _SHOWN_PARTITIONS) > 0 else ""
    )
    return (
        f"bound {report.size:,} {unit} of {counted(len(report.bindings), 'partition')} "
        f"at {report.at}, {counted(report.rows, 'row')}: {partitions}{more_partitions}"
    )


def _audit_line(audit: AuditReport) -> str:
    outcome = "passed" if audit.error is None else f"failed: {', '.join(audit.error.checks)}"
    waived = f"; waived: {', '.join(audit.waived)}" if audit.waived else ""
    docs = f"; data docs: {audit.docs}" if audit.docs else ""
    return f"audit {outcome}{waived}{docs}"


def _changed(environment: Environment, report: ClusterReport, tell: Tell) -> dict[str, Changes]:
    """By name, the views whose indexes have changed, and the sinks."""
    catalog = environment.stores.planner_catalog()
    views = {
        str(index.name): str(entry.name)
        for index in catalog.indexes()
        if (entry := catalog.entry(index.on)) is not None
    }
    changed: dict[str, Changes] = {}
    for index in report.indexes:
        if index.updates or index.how:
            tell(
                f"refreshed {index.index} below {index.upper}: "
                f"{counted(index.updates, 'update')}, {index.how or 'unchanged'}"
            )
        if index.updates and index.index in views:
            changed[views[index.index]] = {"upper": int(index.upper), "rows": index.updates}
    totals = _sink_totals(environment) if any(sink.changes for sink in report.emitted) else {}
    for sink in report.emitted:
        if sink.commits:
            changes = counted(sink.changes, "change")
            tell(f"emitted {changes}, {counted(sink.bytes, 'byte')} to {sink.sink}")
        if sink.changes:
            changed[sink.sink] = {
                "upper": int(sink.upper),
                "rows": sink.changes,
                "total": totals.get(sink.sink, sink.changes),
            }
    return changed


def _sink_totals(environment: Environment) -> dict[str, int]:
    """By name, how many changes each sink has emitted."""
    names: dict[str, str] = {
        sink.id: str(sink.name) for sink in environment.stores.planner_catalog().sinks()
    }
    return {
        names[total.object_id]: total.updates
        for total in environment.stores.statistics.get_all()
        if total.object_id in names
    }


def _lineage(environment: Environment, changed: Mapping[str, Changes]) -> list[dict[str, Any]]:
    return described(environment, {name: changes["rows"] for name, changes in changed.items()})


def _as_json(failed: Sequence[TickFailure]) -> list[Mapping[str, Any]]:
    return [asdict(failure) for failure in failed]
