"""The store of a catalog's changelog: the only part in which catalog implementations differ."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

import sqlalchemy as sa

from reclock.algebra.timestamps import Timestamp
from reclock.catalog.encoding import CatalogUpdate
from reclock.consensus.leadership.fence import Leadership

Beside = Callable[[sa.Connection], None]
"""Writes to consensus that are a part of the transaction that appends to the log. May be called
again if that is repeated."""


class CatalogLog(Protocol):
    """A durable changelog. Its upper only grows; no update is ever added at a time below it.

    Its since only grows too, and is never above the upper. Reads that begin at since or later are
    exact. A read that begins earlier raises ``NotReadable``, because updates that cancel each other
    may have been deleted there.

    Each read sees one consistent version. It returns the kinds that ``only`` names; None means all
    that are not append-only.
    """

    @property
    def is_in_consensus(self) -> bool:
        """Whether ``compare_and_append`` can be a part of a transaction of consensus."""
        ...

    def upper(self) -> Timestamp:
        """The current upper; 0 if nothing was ever appended."""
        ...

    def since(self) -> Timestamp:
        """The current since; 0 if nothing was ever compacted."""
        ...

    def leadership(self) -> Leadership | None:
        """The current leadership; None before the first ``lead``."""
        ...

    def snapshot(
        self, *, below: Timestamp | None = None, only: Collection[str] | None = None
    ) -> tuple[Timestamp, list[CatalogUpdate]]:
        """The upper, and the sum of all updates at times below ``below`` (the upper if None). The
        times of the returned updates mean nothing.

        Raises ``NotReadable`` if ``below`` is less than the log's since.
        """
        ...

    def updates(
        self, since: Timestamp, *, only: Collection[str] | None = None
    ) -> tuple[Timestamp, list[CatalogUpdate]]:
        """The upper, and every update at times in ``[since, upper)``. Raises ``NotReadable`` if the
        log's since is greater."""
        ...

    def compare_and_append(
        self,
        expected_upper: Timestamp,
        new_upper: Timestamp,
        updates: Sequence[CatalogUpdate],
        leadership: Leadership,
        beside: Beside | None = None,
    ) -> None:
        """Append all of ``updates``, whose times lie in ``[expected_upper, new_upper)``, and move
        the upper to ``new_upper``; or do nothing. With ``beside``, which only a log in consensus
        can have, the oracle learns of the upper in the same transaction.

        Raises ``Fenced`` if ``leadership`` is not the current one, ``UpperMismatch`` if the upper
        is not ``expected_upper``.
        """
        ...

    def lead(
        self,
        expected_upper: Timestamp,
        new_upper: Timestamp,
        updates: Sequence[CatalogUpdate],
        leadership: Leadership,
    ) -> None:
        """Append as ``compare_and_append`` does, and make ``leadership`` the current one, which
        fences every other.

        Raises ``Fenced`` if it is not above the current one, ``UpperMismatch`` as before.
        """
        ...

    def compact(self, below: Timestamp, leadership: Leadership) -> int:
        """Raise since to at least ``below``, and delete updates below it that cancel each other.
        Returns how many were deleted.

        Since is raised before anything is deleted. After an interruption, the next call deletes the
        rest. It may run beside readers, writers and other compactions; if it keeps losing races
        against them, it may leave updates for the next call. Raises ``Fenced`` if ``leadership`` is
        not the current one, ``CatalogError`` if ``below`` is greater than the upper.
        """
        ...

    def mirror(self, leadership: Leadership) -> None:
        """Once this returns, every write to consensus is checked against ``leadership`` or a newer
        one, even if the leader died before it could say so there. Raises ``Fenced`` if a newer one
        leads."""
        ...

    def close(self) -> None: ...
