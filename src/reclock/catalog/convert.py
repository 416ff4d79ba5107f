"""Moving a catalog from one changelog to another, whatever implementations they are.

The conversion takes the lead of the source and seals it in the same write. That fences every actor,
and nobody can join, so the source does not change while it is copied. The mark that says which of
the two is in force changes last. After a crash, run the conversion again, over whatever it left; or
give it up by opening the source, which breaks the seal and fences a running conversion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import sqlalchemy as sa

from reclock.algebra.timestamps import CATALOG, Timestamp
from reclock.catalog.encoding import CatalogUpdate, Rows, difference, encode_rows, rows_of
from reclock.catalog.implementations import Implementation, open_log
from reclock.catalog.log import CatalogLog
from reclock.catalog.mend import audited
from reclock.catalog.objects import APPEND_ONLY, AuditEvent
from reclock.catalog.upgrade import (
    SEAL,
    leadership_objects,
    read_header,
    require_version,
    without_seal,
)
from reclock.config import Settings
from reclock.consensus.database.store import Consensus
from reclock.consensus.leadership import fence, identity
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import (
    CatalogError,
    CatalogUninitialized,
    ConsensusOutcomeUnknown,
    UpperMismatch,
)
from reclock.failpoints import failpoint
from reclock.oracle.oracle import TimestampOracle

ATTEMPTS = 100

Switch = Callable[[Leadership, Leadership], None]
"""Puts the target in force in one transaction, so that the second leadership follows the first.

