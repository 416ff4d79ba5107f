"""The time that a query reads at, and the read holds and frontier moves that make its inputs
readable then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from reclock.adapter.context.cancellation import Cancellation
from reclock.adapter.context.statuses import current_statuses
from reclock.algebra.timestamps import EPOCH_MS, MINIMUM, Timestamp
from reclock.consensus.frontiers.claims import Claim
from reclock.consensus.frontiers.groups import GroupFrontier
from reclock.consensus.objects.statuses import Status
from reclock.errors import (
    InputStalled,
    NotBackfilled,
    NotReadable,
    StatementTimeout,
    UnknownCollection,
    quoted_name,
)
from reclock.runtime.environment import Environment
from reclock.sql.statements.query.values import AsOf

_POLL_S = 0.02

CLOCK_STEP_MS = 1000


@dataclass(frozen=True, slots=True)
class ReadTime:
    """The time chosen for a query, and the reason that EXPLAIN TIMESTAMP shows."""

    at: Timestamp
    reason: str
    oracle_read_ts: Timestamp


NO_TIME = ReadTime(MINIMUM, "nothing that it reads has a time", MINIMUM)
"""The time of a query over constants, or over system relations, which are read as they are now."""


def needs_frontiers(as_of: AsOf | None, *, is_serializable: bool) -> bool:
    """Whether ``choose`` needs frontiers."""
    return as_of.is_at_least if as_of is not None else is_serializable


def choose(
    frontiers: Mapping[str, GroupFrontier],
    oracle_ts: Timestamp,
    as_of: AsOf | None,
    *,
    is_serializable: bool,
    is_first: bool = False,
) -> ReadTime:
    """The time that a query over groups with these frontiers reads at.

    ``AS OF`` names the time. ``AS OF AT LEAST`` takes the newest time at which every group is
    complete, if that is late enough, or, with ``is_first`` (a subscription, which continues from
    there), the first readable time. Otherwise it is the oracle's read timestamp (strict
    serializable), or the newest time at which every group is complete (serializable).
    """
    earliest = max((frontier.since for frontier in frontiers.values()), default=MINIMUM)
    if as_of is not None and not as_of.is_at_least:
        return ReadTime(as_of.at, "AS OF names it", oracle_ts)
    complete = Timestamp(
        min((frontier.upper - 1 for frontier in frontiers.values()), default=oracle_ts)
    )
    if as_of is not None and is_first:
        return ReadTime(
            Timestamp(max(as_of.at, earliest)),
            "the first readable time that AS OF AT LEAST allows",
            oracle_ts,
        )
    if as_of is not None:
        reason = (
            "the newest time at which every input is complete, or the first that AS OF AT "
            "LEAST allows"
        )
        return ReadTime(Timestamp(max(as_of.at, earliest, complete)), reason, oracle_ts)
    if is_serializable and complete >= earliest:
        return ReadTime(
            complete, "serializable: the newest time at which every input is complete", oracle_ts
        )
    return ReadTime(oracle_ts, "strict serializable: the oracle's read timestamp", oracle_ts)


@contextmanager
def held_readable(
    environment: Environment,
    at: Timestamp,
    groups: frozenset[str],
    *,
    cancellation: Cancellation,
    notice: Callable[[str], None],
    name_of: Callable[[str], str],
) -> Iterator[None]:
    """Inside the block every one of ``groups`` is readable at ``at``; a read hold keeps ``since``
    from passing it.

    Idle groups that are behind are advanced past ``at``, unless ``at`` lies in the future. It waits
    for claimed groups, and sends a notice with their names from ``name_of``. Raises
    ``InputStalled`` if one is stalled, since that may last for any time; ``NotReadable``,
    ``UnknownCollection``, ``StatementTimeout``, ``QueryCanceled``.
    """
    if not groups:
        yield
        return
    with environment.stores.shared_holds.held(groups, at):
        _await_complete(environment, at, groups, cancellation, notice, name_of)
        yield


def reached(environment: Environment, at: Timestamp) -> bool:
    """Whether ``at`` is over: every write from now on gets a later time. Where nothing was written
    since, the clock decides."""
    if at <= environment.stores.oracle.read_ts(EPOCH_MS):
        return True
    if at > environment.stores.clock():
        return False
    environment.stores.oracle.apply_write(EPOCH_MS, at)
    return True


def follow_clock(environment: Environment, read_ts: Timestamp) -> Timestamp:
    """The oracle's read timestamp, ``read_ts`` until now, for what changes as time passes. It is
    moved to the clock's time where it is a second behind, because nothing was written since."""
    now = environment.stores.clock()
    if now - read_ts < CLOCK_STEP_MS:
        return read_ts
    environment.stores.oracle.apply_write(EPOCH_MS, now)
    return now


