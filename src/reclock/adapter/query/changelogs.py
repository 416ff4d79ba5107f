"""The updates of collections, read from their Delta tables and, for tables, from the write-ahead
log too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from reclock.algebra.ids import CollectionType, StorageCollectionId
from reclock.algebra.relations import TIME_COLUMN
from reclock.algebra.timestamps import Timestamp
from reclock.collections.consolidate import advance_updates, stream_changes
from reclock.collections.schema import arrow_schema
from reclock.collections.tables import Tables
from reclock.collections.version import Version
from reclock.compute.maintenance import change_times
from reclock.errors import NotReadable, VersionGone
from reclock.runtime.environment import Environment

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Changelogs:
    """The changelogs of an environment's collections. The caller holds the collections at the times
    it reads."""

    environment: Environment

    def times(
        self, ids: Iterable[StorageCollectionId], lower: Timestamp, upper: Timestamp
    ) -> list[Timestamp]:
        """The times in ``[lower, upper)`` at which any of the collections has updates."""
        times: set[Timestamp] = set()
        for id in ids:
            times |= set(self._retried(id, partial(self._times, id, lower, upper)))
        return sorted(times)

    def updates(
        self,
        id: StorageCollectionId,
        lower: Timestamp,
        upper: Timestamp,
        *,
        with_snapshot: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """The updates at times in ``[lower, upper)``, consolidated. ``with_snapshot`` adds all
        earlier ones, advanced to ``lower``.

        The columns are the collection's, ``mz_timestamp`` and ``mz_diff``. Memory holds a batch and
        what sorting needs.
        """
        return self._retried(
            id, partial(self._updates, id, lower, upper, with_snapshot=with_snapshot)
        )

    def _times(
        self, id: StorageCollectionId, lower: Timestamp, upper: Timestamp
    ) -> Iterator[Timestamp]:
        version, tail = self._pinned(id, lower, upper)
        with version.reading():
            in_files = change_times([version], lower, upper)
        in_tail = pc.unique(tail.column(TIME_COLUMN)).to_pylist() if tail is not None else []
        yield from {*in_files, *(Timestamp(time) for time in in_tail if lower <= time < upper)}

    def _updates(
        self, id: StorageCollectionId, lower: Timestamp, upper: Timestamp, *, with_snapshot: bool
    ) -> Iterator[pa.RecordBatch]:
        import pyarrow.dataset as pads  # imported late: it loads pandas

        version, tail = self._pinned(id, lower if with_snapshot else Timestamp(lower - 1), upper)
        files = version.files(lower=None if with_snapshot else lower, upper=upper)
        parts = [version.dataset(files)] if files else []
        if (tail is not None and tail.num_rows) or not files:
            schema = arrow_schema(version.desc, with_updates=True)
            parts.append(
                pads.dataset(tail if tail is not None and tail.num_rows else schema.empty_table())
            )
        everything = parts[0] if len(parts) == 1 else pads.dataset(parts)
        read = advance_updates if with_snapshot else stream_changes
        with version.reading():
            yield from read(everything, arrow_schema(version.desc, with_updates=True), lower, upper)

    def _pinned(
        self, id: StorageCollectionId, first: Timestamp, upper: Timestamp
    ) -> tuple[Version, pa.Table | None]:
        """A version that distinguishes times from ``first`` on, and the rows of the log that
        complete it below ``upper``.

        Raises ``NotReadable`` if the version was compacted beyond ``first``.
        """
        last, tail = Timestamp(upper - 1), None
        if id.collection is CollectionType.TABLE:
            pinned = self._tables(id).pin([id.source_id], last)[id.source_id]
            version, tail = pinned.version, pinned.tail
        else:
            version = self.environment.stores.lake.open(id).pin_at(last, upper)
        if first < version.since:
            raise NotReadable(id.group, at=first, since=version.since, upper=version.upper)
        return version, tail

    def _tables(self, id: StorageCollectionId) -> Tables:
        return (
            self.environment.stores.managed.tables
            if id.is_system
            else self.environment.stores.tables
        )

    def _retried(self, id: StorageCollectionId, read: Callable[[], Iterator[T]]) -> Iterator[T]:
        """The items of ``read``. If compaction removed its files before the first item, it reads
        again: a newer version has the same updates, since the caller holds them."""
        for is_last in (False, True):
            items = read()
            try:
                first = list(islice(items, 1))
            except VersionGone:
                if is_last:
                    raise
                self._forget(id)
                continue
            yield from chain(first, items)
            return

    def _forget(self, id: StorageCollectionId) -> None:
        if id.collection is CollectionType.TABLE:
            self._tables(id).forget(id.source_id)
        else:
            self.environment.stores.lake.open(id).pin()
