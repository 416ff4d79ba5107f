"""The connector of S3-style objects: an object is a partition, its bytes are the offsets, and it
only grows.

Progress is cut back to the last complete record: bytes that no newline ends yet stay unbound. The
evidence of an object is the length of the bound bytes, their crc32, and the version that the
listing showed. As long as the version is the same, a probe costs only the listing. If the version
changed, the connector reads the bound bytes again, and they must have the same checksum before it
binds new bytes. A crc32 can be continued, so one pass computes the evidence of the whole object and
the checksum of each split.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, field, replace
from itertools import count
from typing import Any

import pyarrow as pa

from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.connectors.connector import (
    Bound,
    CheckResult,
    Evidence,
    Increment,
    Skip,
    remaining_ranges,
    skipped_ranges,
)
from reclock.connectors.objects.compression import Unzipped
from reclock.connectors.objects.notifications import NotificationQueue
from reclock.connectors.objects.object_store import ListedObject, ObjectMissing
from reclock.connectors.objects.patterns import compile_pattern, literal_prefix
from reclock.connectors.objects.readings import (
    UNKNOWN_VERSION,
    ObjectEvidence,
    by_partition,
    newest_readings,
    partition_of,
    restarted,
)
from reclock.definitions.sources import CsvFormat, LineFormat, ObjectsConnector
from reclock.errors import DecodeFailed, InvalidOption, UpstreamChanged
from reclock.formats.decode import decode
from reclock.formats.records import last_end, parse_header, quote_of, record_ends
from reclock.reclocking.remap import BoundRange

SPLIT_BYTES = 16 << 20
"""About how many bytes one task reads. A split ends with a record."""

RECORD_LIMIT_BYTES = 64 << 20
"""The longest record. A longer one probably has a quote that was never closed."""

_NOT_PUBLISHED = (
    "these bytes are not published: ALTER SOURCE … RETRY reads the object as it is now, SKIP "
    "gives the bytes up"
)
_PUBLISHED = (
    "restore the object and ALTER SOURCE … RETRY, read it again from its beginning with "
    "ALTER SOURCE … RESTART '<object>', or give it up with ALTER SOURCE … SKIP"
)
_HEADER_BYTES = 64 << 10
_THREADS = 8


@dataclass(frozen=True, slots=True)
class Split:
    """The bytes ``[lower, upper)`` of an object: whole records. ``crc_before`` and ``crc_after``
    are the crc32 of the object up to ``lower`` and up to ``upper``."""

    lower: int
    upper: int
    crc_before: int
    crc_after: int


@dataclass(frozen=True, slots=True)
class Growth:
    """The new bytes ``[lower, upper)`` of one object, cut into splits, and the evidence after them.

    ``header`` has the field names of its CSV records. The header record itself, which ends at
    ``header_end``, is bound but yields no row.
    """

    key: str
    lower: int
    upper: int
    evidence: ObjectEvidence
    splits: tuple[Split, ...] = ()
    header: tuple[str, ...] | None = None
    header_end: int = 0


@dataclass(frozen=True, slots=True)
class ObjectReadTask:
    """One split of one object, with what is needed to decode its records. Errors name the
    ``partition``."""

    key: str
    partition: str
    split: Split
    header: tuple[str, ...] | None
    header_end: int
    skips: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of one source, as a ``reclock.connectors.connector.Connector``."""

    store: Unzipped
    connector: ObjectsConnector
    format: LineFormat
    desc: RelationDesc
    queue: NotificationQueue | None = None
    restarts: Mapping[str, int] = field(default_factory=dict)
    """By key, the number of the reading that a restart begins."""

    def probe(self, bound: Bound, skips: Sequence[Skip] = ()) -> list[Increment]:
        if self.queue is None:
            return self.probe_until(bound, MAXIMUM, skips)
        known = self._newest_readings(bound)
        lengths = {key: evidence.length for key, evidence in known.items()}
        keys = self.queue.keys_to_probe(self.connector.bucket, lengths)
        if keys is not None:
            keys |= {key for key in self.restarts if key in known and not known[key].length}
        growths = probe(self.store, self.connector, self.format, self.desc, known, skips, only=keys)
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
        growths = probe(
            self.store, self.connector, self.format, self.desc, known, skips, until=moment
        )
        return self._increments(growths, bound)

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

    def next_reading(self, bound: Bound, key: str, stalled: str | None) -> int:
        """Raises ``InvalidOption`` unless the object was abandoned, or its partition is
        ``stalled``."""
        newest = newest_readings(bound).get(key)
        if newest is None:
            raise InvalidOption(
                f'nothing of object "{key}" is bound',
                hint="it is read from its beginning when it is there",
            )
        if not newest.is_abandoned and newest.partition != stalled:
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
        growth = reread(self.store, self.connector, self.format, self.desc, bound)
        return _increment(growth) if growth is not None else None

    def recall(
        self, ranges: Sequence[BoundRange], bound: Bound, skips: Sequence[Skip] = ()
    ) -> list[Increment]:
        growths = recall(
            self.store, self.connector, self.format, self.desc, ranges, by_partition(bound)
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
        size = SPLIT_BYTES
        for growth in map(_growth, increments):
            partition = growth.evidence.partition
            skipped = skipped_ranges(partition, skips)
            for split in growth.splits:
                if not remaining_ranges(partition, split.lower, split.upper, skips):
                    continue
                if size + split.upper - split.lower > SPLIT_BYTES * 3 // 2 or size >= SPLIT_BYTES:
                    tasks.append([])
                    size = 0
                tasks[-1].append(
                    ObjectReadTask(
                        growth.key, partition, split, growth.header, growth.header_end, skipped
                    )
                )
                size += split.upper - split.lower
        return tasks

    def read(self, task: Sequence[ObjectReadTask]) -> Iterator[tuple[str, pa.Table]]:
        yield "", pa.concat_tables([self._read(piece) for piece in task])

    def _read(self, piece: ObjectReadTask) -> pa.Table:
        key, split = piece.key, piece.split
        try:
            buffer = b"".join(self.store.read(self.connector.bucket, key, split.lower, split.upper))
        except ObjectMissing as missing:
            raise UpstreamChanged(
                piece.partition,
                split.lower,
                message=(
                    f'object "{key}" no longer has the bytes from {split.lower} to {split.upper}'
                ),
                detail=missing.detail,
                hint=_NOT_PUBLISHED,
            ) from missing
        if zlib.crc32(buffer, split.crc_before) != split.crc_after:
            raise UpstreamChanged(
                piece.partition,
                split.lower,
                message=(
                    f'object "{key}" changed under its bytes from {split.lower} to {split.upper}'
                ),
                detail="their crc32 is not the one they had when they were bound",
                hint=_NOT_PUBLISHED,
            )
        start = max(split.lower, min(piece.header_end, split.upper))
        records = buffer[start - split.lower :] if start > split.lower else buffer
        return decode(
            records,
            self.format,
            self.desc,
            piece.header,
            key=piece.partition,
            offset=start,
            skips=piece.skips,
        )

    def check(self) -> Iterator[CheckResult]:
        prefix = literal_prefix(self.connector.pattern)
        listed = self.store.list(self.connector.bucket, prefix)
        yield CheckResult("bucket", True, self.store.described(self.connector.bucket))
        if self.queue is not None:
            yield CheckResult("queue", True, self.queue.check())
        pattern = compile_pattern(self.connector.pattern)
        matching = [
            listed_object for listed_object in listed if pattern.fullmatch(listed_object.key)
        ]
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
                    min(listed_object.size, _HEADER_BYTES),
                )
            )
            yield CheckResult(
                "reading", True, f'{size} of {listed_object.size} bytes of "{listed_object.key}"'
            )

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


