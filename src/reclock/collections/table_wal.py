"""The write-ahead log of tables: one record in consensus is one commit, over any number of tables,
all or nothing.

All tables are one frontier group, which is never claimed. A commit is one consensus transaction
that checks the commit's dependencies, takes its timestamp from the oracle, inserts the rows, moves
the group's upper past them, and tells the oracle. Any process applies the records to the Delta
tables later (`collections.tables`).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import sqlalchemy as sa

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import CATALOG, EPOCH_MS, MINIMUM, Clock, Timestamp
from reclock.collections.table_commits import (
    Commit,
    CommittedBatch,
    LogTail,
    Outcome,
    Payload,
    PendingWrite,
    WalState,
    decide,
    joined_writes,
)
from reclock.collections.wal_ledger import OF_TABLES, Ledger
from reclock.collections.wal_rows import from_ipc, to_ipc
from reclock.consensus.database.batches import batches
from reclock.consensus.database.compiled import CompiledStatement
from reclock.consensus.database.store import Consensus
from reclock.consensus.frontiers.tables import frontiers
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import (
    ConsensusOutcomeUnknown,
    InternalError,
    UnknownCollection,
    UnknownTimeline,
    UpperMismatch,
)
from reclock.failpoints import failpoint
from reclock.oracle.oracle import (
    MAX_CLOCK_JUMP_MS,
    applied,
    applied_query,
    record_next_write,
    record_write,
    require_plausible,
)

T = TypeVar("T")

_ATTEMPTS = 5
"""How often a commit that is known to have failed is repeated."""

TOKENS_KEPT_MS = 3_600_000
"""How long a record outlives its rows, so that its writer can still learn the outcome."""


class TableWal:
    """The log, for an actor of one epoch. Every write raises ``Fenced`` once that epoch is over."""

    def __init__(
        self,
        consensus: Consensus,
        leadership: Leadership,
        clock: Clock,
        ledger: Ledger = OF_TABLES,
        *,
        max_clock_jump_ms: int = MAX_CLOCK_JUMP_MS,
    ) -> None:
        self.on_batch: Callable[[CommittedBatch], None] = lambda batch: None
        """Called after each batch that this process committed."""
        self._max_clock_jump_ms = max_clock_jump_ms
        self.ledger = ledger
        self._advance = CompiledStatement(
            sa.update(frontiers)
            .where(
                frontiers.c.group_id == ledger.group,
                frontiers.c.claim_id.is_(None),
                frontiers.c.upper <= sa.bindparam("at"),
            )
            .values(upper=sa.bindparam("at") + 1)
        )
        of_tables = ledger.tables.c.table_id.in_(sa.bindparam("ids", expanding=True))
        self._read_position = CompiledStatement(
            sa.select(frontiers.c.upper, applied_query(CATALOG).label("catalog_ts"), ledger.tables)
            .select_from(frontiers.outerjoin(ledger.tables, of_tables))
            .where(frontiers.c.group_id == ledger.group)
        )
        self._insert_record = CompiledStatement(sa.insert(ledger.records))
        self._insert_write = CompiledStatement(sa.insert(ledger.writes))
        self._set_last_writes = CompiledStatement(
            sa.update(ledger.tables).where(of_tables).values(last_write=sa.bindparam("at"))
        )
        self._consensus = consensus
        self._read_tails = consensus.repeated(_tails_query(ledger))
        self._leadership = leadership
        self._clock = clock

    # --- committing ---

    def commit(
        self,
        batch: Sequence[Commit] | Callable[[], Sequence[Commit]],
        *,
        at: Timestamp | None = None,
    ) -> list[Outcome]:
        """Commit those of ``batch`` that are not refused, all at one time. Returns the outcome of
        each.

        If ``batch`` is a function, it is called once the transaction has the database to itself,
        and again if the transaction is repeated. The time is the oracle's next write timestamp, or
        ``at``. Raises ``UpperMismatch`` if ``at`` is below the group's upper,
        ``ConsensusOutcomeUnknown`` only if the outcome cannot be looked up.
        """
        for _ in range(_ATTEMPTS):
            token = uuid.uuid4().hex
            outcomes: list[Outcome] = []
            committed = CommittedBatch((), (), {})

            def work(connection: sa.Connection, token: str = token) -> list[Outcome]:
                nonlocal outcomes, committed
                commits = batch() if callable(batch) else batch
                position = self._position(
                    connection, {table for commit in commits for table in commit.tables}
                )
                outcomes = self._commit(connection, commits, token, at, position)
                committed = CommittedBatch(commits, outcomes, position.last_writes)
                return outcomes

            try:
                failpoint("tables.commit.before")
                self._write(work)
                failpoint("tables.commit.after")
                self.on_batch(committed)
                return outcomes
            except ConsensusOutcomeUnknown:
                if self._is_committed(token):
                    return outcomes
        raise InternalError(f"no commit to tables in {_ATTEMPTS} attempts")

    def commit_beside(self, connection: sa.Connection, commit: Commit) -> CommittedBatch:
        """Commit as a part of a larger transaction, which checks the fence and whose outcome can be
        looked up. Once that is durable, the caller tells ``on_batch``.

        Raises the reason of a refusal.
        """
        position = self._position(connection, commit.tables)
        outcomes = self._commit(connection, [commit], uuid.uuid4().hex, None, position)
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome
        return CommittedBatch([commit], outcomes, position.last_writes)

    def _commit(
        self,
        connection: sa.Connection,
        batch: Sequence[Commit],
        token: str,
        at: Timestamp | None,
        position: _Position,
    ) -> list[Outcome]:
        staged = [
            payload.staged
            for commit in batch
            for payload in commit.writes.values()
            if payload.staged is not None
        ]
        last_writes = position.last_writes
        recent = self._recent(connection, batch, last_writes)
        state = WalState(
            last_writes, position.catalog_ts, self._reserved(connection, staged), recent
        )
        refusals = decide(batch, state)
        accepted = [
            commit for commit, refusal in zip(batch, refusals, strict=True) if refusal is None
        ]
        if not accepted:
            return [refusal for refusal in refusals if refusal is not None]
        time = self._record_time(connection, position.upper, at)
        if self._advance.change(connection, {"at": time}) != 1:
            raise UpperMismatch(self.ledger.group, expected=time, found=position.upper)
        writes = joined_writes(accepted)
        self._insert_record.change(connection, {"at": time, "token": token})
        for part, (table, payload) in enumerate(writes):
            write = {
                "at": time,
                "part": part,
                "table_id": table,
                "ipc": to_ipc(payload.rows) if payload.rows is not None else None,
                "staged": payload.staged,
            }
            self._insert_write.change(connection, write)
        for table_batch in batches(sorted({table for table, _ in writes})):
            self._set_last_writes.change(connection, {"ids": table_batch, "at": time})
        for names in batches(staged):
            connection.execute(
                sa.delete(self.ledger.staging).where(self.ledger.staging.c.name.in_(names))
            )
        return [time if refusal is None else refusal for refusal in refusals]

    def _recent(
        self,
        connection: sa.Connection,
        batch: Sequence[Commit],
        last_writes: Mapping[GlobalId, Timestamp],
    ) -> dict[GlobalId, list[PendingWrite]]:
        """See ``WalState.recent``."""
        since: dict[GlobalId, Timestamp] = {}
        for commit in batch:
            read_ats = [
                (table, commit.read_at) for table in commit.keys if commit.read_at is not None
            ]
            for table, read_at in (
                *read_ats,
                *((read.table, read.read_at) for read in commit.key_reads),
            ):
                if table in last_writes and last_writes[table] > read_at:
                    since[table] = min(read_at, since.get(table, read_at))
        recent = {
            table: self._writes_since(connection, table, read_at)
            for table, read_at in sorted(since.items())
        }
        return {table: writes for table, writes in recent.items() if writes is not None}

    def _writes_since(
        self, connection: sa.Connection, table: GlobalId, since: Timestamp
    ) -> list[PendingWrite] | None:
        """The writes to the table after ``since``, in order; None if the log has not all of them
        any more."""
        c, trimmed = self.ledger.writes.c, self.ledger.trimmed.c
        upper = connection.scalar(sa.select(trimmed.upper).where(trimmed.table_id == table))
        if upper is not None and upper > since + 1:
            return None
        query = (
            sa.select(self.ledger.writes)
            .where(c.table_id == table, c.at > since)
            .order_by(c.at, c.part)
        )
        return [_as_write(row) for row in connection.execute(query)]

    def _record_time(
        self, connection: sa.Connection, upper: Timestamp, at: Timestamp | None
    ) -> Timestamp:
        """The time of a commit: ``at``, or the next one, not below ``upper``. The oracle knows it
        as applied, if the ledger tells it."""
        if at is not None:
            if self.ledger.is_applied:
                record_write(connection, EPOCH_MS, at)
            return at
        now, bound_ms = self._clock(), self._max_clock_jump_ms
        if self.ledger.is_applied:
            return record_next_write(
                connection, EPOCH_MS, now, at_least=upper, max_jump_ms=bound_ms
            )
        require_plausible(connection, now, bound_ms, earlier=upper)
        return Timestamp(max(now, upper))

    def _is_committed(self, token: str) -> bool:
        # A write transaction waits until the one in doubt ends. A read would not.
        query = sa.select(self.ledger.records.c.at).where(self.ledger.records.c.token == token)
        return self._consensus.transact(lambda connection: connection.scalar(query)) is not None

    # --- staging ---

    def reserve(self, name: str, *, lease_ms: int) -> None:
        """Protect the files that are staged under ``name`` from deletion for the time of the
        lease."""

        def work(connection: sa.Connection) -> None:
            connection.execute(
                sa.insert(self.ledger.staging).values(
                    name=name, lease_until=self._consensus.now(connection) + lease_ms
                )
            )

        self._write(work)

    def staged_names(self) -> frozenset[str]:
        """The names of staged files that a record needs, or that a commit may still need. All
        others are garbage."""

        def work(connection: sa.Connection) -> frozenset[str]:
            connection.execute(
                sa.delete(self.ledger.staging).where(
                    self.ledger.staging.c.lease_until <= self._consensus.now(connection)
                )
            )
            reserved = connection.scalars(sa.select(self.ledger.staging.c.name)).all()
            recorded = connection.scalars(
                sa.select(self.ledger.writes.c.staged).where(
                    self.ledger.writes.c.staged.is_not(None)
                )
            ).all()
            return frozenset([*reserved, *recorded])

        return self._write(work)

    def _reserved(self, connection: sa.Connection, names: Sequence[str]) -> frozenset[str]:
        query = sa.select(self.ledger.staging.c.name)
        reserved = (
            connection.scalars(query.where(self.ledger.staging.c.name.in_(rows)))
            for rows in batches(names)
        )
        return frozenset(name for rows in reserved for name in rows)

    # --- following ---

    def pending(
        self, tables: Iterable[GlobalId] | None = None, *, through: Timestamp | None = None
    ) -> list[PendingWrite]:
        """The writes in the log to these tables, or all, at times up to ``through``, in order and
        of one consistent state.

        A write that was committed before the call and is not in the log is in its Delta table.
        """
        query = sa.select(self.ledger.writes).order_by(
            self.ledger.writes.c.at, self.ledger.writes.c.part
        )
        if tables is not None:
            query = query.where(self.ledger.writes.c.table_id.in_(sorted(set(tables))))
        if through is not None:
            query = query.where(self.ledger.writes.c.at <= through)
        return self._consensus.read(
            lambda connection: [_as_write(row) for row in connection.execute(query)]
        )

    def tails(
        self, tables: Iterable[GlobalId], *, after: Timestamp, through: Timestamp
    ) -> dict[GlobalId, LogTail]:
        """Of each of the tables that can be written, the writes in the log at times after ``after``
        up to ``through``; all of one consistent state."""
        ids = sorted(set(tables))
        parameters = {"ids": ids, "after": after, "through": through}
        writes: dict[GlobalId, list[PendingWrite]] = {}
        trimmed: dict[GlobalId, Timestamp] = {}
        for table, trimmed_upper, at, part, ipc, staged in self._read_tails(parameters):
            trimmed[table] = trimmed_upper
            of_table = writes.setdefault(table, [])
            if at is not None:
                of_table.append(_pending_write(at, part, table, ipc, staged))
        return {table: LogTail(trimmed[table], writes[table]) for table in writes}

    def writes_since(self, table: GlobalId, since: Timestamp) -> list[PendingWrite] | None:
        """The writes to the table after ``since``, in order; None if the log has not all of them
        any more."""
        return self._consensus.read(lambda connection: self._writes_since(connection, table, since))

    def trim(self, uppers: Mapping[GlobalId, Timestamp]) -> None:
        """Delete the writes that are durable in the Delta tables: those below the physical upper of
        each table."""

        def work(connection: sa.Connection) -> None:
            for table, upper in uppers.items():
                connection.execute(
                    sa.delete(self.ledger.writes).where(
                        self.ledger.writes.c.table_id == table, self.ledger.writes.c.at < upper
                    )
                )
                self._note_trimmed(connection, table, upper)
            remaining = sa.select(self.ledger.writes.c.at)
            old = Timestamp(applied(connection, EPOCH_MS) - TOKENS_KEPT_MS)
            connection.execute(
                sa.delete(self.ledger.records).where(
                    self.ledger.records.c.at < old, self.ledger.records.c.at.not_in(remaining)
                )
            )

        self._write(work)

    def _note_trimmed(self, connection: sa.Connection, table: GlobalId, upper: Timestamp) -> None:
        trimmed = self.ledger.trimmed
        trimmed_upper = connection.scalar(
            sa.select(trimmed.c.upper).where(trimmed.c.table_id == table)
        )
        if trimmed_upper is None:
            connection.execute(sa.insert(trimmed).values(table_id=table, upper=upper))
        elif trimmed_upper < upper:
            connection.execute(
                sa.update(trimmed).where(trimmed.c.table_id == table).values(upper=upper)
            )

    # --- tables ---

    def table_ids(self) -> frozenset[GlobalId]:
        """The tables that can be written."""
        query = sa.select(self.ledger.tables.c.table_id)
        return self._consensus.read(lambda connection: frozenset(connection.scalars(query).all()))

    def register(self, table: GlobalId, at: Timestamp) -> None:
        """Let the table be written from now on. A table that is registered already stays as it
        is."""

        def work(connection: sa.Connection) -> None:
            tables = self.ledger.tables
            if connection.scalar(sa.select(tables).where(tables.c.table_id == table)) is None:
                connection.execute(
                    sa.insert(self.ledger.tables).values(table_id=table, last_write=at)
                )

        self._write(work)

    def forget(self, tables: Iterable[GlobalId]) -> None:
        """Delete dropped tables, and all writes to them, from the log."""

        def work(connection: sa.Connection) -> None:
            for batch in batches(tables):
                connection.execute(
                    sa.delete(self.ledger.writes).where(self.ledger.writes.c.table_id.in_(batch))
                )
                connection.execute(
                    sa.delete(self.ledger.tables).where(self.ledger.tables.c.table_id.in_(batch))
                )
                connection.execute(
                    sa.delete(self.ledger.trimmed).where(self.ledger.trimmed.c.table_id.in_(batch))
                )

        self._write(work)

    def _position(self, connection: sa.Connection, tables: Iterable[GlobalId]) -> _Position:
        """Raises ``UnknownCollection``, ``UnknownTimeline``."""
        rows = [
            row
            for ids in [*batches(sorted(tables))] or [[]]
            for row in self._read_position.rows(connection, {"ids": ids})
        ]
        if not rows:
            raise UnknownCollection(self.ledger.group)
        upper, catalog_ts, _, _ = rows[0]
        if catalog_ts is None:
            raise UnknownTimeline(CATALOG)
        last_writes = {table: last_write for _, _, table, last_write in rows if table is not None}
        return _Position(upper, catalog_ts, last_writes)

    def _write(self, work: Callable[[sa.Connection], T]) -> T:
        return self._consensus.transact(fence.guard(self._leadership, work))


@dataclass(frozen=True, slots=True)
class _Position:
    """Where a commit finds the log and the catalog; ``last_writes`` are those of its tables that
    can be written."""

    upper: Timestamp
    catalog_ts: Timestamp
    last_writes: Mapping[GlobalId, Timestamp]


def _tails_query(ledger: Ledger) -> sa.Select[Any]:
    """For each table of ``ids`` how far it was trimmed, beside each of its writes; once without a
    write if it has none."""
    tables, trimmed, writes = ledger.tables, ledger.trimmed, ledger.writes
    of_tail = sa.and_(
        writes.c.table_id == tables.c.table_id,
        writes.c.at > sa.bindparam("after"),
        writes.c.at <= sa.bindparam("through"),
    )
    return (
        sa.select(
            tables.c.table_id,
            sa.func.coalesce(trimmed.c.upper, MINIMUM).label("trimmed"),
            *(writes.c[name] for name in ("at", "part", "ipc", "staged")),
        )
        .select_from(
            tables.outerjoin(trimmed, trimmed.c.table_id == tables.c.table_id).outerjoin(
                writes, of_tail
            )
        )
        .where(tables.c.table_id.in_(sa.bindparam("ids", expanding=True)))
        .order_by(writes.c.at, writes.c.part)
    )


def _as_write(row: sa.Row[Any]) -> PendingWrite:
    return _pending_write(row.at, row.part, row.table_id, row.ipc, row.staged)


def _pending_write(
    at: Timestamp, part: int, table: GlobalId, ipc: bytes | None, staged: str | None
) -> PendingWrite:
    rows = from_ipc(ipc) if ipc is not None else None
    return PendingWrite(at, part, table, Payload(rows, staged))
