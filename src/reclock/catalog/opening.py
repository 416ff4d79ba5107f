"""Opens a catalog for one process: leads it under a new epoch, joins its newest leader, follows it,
or mends it by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reclock.algebra.timestamps import Timestamp
from reclock.catalog.builtins import BuiltinObject
from reclock.catalog.durable import ATTEMPTS
from reclock.catalog.encoding import CatalogUpdate, Rows, difference, encode_rows, rows_of
from reclock.catalog.initial import CATALOG_VERSION
from reclock.catalog.log import CatalogLog
from reclock.catalog.mend import (
    Edit,
    Mended,
    audited,
    corrections,
    decide,
    edited,
    event_of,
    find_problem,
    read_leadership,
)
from reclock.catalog.objects import APPEND_ONLY, AuditEvent, Kind
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.catalog.timeline import CatalogTimeline
from reclock.catalog.upgrade import (
    Header,
    Upgrade,
    leadership_objects,
    load,
    read_header,
    require_version,
    upgrade,
)
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import CatalogError, CatalogSealed, CatalogUninitialized, UpperMismatch
from reclock.failpoints import failpoint


@dataclass(frozen=True, slots=True)
class Takeover:
    """The catalog right after opening raised its epoch, and the contents that it is to get next."""

    leadership: Leadership
    upper: Timestamp
    rows: Rows
    target: Upgrade


@dataclass
class CatalogOpening:
    """The ways to open the catalog in ``log``. ``lead`` takes an epoch above ``epoch_above``, the
    highest of processes that the log may not know."""

    log: CatalogLog
    timeline: CatalogTimeline
    deploy_generation: int
    epoch_above: int

    def lead(self, builtins: Sequence[BuiltinObject] | None) -> Takeover:
        """Raise the epoch once it is certain that the rest of opening can follow."""
        for _ in range(ATTEMPTS):
            upper, rows = self.read()
            header = read_header(rows)
            require_version(header, exactly=False)
            self._require_generation(header)
            leadership = Leadership(max(header.epoch, self.epoch_above) + 1, self.deploy_generation)
            led_rows: Rows = {**rows, **encode_rows(leadership_objects(leadership))}
            target = self._upgraded(led_rows, builtins)
            at = self.timeline.write_ts(upper)
            failpoint("catalog.open.before_epoch")
            try:
                self.log.lead(upper, Timestamp(at + 1), difference(rows, led_rows, at), leadership)
            except UpperMismatch:
                continue
            failpoint("catalog.open.after_epoch")
            self.log.mirror(leadership)
            failpoint("catalog.open.after_mirror")
            self.timeline.apply_write(Timestamp(at + 1))
            return Takeover(leadership, Timestamp(at + 1), led_rows, target)
        raise _contended()

    def upgrade(
        self, takeover: Takeover, builtins: Sequence[BuiltinObject] | None
    ) -> CatalogSnapshot:
        """Initialise, migrate and register builtins in one append, or in none if nothing is to
        change."""
        upper, rows, target = takeover.upper, takeover.rows, takeover.target
        for _ in range(ATTEMPTS):
            if target.rows is rows:
                return target.snapshot.at(upper)
            at = self.timeline.write_ts(upper)
            failpoint("catalog.open.before_contents")
            try:
                self.log.compare_and_append(
                    upper, Timestamp(at + 1), difference(rows, target.rows, at), takeover.leadership
                )
            except UpperMismatch:  # an actor joined the new epoch and was faster
                upper, rows = self.read()
                target = self._upgraded(rows, builtins)
                continue
            failpoint("catalog.open.after_contents")
            self.timeline.apply_write(Timestamp(at + 1))
            return target.snapshot.at(Timestamp(at + 1))
        raise _contended()

    def _upgraded(self, rows: Rows, builtins: Sequence[BuiltinObject] | None) -> Upgrade:
        """Raises as ``upgrade``. The audit log is read only if the catalog must be migrated."""
        version = read_header(rows).version
        if version is None or version == CATALOG_VERSION:
            return upgrade(rows, builtins)
        events = rows_of(self.log.snapshot(only={Kind.AUDIT_LOG})[1])
        return upgrade(rows, builtins, events=events)

    def join(self) -> tuple[CatalogSnapshot, Leadership]:
        """The catalog as its newest leader has it, and that leader's epoch."""
        upper, rows, header = self._read_to_follow()
        self._require_generation(header)
        if header.is_sealed:
            raise CatalogSealed()
        if header.deploy_generation != self.deploy_generation:
            raise CatalogError(
                (
                    f"the catalog is of deploy generation {header.deploy_generation}, "
                    f"this process of {self.deploy_generation}"
                ),
                hint="open the catalog with the new generation first",
            )
        snapshot = load(rows, upper)
        leadership = Leadership(header.epoch, self.deploy_generation)
        self.log.mirror(leadership)
        self.timeline.apply_write(upper)
        return snapshot, leadership

    def follow(self) -> CatalogSnapshot:
        """The catalog as of now, to read it."""
        upper, rows, _ = self._read_to_follow()
        snapshot = load(rows, upper)
        self.timeline.apply_write(upper)
        return snapshot

    def _read_to_follow(self) -> tuple[Timestamp, Rows, Header]:
        upper, rows = self.read()
        header = read_header(rows)
        if header.version is None:
            raise CatalogUninitialized()
        require_version(header, exactly=True)
        return upper, rows, header

    def is_current(self, builtins: Sequence[BuiltinObject] | None) -> bool:
        """Whether opening would change nothing but the epoch."""
        _, rows = self.read()
        header = read_header(rows)
        if header.version != CATALOG_VERSION or header.deploy_generation != self.deploy_generation:
            return False
        return upgrade(rows, builtins).rows is rows

    def check(self, builtins: Sequence[BuiltinObject] | None) -> CatalogSnapshot:
        """The catalog that opening would give. Raises as ``lead``."""
        _, rows = self.read()
        header = read_header(rows)
        if header.version is None:
            raise CatalogUninitialized()
        require_version(header, exactly=False)
        self._require_generation(header)
        return self._upgraded(rows, builtins).snapshot

    def mend(self, edit: Edit, *, user: str, occurred_at: Timestamp) -> Mended:
        """Carry out an edit by hand, under a new epoch."""
        leadership, event = self._lead_to_mend(edit, user, occurred_at)
        # the write that raised the epoch also made an edit of the epoch
        is_written = edit.row in encode_rows(leadership_objects(leadership))
        for _ in range(ATTEMPTS):
            upper, stored = self._read_stored(edit)
            problem = find_problem(stored) if is_written else decide(stored, edit)
            edited_rows = {} if is_written else {edit.row: edit.value}
            updates = corrections(
                stored,
                edited_rows | audited(edited(stored, edit), event),
                at := self.timeline.write_ts(upper),
            )
            failpoint("catalog.mend.before_append")
            try:
                self.log.compare_and_append(
                    upper, new_upper := _upper_after(updates, at), updates, leadership
                )
            except UpperMismatch:  # an actor joined the new epoch and was faster
                continue
            failpoint("catalog.mend.after_append")
            self.timeline.apply_write(new_upper)
            return Mended(leadership.epoch, problem)
        raise _contended()

    def _lead_to_mend(
        self, edit: Edit, user: str, occurred_at: Timestamp
    ) -> tuple[Leadership, AuditEvent]:
        """Raise the epoch once it is certain that the edit can follow. The new epoch is above the
        one that the log knows, too: the epoch among the objects may be lost."""
        for _ in range(ATTEMPTS):
            leader = self.log.leadership()
            upper, stored = self._read_stored(edit)
            decide(stored, edit)
            after = edited(stored, edit)
            audited(after, event := event_of(stored, edit, user=user, occurred_at=occurred_at))
            header = read_leadership(after)
            require_version(header, exactly=False)
            self._require_generation(header)
            epoch = max(header.epoch, leader.epoch if leader else 0) + 1
            leadership = Leadership(epoch, self.deploy_generation)
            updates = corrections(
                stored,
                encode_rows(leadership_objects(leadership)),
                at := self.timeline.write_ts(upper),
            )
            failpoint("catalog.mend.before_epoch")
            try:
                self.log.lead(upper, new_upper := _upper_after(updates, at), updates, leadership)
            except UpperMismatch:
                continue
            failpoint("catalog.mend.after_epoch")
            self.log.mirror(leadership)
            self.timeline.apply_write(new_upper)
            return leadership, event
        raise _contended()

    def _require_generation(self, header: Header) -> None:
        if (
            header.deploy_generation is not None
            and self.deploy_generation < header.deploy_generation
        ):
            newer = Leadership(header.epoch, header.deploy_generation)
            raise fence.fenced(Leadership(0, self.deploy_generation), newer)

    def read_header(self) -> Header:
        """The header as the log has it now."""
        return read_header(rows_of(self.log.snapshot(only={Kind.CONFIG})[1]))

    def read(self) -> tuple[Timestamp, Rows]:
        """The newest upper, and the rows below it."""
        upper, updates = self.log.snapshot()
        return upper, rows_of(updates)

    def _read_stored(self, edit: Edit) -> tuple[Timestamp, list[CatalogUpdate]]:
        """The upper and the sums as stored; events too if the edit is of an event or an id
        allocator."""
        upper, stored = self.log.snapshot()
        if edit.kind in APPEND_ONLY | {Kind.ID_ALLOCATOR}:
            stored = stored + self.log.snapshot(below=upper, only=APPEND_ONLY)[1]
        return upper, stored


def _upper_after(updates: Sequence[CatalogUpdate], at: Timestamp) -> Timestamp:
    """The upper after a write of ``updates``, or of none at ``at``."""
    return Timestamp(max((update.ts for update in updates), default=at) + 1)


def _contended() -> CatalogError:
    return CatalogError("the catalog cannot be opened: other actors keep writing to it")
