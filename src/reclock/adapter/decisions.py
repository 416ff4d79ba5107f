"""Decisions about a source that does not go on: written into its claim, and into the audit log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reclock.adapter.definitions import Change
from reclock.adapter.users import Users
from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import MINIMUM
from reclock.environment import Environment
from reclock.errors import NothingClaimed, UpperMismatch
from reclock.ingest import payload
from reclock.sources.connector import Skip
from reclock.sql import statements

_Payload = Mapping[str, Any]
_ATTEMPTS = 10


def decide(
    statement: statements.RetrySource | statements.WaiveCheck | statements.SkipRange, environment: Environment, users: Users
) -> None:
    """The standing claim obeys from now on; the next tick finishes it. Raises ``NothingClaimed``, ``InvalidOption``.

    The log comes first: a decision that is carried out is recorded, though one that is recorded may have come too late.
    """
    change, details = _change_of(statement)
    standing = environment.frontiers.get(statement.id).claim
    if standing is not None:
        change(standing.payload)  # what cannot be decided is not logged
        if isinstance(statement, statements.SkipRange):
            details = {**details, **_reach(standing.payload, statement)}
        for attempt in range(_ATTEMPTS):
            logged = Change(environment, users, environment.catalog.transaction(), MINIMUM)
            logged.audit("alter", "source", statement.name, **details)
            try:
                environment.catalog.commit_transaction(logged.tx)
                break
            except UpperMismatch:
                if attempt == _ATTEMPTS - 1:
                    raise
    try:
        environment.frontiers.decide(statement.id, change)
    except NothingClaimed:
        raise NothingClaimed(str(statement.name)) from None


def _change_of(
    statement: statements.RetrySource | statements.WaiveCheck | statements.SkipRange,
) -> tuple[Callable[[_Payload], dict[str, Any]], dict[str, object]]:
    match statement:
        case statements.RetrySource():
            return payload.retry, {"decision": "retry"}
        case statements.WaiveCheck(check=check):
            return (lambda standing: payload.waive(standing, [check])), {"decision": "waive", "check": check}
        case statements.SkipRange(partition=partition, lower=lower, upper=upper):
            details: dict[str, object] = {"decision": "skip", "partition": partition, "lower": lower, "upper": upper}
            return (lambda standing: payload.skip(standing, partition, *_bounds(standing, partition, lower, upper))), details


def skipped(environment: Environment, source: GlobalId) -> list[Skip]:
    """The offsets that a source was told to give up after they were bound, as the audit log has them."""
    logged: list[Any] = [event.details for event in environment.catalog.get_audit_logs() if event.details.get("source") == source]
    return [(details["partition"], details["lower"], details["upper"]) for details in logged]


def has_gaps(environment: Environment, source: GlobalId) -> bool:
    """Whether it was ever told to give offsets up."""
    events = (event.details for event in environment.catalog.get_audit_logs())
    return any(details.get("decision") == "skip" and source in (details.get("of"), details.get("source")) for details in events)


def _reach(standing: _Payload, statement: statements.SkipRange) -> dict[str, object]:
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
