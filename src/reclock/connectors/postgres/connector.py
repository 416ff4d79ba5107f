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

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, LiteralString

import psycopg
from psycopg.conninfo import make_conninfo

from reclock.algebra.relations import RelationDesc
from reclock.connectors.connector import (
    Bound,
    CheckResult,
    Evidence,
    Increment,
    Read,
    Skip,
)
from reclock.connectors.postgres import pgoutput
from reclock.connectors.postgres.changes import ChangeCollector
from reclock.connectors.postgres.publication import (
    DescribedTable,
    changed_tables,
    described_tables,
    published_tables,
    require_all_changes,
    unfollowed_tables,
)
from reclock.connectors.postgres.slots import (
    Slot,
    create_slot,
    find_slot,
    format_lsn,
    lock_slot,
    parse_lsn,
    retained_bytes,
)
from reclock.connectors.postgres.table_copy import (
    BATCH_BYTES,
    CopyPages,
    copy_pages,
    snapshot_tasks,
    table_size,
)
from reclock.connectors.postgres.types import SETTINGS
from reclock.definitions.sources import PostgresConnector, PublishedTable
from reclock.errors import OutputFailed, UpstreamLost, UpstreamReplaced, UpstreamUnavailable

BATCH_ROWS = 25_000
"""How many changes of a table are decoded at once."""

IDLE_BYTES = 16 << 20
"""The size at which a step binds WAL without published changes, so that the slot advances."""

_COPY_AGAIN = "ALTER SOURCE … RESNAPSHOT copies the tables anew"

_CONNECT_S = 10
_STATEMENT_MS = 60_000
_MEASURE_MS = 5_000


