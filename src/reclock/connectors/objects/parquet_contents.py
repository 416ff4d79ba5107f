"""Objects that are Parquet files: complete once they are there, with rows as offsets.

A row group is a split. Of a file only the footer and the chunks of the declared columns are read.
The checksum of an object is that of these bytes, so it says whether its rows are what they were.
"""

from __future__ import annotations

import io
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any, ClassVar, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as kinds

from reclock.algebra.relations import RelationDesc
from reclock.connectors.objects.compression import Unzipped
from reclock.connectors.objects.growth import (
    Growth,
    ObjectReadTask,
    Split,
    changed,
    changed_since_claimed,
    check_crc,
    lost,
    other_crc,
)
from reclock.connectors.objects.object_store import ListedObject, ObjectMissing
from reclock.connectors.objects.readings import ObjectEvidence
from reclock.errors import (
    BadRecord,
    DecodeFailed,
    ParquetUnreadable,
    SchemaMismatch,
    skip_statement,
)
from reclock.formats.bad_records import decode_run, decoded_in_turn
from reclock.formats.parquet import mismatch, typed_rows
from reclock.formats.values import Unreadable
from reclock.reclocking.remap import BoundRange

MAGIC = b"PAR1"
_ENCRYPTED = b"PARE"
_TRAILER = struct.Struct("<I4s")
"""What ends a file: the length of the footer, and the magic number."""

_TAIL_BYTES = 64 << 10
_BATCH_ROWS = 1 << 16
_MARGIN_BYTES = 100
"""Writers older than parquet-mr 1.2.9 leave the header of a dictionary out of a chunk's size. Arrow
reads so many bytes more of their files."""

_READ_OPTIONS: dict[str, Any] = {"coerce_int96_timestamp_unit": "us"}
"""The timestamps that Spark and Impala write as 96 bits reach beyond 64 bits of nanoseconds."""

_NOTE = re.compile(r"(?:^|/)(?:\.|_[^=/]*(?:/|$))")
"""Keys with a segment that begins with a dot or an underscore, unless it is ``_name=value``."""


@dataclass(frozen=True, slots=True)
class Footer:
    """The end of a Parquet file: its schema, and where the chunks of its columns are, which end at
    ``start``. ``crc32`` is the checksum of the footer itself."""

    schema: pa.Schema
    metadata: pq.FileMetaData
    start: int
    crc32: int

    def columns(self, desc: RelationDesc) -> list[int]:
        """The numbers of the columns of ``desc`` among the file's columns without parts, of which a
        nested one has several."""
        numbers: list[int] = []
        first = 0
        for field in self.schema:
            after = first + _leaves(field.type)
            if field.name in desc.names:
                numbers += range(first, after)
            first = after
        return numbers

    def ranges(self, row_group: int, columns: Sequence[int]) -> list[tuple[int, int]]:
        """The bytes of these columns in a row group, in order, with adjacent ranges joined."""
        group = self.metadata.row_group(row_group)
        joined: list[tuple[int, int]] = []
        for lower, upper in sorted(self._chunk(group.column(column)) for column in columns):
            if joined and lower <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(upper, joined[-1][1]))
            else:
                joined.append((lower, upper))
        return joined

    def _chunk(self, chunk: pq.ColumnChunkMetaData) -> tuple[int, int]:
        lower = chunk.data_page_offset
        if chunk.has_dictionary_page and 0 < (chunk.dictionary_page_offset or 0) < lower:
            lower = chunk.dictionary_page_offset
        return lower, min(lower + chunk.total_compressed_size + _MARGIN_BYTES, self.start)


def _leaves(type: pa.DataType) -> int:
    if isinstance(type, pa.BaseExtensionType):
        return _leaves(type.storage_type)
    if kinds.is_nested(type):
        return sum(_leaves(type.field(place).type) for place in range(type.num_fields))
    return 1


