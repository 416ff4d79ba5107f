"""The ingestion step of one source: finish the claimed step, if there is one; then probe, claim,
bind, read and stage.

``reclock.ingest.advance`` decides the order; this module carries it out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.collections.lake import Lake
from reclock.connectors.connector import (
    UNENDED_MS,
    BlockedReason,
    Connector,
    FailsByOutput,
    HasUnendedRecords,
    SupportsRestart,
)
from reclock.consensus.frontiers.groups import Frontiers
from reclock.definitions.sources import SourceSpec
from reclock.errors import ClaimConflict, InternalError, SourceError, quoted_name
from reclock.ingest import effects, events
from reclock.ingest.advance import Goal, Ingestion, drive
from reclock.ingest.claim_effects import ClaimEffects, RecordSkips
from reclock.ingest.engines import Engines
from reclock.ingest.news import news_fingerprint
from reclock.ingest.report import IngestReport, IngestState
from reclock.ingest.source_collections import SourceCollections
from reclock.ingest.source_effects import SourceEffects


def ingest(
    source: SourceSpec,
    at: Timestamp,
    owner: str,
    *,
    connector: Connector,
    frontiers: Frontiers,
    lake: Lake,
    engines: Engines,
    lease_ms: int = 60_000,
    is_history: bool = False,
    record_skips: RecordSkips,
    is_wanted: Callable[[], bool] = lambda: True,
    restarts: Callable[[], Mapping[str, int]] = dict,
    is_probe: bool = False,
) -> IngestReport:
    """Bring the source to a staged step, at ``at`` or at the time of an earlier step. Nothing of it
    is visible yet.

    If an earlier step has passed its audit, only its publication is missing, and nothing new
    begins. Without new data upstream, nothing is claimed. ``owner`` names this writer. Two writers
    may call this at once: one of them gets ``BUSY``. With ``is_history`` the step binds only what
    the upstream had before its time.

    ``record_skips`` stores what an earlier step gives up before that step is committed.
    ``is_wanted`` says whether the source still exists, and ``restarts`` which readings were
    requested (``reclock.connectors.connector.SupportsRestart``). With ``is_probe`` the answer is
    ``NEW`` or ``IDLE``, and nothing is done.

    Raises a ``SourceError`` if the source stalls: the group stays claimed, and the next call
    continues. Raises ``UpperMismatch`` if the group was published beyond ``at`` meanwhile: take a
    newer time.
    """
    whole_connector = connector
    if isinstance(connector, FailsByOutput) and (
        failed := SourceCollections.open(lake, source).failed()
    ):
        connector = connector.without(failed)
    if isinstance(connector, SupportsRestart):
        connector = connector.restarting(restarts())
    with ClaimEffects(
        source, owner, frontiers=frontiers, lake=lake, lease_ms=lease_ms, record_skips=record_skips
    ) as claim:
        writer = SourceEffects(
            source, connector, whole_connector, claim, lake, engines, is_history, is_wanted, at
        )
        before = frontiers.get(source.id)
        started = events.Started(is_claimed=before.claim is not None)
        goal = Goal.PROBE if is_probe else Goal.STAGE
        ingestion, end = drive(Ingestion(source.id, source.name, at, goal), started, writer.perform)
    report = _report(source, ingestion, end)
    if report.state is IngestState.NEW:
        return replace(report, news=news_fingerprint(ingestion, before))
    if report.state is IngestState.WAITING:
        return report
    return _with_waiting(report, writer, SourceCollections.open(lake, source), ingestion)


def _report(source: SourceSpec, ingestion: Ingestion, end: effects.Final) -> IngestReport:
    """How the ingestion ended. Raises the error with which the source stalls."""
    at = ingestion.at
    match end:
        case effects.StallSource(error):
            raise error
        case effects.End(IngestState.WAITING, reason=reason):
            waiting = dict.fromkeys(source.all_ids, reason)
            return IngestReport(source.name, at, IngestState.WAITING, waiting=waiting)
        case effects.End(IngestState.BUSY, conflict=ClaimConflict() as conflict):
            holder = _holder(conflict, at)
            return IngestReport(source.name, at, IngestState.BUSY, claimed_by=holder)
        case effects.End(IngestState.NEW | IngestState.IDLE as state):
            return IngestReport(source.name, at, state)
        case effects.End():
            return IngestReport.of(source.name, ingestion.claimed_step)
    raise InternalError(f"the ingestion of {quoted_name(source.name)} ended with {end}")


def _with_waiting(
    report: IngestReport,
    writer: SourceEffects,
    collections: SourceCollections,
    ingestion: Ingestion,
) -> IngestReport:
    """The report with the partitions that are no longer read from this step on, the records that
    wait for their end, and the guests that have not begun. A guest without a collection is not known yet."""
    if isinstance(writer.connector, SupportsRestart):
        _, bound = collections.read_bound()
        step = ingestion.step.increments if ingestion.step is not None else ()
        bound = {**bound, **{part.partition: (part.upper, *part.evidence) for part in step}}
        report = replace(report, abandoned=tuple(writer.connector.abandoned_partitions(bound)))
        if isinstance(writer.connector, HasUnendedRecords):
            unended = writer.connector.listed_unended_records(bound, ())
            limit = writer.now - UNENDED_MS
            report = replace(
                report, unended=tuple(record for record in unended if record.written_at <= limit)
            )
    if not writer.source.guests:
        return report
    probed = ingestion.probed
    increments, blocked = (probed.increments, probed.blocked) if probed is not None else ((), {})
    begun_outputs = {*collections.read_bound()[1], *collections.begun_by(increments)}
    waiting: dict[GlobalId, BlockedReason | None] = {}
    for guest in writer.source.guests:
        outputs = [name for name, output in collections.outputs.items() if output.id.guest == guest]
        if not outputs or not begun_outputs.issuperset(outputs):
            reasons = [blocked[name] for name in outputs if name in blocked]
            errors = (reason for reason in reasons if isinstance(reason, SourceError))
            waiting[guest] = next(errors, next(iter(reasons), None))
    return replace(report, waiting=waiting)


def _holder(conflict: ClaimConflict, now: Timestamp) -> str:
    """The holder of the claim as text, such as ``claimed by tick-17, 40 s left``."""
    if conflict.owner is None or conflict.lease_until is None:
        return "claimed by another writer"
    return f"claimed by {conflict.owner}, {max(conflict.lease_until - now, 0) / 1000:.0f} s left"
