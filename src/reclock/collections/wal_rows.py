"""The rows of the writes in the table WAL, wherever they are."""

from __future__ import annotations

import pyarrow as pa

from reclock.algebra.relations import TIME_COLUMN
from reclock.collections.folder import Folder, staging_path
from reclock.collections.table_commits import Payload


def write_rows(folder: Folder, payload: Payload) -> pa.Table:
    """The rows with their diffs. Raises ``FileNotFoundError`` for staged rows that were applied and
    deleted meanwhile."""
    if payload.rows is not None:
        return payload.rows
    import pyarrow.parquet as pq

    path = f"{staging_path(payload.staged or '')}/rows.parquet"
    return pq.read_table(path, filesystem=folder.filesystem).drop_columns([TIME_COLUMN])


def to_ipc(rows: pa.Table) -> bytes:
    """The rows as Arrow IPC, as the log stores them."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        # a batch has a header, a statement may have made many
        writer.write_table(rows.combine_chunks())
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def from_ipc(stored: bytes) -> pa.Table:
    """The rows that ``to_ipc`` made the bytes of."""
    with pa.ipc.open_stream(stored) as reader:
        return reader.read_all()
