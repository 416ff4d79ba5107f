"""The connector of S3-style objects: an object is a partition, its bytes are the offsets, and it only ever grows.

Progress is cut back to the last complete record, so bytes that no newline ends yet stay unbound. What was bound is remembered as
evidence: the length, the crc32 of exactly those bytes, and the version the listing showed. While the version stands, the listing
is all that a probe costs; when it changed, the old bytes are read again and must have the old checksum before growth is trusted.
Since the state of a crc32 can be continued, one pass serves the evidence of the whole object and the check of each piece.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, replace
from typing import Any

import pyarrow as pa

from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.errors import DecodeFailed, UpstreamChanged
from reclock.reclocking.frontiers import SourceFrontier
from reclock.reclocking.remap import Range
from reclock.sources import connector as protocol
from reclock.sources.compression import Unzipped
from reclock.sources.connector import Bound, Finding, Increment, Skip, given_up, left
from reclock.sources.decode import decode
from reclock.sources.description import CsvFormat, LineFormat, ObjectsConnector
from reclock.sources.notifications import NotificationQueue
from reclock.sources.object_store import ListedObject, ObjectMissing
from reclock.sources.patterns import compile_pattern, literal_prefix
from reclock.sources.records import last_end, parse_header, quote_of, record_ends

SPLIT_BYTES = 16 << 20
"""About how many bytes one task reads; a split ends with a record."""

RECORD_LIMIT_BYTES = 64 << 20
"""A record longer than this is taken for a quote that was never closed."""

SET_ASIDE = "set aside"
"""The version of an object that was given up: what was bound of it stays, nothing more is read under its key."""

_UNKNOWN_VERSION = ""
_HEADER_BYTES = 64 << 10
_THREADS = 8


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was known of an object when its first ``length`` bytes were bound; ``crc32`` is theirs."""

    key: str
    length: int
    crc32: int
    version: str


@dataclass(frozen=True, slots=True)
class Split:
    """The bytes ``[lower, upper)``, whole records; reading them takes the running checksum from ``crc_before`` to ``crc_after``."""

    lower: int
    upper: int
    crc_before: int
    crc_after: int


@dataclass(frozen=True, slots=True)
class Growth:
    """What is new of one object: the bytes ``[lower, upper)``, cut into splits, and the evidence that holds from then on.

    ``header`` names the fields of its CSV records; the header record itself, before ``header_end``, is bound but yields no row.
    """

    key: str
    lower: int
    upper: int
    evidence: Evidence
    splits: tuple[Split, ...] = ()
    header: tuple[str, ...] | None = None
    header_end: int = 0


