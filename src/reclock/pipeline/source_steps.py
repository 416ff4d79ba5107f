"""The steps of a tick that move sources: ingest, audit, publish.

Every step is idempotent and durable before the next; any process may do any of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

import structlog

from reclock.adapter.statements.sources.specs import source_specs
from reclock.adapter.timestamps import readiness
from reclock.adapter.transaction import cleanup
from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.catalog.objects import SkippedRange
from reclock.connectors.connector import END_RECORD_HINT, Skip, UnendedRecord, restart_hint
from reclock.connectors.factory import open_connector
from reclock.consensus.frontiers.groups import Frontiers
from reclock.controllers.implied import is_dropped
from reclock.definitions.connections import Connection
from reclock.definitions.sources import SourceSpec
from reclock.errors import (
    BadRecord,
    ClaimConflict,
    DecodeFailed,
    InvalidOption,
    NothingClaimed,
    OutputFailed,
    SourceError,
    UnknownObject,
    UnknownRelation,
    UpperMismatch,
    UpstreamUnavailable,
    about_source,
    quoted_name,
)
from reclock.ingest import payload
from reclock.ingest import step as ingestion
from reclock.ingest.audit import AuditCase, conclude_audit, open_audit
from reclock.ingest.commit import commit_and_publish
from reclock.ingest.engines import Engines
from reclock.ingest.payload import Phase, Step
from reclock.ingest.report import IngestReport, IngestState
from reclock.pipeline.counts import counted
from reclock.pipeline.object_status import error_of, record_running, record_stall
from reclock.pipeline.row_checks import row_checks
from reclock.pipeline.tick_reports import AuditReport, PublishReport, TickFailure
from reclock.quality.results import AuditResult
from reclock.runtime.environment import Environment
from reclock.runtime.stores import Stores
from reclock.sql.catalog.entries import Entry

_logger = structlog.get_logger(__name__)

_SHOWN_NAMES = 10
"""How many names of abandoned objects a status shows."""

_ATTEMPTS = 5
"""How often a source takes a newer time within one tick."""


def source_names(environment: Environment, only: Sequence[str] | None = None) -> list[str]:
    """The full names of all sources, or of those in ``only``, without those whose history is being
    backfilled. Raises ``UnknownRelation``."""
    return [spec.name for spec in ticking_sources(environment, only)]


def ticking_sources(environment: Environment, only: Sequence[str] | None) -> list[SourceSpec]:
    """See `source_names`."""
    environment.control_plane.await_storage(environment.stores.planner_catalog())
    return unawaited_sources(environment.stores, only)


def unawaited_sources(stores: Stores, only: Sequence[str] | None) -> list[SourceSpec]:
    """See `source_names`. Their collections may not exist yet."""
    specs = source_specs(stores, only)
    backfilled = stores.frontiers.backfilled() if specs else frozenset()
    return [spec for spec in specs if spec.id not in backfilled]


def existing_sources(stores: Stores, names: Sequence[str]) -> list[SourceSpec]:
    """Those of ``names`` that were not dropped since the tick began."""
    if not names:
        return []
    try:
        return source_specs(stores, names)
    except (UnknownObject, UnknownRelation):
        if len(names) == 1:
            return []
    specs = [spec for name in names for spec in existing_sources(stores, [name])]
    return list({spec.id: spec for spec in specs}.values())


def ingest(
    environment: Environment, source: str, at: int, *, owner: str, is_history: bool = False
) -> IngestReport:
    """Bring one source to a staged step at ``at``, or resume the step that an earlier tick left.
    Raises ``SourceError`` if the source stalls. With ``is_history`` it binds what the upstream had
    before ``at``, and takes no newer time.

    The source's status says so either way. Any other exception becomes an ``InternalError`` of this
    source.
    """
    readiness.retry_unready(environment)
    [spec] = source_specs(environment.stores, [source])
    return ingest_spec(environment, spec, Timestamp(at), owner, is_history)


def probe_spec(environment: Environment, spec: SourceSpec, at: Timestamp) -> IngestReport:
    """Whether `ingest` has anything to do for the source: ``NEW`` or ``IDLE``. The source's status
    says if it cannot be known, and why; raises as `ingest` does."""
    return ingest_spec(environment, spec, at, "", is_probe=True)


def ingest_spec(
    environment: Environment,
    spec: SourceSpec,
    at: Timestamp,
    owner: str,
    is_history: bool = False,
    *,
    is_probe: bool = False,
) -> IngestReport:
    """See `ingest` and `probe_spec`."""
    try:
        report = _ingest_rejecting(environment, spec, at, owner, is_history, is_probe)
    except UpperMismatch:
        raise  # others move its upper further and further: nothing is wrong with the source
    except Exception as failure:  # the edge of the loop over sources
        error = error_of(environment, failure, f"source {quoted_name(spec.name)}")
        if isinstance(error, UpstreamUnavailable):
            error.hint = error.hint or _retry_hint(spec)
        record_stall(environment.stores, *spec.all_ids, error=error)
        raise about_source(spec.name, error) from failure
    if report.state is not IngestState.NEW:
        _record_statuses(environment.stores, spec, report)
    return report


def _retry_hint(spec: SourceSpec) -> str:
    """What to do about an upstream that cannot be reached."""
    if not isinstance(getattr(spec.connector, "connection", None), Connection):
        return "the next tick tries again"
    return "the next tick tries again; if address or password changed, ALTER CONNECTION or ALTER SECRET"


def _record_statuses(stores: Stores, spec: SourceSpec, report: IngestReport) -> None:
    for id in spec.all_ids if report.state is not IngestState.BLOCKED else ():
        reason = report.waiting.get(id)
        if id not in report.waiting:
            parts = [_abandoned_detail(report.abandoned), _unended_detail(report.unended)]
            notices = [part for part in parts if part is not None]
            record_running(
                stores,
                id,
                detail="; ".join(detail for detail, _ in notices) or None,
                hint="; ".join(hint for _, hint in notices) or None,
            )
        elif isinstance(reason, str):
            stores.statuses.record(id, "starting", detail=reason, at=stores.clock())
    for entry, error in _failed_outputs(stores, spec, report):
        record_stall(stores, entry.id, error=error)
    catalog = stores.planner_catalog()
    for output in report.revived:
        if (revived := catalog.kept_in(spec.output(output))) is not None:
            record_running(stores, revived.id)


def _abandoned_detail(names: Sequence[str]) -> tuple[str, str] | None:
    """The detail and hint in the status of a source that runs without its abandoned objects."""
    if not names:
        return None
    shown = ", ".join(quoted_name(name) for name in names[:_SHOWN_NAMES])
    hint = restart_hint(*names[:_SHOWN_NAMES])
    others = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return f"given up, nothing more is read of: {shown}{others}", hint


def _unended_detail(records: Sequence[UnendedRecord]) -> tuple[str, str] | None:
    """The detail and hint in the status of a source whose objects end within a record."""
    if not records:
        return None
    shown = ", ".join(
        f"{quoted_name(record.partition)} from byte {record.lower} on, {counted(record.size, 'byte')}"
        for record in records[:_SHOWN_NAMES]
    )
    others = f" and {len(records) - _SHOWN_NAMES} more" if len(records) > _SHOWN_NAMES else ""
    return f"the last record waits for its end: {shown}{others}", END_RECORD_HINT


def stalled_outputs(
    stores: Stores, spec: SourceSpec, report: IngestReport
) -> list[tuple[Entry, SourceError]]:
    """The subsources that failed, and the guests that cannot begin, each with its error."""
    failed = _failed_outputs(stores, spec, report)
    return [(entry, about_source(spec.name, error)) for entry, error in failed]


def _failed_outputs(
    stores: Stores, spec: SourceSpec, report: IngestReport
) -> list[tuple[Entry, SourceError]]:
    catalog = stores.planner_catalog()
    errors: list[tuple[Entry | None, SourceError]] = [
        (catalog.kept_in(spec.output(output)), OutputFailed(failed.message, detail=failed.detail))
        for output, failed in report.failed
    ]
    errors += [
        (catalog.entry(guest), error)
        for guest, error in report.waiting.items()
        if isinstance(error, SourceError)
    ]
    return [(entry, error) for entry, error in errors if entry is not None]


def _ingest_rejecting(
    environment: Environment,
    spec: SourceSpec,
    at: Timestamp,
    owner: str,
    is_history: bool,
    is_probe: bool,
) -> IngestReport:
    """Ingest. Gives up records that do not decode, at most as many of a step as the source's
    limit."""
    rejected: tuple[BadRecord, ...] = ()
    while True:
        try:
            report = _ingest_at_possible_time(environment, spec, at, owner, is_history, is_probe)
        except DecodeFailed as failure:
            if is_probe or not _reject(environment.stores.frontiers, spec, failure):
                raise
            rejected += failure.records
            for record in failure.records:
                _logger.warning(
                    "a record that does not decode is given up",
                    source=spec.name,
                    place=record.place,
                    reason=record.reason,
                )
        else:
            return replace(report, rejected=rejected)


def _reject(frontiers: Frontiers, spec: SourceSpec, failure: DecodeFailed) -> bool:
    """Decide to give up the records of ``failure``, if the source's limit has room for all that the
    step gives up then. Returns whether it did."""
    claim = frontiers.get(spec.id).claim
    step = Step.from_payload(claim.payload) if claim is not None else None
    if step is None or step.phase is not Phase.BOUND or not failure.is_complete:
        return False
    if len(step.decisions.skip) + failure.count > spec.reject_limit:
        return False
    skips = [record.skip for record in failure.records]
    try:
        frontiers.decide(spec.id, lambda claimed: payload.skip(claimed, skips))
    except (NothingClaimed, InvalidOption):
        return False  # somebody else has gone on with the step
    return True


def _ingest_at_possible_time(
    environment: Environment,
    spec: SourceSpec,
    at: Timestamp,
    owner: str,
    is_history: bool,
    is_probe: bool,
) -> IngestReport:
    """Ingest at ``at``, or at a newer time if a reader or another tick has moved the idle source
    past it."""
    stores, runtime = environment.stores, environment.runtime
    settings = stores.settings
    for _ in range(_ATTEMPTS):
        try:
            return ingestion.ingest(
                spec,
                at,
                owner,
                frontiers=stores.frontiers,
                lake=stores.lake,
                connector=open_connector(spec, runtime.connection_context),
                engines=step_engines(environment, spec),
                lease_ms=settings.claim_lease_ms,
                is_history=is_history,
                record_skips=partial(_record_skips, stores),
                is_wanted=lambda: not is_dropped(stores.catalog.sync(), spec.id),
                restarts=lambda: stores.restarts.of(spec.id),
                is_probe=is_probe,
            )
        except UpperMismatch as passed:
            if is_history:
                raise
            mismatch = passed
            at = stores.oracle.write_ts(EPOCH_MS)
    raise mismatch


def step_engines(environment: Environment, spec: SourceSpec) -> Engines:
    """The engines for a step of the source in this process."""
    engines, settings = environment.runtime.engines, environment.stores.settings
    return Engines(
        lambda: engines.spark(pool=spec.id),
        lambda: engines.small,
        settings.spark_threshold_bytes,
        0 if engines.is_spark_application else settings.staging_threshold_bytes,
    )


def _record_skips(stores: Stores, source: GlobalId, skips: Sequence[Skip]) -> None:
    stores.catalog.add_skipped_ranges([SkippedRange(source, *skip) for skip in skips])


def audit(environment: Environment, sources: Sequence[str], *, owner: str) -> list[AuditReport]:
    """Check every staged step of ``sources`` in one pass. The failed checks are in the step's claim
    and in the source's status."""
    stores = environment.stores
    frontiers, lease_ms = stores.frontiers, stores.settings.claim_lease_ms
    specs = existing_sources(stores, sources)
    claimed = _claimed(stores, specs)
    cases = []
    for spec in specs:
        if spec.id in claimed:
            case = open_audit(spec, owner, frontiers=frontiers, lake=stores.lake, lease_ms=lease_ms)
            cases += [case] if case is not None else []
    if not cases:
        return []
    from reclock.quality import audit as checks

    checked_rows = [row_checks(environment, case) for case in cases]
    results = checks.audit(
        [case.slice for case in cases],
        docs_root=stores.settings.home / "quality",
        suites=stores.settings.home / "expectations",
        waived={case.source.name: frozenset(case.step.decisions.waive) for case in cases},
        row_checks={
            case.source.name: checked.results
            for case, checked in zip(cases, checked_rows, strict=True)
        },
    )
    reports = [
        _conclude(stores, case, result, checked.skips)
        for case, result, checked in zip(cases, results, checked_rows, strict=True)
    ]
    return [report for report in reports if report is not None]


