"""Emitting: writes the changes of a relation to the sink's target, time by time, each exactly once.

The target decides what is written: progress is read from it, and committed with the changes. The
claim of the sink's frontier group decides which process writes. The group's *upper* is the time up
to which the relation was read, and its *since* is the last known progress of the target. A target
with less progress is not the one that was written.

After ALTER SINK, the group begins with a claim for the *switch* (see `Frontiers.replace`): at the
first time from the claim's on, the target's rows become those of the new relation. Until then the
target has no progress beyond the claim's time, and holds rows of the previous relation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
import structlog

from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.collections.consolidate import consolidate_rows
from reclock.collections.schema import shown_schema, with_field_names
from reclock.consensus.frontiers.claims import SWITCH, Claim, GroupFrontier
from reclock.consensus.frontiers.groups import Frontiers
from reclock.consensus.frontiers.holds import ReadHolds
from reclock.consensus.frontiers.input_holds import advance_input_holds, hold_inputs
from reclock.definitions.sinks import SinkSpec
from reclock.errors import ReclockError, TargetChanged, quoted_name
from reclock.failpoints import failpoint
from reclock.ingest.lease import HeldClaim
from reclock.plan.relational import collections
from reclock.protocol.compute import Emitted
from reclock.sinks.changes import ChangeReader, SinkChanges, TimeRange, by_time, changes_schema
from reclock.sinks.target import Writer

_logger = structlog.get_logger(__name__)

Stream = Callable[[TimeRange], pa.RecordBatchReader]


@dataclass(frozen=True, slots=True)
class Emitter:
    """Emits sinks with the stores of one environment, as ``owner``."""

    frontiers: Frontiers
    holds: ReadHolds
    reader: ChangeReader
    open: Callable[[SinkSpec], Writer]
    owner: str
    lease_ms: int

    def emit(self, sink: SinkSpec, at: Timestamp) -> Emitted:
        """Bring the target up to ``at``, or as far as the sink's inputs are complete. Repeating it
        changes nothing. If nothing changed, the target is not contacted.

        Raises ``ClaimConflict`` while another process emits, ``SinkError``, and the error of the
        relation's query at the newest times; changes before them are in the target then. Times with
        an error that lie before a time without one are skipped.
        """
        groups = {id.group for id in collections(sink.plan)}
        hold_inputs(sink.id, groups, self.frontiers, self.holds)
        claim = self.frontiers.take_over(sink.id, owner=self.owner, lease_ms=self.lease_ms)
        inputs = self.frontiers.get_all(groups).values()
        through = min([at, *(Timestamp(frontier.upper - 1) for frontier in inputs)])
        if claim is not None and not _is_switch(claim):  # inputs were complete there already
            through = max(through, claim.at)
        frontier = self.frontiers.get(sink.id)
        if claim is not None and _is_switch(claim):
            # the holds stay where they are until the sink has switched
            begin = max([claim.at, *(hold.at for hold in self.holds.owned_by(sink.id))])
            pending = TimeRange(begin, Timestamp(through + 1), with_snapshot=True)
        else:
            readable_from = max((frontier.since for frontier in inputs), default=Timestamp(0))
            pending = _range(sink, frontier, readable_from, through)
        emitted, error = Emitted(sink.name, frontier.upper), None
        if pending.upper > pending.lower:
            changes = self.reader.changes(sink, pending)
            error = changes.error
            if claim is not None and not _is_switch(claim) and changes.range.upper <= claim.at:
                self.frontiers.abandon(sink.id, claim)
                claim = None
            if changes.range.upper > changes.range.lower:
                emitted = self._emit(sink, frontier, changes, claim)
                claim = None
        if claim is not None:
            self.frontiers.amend(sink.id, claim, claim.payload, lease_ms=0)
        else:
            advance_input_holds(sink.id, groups, self.frontiers, self.holds)
        if error is not None:
            raise error
        return emitted

    def _emit(
        self, sink: SinkSpec, frontier: GroupFrontier, changes: SinkChanges, claim: Claim | None
    ) -> Emitted:
        """Write ``changes`` to the target; under ``claim``, if there is one."""
        pending = changes.range
        if claim is None and not changes.times:
            self.frontiers.advance_idle([sink.id], pending.upper)
            return Emitted(sink.name, pending.upper)
        if claim is None:
            at, payload = Timestamp(pending.upper - 1), {"kind": "emit", "sink": sink.id}
            claim = self.frontiers.claim(
                sink.id, at=at, payload=payload, owner=self.owner, lease_ms=self.lease_ms
            )
        with HeldClaim(self.frontiers, sink.id, claim, self.lease_ms) as held:
            failpoint("sinks.emit.after_claim")
            return self._write(sink, frontier, pending, changes.stream, held)

    def _write(
        self,
        sink: SinkSpec,
        frontier: GroupFrontier,
        pending: TimeRange,
        stream: Stream,
        held_claim: HeldClaim,
    ) -> Emitted:
        """Write everything in ``pending`` that the target does not have, and publish. After an
        error, release the claim."""
        try:
            with closing(self.open(sink)) as writer:
                progress = writer.begin()
                _check(sink, frontier, progress)
                failpoint("sinks.emit.begun")
                base: pa.Table | None = None
                if progress is not None and progress > pending.needs:
                    pending = TimeRange(
                        max(progress, pending.lower), pending.upper, with_snapshot=False
                    )
                elif _is_switch(held_claim.claim) and (
                    progress is not None or not sink.with_snapshot
                ):
                    base = self._previous_rows(sink, frontier, progress)
                commits = changes = size = 0
                for time, changed in (
                    _times(stream(pending), sink.desc, pending)
                    if pending.upper > pending.lower
                    else ()
                ):
                    if base is not None:
                        changed, base = _difference(changed, base), None
                    held_claim.amend(held_claim.claim.payload)  # still ours?
                    written = writer.emit(time, _with_field_names(changed, sink.desc))
                    changes, size = changes + written.changes, size + written.bytes
                    commits, progress = commits + 1, Timestamp(time + 1)
                    failpoint("sinks.emit.committed")
        except BaseException:
            self._give_up(sink, held_claim)
            raise
        self.frontiers.publish(
            {sink.id: held_claim.claim}, pending.upper, since=progress or frontier.since
        )
        failpoint("sinks.emit.published")
        return Emitted(sink.name, pending.upper, commits, changes, size)

    def _previous_rows(
        self, sink: SinkSpec, frontier: GroupFrontier, progress: Timestamp | None
    ) -> pa.Table:
        """The rows of the sink's previous relation that the target holds, each with its count. The
        relation did not change between the target's progress and the upper of the frontier."""
        assert sink.previous is not None
        at = max(
            frontier.since if progress is None else Timestamp(progress - 1),
            Timestamp(frontier.upper - 1),
        )
        previous = replace(sink, plan=sink.previous.plan, indexes=sink.previous.indexes)
        changes = self.reader.changes(
            previous, TimeRange(at, Timestamp(at + 1), with_snapshot=True)
        )
        if changes.error is not None:
            raise changes.error
        rows = [rows.read_all() for _, rows in by_time(changes.stream(changes.range), sink.desc)]
        return pa.concat_tables([changes_schema(sink.desc).empty_table(), *rows])

    def _give_up(self, sink: SinkSpec, held_claim: HeldClaim) -> None:
        """Release the claim, so that the next attempt need not wait for the lease. The target
        itself refuses an outdated writer."""
        try:
            if _is_switch(held_claim.claim):
                held_claim.release(held_claim.claim.payload)
            else:
                held_claim.abandon()
        except ReclockError as failure:
            _logger.info("claim of a sink was not given back", sink=sink.name, error=str(failure))


