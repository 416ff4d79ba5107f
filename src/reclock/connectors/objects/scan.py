"""Finds the new bytes of objects: whole records, cut into splits, with the evidence after them."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.connectors.connector import Skip
from reclock.connectors.objects.compression import Unzipped
from reclock.connectors.objects.object_store import ListedObject, ObjectMissing
from reclock.connectors.objects.patterns import compile_pattern, literal_prefix
from reclock.connectors.objects.readings import UNKNOWN_VERSION, ObjectEvidence
from reclock.definitions.formats import CsvFormat, LineFormat
from reclock.definitions.sources import ObjectsConnector
from reclock.errors import DecodeFailed, UpstreamChanged, decision
from reclock.formats.records import last_end, parse_header, quote_of, record_ends
from reclock.reclocking.remap import BoundRange

SPLIT_BYTES = 16 << 20
"""About how many bytes one task reads. A split ends with a record."""

RECORD_LIMIT_BYTES = 64 << 20
"""The longest record. A longer one probably has a quote that was never closed."""

HEADER_BYTES = 64 << 10
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
        before = evidence.get(key, ObjectEvidence(key, 0, 0, UNKNOWN_VERSION))
        listed_object = listed.get(key)
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
            before.partition,
            0,
            message=f'object "{key}" is gone',
            detail=detail,
            hint=_restore_hint(before),
        )
    if listed.size < before.length:
        message = f'object "{key}" shrank: it ends at byte {listed.size}'
        raise UpstreamChanged(
            before.partition,
            listed.size,
            message=message,
            detail=detail,
            hint=_restore_hint(before),
        )
    return listed


def _changed(before: ObjectEvidence, detail: str) -> UpstreamChanged:
    message = f'object "{before.key}" changed under its bound bytes, from byte 0 to {before.length}'
    return UpstreamChanged(
        before.partition, 0, message=message, detail=detail, hint=_restore_hint(before)
    )


def _restore_hint(bound: ObjectEvidence) -> str:
    """What can be done about an object whose published bytes are gone or changed."""
    return (
        "restore the object and ALTER SOURCE … RETRY, read it again from its beginning with "
        f"{decision('RESTART', bound.key)}, or give it up with {decision('SKIP', bound.partition)}"
    )


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
    size = min(HEADER_BYTES, upper)
    while True:
        start = b"".join(store.read(bucket, key, 0, size))
        ends = record_ends(start, quote)
        if len(ends) or size == upper:
            return start[: int(ends[0])] if len(ends) else start
        size = min(size * 4, upper)
