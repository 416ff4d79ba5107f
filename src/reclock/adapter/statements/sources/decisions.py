"""Decisions about a stalled source: ALTER SOURCE … RETRY, RESNAPSHOT, WAIVE CHECK, SKIP and
RESTART.

A decision is state of the source's claim, until the claimed step is published. What a published
step gave up is state of the catalog (``SkippedRange``). The audit log only records the decision,
before the claim obeys it: a decision in the log may have come too late.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from reclock.adapter.context.results import Result
from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.statement_context import StatementContext, executes
from reclock.adapter.statements.sources.specs import source_specs
from reclock.adapter.transaction.catalog_change import CatalogChange
from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import EPOCH_MS, MINIMUM
from reclock.catalog.objects import Kind
from reclock.connectors.connector import FollowsReplacement, SupportsGuests, SupportsRestart
from reclock.connectors.factory import open_connector
from reclock.definitions.sources import PublishedTable, SourceSpec
from reclock.errors import (
    ClaimConflict,
    InvalidOption,
    NothingClaimed,
    ObjectRejected,
    UpperMismatch,
    UpstreamChanged,
    UpstreamLost,
    about_source,
    quoted_name,
)
from reclock.failpoints import failpoint
from reclock.ingest import payload
from reclock.ingest.failures import decode_failure
from reclock.ingest.source_collections import SourceCollections
from reclock.runtime.environment import Environment
from reclock.sql.statements.sources.alter_plan import (
    ResnapshotSource,
    RestartPartitions,
    RetrySource,
    SkipOffsets,
    SkippedPart,
    WaiveCheck,
    with_identities,
)

_Payload = Mapping[str, Any]
_PayloadChange = Callable[[_Payload], dict[str, Any]]
_ClaimDecision = RetrySource | ResnapshotSource | WaiveCheck | SkipOffsets
_ATTEMPTS = 10


@requires(RetrySource, ResnapshotSource, WaiveCheck, SkipOffsets, RestartPartitions)
def _(statement: _ClaimDecision | RestartPartitions, context: AuthorizationContext) -> Requirements:
    return context.require(owner_of=((Kind.ITEM, statement.id),))


@executes(RetrySource)
def _(statement: RetrySource, context: StatementContext) -> Result:
    retry = _unless_lost(statement, payload.retry)
    return _decide(statement, context, retry, {"decision": "retry"})


@executes(ResnapshotSource)
def _(statement: ResnapshotSource, context: StatementContext) -> Result:
    context.await_storage()
    context.transactions.run_alone(statement.tag, lambda: _resnapshot(statement, context))
    return Result(statement.tag)


def _resnapshot(statement: ResnapshotSource, context: StatementContext) -> None:
    """The source's next step reads what is upstream now.

    For a publication, the claim has the decision before the definition has the identities of the
    tables as they are now, and once more after it. Otherwise a process that is killed in between
    could leave a definition that follows a new table's changes from the old table's rows. The
    identity of a topic is bound with the step.
    """

    def decide() -> None:
        _ensure_claimed(context.environment, statement.id)
        _decide_claim(statement, context, payload.resnapshot, {"decision": "resnapshot"})

    [spec] = source_specs(context.environment.stores, [str(statement.name)])
    connector = open_connector(spec, context.environment.runtime.connection_context)
    if isinstance(connector, FollowsReplacement):
        _check_replaced(spec, connector, context.environment)
        decide()
        failpoint("resnapshot.after_decision")
        return
    from reclock.connectors.postgres.connector import Postgres

    assert isinstance(connector, Postgres)
    published = connector.published()
    decide()
    failpoint("resnapshot.after_decision")
    if _identify(statement, published, context):
        failpoint("resnapshot.after_definition")
        decide()


def _check_replaced(
    source: SourceSpec, connector: FollowsReplacement, environment: Environment
) -> None:
    """Raises ``InvalidOption`` if RESNAPSHOT would change nothing, or the source's past is still
    being read, and ``SourceError`` if it could not go on with what is upstream now."""
    if source.id in environment.stores.frontiers.backfilled():
        raise InvalidOption(
            f"the history of source {quoted_name(source.name)} is being backfilled",
            hint="DROP the source and create it again",
        )
    claim = environment.stores.frontiers.get(source.id).claim
    step = payload.Step.from_payload(claim.payload) if claim is not None else None
    error = decode_failure(step.error) if step is not None and step.error is not None else None
    collections = SourceCollections.open(environment.stores.lake, source)
    if isinstance(connector, SupportsGuests):
        outputs = {name: output.desc for name, output in collections.outputs.items()}
        with_guests = connector.with_outputs(outputs)
        assert isinstance(with_guests, FollowsReplacement)
        connector = with_guests
    _, bound = collections.read_bound()
    if not connector.is_replaced(bound) and not isinstance(error, UpstreamLost):
        raise InvalidOption(
            f"source {quoted_name(source.name)} needs no RESNAPSHOT",
            detail="the upstream is the one that it reads, and has lost nothing of what was read",
        )


@executes(WaiveCheck)
def _(statement: WaiveCheck, context: StatementContext) -> Result:
    def waive(claimed: _Payload) -> dict[str, Any]:
        return payload.waive(claimed, [statement.check])

    return _decide(statement, context, waive, {"decision": "waive", "check": statement.check})


@executes(SkipOffsets)
def _(statement: SkipOffsets, context: StatementContext) -> Result:
    def skip(claimed: _Payload) -> dict[str, Any]:
        for part in statement.parts:
            _require_record(claimed, statement, part)
        ranges = [(part.partition, *_bounds(claimed, part)) for part in statement.parts]
        return payload.skip(claimed, ranges)

    details = [{"decision": "skip", **asdict(part)} for part in statement.parts]
    return _decide(statement, context, _unless_lost(statement, skip), *details)


@executes(RestartPartitions)
def _(statement: RestartPartitions, context: StatementContext) -> Result:
    context.await_storage()
    context.transactions.run_alone(statement.tag, lambda: _restart(statement, context))
    return Result(statement.tag)


def _decide(
    statement: _ClaimDecision,
    context: StatementContext,
    change: _PayloadChange,
    *details: Mapping[str, object],
) -> Result:
    def work() -> None:
        _decide_claim(statement, context, change, *details)

    context.await_storage()
    context.transactions.run_alone(statement.tag, work)
    return Result(statement.tag)


def _decide_claim(
    statement: _ClaimDecision,
    context: StatementContext,
    change: _PayloadChange,
    *details: Mapping[str, object],
) -> None:
    """Log the decision, with an event for each of ``details``, then apply ``change`` to the source's
    claim, which the next tick finishes.

    Raises ``NothingClaimed``, ``InvalidOption``; what ``change`` refuses is not logged.
    """
    claim = context.environment.stores.frontiers.get(statement.id).claim
    if claim is not None:
        change(claim.payload)
        _log(statement, context, *details)
    try:
        context.environment.stores.frontiers.decide(statement.id, change)
    except NothingClaimed:
        raise NothingClaimed(str(statement.name)) from None


def _identify(
    statement: ResnapshotSource, published: Sequence[PublishedTable], context: StatementContext
) -> bool:
    """Write the identities of the published tables into the source's definition. Returns whether
    it changed."""

    def define(change: CatalogChange) -> bool:
        item = change.tx.snapshot.items[statement.id]
        assert item.create_sql is not None
        create_sql = with_identities(item.create_sql, published)
        change.tx.update(replace(item, create_sql=create_sql))
        return create_sql != item.create_sql

    return _commit(context, define)


def _ensure_claimed(environment: Environment, source: GlobalId) -> None:
    """Claim the source for a step that has not probed its upstream yet, unless there is a claim."""
    for _ in range(_ATTEMPTS):
        if environment.stores.frontiers.get(source).claim is not None:
            return
        at = environment.stores.oracle.write_ts(EPOCH_MS)
        step = payload.Step(source, at, payload.Phase.PROBING)
        with suppress(ClaimConflict, UpperMismatch):
            environment.stores.frontiers.claim(
                source, at=at, payload=step.to_payload(), owner=environment.stores.actor, lease_ms=0
            )


def _restart(statement: RestartPartitions, context: StatementContext) -> None:
    """From the next tick on, partitions that were given up or changed are read again from their
    beginnings, each as a new partition.

    Raises ``InvalidOption`` if one of them was neither given up nor changed, or the source's
    connector has no such partitions; then none is read again.
    """
    environment = context.environment
    [spec] = source_specs(environment.stores, [str(statement.name)])
    connector = open_connector(spec, environment.runtime.connection_context)
    if not isinstance(connector, SupportsRestart):
        raise InvalidOption(
            f"nothing of {quoted_name(statement.name)} can be restarted",
            detail="only objects can be read again",
        )
    _, bound = SourceCollections.open(environment.stores.lake, spec).read_bound()
    stalled = _stalled_partitions(environment, spec.id)
    readings = {
        partition: connector.next_reading(bound, partition, stalled)
        for partition in statement.partitions
    }
    details = (
        {"decision": "restart", "partition": partition, "reading": reading}
        for partition, reading in readings.items()
    )
    _log(statement, context, *details)
    for partition, reading in readings.items():
        environment.stores.restarts.request(spec.id, partition, reading)


def _stalled_partitions(environment: Environment, source: GlobalId) -> frozenset[str]:
    """The partitions whose upstream changed, so that the source's step cannot begin."""
    claim = environment.stores.frontiers.get(source).claim
    step = payload.Step.from_payload(claim.payload) if claim is not None else None
    if step is None or step.error is None or step.phase is not payload.Phase.PROBING:
        return frozenset()
    causes = decode_failure(step.error).causes
    return frozenset(cause.partition for cause in causes if isinstance(cause, UpstreamChanged))


