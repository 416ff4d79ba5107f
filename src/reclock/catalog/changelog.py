"""The durable catalog over any ``CatalogLog``: opening, the copy in memory, writing, fencing."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from reclock.algebra.timestamps import CATALOG, Clock, Timestamp
from reclock.catalog.builtins import BuiltinObject
from reclock.catalog.durable import ATTEMPTS, WAIT_MS, DurableCatalogState
from reclock.catalog.encoding import (
    CatalogUpdate,
    ObjectChange,
    decode_update,
    encode_change,
    rows_of,
)
from reclock.catalog.initial import CATALOG_VERSION
from reclock.catalog.kinds import key_order, spec_of
from reclock.catalog.log import Beside, CatalogLog
from reclock.catalog.mend import Edit, Mended
from reclock.catalog.objects import APPEND_ONLY, Kind
from reclock.catalog.opening import CatalogOpening
from reclock.catalog.readable import dump
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.catalog.subscription import CatalogSubscription
from reclock.catalog.timeline import CatalogTimeline
from reclock.catalog.transaction import CatalogTransaction
from reclock.catalog.upgrade import load, read_config, read_header
from reclock.consensus.database.waiting import InterruptibleLock, interruptible
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import (
    CatalogError,
    CatalogReadOnly,
    CatalogVersionUnsupported,
    NotReadable,
    ReclockError,
    StatementTimeout,
    UpperMismatch,
)
from reclock.failpoints import failpoint
from reclock.oracle.oracle import TimestampOracle

POLL_S = 0.01


class DurableCatalog(DurableCatalogState):
    """A catalog whose changelog is in ``log``. Its times come from the timeline ``"catalog"`` of
    ``oracle``."""

    def __init__(
        self,
        log: CatalogLog,
        *,
        oracle: TimestampOracle,
        clock: Clock,
        deploy_generation: int,
        epoch_above: int = 0,
    ) -> None:
        """``open`` leads under an epoch above ``epoch_above``, the highest of processes that the
        log may not know."""
        self._log = log
        self._timeline = CatalogTimeline(oracle)
        self._boot_ts = clock()
        self._opening = CatalogOpening(log, self._timeline, deploy_generation, epoch_above)
        self._lock = InterruptibleLock("waiting for the catalog")
        self._current: CatalogSnapshot | None = None
        self._leadership: Leadership | None = None
        self._is_closed = False

    # --- before it is open ---

    def is_initialized(self) -> bool:
        return self._opening.read_header().version is not None

    def deploy_generation(self) -> int | None:
        if self._current is not None:
            return self._current.config("deploy_generation")
        return self._opening.read_header().deploy_generation

    def dump(self) -> str:
        self._require_not_closed()
        upper, objects = self._log.snapshot()
        _, events = self._log.snapshot(below=upper, only=APPEND_ONLY)
        return dump(upper, objects + events)

    @property
    def boot_ts(self) -> Timestamp:
        return self._boot_ts

    def is_current(self, builtins: Sequence[BuiltinObject] | None = None) -> bool:
        return self._opening.is_current(builtins)

    # --- opening ---

    def open(self, builtins: Sequence[BuiltinObject] | None = None) -> None:
        with self._lock:
            self._require_unopened()
            takeover = self._opening.lead(builtins)
            self._current = self._opening.upgrade(takeover, builtins)
            self._leadership = takeover.leadership

    def join(self) -> None:
        with self._lock:
            self._require_unopened()
            self._current, self._leadership = self._opening.join()

    def open_read_only(self) -> None:
        with self._lock:
            self._require_unopened()
            self._current = self._opening.follow()

    def check_open(self, builtins: Sequence[BuiltinObject] | None = None) -> CatalogSnapshot:
        return self._opening.check(builtins)

    def mend(self, edit: Edit, *, user: str, occurred_at: Timestamp) -> Mended:
        with self._lock:
            self._require_unopened()
            return self._opening.mend(edit, user=user, occurred_at=occurred_at)

    def close(self) -> None:
        with self._lock:
            self._is_closed, self._current, self._leadership = True, None, None
            self._log.close()

    # --- leadership ---

    @property
    def epoch(self) -> int | None:
        if self._leadership is not None:
            return self._leadership.epoch
        return None if self._current is None else self._current.config("epoch")

    @property
    def leadership(self) -> Leadership:
        self._opened()
        if self._leadership is None:
            raise CatalogReadOnly()
        return self._leadership

    def confirm_leadership(self) -> None:
        with self._lock:
            self._require_leading(self.leadership, self.sync())

    # --- reading ---

    @property
    def upper(self) -> Timestamp:
        return self._opened().upper

    def snapshot(self) -> CatalogSnapshot:
        return self._opened()

    def sync(self) -> CatalogSnapshot:
        with self._lock:
            before = self._opened()
            try:
                upper, updates = self._log.updates(before.upper)
            except NotReadable:  # compacted since
                self._current = self._read_again()
                return self._current
            try:
                if upper < before.upper:
                    raise CatalogError(
                        f"the catalog went back from {before.upper} to {upper}",
                        hint="start the process again",
                    )
                if upper > before.upper:
                    self._current = before.apply(self._receive(upper, updates), upper)
            except CatalogError:
                # a restored store need not fit the copy in memory
                self._require_leadership_in_log()
                raise
            return self._opened()

    def _require_leadership_in_log(self) -> None:
        if self._leadership is not None:
            fence.require(self._leadership, self._log.leadership())

    @property
    def since(self) -> Timestamp:
        self._opened()
        return self._log.since()

    def snapshot_at(self, ts: Timestamp, *, timeout_ms: int = WAIT_MS) -> CatalogSnapshot:
        deadline = time.monotonic() + timeout_ms / 1000
        while True:
            latest = self._opened()
            if latest.upper >= ts or (latest := self.sync()).upper >= ts:
                return replace(latest, upper=ts) if latest.content_upper <= ts else self._as_of(ts)
            if time.monotonic() >= deadline:
                raise StatementTimeout(
                    timeout_ms, detail=f"the catalog's upper is {latest.upper}, waiting for {ts}"
                )
            time.sleep(POLL_S)

    def _as_of(self, ts: Timestamp) -> CatalogSnapshot:
        """The catalog at ``ts``, which lies below its upper, read from the store."""
        upper, updates = self._log.snapshot(below=ts)
        self._timeline.apply_write(upper)
        return load(rows_of(updates), ts)

    def subscribe_at(
        self, ts: Timestamp, *, only: Collection[Kind] | None = None
    ) -> CatalogSubscription:
        self._opened()
        return CatalogSubscription(self._log, ts, self._receive, only=only)

    def events(self, kind: Kind) -> list[Any]:
        self._opened()
        if kind not in APPEND_ONLY:
            raise CatalogError(f"objects of kind {kind} are not events")
        upper, updates = self._log.snapshot(only={kind})
        events = [change.object for change in self._receive(upper, updates)]
        return sorted(events, key=lambda event: key_order(spec_of(event).key_of(event)))

    # --- writing ---

    def transaction(self) -> CatalogTransaction:
        self.leadership  # noqa: B018 (raises unless this state may write)
        return CatalogTransaction(self._opened())

    @property
    def is_in_consensus(self) -> bool:
        return self._log.is_in_consensus

    def commit_transaction(self, tx: CatalogTransaction, beside: Beside | None = None) -> Timestamp:
        with self._lock:
            leadership = self.leadership
            changes = tx.changes()
            if not changes:
                return tx.base.upper
            for _ in range(ATTEMPTS):
                base = self._opened()
                if base.content_upper > tx.base.upper:
                    self._require_leading(leadership, base)
                    raise UpperMismatch(CATALOG, expected=tx.base.upper, found=base.upper)
                at = self._timeline.write_ts(base.upper)
                try:
                    self._append(
                        base.upper,
                        Timestamp(at + 1),
                        [replace(change, ts=at) for change in changes],
                        beside,
                    )
                except UpperMismatch:
                    # this state has caught up: only changed content is a conflict, not a moved
                    # upper
                    continue
                return Timestamp(at + 1)
            raise UpperMismatch(CATALOG, expected=tx.base.upper, found=self._opened().upper)

    def compare_and_append(
        self, expected_upper: Timestamp, new_upper: Timestamp, changes: Sequence[ObjectChange]
    ) -> None:
        self._append(expected_upper, new_upper, changes, None)

    def _append(
        self,
        expected_upper: Timestamp,
        new_upper: Timestamp,
        changes: Sequence[ObjectChange],
        beside: Beside | None,
    ) -> None:
        with self._lock:
            leadership = self.leadership
            base = self._opened()
            if base.upper < expected_upper:
                base = self.sync()
            if base.upper != expected_upper:
                self._require_leading(leadership, base)
                raise UpperMismatch(CATALOG, expected=expected_upper, found=base.upper)
            if new_upper <= expected_upper:
                raise CatalogError(
                    f"the catalog's upper cannot move from {expected_upper} to {new_upper}"
                )
            after = base.apply(changes, new_upper)  # raises before anything is durable
            failpoint("catalog.commit.before_append")
            try:
                self._log.compare_and_append(
                    expected_upper,
                    new_upper,
                    [encode_change(change) for change in changes],
                    leadership,
                    beside,
                )
            except UpperMismatch:
                self._require_leading(leadership, self.sync())
                raise
            failpoint("catalog.commit.after_append")
            with interruptible(None):  # it is committed: the statement must not fail any more
                self._timeline.apply_write(new_upper)
            self._current = after

    def compact(self, below: Timestamp) -> int:
        leadership = self.leadership
        return self._log.compact(min(below, self._log.upper()), leadership)

    # --- inside ---

    def _opened(self) -> CatalogSnapshot:
        self._require_not_closed()
        if self._current is None:
            raise CatalogError("the catalog is not open")
        return self._current

    def _require_not_closed(self) -> None:
        if self._is_closed:
            raise CatalogError("the catalog is closed")

    def _require_unopened(self) -> None:
        self._require_not_closed()
        if self._current is not None:
            raise CatalogError("the catalog is open already")

    def _require_leading(self, leadership: Leadership, snapshot: CatalogSnapshot) -> None:
        current = Leadership(
            snapshot.config("epoch") or 0, snapshot.config("deploy_generation") or 0
        )
        if current != leadership:
            raise fence.fenced(leadership, current)

    def _read_again(self) -> CatalogSnapshot:
        """Read the whole catalog at its newest upper. Raises as ``_receive``."""
        upper, rows = self._opening.read()
        if read_header(rows).version != CATALOG_VERSION:
            raise self._layout_changed()
        snapshot = load(rows, upper)
        self._timeline.apply_write(upper)
        return snapshot

    def _receive(self, upper: Timestamp, updates: Sequence[CatalogUpdate]) -> list[ObjectChange]:
        """Decode updates that were read at ``upper``. They are returned only after ``ApplyWrite``
        of that upper, so that no later read elsewhere misses them. Raises ``Fenced``
        (``CatalogVersionUnsupported`` if read-only) if they are of another layout."""
        new_config = {
            (u.kind, u.key): u.value for u in updates if u.kind == Kind.CONFIG and u.diff > 0
        }
        if read_config(new_config, "version") not in (None, CATALOG_VERSION):
            raise self._layout_changed()
        changes = [decode_update(update) for update in updates]
        self._timeline.apply_write(upper)
        return changes

    def _layout_changed(self) -> ReclockError:
        header, leadership = self._opening.read_header(), self._leadership
        current = Leadership(header.epoch, header.deploy_generation or 0)
        if leadership is not None and leadership != current:
            return fence.fenced(leadership, current)
        return CatalogVersionUnsupported(version=header.version or 0, supported=CATALOG_VERSION)
