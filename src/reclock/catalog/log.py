"""Where a catalog's implementations differ: the store of its changelog."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from reclock.algebra.timestamps import Timestamp
from reclock.catalog.encoding import CatalogUpdate
from reclock.consensus.fence import Leadership


class CatalogLog(Protocol):
    """A durable changelog with an upper that only grows: every update at a time below it is known, none will be added.

    Reads answer one consistent moment. They give the kinds ``only`` names, or if None all that are not append-only.
    """

    def upper(self) -> Timestamp:
        """The newest upper; 0 if nothing was ever appended."""
        ...

    def leadership(self) -> Leadership | None:
        """The current one; None before the first ``lead``."""
        ...

    def snapshot(
        self, *, below: Timestamp | None = None, only: Collection[str] | None = None
    ) -> tuple[Timestamp, list[CatalogUpdate]]:
        """The upper, and the sum of all updates at times below ``below`` (the upper if None). Their own times mean nothing."""
        ...

    def updates(self, since: Timestamp, *, only: Collection[str] | None = None) -> tuple[Timestamp, list[CatalogUpdate]]:
        """The upper, and every update at times in ``[since, upper)``."""
        ...

    def compare_and_append(
        self, expected_upper: Timestamp, new_upper: Timestamp, updates: Sequence[CatalogUpdate], leadership: Leadership
    ) -> None:
        """Append all of ``updates``, whose times lie in ``[expected_upper, new_upper)``, and move the upper; or do nothing.

        Raises ``Fenced`` if ``leadership`` is not the current one, ``UpperMismatch`` if the upper is not ``expected_upper``.
        """
        ...

    def lead(
        self, expected_upper: Timestamp, new_upper: Timestamp, updates: Sequence[CatalogUpdate], leadership: Leadership
    ) -> None:
        """The same, and ``leadership`` becomes the current one, which fences every other.

        Raises ``Fenced`` if it is not above the current one, ``UpperMismatch`` as before.
        """
        ...

    def mirror(self, leadership: Leadership) -> None:
        """Guarantees that every write to consensus is checked against ``leadership`` or a newer one, also if whoever led died on
        the way. Raises ``Fenced`` if a newer one leads."""
        ...

    def close(self) -> None: ...
