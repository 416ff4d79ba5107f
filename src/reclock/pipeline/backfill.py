"""Backfill: gives a source that was created ``WITH (START …)`` its history, interval by interval,
oldest first.

What the upstream had by the end of an interval, and no earlier interval has bound, is bound at that
end. So a read ``AS OF`` that time sees the upstream as it was then. Ticks and readers ignore the
source until every whole interval is done. Every step is idempotent: any process may run it, and
continue where another was killed. ``reclock backfill`` and the DAG run these steps, or ``rebuild``,
which reads again what is bound.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from reclock.adapter.statements.sources.specs import source_specs
from reclock.algebra.timestamps import Timestamp
from reclock.connectors.connector import HasHistory, SupportsRebuild
from reclock.connectors.factory import open_connector
from reclock.consensus.frontiers.groups import GroupFrontier
from reclock.definitions.sources import SourceSpec
from reclock.errors import BackfillRefused, ClaimConflict, SourceError, UpperMismatch
from reclock.failpoints import failpoint
from reclock.ingest.rebuild import Rebuild, Rebuilt
from reclock.ingest.report import IngestReport, IngestState
from reclock.ingest.source_collections import SourceCollections
from reclock.pipeline import source_steps
from reclock.runtime.environment import Environment

_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class BackfillInterval:
    """The times ``[lower, upper)``."""

    lower: Timestamp
    upper: Timestamp


class Outcome(StrEnum):
    """The result of backfilling an interval."""

    BOUND = "bound"
    """There were new rows, which are readable now."""
    EMPTY = "empty"
    """There were no new rows; the interval is readable now."""
    DONE = "done before"
    """The interval was backfilled before."""


@dataclass(frozen=True, slots=True)
class BackfillReport:
    """One interval of one source. ``is_over`` says whether ticks move the source from now on."""

    source: str
    interval: BackfillInterval
    outcome: Outcome
    rows: int
    is_over: bool


def intervals(lower: Timestamp, upper: Timestamp, every_ms: int) -> Iterator[BackfillInterval]:
    """The whole intervals of ``every_ms`` in ``[lower, upper)``, oldest first."""
    for begin in range(lower, upper - every_ms + 1, every_ms):
        yield BackfillInterval(Timestamp(begin), Timestamp(begin + every_ms))


def format_time(time: Timestamp) -> str:
    """The time in UTC, as ISO 8601 writes it."""
    return datetime.fromtimestamp(time / 1000, UTC).isoformat(
        timespec="milliseconds" if time % 1000 else "seconds"
    )


def sources(
    environment: Environment, only: Sequence[str] | None = None, *, by: Timestamp | None = None
) -> list[str]:
    """The full names of these sources, or of all sources in a backfill that begin at ``by`` at the
    latest. Raises ``UnknownRelation``."""
    environment.control_plane.await_storage(environment.stores.planner_catalog())
    specs = source_specs(environment.stores, only)
    if only is None:
        waiting = environment.stores.frontiers.backfilled()
        specs = [
            spec for spec in specs if spec.id in waiting and (by is None or spec.created_at <= by)
        ]
    return [spec.name for spec in specs]


def reached(environment: Environment, source: str) -> Timestamp:
    """The end of the source's last backfilled interval, or its START."""
    spec = _spec(environment, source)
    upper = environment.stores.frontiers.get(spec.id).upper
    return upper if upper == spec.start else Timestamp(upper - 1)


def is_next(environment: Environment, source: str, interval: BackfillInterval) -> bool:
    """Whether no interval is missing before this one."""
    return interval.lower <= reached(environment, source)