@dataclass(frozen=True, slots=True)
class Piece:
    """One split of one object, with what its records need to be understood."""

    key: str
    split: Split
    header: tuple[str, ...] | None
    header_end: int
    skips: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of one source, as a ``reclock.sources.connector.Connector``."""

    store: Unzipped
    connector: ObjectsConnector
    format: LineFormat
    desc: RelationDesc
    queue: NotificationQueue | None = None

    def probe(self, bound: Bound, skips: Sequence[Skip] = ()) -> list[Increment]:
        if self.queue is None:
            return self.probe_until(bound, MAXIMUM, skips)
        known = _known(bound)
        told = self.queue.told(self.connector.bucket, {key: evidence.length for key, evidence in known.items()})
        growths = probe(self.store, self.connector, self.format, self.desc, known, skips, told=told)
        self.queue.looked(told, {growth.key: growth.upper for growth in growths if growth.upper > growth.lower})
        return [_increment(growth) for growth in growths]

    def probe_until(self, bound: Bound, moment: Timestamp, skips: Sequence[Skip] = ()) -> list[Increment]:
        """An object was there from its last modification on: what it was before that, nobody knows."""
        growths = probe(self.store, self.connector, self.format, self.desc, _known(bound), skips, until=moment)
        return [_increment(growth) for growth in growths]

    def reread(self, claimed: Increment, before: protocol.Evidence | None) -> Increment:
        known = Evidence(claimed.name, *before) if before is not None else None
        return _increment(reread(self.store, self.connector, self.format, self.desc, _growth(claimed), known))

    def recall(self, ranges: Sequence[Range], bound: Bound, skips: Sequence[Skip] = ()) -> list[Increment]:
        growths = recall(self.store, self.connector, self.format, self.desc, ranges, _known(bound))
        return [_increment(growths[str(own.partition), own.upper]) for own in ranges]

    def tasks(self, increments: Sequence[Increment], skips: Sequence[Skip]) -> list[list[Piece]]:
        """Splits packed in order into tasks of about ``SPLIT_BYTES``."""
        tasks: list[list[Piece]] = []
        size = SPLIT_BYTES
        for growth in map(_growth, increments):
            own = given_up(growth.key, skips)
            for split in growth.splits:
                if not left(growth.key, split.lower, split.upper, skips):
                    continue
                if size + split.upper - split.lower > SPLIT_BYTES * 3 // 2 or size >= SPLIT_BYTES:
                    tasks.append([])
                    size = 0
                tasks[-1].append(Piece(growth.key, split, growth.header, growth.header_end, own))
                size += split.upper - split.lower
        return tasks

    def read(self, task: Sequence[Piece]) -> Iterator[tuple[str, pa.Table]]:
        yield "", pa.concat_tables([self._read(piece) for piece in task])

    def _read(self, piece: Piece) -> pa.Table:
        key, split = piece.key, piece.split
        try:
            buffer = b"".join(self.store.read(self.connector.bucket, key, split.lower, split.upper))
        except ObjectMissing as missing:
            raise UpstreamChanged(
                key,
                split.lower,
                message=f'object "{key}" no longer has the bytes from {split.lower} to {split.upper}',
                detail=missing.detail,
            ) from missing
        if zlib.crc32(buffer, split.crc_before) != split.crc_after:
            raise UpstreamChanged(
                key,
                split.lower,
                message=f'object "{key}" changed under its bytes from {split.lower} to {split.upper}',
                detail="their crc32 is not the one they had when they were bound",
            )
        start = max(split.lower, min(piece.header_end, split.upper))
        records = buffer[start - split.lower :] if start > split.lower else buffer
        return decode(records, self.format, self.desc, piece.header, key=key, offset=start, skips=piece.skips)

    def check(self) -> Iterator[Finding]:
        prefix = literal_prefix(self.connector.pattern)
        found = self.store.list(self.connector.bucket, prefix)
        yield Finding("bucket", True, self.store.described(self.connector.bucket))
        if self.queue is not None:
            yield Finding("queue", True, self.queue.check())
        pattern = compile_pattern(self.connector.pattern)
        matching = [one for one in found if pattern.fullmatch(one.key)]
        count = f"{len(matching)} of {len(found)} objects" + (f' under "{prefix}"' if prefix else "")
        yield Finding("objects", bool(matching), f'{count} match "{self.connector.pattern}"')
        for one in (self.store.measured(self.connector.bucket, one) for one in matching[:1]):
            size = sum(len(chunk) for chunk in self.store.read(self.connector.bucket, one.key, 0, min(one.size, _HEADER_BYTES)))
            yield Finding("reading", True, f'{size} of {one.size} bytes of "{one.key}"')

    def acknowledge(self, frontier: SourceFrontier) -> None:
        """A bucket is told nothing."""


def _known(bound: Bound) -> dict[str, Evidence]:
    return {str(key): Evidence(str(key), *kept) for key, kept in bound.items()}


def _increment(growth: Growth) -> Increment:
    detail = {"splits": [list(astuple(split)) for split in growth.splits], "header": growth.header, "header_end": growth.header_end}
    evidence = growth.evidence
    covered = sum(split.upper - split.lower for split in growth.splits)
    return Increment(growth.key, growth.lower, growth.upper, covered, (evidence.crc32, evidence.version), detail)


def _growth(increment: Increment) -> Growth:
    """The inverse of ``_increment``, after a way through JSON too."""
    detail: Any = increment.detail
    return Growth(
        increment.name,
        increment.lower,
        increment.upper,
        Evidence(increment.name, increment.upper, *increment.evidence),
        tuple(Split(*split) for split in detail["splits"]),
        tuple(detail["header"]) if detail["header"] is not None else None,
        detail["header_end"],
    )


def probe(
    store: Unzipped,
    connector: ObjectsConnector,
    format: LineFormat,
    desc: RelationDesc,
    evidence: Mapping[str, Evidence],
    skips: Sequence[Skip] = (),
    *,
    until: Timestamp = MAXIMUM,
    told: Collection[str] | None = None,
) -> list[Growth]:
    """What of the source's objects is beyond ``evidence``, in order of key: the next increments, cut back to whole records.
    Objects modified at ``until`` or later are not looked at; of those ``told``, if given, and no others.

    An object with nothing to bind appears only if its version changed while its bytes did not, so that its new version is
    remembered; or if one of ``skips`` holds the byte of its error: then it is set aside.
    Raises ``UpstreamUnavailable``; ``UpstreamChanged`` if an object shrank, changed under its bytes or is gone though bound;
    ``DecodeFailed`` if its header is wrong or a record does not end. Of several, the error of the first object is raised.
    """
    listed = _listed(store, connector, told)
    known = evidence.keys() if told is None else evidence.keys() & set(told)
    keys = sorted(
        key
        for key in listed.keys() | known
        if key not in listed or key not in evidence or listed[key].version != evidence[key].version
        if key not in evidence or evidence[key].version != SET_ASIDE
        if key not in listed or listed[key].modified_at < until
    )

    def look(key: str) -> Growth | UpstreamChanged | DecodeFailed | None:
        before = evidence.get(key, Evidence(key, 0, 0, _UNKNOWN_VERSION))
        try:
            found = listed.get(key)
            measured = store.measured(connector.bucket, found) if found is not None else None
            return grow(store, connector.bucket, measured, before, format, desc)
        except (UpstreamChanged, DecodeFailed) as error:
            if any(key == skipped and lower <= error.offset < upper for skipped, lower, upper in skips):
                return Growth(key, before.length, before.length, replace(before, version=SET_ASIDE))
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


def _listed(store: Unzipped, connector: ObjectsConnector, told: Collection[str] | None) -> dict[str, ListedObject]:
    """The source's objects as a listing shows them; of those ``told``, if given."""
    pattern = compile_pattern(connector.pattern)
    if told is None:
        found = store.list(connector.bucket, literal_prefix(connector.pattern))
        return {one.key: one for one in found if pattern.fullmatch(one.key)}
    with ThreadPoolExecutor(_THREADS) as pool:
        looks = pool.map(lambda key: store.find(connector.bucket, key), filter(pattern.fullmatch, told))
        return {one.key: one for one in looks if one is not None}


