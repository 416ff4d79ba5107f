"""Consolidation: sums the diffs of equal rows and drops zero sums, over Arrow data of any size.

Rows are equal as SQL groups them: NULL equals NULL, NaN equals NaN, and -0.0 equals 0.0, which is
returned as 0.0. Text and bytes are compared by their bytes. A sum beyond 64 bits raises an error.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import duckdb
import pyarrow as pa

from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN
from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.collections.arrow_offsets import without_offsets
from reclock.errors import InternalError

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

Updates: TypeAlias = "pa.Table | pa.RecordBatchReader | Dataset"


def consolidate_rows(updates: Updates, columns: pa.Schema, as_of: Timestamp) -> pa.Table:
    """The multiset at ``as_of``: ``columns`` and the diff. Rows are distinct, no diff is zero."""
    sql = f"""
        SELECT {_select_list(columns)} SUM(updates.{DIFF_COLUMN})::BIGINT AS {DIFF_COLUMN}
        FROM updates WHERE updates.{TIME_COLUMN} <= {as_of:d}
        GROUP BY ALL HAVING SUM(updates.{DIFF_COLUMN}) <> 0
    """
    return stream_query(
        updates, sql, pa.schema([*columns, pa.field(DIFF_COLUMN, pa.int64(), nullable=False)])
    ).read_all()


def consolidate_changes(
    updates: Updates, schema: pa.Schema, lower: Timestamp, upper: Timestamp
) -> pa.Table:
    """The updates at times in ``[lower, upper)``, of ``schema``, in order of time.
    No (row, time) occurs twice, no diff is zero."""
    return stream_changes(updates, schema, lower, upper).read_all()


def stream_changes(
    updates: Updates, schema: pa.Schema, lower: Timestamp, upper: Timestamp
) -> pa.RecordBatchReader:
    """As ``consolidate_changes``, batch by batch."""
    times = f"updates.{TIME_COLUMN} >= {lower:d} AND updates.{TIME_COLUMN} < {upper:d}"
    return stream_query(updates, _changes_sql(schema, f"updates.{TIME_COLUMN}", times), schema)


def advance_updates(
    updates: Updates,
    schema: pa.Schema,
    since: Timestamp,
    upper: Timestamp = MAXIMUM,
    *,
    then_by: Sequence[str] = (),
) -> pa.RecordBatchReader:
    """Streams all updates below ``upper``, consolidated, in order of time and, at each time, of the
    columns ``then_by``. Times below ``since`` are moved up to it."""
    advanced = f"GREATEST(updates.{TIME_COLUMN}, {since:d}::BIGINT)"
    sql = _changes_sql(schema, advanced, f"updates.{TIME_COLUMN} < {upper:d}")
    places = [schema.get_field_index(name) + 1 for name in then_by]
    return stream_query(updates, ", ".join([sql, *map(str, places)]), schema)


def settle_updates(updates: Updates, schema: pa.Schema, since: Timestamp) -> pa.RecordBatchReader:
    """As ``advance_updates``, but a row's sum up to ``since`` keeps the row's last update time.
    So a reader can tell when the row last changed, whether or not its updates were compacted."""
    time = f"updates.{TIME_COLUMN}"
    uncompacted = f"CASE WHEN {time} > {since:d} THEN {time} END"
    return stream_query(updates, _changes_sql(schema, f"MAX({time})", "TRUE", uncompacted), schema)


def _changes_sql(
    schema: pa.Schema, time: str, condition: str, group_time: str | None = None
) -> str:
    """Sums equal rows by ``time``, or, if that is an aggregate, by ``group_time``. In order of
    time: more columns to order by may follow."""
    columns = pa.schema([field for field in schema if field.name not in (TIME_COLUMN, DIFF_COLUMN)])
    groups = ", ".join(
        [*(str(index + 1) for index in range(len(columns))), group_time or str(len(columns) + 1)]
    )
    return f"""
        SELECT {_select_list(columns)} {time} AS {TIME_COLUMN}, SUM(updates.{DIFF_COLUMN})::BIGINT AS {DIFF_COLUMN}
        FROM updates WHERE {condition}
        GROUP BY {groups} HAVING SUM(updates.{DIFF_COLUMN}) <> 0 ORDER BY {len(columns) + 1}"""


def _select_list(columns: pa.Schema) -> str:
    return "".join(f"{_canonical(field)}, " for field in columns)


def _canonical(field: pa.Field) -> str:
    name = '"' + field.name.replace('"', '""') + '"'
    if pa.types.is_floating(field.type):
        return f"CASE WHEN updates.{name} = 0 THEN 0 ELSE updates.{name} END AS {name}"
    if pa.types.is_list(field.type) and pa.types.is_floating(field.type.value_type):
        zeros = "lambda e: CASE WHEN e = 0 THEN 0 ELSE e END"
        return f"list_transform(updates.{name}, {zeros}) AS {name}"
    return f"updates.{name}"


def stream_query(updates: Updates, sql: str, schema: pa.Schema) -> pa.RecordBatchReader:
    """The result of a query over ``updates``, of ``schema``, batch by batch.
    It may use temporary files."""

    def batches() -> Iterator[pa.RecordBatch]:
        with _database(os.getpid()).cursor() as connection:
            is_table = isinstance(updates, pa.Table)
            connection.register("updates", without_offsets(updates) if is_table else updates)
            try:
                for batch in connection.sql(sql).to_arrow_reader():
                    yield batch.cast(schema)
            except duckdb.ConversionException as overflow:
                raise InternalError(
                    "a sum of diffs exceeds 64 bits", detail=str(overflow)
                ) from overflow

    return pa.RecordBatchReader.from_batches(schema, batches())


@lru_cache(maxsize=1)
def _database(pid: int) -> duckdb.DuckDBPyConnection:
    """This process's in-memory database.
    Keyed by process: after a fork, an inherited one has no threads."""
    connection = duckdb.connect(":memory:")
    connection.execute(
        "SET temp_directory = $folder",
        {"folder": os.path.join(tempfile.gettempdir(), f"reclock-{pid}")},
    )
    return connection