def run(
    environment: Environment, source: str, interval: BackfillInterval, *, owner: str
) -> BackfillReport:
    """Bind what the source's upstream had before the interval's end, at that end. Repeating it
    changes nothing.

    Raises ``BackfillRefused`` with the reason, having changed nothing, and a ``SourceError`` if the
    source stalls, as in a tick.
    """
    environment.stores.require_no_copy()
    spec = _spec(environment, source)
    connector = open_connector(spec, environment.runtime.connection_context)
    if not isinstance(connector, HasHistory):
        raise BackfillRefused(
            spec.name, "its upstream has no history", detail=spec.connector.lacks_history or None
        )
    at = interval.upper
    if at > environment.stores.clock():
        raise BackfillRefused(spec.name, f"the interval up to {at} is not over yet")
    is_waiting = spec.id in environment.stores.frontiers.backfilled()
    if is_waiting:
        _finish(environment, spec, owner)
    frontier = environment.stores.frontiers.get(spec.id)
    rows = 0
    if at < frontier.upper:
        _check_done(environment, spec, connector, frontier, at)
        outcome = Outcome.DONE
    elif not is_waiting:
        begin = "no START" if spec.start is None else "its whole history"
        raise BackfillRefused(spec.name, f"it has {begin}, and ticks go on from {frontier.upper}")
    elif not is_next(environment, source, interval):
        missing = reached(environment, source)
        raise BackfillRefused(
            spec.name,
            f"what lies between {missing} and {interval.lower} is missing",
            hint="backfill the oldest interval first",
        )
    else:
        report = _step(environment, spec, at, owner)
        if report.state is IngestState.BUSY:
            raise ClaimConflict(spec.name)
        rows = report.rows
        outcome = Outcome.EMPTY if report.state is IngestState.IDLE else Outcome.BOUND
    failpoint("backfill.before_advance")
    is_over = at + 1 >= frontier.upper and at + (at - interval.lower) > environment.stores.clock()
    if is_waiting:
        environment.stores.frontiers.advance_backfilled(spec.id, Timestamp(at + 1), is_over=is_over)
    return BackfillReport(spec.name, interval, outcome, rows, is_over)


def rebuild(environment: Environment, source: str) -> Rebuilt:
    """Rebuild the source's relations from its bindings: the same rows at the same times. Ticks and
    readers continue meanwhile.

    Raises ``BackfillRefused`` if its upstream keeps no history, and a ``SourceError`` if the
    upstream has changed. Nothing has changed then.
    """
    spec = _spec(environment, source)
    connector = open_connector(spec, environment.runtime.connection_context)
    if not isinstance(connector, SupportsRebuild):
        raise BackfillRefused(
            spec.name,
            "what was bound cannot be read again",
            detail=spec.connector.lacks_history or None,
        )
    skips = [
        (skipped.partition, skipped.lower, skipped.upper)
        for skipped in environment.stores.catalog.get_skipped_ranges()
        if skipped.source_id == spec.id
    ]
    work = Rebuild(
        spec,
        connector,
        environment.stores.frontiers,
        environment.stores.lake,
        source_steps.step_engines(environment, spec),
        environment.stores.clock,
        skips,
    )
    return work.run()


def _spec(environment: Environment, source: str) -> SourceSpec:
    """The source, once its collections exist."""
    environment.control_plane.await_storage(environment.stores.planner_catalog())
    [spec] = source_specs(environment.stores, [source])
    return spec


def _finish(environment: Environment, spec: SourceSpec, owner: str) -> None:
    """Publish what an earlier run left. Raises ``ClaimConflict`` if that run is still working."""
    deadline = time.monotonic() + environment.stores.settings.claim_lease_ms / 1000 + 10
    while (claim := environment.stores.frontiers.get(spec.id).claim) is not None:
        if time.monotonic() > deadline:
            raise ClaimConflict(spec.name, detail=f'"{claim.owner}" is at work on it at {claim.at}')
        try:
            report = _step(environment, spec, claim.at, owner)
        except UpperMismatch:
            # it was complete and is published; what came later belongs to a later interval
            continue
        if report.state is IngestState.BUSY:
            time.sleep(_POLL_S)


def _step(environment: Environment, spec: SourceSpec, at: Timestamp, owner: str) -> IngestReport:
    """The source's steps of a tick, with its history. Raises the error that prevents its
    publication."""
    report = source_steps.ingest(environment, spec.name, at, owner=owner, is_history=True)
    if report.state in (IngestState.IDLE, IngestState.BUSY):
        return report
    for audited in source_steps.audit(environment, [spec.name], owner=owner):
        if audited.error is not None:
            raise audited.error
    for failure in source_steps.publish(environment, [spec.name], at, owner=owner).failed:
        raise SourceError(failure.message, detail=failure.detail, hint=failure.hint)
    return report


def _check_done(
    environment: Environment,
    spec: SourceSpec,
    connector: HasHistory,
    frontier: GroupFrontier,
    at: Timestamp,
) -> None:
    """Raises ``BackfillRefused`` if the upstream has rows that belong at the published time ``at``
    and are not bound."""
    if at < frontier.since:
        raise BackfillRefused(spec.name, f"it begins at {frontier.since}, after {at}")
    collections = SourceCollections.open(environment.stores.lake, spec)
    if collections.read_bindings(at):
        return
    missing = [
        increment
        for increment in connector.probe_until(collections.bound_at(at), at)
        if increment.size
    ]
    if missing:
        raise BackfillRefused(
            spec.name,
            f"it is published below {frontier.upper}, so nothing can be bound at {at} any more",
            detail=f"the upstream had more of {len(missing)} partitions then, which is bound later",
        )
