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
from dataclasses import dataclass, field
from typing import Any, TypedDict, TypeVar

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from reclock.algebra.ids import INTROSPECTION, TABLES, GlobalId
from reclock.algebra.timestamps import CATALOG, EPOCH_MS, Clock, Timestamp
from reclock.collections.key_counts import KeyCounts
from reclock.collections.key_hashes import Hashes, KeyColumns
from reclock.collections.keys import Keys
from reclock.consensus.database.batches import batches
from reclock.consensus.database.store import Consensus, metadata
from reclock.consensus.frontiers.tables import frontiers, get_group
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import (
    CatalogMoved,
    ConsensusOutcomeUnknown,
    InternalError,
    StagedRowsGone,
    UpperMismatch,
    WriteConflict,
)
from reclock.failpoints import failpoint
from reclock.oracle.oracle import (
    MAX_CLOCK_JUMP_MS,
    allocate_write,
    applied,
    record_write,
    require_plausible,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ledger:
    """The database tables of one log. The tables that it writes are the frontier group ``group``,
    whose upper it moves.

    If ``is_applied``, times are the oracle's write timestamps, and each commit tells the oracle its
    time, so that later reads see it. Otherwise times are the clock's, and the newest rows are read
    below the group's upper.
    """

    group: str
    is_applied: bool
    records: sa.Table
    writes: sa.Table
    tables: sa.Table
    staging: sa.Table
    trimmed: sa.Table

    @classmethod
    def named(cls, prefix: str, group: str, *, is_applied: bool) -> Ledger:
        """The ledger whose database tables have names that begin with ``prefix``."""
        return cls(
            group,
            is_applied,
            sa.Table(
                f"{prefix}_record",
                metadata,
                sa.Column("at", sa.BigInteger, primary_key=True, autoincrement=False),
                # identifies a commit whose outcome is unknown
                sa.Column("token", sa.Text, nullable=False, unique=True),
            ),
            sa.Table(
                f"{prefix}_write",
                metadata,
                sa.Column("at", sa.BigInteger, primary_key=True, autoincrement=False),
                sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
                sa.Column("table_id", sa.Text, nullable=False, index=True),
                sa.Column("ipc", sa.LargeBinary),
                sa.Column("staged", sa.Text),
                sa.CheckConstraint(
                    "(ipc IS NULL) <> (staged IS NULL)", name=f"{prefix}_write_payload"
                ),
            ),
            sa.Table(
                prefix,
                metadata,
                sa.Column("table_id", sa.Text, primary_key=True),
                # the time of its creation, or of the last write
                sa.Column("last_write", sa.BigInteger, nullable=False),
            ),
            sa.Table(
                f"{prefix}_staging",
                metadata,
                sa.Column("name", sa.Text, primary_key=True),
                sa.Column("lease_until", sa.BigInteger, nullable=False),
            ),
            sa.Table(
                f"{prefix}_trimmed",
                metadata,
                sa.Column("table_id", sa.Text, primary_key=True),
                # writes below it are not in the log any more
                sa.Column("upper", sa.BigInteger, nullable=False),
            ),
        )


OF_TABLES = Ledger.named("reclock_table", TABLES, is_applied=True)
OF_INTROSPECTION = Ledger.named("reclock_introspection", INTROSPECTION, is_applied=False)

_ATTEMPTS = 5
"""How often a commit that is known to have failed is repeated."""

TOKENS_KEPT_MS = 3_600_000
"""How long a record outlives its rows, so that its writer can still learn the outcome."""


@dataclass(frozen=True, slots=True)
class Payload:
    """Rows of one table, each with its diff: as Arrow IPC bytes, or under the name of the staged
    files that hold them."""

    rows: bytes | None = None
    staged: str | None = None


@dataclass(frozen=True, slots=True)
class KeyRead:
    """The transaction rests on how many rows of ``table`` had keys with these ``hashes`` at
    ``read_at``."""

    table: GlobalId
    read_at: Timestamp
    key: KeyColumns
    hashes: Hashes

    def is_changed_by(self, payload: Payload) -> bool:
        """Whether the number may be another after the write."""
        if payload.rows is None:
            return True
        changed, _ = self.key.net_counts(rows_of_payload(payload.rows))
        return bool(np.isin(changed, self.hashes).any())


@dataclass(frozen=True, slots=True)
class Commit:
    """The writes of one transaction, and their dependencies.

    The transaction was planned at ``catalog_ts`` of the catalog, and read the tables ``reads`` at
    ``read_at``: only the rows with ``keys`` of the tables there, any rows of the others.
    ``key_reads`` have times of their own.
    """

    writes: Mapping[GlobalId, Payload]
    catalog_ts: Timestamp
    reads: frozenset[GlobalId] = frozenset()
    read_at: Timestamp | None = None
    keys: Mapping[GlobalId, Keys] = field(default_factory=dict)
    key_reads: tuple[KeyRead, ...] = ()
    key_changes: Mapping[tuple[GlobalId, KeyColumns], KeyCounts] = field(default_factory=dict)
    """How the writes change the counts of keys, where that is known."""

    @property
    def tables(self) -> frozenset[GlobalId]:
        """All that it reads or writes."""
        return self.reads.union(self.writes, (read.table for read in self.key_reads))


class Dependencies(TypedDict, total=False):
    """What a commit rests on besides the catalog, as in ``Commit``."""

    reads: frozenset[GlobalId]
    read_at: Timestamp | None
    keys: Mapping[GlobalId, Keys]
    key_reads: tuple[KeyRead, ...]
    key_changes: Mapping[tuple[GlobalId, KeyColumns], KeyCounts]


@dataclass(frozen=True, slots=True)
class PendingWrite:
    """The rows of one record for one table."""

    at: Timestamp
    part: int
    table: GlobalId
    payload: Payload


Outcome = Timestamp | WriteConflict | CatalogMoved | StagedRowsGone
"""The time of a commit, or why it was refused."""


@dataclass(frozen=True, slots=True)
class CommittedBatch:
    """Commits with their outcomes, and when each of their tables was last written before them."""

    commits: Sequence[Commit]
    outcomes: Sequence[Outcome]
    last_writes: Mapping[GlobalId, Timestamp]


@dataclass(frozen=True, slots=True)
class WalState:
    """The state of the log and the catalog on which the decision about a batch depends."""

    last_writes: Mapping[GlobalId, Timestamp]
    catalog_ts: Timestamp
    staged: frozenset[str]
    recent: Mapping[GlobalId, Sequence[PendingWrite]] = field(default_factory=dict)
    """The writes since the read to tables that a commit read by keys, if the log still has all of
    them."""


def decide(
    batch: Sequence[Commit], state: WalState
) -> list[WriteConflict | CatalogMoved | StagedRowsGone | None]:
    """For each commit of the batch the reason of its refusal, or None if it can be committed.

    These can be committed at one time, as if in this order: none reads rows that an earlier one
    writes, so each sees at the time of the batch what it would see alone.
    """
    batch_writes: dict[GlobalId, list[Payload]] = {}
    outcomes: list[WriteConflict | CatalogMoved | StagedRowsGone | None] = []
    for commit in batch:
        refusal = _refusal(commit, state, batch_writes)
        if refusal is None:
            for table, payload in commit.writes.items():
                batch_writes.setdefault(table, []).append(payload)
        outcomes.append(refusal)
    return outcomes


def _refusal(
    commit: Commit, state: WalState, batch_writes: Mapping[GlobalId, Sequence[Payload]]
) -> WriteConflict | CatalogMoved | StagedRowsGone | None:
    is_gone = not commit.tables <= state.last_writes.keys()
    if commit.catalog_ts < state.catalog_ts or is_gone:
        return CatalogMoved(planned=commit.catalog_ts, found=state.catalog_ts)
    for table in sorted(commit.reads):
        if commit.read_at is None:
            raise InternalError("a commit that read tables does not say when")
        if _was_written(
            table, commit.read_at, commit.keys.get(table), state, batch_writes.get(table, ())
        ):
            return WriteConflict(table, read_at=commit.read_at)
    for read in commit.key_reads:
        payloads = _writes_since(read.table, read.read_at, state, batch_writes.get(read.table, ()))
        if payloads is None or any(map(read.is_changed_by, payloads)):
            return WriteConflict(read.table, read_at=read.read_at)
    for payload in commit.writes.values():
        if payload.staged is not None and payload.staged not in state.staged:
            return StagedRowsGone(payload.staged)
    return None


def _was_written(
    table: GlobalId,
    read_at: Timestamp,
    keys: Keys | None,
    state: WalState,
    batch_payloads: Sequence[Payload],
) -> bool:
    """Whether the rows that were read may have been written since. Writes that are no longer in the
    log may be of any rows."""
    payloads = _writes_since(table, read_at, state, batch_payloads)
    if payloads is None or keys is None:
        return payloads is None or bool(payloads)
    return any(
        payload.rows is None or keys.contain_any([rows_of_payload(payload.rows)])
        for payload in payloads
    )


def _writes_since(
    table: GlobalId, read_at: Timestamp, state: WalState, batch_payloads: Sequence[Payload]
) -> list[Payload] | None:
    """The writes to the table since ``read_at``; None if there were some that are not in
    ``state.recent``."""
    payloads = list(batch_payloads)
    if state.last_writes[table] > read_at:
        if table not in state.recent:
            return None
        payloads += [write.payload for write in state.recent[table] if write.at > read_at]
    return payloads


def rows_of_payload(ipc: bytes) -> pa.Table:
    """The rows of a record, with their diffs."""
    with pa.ipc.open_stream(ipc) as reader:
        return reader.read_all()


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
        self._consensus = consensus
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
                last_writes = self._last_writes(
                    connection, {table for commit in commits for table in commit.tables}
                )
                outcomes = self._commit(connection, commits, token, at, last_writes)
                committed = CommittedBatch(commits, outcomes, last_writes)
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
        last_writes = self._last_writes(connection, commit.tables)
        outcomes = self._commit(connection, [commit], uuid.uuid4().hex, None, last_writes)
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome
        return CommittedBatch([commit], outcomes, last_writes)

    def _commit(
        self,
        connection: sa.Connection,
        batch: Sequence[Commit],
        token: str,
        at: Timestamp | None,
        last_writes: Mapping[GlobalId, Timestamp],
    ) -> list[Outcome]:
        staged = [
            payload.staged
            for commit in batch
            for payload in commit.writes.values()
            if payload.staged is not None
        ]
        recent = self._recent(connection, batch, last_writes)
        state = WalState(
            last_writes, applied(connection, CATALOG), self._reserved(connection, staged), recent
        )
        refusals = decide(batch, state)
        accepted = [
            commit for commit, refusal in zip(batch, refusals, strict=True) if refusal is None
        ]
        if not accepted:
            return [refusal for refusal in refusals if refusal is not None]
        upper = get_group(connection, self.ledger.group).upper
        time = Timestamp(max(self._next_time(connection, upper), upper)) if at is None else at
        update = connection.execute(
            sa.update(frontiers)
            .where(
                frontiers.c.group_id == self.ledger.group,
                frontiers.c.claim_id.is_(None),
                frontiers.c.upper <= time,
            )
            .values(upper=time + 1)
        )
        if update.rowcount != 1:
            raise UpperMismatch(self.ledger.group, expected=time, found=upper)
        writes = [
            (table, payload) for commit in accepted for table, payload in commit.writes.items()
        ]
        connection.execute(sa.insert(self.ledger.records).values(at=time, token=token))
        records = [
            {
                "at": time,
                "part": part,
                "table_id": table,
                "ipc": payload.rows,
                "staged": payload.staged,
            }
            for part, (table, payload) in enumerate(writes)
        ]
        if records:
            connection.execute(sa.insert(self.ledger.writes), records)
        for table_batch in batches(sorted({table for table, _ in writes})):
            connection.execute(
                sa.update(self.ledger.tables)
                .where(self.ledger.tables.c.table_id.in_(table_batch))
                .values(last_write=time)
            )
        for names in batches(staged):
            connection.execute(
                sa.delete(self.ledger.staging).where(self.ledger.staging.c.name.in_(names))
            )
        if self.ledger.is_applied:
            record_write(connection, EPOCH_MS, time)
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

    def _next_time(self, connection: sa.Connection, upper: Timestamp) -> Timestamp:
        now = self._clock()
        if self.ledger.is_applied:
            return allocate_write(connection, EPOCH_MS, now, max_jump_ms=self._max_clock_jump_ms)
        require_plausible(connection, now, self._max_clock_jump_ms, seen=upper)
        return now

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
            needed = connection.scalars(
                sa.select(self.ledger.writes.c.staged).where(
                    self.ledger.writes.c.staged.is_not(None)
                )
            ).all()
            return frozenset([*reserved, *needed])

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

    def known(self) -> frozenset[GlobalId]:
        """The tables that can be written."""
        query = sa.select(self.ledger.tables.c.table_id)
        return self._consensus.read(lambda connection: frozenset(connection.scalars(query).all()))

    def register(self, table: GlobalId, at: Timestamp) -> None:
        """Let the table be written from now on. A table that is registered already stays as it
        is."""

        def work(connection: sa.Connection) -> None:
            if not self._last_writes(connection, [table]):
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

    def _last_writes(
        self, connection: sa.Connection, tables: Iterable[GlobalId]
    ) -> dict[GlobalId, Timestamp]:
        query = sa.select(self.ledger.tables)
        return {
            row.table_id: row.last_write
            for batch in batches(sorted(tables))
            for row in connection.execute(query.where(self.ledger.tables.c.table_id.in_(batch)))
        }

    def _write(self, work: Callable[[sa.Connection], T]) -> T:
        return self._consensus.transact(fence.guard(self._leadership, work))


def _as_write(row: sa.Row[Any]) -> PendingWrite:
    return PendingWrite(row.at, row.part, row.table_id, Payload(row.ipc, row.staged))
