"""A relation as a DataFrame reads it: its times, chosen once and the same in all tasks, and its
columns."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StringType, StructType

from reclock.algebra.relations import DIFF_COLUMN, RESERVED_COLUMNS, TIME_COLUMN
from reclock.client.client import Client
from reclock.client.connection import connect
from reclock.errors import ReclockError, RelationReplaced, UnsupportedSql
from reclock.spark.options import SourceOptions

_UPDATE_FIELDS = [
    pa.field(TIME_COLUMN, pa.int64(), nullable=False),
    pa.field(DIFF_COLUMN, pa.int64(), nullable=False),
]
_TEXT_COLUMNS = """SELECT attname FROM pg_catalog.pg_attribute
    WHERE attrelid = $1::regclass AND atttypid IN ('text'::regtype, 'varchar'::regtype)"""
_RELATION_ID = "SELECT id FROM mz_catalog.mz_objects WHERE oid = $1::regclass"
_UNLIMITED_BYTES = str(1 << 62)


@dataclass(frozen=True, slots=True)
class ScanTimes:
    """The rows at ``lower`` if ``upper`` is None; otherwise the changes in ``[lower, upper)``.

    With ``has_snapshot``, the rows at ``lower`` stand for all changes up to that time.
    """

    lower: int | None
    """None for a relation without times, which is read as it is now."""
    upper: int | None = None
    has_snapshot: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there are no times, and so no changes."""
        return self.lower is not None and self.lower == self.upper


def connect_client(options: SourceOptions) -> Client:
    """A client of the options' home or URL. It starts no Spark session, since it runs in a process
    of one."""
    os.environ["RECLOCK_SPARK_THRESHOLD_BYTES"] = _UNLIMITED_BYTES
    return connect(options.location, user=options.user)


@contextmanager
def open_client(options: SourceOptions) -> Iterator[Client]:
    """As ``connect_client``. The client is closed at the end. Errors inside have notes."""
    with noted_errors(), connect_client(options) as client:
        yield client


@contextmanager
def noted_errors() -> Iterator[None]:
    """The traceback of an error inside the block, which is all that Spark shows, has its detail and
    hint."""
    try:
        yield
    except ReclockError as error:
        add_notes(error)
        raise


def add_notes(error: ReclockError) -> None:
    """Add the SQLSTATE, and a detail and a hint that were set later, to what a traceback shows."""
    notes = getattr(error, "__notes__", ())
    for name, text in (
        ("SQLSTATE", error.sqlstate),
        ("detail", error.detail),
        ("hint", error.hint),
    ):
        note = f"{name}: {text}"
        if text and note not in notes:
            error.add_note(note)


def newest_time(client: Client, relation: str) -> int | None:
    """The newest time at which all inputs of the relation are complete; None if it has no times."""
    query = f"EXPLAIN TIMESTAMP FOR SELECT * FROM {relation} AS OF AT LEAST 0"
    lines = [str(line) for (line,) in client.sql(query).rows()]
    if not any(line.startswith("input ") for line in lines):
        return None
    return int(lines[0].rpartition(" ")[2])


def relation_id(client: Client, relation: str) -> str:
    """The id of the relation that has the name. No other relation ever gets it."""
    [(id,)] = client.sql(_RELATION_ID, [relation]).rows()
    return str(id)


def check_relation(client: Client, relation: str, expected: str) -> None:
    """Raises ``RelationReplaced`` unless the name is still that of the relation ``expected``."""
    id = relation_id(client, relation)
    if id != expected:
        raise RelationReplaced(relation, expected=expected, found=id)


def plan_scan(client: Client, options: SourceOptions) -> tuple[ScanTimes, StructType]:
    """The times that a DataFrame of these options reads, and its columns.

    Raises what reading the relation at these times raises, such as ``UnknownRelation`` and
    ``NotReadable``. Of changes without an end, only the end is read here: a stream that goes on
    from its checkpoint needs no earlier time.
    """
    newest, changes = newest_time(client, options.relation), options.changes
    at = options.as_of if options.as_of is not None else newest
    if changes is None:
        return ScanTimes(at), from_arrow_schema(_columns(client, options.relation, at))
    if newest is None or at is None:
        raise UnsupportedSql(
            f"{options.relation} has no changes",
            detail="its rows are those of this moment, without times",
        )
    if changes.lower is None:
        columns = _columns(client, options.relation, max(at, newest))
        times = ScanTimes(at, max(at, newest) + 1, has_snapshot=True)
    else:
        if changes.upper is not None:
            _columns(client, options.relation, changes.lower - 1)
        upper = changes.upper if changes.upper is not None else max(newest + 1, changes.lower)
        # raises if that time is not complete
        columns = _columns(client, options.relation, upper - 1)
        times = ScanTimes(changes.lower, upper)
    if reserved := sorted(set(columns.names) & RESERVED_COLUMNS):
        raise UnsupportedSql(
            f'changes of {options.relation} would have the column "{reserved[0]}" twice',
            hint="read a view that renames it",
        )
    return times, from_arrow_schema(pa.schema([*columns, *_UPDATE_FIELDS]))


def _columns(client: Client, relation: str, at: int | None) -> pa.Schema:
    return client.sql(f"SELECT * FROM {relation} LIMIT 0", as_of=at).arrow().schema


def comparable_columns(client: Client, relation: str, schema: StructType) -> frozenset[str]:
    """The columns of ``schema`` whose values SQL compares as Spark does.

    Spark compares strings byte by byte. Some columns are strings in Spark alone: SQL compares a
    ``uuid``, a ``jsonb``, an enum by rules of its own, and refuses constants that are none.
    """
    texts = client.sql(_TEXT_COLUMNS, [relation]).rows()
    strings = {field.name for field in schema if isinstance(field.dataType, StringType)}
    return frozenset(schema.names) - strings | {name for (name,) in texts}
