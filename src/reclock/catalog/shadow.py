"""Shadow: two logs as one. Every call is made on both, and the results are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from itertools import zip_longest
from typing import TypeVar

from reclock.algebra.timestamps import Timestamp
from reclock.catalog.encoding import CatalogUpdate
from reclock.catalog.log import Beside, CatalogLog
from reclock.catalog.objects import APPEND_ONLY
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import (
    CatalogError,
    CatalogImplementationsDiffer,
    Fenced,
    NotReadable,
    UpperMismatch,
)
from reclock.failpoints import failpoint

T = TypeVar("T")

ATTEMPTS = 1000
"""How often other actors may come between two calls that belong together."""


class ShadowLog:
    """A ``CatalogLog`` that decides in ``primary`` and repeats in ``secondary``. Safe for threads
    and processes if they are.

    The primary's upper is the maximum of the two. A secondary can lag because another actor is
    between the two calls, or died there; then it gets the primary's updates and leadership. Any
    other difference raises ``CatalogImplementationsDiffer``.
    """

    def __init__(self, primary: CatalogLog, secondary: CatalogLog) -> None:
        self._primary = primary
        self._secondary = secondary

    @property
    def is_in_consensus(self) -> bool:
        return self._primary.is_in_consensus

    # --- reading ---

    def upper(self) -> Timestamp:
        return self._catch_up()

    def since(self) -> Timestamp:
        return max(self._primary.since(), self._secondary.since())

    def leadership(self) -> Leadership | None:
        return self._compared(
            "leadership", lambda log: log.leadership(), lambda leadership: [leadership]
        )

    def snapshot(
        self, *, below: Timestamp | None = None, only: Collection[str] | None = None
    ) -> tuple[Timestamp, list[CatalogUpdate]]:
        def comparable(result: tuple[Timestamp, list[CatalogUpdate]]) -> list[object]:
            return [result[0], *sorted((u.kind, u.key, u.value, u.diff) for u in result[1])]

        return self._compared(
            "snapshot", lambda log: log.snapshot(below=below, only=only), comparable
        )

    def updates(
        self, since: Timestamp, *, only: Collection[str] | None = None
    ) -> tuple[Timestamp, list[CatalogUpdate]]:
        def comparable(result: tuple[Timestamp, list[CatalogUpdate]]) -> list[object]:
            return [result[0], *_sorted(result[1])]

        return self._compared("updates", lambda log: log.updates(since, only=only), comparable)

    def _compared(
        self, call: str, read: Callable[[CatalogLog], T], comparable: Callable[[T], list[object]]
    ) -> T:
        """The result of both logs. A difference counts only if neither has moved meanwhile."""
        for _ in range(ATTEMPTS):
            upper = self._catch_up()
            first, second = read(self._primary), read(self._secondary)
            primary_result, secondary_result = comparable(first), comparable(second)
            if primary_result == secondary_result:
                return first
            if self._primary.upper() == self._secondary.upper() == upper:
                raise _differ(call, primary_result, secondary_result)
        raise CatalogError("the catalog cannot be read: other actors keep writing to it")

    # --- writing ---

    def compare_and_append(
        self,
        expected_upper: Timestamp,
        new_upper: Timestamp,
        updates: Sequence[CatalogUpdate],
        leadership: Leadership,
        beside: Beside | None = None,
    ) -> None:
        def append(log: CatalogLog) -> None:
            # the primary decides, so what is beside it is decided too
            together = beside if log is self._primary else None
            log.compare_and_append(expected_upper, new_upper, updates, leadership, together)

        self._on_both("compare_and_append", append, expected_upper, new_upper)

    def lead(
        self,
        expected_upper: Timestamp,
        new_upper: Timestamp,
        updates: Sequence[CatalogUpdate],
        leadership: Leadership,
    ) -> None:
        def lead(log: CatalogLog) -> None:
            log.lead(expected_upper, new_upper, updates, leadership)

        self._on_both("lead", lead, expected_upper, new_upper)

    def compact(self, below: Timestamp, leadership: Leadership) -> int:
        self._catch_up()
        deleted = self._primary.compact(below, leadership)
        failpoint("catalog.shadow.compact.between")
        self._catch_up()
        self._secondary.compact(below, leadership)
        return deleted

    def mirror(self, leadership: Leadership) -> None:
        self._primary.mirror(leadership)
        self._secondary.mirror(leadership)

    def close(self) -> None:
        self._primary.close()
        self._secondary.close()

    def _on_both(
        self, call: str, write: Callable[[CatalogLog], None], lower: Timestamp, upper: Timestamp
    ) -> None:
        self._catch_up()
        refused = _refusal(write, self._primary)
        failpoint(f"catalog.shadow.{call}.between")
        if refused is not None:
            self._catch_up()  # so that the secondary knows the reason of the primary's refusal
            also_refused = _refusal(write, self._secondary)
            if type(also_refused) is not type(refused) and type(also_refused) is not type(
                _refusal(write, self._primary)
            ):
                raise _differ(call, [refused], [also_refused])
            raise refused
        # it refuses if another actor has carried the write over already
        _refusal(write, self._secondary)
        self._catch_up()
        try:
            primary_updates, secondary_updates = (
                _between(log, lower, upper) for log in (self._primary, self._secondary)
            )
        except NotReadable:  # compacted meanwhile; the next read compares the results
            return
        if primary_updates != secondary_updates:
            raise _differ(call, primary_updates, secondary_updates)

    # --- reconciling ---

    def _catch_up(self) -> Timestamp:
        """Bring the secondary up to the primary. Returns their common upper. Several actors may do
        so at once, and repeat it."""
        for _ in range(ATTEMPTS):
            upper, behind = self._primary.upper(), self._secondary.upper()
            if behind == upper:
                return upper
            if behind > upper:
                if self._primary.upper() < behind:
                    raise _differ("upper", [upper], [behind])
                continue
            try:
                self._carry_over(behind)
            except (Fenced, NotReadable, UpperMismatch):
                continue  # another actor was faster
        raise CatalogError(
            "the catalog's implementations cannot be reconciled: other actors keep writing to it"
        )

    def _carry_over(self, behind: Timestamp) -> None:
        leadership = self._primary.leadership()
        upper, missing = self._missing_from(behind)
        if leadership is None or self._primary.leadership() != leadership:
            return  # another actor took the lead meanwhile: start again
        if self._secondary.leadership() == leadership:
            self._secondary.compare_and_append(behind, upper, missing, leadership)
        else:
            self._secondary.lead(behind, upper, missing, leadership)

    def _missing_from(self, behind: Timestamp) -> tuple[Timestamp, list[CatalogUpdate]]:
        """The primary's upper, and the updates that bring the secondary there from its upper
        ``behind``.

        If the primary was compacted beyond ``behind``, the first updates are just before the
        primary's since, and both logs have the same contents from there on. Raises ``NotReadable``
        if one of the two was compacted meanwhile.
        """
        since = self._primary.since()
        first = (
            [] if since <= behind else _difference(self._secondary, behind, self._primary, since)
        )
        upper, updates = self._primary.updates(max(since, behind))
        _, events = self._primary.updates(max(since, behind), only=APPEND_ONLY)
        return upper, [*first, *updates, *(event for event in events if event.ts < upper)]


def _difference(
    secondary: CatalogLog, lower: Timestamp, primary: CatalogLog, since: Timestamp
) -> list[CatalogUpdate]:
    """The updates just below ``since`` that turn the secondary's contents below ``lower`` into the
    primary's below ``since``."""
    sums: Counter[tuple[str, str, str]] = Counter()
    for log, bound, sign in ((secondary, lower, -1), (primary, since, 1)):
        for update in [
            *log.snapshot(below=bound)[1],
            *log.snapshot(below=bound, only=APPEND_ONLY)[1],
        ]:
            sums[update.kind, update.key, update.value] += sign * update.diff
    return [
        CatalogUpdate(*row, Timestamp(since - 1), diff)
        for row, diff in sorted(sums.items(), key=lambda of: of[1])
        if diff
    ]


def _refusal(write: Callable[[CatalogLog], None], log: CatalogLog) -> Fenced | UpperMismatch | None:
    try:
        write(log)
    except (Fenced, UpperMismatch) as refused:
        return refused
    return None


def _between(log: CatalogLog, lower: Timestamp, upper: Timestamp) -> list[CatalogUpdate]:
    updates = [*log.updates(lower)[1], *log.updates(lower, only=APPEND_ONLY)[1]]
    return _sorted([update for update in updates if update.ts < upper])


def _sorted(updates: Sequence[CatalogUpdate]) -> list[CatalogUpdate]:
    return sorted(updates, key=lambda u: (u.ts, u.diff, u.kind, u.key, u.value))


def _differ(
    call: str, primary: Sequence[object], secondary: Sequence[object]
) -> CatalogImplementationsDiffer:
    pairs = zip_longest(primary, secondary, fillvalue="nothing")
    first, second = next(
        ((first, second) for first, second in pairs if first != second), ("nothing", "nothing")
    )
    return CatalogImplementationsDiffer(call, primary=str(first), secondary=str(second))
