"""Claims of working writers: a thread renews the lease, so that nobody takes the claim over during
long work."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

import structlog

from reclock.consensus.frontiers.claims import Claim, Payload
from reclock.consensus.frontiers.groups import Frontiers
from reclock.errors import ClaimConflict, Fenced, ReclockError

_logger = structlog.get_logger(__name__)


class HeldClaim:
    """A claim whose lease is renewed within a ``with`` block. If a decision changes the claim
    meanwhile, the next ``amend`` raises ``ClaimConflict``."""

    def __init__(self, frontiers: Frontiers, group: str, claim: Claim, lease_ms: int) -> None:
        self._frontiers, self._group, self._lease_ms = frontiers, group, lease_ms
        self._claim = claim
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._renewal = threading.Thread(target=self._renew, name=f"lease-{group}", daemon=True)

    @property
    def claim(self) -> Claim:
        return self._claim

    def amend(self, payload: Payload, *, has_lease: bool = True) -> None:
        """Replace the payload, durably. Without a lease, any writer may take the claim over.

        Raises ``ClaimConflict`` if the claim belongs to another writer.
        """
        with self._lock:
            lease_ms = self._lease_ms if has_lease else 0
            self._claim = self._frontiers.amend(
                self._group, self._claim, payload, lease_ms=lease_ms
            )

    def renew(self) -> None:
        """Renew the lease. Raises ``ClaimConflict`` if the claim belongs to another writer."""
        self.amend(self._claim.payload)

    def release(self, payload: Payload) -> None:
        """Release the claim, with this payload, for the next writer. Does nothing if another writer
        has it already."""
        with self._lock:
            self._is_over.set()
            try:
                self._claim = self._frontiers.amend(self._group, self._claim, payload, lease_ms=0)
            except ClaimConflict as conflict:
                _logger.info(
                    "claim went to another writer", group=self._group, detail=conflict.detail
                )

    def abandon(self) -> None:
        """Remove the claim. Nothing may have been appended under it."""
        with self._lock:
            self._is_over.set()
            self._frontiers.abandon(self._group, self._claim)

    def __enter__(self) -> Self:
        self._renewal.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over.set()
        self._renewal.join()

    def _renew(self) -> None:
        while not self._is_over.wait(self._lease_ms / 3000):
            with self._lock:
                if self._is_over.is_set():
                    return
                try:
                    self._claim = self._frontiers.amend(
                        self._group, self._claim, self._claim.payload, lease_ms=self._lease_ms
                    )
                except (ClaimConflict, Fenced):
                    return  # the writer's next amendment fails
                except ReclockError as failure:  # the edge of a loop: consensus may be back in time
                    _logger.warning(
                        "lease could not be renewed", group=self._group, error=failure.message
                    )
