"""Objects of lines: records that end with a newline, whose bytes are the offsets."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import pyarrow as pa

from reclock.algebra.relations import RelationDesc
from reclock.connectors.objects import scan
from reclock.connectors.objects.compression import Unzipped
from reclock.connectors.objects.growth import (
    Growth,
    ObjectReadTask,
    Split,
    changed,
    check_crc,
    lost,
    other_crc,
)
from reclock.connectors.objects.object_store import ListedObject, ObjectMissing
from reclock.connectors.objects.readings import ObjectEvidence
from reclock.definitions.formats import CsvFormat, LineFormat
from reclock.errors import DecodeFailed, UpstreamChanged
from reclock.formats.bad_records import decoded_in_turn
from reclock.formats.decode import decode
from reclock.formats.records import last_end, parse_header, quote_of, record_ends, row_ranges
from reclock.reclocking.remap import BoundRange

RECORD_LIMIT_BYTES = 64 << 20
"""The longest record. A longer one probably has a quote that was never closed."""

HEADER_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class LineContents:
    """Whole records of lines, as ``reclock.connectors.objects.contents.ObjectContents``. Bytes that
    no newline ends yet are left for later."""

    store: Unzipped
    bucket: str
    format: LineFormat
    desc: RelationDesc

    counted: ClassVar[str] = "bytes"

    def has_data(self, key: str) -> bool:
        return True

    def grow(self, listed: ListedObject, before: ObjectEvidence) -> Growth | None:
        key, listed = before.key, self._measured(listed, before)
        self._verify(before)
        splits = self._scan(before, listed.size)
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
        header, header_end = self._header(before, upper)
        evidence = replace(before, length=upper, crc32=crc, version=listed.version)
        return Growth(key, before.length, upper, evidence, splits, header, header_end)

    def recall(
        self, listed: ListedObject, evidence: ObjectEvidence, ranges: Sequence[BoundRange]
    ) -> list[Growth]:
        growths: list[Growth] = []
        measured = self._measured(listed, evidence)
        header, header_end = self._header(evidence, measured.size)
        crc = 0
        for bound_range in ranges:
            before = replace(evidence, length=bound_range.lower, crc32=crc)
            splits = self._scan(before, bound_range.upper)
            if not splits or splits[-1].upper != bound_range.upper:
                raise _changed(evidence, "no record ends where one did")
            crc = splits[-1].crc_after
            growths.append(
                Growth(
                    evidence.key,
                    bound_range.lower,
                    bound_range.upper,
                    evidence,
                    splits,
                    header,
                    header_end,
                )
            )
        if crc != evidence.crc32:
            raise _changed(evidence, other_crc(evidence, crc))
        return growths

    def read(self, tasks: Sequence[ObjectReadTask]) -> Iterator[pa.Table]:
        yield pa.concat_tables(decoded_in_turn(partial(self._read, task) for task in tasks))

    def _read(self, task: ObjectReadTask) -> pa.Table:
        records, start = self._records(task)
        return decode(
            records,
            self.format,
            self.desc,
            task.header,
            key=task.partition,
            offset=start,
            skips=task.skips,
        )

    def row_ranges(self, task: ObjectReadTask) -> Iterator[tuple[int, int]]:
        records, start = self._records(task)
        width = len(task.header if task.header is not None else self.desc)
        return row_ranges(records, self.format, width, offset=start, skips=task.skips)

    def _records(self, task: ObjectReadTask) -> tuple[bytes, int]:
        """The bytes of the split after the header, as they were bound, and where they begin."""
        split = task.split
        try:
            buffer = b"".join(self.store.read(self.bucket, task.key, split.lower, split.upper))
        except ObjectMissing as missing:
            raise lost(task, self.counted, missing.detail) from missing
        check_crc(task, self.counted, zlib.crc32(buffer, split.crc_before))
        start = max(split.lower, min(task.header_end, split.upper))
        return (buffer[start - split.lower :] if start > split.lower else buffer), start

    def _measured(self, listed: ListedObject, before: ObjectEvidence) -> ListedObject:
        """The object with the size of its contents. Raises ``UpstreamChanged`` if it shrank."""
        measured = self.store.measured(self.bucket, listed)
        if measured.size < before.length:
            problem = f"shrank: it ends at byte {measured.size}"
            detail = f"its first {before.length} bytes are bound"
            raise changed(before, problem, detail, offset=measured.size)
        return measured

    def _verify(self, before: ObjectEvidence) -> None:
        crc = 0
        for chunk in self.store.read(self.bucket, before.key, 0, before.length):
            crc = zlib.crc32(chunk, crc)
        if crc != before.crc32:
            raise _changed(before, other_crc(before, crc))

    def _scan(self, before: ObjectEvidence, size: int) -> tuple[Split, ...]:
        """Split the whole records in ``[before.length, size)``. Raises ``DecodeFailed`` if a record is
        longer than ``RECORD_LIMIT_BYTES``."""
        splits: list[Split] = []
        quote = quote_of(self.format)
        start, start_crc = before.length, before.crc32  # of the split that is being filled
        end, end_crc = start, start_crc  # after the last whole record
        at, crc, is_open = start, start_crc, False
        for chunk in self.store.read(self.bucket, before.key, start, size):
            cut, is_open = last_end(chunk, quote, is_open)
            view = memoryview(chunk)
            if cut:
                end, end_crc = at + cut, zlib.crc32(view[:cut], crc)
                crc = zlib.crc32(view[cut:], end_crc)
                if end - start >= scan.SPLIT_BYTES:
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

    def _header(self, evidence: ObjectEvidence, upper: int) -> tuple[tuple[str, ...] | None, int]:
        """The field names in the first record of an object, if it is a header, and where the header
        ends."""
        if not isinstance(self.format, CsvFormat) or not self.format.has_header:
            return None, 0
        record = self._first_record(evidence.key, upper)
        return parse_header(record, evidence.partition, self.format, self.desc), len(record)

    def _first_record(self, key: str, upper: int) -> bytes:
        """The first record of an object that has a whole one before ``upper``."""
        size, quote = min(HEADER_BYTES, upper), quote_of(self.format)
        while True:
            start = b"".join(self.store.read(self.bucket, key, 0, size))
            ends = record_ends(start, quote)
            if len(ends) or size == upper:
                return start[: int(ends[0])] if len(ends) else start
            size = min(size * 4, upper)


def _changed(before: ObjectEvidence, detail: str) -> UpstreamChanged:
    return changed(before, f"changed under its bound bytes, from byte 0 to {before.length}", detail)
