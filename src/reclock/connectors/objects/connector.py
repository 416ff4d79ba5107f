"""The connector of S3-style objects: an object is a partition. Objects of lines grow, and their
bytes are the offsets; Parquet files are complete, and their rows are the offsets
(``ObjectContents``).

The evidence of an object is how far it is bound, the crc32 of what that reads, and the version that
the listing showed. As long as the version is the same, a probe costs only the listing. If the
version changed, the connector reads what is bound again, and it must have the same checksum before
it binds anything new. A crc32 can be continued, so one pass computes the evidence of the whole
object and the checksum of each split.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from itertools import count
from typing import Any

import pyarrow as pa

from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.connectors.connector import (
    Bound,
    CheckResult,
    Evidence,
    Increment,
    RowPlace,
    Skip,
    UnendedRecord,
    remaining_ranges,
    skipped_ranges,
)
from reclock.connectors.objects import scan
from reclock.connectors.objects.compression import Unzipped
from reclock.connectors.objects.contents import ObjectContents
from reclock.connectors.objects.growth import Growth, ObjectReadTask, Split
from reclock.connectors.objects.line_contents import HEADER_BYTES
from reclock.connectors.objects.notifications import NotificationQueue
from reclock.connectors.objects.object_store import ListedObject
from reclock.connectors.objects.patterns import literal_prefix
from reclock.connectors.objects.readings import (
    UNKNOWN_VERSION,
    ObjectEvidence,
    by_partition,
    newest_readings,
    partition_of,
    restarted,
)
from reclock.definitions.sources import ObjectsConnector
from reclock.errors import InvalidOption
from reclock.reclocking.remap import BoundRange

_MEASURED_OBJECTS = 100
"""Of how many compressed objects a check reads the contents to know their size: the newest."""


@dataclass(slots=True)
class LastListing:
    """What the last probe of this process has listed, if it has listed the whole bucket. Executors
    do not get it."""

    objects: Mapping[str, ListedObject] | None = None

    def __reduce__(self) -> tuple[type[LastListing], tuple[()]]:
        return LastListing, ()


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of one source, as a ``reclock.connectors.connector.Connector``."""

    store: Unzipped
    connector: ObjectsConnector
    contents: ObjectContents
    queue: NotificationQueue | None = None
    restarts: Mapping[str, int] = field(default_factory=dict)
    """By key, the number of the reading that a restart begins."""
    last_listing: LastListing = field(default_factory=LastListing, compare=False, repr=False)

    def probe(self, bound: Bound, skips: Sequence[Skip] = ()) -> list[Increment]:
        if self.queue is None:
            return self.probe_until(bound, MAXIMUM, skips)
        readings = self._newest_readings(bound)
        lengths = {key: evidence.length for key, evidence in readings.items()}
        keys = self.queue.keys_to_probe(self.connector.bucket, lengths)
        if keys is not None:
            keys |= {key for key in self.restarts if key in readings and not readings[key].length}
        growths = scan.probe(self._list(keys), self.contents, readings, skips, only=keys)
        self.queue.mark_probed(
            keys, {growth.key: growth.upper for growth in growths if growth.upper > growth.lower}
        )
        return self._increments(growths, bound)

    def probe_until(
        self, bound: Bound, moment: Timestamp, skips: Sequence[Skip] = ()
    ) -> list[Increment]:
        """``probe`` for objects last modified before ``moment``. What a later modified object had
        before that is unknown."""
        known = self._newest_readings(bound)
        growths = scan.probe(self._list(), self.contents, known, skips, until=moment)
        return self._increments(growths, bound)

    def _list(self, only: Collection[str] | None = None) -> Mapping[str, ListedObject]:
        listed = scan.list_objects(self.store, self.connector, self.contents, only)
        self.last_listing.objects = listed if only is None else None
        return listed

    def _newest_readings(self, bound: Bound) -> dict[str, ObjectEvidence]:
        return restarted(newest_readings(bound), self.restarts)

    def _increments(self, growths: Sequence[Growth], bound: Bound) -> list[Increment]:
        """The increments of a probe, and those that end readings which a restart replaces."""
        ended = [
            Growth(key, evidence.length, evidence.length, evidence.abandoned())
            for key, evidence in newest_readings(bound).items()
            if evidence.number < self.restarts.get(key, 0) and not evidence.is_abandoned
        ]
        return sorted(
            (_increment(growth) for growth in [*growths, *ended]),
            key=lambda increment: increment.name,
        )

    def restarting(self, restarts: Mapping[str, int]) -> Objects:
        return replace(self, restarts=restarts)

    def abandoned_partitions(self, bound: Bound) -> list[str]:
        return sorted(
            key for key, evidence in self._newest_readings(bound).items() if evidence.is_abandoned
        )

    def next_reading(self, bound: Bound, key: str, stalled: Collection[str]) -> int:
        """Raises ``InvalidOption`` unless the object was abandoned, or its partition is among the
        ``stalled`` ones."""
        newest = newest_readings(bound).get(key)
        if newest is None:
            raise InvalidOption(
                f'nothing of object "{key}" is bound',
                hint="it is read from its beginning when it is there",
            )
        if not newest.is_abandoned and newest.partition not in stalled:
            raise InvalidOption(
                f'object "{key}" is being read',
                detail="a restart would read rows again that are published already",
                hint="only an object that is given up, or that stalls its source, can be restarted",
            )
        return next(
            number for number in count(newest.number + 1) if partition_of(key, number) not in bound
        )

    def reread(self, claimed: Increment, before: Evidence | None) -> Increment | None:
        evidence = _growth(claimed).evidence
        bound = (
            ObjectEvidence.of(claimed.partition, before)
            if before is not None
            else evidence.next_reading(evidence.number)
        )
        growth = scan.reread(self.store, self.connector, self.contents, bound)
        return _increment(growth) if growth is not None else None

    def recall(
        self, ranges: Sequence[BoundRange], bound: Bound, skips: Sequence[Skip] = ()
    ) -> list[Increment]:
        growths = scan.recall(
            self.store, self.connector, self.contents, ranges, by_partition(bound)
        )
        return [
            _increment(growths[str(bound_range.partition), bound_range.upper])
            for bound_range in ranges
        ]

    def tasks(
        self, increments: Sequence[Increment], skips: Sequence[Skip]
    ) -> list[list[ObjectReadTask]]:
        """The splits, packed in order into tasks of about ``SPLIT_BYTES``."""
        tasks: list[list[ObjectReadTask]] = []
        size = scan.SPLIT_BYTES
        for growth in map(_growth, increments):
            partition = growth.evidence.partition
            skipped = skipped_ranges(partition, skips)
            for split in growth.splits:
                if not remaining_ranges(partition, split.lower, split.upper, skips):
                    continue
                after = size + split.size_bytes
                if size >= scan.SPLIT_BYTES or after > scan.SPLIT_BYTES * 3 // 2:
                    tasks.append([])
                    size = 0
                tasks[-1].append(
                    ObjectReadTask(
                        growth.key, partition, split, growth.header, growth.header_end, skipped
                    )
                )
                size += split.size_bytes
        return tasks

    def size_bytes(self, task: Sequence[ObjectReadTask]) -> int:
        return sum(piece.split.size_bytes for piece in task)

    def read(self, task: Sequence[ObjectReadTask]) -> Iterator[tuple[str, pa.Table]]:
        for rows in self.contents.read(task):
            yield "", rows

    def locate(
        self, task: Sequence[ObjectReadTask], rows: Sequence[int], count: int
    ) -> list[RowPlace]:
        ranges = [
            (piece.partition, lower, upper)
            for piece in task
            for lower, upper in self.contents.row_ranges(piece)
        ]
        if len(ranges) != count:
            return []
        unit = "byte" if self.contents.counted == "bytes" else "row"
        return [RowPlace(*ranges[row], unit) for row in rows]

    def check(self, bound: Bound) -> Iterator[CheckResult]:
        prefix = literal_prefix(self.connector.pattern)
        listed = self.store.list(self.connector.bucket, prefix)
        yield CheckResult("bucket", True, self.store.described(self.connector.bucket))
        if self.queue is not None:
            yield CheckResult("queue", True, self.queue.check())
        matching = scan.matching(listed, self.connector, self.contents)
        count = f"{len(matching)} of {len(listed)} objects" + (
            f' under "{prefix}"' if prefix else ""
        )
        yield CheckResult("objects", bool(matching), f'{count} match "{self.connector.pattern}"')
        for listed_object in (
            self.store.measured(self.connector.bucket, listed_object)
            for listed_object in matching[:1]
        ):
            size = sum(
                len(chunk)
                for chunk in self.store.read(
                    self.connector.bucket,
                    listed_object.key,
                    0,
                    min(listed_object.size, HEADER_BYTES),
                )
            )
            yield CheckResult(
                "reading", True, f'{size} of {listed_object.size} bytes of "{listed_object.key}"'
            )

    def unended_records(self, bound: Bound, probed: Sequence[Increment]) -> list[UnendedRecord]:
        listed = scan.list_objects(self.store, self.connector, self.contents).values()
        newest_first = sorted(listed, key=lambda listed_object: -listed_object.modified_at)
        compressed = count()
        measured = [
            self.store.measured(self.connector.bucket, listed_object)
            for listed_object in newest_first
            if not self.store.is_compressed(listed_object.key)
            or next(compressed) < _MEASURED_OBJECTS
        ]
        return self._unended(measured, bound, probed)

    def listed_unended_records(
        self, bound: Bound, probed: Sequence[Increment]
    ) -> list[UnendedRecord]:
        listed = (self.last_listing.objects or {}).values()
        uncompressed = [
            listed_object
            for listed_object in listed
            if not self.store.is_compressed(listed_object.key)
        ]
        return self._unended(uncompressed, bound, probed)

    def _unended(
        self, measured: Sequence[ListedObject], bound: Bound, probed: Sequence[Increment]
    ) -> list[UnendedRecord]:
        """The unended records of these objects, which have the sizes of their contents."""
        if self.contents.counted != "bytes":
            return []
        newest = self._newest_readings(bound)
        uppers = {increment.name: increment.upper for increment in probed}
        unended = []
        for listed_object in measured:
            key = listed_object.key
            evidence = newest.get(key, ObjectEvidence(key, 0, 0, UNKNOWN_VERSION))
            if evidence.is_abandoned:
                continue
            upper = uppers.get(evidence.partition, evidence.length)
            size = listed_object.size - upper
            if size > 0:
                modified_at = listed_object.modified_at
                unended.append(UnendedRecord(evidence.partition, upper, size, modified_at))
        return sorted(unended, key=lambda record: record.partition)

    def acknowledge(self, published: Sequence[Increment]) -> None:
        """Buckets do not track readers."""


def _increment(growth: Growth) -> Increment:
    detail = {
        "splits": [list(astuple(split)) for split in growth.splits],
        "header": growth.header,
        "header_end": growth.header_end,
    }
    evidence = growth.evidence
    covered = sum(split.upper - split.lower for split in growth.splits)
    return Increment(
        evidence.partition, growth.lower, growth.upper, covered, evidence.stored, detail
    )


def _growth(increment: Increment) -> Growth:
    """The inverse of ``_increment``, also after a round trip through JSON."""
    detail: Any = increment.detail
    evidence = ObjectEvidence.of(increment.partition, (increment.upper, *increment.evidence))
    return Growth(
        evidence.key,
        increment.lower,
        increment.upper,
        evidence,
        tuple(Split(*split) for split in detail["splits"]),
        tuple(detail["header"]) if detail["header"] is not None else None,
        detail["header_end"],
    )
