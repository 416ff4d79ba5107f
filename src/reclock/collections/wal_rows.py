"""The rows of the writes in the table WAL, wherever they are."""

from __future__ import annotations

import pyarrow as pa

from reclock.algebra.relations import TIME_COLUMN
from reclock.collections.folder import Folder, staging_path
from reclock.collections.table_commits import Payload, rows_of_payload


def write_rows(folder: Folder, payload: Payload) -> pa.Table:
    """The rows with their diffs. Raises ``FileNotFoundError`` for staged rows that were applied and
    deleted meanwhile."""
    if payload.rows is not None:
        return rows_of_payload(payload.rows)
    import pyarrow.parquet as pq

    path = f"{staging_path(payload.staged or '')}/rows.parquet"
    return pq.read_table(path, filesystem=folder.filesystem).drop_columns([TIME_COLUMN])
