"""The connector of PostgreSQL publications: one stream of commits, offsets are LSNs; each table of the publication is an output.

A frontier is an end LSN: it has every transaction that ends at or before it. What is read are the changes of a logical replication
slot between two frontiers, by ``pg_logical_slot_peek_binary_changes``, which takes nothing away; the slot is moved only by
``acknowledge``, once what it held is published. At the beginning the slot is made together with a snapshot of exactly the state at
which its changes begin, and the tables are copied as that snapshot shows them. A snapshot is gone with the connection that made it,
so this is read at once (see ``ReadsOnce``).

Tables need ``REPLICA IDENTITY FULL``: an update or a delete must say which row went.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, LiteralString

import psycopg
import pyarrow as pa
from psycopg import sql
from psycopg.conninfo import make_conninfo

from reclock.algebra.relations import DIFF_COLUMN, Column, RelationDesc
from reclock.collections.schema import arrow_schema
from reclock.errors import DecodeFailed, InvalidOption, SourceError, UpstreamChanged, UpstreamUnavailable
from reclock.reclocking.frontiers import SourceFrontier
from reclock.sources import pgoutput, postgres_types
from reclock.sources.connector import Bound, Evidence, Finding, Increment, Skip, left
from reclock.sources.description import PostgresConnector

BATCH_ROWS = 25_000
"""How many rows are decoded at once."""

SNAPSHOT_PAGES = 16_384
"""How many pages of a table (of 8 KiB) one task copies."""

IDLE_BYTES = 16 << 20
"""How far the upstream's log may run on without a change of the publication before that is bound, so that the slot lets it go."""

_CONNECT_S = 10
_STATEMENT_MS = 60_000


@dataclass(frozen=True, slots=True)
class CopyPages:
    """The rows of the pages ``[lower, upper)`` of a table, to its end if ``upper`` is None, as the exported snapshot shows them."""

    table: str
    lower: int
    upper: int | None
    snapshot: str


@dataclass(frozen=True, slots=True)
class Changes:
    """The transactions that end in ``(lower, upper]``."""

    lower: int
    upper: int


@dataclass(frozen=True, slots=True)
class Slot:
    """What a replication slot has let go: all before ``confirmed``, and more if it ``is_lost``."""

    confirmed: int
    is_lost: bool