def probe(
    store: Unzipped,
    connector: ObjectsConnector,
    format: LineFormat,
    desc: RelationDesc,
    evidence: Mapping[str, ObjectEvidence],
    skips: Sequence[Skip] = (),
    *,
    until: Timestamp = MAXIMUM,
    only: Collection[str] | None = None,
) -> list[Growth]:
    """The growth of the source's objects beyond ``evidence``, cut back to whole records, in order
    of key. Ignores objects modified at ``until`` or later, and keys that are not in ``only``, if it
    is given.

    An object without new bytes is included only to store new evidence: its version changed while
    its bytes did not; it was deleted, which is stored as its version; or one of ``skips`` covers
    the byte of its error, so that it is abandoned.

    Raises ``UpstreamUnavailable``; ``UpstreamChanged`` if an object shrank or its bound bytes
    changed; ``DecodeFailed`` if its header is wrong or a record does not end. If several objects
    fail, it raises the error of the first one.
    """
    listed = _listed(store, connector, only)
    known = evidence.keys() if only is None else evidence.keys() & set(only)
    keys = sorted(
        key
        for key in listed.keys() | known
        if key not in listed or key not in evidence or listed[key].version != evidence[key].version
        if key not in evidence or not evidence[key].is_abandoned
        if key in listed or not evidence[key].is_deleted
        if key not in listed or listed[key].modified_at < until
    )

    def look(key: str) -> Growth | UpstreamChanged | DecodeFailed | None:
        before, listed_object = (
            evidence.get(key, ObjectEvidence(key, 0, 0, UNKNOWN_VERSION)),
            listed.get(key),
        )
        if listed_object is None:
            return (
                Growth(key, before.length, before.length, before.deleted())
                if before.length
                else None
            )
        try:
            measured = (
                store.measured(connector.bucket, listed_object)
                if listed_object is not None
                else None
            )
            return grow(store, connector.bucket, measured, before, format, desc)
        except (UpstreamChanged, DecodeFailed) as error:
            if any(
                before.partition == skipped and lower <= error.offset < upper
                for skipped, lower, upper in skips
            ):
                return Growth(key, before.length, before.length, before.abandoned())
            return error

    if len(keys) < 2:
        looks = [look(key) for key in keys]
    else:
        with ThreadPoolExecutor(min(_THREADS, len(keys))) as pool:
            looks = list(pool.map(look, keys))
    growths = []
    for outcome in looks:
        if isinstance(outcome, Growth):
            growths.append(outcome)
        elif outcome is not None:
            raise outcome
    return growths


