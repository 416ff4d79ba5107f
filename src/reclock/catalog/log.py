"""Where a catalog's implementations differ: the store of its changelog."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from reclock.algebra.timestamps import Timestamp
from reclock.catalog.encoding import CatalogUpdate
from reclock.consensus.leadership.fence import Leadership


class CatalogLog(Protocol):
    """A durable changelog with an upper that only grows: every update at a time below it is known, none will be added.

    Its since only grows too, and is never above the upper: reads that begin there or later are exact. Earlier updates that cancel
    may have been deleted, so a read that begins earlier raises ``NotReadable``.

    Reads answer one consistent moment. They give the kinds ``only`` names, or if None all that are not append-only.
    """

    def upper(self) -> Timestamp:
        """The newest upper; 0 if nothing was ever appended."""
        ...

    def since(self) -> Timestamp:
        """The newest since; 0 if nothing was ever compacted."""
        ...

    def leadership(self) -> Leadership | None:
        """The current one; None before the first ``lead``."""
        ...

    def snapshot(
        self, *, below: Timestamp | None = None, only: Collection[str] | None = None
    ) -> tuple[Timestamp, list[CatalogUpdate]]:
        """The upper, and the sum of all updates at times below ``below`` (the upper if None). Their own times mean nothing.

        Raises ``NotReadable`` if ``below`` is less than the log's since.
        """
        ...

    def updates(self, since: Timestamp, *, only: Collection[str] | None = None) -> tuple[Timestamp, list[CatalogUpdate]]:
        """The upper, and every update at times in ``[since, upper)``. Raises ``NotReadable`` if the log's since is greater."""
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

    def compact(self, below: Timestamp, leadership: Leadership) -> int:
        """The log's since is at least ``below`` when this returns, and updates below it that cancel are deleted; how many were.

        If it is interrupted, since is raised before anything is missing, and the next call deletes what is left. It may run beside
        readers, writers and other compactions; where others are faster all the time, updates may be left for the next call. Raises
        ``Fenced`` if ``leadership`` is not the current one, ``CatalogError`` if ``below`` is greater than the upper.
        """
        ...

    def mirror(self, leadership: Leadership) -> None:
        """Guarantees that every write to consensus is checked against ``leadership`` or a newer one, also if whoever led died on
        the way. Raises ``Fenced`` if a newer one leads."""
        ...

    def close(self) -> None: ...
