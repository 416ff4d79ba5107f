"""At which time a query reads, and what is held and moved so that it can."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from reclock.adapter.context.cancellation import Cancellation
from reclock.algebra.timestamps import EPOCH_MS, MINIMUM, Timestamp
from reclock.consensus.frontiers.groups import GroupFrontier
from reclock.consensus.objects.statuses import Status
from reclock.errors import InputStalled, NotReadable, StatementTimeout, UnknownCollection
from reclock.runtime.environment import Environment
from reclock.sql.statements.query.values import AsOf

_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class ReadTime:
    """The time chosen for a query, and why, in words for EXPLAIN TIMESTAMP."""

    at: Timestamp
    reason: str
    oracle_read_ts: Timestamp


NO_TIME = ReadTime(MINIMUM, "nothing that it reads has a time", MINIMUM)
"""Of a query of constants, and of system relations, which are as they are now."""


def needs_frontiers(as_of: AsOf | None, *, is_serializable: bool) -> bool:
    """Whether ``choose`` looks at frontiers at all."""
    return as_of.is_at_least if as_of is not None else is_serializable


def choose(
    frontiers: Mapping[str, GroupFrontier],
    oracle_ts: Timestamp,
    as_of: AsOf | None,
    *,
    is_serializable: bool,
    is_first: bool = False,
) -> ReadTime:
    """The time a query over groups with these frontiers reads at.

    ``AS OF`` decides alone, and ``AS OF AT LEAST`` takes the newest time at which every group is complete, if it is not too
    early; with ``is_first`` (a subscription, which goes on from there) the first time that can be read. Else it is the oracle's
    read timestamp (strict serializable), or, if asked for, the newest time at which every group is complete (serializable).
    """
    earliest = max((frontier.since for frontier in frontiers.values()), default=MINIMUM)
    if as_of is not None and not as_of.is_at_least:
        return ReadTime(as_of.at, "AS OF names it", oracle_ts)
    complete = Timestamp(min((frontier.upper - 1 for frontier in frontiers.values()), default=oracle_ts))
    if as_of is not None and is_first:
        return ReadTime(Timestamp(max(as_of.at, earliest)), "the first readable time that AS OF AT LEAST allows", oracle_ts)
    if as_of is not None:
        reason = "the newest time at which every input is complete, or the first that AS OF AT LEAST allows"
        return ReadTime(Timestamp(max(as_of.at, earliest, complete)), reason, oracle_ts)
    if is_serializable and complete >= earliest:
        return ReadTime(complete, "serializable: the newest time at which every input is complete", oracle_ts)
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
    """Inside the block every one of ``groups`` is readable at ``at``: a read hold keeps ``since``.

    Groups that are behind and idle are moved past ``at``, unless ``at`` is still to come. Claimed ones are waited for, with a
    notice that says so, by ``name_of``. Raises ``InputStalled`` if one is stalled, for nobody knows how long that takes;
    ``NotReadable``, ``UnknownCollection``, ``StatementTimeout``, ``QueryCanceled``.
    """
    if not groups:
        yield
        return
    with environment.stores.shared_holds.held(groups, at):
        _await_complete(environment, at, groups, cancellation, notice, name_of)
        yield


def reached(environment: Environment, at: Timestamp) -> bool:
    """Whether ``at`` is over: every later write gets a later time. The clock decides, where nothing was written since."""
    if at <= environment.stores.oracle.read_ts(EPOCH_MS):
        return True
    if at > environment.stores.clock():
        return False
    environment.stores.oracle.apply_write(EPOCH_MS, at)
    return True


def _await_complete(
    environment: Environment,
    at: Timestamp,
    groups: frozenset[str],
    cancellation: Cancellation,
    notice: Callable[[str], None],
    name_of: Callable[[str], str],
) -> None:
    told = False
    while late := _late(environment, at, groups):
        if not reached(environment, at):
            group, frontier = next(iter(late.items()))
            raise NotReadable(group, at=at, since=frontier.since, upper=frontier.upper)
        idle = [group for group, frontier in late.items() if frontier.claim is None]
        if idle and (advanced := environment.stores.frontiers.advance_idle(idle, Timestamp(at + 1))):
            environment.stores.note_published(dict.fromkeys(advanced, Timestamp(at + 1)))
            continue
        waiting = _describe(late, at, name_of)
        if stalls := _stalls(environment, late):
            raise _stalled(stalls[0], at, name_of)
        if not told:
            for group in sorted(environment.stores.frontiers.backfilled() & late.keys()):  # nobody knows how long that takes
                raise NotReadable(name_of(group), at=at, since=late[group].since, upper=late[group].upper)
            notice(f"waiting for {waiting}; with SET transaction_isolation = 'serializable' reads do not wait")
            told = True
        if cancellation.is_late:
            raise StatementTimeout(
                cancellation.timeout_ms,
                detail=f"waiting for {waiting}",
                hint="read AS OF an earlier time, or SET transaction_isolation = 'serializable'",
            )
        cancellation.wait(_POLL_S)


@dataclass(frozen=True, slots=True)
class Stall:
    """A group that is complete below ``upper``, and goes no further before its source does."""

    upper: Timestamp
    status: Status


def last_complete(environment: Environment, at: Timestamp, groups: Iterable[str]) -> Stall | None:
    """Of those of ``groups`` that are stalled and not complete at ``at``, the one that is furthest behind."""
    stalls = _stalls(environment, _late(environment, at, frozenset(groups)))
    return min(stalls, key=lambda stall: stall.upper, default=None)


def _stalls(environment: Environment, late: Mapping[str, GroupFrontier]) -> list[Stall]:
    claimed = {group: frontier for group, frontier in late.items() if frontier.claim is not None}
    statuses = environment.stores.statuses.current(claimed) if claimed else {}
    return [Stall(claimed[group].upper, status) for group, status in statuses.items() if status.status == "stalled"]


def _stalled(stall: Stall, at: Timestamp, name_of: Callable[[str], str]) -> InputStalled:
    status = stall.status
    behind = f"it is complete below {stall.upper}, {at + 1 - stall.upper} ms behind"
    return InputStalled(name_of(status.name), status.error or "", detail=status.detail, hint=status.hint, behind=behind)


def _late(environment: Environment, at: Timestamp, groups: frozenset[str]) -> dict[str, GroupFrontier]:
    """The groups that are not complete at ``at``, by what was published since it was last looked at, if that matters."""
    unknown = [group for group in groups if environment.stores.published_uppers.get(group, MINIMUM) <= at]
    return {group: frontier for group, frontier in known(environment, unknown).items() if frontier.upper <= at}


def _describe(late: Mapping[str, GroupFrontier], at: Timestamp, name_of: Callable[[str], str]) -> str:
    return ", ".join(
        f'"{name_of(group)}", {at + 1 - frontier.upper} ms behind'
        + (f" and claimed at {frontier.claim.at} by {frontier.claim.owner}" if frontier.claim else "")
        for group, frontier in sorted(late.items())
    )


def known(environment: Environment, groups: Iterable[str]) -> dict[str, GroupFrontier]:
    """The frontiers of all of ``groups``. Raises ``UnknownCollection`` for one that is gone."""
    wanted = frozenset(groups)
    found = environment.stores.frontiers.get_all(wanted) if wanted else {}
    for group in sorted(wanted - found.keys()):
        raise UnknownCollection(group)
    environment.stores.note_published({group: frontier.upper for group, frontier in found.items()})
    return found
