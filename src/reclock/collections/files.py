"""Data files: Parquet files of updates, and what their footers say about them. No data is read to describe one."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN
from reclock.algebra.timestamps import Timestamp
from reclock.collections.folder import Folder
from reclock.errors import InternalError

_TEXT_LIMIT = 32
"""Longer texts have no maximum in the statistics, and a cut one as minimum."""

_EPOCH = datetime.datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of one version of a collection. Its times lie in ``[min_time, max_time]``."""

    path: str
    """Relative to the table's folder."""
    uri: str
    size_bytes: int
    rows: int
    min_time: Timestamp
    max_time: Timestamp


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file that is durable in the table's folder but in no version yet. Through JSON by ``asdict`` and ``StagedFile(**…)``."""

    path: str
    """Relative to the table's folder."""
    size_bytes: int
    rows: int
    min_time: Timestamp
    max_time: Timestamp
    min_diff: int
    null_counts: Mapping[str, int]
    stats: str
    """Delta's statistics of the file, JSON."""


def write_file(folder: Folder, path: str, batches: Iterable[pa.RecordBatch | pa.Table], schema: pa.Schema) -> StagedFile:
    """Write one Parquet file of updates, durable when this returns. There is at least one row."""
    folder.make_parent(path)
    collected: list[pq.FileMetaData] = []
    with pq.ParquetWriter(path, schema, filesystem=folder.filesystem, compression="zstd", metadata_collector=collected) as writer:
        for batch in batches:
            writer.write(batch)
    folder.sync([path])
    return describe(path, folder.sizes([path])[path], collected[0])


def read_footer(folder: Folder, path: str, size_bytes: int, schema: pa.Schema) -> StagedFile | None:
    """What the footer says of a file that someone else wrote; None of a file without rows.

    Raises ``InternalError`` if its columns are not those of ``schema``, by name and type.
    """
    try:
        with pq.ParquetFile(path, filesystem=folder.filesystem) as file:
            columns, footer = file.schema_arrow, file.metadata
    except pa.ArrowInvalid as invalid:
        raise InternalError(f'"{path}" is not a whole Parquet file', detail=str(invalid)) from invalid
    _check_columns(path, columns, schema)
    return describe(path, size_bytes, footer) if footer.num_rows else None


def _check_columns(path: str, found: pa.Schema, expected: pa.Schema) -> None:
    found_types = {field.name: field.type for field in found}
    expected_types = {field.name: field.type for field in expected}
    if len(found) != len(expected) or found_types != expected_types:
        raise InternalError(
            f'"{path}" does not have the columns of its collection',
            detail=f"found {_one_line(found)}; expected {_one_line(expected)}",
            hint="timestamps are written as TIMESTAMP_MICROS, never as INT96",
        )


def _one_line(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)


def describe(path: str, size_bytes: int, footer: pq.FileMetaData) -> StagedFile:
    """The file as its footer describes it: row count, bounds of its times, null counts, Delta statistics."""
    low: dict[str, Any] = {}
    high: dict[str, Any] = {}
    null_counts: dict[str, int] = {}
    for index in range(footer.num_columns):
        name = footer.schema.column(index).name
        chunks = [footer.row_group(group).column(index).statistics for group in range(footer.num_row_groups)]
        if footer.schema.column(index).max_definition_level == 0:
            null_counts[name] = 0
        elif all(chunk is not None and chunk.has_null_count for chunk in chunks):
            null_counts[name] = sum(chunk.null_count for chunk in chunks)
        bounds = [_bounds(chunk) for chunk in chunks]
        lows = [bound[0] for bound in bounds]
        highs = [bound[1] for bound in bounds]
        if None not in lows:
            low[name] = min(lows)
        if None not in highs:
            high[name] = max(highs)
    if TIME_COLUMN not in low or TIME_COLUMN not in high or DIFF_COLUMN not in low:
        raise InternalError(f'"{path}" has no statistics of its times and diffs')
    stats = {"numRecords": footer.num_rows, "minValues": low, "maxValues": high, "nullCount": null_counts}
    return StagedFile(
        path,
        size_bytes,
        footer.num_rows,
        Timestamp(low[TIME_COLUMN]),
        Timestamp(high[TIME_COLUMN]),
        low[DIFF_COLUMN],
        null_counts,
        json.dumps(stats, ensure_ascii=False, separators=(",", ":")),
    )


def _bounds(statistics: Any) -> tuple[Any, Any]:
    """A lower and an upper bound of one column chunk as Delta writes them, comparable among chunks; None where there is none.

    Only what every reader orders alike: integers, dates, timestamps, text. Floats have none, since a footer's bounds leave
    out NaN, which SQL puts above all numbers.
    """
    if statistics is None or not statistics.has_min_max:
        return None, None
    kind = json.loads(statistics.logical_type.to_json())
    match kind["Type"]:
        case "String":
            return _text_bounds(statistics)
        case "Date":
            return _date(statistics.min_raw), _date(statistics.max_raw)
        case "Timestamp" if kind["timeUnit"] == "microseconds":
            zone = "Z" if kind["isAdjustedToUTC"] else ""
            return _moment(statistics.min_raw, zone), _moment(statistics.max_raw, zone)
        case "Int" | "None" if statistics.physical_type in ("INT32", "INT64"):
            return statistics.min, statistics.max
        case _:
            return None, None


def _text_bounds(statistics: Any) -> tuple[str | None, str | None]:
    try:
        least, greatest = statistics.min, statistics.max
    except UnicodeDecodeError:
        return None, None
    return least[:_TEXT_LIMIT], greatest if len(greatest) <= _TEXT_LIMIT else None


def _date(days: int) -> str | None:
    """ISO 8601; None outside the years 1 to 9999, where the order of texts is not the order of dates."""
    try:
        return (_EPOCH + datetime.timedelta(days=days)).date().isoformat()
    except OverflowError:
        return None


def _moment(microseconds: int, zone: str) -> str | None:
    """ISO 8601; None outside the years 1 to 9999, where the order of texts is not the order of moments."""
    try:
        return (_EPOCH + datetime.timedelta(microseconds=microseconds)).isoformat(timespec="microseconds") + zone
    except OverflowError:
        return None