def _log(
    statement: _ClaimDecision | RestartPartitions,
    context: StatementContext,
    *details: Mapping[str, object],
) -> None:
    """Record the decision in the audit log. Raises ``UpperMismatch`` like ``_commit``."""

    def audit(change: CatalogChange) -> bool:
        for event in details:
            change.audit("alter", "source", statement.name, **event)
        return True

    _commit(context, audit)


def _commit(context: StatementContext, define: Callable[[CatalogChange], bool]) -> bool:
    """Commit what ``define`` does to the catalog, unless it returns False. Returns its answer.
    Raises ``UpperMismatch`` if other actors change the catalog all the time."""
    catalog = context.environment.stores.catalog
    for attempt in range(_ATTEMPTS):
        change = CatalogChange(context.environment, context.users, catalog.transaction(), MINIMUM)
        if not define(change):
            return False
        try:
            catalog.commit_transaction(change.tx)
            return True
        except UpperMismatch:
            if attempt == _ATTEMPTS - 1:
                raise
    return False


def _unless_lost(statement: _ClaimDecision, change: _PayloadChange) -> _PayloadChange:
    """Raises ``InvalidOption`` where the upstream lost what the claim needs, so that the decision
    would change nothing."""

    def checked(claimed: _Payload) -> dict[str, Any]:
        error = payload.Step.from_payload(claimed).error
        if error is not None and isinstance(lost := decode_failure(error), UpstreamLost):
            refusal = InvalidOption(
                f"no decision brings this back: {lost.message}", detail=lost.detail, hint=lost.hint
            )
            raise about_source(str(statement.name), refusal)
        return change(claimed)

    return checked


