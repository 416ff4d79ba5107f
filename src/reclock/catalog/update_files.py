"""Data files of a persist catalog: updates as Parquet. The file name has a checksum of the
content."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN
from reclock.algebra.timestamps import Timestamp
from reclock.catalog.encoding import CatalogUpdate
from reclock.catalog.objects import APPEND_ONLY
from reclock.collections.files import StagedFile, describe
from reclock.collections.folder import DATA, Folder
from reclock.errors import CatalogCorrupt

SCHEMA = pa.schema(
    [
        pa.field("kind", pa.string(), nullable=False),
        pa.field("key", pa.string(), nullable=False),
        pa.field("value", pa.string(), nullable=False),
        pa.field(TIME_COLUMN, pa.int64(), nullable=False),
        pa.field(DIFF_COLUMN, pa.int64(), nullable=False),
    ]
)

BUFFER_BYTES = 1 << 20
"""The buffer of a file that is written. Larger writes would bypass the buffer as Arrow buffers,
which object stores do not accept."""

_NAME = re.compile(rf"{DATA}/(append|objects|events)-(\d+)-[0-9a-f]+-([0-9a-f]{{16}})\.parquet")


class Holds(StrEnum):
    """What a file holds: one whole append, or, after a merge, only cached kinds or only append-only
    kinds."""

    APPEND = "append"
    OBJECTS = "objects"
    EVENTS = "events"


def table_of(updates: Sequence[CatalogUpdate]) -> pa.Table:
    columns = [
        [getattr(update, name) for update in updates]
        for name in ("kind", "key", "value", "ts", "diff")
    ]
    return pa.Table.from_arrays(
        [pa.array(c, field.type) for c, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


def in_order(updates: Iterable[CatalogUpdate]) -> list[CatalogUpdate]:
    """``updates`` in order of time, retractions first."""
    return sorted(updates, key=lambda update: (update.ts, update.diff))


def updates_of(table: pa.Table) -> list[CatalogUpdate]:
    """The updates of ``table`` in order of time, retractions first."""
    columns = (table[name].to_pylist() for name in SCHEMA.names)
    return in_order(CatalogUpdate(*row) for row in zip(*columns, strict=True))


def sums_of(table: pa.Table) -> dict[tuple[str, str, str], int]:
    """The sum of the diffs of each object, never zero."""
    summed = (
        table.group_by(["kind", "key", "value"])
        .aggregate([(DIFF_COLUMN, "sum")])
        .filter(pc.field(f"{DIFF_COLUMN}_sum") != 0)
    )
    columns = (summed[name].to_pylist() for name in ("kind", "key", "value", f"{DIFF_COLUMN}_sum"))
    return {(kind, key, value): total for kind, key, value, total in zip(*columns, strict=True)}


def write(folder: Folder, table: pa.Table, holds: Holds, number: int, unique: str) -> StagedFile:
    """Write ``table``, which has at least one row, as one file. The file is durable when this
    returns.

    ``number`` is for ``is_garbage``: the upper that an append expects, or the last version that a
    merge may follow. ``unique`` is hexadecimal.
    """
    footers: list[pq.FileMetaData] = []
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, compression="zstd", metadata_collector=footers)
    content = buffer.getvalue().to_pybytes()
    path = f"{DATA}/{holds}-{number}-{unique}-{_checksum(content)}.parquet"
    folder.make_parent(path)
    with folder.filesystem.open_output_stream(path, buffer_size=BUFFER_BYTES) as file:
        for start in range(0, len(content), BUFFER_BYTES // 2):
            file.write(content[start : start + BUFFER_BYTES // 2])
    folder.sync([path])
    return describe(path, len(content), footers[0])


def read(folder: Folder, paths: Iterable[str], where: pc.Expression) -> pa.Table:
    """The updates in these files for which ``where`` holds.

    Raises ``CatalogCorrupt`` if a file is not as it was written, ``FileNotFoundError`` if one is
    gone.
    """
    return pa.concat_tables(
        [SCHEMA.empty_table(), *(_read(folder, path).filter(where) for path in paths)]
    )


def chosen(only: Collection[str] | None) -> pc.Expression:
    """The condition that selects the kinds which a log's reads return for ``only``."""
    kind = pc.field("kind")
    return ~kind.isin(sorted(APPEND_ONLY)) if only is None else kind.isin(sorted(only))


def may_hold(path: str, only: Collection[str] | None) -> bool:
    """Whether a file may hold updates of the kinds that a read with ``only`` returns. Raises
    ``CatalogCorrupt`` for a file of another program."""
    match Holds(_parsed(path)[1]):
        case Holds.APPEND:
            return True
        case Holds.OBJECTS:
            return only is None or not APPEND_ONLY.issuperset(only)
        case Holds.EVENTS:
            return not APPEND_ONLY.isdisjoint(only or ())


def _read(folder: Folder, path: str) -> pa.Table:
    with folder.filesystem.open_input_stream(path) as file:
        content = file.readall()
    if _parsed(path)[3] != _checksum(content):
        raise CatalogCorrupt(
            "file",
            path,
            detail="its content is not what was committed: the checksum in its name differs",
        )
    return pq.read_table(pa.BufferReader(content))


def holds(path: str) -> Holds:
    return Holds(_parsed(path)[1])


def is_garbage(path: str, *, upper: Timestamp, version: int) -> bool:
    """Whether a file that is not in the table can never be committed: its append or merge is too
    late."""
    name = _NAME.fullmatch(path)
    return name is not None and int(name[2]) < (upper if name[1] == Holds.APPEND else version)


def _parsed(path: str) -> re.Match[str]:
    name = _NAME.fullmatch(path)
    if name is None:
        raise CatalogCorrupt(
            "file", path, detail="no release of reclock gives this name to a file of the catalog"
        )
    return name


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