def read_footer(store: Unzipped, bucket: str, listed: ListedObject, partition: str) -> Footer:
    """The footer of an object. Raises ``ObjectMissing``, and ``ParquetUnreadable``, which names the
    ``partition``."""

    def read(lower: int) -> bytes:
        return b"".join(store.read(bucket, listed.key, lower, listed.size))

    tail = read(max(listed.size - _TAIL_BYTES, 0))
    if len(tail) < len(MAGIC) + _TRAILER.size:
        detail = f"it has {listed.size} bytes, which is less than any Parquet file"
        raise ParquetUnreadable(partition, detail=detail)
    length, magic = _TRAILER.unpack(tail[-_TRAILER.size :])
    if magic == _ENCRYPTED:
        raise ParquetUnreadable(partition, detail="its footer is encrypted")
    if magic != MAGIC:
        detail = (
            f'it ends with the bytes {magic!r}, where a Parquet file has "PAR1": it is cut off, '
            "still being written, or of another format"
        )
        raise ParquetUnreadable(partition, detail=detail)
    start = listed.size - _TRAILER.size - length
    if start < len(MAGIC):
        detail = f"its footer is said to have {length} bytes, the object has {listed.size}"
        raise ParquetUnreadable(partition, detail=detail)
    if length + _TRAILER.size > len(tail):
        tail = read(start)
    footer = tail[-(length + _TRAILER.size) :]
    try:
        with pq.ParquetFile(pa.BufferReader(MAGIC + footer), **_READ_OPTIONS) as file:
            return Footer(file.schema_arrow, file.metadata, start, zlib.crc32(footer))
    except (pa.ArrowException, OSError) as error:
        raise ParquetUnreadable(partition, detail=f"its footer: {_first_line(error)}") from error


@dataclass(frozen=True, slots=True)
class ParquetContents:
    """Parquet files, as ``reclock.connectors.objects.contents.ObjectContents``. A file has all its
    rows when it appears."""

    store: Unzipped
    bucket: str
    desc: RelationDesc

    counted: ClassVar[str] = "rows"

    def has_data(self, key: str) -> bool:
        return _NOTE.search(key) is None

    def grow(self, listed: ListedObject, before: ObjectEvidence) -> Growth | None:
        growth = self._whole(listed, before)
        if not before.length:
            return growth
        if (growth.upper, growth.evidence.crc32) == (before.length, before.crc32):
            return replace(growth, lower=before.length, splits=())
        raise self._changed(growth, before)

    def recall(
        self, listed: ListedObject, evidence: ObjectEvidence, ranges: Sequence[BoundRange]
    ) -> list[Growth]:
        growth = self._whole(listed, evidence)
        if (growth.upper, growth.evidence.crc32) != (evidence.length, evidence.crc32):
            raise self._changed(growth, evidence)
        return [replace(growth, evidence=evidence) for _ in ranges]

    def _changed(self, growth: Growth, bound: ObjectEvidence) -> Exception:
        detail = (
            other_crc(bound, growth.evidence.crc32)
            if growth.upper == bound.length
            else f"it has {growth.upper} rows, it had {bound.length} when they were bound"
        )
        return changed(bound, f"changed under its {bound.length} bound rows", detail)

    def _whole(self, listed: ListedObject, before: ObjectEvidence) -> Growth:
        """All rows of the object, a split for each row group that has any."""
        footer = read_footer(self.store, self.bucket, listed, before.partition)
        problem = mismatch(footer.schema, self.desc)
        if problem is not None:
            raise SchemaMismatch(before.partition, detail=problem)
        columns = footer.columns(self.desc)
        splits: list[Split] = []
        upper, crc = 0, footer.crc32
        for number in range(footer.metadata.num_row_groups):
            group = footer.metadata.row_group(number)
            if not group.num_rows:
                continue
            lower, upper, crc_before = upper, upper + group.num_rows, crc
            for start, end in footer.ranges(number, columns):
                for chunk in self.store.read(self.bucket, listed.key, start, end):
                    crc = zlib.crc32(chunk, crc)
            row_bytes = sum(group.column(column).total_uncompressed_size for column in columns)
            splits.append(Split(lower, upper, crc_before, crc, number, row_bytes, footer.crc32))
        evidence = replace(before, length=upper, crc32=crc, version=listed.version)
        return Growth(before.key, 0, upper, evidence, tuple(splits))

    def read(self, tasks: Sequence[ObjectReadTask]) -> Iterator[pa.Table]:
        return decoded_in_turn(self._batches(tasks))

    def row_ranges(self, task: ObjectReadTask) -> Iterator[tuple[int, int]]:
        rows = _without(range(task.split.lower, task.split.upper), task.skips)
        return ((row, row + 1) for row in rows)

    def _batches(self, tasks: Sequence[ObjectReadTask]) -> Iterator[Callable[[], pa.Table]]:
        for key, splits in groupby(tasks, key=lambda task: task.key):
            yield from self._object_batches(key, list(splits))

    def _object_batches(
        self, key: str, tasks: Sequence[ObjectReadTask]
    ) -> Iterator[Callable[[], pa.Table]]:
        footer = self._bound_footer(key, tasks[0])
        columns = footer.columns(self.desc)
        for task in tasks:
            yield from self._group_batches(footer, columns, task)

    def _bound_footer(self, key: str, task: ObjectReadTask) -> Footer:
        """The footer with which the object was bound. Raises ``UnpublishedGone`` and
        ``UpstreamChanged``."""
        listed = self.store.find(self.bucket, key)
        if listed is None:
            raise lost(task, self.counted, None)
        try:
            footer = read_footer(self.store, self.bucket, listed, task.partition)
        except ObjectMissing as missing:
            raise lost(task, self.counted, missing.detail) from missing
        except ParquetUnreadable as error:
            raise changed_since_claimed(task, self.counted, str(error.detail)) from error
        if footer.crc32 != task.split.footer_crc32:
            detail = "its footer is not the one it had when they were bound"
            raise changed_since_claimed(task, self.counted, detail)
        return footer

    def _group_batches(
        self, footer: Footer, columns: Sequence[int], task: ObjectReadTask
    ) -> Iterator[Callable[[], pa.Table]]:
        """What gives the rows of a row group, in batches, or raises ``DecodeFailed``."""
        pieces, lower = self._pieces(footer, columns, task), task.split.lower
        try:
            with pq.ParquetFile(
                pa.PythonFile(_SparseFile(pieces), "r"),
                metadata=footer.metadata,
                page_checksum_verification=True,
                **_READ_OPTIONS,
            ) as file:
                for batch in file.reader.iter_batches(
                    _BATCH_ROWS,
                    row_groups=[task.split.row_group],
                    column_indices=columns,
                    use_threads=False,
                ):
                    yield partial(self._typed, pa.table(batch), task, lower)
                    lower += batch.num_rows
        except (pa.ArrowException, OSError) as error:
            yield partial(_raise_damaged, task, error)

    def _pieces(
        self, footer: Footer, columns: Sequence[int], task: ObjectReadTask
    ) -> list[tuple[int, bytes]]:
        """The bytes of the columns in a row group, as they were bound, each with its place."""
        assert task.split.row_group is not None
        pieces, crc = [], task.split.crc_before
        for start, end in footer.ranges(task.split.row_group, columns):
            try:
                piece = b"".join(self.store.read(self.bucket, task.key, start, end))
            except ObjectMissing as missing:
                raise lost(task, self.counted, missing.detail) from missing
            pieces.append((start, piece))
            crc = zlib.crc32(piece, crc)
        check_crc(task, self.counted, crc)
        return pieces

    def _typed(self, rows: pa.Table, task: ObjectReadTask, lower: int) -> pa.Table:
        """The rows from ``lower`` on as rows of the source, without those that are skipped."""
        offsets: Sequence[int] = range(lower, lower + rows.num_rows)
        if task.skips:
            offsets = _without(offsets, task.skips)
            rows = rows.take(pa.array([offset - lower for offset in offsets], pa.int64()))

        def attempt(low: int, high: int) -> pa.Table:
            return typed_rows(rows.slice(low, high - low), self.desc)

        def bad_record(index: int, failure: Unreadable) -> BadRecord:
            at = offsets[index]
            return BadRecord.in_object(task.partition, at, at + 1, failure.reason, unit="row")

        return decode_run(rows.num_rows, attempt, bad_record)