def _require_record(claimed: _Payload, statement: SkipOffsets, part: SkippedPart) -> None:
    """Raises ``InvalidOption`` if a range of an object is skipped that is rejected as a whole, such
    as one with a wrong header: no record of it can be read, so that all of it would be given up."""
    error = payload.Step.from_payload(claimed).error
    if error is None or (part.lower, part.upper) == (None, None):
        return
    for failure in decode_failure(error).causes:
        if isinstance(failure, ObjectRejected) and failure.partition == part.partition:
            refusal = InvalidOption(
                f'{failure.part} of "{failure.partition}" is no record that can be given up',
                detail=failure.detail,
                hint=failure.hint,
            )
            raise about_source(str(statement.name), refusal)


def _bounds(claimed: _Payload, part: SkippedPart) -> tuple[int, int]:
    """The range to skip. Open bounds are those of what is lost, or of the claimed range, or
    everything while the partition is still probed."""
    step = payload.Step.from_payload(claimed)
    error = decode_failure(step.error) if step.error is not None else None
    increments = [increment for increment in step.increments if increment.name == part.partition]
    low = min((increment.lower for increment in increments), default=0)
    high = max((increment.upper for increment in increments), default=2**63 - 1)
    if isinstance(error, UpstreamChanged) and error.partition == part.partition:
        low, high = (error.offset, error.upper) if error.upper is not None else (low, high)
    return (
        low if part.lower is None else part.lower,
        high if part.upper is None else part.upper,
    )
