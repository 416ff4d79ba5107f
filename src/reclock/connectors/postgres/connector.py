"""The connector of PostgreSQL publications: offsets are LSNs, each published table is an output.

A frontier is an LSN. It includes every transaction whose commit record starts before it, which is
also the server's rule when it moves a slot. A step reads the changes of a logical replication slot
between two frontiers with ``pg_logical_slot_peek_binary_changes``, which consumes nothing. Only
``acknowledge`` moves the slot, after the changes are published. The first step creates the slot and
a snapshot of exactly the state at which its changes begin, and copies the tables from it. The
snapshot ends with the connection that created it, so it is read only once (see ``ReadsOnce``).

An update or a delete identifies the old row: by all its values if the table has ``REPLICA IDENTITY
FULL``, else by its key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, LiteralString

import numpy as np
import psycopg
import pyarrow as pa
from psycopg import sql
from psycopg.conninfo import make_conninfo

from reclock.algebra.relations import Column, RelationDesc, TypeName
from reclock.collections.schema import arrow_schema
from reclock.connectors.connector import (
    Bound,
    ChangeCount,
    CheckResult,
    Evidence,
    Increment,
    Read,
    Skip,
    remaining_ranges,
)
from reclock.connectors.postgres import pgoutput
from reclock.connectors.postgres.changes import ChangeCollector, Range
from reclock.connectors.postgres.slots import create_slot
from reclock.connectors.postgres.types import SETTINGS, scalar_type
from reclock.connectors.postgres.values import convert
from reclock.definitions.sources import PostgresConnector, PublishedTable
from reclock.errors import (
    InvalidOption,
    OutputFailed,
    UpstreamLost,
    UpstreamReplaced,
    UpstreamUnavailable,
)

BATCH_ROWS = 25_000
"""How many changes of a table are decoded at once."""

BATCH_BYTES = 4 << 20
"""How many bytes of a copy, or of changes, are decoded at once."""

SNAPSHOT_PAGES = 4_096
"""How many pages of a table (of 8 KiB) one task copies."""

IDLE_BYTES = 16 << 20
"""The size at which a step binds WAL without published changes, so that the slot advances."""

_COPY_AGAIN = "ALTER SOURCE … RESNAPSHOT copies the tables anew"

_CONNECT_S = 10
_STATEMENT_MS = 60_000
_LOCK_MS = 5_000


@dataclass(frozen=True, slots=True)
class CopyPages:
    """The rows of a table's pages ``[lower, upper)`` (None: to the end) as of the snapshot."""

    table: str
    lower: int
    upper: int | None
    snapshot: str


@dataclass(frozen=True, slots=True)
class TransactionRanges:
    """The transactions whose commit records start in one of the ranges ``[lower, upper)``, which
    are in order."""

    ranges: tuple[Range, ...]
    unfollowed: Mapping[str, str] = field(default_factory=dict)
    """The tables that are not followed from here on, and why."""
    is_exact: bool = True
    """Whether nothing was ever skipped: then no inserted row is in the output yet."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A replication slot that released all before ``confirmed``, and more if it ``is_lost``."""

    confirmed: int
    is_lost: bool


@dataclass(frozen=True, slots=True)
class Described:
    """A table as the server describes it."""

    desc: RelationDesc
    table: PublishedTable


