"""Data files: Parquet files of updates, described by their footers alone, without reading data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from reclock.algebra.relations import DIFF_COLUMN, RESERVED_COLUMNS, TIME_COLUMN
from reclock.algebra.timestamps import Timestamp
from reclock.collections.folder import Folder
from reclock.errors import InternalError


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
    min_diff: int | None = None
    """As ``max_diff``: None if the log has no such statistic."""
    max_diff: int | None = None


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file that is durable in the table's folder but not in any version yet.
    ``asdict`` makes it JSON, ``StagedFile(**…)`` reads it back."""

    path: str
    """Relative to the table's folder."""
    size_bytes: int
    rows: int
    min_time: Timestamp
    max_time: Timestamp
    min_diff: int
    null_counts: Mapping[str, int]
    stats: str
    """Delta's statistics of the file, as JSON."""


def write_file(
    folder: Folder,
    path: str,
    batches: Iterable[pa.RecordBatch | pa.Table],
    schema: pa.Schema,
    *,
    group_rows: int | None = None,
) -> StagedFile:
    """Write one Parquet file of at least one update, durable when this returns. A row group has at
    most ``group_rows``; None leaves that to the writer."""
    folder.make_parent(path)
    footers: list[pq.FileMetaData] = []
    writer = parquet_writer(folder, path, schema, metadata_collector=footers)
    try:
        for batch in batches:
            writer.write(batch, group_rows)
    except BaseException:
        with suppress(Exception):  # the file is not whole, and the error above says why
            writer.close()
        raise
    writer.close()
    folder.sync([path])
    return describe(path, folder.sizes([path])[path], footers[0])


def parquet_writer(
    folder: Folder,
    path: str,
    schema: pa.Schema,
    *,
    compression: str = "zstd",
    metadata_collector: list[pq.FileMetaData] | None = None,
) -> pq.ParquetWriter:
    """A writer of a Parquet file without statistics of floating-point columns.

    Parquet's bounds leave NaN out. A reader that orders NaN above every number, as PostgreSQL,
    Spark and DuckDB do, would skip rows because of them.
    """
    return pq.ParquetWriter(
        path,
        schema,
        filesystem=folder.filesystem,
        compression=compression,
        metadata_collector=metadata_collector,
        write_statistics=[field.name for field in schema if not pa.types.is_floating(field.type)],
    )


def read_footer(folder: Folder, path: str, size_bytes: int, schema: pa.Schema) -> StagedFile | None:
    """Describes a file that a job wrote, by its footer; None if the file has no rows.
    Raises ``InternalError`` if its columns are not those of ``schema``, by name and type."""
    try:
        with pq.ParquetFile(path, filesystem=folder.filesystem) as file:
            columns, footer = file.schema_arrow, file.metadata
    except pa.ArrowInvalid as invalid:
        raise InternalError(
            f'"{path}" is not a whole Parquet file', detail=str(invalid)
        ) from invalid
    _check_columns(path, columns, schema)
    return describe(path, size_bytes, footer) if footer.num_rows else None


def _check_columns(path: str, actual: pa.Schema, expected: pa.Schema) -> None:
    actual_types = {field.name: field.type for field in actual}
    expected_types = {field.name: field.type for field in expected}
    if len(actual) != len(expected) or actual_types != expected_types:
        raise InternalError(
            f'"{path}" does not have the columns of its collection',
            detail=f"found {_one_line(actual)}; expected {_one_line(expected)}",
            hint="timestamps are written as TIMESTAMP_MICROS, never as INT96",
        )


def _one_line(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)


def describe(path: str, size_bytes: int, footer: pq.FileMetaData) -> StagedFile:
    """The file as its footer describes it: row count, null counts, bounds of its times and diffs.

    Delta's statistics cover only times and diffs, which always have bounds. If a file
    lacked a bound, as it must for NaN or a long text, delta-rs would skip it and lose rows.
    """
    null_counts = {field.name: 0 for field in footer.schema.to_arrow_schema() if not field.nullable}
    low: dict[str, int] = {}
    high: dict[str, int] = {}
    for index in range(footer.num_columns):
        column = footer.schema.column(index)
        chunks = [
            footer.row_group(group).column(index).statistics
            for group in range(footer.num_row_groups)
        ]
        if column.path != column.name:
            continue  # a part of an array or an interval
        if column.name not in null_counts and all(
            chunk is not None and chunk.has_null_count for chunk in chunks
        ):
            null_counts[column.name] = sum(chunk.null_count for chunk in chunks)
        if column.name in RESERVED_COLUMNS:
            if not all(chunk is not None and chunk.has_min_max for chunk in chunks):
                raise InternalError(f'"{path}" has no statistics of "{column.name}"')
            low[column.name] = min(chunk.min for chunk in chunks)
            high[column.name] = max(chunk.max for chunk in chunks)
    counted = {name: null_counts[name] for name in low if name in null_counts}
    stats = {
        "numRecords": footer.num_rows,
        "minValues": low,
        "maxValues": high,
        "nullCount": counted,
    }
    return StagedFile(
        path,
        size_bytes,
        footer.num_rows,
        Timestamp(low[TIME_COLUMN]),
        Timestamp(high[TIME_COLUMN]),
        low[DIFF_COLUMN],
        null_counts,
        json.dumps(stats),
    )