@dataclass(frozen=True, slots=True)
class TransactionRange:
    """The transactions whose commit records start at ``lower`` or later, and before ``upper``."""

    lower: int
    upper: int
    unfollowed: Mapping[str, str] = field(default_factory=dict)
    """The tables that are not followed from here on, and why."""

    @property
    def size_bytes(self) -> int:
        """The WAL of the range, also that of other changes."""
        return self.upper - self.lower


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
    ) -> Iterator[tuple[list[Increment], list[CopyPages | TransactionRange]]]:
        """Create the slot, and hold its snapshot while the tables are copied. A slot that exists,
        such as one left by an earlier attempt, is replaced.

        An advisory lock orders this with ``dismiss``: a drop of the source waits for the slot and
        drops it; a creator that comes later sees in ``is_wanted`` that the source is unfollowed.
        The server holds the lock for as long as it creates the slot, even if the client is killed.
        """
        with self._connected() as connection:
            system_id = self._system_id(connection)
            changed = changed_tables(connection, self.upstream.publication, self.outputs)
            unfollowed = changed | unfollowed_tables(connection, self.upstream, self.outputs)
            sizes = {
                table: table_size(connection, table)
                for table in self.outputs
                if table not in unfollowed
            }
            with self._connected(replication="database") as walsender:
                lock_slot(walsender, self.upstream.slot)
                if not is_wanted():
                    yield [], []
                    return
                if find_slot(connection, self.upstream.slot) is not None:
                    connection.execute("SELECT pg_drop_replication_slot(%s)", [self.upstream.slot])
                began, snapshot = create_slot(walsender, connection, self.upstream.slot)
                lsn, lower = parse_lsn(began), bound[()][0] if () in bound else 0
                if lsn <= lower:
                    behind = (
                        f"its changes begin at {began}, and the source has those up to "
                        f"{format_lsn(lower)}"
                    )
                    raise self._behind(lower, "is another one", behind)
                tasks: list[CopyPages | TransactionRange] = (
                    [TransactionRange(lsn, lsn, unfollowed)] if unfollowed else []
                )
                tasks += snapshot_tasks(sizes, snapshot)
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
            problem = self._slot_problem(find_slot(connection, self.upstream.slot), lower)
            if problem is not None:
                raise self._lost(lower, *problem)
            [reached] = connection.execute(
                "SELECT pg_current_wal_flush_lsn()::text"
            ).fetchone() or [""]
            upper = parse_lsn(reached)
            if upper < lower:
                raise self._behind(
                    lower, f"ends at {reached}", f"it is bound up to {format_lsn(lower)}"
                )
            unfollowed = (
                unfollowed_tables(connection, self.upstream, self.outputs) if upper > lower else {}
            )
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
    ) -> list[TransactionRange]:
        tasks = []
        for increment in increments:
            reasons = increment.detail.get("gone", {})
            unfollowed = {table: why for table, why in reasons.items() if table in self.outputs}
            tasks.append(TransactionRange(increment.lower, increment.upper, unfollowed))
        return tasks

    def size_bytes(self, task: CopyPages | TransactionRange) -> int:
        return task.size_bytes

    def without(self, outputs: Set[str]) -> Postgres:
        return replace(
            self, outputs={name: desc for name, desc in self.outputs.items() if name not in outputs}
        )

    def acknowledge(self, published: Sequence[Increment]) -> None:
        """Advance the slot, so that the server may release the published changes."""
        upper = max(increment.upper for increment in published)
        with self._connected() as connection:
            slot = find_slot(connection, self.upstream.slot)
            if slot is not None and slot.confirmed < upper:
                connection.execute(
                    "SELECT pg_replication_slot_advance(%s, %s)",
                    [self.upstream.slot, format_lsn(upper)],
                )

    def dismiss(self) -> None:
        """Drop the slot of a dropped source. Repeating it is harmless. Raises a ``SourceError``."""
        with self._connected() as connection:
            lock_slot(connection, self.upstream.slot)
            if find_slot(connection, self.upstream.slot) is not None:
                connection.execute("SELECT pg_drop_replication_slot(%s)", [self.upstream.slot])

    def check(self, bound: Bound) -> Iterator[CheckResult]:
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
                status = "in the publication" if table in published else "not in the publication"
                yield CheckResult(
                    f"table {table}",
                    may_read,
                    status + ("" if may_read else "; SELECT is not granted"),
                )
            yield self._check_slot(find_slot(connection, self.upstream.slot), bound)

    def _check_slot(self, slot: Slot | None, bound: Bound) -> CheckResult:
        if () in bound and (problem := self._slot_problem(slot, bound[()][0])) is not None:
            return CheckResult("slot", False, "the server {}; {}".format(*problem))
        state = (
            "is not there; copying the tables makes it"
            if slot is None
            else f"stands at {format_lsn(slot.confirmed)}"
        )
        return CheckResult("slot", True, f'"{self.upstream.slot}" {state}')

    def retained_bytes(self) -> int | None:
        """The bytes of WAL that the server keeps for the slot; None if there is no slot, or a lost
        one, for which it keeps none. Answers within some seconds, or raises
        ``UpstreamUnavailable``."""
        with self._connected(patience_ms=_MEASURE_MS) as connection:
            return retained_bytes(connection, self.upstream.slot)

    def describe(self) -> dict[str, DescribedTable]:
        """The tables of the publication, by ``schema.table``. A table has a key if its changes
        identify the old row by it; an empty key if they do not identify it. Raises
        ``InvalidOption`` if the publication does not exist, or lacks a kind of change."""
        with self._connected() as connection:
            require_all_changes(connection, self.upstream.publication)
            return described_tables(connection, self.upstream.publication)

    def published(self) -> list[PublishedTable]:
        """The tables of the publication, with the identities that they have now."""
        with self._connected() as connection:
            return published_tables(connection, self.upstream.publication)

    # --- in executors ---

    def read(self, task: CopyPages | TransactionRange) -> Iterator[Read]:
        with self._connected(patience_ms=0) as connection:
            if isinstance(task, CopyPages):
                try:
                    yield from copy_pages(
                        connection, self.upstream.publication, task, self.outputs[task.table]
                    )
                except OutputFailed as failure:
                    yield task.table, failure
            else:
                if task.lower < task.upper:
                    yield from self._changes(connection, task)
                for table, why in task.unfollowed.items():
                    yield table, OutputFailed(f'table "{table}" {why}', detail=GONE)

    def _changes(
        self, connection: psycopg.Connection[Any], task: TransactionRange
    ) -> Iterator[Read]:
        collector = ChangeCollector(self.outputs, task.lower, task.upper)
        arguments = [self.upstream.slot, format_lsn(task.upper), self.upstream.publication]
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

    def _has_changes(self, connection: psycopg.Connection[Any], upper: int) -> bool:
        """Whether the slot has a change of the publication, or an application's message, up to
        ``upper``."""
        arguments = [self.upstream.slot, format_lsn(upper), self.upstream.publication]
        return connection.execute(_PEEK_ONE, arguments).fetchone() is not None

    @staticmethod
    def _system_id(connection: psycopg.Connection[Any]) -> str:
        [system_id] = connection.execute(
            "SELECT system_identifier::text FROM pg_control_system()"
        ).fetchone() or [""]
        return str(system_id)

    def _slot_problem(self, slot: Slot | None, lower: int) -> tuple[str, str] | None:
        """Why the slot does not have the changes from ``lower`` on: what the server did, and the
        detail. None if it has them."""
        name = f'the replication slot "{self.upstream.slot}"'
        if slot is None:
            return f"no longer has {name}", _MISSED
        if slot.is_lost:
            return f"let changes go that were not read, behind {name}", _MISSED
        if slot.confirmed > lower:
            ahead = f"it stands at {format_lsn(slot.confirmed)}, bound is {format_lsn(lower)}"
            return f"let another reader move {name}", ahead
        return None

    def _lost(self, lsn: int, what: str, detail: str) -> UpstreamReplaced:
        message = f'the server of publication "{self.upstream.publication}" {what}'
        return UpstreamReplaced("", lsn, message=message, detail=detail, hint=_COPY_AGAIN)

    def _behind(self, lsn: int, what: str, detail: str) -> UpstreamLost:
        """The server's log has not come as far as what is bound: offsets cannot go on from it."""
        message = f'the server of publication "{self.upstream.publication}" {what}'
        return UpstreamLost("", lsn, message=message, detail=detail)


_MISSED = "the changes since the last step cannot be had any more"

GONE = "it was dropped, renamed, altered, or taken out of the publication"

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
