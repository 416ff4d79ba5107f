"""Moving a catalog from one changelog to another, whatever implementations they are.

The source is led once more and sealed in that same write: every actor is fenced, nobody joins, and so it stands still while it is
copied. What says which of the two is in force changes last. A conversion that died is begun again, over whatever it left; or it is
given up by opening the source, which breaks the seal and fences a conversion that still runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reclock.algebra.timestamps import CATALOG, Timestamp
from reclock.catalog.encoding import CatalogUpdate, Rows, difference, encode_rows, rows_of
from reclock.catalog.log import CatalogLog
from reclock.catalog.mend import audited
from reclock.catalog.objects import APPEND_ONLY, AuditEvent
from reclock.catalog.upgrade import SEAL, leadership_objects, read_header, require_version, without_seal
from reclock.consensus.fence import Leadership
from reclock.crashpoints import reach
from reclock.errors import CatalogError, CatalogUninitialized, UpperMismatch
from reclock.oracle.oracle import TimestampOracle

ATTEMPTS = 100


@dataclass(frozen=True, slots=True)
class Converted:
    """The target is in force, under ``epoch``; ``objects`` is how many it holds, ``updates`` how many it lacked."""

    epoch: int
    objects: int
    updates: int


def convert(
    source: CatalogLog,
    target: CatalogLog,
    switch: Callable[[Leadership], None],
    *,
    oracle: TimestampOracle,
    deploy_generation: int,
    event: AuditEvent,
) -> Converted:
    """Make ``target`` hold what ``source`` holds, and ``event`` in its audit log besides; then ``switch``.

    ``switch`` puts the target in force, in one transaction that raises ``Fenced`` if its argument does not lead any more. The target
    may hold anything before: an older copy, or a part of one; its times go on from the source's. Raises ``CatalogUninitialized``,
    ``CatalogVersionUnsupported``, ``CatalogCorrupt`` and ``Fenced``.
    """
    leadership, upper, wanted = _seal(source, target, oracle, deploy_generation, event)
    updates = _copy(target, wanted, leadership, oracle, after=upper)
    found = _read(target)[1]
    if found != wanted:
        row = next(row for row in sorted(found.keys() | wanted.keys()) if found.get(row) != wanted.get(row))
        raise CatalogError("the copy of the catalog is not what was copied", detail=f"the first difference is {' '.join(row)}")
    reach("catalog.convert.before_switch")
    switch(leadership)
    reach("catalog.convert.after_switch")
    return Converted(leadership.epoch, len(wanted), updates)


def _seal(
    source: CatalogLog, target: CatalogLog, oracle: TimestampOracle, deploy_generation: int, event: AuditEvent
) -> tuple[Leadership, Timestamp, Rows]:
    """Lead the source, above whoever led either log, and seal it; then its upper, and what the target is to hold."""
    for _ in range(ATTEMPTS):
        known = [leader.epoch for leader in (source.leadership(), target.leadership()) if leader is not None]
        upper, rows = _read(source)
        header = read_header(rows)
        if header.version is None:
            raise CatalogUninitialized()
        require_version(header, exactly=False)
        leadership = Leadership(max(header.epoch, *known) + 1, deploy_generation)
        led = {**without_seal(rows), **encode_rows(leadership_objects(leadership))}
        wanted = {**led, **audited([CatalogUpdate(*row, value, upper, 1) for row, value in led.items()], event)}
        at = max(oracle.write_ts(CATALOG), upper)
        reach("catalog.convert.before_seal")
        try:
            source.lead(upper, Timestamp(at + 1), difference(rows, {**led, **encode_rows([SEAL])}, at), leadership)
        except UpperMismatch:
            continue
        reach("catalog.convert.after_seal")
        source.mirror(leadership)
        return leadership, Timestamp(at + 1), wanted
    raise CatalogError("the catalog cannot be led: other actors keep writing to it")


def _copy(target: CatalogLog, wanted: Rows, leadership: Leadership, oracle: TimestampOracle, *, after: Timestamp) -> int:
    """Append what ``target`` lacks of ``wanted``, and take away what it has too much; how many updates that took."""
    upper, found = _read(target)
    at = max(oracle.write_ts(CATALOG), upper, after)
    updates = difference(found, wanted, at)
    reach("catalog.convert.before_copy")
    # logs in one consensus share its fence: there it is raised already
    append = target.compare_and_append if target.leadership() == leadership else target.lead
    append(upper, Timestamp(at + 1), updates, leadership)
    oracle.apply_write(CATALOG, Timestamp(at + 1))
    reach("catalog.convert.after_copy")
    return len(updates)


def _read(log: CatalogLog) -> tuple[Timestamp, Rows]:
    """Everything, append-only kinds too. Raises ``CatalogCorrupt`` unless each object is there once."""
    upper, kept = log.snapshot()
    _, events = log.snapshot(below=upper, only=APPEND_ONLY)
    return upper, rows_of(kept + events)
