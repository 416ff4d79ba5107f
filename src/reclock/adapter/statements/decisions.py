"""Decisions about a source that does not go on: written into its claim, and into the audit log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from reclock.adapter.context.users import Users
from reclock.adapter.statements.sources import source_specs
from reclock.adapter.transaction.ddl import Change
from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import EPOCH_MS, MINIMUM
from reclock.connectors.connector import Skip, SupportsRestart
from reclock.connectors.factory import open_connector
from reclock.errors import ClaimConflict, InvalidOption, NothingClaimed, UpperMismatch, UpstreamChanged, UpstreamLost
from reclock.ingest import payload
from reclock.ingest.source_collections import SourceCollections
from reclock.ingest.stage import decode_failure
from reclock.runtime.environment import Environment
from reclock.sql.statements.sources.alter_plan import ResnapshotSource, RestartPartition, RetrySource, SkipRange, WaiveCheck

_Payload = Mapping[str, Any]
_Decision = RetrySource | ResnapshotSource | WaiveCheck | SkipRange
_ATTEMPTS = 10


def decide(statement: _Decision, environment: Environment, users: Users) -> None:
    """The standing claim obeys from now on; the next tick finishes it. To copy a source anew, one is made if none stands.
    Raises ``NothingClaimed``, ``InvalidOption``.

    The log comes first: a decision that is carried out is recorded, though one that is recorded may have come too late.
    """
    change, details = _change_of(statement)
    if isinstance(statement, ResnapshotSource):
        _ensure_claimed(environment, statement.id)
    standing = environment.stores.frontiers.get(statement.id).claim
    if standing is not None:
        change(standing.payload)  # what cannot be decided is not logged
        if isinstance(statement, SkipRange):
            details = {**details, **_reach(standing.payload, statement)}
        _log(statement, details, environment, users)
    try:
        environment.stores.frontiers.decide(statement.id, change)
    except NothingClaimed:
        raise NothingClaimed(str(statement.name)) from None


def _ensure_claimed(environment: Environment, source: GlobalId) -> None:
    """A step of the source stands, if only one that has not looked at its upstream."""
    for _ in range(_ATTEMPTS):
        if environment.stores.frontiers.get(source).claim is not None:
            return
        at = environment.stores.oracle.write_ts(EPOCH_MS)
        step = payload.Step(source, at, payload.Phase.PROBING)
        with suppress(ClaimConflict, UpperMismatch):
            environment.stores.frontiers.claim(source, at=at, payload=step.to_payload(), owner=environment.stores.actor, lease_ms=0)


def restart(statement: RestartPartition, environment: Environment, users: Users) -> None:
    """From the next tick on, what was given up under the statement's name is read again from its beginning, as a new partition.

    Raises ``InvalidOption`` if nothing was given up under that name, or the source's connector has no such partitions.
    """
    [spec] = source_specs(environment, [str(statement.name)])
    connector = open_connector(spec, environment.runtime.connection_context)
    if not isinstance(connector, SupportsRestart):
        raise InvalidOption(f'nothing of "{statement.name}" can be restarted', detail="only objects can be read again")
    _, bound = SourceCollections.open(environment.stores.lake, spec).read_bound()
    number = connector.next_reading(bound, statement.partition, _stalled_partition(environment, spec.id))
    details = {"decision": "restart", "partition": statement.partition, "reading": number}
    _log(statement, details, environment, users)
    environment.stores.restarts.request(spec.id, statement.partition, number)


def _stalled_partition(environment: Environment, source: GlobalId) -> str | None:
    """The partition of which the upstream changed, so that the source's step cannot begin."""
    claim = environment.stores.frontiers.get(source).claim
    step = payload.Step.from_payload(claim.payload) if claim is not None else None
    if step is None or step.error is None or step.phase is not payload.Phase.PROBING:
        return None
    failure = decode_failure(step.error)
    return failure.partition if isinstance(failure, UpstreamChanged) else None


def _log(
    statement: _Decision | RestartPartition,
    details: Mapping[str, object],
    environment: Environment,
    users: Users,
) -> None:
    """The decision is in the audit log. Raises ``UpperMismatch`` if other actors change the catalog all the time."""
    for attempt in range(_ATTEMPTS):
        logged = Change(environment, users, environment.stores.catalog.transaction(), MINIMUM)
        logged.audit("alter", "source", statement.name, **details)
        try:
            environment.stores.catalog.commit_transaction(logged.tx)
            return
        except UpperMismatch:
            if attempt == _ATTEMPTS - 1:
                raise


def _change_of(
    statement: _Decision,
) -> tuple[Callable[[_Payload], dict[str, Any]], dict[str, object]]:
    match statement:
        case RetrySource():
            return _unless_lost(payload.retry), {"decision": "retry"}
        case ResnapshotSource():
            return payload.resnapshot, {"decision": "resnapshot"}
        case WaiveCheck(check=check):
            return (lambda standing: payload.waive(standing, [check])), {"decision": "waive", "check": check}
        case SkipRange(partition=partition, lower=lower, upper=upper):
            details: dict[str, object] = {"decision": "skip", "partition": partition, "lower": lower, "upper": upper}
            return (
                _unless_lost(lambda standing: payload.skip(standing, partition, *_bounds(standing, partition, lower, upper))),
                details,
            )


def _unless_lost(change: Callable[[_Payload], dict[str, Any]]) -> Callable[[_Payload], dict[str, Any]]:
    """Raises ``InvalidOption`` where the decision would change nothing."""

    def checked(standing: _Payload) -> dict[str, Any]:
        error = payload.Step.from_payload(standing).error
        if error is not None and isinstance(lost := decode_failure(error), UpstreamLost):
            raise InvalidOption(f"no decision brings this back: {lost.message}", detail=lost.detail, hint=lost.hint)
        return change(standing)

    return checked


def skipped(environment: Environment, source: GlobalId) -> list[Skip]:
    """The offsets that a source was told to give up after they were bound, as the audit log has them."""
    logged: list[Any] = [
        event.details for event in environment.stores.catalog.get_audit_logs() if event.details.get("source") == source
    ]
    return [(details["partition"], details["lower"], details["upper"]) for details in logged]


def has_gaps(environment: Environment, source: GlobalId) -> bool:
    """Whether it was ever told to give offsets up."""
    events = (event.details for event in environment.stores.catalog.get_audit_logs())
    return any(details.get("decision") == "skip" and source in (details.get("of"), details.get("source")) for details in events)


def _reach(standing: _Payload, statement: SkipRange) -> dict[str, object]:
    """What of the range is bound by the step, for whoever reads it again; of one that is still probing, nothing is."""
    lower, upper = _bounds(standing, statement.partition, statement.lower, statement.upper)
    own = [found for found in payload.Step.from_payload(standing).increments if found.name == statement.partition]
    if not own:
        return {"of": statement.id}
    return {"source": statement.id, "lower": max(lower, own[0].lower), "upper": min(upper, own[0].upper)}


def _bounds(standing: _Payload, partition: str, lower: int | None, upper: int | None) -> tuple[int, int]:
    """What is not given is the edge of the standing range; of a partition that is only being probed, everything."""
    ranges = [found for found in payload.Step.from_payload(standing).increments if found.name == partition]
    low = min((found.lower for found in ranges), default=0)
    high = max((found.upper for found in ranges), default=2**63 - 1)
    return low if lower is None else lower, high if upper is None else upper