def _listed(
    store: Unzipped, connector: ObjectsConnector, only: Collection[str] | None
) -> dict[str, ListedObject]:
    """The source's objects as a listing shows them, or only those with the keys ``only``."""
    pattern = compile_pattern(connector.pattern)
    if only is None:
        objects = store.list(connector.bucket, literal_prefix(connector.pattern))
        return {
            listed_object.key: listed_object
            for listed_object in objects
            if pattern.fullmatch(listed_object.key)
        }
    with ThreadPoolExecutor(_THREADS) as pool:
        looks = pool.map(
            lambda key: store.find(connector.bucket, key), filter(pattern.fullmatch, only)
        )
        return {
            listed_object.key: listed_object for listed_object in looks if listed_object is not None
        }


def reread(
    store: Unzipped,
    connector: ObjectsConnector,
    format: LineFormat,
    desc: RelationDesc,
    before: ObjectEvidence,
) -> Growth | None:
    """The growth of an object since ``before``, as the object is now. It may be longer or shorter
    than what was claimed, or have other bytes.

    None if nothing remains, also if the object is gone and none of its bytes had been bound before.
    Raises ``UpstreamChanged`` if the bytes bound before ``before`` changed.
    """
    listed_object = store.find(connector.bucket, before.key)
    if listed_object is None and not before.length:
        return None
    measured = (
        store.measured(connector.bucket, listed_object) if listed_object is not None else None
    )
    return grow(store, connector.bucket, measured, before, format, desc)


def grow(
    store: Unzipped,
    bucket: str,
    listed: ListedObject | None,
    before: ObjectEvidence,
    format: LineFormat,
    desc: RelationDesc,
) -> Growth | None:
    """The growth of one object since ``before``, or None."""
    key = before.key
    listed = _still_there(listed, before)
    try:
        _verify(store, bucket, before)
        splits = _scan(store, bucket, before, listed.size, quote_of(format))
        upper, crc = (
            (splits[-1].upper, splits[-1].crc_after) if splits else (before.length, before.crc32)
        )
        if upper == before.length:
            is_same = listed.size == before.length > 0
            return (
                Growth(key, upper, upper, replace(before, version=listed.version))
                if is_same
                else None
            )
        header, header_end = _header(store, bucket, before, upper, format, desc)
    except ObjectMissing:
        if before.length:
            raise
        return None  # it went between the listing and now, and nothing of it was bound
    evidence = replace(before, length=upper, crc32=crc, version=listed.version)
    return Growth(key, before.length, upper, evidence, splits, header, header_end)