Raises ``Fenced`` if the first is not the current one."""


@dataclass(frozen=True, slots=True)
class Converted:
    """The target is in force, under ``epoch``. ``objects`` is how many it holds, ``updates`` how
    many were appended to it."""

    epoch: int
    objects: int
    updates: int


def convert_catalog(
    to: Implementation,
    settings: Settings,
    consensus: Consensus,
    *,
    oracle: TimestampOracle,
    user: str,
    occurred_at: Timestamp,
) -> Converted | None:
    """Move the environment's catalog to the implementation ``to``; None if it is there already.

    A shadow's secondary lags and diverges while it is written, so only its primary can be moved.
    Raises what ``convert`` raises, and ``CatalogError`` for a move from a shadow to its own
    primary.
    """
    mark = consensus.read(identity.current)
    if mark is None:
        raise CatalogUninitialized()
    if mark.catalog == to:
        return None
    source_name = "stash" if mark.catalog == "shadow" else mark.catalog
    if source_name == to:
        raise CatalogError(
            "the catalog is kept in the stash and in persist",
            hint="convert it to persist, and from there to the stash",
        )
    source, target = (open_log(name, mark.id, settings, consensus) for name in (source_name, to))
    event = AuditEvent(0, "convert", "catalog", to, {"from": mark.catalog}, user, occurred_at)
    switch = switch_mark(consensus, source=mark.catalog, target=to)
    return convert(
        source,
        target,
        switch,
        oracle=oracle,
        deploy_generation=settings.deploy_generation,
        event=event,
    )


def switch_mark(consensus: Consensus, *, source: str, target: str) -> Switch:
    """A switch of the mark and the fence in consensus from the implementation ``source`` to
    ``target``. It is repeated if its outcome is unknown."""

    def switch(leadership: Leadership, next_leadership: Leadership) -> None:
        def work(connection: sa.Connection) -> None:
            if fence.current(connection) != next_leadership:
                fence.check(connection, leadership)
            fence.advance(connection, next_leadership)
            identity.switch_catalog(connection, source=source, target=target)
            failpoint("catalog.convert.before_switch_commit")

        try:
            consensus.transact(work)
        except ConsensusOutcomeUnknown:
            consensus.transact(work)

    return switch


def convert(
    source: CatalogLog,
    target: CatalogLog,
    switch: Switch,
    *,
    oracle: TimestampOracle,
    deploy_generation: int,
    event: AuditEvent,
) -> Converted:
    """Copy ``source`` to ``target``, with ``event`` added to the audit log, and then ``switch``.

    The target may hold anything before, such as an older or partial copy. Its times go on from the
    source's. Raises ``CatalogUninitialized``, ``CatalogVersionUnsupported``, ``CatalogCorrupt`` and
    ``Fenced``.
    """
    sealed = _seal(source, target, oracle, deploy_generation, event)
    updates = _copy(sealed, target, oracle)
    copied = _read(target)[1]
    if copied != sealed.target_rows:
        row = min(row for row, _ in copied.items() ^ sealed.target_rows.items())
        raise CatalogError(
            "the copy of the catalog is not what was copied",
            detail=f"the first difference is {' '.join(row)}",
        )
    failpoint("catalog.convert.before_switch")
    switch(sealed.leadership, sealed.next_leadership)
    failpoint("catalog.convert.after_switch")
    return Converted(sealed.next_leadership.epoch, len(copied), updates)


@dataclass(frozen=True, slots=True)
class _Sealed:
    """A source that does not change, up to ``upper``, led by ``leadership``. ``target_rows``
    are the contents that the target is to have.

    ``next_leadership`` is the target's. It is above the leadership that a process would take that
    opens the source now. So the switch either sees such a process or fences it.
    """

    leadership: Leadership
    next_leadership: Leadership
    upper: Timestamp
    target_rows: Rows


def _seal(
    source: CatalogLog,
    target: CatalogLog,
    oracle: TimestampOracle,
    deploy_generation: int,
    event: AuditEvent,
) -> _Sealed:
    """Lead the source, above the leaders of both logs, and seal it."""
    for _ in range(ATTEMPTS):
        epochs = [
            leader.epoch
            for leader in (source.leadership(), target.leadership())
            if leader is not None
        ]
        upper, rows = _read(source)
        header = read_header(rows)
        if header.version is None:
            raise CatalogUninitialized()
        require_version(header, exactly=False)
        epoch = max(header.epoch, *epochs) + 1
        leadership, next_leadership = (
            Leadership(epoch, deploy_generation) for epoch in (epoch, epoch + 2)
        )
        led = {**rows, **encode_rows([*leadership_objects(leadership), SEAL])}
        target_rows = {**without_seal(led), **encode_rows(leadership_objects(next_leadership))}
        target_rows |= audited(
            [CatalogUpdate(*row, value, upper, 1) for row, value in rows.items()], event
        )
        at = max(oracle.write_ts(CATALOG), upper)
        failpoint("catalog.convert.before_seal")
        try:
            source.lead(upper, Timestamp(at + 1), difference(rows, led, at), leadership)
        except UpperMismatch:
            continue
        failpoint("catalog.convert.after_seal")
        source.mirror(leadership)
        return _Sealed(leadership, next_leadership, Timestamp(at + 1), target_rows)
    raise CatalogError("the catalog cannot be led: other actors keep writing to it")


def _copy(sealed: _Sealed, target: CatalogLog, oracle: TimestampOracle) -> int:
    """Append the updates that give ``target`` the sealed contents. Returns how many."""
    upper, copied = _read(target)
    at = max(oracle.write_ts(CATALOG), upper, sealed.upper)
    updates = difference(copied, sealed.target_rows, at)
    failpoint("catalog.convert.before_copy")
    new_upper = Timestamp(at + 1)
    # both share the fence of one consensus, which is not raised before the switch
    if target.leadership() == sealed.leadership:
        leadership = sealed.leadership
        target.compare_and_append(upper, new_upper, updates, leadership)
    else:
        leadership = sealed.next_leadership
        target.lead(upper, new_upper, updates, leadership)
    oracle.apply_write(CATALOG, new_upper)
    failpoint("catalog.convert.after_copy")
    target.compact(new_upper, leadership)  # its earlier contents are not the source's history
    return len(updates)


def _read(log: CatalogLog) -> tuple[Timestamp, Rows]:
    """All contents, append-only kinds too. Raises ``CatalogCorrupt`` unless each object occurs
    once."""
    upper, objects = log.snapshot()
    _, events = log.snapshot(below=upper, only=APPEND_ONLY)
    return upper, rows_of(objects + events)