def _with_field_names(changes: pa.RecordBatchReader, desc: RelationDesc) -> pa.RecordBatchReader:
    shown = shown_schema(desc).append(changes.schema.field(DIFF_COLUMN))
    if shown.types == changes.schema.types:
        return changes
    return pa.RecordBatchReader.from_batches(
        shown, (with_field_names(batch, shown) for batch in changes)
    )


def _is_switch(claim: Claim) -> bool:
    """Whether this claim must end with the target's rows replaced by those of another relation."""
    return bool(claim.payload["kind"] == SWITCH)


def _difference(rows: pa.RecordBatchReader, base: pa.Table) -> pa.RecordBatchReader:
    """The changes that lead from ``base`` to ``rows``. Both have counts in ``mz_diff``."""
    position = base.schema.get_field_index(DIFF_COLUMN)
    deletions = base.set_column(
        position, base.schema.field(position), pc.negate(base.column(DIFF_COLUMN))
    )
    updates = pa.concat_tables([rows.read_all(), deletions])
    columns = pa.schema(base.schema).remove(position)
    at = Timestamp(0)
    timed = updates.append_column(TIME_COLUMN, pa.repeat(pa.scalar(int(at)), len(updates)))
    return consolidate_rows(timed, columns, at).to_reader()


def _range(
    sink: SinkSpec, frontier: GroupFrontier, readable_from: Timestamp, through: Timestamp
) -> TimeRange:
    """The range to emit, if the target has what the frontier says."""
    upper = Timestamp(through + 1)
    if frontier.upper > sink.created_at:
        return TimeRange(frontier.upper, upper, with_snapshot=False)
    begin = max(sink.created_at, readable_from)
    if sink.with_snapshot:
        return TimeRange(begin, upper, with_snapshot=True)
    return TimeRange(Timestamp(begin + 1), upper, with_snapshot=False)


def _times(
    updates: pa.RecordBatchReader, desc: RelationDesc, pending: TimeRange
) -> Iterator[tuple[Timestamp, pa.RecordBatchReader]]:
    """The changes of each time. A snapshot comes first, even if it is empty."""
    batches = by_time(updates, desc)
    first = next(batches, None)
    if pending.with_snapshot and (first is None or first[0] != pending.lower):
        yield pending.lower, changes_schema(desc).empty_table().to_reader()
    if first is not None:
        yield first
    yield from batches


def _check(sink: SinkSpec, frontier: GroupFrontier, progress: Timestamp | None) -> None:
    """Raises ``TargetChanged`` if the target has less progress than it had before."""
    if (progress if progress is not None else sink.created_at) < frontier.since:
        progress_text = "nothing" if progress is None else f"everything below {progress}"
        raise TargetChanged(
            f"the target of sink {quoted_name(sink.name)} has lost what was written to it",
            detail=f"it had everything below {frontier.since}, and has {progress_text}",
        )
