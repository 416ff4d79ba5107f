"""What the formats of objects have in common: how new offsets are found, checked and read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Protocol

import pyarrow as pa

from reclock.connectors.objects.growth import Growth, ObjectReadTask
from reclock.connectors.objects.object_store import ListedObject
from reclock.connectors.objects.readings import ObjectEvidence
from reclock.reclocking.remap import BoundRange


class ObjectContents(Protocol):
    """The contents of the objects of a bucket, in one format. It is a value that is pickled and
    sent to executors."""

    counted: ClassVar[str]
    """What offsets count: ``bytes`` or ``rows``."""

    def has_data(self, key: str) -> bool:
        """Whether an object of this key has rows, and is no note that a writer leaves beside
        them."""

    def grow(self, listed: ListedObject, before: ObjectEvidence) -> Growth | None:
        """The growth of an object since ``before``, or None.

        Raises ``ObjectMissing``; ``UpstreamChanged`` if what is bound has changed; ``DecodeFailed``
        if what follows cannot be read.
        """

    def recall(
        self, listed: ListedObject, evidence: ObjectEvidence, ranges: Sequence[BoundRange]
    ) -> list[Growth]:
        """The growth for each of the ranges, which are all that is bound of the object, in order.
        Raises ``UpstreamChanged`` if they have changed."""

    def read(self, tasks: Sequence[ObjectReadTask]) -> Iterator[pa.Table]:
        """The rows of the splits, in order. Raises ``UnpublishedGone``, ``UpstreamChanged`` and
        ``DecodeFailed``."""

    def row_ranges(self, task: ObjectReadTask) -> Iterable[tuple[int, int]]:
        """The offsets of each row of a split, in the order in which ``read`` yields them. Raises
        ``UnpublishedGone`` and ``UpstreamChanged``."""
