"""Bugs that are planted into a process of a history, to see that histories find them. Each is a
function that puts a part of the product out of order; the product knows nothing of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import sqlalchemy as sa

from reclock.adapter.transaction.constraint_checks import ConstraintChecks
from reclock.adapter.transaction.transaction import Transaction
from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import EPOCH_MS, MAXIMUM, Timestamp
from reclock.collections import table_commits, table_wal, wal_ledger
from reclock.collections.collection import Collection
from reclock.collections.group_commit import GroupCommit
from reclock.collections.table_commits import Commit, LogTail, Payload, PendingWrite
from reclock.collections.table_wal import TableWal
from reclock.collections.tables import Tables, TableVersion
from reclock.consensus.database.compiled import CompiledStatement
from reclock.consensus.leadership import fence
from reclock.errors import WriteConflict
from reclock.oracle import oracle
from reclock.oracle.batching import BatchingOracle
from reclock.oracle.oracle import ConsensusOracle

PLANTED: dict[str, Callable[[], None]] = {}
"""By name."""

ORACLE: set[str] = set()
"""Those that histories of the oracle find."""


def planted(plant: Callable[[], None]) -> Callable[[], None]:
    PLANTED[plant.__name__] = plant
    return plant


def planted_in_oracle(plant: Callable[[], None]) -> Callable[[], None]:
    ORACLE.add(plant.__name__)
    return planted(plant)


# --- the oracle ---


@planted_in_oracle
def read_timestamp_is_cached() -> None:
    """For a fifth of a second."""
    ask, asked_at = BatchingOracle.read_all, 0.0
    cached: Mapping[str, Timestamp] = {}

    def read_all(self: BatchingOracle) -> Mapping[str, Timestamp]:
        nonlocal cached, asked_at
        if time.monotonic() > asked_at + 0.2:
            cached, asked_at = ask(self), time.monotonic()
        return cached

    BatchingOracle.read_all = read_all


@planted_in_oracle
def late_arrivals_join_the_batch() -> None:
    """A read is answered by a call that was on its way before the read came."""

    def serve(self: BatchingOracle, batch: Any) -> Mapping[str, Timestamp]:
        with self._turn:
            answer = self._inner.read_all()
            time.sleep(0.02)
            with self._guard:
                self._gathering = None
        batch.set_result(answer)
        return answer

    BatchingOracle._serve = serve


@planted_in_oracle
def write_timestamp_follows_the_clock() -> None:
    """Back, too."""
    lines, clock = oracle._timelines, sa.bindparam("at_least")
    time_shown = sa.case((lines.c.read_ts > clock, lines.c.read_ts), else_=clock)
    of_timeline = sa.update(lines).where(lines.c.timeline == sa.bindparam("of"))
    following = of_timeline.returning(lines.c.write_ts)
    oracle._WRITE = CompiledStatement(following.values(write_ts=time_shown))
    oracle._WRITE_AND_APPLY = CompiledStatement(
        following.values(write_ts=time_shown, read_ts=time_shown)
    )


@planted_in_oracle
def applied_write_is_forgotten() -> None:
    """Every other time."""
    record, turn = oracle.record_write, iter(range(1 << 62))
    record_next = oracle.record_next_write

    def record_write(connection: sa.Connection, timeline: str, ts: Timestamp) -> None:
        if timeline != EPOCH_MS or next(turn) % 2:
            record(connection, timeline, ts)

    def record_next_write(
        connection: sa.Connection,
        timeline: str,
        now: Timestamp,
        *,
        at_least: Timestamp,
        max_jump_ms: int,
    ) -> Timestamp:
        if next(turn) % 2:
            return record_next(
                connection, timeline, now, at_least=at_least, max_jump_ms=max_jump_ms
            )
        ts = oracle.allocate_write(connection, timeline, now, max_jump_ms=max_jump_ms)
        return Timestamp(max(ts, at_least))

    oracle.record_write = table_wal.record_write = record_write
    table_wal.record_next_write = record_next_write


@planted_in_oracle
def write_timestamp_is_read_then_written() -> None:
    """In two transactions, so that two may get the same."""

    def write_ts(self: ConsensusOracle, timeline: str) -> Timestamp:
        ts = Timestamp(max(self.state(timeline).write_ts + 1, self._clock()))
        write = sa.update(oracle._timelines).where(
            oracle._timelines.c.timeline == timeline, oracle._timelines.c.write_ts < ts
        )
        self._consensus.transact(lambda connection: connection.execute(write.values(write_ts=ts)))
        return ts

    ConsensusOracle.write_ts = write_ts


# --- commits ---


@planted
def acknowledged_before_it_is_durable() -> None:
    """The commit follows soon."""
    commit = TableWal.commit

    def early(
        self: TableWal, choose: Callable[[], Sequence[Commit]], **options: Any
    ) -> list[Timestamp]:
        batch = choose()

        def later() -> None:
            time.sleep(0.1)
            commit(self, batch, **options)

        threading.Thread(target=later).start()
        return [Timestamp(0) for _ in batch]

    TableWal.commit = early


@planted
def fence_is_dropped() -> None:
    """Commits to tables do not look whether their epoch is over."""
    fence.require = lambda own, found: None


@planted
def published_before_it_is_appended() -> None:
    """The record is there, and its time can be read, before its rows are."""
    commit = TableWal.commit

    def torn(self: TableWal, choose: Callable[[], Sequence[Commit]], **options: Any) -> list[Any]:
        batch = choose()
        empty = [
            replace(
                update,
                writes={table: _without_rows(payload) for table, payload in update.writes.items()},
            )
            for update in batch
        ]
        outcomes = commit(self, empty, **options)
        time.sleep(0.03)
        writes = wal_ledger.OF_TABLES.writes
        for outcome, update in zip(outcomes, batch, strict=True):
            for table, payload in update.writes.items():
                change = (
                    sa.update(writes)
                    .where(writes.c.at == outcome, writes.c.table_id == table)
                    .values(ipc=payload.rows)
                )
                if not isinstance(outcome, Exception):
                    self._consensus.transact(partial(_execute, change))
        return outcomes

    TableWal.commit = torn


@planted
def unknown_commit_is_repeated_blindly() -> None:
    """Without a look whether it landed."""
    TableWal._is_committed = lambda self, token: False


@planted
def unknown_commit_counts_as_done() -> None:
    """Without a look whether it landed."""
    TableWal._is_committed = lambda self, token: True


@planted
def conflicts_are_not_checked() -> None:
    """What a transaction read may have been written since."""
    refusal = table_commits._refusal
    table_commits._refusal = lambda commit, found, written: refusal(
        replace(commit, reads=frozenset()), found, written
    )


@planted
def conflicts_within_a_group_are_not_checked() -> None:
    """Of commits that go together each is compared with those before only."""
    refusal = table_commits._refusal
    table_commits._refusal = lambda commit, found, written: refusal(commit, found, {})  # type: ignore[arg-type]


@planted
def keys_are_checked_before_the_commit_alone() -> None:
    """Two transactions that insert one key at a time do not conflict."""
    ConstraintChecks.key_reads = lambda self: []


@planted
def refused_commits_are_acknowledged() -> None:
    """The conflict is swallowed."""
    commit = GroupCommit.commit

    def swallowing(self: GroupCommit, wanted: Commit) -> Timestamp:
        try:
            return commit(self, wanted)
        except WriteConflict:
            return Timestamp(0)

    GroupCommit.commit = swallowing


@planted
def tables_are_committed_one_by_one() -> None:
    """A transaction over several is several records."""
    commit = Tables.commit

    def apart(self: Tables, writes: Any, **options: Any) -> Timestamp:
        at = Timestamp(0)
        for table, rows in writes.items():
            at = commit(self, {table: rows}, **options | ({"reads": frozenset()} if at else {}))
            time.sleep(0.01)
        return at

    Tables.commit = apart


# --- reading ---


@planted
def tail_of_the_log_is_ignored() -> None:
    """Readers see what is in the Delta tables."""
    pin = Tables._pin

    def without_tail(self: Tables, *arguments: Any) -> TableVersion:
        return replace(found := pin(self, *arguments), tail=found.tail.slice(0, 0))

    Tables._pin = without_tail


@planted
def log_is_read_after_delta() -> None:
    """What is applied in between is in neither."""
    pin = Tables._pin

    def pin_all(
        self: Tables, tables: Iterable[GlobalId], as_of: Timestamp
    ) -> dict[GlobalId, TableVersion]:
        table_ids = sorted(set(tables))
        nothing = LogTail(Timestamp(0), ())
        versions = {table: pin(self, table, as_of, nothing).version for table in table_ids}
        time.sleep(0.03)
        tails = self.log.tails(table_ids, after=Timestamp(0), through=as_of) if table_ids else {}
        return {
            table: replace(pin(self, table, as_of, tails[table]), version=versions[table])
            for table in table_ids
        }

    Tables.pin = pin_all


@planted
def version_is_kept_after_its_writes_left_the_log() -> None:
    """A reader does not look for a newer version when the log was trimmed."""
    tails = TableWal.tails

    def as_if_untrimmed(self: TableWal, *arguments: Any, **times: Any) -> dict[GlobalId, LogTail]:
        found = tails(self, *arguments, **times)
        return {table: replace(tail, trimmed=Timestamp(0)) for table, tail in found.items()}

    TableWal.tails = as_if_untrimmed


@planted
def times_beyond_the_reads_are_seen() -> None:
    """A reader takes all that the log holds, whatever time it reads at, as if it were of that
    time."""
    tails = TableWal.tails

    def all_of_it(
        self: TableWal, tables: Any, *, after: Timestamp, through: Timestamp
    ) -> dict[GlobalId, LogTail]:
        log_tails = tails(self, tables, after=after, through=MAXIMUM)
        return {
            table: replace(
                tail, writes=[replace(write, at=min(write.at, through)) for write in tail.writes]
            )
            for table, tail in log_tails.items()
        }

    TableWal.tails = all_of_it


@planted
def each_statement_reads_at_its_own_time() -> None:
    """Of a block."""
    time_of = Transaction.time_of

    def anew(self: Transaction, *arguments: Any) -> Any:
        self._time = None
        return time_of(self, *arguments)

    Transaction.time_of = anew


# --- following ---


@planted
def log_is_trimmed_before_it_is_applied() -> None:
    """A process that is killed in between has lost the writes."""
    apply = Tables._apply

    def trimming(self: Tables, collection: Collection, writes: Sequence[PendingWrite]) -> Timestamp:
        upper = Timestamp(writes[-1].at + 1)
        self.log.trim({writes[0].table: upper})
        time.sleep(0.1)
        return apply(self, collection, writes)

    Tables._apply = trimming


@planted
def trimmed_writes_are_no_conflicts() -> None:
    """A commit compares the keys that it read with what is left in the log."""
    TableWal._note_trimmed = lambda self, connection, table, upper: None


@planted
def writes_are_applied_again() -> None:
    """By everyone who finds them in the log, whether the table has them or not."""

    def again(self: Tables, collection: Collection, writes: Sequence[PendingWrite]) -> Timestamp:
        time.sleep(0.05)
        upper = collection.upper()
        late = [replace(write, at=max(write.at, upper)) for write in writes]
        new_upper = Timestamp(late[-1].at + 1)
        collection.append(
            self._updates(collection, late), expected_upper=upper, new_upper=new_upper
        )
        return new_upper

    Tables._apply = again


def _without_rows(payload: Payload) -> Payload:
    assert payload.rows is not None
    return Payload(payload.rows.schema.empty_table())


def _execute(statement: sa.Executable, connection: sa.Connection) -> None:
    connection.execute(statement)
