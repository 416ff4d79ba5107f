"""Carries out the effects of an ingestion step on its claim: claim, save, take over, release,
commit, publish."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from reclock.algebra.ids import GlobalId
from reclock.collections.lake import Lake
from reclock.connectors.connector import Skip
from reclock.consensus.frontiers.claims import Claim
from reclock.consensus.frontiers.groups import Frontiers
from reclock.definitions.sources import SourceSpec
from reclock.errors import InternalError, quoted_name
from reclock.failpoints import failpoint
from reclock.ingest import effects, events
from reclock.ingest.effects import Effect
from reclock.ingest.events import Event
from reclock.ingest.lease import HeldClaim
from reclock.ingest.payload import Step
from reclock.ingest.source_collections import SourceCollections

RecordSkips = Callable[[GlobalId, Sequence[Skip]], None]
"""Stores durably that these bound offsets of a source were given up. It may be called again with
the same."""


class ClaimEffects:
    """Carries out effects on the claim of one source for ``owner``. At the end of the ``with``
    block, it stops renewing the lease."""

    def __init__(
        self,
        source: SourceSpec,
        owner: str,
        *,
        frontiers: Frontiers,
        lake: Lake,
        lease_ms: int,
        record_skips: RecordSkips | None = None,
    ) -> None:
        """Only a writer that never commits needs no ``record_skips``."""
        self._source, self._owner = source, owner
        self._frontiers, self._lake, self._lease_ms = frontiers, lake, lease_ms
        self._record_skips = record_skips
        self._held_claim: HeldClaim | None = None
        self._opened: SourceCollections | None = None
        self._renewals = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._renewals.close()

    @property
    def held_claim(self) -> HeldClaim:
        if self._held_claim is None:
            raise InternalError(
                f'"{self._owner}" holds no claim of {quoted_name(self._source.name)}'
            )
        return self._held_claim

    def hold(self, claim: Claim) -> None:
        """Continue under a claim that this writer has taken over."""
        self._held_claim = HeldClaim(self._frontiers, self._source.id, claim, self._lease_ms)

    def keep_alive(self) -> None:
        """Renew the lease from now on, so that nobody takes the claim over during long work."""
        self._renewals.enter_context(self.held_claim)

    def inspect(self) -> events.Inspected | None:
        """The claimed step, without taking it over; None without a claim."""
        claim = self._frontiers.get(self._source.id).claim
        if claim is None:
            return None
        return events.Inspected(
            Step.from_payload(claim.payload), self._collections().is_committed(claim.at)
        )

    def perform(self, effect: Effect) -> Event | None:
        """Carry out one effect. Raises ``ClaimConflict`` if the claim belongs to another writer,
        ``UpperMismatch`` if the time of a new claim has passed."""
        match effect:
            case effects.Failpoint(name):
                failpoint(name)
            case effects.TakeOverClaim():
                return self._take_over()
            case effects.ClaimGroup(step, has_lease):
                self.hold(self._claim(step, self._lease_ms if has_lease else 0))
            case effects.SaveStep(step, has_lease):
                self.held_claim.amend(step.to_payload(), has_lease=has_lease)
            case effects.ReleaseClaim(step):
                self.held_claim.release(step.to_payload())
            case effects.AbandonClaim():
                self.held_claim.abandon()
            case effects.RecordSkips(step):
                assert self._record_skips is not None
                self._record_skips(self._source.id, step.skipped)
            case effects.CommitRows(step):
                self._collections().commit(
                    step.staged, step.increments, step.at, step.failed, step.revived
                )
                return events.RowsCommitted()
            case _:
                raise InternalError(f"no claim has to do with {effect}")
        return None

    def _take_over(self) -> Event:
        claim = self._frontiers.take_over(
            self._source.id, owner=self._owner, lease_ms=self._lease_ms
        )
        if claim is None:
            return events.GroupUnclaimed()
        self.hold(claim)
        step, collections = Step.from_payload(claim.payload), self._collections()
        return events.TakenOver(
            step, collections.is_committed(claim.at), collections.begun_by(step.increments)
        )

    def _claim(self, step: Step, lease_ms: int) -> Claim:
        payload = step.to_payload()
        return self._frontiers.claim(
            self._source.id, at=step.at, payload=payload, owner=self._owner, lease_ms=lease_ms
        )

    def _collections(self) -> SourceCollections:
        if self._opened is None:
            self._opened = SourceCollections.open(self._lake, self._source)
        return self._opened
