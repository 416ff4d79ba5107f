"""The durable catalog's interface. Implementations behave alike; one test suite runs over all."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Protocol

from reclock.algebra.timestamps import CATALOG, Timestamp
from reclock.catalog.builtins import BuiltinObject
from reclock.catalog.encoding import ObjectChange
from reclock.catalog.kinds import CatalogObject
from reclock.catalog.log import Beside
from reclock.catalog.mend import Edit, Mended
from reclock.catalog.objects import (
    AuditEvent,
    Kind,
    SkippedRange,
    StorageUsage,
    TimelineFloor,
)
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.catalog.subscription import CatalogSubscription
from reclock.catalog.transaction import CatalogTransaction
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import UpperMismatch

WAIT_MS = 60_000

ATTEMPTS = 100
"""How often a write that does not depend on other actors' writes is tried before it fails."""


class DurableCatalogState(Protocol):
    """A catalog that is created unopened, then opened once in one of three ways, then closed.

    ``open`` leads: it fences every other actor. ``join`` adds an actor to the current epoch.
    ``open_read_only`` only reads. ``check_open``, ``dump`` and ``mend`` need no open catalog.
    Safe for threads. Reads do no I/O, except ``sync``, ``snapshot_at``, subscriptions and those of
    append-only kinds.
    """

    # --- before it is open ---

    @abstractmethod
    def is_initialized(self) -> bool:
        """Whether the catalog has its initial contents, that is, its version object."""

    @abstractmethod
    def deploy_generation(self) -> int | None:
        """The generation that leads the catalog; None if nobody ever opened it. Works on any
        layout, and before this state is open."""

    @abstractmethod
    def dump(self) -> str:
        """All contents as stored, append-only kinds included, as readable JSON. Each key and value
        in it can be edited by hand and stored again; one that is not canonical JSON is shown as
        text. Works on any layout, on a broken catalog, and whether this state is open or not."""

    @property
    @abstractmethod
    def boot_ts(self) -> Timestamp:
        """When this state was created, by the injected clock."""

    @abstractmethod
    def is_current(self, builtins: Sequence[BuiltinObject] | None = None) -> bool:
        """Whether ``join`` suffices: the catalog is initialised, of this layout and generation, and
        has exactly these builtins (any builtins if None)."""

    # --- opening ---

    @abstractmethod
    def open(self, builtins: Sequence[BuiltinObject] | None = None) -> None:
        """Lead the catalog. One write raises the epoch. A second write initialises or migrates the
        catalog as needed and registers ``builtins``.

        A crash leaves the contents as before or as after. Every actor of an older epoch or
        generation fails at its next write. Raises, before anyone is fenced,
        ``CatalogVersionUnsupported`` for a newer layout, ``MigrationFailed``, ``CatalogCorrupt``,
        and ``Fenced`` if this process's deploy generation is lower than the catalog's.
        """

    @abstractmethod
    def join(self) -> None:
        """Become an actor of the current epoch without writing.

        Raises ``CatalogUninitialized``, ``CatalogVersionUnsupported`` (also if the catalog must be
        migrated), ``CatalogSealed``, ``Fenced`` if this process is of a lower deploy generation,
        and ``CatalogError`` if it is of a higher one: then it must ``open``.
        """

    @abstractmethod
    def open_read_only(self) -> None:
        """Read the catalog and follow it; every write raises ``CatalogReadOnly``. Raises as
        ``join``, except that any generation may read, and a sealed catalog can be read."""

    @abstractmethod
    def check_open(self, builtins: Sequence[BuiltinObject] | None = None) -> CatalogSnapshot:
        """What the catalog would hold once opened, at no particular upper. Changes nothing in the
        store or in this state, and disturbs no other actor.

        Raises what ``open`` would raise, or ``CatalogUninitialized``.
        """

    @abstractmethod
    def mend(self, edit: Edit, *, user: str, occurred_at: Timestamp) -> Mended:
        """Lead the catalog as it is, in its layout and even if broken, for this edit by hand alone.
        One write raises the epoch, which fences every other actor. A second write makes the edit
        and records it in the audit log. This state stays unopened.

        A catalog that could be opened can be opened afterwards. Raises what ``mend.decide`` and
        ``mend.audited`` raise, ``CatalogVersionUnsupported`` and ``Fenced``, all before anyone is
        fenced.
        """

    @abstractmethod
    def close(self) -> None:
        """Release what this state holds. It cannot be used afterwards."""

    # --- leadership ---

    @property
    @abstractmethod
    def epoch(self) -> int | None:
        """The fencing token of this state; None before it is open. No two states lead under the
        same one."""

    @property
    @abstractmethod
    def leadership(self) -> Leadership:
        """The epoch and deploy generation that this state writes under. Raises ``CatalogError``
        unless it is open, ``CatalogReadOnly`` if it only reads."""

    @abstractmethod
    def confirm_leadership(self) -> None:
        """Read the store. Raises ``Fenced`` if another epoch or generation leads the catalog
        now."""

    # --- reading ---

    @property
    @abstractmethod
    def upper(self) -> Timestamp:
        """The copy in memory is complete below this time."""

    @property
    @abstractmethod
    def since(self) -> Timestamp:
        """The earliest time that ``snapshot_at`` and ``subscribe_at`` can surely read; asks the
        store."""

    @abstractmethod
    def snapshot(self) -> CatalogSnapshot:
        """The copy in memory."""

    @abstractmethod
    def sync(self) -> CatalogSnapshot:
        """Catch up with the store. The result holds every change that was committed before the
        call. Raises ``Fenced`` if the catalog has meanwhile been migrated to another layout."""

    @abstractmethod
    def snapshot_at(self, ts: Timestamp, *, timeout_ms: int = WAIT_MS) -> CatalogSnapshot:
        """The catalog at ``ts``: every update below ``ts`` and none at a later time. Waits until
        the upper is at least ``ts``, or raises ``StatementTimeout``. Raises ``NotReadable`` if the
        catalog was compacted beyond ``ts``."""

    @abstractmethod
    def subscribe_at(
        self, ts: Timestamp, *, only: Collection[Kind] | None = None
    ) -> CatalogSubscription:
        """First the catalog at ``ts`` (every update below it, exactly), then every update from
        there on.

        ``only`` names the kinds; None means all that are not append-only. Polling raises
        ``NotReadable`` if the catalog was compacted beyond the last batch; then the subscriber has
        to start again.
        """

    @abstractmethod
    def events(self, kind: Kind) -> list[Any]:
        """Every object of an append-only kind, from the store, in order of its id."""

    # --- writing ---

    @abstractmethod
    def transaction(self) -> CatalogTransaction:
        """A transaction on the copy in memory. Raises ``CatalogReadOnly``."""

    @property
    @abstractmethod
    def is_in_consensus(self) -> bool:
        """Whether ``commit_transaction`` can write ``beside`` the catalog."""

    @abstractmethod
    def commit_transaction(self, tx: CatalogTransaction, beside: Beside | None = None) -> Timestamp:
        """Commit all of ``tx`` or nothing. Returns the upper from which on its changes are visible.
        A transaction without changes writes nothing.

        What is written ``beside`` is committed together with the changes, and becomes visible at
        the same moment.

        Raises ``UpperMismatch`` if another actor changed the catalog since ``tx`` began: this state
        has caught up then, and the caller decides again on a new transaction. Raises ``Fenced``,
        and what ``CatalogTransaction.changes`` raises.
        """

    @abstractmethod
    def compare_and_append(
        self, expected_upper: Timestamp, new_upper: Timestamp, changes: Sequence[ObjectChange]
    ) -> None:
        """Append ``changes``, whose times lie in ``[expected_upper, new_upper)``, and move the
        upper, iff it is ``expected_upper``. Success implies ``ApplyWrite("catalog", new_upper)``.

        Raises ``UpperMismatch`` (this state has caught up then), ``Fenced``, ``CatalogCorrupt`` if
        the changes do not fit the contents.
        """

    @abstractmethod
    def compact(self, below: Timestamp) -> int:
        """Forget the history before ``below``, or before the upper if that is less. Deletes updates
        that cancel each other, and returns how many.

        Actors that are behind read the whole catalog at their next ``sync``. Compaction may run
        beside everything else, and may be interrupted. Raises ``CatalogReadOnly`` and ``Fenced``.
        """

    # Targeted writes, which retry if another actor wrote in between.

    def put(self, objects: Iterable[CatalogObject]) -> None:
        """Each object replaces the one with its key, or is added."""
        objects = tuple(objects)
        self._write(lambda tx: tx.put_all(objects))

    def add_skipped_ranges(self, ranges: Sequence[SkippedRange]) -> None:
        """Store these ranges of one source, unless the source is gone."""

        def add(tx: CatalogTransaction) -> None:
            tx.put_all(skipped for skipped in ranges if skipped.source_id in tx.snapshot.items)

        self._write(add)

    def set_timestamps(self, floors: Sequence[TimelineFloor]) -> None:
        """Raise the floors of timelines. A floor that is already higher stays."""

        def raise_floors(tx: CatalogTransaction) -> None:
            for floor in floors:
                current: TimelineFloor | None = tx.snapshot.get(Kind.TIMESTAMP, floor.timeline)
                if current is None or current.floor < floor.floor:
                    tx.put(floor)

        self._write(raise_floors)

    def _write(self, decide: Callable[[CatalogTransaction], None]) -> None:
        for _ in range(ATTEMPTS):
            tx = self.transaction()
            decide(tx)
            try:
                self.commit_transaction(tx)
            except UpperMismatch:
                continue
            return
        raise UpperMismatch(CATALOG, expected=tx.base.upper, found=self.upper)

    # --- accessors ---

    def get_audit_logs(self) -> list[AuditEvent]:
        return self.events(Kind.AUDIT_LOG)

    def get_storage_usages(self) -> list[StorageUsage]:
        return self.events(Kind.STORAGE_USAGE)

    def get_skipped_ranges(self) -> list[SkippedRange]:
        return self.snapshot().sorted(Kind.SKIPPED_RANGE)

    def get_timestamps(self) -> list[TimelineFloor]:
        return self.snapshot().sorted(Kind.TIMESTAMP)
