"""Copies tables as of a slot's snapshot, range by range of pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, LiteralString

import numpy as np
import psycopg
import pyarrow as pa
from psycopg import sql

from reclock.algebra.relations import RelationDesc
from reclock.collections.schema import arrow_schema
from reclock.connectors.connector import ChangeCount, Read
from reclock.connectors.postgres.values import convert

BATCH_BYTES = 4 << 20
"""How many bytes of a copy, or of changes, are decoded at once."""

SNAPSHOT_PAGES = 4_096
"""How many pages of a table (of 8 KiB) one task copies."""

_TABLE_SIZE: LiteralString = """
    SELECT pg_relation_size(t), GREATEST(
        pg_table_size(t), (SELECT SUM(pg_table_size(relid)) FROM pg_partition_tree(t))
    )::int8 FROM (SELECT %s::regclass) AS named (t)
"""
_ROW_FILTER: LiteralString = """
    SELECT to_jsonb(p) ->> 'rowfilter' FROM pg_publication_tables p WHERE p.pubname = %s AND p.schemaname = %s AND p.tablename = %s
"""


@dataclass(frozen=True, slots=True)
class CopyPages:
    """The rows of a table's pages ``[lower, upper)`` (None: to the end) as of the snapshot. They
    have about ``size_bytes``."""

    table: str
    lower: int
    upper: int | None
    snapshot: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class TableSize:
    """How many pages of 8 KiB a table has itself, and how many bytes with its large values and its
    partitions."""

    pages: int
    bytes: int


def snapshot_tasks(sizes: Mapping[str, TableSize], snapshot: str) -> list[CopyPages]:
    """The tasks that copy all rows of tables as of the snapshot, by each table's size. A task to
    the end of a table also copies the pages that were added meanwhile."""
    tasks = []
    for table, size in sizes.items():
        begins = range(0, max(size.pages, 1), SNAPSHOT_PAGES)
        for lower in begins:
            upper = lower + SNAPSHOT_PAGES if lower + SNAPSHOT_PAGES < size.pages else None
            tasks.append(CopyPages(table, lower, upper, snapshot, size.bytes // len(begins)))
    return tasks


def table_size(connection: psycopg.Connection[Any], table: str) -> TableSize:
    """The table's size now."""
    name = sql.Identifier(*table.split(".", 1)).as_string(connection)
    row = connection.execute(_TABLE_SIZE, [name]).fetchone()
    own_bytes, all_bytes = row or (0, 0)
    return TableSize(-(-int(own_bytes) // 8192), int(all_bytes))


def copy_pages(
    connection: psycopg.Connection[Any], publication: str, task: CopyPages, desc: RelationDesc
) -> Iterator[Read]:
    """The rows of the task that the publication has, in batches, each after its number of rows."""
    name = task.table.split(".", 1)
    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(task.snapshot))
    [row_filter] = connection.execute(_ROW_FILTER, [publication, *name]).fetchone() or [None]
    conditions: list[sql.Composable] = [sql.SQL("ctid >= {}::tid").format(f"({task.lower},0)")]
    if task.upper is not None:
        conditions.append(sql.SQL("ctid < {}::tid").format(f"({task.upper},0)"))
    if row_filter is not None:
        conditions.append(sql.SQL(row_filter))  # the publication's, as the server prints it
    query = sql.SQL("COPY (SELECT {} FROM {} WHERE {}) TO STDOUT (FORMAT csv)").format(
        sql.SQL(", ").join(map(sql.Identifier, desc.names)),
        sql.Identifier(*name),
        sql.SQL(" AND ").join(sql.SQL("({})").format(condition) for condition in conditions),
    )
    with connection.cursor() as cursor, cursor.copy(query) as copy:
        for count, lines in _batches(copy):
            yield task.table, ChangeCount(count)
            yield task.table, _copied(task.table, desc, lines)
    connection.execute("COMMIT")


def _batches(copy: Iterable[bytes | bytearray | memoryview]) -> Iterator[tuple[int, bytes]]:
    """The lines of ``copy`` in batches of about ``BATCH_BYTES``, with their number."""
    lines: list[bytes | bytearray | memoryview] = []
    size = 0
    for line in copy:
        lines.append(line)
        size += len(line)
        if size >= BATCH_BYTES:
            yield len(lines), b"".join(lines)
            lines, size = [], 0
    if lines:
        yield len(lines), b"".join(lines)


def _copied(table: str, desc: RelationDesc, lines: bytes) -> pa.Table:
    """The rows that ``COPY`` sent: an unquoted empty field is NULL, a quoted one an empty text."""
    import pyarrow.csv as csv

    strings = {name: pa.string() for name in desc.names}
    texts = csv.read_csv(
        pa.BufferReader(lines),
        csv.ReadOptions(
            use_threads=False, column_names=list(desc.names), block_size=len(lines) + 1
        ),
        csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        csv.ConvertOptions(
            column_types=strings,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    arrays = convert(
        table,
        desc,
        [column.combine_chunks().slice for column in texts.columns],
        np.zeros(len(texts), np.int64),
    )
    return pa.table(arrays, schema=arrow_schema(desc, with_updates=False))