@dataclass(frozen=True, slots=True)
class Postgres:
    """A publication, as a ``reclock.sources.connector.ReadsOnce``."""

    upstream: PostgresConnector
    outputs: Mapping[str, RelationDesc]
    """By ``schema.table``."""
    parameters: Mapping[str, str] = field(repr=False)
    """How the server is reached, by libpq's names."""

    # --- in the driver ---

    @contextmanager
    def read_once(self, bound: Bound, skips: Sequence[Skip] = ()) -> Iterator[tuple[list[Increment], list[CopyPages]]]:
        """Make the slot, and hold its snapshot while the tables are copied. One that an earlier attempt left is made anew."""
        with self._connected() as connection:
            system_id = self._system_id(connection)
            pages = {table: self._pages(connection, table) for table in self.outputs}
            if self._slot(connection) is not None:
                connection.execute("SELECT pg_drop_replication_slot(%s)", [self.upstream.slot])
            with self._connected(replication="database") as walsender:
                lsn, snapshot = self._create_slot(walsender)
                tasks = [
                    CopyPages(table, lower, lower + SNAPSHOT_PAGES if lower + SNAPSHOT_PAGES < count else None, snapshot)
                    for table, count in pages.items()
                    for lower in range(0, max(count, 1), SNAPSHOT_PAGES)
                ]
                yield [Increment((), 0, lsn, lsn, (system_id,))], tasks

    def must_read_once(self, bound: Bound) -> bool:
        return () not in bound

    def probe(self, bound: Bound, skips: Sequence[Skip] = ()) -> list[Increment]:
        lower, known = bound[()]
        with self._connected() as connection:
            system_id = self._system_id(connection)
            if system_id != known:
                raise self._changed(lower, "is another one", f"its system identifier was {known}, now {system_id}")
            slot = self._slot(connection)
            if slot is None or slot.is_lost:
                what = "no longer has" if slot is None else "let changes go that were not read, behind"
                raise self._changed(lower, f'{what} the replication slot "{self.upstream.slot}"', _LOST)
            if slot.confirmed > lower:
                ahead = f"it stands at {format_lsn(slot.confirmed)}, bound is {format_lsn(lower)}"
                raise self._changed(lower, f'let another reader move the replication slot "{self.upstream.slot}"', ahead)
            [reached] = connection.execute("SELECT pg_current_wal_flush_lsn()::text").fetchone() or [""]
            upper = _lsn(reached)
            if upper < lower:
                raise self._changed(lower, f"ends at {reached}", f"it is bound up to {format_lsn(lower)}")
            if upper == lower or not (upper - lower > IDLE_BYTES or self._has_changes(connection, upper)):
                return []
            return [Increment((), lower, upper, upper - lower, (system_id,))]

    def reread(self, claimed: Increment, before: Evidence | None) -> Increment:
        """What was committed never changes; a slot that was lost meanwhile is missed by the reading."""
        return claimed

    def tasks(self, increments: Sequence[Increment], skips: Sequence[Skip]) -> list[Changes]:
        return [Changes(lower, upper) for own in increments for lower, upper in left((), own.lower, own.upper, skips)]

    def acknowledge(self, frontier: SourceFrontier) -> None:
        """The slot lets go of what is published."""
        with self._connected() as connection:
            slot = self._slot(connection)
            if slot is not None and slot.confirmed < frontier[()]:
                connection.execute("SELECT pg_replication_slot_advance(%s, %s)", [self.upstream.slot, format_lsn(frontier[()])])

    def dismiss(self) -> None:
        """The slot is gone: the source is no more, and the upstream keeps nothing for it."""
        with self._connected() as connection:
            if self._slot(connection) is not None:
                connection.execute("SELECT pg_drop_replication_slot(%s)", [self.upstream.slot])

    def check(self) -> Iterator[Finding]:
        with self._connected() as connection:
            server = connection.info
            yield Finding("server", True, f'database "{server.dbname}" at {server.host}:{server.port}, as "{server.user}"')
            [level] = connection.execute("SHOW wal_level").fetchone() or [""]
            yield Finding("wal_level", level == "logical", f"{level}; it must be logical")
            may = connection.execute("SELECT rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
            yield Finding("replication", bool(may and may[0]), f'whether "{server.user}" has the attribute REPLICATION')
            query = """SELECT format('%s.%s', t.schemaname, t.tablename), c.relreplident = 'f', has_table_privilege(c.oid, 'SELECT')
                FROM pg_publication_tables t JOIN pg_class c ON c.relname = t.tablename
                JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = t.schemaname WHERE t.pubname = %s"""
            published = {name: rest for name, *rest in connection.execute(query, [self.upstream.publication])}
            yield Finding("publication", bool(published), f'"{self.upstream.publication}" has {len(published)} tables')
            for table in self.outputs:
                is_full, may_read = published.get(table, (False, False))
                seen = "in the publication" if table in published else "not in the publication"
                seen += "" if is_full else "; its REPLICA IDENTITY is not FULL"
                yield Finding(f"table {table}", is_full and may_read, seen + ("" if may_read else "; SELECT is not granted"))
            slot = self._slot(connection)
            if slot is None:
                yield Finding("slot", True, f'"{self.upstream.slot}" is not there; the first tick makes it')
            else:
                yield Finding("slot", not slot.is_lost, f'"{self.upstream.slot}" stands at {format_lsn(slot.confirmed)}')

    def describe(self) -> dict[str, RelationDesc]:
        """The tables of the publication, by ``schema.table``. Raises ``InvalidOption`` for what cannot be a source."""
        with self._connected() as connection:
            rows = connection.execute(_DESCRIBE, [self.upstream.publication]).fetchall()
            if not rows and not connection.execute(_PUBLICATION, [self.upstream.publication]).fetchone():
                raise InvalidOption(f'publication "{self.upstream.publication}" does not exist')
        found: dict[str, list[Column]] = {}
        for schema, table, identity, name, type_oid, modifier, not_null in rows:
            if identity != "f":
                hint = f"ALTER TABLE {schema}.{table} REPLICA IDENTITY FULL"
                raise InvalidOption(f'table "{schema}.{table}" does not have the replica identity "full"', hint=hint)
            type = postgres_types.scalar_type(type_oid, modifier)
            found.setdefault(f"{schema}.{table}", []).append(Column(name, type, not not_null))
        return {table: RelationDesc(tuple(columns)) for table, columns in found.items()}

    # --- in executors ---

    def read(self, task: CopyPages | Changes) -> Iterator[tuple[str, pa.Table]]:
        with self._connected(patience_ms=0) as connection:
            if isinstance(task, CopyPages):
                yield from self._copy(connection, task)
            else:
                yield from self._changes(connection, task)

    def _copy(self, connection: psycopg.Connection[Any], task: CopyPages) -> Iterator[tuple[str, pa.Table]]:
        desc = self.outputs[task.table]
        columns = sql.SQL(", ").join(sql.SQL("{}::text").format(sql.Identifier(name)) for name in desc.names)
        last = sql.SQL(" AND ctid < {}::tid").format(f"({task.upper},0)") if task.upper is not None else sql.SQL("")
        query = sql.SQL("SELECT {} FROM {} WHERE ctid >= {}::tid{}").format(
            columns, sql.Identifier(*task.table.split(".", 1)), f"({task.lower},0)", last
        )
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(task.snapshot))
        with connection.cursor("copied") as cursor:
            cursor.execute(query)
            while rows := cursor.fetchmany(BATCH_ROWS):
                gathered = _Gathered(task.table, desc)
                gathered.rows, gathered.diffs = rows, [1] * len(rows)
                yield task.table, gathered.table(0)
        connection.execute("COMMIT")

    def _changes(self, connection: psycopg.Connection[Any], task: Changes) -> Iterator[tuple[str, pa.Table]]:
        reading = _Reading(self.outputs, task)
        connection.execute("BEGIN READ ONLY")
        with connection.cursor("changes", binary=True) as cursor:
            cursor.itersize = BATCH_ROWS
            arguments = [self.upstream.slot, format_lsn(task.upper), self.upstream.publication]
            for (data,) in cursor.execute(_PEEK, arguments):
                message = pgoutput.decode(data)
                if message is not None:
                    reading.take(message)
                if reading.is_over:
                    break
                yield from reading.full(BATCH_ROWS)
        yield from reading.full(1)
        connection.execute("ROLLBACK")

    # --- both ---

    @contextmanager
    def _connected(self, *, patience_ms: int = _STATEMENT_MS, **more: str) -> Iterator[psycopg.Connection[Any]]:
        """A connection in which every statement is alone, unless it begins a transaction. What fails is the source's error."""
        settings = {**postgres_types.SETTINGS, "statement_timeout": str(patience_ms)}
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
                f'cannot read publication "{self.upstream.publication}"', detail=str(error).splitlines()[0] if str(error) else None
            ) from error

    def _create_slot(self, walsender: psycopg.Connection[Any]) -> tuple[int, str]:
        """The LSN at which its changes begin, and the name of the snapshot that shows what was before."""
        command = sql.SQL("CREATE_REPLICATION_SLOT {} LOGICAL pgoutput EXPORT_SNAPSHOT").format(sql.Identifier(self.upstream.slot))
        made = walsender.pgconn.exec_(command.as_bytes(walsender))  # its protocol knows no other form of statement
        if made.status != psycopg.pq.ExecStatus.TUPLES_OK:
            raise psycopg.OperationalError(made.error_message.decode())
        lsn, snapshot = made.get_value(0, 1), made.get_value(0, 2)
        assert lsn is not None
        assert snapshot is not None
        return _lsn(lsn.decode()), snapshot.decode()

    def _slot(self, connection: psycopg.Connection[Any]) -> Slot | None:
        query = "SELECT confirmed_flush_lsn::text, wal_status = 'lost' FROM pg_replication_slots WHERE slot_name = %s"
        row = connection.execute(query, [self.upstream.slot]).fetchone()
        return None if row is None else Slot(_lsn(row[0]), row[1])

    def _has_changes(self, connection: psycopg.Connection[Any], upper: int) -> bool:
        """Whether anything was committed to the publication that ends by ``upper``, or an application sent a message."""
        query = _PEEK.replace("NULL", "1")
        arguments = [self.upstream.slot, format_lsn(upper), self.upstream.publication]
        return connection.execute(query, arguments).fetchone() is not None

    def _pages(self, connection: psycopg.Connection[Any], table: str) -> int:
        name = sql.Identifier(*table.split(".", 1)).as_string(connection)
        [bytes_] = connection.execute("SELECT pg_relation_size(%s::regclass)", [name]).fetchone() or [0]
        return -(-int(bytes_) // 8192)

    @staticmethod
    def _system_id(connection: psycopg.Connection[Any]) -> str:
        [found] = connection.execute("SELECT system_identifier::text FROM pg_control_system()").fetchone() or [""]
        return str(found)

    def _changed(self, lsn: int, what: str, detail: str) -> SourceError:
        return UpstreamChanged("", lsn, message=f'the server of publication "{self.upstream.publication}" {what}', detail=detail)


_LOST = "the changes since the last step cannot be had any more; DROP the source and create it again"

_PEEK: LiteralString = (
    "SELECT data FROM pg_logical_slot_peek_binary_changes(%s, %s::pg_lsn, NULL, 'proto_version', '1', 'publication_names', %s)"
)

_PUBLICATION: LiteralString = "SELECT 1 FROM pg_publication WHERE pubname = %s"

_DESCRIBE: LiteralString = """
    SELECT p.schemaname, p.tablename, c.relreplident, a.attname, a.atttypid::int8, a.atttypmod, a.attnotnull
    FROM pg_publication_tables p
    JOIN pg_namespace n ON n.nspname = p.schemaname
    JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = p.tablename
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE p.pubname = %s
    ORDER BY p.schemaname, p.tablename, a.attnum
"""


@dataclass(slots=True)
class _Gathered:
    """Rows of one table on their way out."""

    name: str
    desc: RelationDesc
    rows: list[Sequence[str | None]] = field(default_factory=list)
    diffs: list[int] = field(default_factory=list)

    def table(self, lsn: int) -> pa.Table:
        columns = list(zip(*self.rows, strict=True)) or [()] * len(self.desc)
        arrays = [self._array(column, values, lsn) for column, values in zip(self.desc.columns, columns, strict=True)]
        schema = arrow_schema(self.desc, with_updates=False).append(pa.field(DIFF_COLUMN, pa.int64(), nullable=False))
        return pa.table([*arrays, pa.array(self.diffs, pa.int64())], schema=schema)

    def _array(self, column: Column, values: Sequence[str | None], lsn: int) -> pa.Array:
        try:
            return postgres_types.column(values, column.type)
        except (pa.ArrowInvalid, ValueError) as error:
            detail = f'table "{self.name}", column "{column.name}": {error}'
            raise DecodeFailed("", lsn, detail=detail, unit="LSN") from error


class _Reading:
    """The changes of a task, by table, as its messages come."""

    def __init__(self, outputs: Mapping[str, RelationDesc], task: Changes) -> None:
        self._outputs, self._task = outputs, task
        self._relations: dict[int, pgoutput.Relation] = {}
        self._transaction: list[tuple[list[pgoutput.Relation], pgoutput.Change | None]] = []
        self._gathered: dict[str, _Gathered] = {}
        self.is_over = False

    def take(self, message: pgoutput.Message) -> None:
        match message:
            case pgoutput.Relation(id):
                self._relations[id] = message
            case pgoutput.Begin():
                self._transaction = []
            case pgoutput.Commit(end_lsn):
                self._commit(end_lsn)
            case pgoutput.Change(id):
                self._transaction.append(([self._relations[id]], message))
            case pgoutput.Truncate(ids):
                self._transaction.append(([self._relations[id] for id in ids], None))

    def full(self, rows: int) -> Iterator[tuple[str, pa.Table]]:
        """What has gathered at least so many rows."""
        for name, gathered in list(self._gathered.items()):
            if len(gathered.rows) >= rows:
                del self._gathered[name]
                yield name, gathered.table(self._task.upper)

    def _commit(self, end_lsn: int) -> None:
        if end_lsn > self._task.upper:
            self.is_over = True
        elif end_lsn > self._task.lower:
            for relations, change in self._transaction:
                for relation in relations:
                    self._enter(relation, change, end_lsn)
        self._transaction = []

    def _enter(self, relation: pgoutput.Relation, change: pgoutput.Change | None, lsn: int) -> None:
        name = f"{relation.schema}.{relation.name}"
        desc = self._outputs.get(name)
        if desc is None:
            return
        if change is None:
            raise UpstreamChanged("", lsn, message=f'table "{name}" was truncated', detail="which rows went is not told")
        if change.old is None and (change.new is None or relation.replica_identity != "f"):
            detail = "its replica identity is not full any more"
            raise UpstreamChanged("", lsn, message=f'table "{name}" no longer tells which row went', detail=detail)
        positions = _positions(relation, name, desc, lsn)
        gathered = self._gathered.setdefault(name, _Gathered(name, desc))
        if change.old is not None:
            gathered.rows.append([_text(change.old[i]) for i in positions])
            gathered.diffs.append(-1)
        if change.new is not None:
            old = change.old or change.new
            gathered.rows.append([_text(old[i] if change.new[i] is pgoutput.UNCHANGED else change.new[i]) for i in positions])
            gathered.diffs.append(1)


def _positions(relation: pgoutput.Relation, name: str, desc: RelationDesc, lsn: int) -> list[int]:
    """Where our columns are in the upstream's rows. Those that were added are not ours; one that is missing, or has another type,
    ends it."""
    places = {column.name: (i, column.type_oid) for i, column in enumerate(relation.columns)}
    positions = []
    for column in desc.columns:
        place, type_oid = places.get(column.name, (0, None))
        if type_oid is None or not postgres_types.is_kept_as(type_oid, column.type):
            what = "was dropped" if type_oid is None else f"is no {column.type} any more"
            message = f'column "{column.name}" of table "{name}" {what}'
            raise UpstreamChanged("", lsn, message=message, detail="DROP the source and create it again")
        positions.append(place)
    return positions


def _text(value: pgoutput.Value) -> str | None:
    if isinstance(value, pgoutput.Unchanged):
        raise ValueError("a value that was not sent")
    return value


def _lsn(text: str) -> int:
    high, low = text.split("/")
    return (int(high, 16) << 32) + int(low, 16)


def format_lsn(lsn: int) -> str:
    """As PostgreSQL writes it."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