@dataclass(frozen=True, slots=True)
class Postgres:
    """A publication, as a ``reclock.connectors.connector.ReadsOnce``."""

    upstream: PostgresConnector
    outputs: Mapping[str, RelationDesc]
    """By ``schema.table``."""
    parameters: Mapping[str, str] = field(repr=False)
    """The connection parameters, under libpq's names."""

    # --- in the driver ---

    @contextmanager
    def read_once(
        self,
        bound: Bound,
        skips: Sequence[Skip] = (),
        *,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> Iterator[tuple[list[Increment], list[CopyPages | TransactionRanges]]]:
        """Create the slot, and hold its snapshot while the tables are copied. A slot that exists,
        such as one left by an earlier attempt, is replaced.

        An advisory lock orders this with ``dismiss``: a drop of the source waits for the slot and
        drops it; a creator that comes later sees in ``is_wanted`` that the source is unfollowed.
        The server holds the lock for as long as it creates the slot, even if the client is killed.
        """
        with self._connected() as connection:
            system_id = self._system_id(connection)
            unfollowed = self._changed(connection) | self._unfollowed(connection)
            pages = {
                table: self._pages(connection, table)
                for table in self.outputs
                if table not in unfollowed
            }
            with self._connected(replication="database") as walsender:
                self._lock_slot(walsender)
                if not is_wanted():
                    yield [], []
                    return
                if self._slot(connection) is not None:
                    connection.execute("SELECT pg_drop_replication_slot(%s)", [self.upstream.slot])
                began, snapshot = create_slot(walsender, connection, self.upstream.slot)
                lsn, lower = _lsn(began), bound[()][0] if () in bound else 0
                if lsn <= lower:
                    behind = (
                        f"its changes begin at {began}, and the source has those up to "
                        f"{format_lsn(lower)}"
                    )
                    raise self._behind(lower, "is another one", behind)
                tasks: list[CopyPages | TransactionRanges] = (
                    [TransactionRanges((), unfollowed)] if unfollowed else []
                )
                tasks += [
                    CopyPages(
                        table,
                        lower,
                        lower + SNAPSHOT_PAGES if lower + SNAPSHOT_PAGES < count else None,
                        snapshot,
                    )
                    for table, count in pages.items()
                    for lower in range(0, max(count, 1), SNAPSHOT_PAGES)
                ]
                yield [Increment((), lower, lsn, lsn - lower, (system_id,))], tasks

    def must_read_once(self, bound: Bound) -> bool:
        return () not in bound

    def probe(self, bound: Bound, skips: Sequence[Skip] = ()) -> list[Increment]:
        lower, bound_id = bound[()]
        with self._connected() as connection:
            system_id = self._system_id(connection)
            if system_id != bound_id:
                raise self._lost(
                    lower,
                    "is another one",
                    f"its system identifier was {bound_id}, now {system_id}",
                )
            slot = self._slot(connection)
            if slot is None or slot.is_lost:
                what = (
                    "no longer has" if slot is None else "let changes go that were not read, behind"
                )
                raise self._lost(
                    lower, f'{what} the replication slot "{self.upstream.slot}"', _MISSED
                )
            if slot.confirmed > lower:
                ahead = f"it stands at {format_lsn(slot.confirmed)}, bound is {format_lsn(lower)}"
                raise self._lost(
                    lower,
                    f'let another reader move the replication slot "{self.upstream.slot}"',
                    ahead,
                )
            [reached] = connection.execute(
                "SELECT pg_current_wal_flush_lsn()::text"
            ).fetchone() or [""]
            upper = _lsn(reached)
            if upper < lower:
                raise self._behind(
                    lower, f"ends at {reached}", f"it is bound up to {format_lsn(lower)}"
                )
            unfollowed = self._unfollowed(connection) if upper > lower else {}
            if upper == lower or not (
                unfollowed or upper - lower > IDLE_BYTES or self._has_changes(connection, upper)
            ):
                return []
            return [Increment((), lower, upper, upper - lower, (system_id,), {"gone": unfollowed})]

    def reread(self, claimed: Increment, before: Evidence | None) -> Increment:
        """Committed transactions never change. The reading fails if the slot was lost meanwhile."""
        return claimed

    def tasks(
        self, increments: Sequence[Increment], skips: Sequence[Skip]
    ) -> list[TransactionRanges]:
        ranges = tuple(
            range
            for increment in increments
            for range in remaining_ranges((), increment.lower, increment.upper, skips)
        )
        unfollowed = {
            table: why
            for increment in increments
            for table, why in increment.detail.get("gone", {}).items()
            if table in self.outputs
        }
        return [TransactionRanges(ranges, unfollowed, not skips)] if ranges or unfollowed else []

    def without(self, outputs: Set[str]) -> Postgres:
        return replace(
            self, outputs={name: desc for name, desc in self.outputs.items() if name not in outputs}
        )

    def acknowledge(self, published: Sequence[Increment]) -> None:
        """Advance the slot, so that the server may release the published changes."""
        upper = max(increment.upper for increment in published)
        with self._connected() as connection:
            slot = self._slot(connection)
            if slot is not None and slot.confirmed < upper:
                connection.execute(
                    "SELECT pg_replication_slot_advance(%s, %s)",
                    [self.upstream.slot, format_lsn(upper)],
                )

    def dismiss(self) -> None:
        """Drop the slot of a dropped source. Repeating it is harmless. Raises a ``SourceError``."""
        with self._connected() as connection:
            self._lock_slot(connection)
            if self._slot(connection) is not None:
                connection.execute("SELECT pg_drop_replication_slot(%s)", [self.upstream.slot])

    def check(self) -> Iterator[CheckResult]:
        with self._connected() as connection:
            server = connection.info
            yield CheckResult(
                "server",
                True,
                f'database "{server.dbname}" at {server.host}:{server.port}, as "{server.user}"',
            )
            [level] = connection.execute("SHOW wal_level").fetchone() or [""]
            yield CheckResult("wal_level", level == "logical", f"{level}; it must be logical")
            may = connection.execute(
                "SELECT rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user"
            ).fetchone()
            yield CheckResult(
                "replication",
                bool(may and may[0]),
                f'whether "{server.user}" has the attribute REPLICATION',
            )
            query = """SELECT t.schemaname || '.' || t.tablename, has_table_privilege(c.oid, 'SELECT')
                FROM pg_publication_tables t JOIN pg_class c ON c.relname = t.tablename
                JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = t.schemaname WHERE t.pubname = %s"""
            published = dict(connection.execute(query, [self.upstream.publication]).fetchall())
            yield CheckResult(
                "publication",
                bool(published),
                f'"{self.upstream.publication}" has {len(published)} tables',
            )
            for table in self.outputs:
                may_read = published.get(table, False)
                seen = "in the publication" if table in published else "not in the publication"
                yield CheckResult(
                    f"table {table}",
                    may_read,
                    seen + ("" if may_read else "; SELECT is not granted"),
                )
            slot = self._slot(connection)
            if slot is None:
                yield CheckResult(
                    "slot", True, f'"{self.upstream.slot}" is not there; the first tick makes it'
                )
            else:
                yield CheckResult(
                    "slot",
                    not slot.is_lost,
                    f'"{self.upstream.slot}" stands at {format_lsn(slot.confirmed)}',
                )

    def describe(self) -> dict[str, Described]:
        """The tables of the publication, by ``schema.table``. A table has a key if its changes
        identify the old row by it; an empty key if they do not identify it. Raises
        ``InvalidOption`` if the publication does not exist, or lacks a kind of change."""
        with self._connected() as connection:
            self._refuse_partial(connection)
            return self._described(connection)

    def published(self) -> list[PublishedTable]:
        """The tables of the publication, with the identities that they have now."""
        with self._connected() as connection:
            return self._published(connection)

    def _described(self, connection: psycopg.Connection[Any]) -> dict[str, Described]:
        published = {table.name: table for table in self._published(connection)}
        rows = connection.execute(_DESCRIBE, [self.upstream.publication]).fetchall()
        columns_of: dict[str, list[Column]] = {}
        keys: dict[str, list[str]] = {}
        for schema, table, identity, name, type_oid, modifier, not_null, is_key in rows:
            type = scalar_type(type_oid, modifier)
            columns_of.setdefault(f"{schema}.{table}", []).append(Column(name, type, not not_null))
            keys.setdefault(f"{schema}.{table}", []).extend(
                [name] if is_key and identity != "f" else []
            )
        full = {f"{schema}.{table}" for schema, table, identity, *_ in rows if identity == "f"}
        return {
            table: Described(
                RelationDesc(tuple(columns), key=None if table in full else tuple(keys[table])),
                published[table],
            )
            for table, columns in columns_of.items()
            if table in published
        }

    # --- in executors ---

    def read(self, task: CopyPages | TransactionRanges) -> Iterator[Read]:
        with self._connected(patience_ms=0) as connection:
            if isinstance(task, CopyPages):
                try:
                    yield from self._copy(connection, task)
                except OutputFailed as failure:
                    yield task.table, failure
            else:
                if task.ranges:
                    yield from self._changes(connection, task)
                for table, why in task.unfollowed.items():
                    yield table, OutputFailed(f'table "{table}" {why}', detail=GONE)

    def _copy(self, connection: psycopg.Connection[Any], task: CopyPages) -> Iterator[Read]:
        desc, name = self.outputs[task.table], task.table.split(".", 1)
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(task.snapshot))
        [row_filter] = connection.execute(
            _ROW_FILTER, [self.upstream.publication, *name]
        ).fetchone() or [None]
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

    def _changes(
        self, connection: psycopg.Connection[Any], task: TransactionRanges
    ) -> Iterator[Read]:
        collector = ChangeCollector(self.outputs, task.ranges, is_exact=task.is_exact)
        arguments = [self.upstream.slot, format_lsn(task.ranges[-1][1]), self.upstream.publication]
        with connection.cursor(binary=True) as cursor:
            for sizes, data in cursor.stream(_PEEK_BLOCKS, arguments, binary=True):
                collector.take(pgoutput.MessageBatch.of(data, sizes))
                if collector.is_over:
                    break
                yield from collector.ready(BATCH_ROWS)
        yield from collector.ready(1)

    # --- both ---

    @contextmanager
    def _connected(
        self, *, patience_ms: int = _STATEMENT_MS, **more: str
    ) -> Iterator[psycopg.Connection[Any]]:
        """A connection in autocommit mode. Its failures raise ``UpstreamUnavailable``."""
        settings = {**SETTINGS, "statement_timeout": str(patience_ms)}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        try:
            with psycopg.connect(
                make_conninfo("", **self.parameters),
                autocommit=True,
                connect_timeout=_CONNECT_S,
                application_name="reclock",
                options=options,
                **more,  # type: ignore[arg-type]
            ) as connection:
                yield connection
        except psycopg.Error as error:
            raise UpstreamUnavailable(
                f'cannot read publication "{self.upstream.publication}"',
                detail=str(error).splitlines()[0] if str(error) else None,
            ) from error

    def _lock_slot(self, connection: psycopg.Connection[Any]) -> None:
        """Keep others from creating or dropping the slot while this connection lasts."""
        key = int.from_bytes(sha256(self.upstream.slot.encode()).digest()[:8], "big", signed=True)
        connection.execute(
            sql.SQL(
                "SET lock_timeout = {}; SELECT pg_advisory_lock({}); RESET lock_timeout"
            ).format(_LOCK_MS, key)
        )

    def _slot(self, connection: psycopg.Connection[Any]) -> Slot | None:
        query = (
            "SELECT confirmed_flush_lsn::text, wal_status = 'lost' FROM pg_replication_slots "
            "WHERE slot_name = %s"
        )
        row = connection.execute(query, [self.upstream.slot]).fetchone()
        return None if row is None else Slot(_lsn(row[0]), row[1])

    def _has_changes(self, connection: psycopg.Connection[Any], upper: int) -> bool:
        """Whether the slot has a change of the publication, or an application's message, up to
        ``upper``."""
        arguments = [self.upstream.slot, format_lsn(upper), self.upstream.publication]
        return connection.execute(_PEEK_ONE, arguments).fetchone() is not None

    def _unfollowed(self, connection: psycopg.Connection[Any]) -> dict[str, str]:
        """The tables that the publication lacks, or did not have all the time, and why."""
        published = {table.name: table for table in self._published(connection)}
        initial = published | {table.name: table for table in self.upstream.known}
        unfollowed = {}
        for table in self.outputs:
            if table not in published:
                unfollowed[table] = f'is not in publication "{self.upstream.publication}" any more'
            elif initial[table].oid != published[table].oid:
                unfollowed[table] = "is another one of the same name"
            elif initial[table].entries and not {*initial[table].entries} & {
                *published[table].entries
            }:
                unfollowed[table] = (
                    f'was taken out of publication "{self.upstream.publication}" and put back'
                )
        return unfollowed

    def _changed(self, connection: psycopg.Connection[Any]) -> dict[str, str]:
        """The tables that can no longer be copied into their outputs, and why."""
        descs = {table: described.desc for table, described in self._described(connection).items()}
        changed = {}
        for table, desc in self.outputs.items():
            if table in descs and (why := _difference(desc, descs[table])):
                changed[table] = why
        return changed

    def _published(self, connection: psycopg.Connection[Any]) -> list[PublishedTable]:
        """The tables of the publication."""
        query = _PUBLISHED.format(
            by_schema=_BY_SCHEMA if connection.info.server_version >= _SCHEMAS_SINCE else ""
        )
        rows = connection.execute(query, {"publication": self.upstream.publication}).fetchall()
        return [
            PublishedTable(f"{schema}.{table}", oid, tuple(sorted(entries)))
            for schema, table, oid, entries in rows
        ]

    def _refuse_partial(self, connection: psycopg.Connection[Any]) -> None:
        """Raises ``InvalidOption`` if the publication does not exist, or lacks a kind of change."""
        publication = f'publication "{self.upstream.publication}"'
        kinds = connection.execute(_PUBLICATION, [self.upstream.publication]).fetchone()
        if kinds is None:
            raise InvalidOption(f"{publication} does not exist")
        if missing := [
            kind for kind, is_published in zip(_KINDS, kinds, strict=True) if not is_published
        ]:
            hint = f"ALTER PUBLICATION … SET (publish = '{', '.join(_KINDS)}')"
            raise InvalidOption(
                f"{publication} does not tell of every {' and '.join(missing)}", hint=hint
            )

    def _pages(self, connection: psycopg.Connection[Any], table: str) -> int:
        name = sql.Identifier(*table.split(".", 1)).as_string(connection)
        [bytes_] = connection.execute(
            "SELECT pg_relation_size(%s::regclass)", [name]
        ).fetchone() or [0]
        return -(-int(bytes_) // 8192)

    @staticmethod
    def _system_id(connection: psycopg.Connection[Any]) -> str:
        [system_id] = connection.execute(
            "SELECT system_identifier::text FROM pg_control_system()"
        ).fetchone() or [""]
        return str(system_id)

    def _lost(self, lsn: int, what: str, detail: str) -> UpstreamReplaced:
        message = f'the server of publication "{self.upstream.publication}" {what}'
        return UpstreamReplaced("", lsn, message=message, detail=detail, hint=_COPY_AGAIN)

    def _behind(self, lsn: int, what: str, detail: str) -> UpstreamLost:
        """The server's log has not come as far as what is bound: offsets cannot go on from it."""
        message = f'the server of publication "{self.upstream.publication}" {what}'
        return UpstreamLost("", lsn, message=message, detail=detail)


_MISSED = "the changes since the last step cannot be had any more"

GONE = "it was dropped, renamed, altered, or taken out of the publication"

_PUBLISHED: LiteralString = """
    SELECT t.schemaname, t.tablename, c.oid::int8, ARRAY(
        WITH tree AS (SELECT c.oid AS relid UNION SELECT relid FROM pg_partition_ancestors(c.oid))
        SELECT e.oid::int8 FROM pg_publication_rel e JOIN tree ON tree.relid = e.prrelid WHERE e.prpubid = p.oid
        {by_schema}
        UNION SELECT p.oid::int8 WHERE p.puballtables
    )
    FROM pg_publication p
    JOIN pg_publication_tables t ON t.pubname = p.pubname
    JOIN pg_namespace n ON n.nspname = t.schemaname
    JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = t.tablename
    WHERE p.pubname = %(publication)s
"""
_BY_SCHEMA: LiteralString = """
        UNION SELECT e.oid::int8 FROM pg_publication_namespace e
        JOIN pg_class r ON r.relnamespace = e.pnnspid JOIN tree ON tree.relid = r.oid WHERE e.pnpubid = p.oid
"""
_SCHEMAS_SINCE = 150000
"""The first server version with publications of schemas."""

_PEEK: LiteralString = (
    "pg_logical_slot_peek_binary_changes(%s, %s::pg_lsn, NULL, 'proto_version', '1', "
    "'publication_names', %s)"
)
_PEEK_ONE: LiteralString = "SELECT 1 FROM " + _PEEK.replace("NULL", "1")
_PEEK_BLOCKS: LiteralString = f"""
    SELECT string_agg(int4send(size), '' ORDER BY i), string_agg(data, '' ORDER BY i)
    FROM (
        SELECT i, data, length(data) AS size, sum(length(data)) OVER (ORDER BY i ROWS UNBOUNDED PRECEDING) / {BATCH_BYTES} AS block
        FROM {_PEEK} WITH ORDINALITY AS peeked (lsn, xid, data, i)
    ) AS sized
    GROUP BY block ORDER BY block
"""
"""A row per message would dominate the cost. Only a single message exceeds a block's size."""

_KINDS = ("insert", "update", "delete", "truncate")
_PUBLICATION: LiteralString = (
    "SELECT pubinsert, pubupdate, pubdelete, pubtruncate FROM pg_publication WHERE pubname = %s"
)

_ROW_FILTER: LiteralString = """
    SELECT to_jsonb(p) ->> 'rowfilter' FROM pg_publication_tables p WHERE p.pubname = %s AND p.schemaname = %s AND p.tablename = %s
"""

_DESCRIBE: LiteralString = """
    SELECT p.schemaname, p.tablename, c.relreplident, a.attname, a.atttypid::int8, a.atttypmod, a.attnotnull,
        COALESCE(a.attnum = ANY (i.indkey), false)
    FROM pg_publication_tables p
    JOIN pg_namespace n ON n.nspname = p.schemaname
    JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = p.tablename
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        AND COALESCE(to_jsonb(p) -> 'attnames' @> to_jsonb(a.attname::text), true)
    LEFT JOIN pg_index i ON i.indrelid = c.oid
        AND CASE c.relreplident WHEN 'd' THEN i.indisprimary AND i.indimmediate WHEN 'i' THEN i.indisreplident ELSE false END
    WHERE p.pubname = %s
    ORDER BY p.schemaname, p.tablename, a.attnum
"""


def _difference(desc: RelationDesc, published: RelationDesc) -> str:
    """Why a table, as it is ``published``, cannot be copied into an output; empty if it can."""
    types = dict(zip(published.names, published.types, strict=True))
    for column in desc.columns:
        if column.name not in types:
            return f'has no column "{column.name}" any more'
        if column.type.name not in (types[column.name].name, TypeName.TEXT):
            return f'has a column "{column.name}" that is no {column.type} any more'
    if set(desc.key or ()) != set(published.key or ()) or (desc.key is None) != (
        published.key is None
    ):
        return "no longer tells which row went as it did"
    return ""


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


def _lsn(text: str) -> int:
    high, low = text.split("/")
    return (int(high, 16) << 32) + int(low, 16)


def format_lsn(lsn: int) -> str:
    """The LSN in PostgreSQL's notation."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