def _claimed(stores: Stores, specs: Sequence[SourceSpec]) -> set[GlobalId]:
    """The ids of the sources that have a claim."""
    frontiers = stores.frontiers.get_all([spec.id for spec in specs]) if specs else {}
    return {spec.id for spec in specs if spec.id in frontiers and frontiers[spec.id].claim}


def _conclude(
    stores: Stores, case: AuditCase, result: AuditResult, skips: Mapping[str, Sequence[Skip]]
) -> AuditReport | None:
    """The report of an audit that counts: nobody decided about the step meanwhile."""
    name, waived = case.source.name, tuple(result.names("waived"))
    failed = [*result.names("failed"), *waived]
    details = {check.name: check.detail for check in result.checks if check.name in failed}
    try:
        report = {"docs": result.docs, "details": details, "skips": skips}
        step = conclude_audit(case, failed=failed, report=report)
    except ClaimConflict:
        return None  # the next tick audits the step again
    error = step.audit_failure(name) if step.blocking else None
    if error is not None:
        record_stall(stores, *case.source.all_ids, error=error)
    return AuditReport(name, step.at, error, waived, result.docs)


def publish(
    environment: Environment,
    sources: Sequence[str],
    at: int,
    *,
    owner: str,
    idle: Collection[GlobalId] = (),
) -> PublishReport:
    """Commit the steps that passed their audits, publish them with every idle source in one
    transaction, and apply the time to the oracle.

    The upstreams of the sources ``idle`` were asked at ``at`` or later, and had nothing new. A
    source whose step did not pass stays claimed, and is in ``failed`` or ``waiting``.
    """
    stores = environment.stores
    frontiers = stores.frontiers
    specs = existing_sources(stores, sources)
    claimed = _claimed(stores, specs)
    published = commit_and_publish(
        [spec for spec in specs if spec.id in claimed],
        Timestamp(at),
        owner,
        frontiers=frontiers,
        lake=stores.lake,
        record_skips=partial(_record_skips, stores),
        lease_ms=stores.settings.claim_lease_ms,
        count=stores.statistics.add,
    )
    frontiers.advance_idle(
        [spec.id for spec in specs], published.upper, probed=idle, probed_at=Timestamp(at)
    )
    stores.oracle.apply_write(EPOCH_MS, Timestamp(published.upper - 1))
    for spec in specs:
        if spec.name in published.steps:
            _acknowledge(environment, spec, published.steps[spec.name])
    cleanup.run_all(environment, is_patient=True)
    return PublishReport(
        Timestamp(at),
        published.upper,
        {name: step.rows for name, step in published.steps.items()},
        tuple(
            TickFailure.of(name, about_source(name, error))
            for name, error in published.failed.items()
        ),
        published.waiting,
    )


def _acknowledge(environment: Environment, source: SourceSpec, step: Step) -> None:
    """Acknowledge the published offsets upstream. A failure does not stall the source, because the
    next step acknowledges again."""
    connector = open_connector(source, environment.runtime.connection_context)
    try:
        connector.acknowledge(step.increments)
    except SourceError as error:
        _logger.warning(
            "upstream was not told what is published",
            source=source.name,
            error=error.message,
            detail=error.detail,
        )