def reread(
    store: Unzipped,
    connector: ObjectsConnector,
    format: LineFormat,
    desc: RelationDesc,
    claimed: Growth,
    before: Evidence | None,
) -> Growth:
    """``claimed`` as the object is now, corrected in place: the same range of bytes, with other bytes in it.

    Raises ``UpstreamChanged`` unless what was bound before stands and a record still ends where the range does.
    """
    before = before or Evidence(claimed.key, 0, 0, _UNKNOWN_VERSION)
    found = store.find(connector.bucket, claimed.key)
    if found is not None:
        found = store.measured(connector.bucket, found)
    if found is not None and found.size > claimed.upper:
        # what follows is not looked at, so the version must not vouch for it
        found = ListedObject(found.key, claimed.upper, _UNKNOWN_VERSION)
    growth = grow(store, connector.bucket, found, before, format, desc, is_bound=True)
    if growth is None or growth.upper != claimed.upper:
        raise UpstreamChanged(
            claimed.key,
            claimed.upper,
            message=f'object "{claimed.key}" no longer has a record that ends at byte {claimed.upper}',
            detail=f"its bytes up to {claimed.upper} are bound already; a correction must keep the length",
        )
    return growth


def grow(
    store: Unzipped,
    bucket: str,
    listed: ListedObject | None,
    before: Evidence,
    format: LineFormat,
    desc: RelationDesc,
    *,
    is_bound: bool = False,
) -> Growth | None:
    """The growth of one object since ``before``; None if there is none. ``is_bound`` tells that its growth is claimed already."""
    key = before.key
    listed = _still_there(listed, before)
    try:
        _verify(store, bucket, before)
        splits = _scan(store, bucket, before, listed.size, quote_of(format))
        upper, crc = (splits[-1].upper, splits[-1].crc_after) if splits else (before.length, before.crc32)
        if upper == before.length:
            is_same = listed.size == before.length > 0
            return Growth(key, upper, upper, Evidence(key, upper, crc, listed.version)) if is_same else None
        header, header_end = _header(store, bucket, key, upper, format, desc)
    except ObjectMissing:
        if before.length or is_bound:
            raise
        return None  # it went between the listing and now, and nothing of it was bound
    return Growth(key, before.length, upper, Evidence(key, upper, crc, listed.version), splits, header, header_end)


