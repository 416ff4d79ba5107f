"""Carries out the effects of an ingestion step on its upstream and on its source's collections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import uuid4

from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.collections.lake import Lake
from reclock.connectors.connector import (
    BlockedReason,
    Bound,
    Connector,
    FollowsReplacement,
    HasHistory,
    Increment,
    ReadsOnce,
    SupportsGuests,
)
from reclock.definitions.sources import SourceSpec
from reclock.errors import DecodeFailed
from reclock.ingest import effects, events
from reclock.ingest.claim_effects import ClaimEffects
from reclock.ingest.effects import Effect
from reclock.ingest.engines import Engines
from reclock.ingest.events import Event
from reclock.ingest.failures import decode_failure
from reclock.ingest.payload import Phase, Step
from reclock.ingest.reading import Reading
from reclock.ingest.source_collections import SourceCollections
from reclock.reclocking.mint import Binding


@dataclass(slots=True)
class SourceEffects:
    """Carries out one writer's effects on ``source``. Its outputs and its connector change when
    guests are added and dropped."""

    source: SourceSpec
    connector: Connector
    whole_connector: Connector
    """The connector with the failed outputs too, which a new snapshot may revive."""
    claim: ClaimEffects
    lake: Lake
    engines: Engines
    is_history: bool
    is_wanted: Callable[[], bool]
    now: Timestamp
    """The time allocated for this call, close to the wall clock."""
    _collections: SourceCollections | None = field(default=None, init=False)
    _upper: Timestamp = field(default=MINIMUM, init=False)
    _bound: Bound = field(default_factory=dict, init=False)
    """The bound state below ``_upper`` at the last look. It does not change while this writer holds
    the claim."""

    def perform(self, effect: Effect) -> Event | None:
        """Carry out one effect. Raises a ``SourceError`` if the upstream fails, and the errors of
        ``ClaimEffects.perform``."""
        match effect:
            case effects.ExamineSource(step):
                return self._examine(step)
            case effects.ProbeUpstream(step):
                return self._probe(step)
            case effects.RereadRanges(step):
                return events.RangesReread(tuple(self._reread(step)))
            case effects.WriteBindings(step, bindings):
                self._bind(step, bindings)
                return events.BindingsWritten()
            case effects.StageRows(step):
                tasks = self.connector.tasks(step.increments, step.decisions.skip)
                return events.RowsStaged(self._reading(step).stage(self.connector, tasks))
            case effects.ReadOnce(step):
                return self._read_once(step)
            case effects.SealFiles(step):
                assert step.staging is not None
                failed = self.collections.failed() if step.phase is Phase.PROBING else frozenset()
                return events.FilesSealed(self.collections.staged(step.staging), failed)
            case effects.DiscardStaged(staging):
                self.collections.discard_staged(staging)
                return None
            case _:
                return self.claim.perform(effect)

    @property
    def collections(self) -> SourceCollections:
        """The collections as of the last look."""
        assert self._collections is not None
        return self._collections

    def with_outputs(self, collections: SourceCollections) -> bool:
        """Use the outputs of ``collections`` from now on. Returns whether outputs were added or
        dropped."""
        self._collections = collections
        if collections.outputs.keys() == self.source.outputs.keys():
            return False
        assert isinstance(self.connector, SupportsGuests)
        outputs = {name: output.desc for name, output in collections.outputs.items()}
        self.source = replace(self.source, subsources=outputs)
        self.connector = self.connector.with_outputs(outputs)
        return True

    def _examine(self, step: Step | None) -> events.Examined:
        if step is not None:
            self.claim.keep_alive()
        has_new_outputs = self.with_outputs(SourceCollections.open(self.lake, self.source))
        self._upper, self._bound = self.collections.read_bound()
        is_resnapshot = step is not None and step.decisions.is_resnapshot
        must_read_once = isinstance(self.connector, ReadsOnce) and (
            is_resnapshot or self.connector.must_read_once(self._bound)
        )
        if step is None:
            return events.Examined(self._upper, must_read_once, has_new_outputs)
        new_staging = f"{step.at}-{uuid4().hex}"
        return events.Examined(
            self._upper, must_read_once, has_new_outputs, new_staging, self._error_stands(step)
        )

    def _error_stands(self, step: Step) -> bool:
        """Whether a record that failed to decode is still to be read. Its guest may be
        dropped."""
        error = decode_failure(step.error) if step.error is not None else None
        if not isinstance(error, DecodeFailed) or not isinstance(self.connector, SupportsGuests):
            return error is not None
        partitions = {record.partition for record in error.records}
        increments = [increment for increment in step.increments if increment.name in partitions]
        return bool(self.connector.tasks(increments, step.decisions.skip))

    def _probe(self, step: Step) -> events.Probed:
        upper = self._upper
        blocked: Mapping[str, BlockedReason] = {}
        if step.decisions.is_resnapshot:
            assert isinstance(self.connector, FollowsReplacement)
            return events.Probed(
                upper, tuple(self.connector.probe_anew(self._bound, step.decisions.skip))
            )
        if self.is_history:
            assert isinstance(self.connector, HasHistory)
            return events.Probed(
                upper, tuple(self.connector.probe_until(self._bound, step.at, step.decisions.skip))
            )
        if isinstance(self.connector, SupportsGuests):
            increments, blocked = self.connector.begin(self._bound, step.decisions.skip)
            if increments:
                return events.Probed(upper, tuple(increments), blocked)
        return events.Probed(
            upper, tuple(self.connector.probe(self._bound, step.decisions.skip)), blocked
        )

    def _reread(self, step: Step) -> list[Increment]:
        """The claimed increments as the upstream has them now, without those of which nothing
        remains."""
        increments: list[Increment] = []
        for claimed in step.increments:
            if not claimed.size or step.is_skipped(claimed):
                increments.append(claimed)
            elif (
                corrected := self.connector.reread(claimed, self._bound.get(claimed.partition))
            ) is not None:
                increments.append(corrected)
        return increments

    def _bind(self, step: Step, bindings: Sequence[Binding]) -> None:
        self.collections.check_frontier(step.increments, step.at)
        self.collections.bind(
            bindings, step.at, check_claim=self.claim.held_claim.renew, now=self.now
        )

    def _read_once(self, step: Step) -> events.RowsStaged:
        is_resnapshot = step.decisions.is_resnapshot
        connector = self.whole_connector if is_resnapshot else self.connector
        assert isinstance(connector, ReadsOnce)
        reading = self._reading(step)
        with connector.read_once(self._bound, step.decisions.skip, is_wanted=self.is_wanted) as (
            increments,
            tasks,
        ):
            outcome = reading.stage_as_they_come(connector, tasks)
        if is_resnapshot:
            reading.replace_outputs(outcome)
        return events.RowsStaged(outcome, tuple(increments))

    def _reading(self, step: Step) -> Reading:
        assert step.staging is not None
        options = self.lake.storage_options
        return Reading(self.source, step.at, step.staging, self.collections, options, self.engines)
