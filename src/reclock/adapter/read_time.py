"""At which time a query reads, and what is held and moved so that it can."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from reclock.algebra.timestamps import EPOCH_MS, MAXIMUM, Timestamp
from reclock.consensus.frontiers import GroupFrontier
from reclock.environment import Environment
from reclock.errors import NotReadable, StatementTimeout, UnknownCollection

_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class AsOf:
    """An explicit time. ``at_least`` means: that time, or the first later one at which everything is readable."""

    time: Timestamp
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class ReadTime:
    """The time chosen, and why, in words for EXPLAIN TIMESTAMP. ``frontiers`` are those it was chosen by."""

    at: Timestamp
    reason: str
    oracle_read_ts: Timestamp
    frontiers: dict[str, GroupFrontier]


@contextmanager
def hold_read_time(
    environment: Environment,
    groups: frozenset[str],
    *,
    advanceable: frozenset[str],
    as_of: AsOf | None,
    is_serializable: bool,
    timeout_ms: int,
    notice: Callable[[str], None],
) -> Iterator[ReadTime]:
    """A time at which every one of ``groups`` is readable, and stays so until the block is left (a read hold keeps ``since``).

    Without ``as_of``: the oracle's read timestamp (strict serializable), or the newest time that needs no waiting. Groups that are
    idle and ``advanceable`` are moved past it; claimed ones are waited for, with a notice that names them. Raises ``NotReadable``
    and ``StatementTimeout``.
    """
    oracle_ts = environment.oracle.read_ts(EPOCH_MS)
    found = _frontiers(environment, groups)
    at, reason = _choose(found, oracle_ts, as_of, is_serializable)
    _await_readable(environment, at, groups, advanceable, timeout_ms, notice)
    hold = environment.holds.acquire(groups, at, owner=environment.actor, lease_ms=environment.settings.read_hold_lease_ms) if groups else None
    try:
        yield ReadTime(at, reason, oracle_ts, _frontiers(environment, groups))
    finally:
        if hold is not None:
            environment.holds.release(hold)


def _choose(
    found: dict[str, GroupFrontier], oracle_ts: Timestamp, as_of: AsOf | None, is_serializable: bool
) -> tuple[Timestamp, str]:
    earliest = max((frontier.since for frontier in found.values()), default=Timestamp(0))
    if as_of is not None and not as_of.at_least:
        return as_of.time, "AS OF names it"
    if as_of is not None:
        return max(as_of.time, earliest), "the first readable time AS OF AT LEAST allows"
    newest_complete = Timestamp(min((frontier.upper - 1 for frontier in found.values()), default=oracle_ts))
    if is_serializable and newest_complete >= earliest:
        return newest_complete, "serializable: the newest time at which every input is complete"
    return max(oracle_ts, earliest), "strict serializable: the oracle's read timestamp"


def _await_readable(
    environment: Environment,
    at: Timestamp,
    groups: frozenset[str],
    advanceable: frozenset[str],
    timeout_ms: int,
    notice: Callable[[str], None],
) -> None:
    deadline = time.monotonic() + timeout_ms / 1000
    told = False
    while True:
        found = _frontiers(environment, groups)
        for group, frontier in found.items():
            if at < frontier.since:
                raise NotReadable(group, at=at, since=frontier.since, upper=frontier.upper)
        late = {group: frontier for group, frontier in found.items() if frontier.upper <= at}
        if not late:
            return
        if at > environment.oracle.read_ts(EPOCH_MS) or at == MAXIMUM:
            group, frontier = next(iter(late.items()))
            raise NotReadable(group, at=at, since=frontier.since, upper=frontier.upper)
        idle = {group for group, frontier in late.items() if frontier.claim is None and group in advanceable}
        if idle and environment.frontiers.advance_idle(idle, Timestamp(at + 1)) >= late.keys():
            continue
        waiting = _describe(late)
        if not told:
            notice(f"waiting for {waiting}; SET transaction_isolation = 'serializable' reads without waiting")
            told = True
        if time.monotonic() > deadline:
            raise StatementTimeout(
                timeout_ms, detail=f"waiting for {waiting}", hint="read AS OF an earlier time, or SET transaction_isolation = 'serializable'"
            )
        time.sleep(_POLL_S)


def _describe(late: dict[str, GroupFrontier]) -> str:
    return ", ".join(
        f'"{group}" (complete below {frontier.upper}' + (f", claimed by {frontier.claim.owner})" if frontier.claim else ")")
        for group, frontier in sorted(late.items())
    )


def _frontiers(environment: Environment, groups: Iterable[str]) -> dict[str, GroupFrontier]:
    wanted = frozenset(groups)
    found = environment.frontiers.get_all(wanted) if wanted else {}
    for group in sorted(wanted - found.keys()):
        raise UnknownCollection(group)
    return found