def recall(
    store: Unzipped,
    connector: ObjectsConnector,
    format: LineFormat,
    desc: RelationDesc,
    ranges: Sequence[Range],
    bound: Mapping[str, Evidence],
) -> dict[tuple[str, int], Growth]:
    """The growth that each range was, by key and upper end. Raises ``UpstreamChanged`` unless all bytes have the checksum that they
    had when they were bound."""
    bucket, quote = connector.bucket, quote_of(format)
    listed = {found.key: found for found in store.list(bucket, literal_prefix(connector.pattern))}
    by_key: dict[str, list[Range]] = {}
    for own in sorted(ranges, key=lambda own: own.lower):
        by_key.setdefault(str(own.partition), []).append(own)

    def look(key: str) -> list[Growth]:
        evidence, growths = bound[key], []
        found = _still_there(store.measured(bucket, listed[key]) if key in listed else None, evidence)
        header, header_end = _header(store, bucket, key, found.size, format, desc)
        crc = 0
        for own in by_key[key]:
            splits = _scan(store, bucket, Evidence(key, own.lower, crc, _UNKNOWN_VERSION), own.upper, quote)
            if not splits or splits[-1].upper != own.upper:
                raise _changed(evidence, "no record ends where one did")
            crc = splits[-1].crc_after
            growths.append(Growth(key, own.lower, own.upper, evidence, splits, header, header_end))
        if crc != evidence.crc32:
            raise _changed(evidence, f"their crc32 is {crc:08x}, it was {evidence.crc32:08x} when they were bound")
        return growths

    with ThreadPoolExecutor(_THREADS) as pool:
        return {(growth.key, growth.upper): growth for growths in pool.map(look, sorted(by_key)) for growth in growths}


def _still_there(listed: ListedObject | None, before: Evidence) -> ListedObject:
    key, detail = before.key, f"its first {before.length} bytes are bound"
    if listed is None:
        raise UpstreamChanged(key, 0, message=f'object "{key}" is gone', detail=detail)
    if listed.size < before.length:
        message = f'object "{key}" shrank: it ends at byte {listed.size}'
        raise UpstreamChanged(key, listed.size, message=message, detail=detail)
    return listed


def _changed(before: Evidence, detail: str) -> UpstreamChanged:
    message = f'object "{before.key}" changed under its bound bytes, from byte 0 to {before.length}'
    return UpstreamChanged(before.key, 0, message=message, detail=detail)


def _verify(store: Unzipped, bucket: str, before: Evidence) -> None:
    crc = 0
    for chunk in store.read(bucket, before.key, 0, before.length):
        crc = zlib.crc32(chunk, crc)
    if crc != before.crc32:
        raise _changed(before, f"their crc32 is {crc:08x}, it was {before.crc32:08x} when they were bound")


def _scan(store: Unzipped, bucket: str, before: Evidence, size: int, quote: bytes | None) -> tuple[Split, ...]:
    """The whole records in ``[before.length, size)``. Raises ``DecodeFailed`` where one goes on beyond all measure."""
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
                before.key, end, detail=f"it does not end within {RECORD_LIMIT_BYTES} bytes; a quote may not be closed"
            )
    if end > start:
        splits.append(Split(start, end, start_crc, end_crc))
    return tuple(splits)


def _header(
    store: Unzipped, bucket: str, key: str, upper: int, format: LineFormat, desc: RelationDesc
) -> tuple[tuple[str, ...] | None, int]:
    """What the first record of an object names, if it is a header, and where that ends."""
    if not isinstance(format, CsvFormat) or not format.has_header:
        return None, 0
    record = _first_record(store, bucket, key, upper, quote_of(format))
    return parse_header(record, key, format, desc), len(record)


def _first_record(store: Unzipped, bucket: str, key: str, upper: int, quote: bytes | None) -> bytes:
    """The first record of an object that has a whole one before ``upper``."""
    size = min(_HEADER_BYTES, upper)
    while True:
        start = b"".join(store.read(bucket, key, 0, size))
        ends = record_ends(start, quote)
        if len(ends) or size == upper:
            return start[: int(ends[0])] if len(ends) else start
        size = min(size * 4, upper)