def _without(offsets: Sequence[int], skips: Sequence[tuple[int, int]]) -> list[int]:
    return [offset for offset in offsets if not any(start <= offset < end for start, end in skips)]


class _SparseFile(io.RawIOBase):
    """A file with these pieces, and zeros elsewhere, which Arrow skips."""

    def __init__(self, pieces: Sequence[tuple[int, bytes]]) -> None:
        self._pieces, self._at = pieces, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        origins = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}
        self._at = origins[whence] + offset
        return self._at

    def tell(self) -> int:
        return self._at

    @property
    def _size(self) -> int:
        return max((start + len(piece) for start, piece in self._pieces), default=0)

    def readinto(self, target: Any) -> int:
        size = min(len(target), max(self._size - self._at, 0))
        filled = bytearray(size)
        for start, piece in self._pieces:
            lower, upper = max(start, self._at), min(start + len(piece), self._at + size)
            if lower < upper:
                part = memoryview(piece)[lower - start : upper - start]
                filled[lower - self._at : upper - self._at] = part
        target[:size] = filled
        self._at += size
        return size


def _raise_damaged(task: ObjectReadTask, error: Exception) -> NoReturn:
    """Raises the error of a row group that is damaged within."""
    lower, upper = task.split.lower, task.split.upper
    raise DecodeFailed(
        task.partition,
        lower,
        upper=upper,
        message=f'the row group of "{task.partition}" with the rows {lower} to {upper} is damaged',
        detail=_first_line(error),
        unit="row",
        hint=(
            "replace the object and ALTER SOURCE … RETRY; or give the rows up with "
            f"{skip_statement((task.partition, lower, upper))}"
        ),
    ) from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