def recall(
    store: Unzipped,
    connector: ObjectsConnector,
    format: LineFormat,
    desc: RelationDesc,
    ranges: Sequence[BoundRange],
    bound: Mapping[str, ObjectEvidence],
) -> dict[tuple[str, int], Growth]:
    """The growth for each bound range, by key and upper end. Raises ``UpstreamChanged`` unless all
    bytes have the checksum with which they were bound."""
    bucket, quote = connector.bucket, quote_of(format)
    listed = {
        listed_object.key: listed_object
        for listed_object in store.list(bucket, literal_prefix(connector.pattern))
    }
    by_name: dict[str, list[BoundRange]] = {}
    for bound_range in sorted(ranges, key=lambda bound_range: bound_range.lower):
        by_name.setdefault(str(bound_range.partition), []).append(bound_range)

    def look(name: str) -> list[Growth]:
        evidence, growths = bound[name], []
        key = evidence.key
        listed_object = _still_there(
            store.measured(bucket, listed[key]) if key in listed else None, evidence
        )
        header, header_end = _header(store, bucket, evidence, listed_object.size, format, desc)
        crc = 0
        for bound_range in by_name[name]:
            splits = _scan(
                store,
                bucket,
                replace(evidence, length=bound_range.lower, crc32=crc),
                bound_range.upper,
                quote,
            )
            if not splits or splits[-1].upper != bound_range.upper:
                raise _changed(evidence, "no record ends where one did")
            crc = splits[-1].crc_after
            growths.append(
                Growth(
                    key, bound_range.lower, bound_range.upper, evidence, splits, header, header_end
                )
            )
        if crc != evidence.crc32:
            raise _changed(
                evidence,
                f"their crc32 is {crc:08x}, it was {evidence.crc32:08x} when they were bound",
            )
        return growths

    with ThreadPoolExecutor(_THREADS) as pool:
        looks = pool.map(look, sorted(by_name))
        return {
            (growth.evidence.partition, growth.upper): growth
            for growths in looks
            for growth in growths
        }


def _still_there(listed: ListedObject | None, before: ObjectEvidence) -> ListedObject:
    key, detail = before.key, f"its first {before.length} bytes are bound"
    if listed is None:
        raise UpstreamChanged(
            before.partition, 0, message=f'object "{key}" is gone', detail=detail, hint=_PUBLISHED
        )
    if listed.size < before.length:
        message = f'object "{key}" shrank: it ends at byte {listed.size}'
        raise UpstreamChanged(
            before.partition, listed.size, message=message, detail=detail, hint=_PUBLISHED
        )
    return listed


def _changed(before: ObjectEvidence, detail: str) -> UpstreamChanged:
    message = f'object "{before.key}" changed under its bound bytes, from byte 0 to {before.length}'
    return UpstreamChanged(before.partition, 0, message=message, detail=detail, hint=_PUBLISHED)


def _verify(store: Unzipped, bucket: str, before: ObjectEvidence) -> None:
    crc = 0
    for chunk in store.read(bucket, before.key, 0, before.length):
        crc = zlib.crc32(chunk, crc)
    if crc != before.crc32:
        raise _changed(
            before, f"their crc32 is {crc:08x}, it was {before.crc32:08x} when they were bound"
        )


def _scan(
    store: Unzipped, bucket: str, before: ObjectEvidence, size: int, quote: bytes | None
) -> tuple[Split, ...]:
    """Split the whole records in ``[before.length, size)``. Raises ``DecodeFailed`` if a record is
    longer than ``RECORD_LIMIT_BYTES``."""
    splits: list[Split] = []
    start, start_crc = before.length, before.crc32  # of the split that is being filled
    end, end_crc = start, start_crc  # after the last whole record
    at, crc, is_open = start, start_crc, False
    for chunk in store.read(bucket, before.key, start, size):
        cut, is_open = last_end(chunk, quote, is_open)
        view = memoryview(chunk)
        if cut:
            end, end_crc = at + cut, zlib.crc32(view[:cut], crc)
            crc = zlib.crc32(view[cut:], end_crc)
            if end - start >= SPLIT_BYTES:
                splits.append(Split(start, end, start_crc, end_crc))
                start, start_crc = end, end_crc
        else:
            crc = zlib.crc32(view, crc)
        at += len(chunk)
        if at - end > RECORD_LIMIT_BYTES:
            raise DecodeFailed(
                before.partition,
                end,
                detail=(
                    f"it does not end within {RECORD_LIMIT_BYTES} bytes; a quote may not be closed"
                ),
            )
    if end > start:
        splits.append(Split(start, end, start_crc, end_crc))
    return tuple(splits)


def _header(
    store: Unzipped,
    bucket: str,
    evidence: ObjectEvidence,
    upper: int,
    format: LineFormat,
    desc: RelationDesc,
) -> tuple[tuple[str, ...] | None, int]:
    """The field names in the first record of an object, if it is a header, and where the header
    ends."""
    if not isinstance(format, CsvFormat) or not format.has_header:
        return None, 0
    record = _first_record(store, bucket, evidence.key, upper, quote_of(format))
    return parse_header(record, evidence.partition, format, desc), len(record)


def _first_record(store: Unzipped, bucket: str, key: str, upper: int, quote: bytes | None) -> bytes:
    """The first record of an object that has a whole one before ``upper``."""
    size = min(_HEADER_BYTES, upper)
    while True:
        start = b"".join(store.read(bucket, key, 0, size))
        ends = record_ends(start, quote)
        if len(ends) or size == upper:
            return start[: int(ends[0])] if len(ends) else start
        size = min(size * 4, upper)