def _await_complete(
    environment: Environment,
    at: Timestamp,
    groups: frozenset[str],
    cancellation: Cancellation,
    notice: Callable[[str], None],
    name_of: Callable[[str], str],
) -> None:
    has_noticed = False
    while late := _late(environment, at, groups):
        if not reached(environment, at):
            group, frontier = next(iter(late.items()))
            raise NotReadable(group, at=at, since=frontier.since, upper=frontier.upper)
        idle = [group for group, frontier in late.items() if frontier.claim is None]
        if idle and (
            advanced := environment.stores.frontiers.advance_idle(idle, Timestamp(at + 1))
        ):
            environment.stores.note_published(dict.fromkeys(advanced, Timestamp(at + 1)))
            continue
        now = environment.stores.clock()
        waiting = _describe(late, at, now, name_of)
        if stalls := _stalls(environment, late):
            raise _stalled(stalls[0], at, name_of)
        if not has_noticed:
            # a backfill may take any time
            for group in sorted(environment.stores.frontiers.backfilled() & late.keys()):
                raise NotBackfilled(
                    name_of(group), at=at, since=late[group].since, upper=late[group].upper
                )
            notice(
                f"waiting for {waiting}; with SET transaction_isolation = 'serializable' "
                "reads do not wait"
            )
            has_noticed = True
        if cancellation.is_late:
            raise StatementTimeout(
                cancellation.timeout_ms,
                detail=f"waiting for {waiting}",
                hint=_way_out(late, now),
            )
        cancellation.wait(_POLL_S)


@dataclass(frozen=True, slots=True)
class Stall:
    """A group of a stalled source, complete below ``upper``."""

    upper: Timestamp
    status: Status


def last_complete(environment: Environment, at: Timestamp, groups: Iterable[str]) -> Stall | None:
    """The stalled group of ``groups`` that is furthest behind ``at``, if any is not complete
    then."""
    stalls = _stalls(environment, _late(environment, at, frozenset(groups)))
    return min(stalls, key=lambda stall: stall.upper, default=None)


def _stalls(environment: Environment, late: Mapping[str, GroupFrontier]) -> list[Stall]:
    claimed = {group: frontier for group, frontier in late.items() if frontier.claim is not None}
    stores = environment.stores
    statuses = current_statuses(stores, stores.planner_catalog(), claimed) if claimed else {}
    return [
        Stall(claimed[group].upper, status)
        for group, status in statuses.items()
        if status.status == "stalled"
    ]


def _stalled(stall: Stall, at: Timestamp, name_of: Callable[[str], str]) -> InputStalled:
    status = stall.status
    behind = f"it is complete below {stall.upper}, {at + 1 - stall.upper} ms behind"
    return InputStalled(
        name_of(status.name),
        status.error or "",
        detail=status.detail,
        hint=status.hint,
        behind=behind,
    )


def _late(
    environment: Environment, at: Timestamp, groups: frozenset[str]
) -> dict[str, GroupFrontier]:
    """The groups that are not complete at ``at``. Frontiers are read only where the last known
    upper does not answer it."""
    maybe_late = [
        group for group in groups if environment.stores.published_uppers.get(group, MINIMUM) <= at
    ]
    return {
        group: frontier
        for group, frontier in frontiers_of(environment, maybe_late).items()
        if frontier.upper <= at
    }


def _describe(
    late: Mapping[str, GroupFrontier], at: Timestamp, now: int, name_of: Callable[[str], str]
) -> str:
    return ", ".join(
        f"{quoted_name(name_of(group))}, {at + 1 - frontier.upper} ms behind"
        + (_describe_claim(frontier.claim, now) if frontier.claim else "")
        for group, frontier in sorted(late.items())
    )


def _describe_claim(claim: Claim, now: int) -> str:
    """The claim that a read waits for, and whether its owner still shows signs of life."""
    claimed = f" and claimed at {claim.at} by {claim.owner}"
    if now < claim.lease_until:
        return claimed
    return f"{claimed}, which has given no sign of life for the lease of its claim"


def _way_out(late: Mapping[str, GroupFrontier], now: int) -> str:
    """What helps against the wait. Only a tick goes on with the claim of an owner that is gone."""
    claims = [frontier.claim for frontier in late.values() if frontier.claim]
    earlier = "read AS OF an earlier time, or SET transaction_isolation = 'serializable'"
    if any(claim.lease_until <= now for claim in claims):
        return f"the next tick goes on with the claim: run reclock tick; or {earlier}"
    return earlier


def frontiers_of(environment: Environment, groups: Iterable[str]) -> dict[str, GroupFrontier]:
    """The frontiers of all of ``groups``. Raises ``UnknownCollection`` for a group that does not
    exist."""
    group_names = frozenset(groups)
    frontiers = environment.stores.frontiers.get_all(group_names) if group_names else {}
    for group in sorted(group_names - frontiers.keys()):
        raise UnknownCollection(group)
    environment.stores.note_published(
        {group: frontier.upper for group, frontier in frontiers.items()}
    )
    return frontiers
