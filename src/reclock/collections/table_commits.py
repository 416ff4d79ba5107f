"""Commits to tables as values, and the decision which commits of a batch are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np
import pyarrow as pa

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.collections.key_counts import KeyCounts
from reclock.collections.key_hashes import Hashes, KeyColumns
from reclock.collections.keys import Keys
from reclock.errors import CatalogMoved, InternalError, StagedRowsGone, WriteConflict


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


@dataclass(frozen=True, slots=True)
class LogTail:
    """Writes of the log to one table, in order. The table's writes at times below ``trimmed`` are
    not in the log any more, but in its Delta table."""

    trimmed: Timestamp
    writes: Sequence[PendingWrite]


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
        return CatalogMoved(planned=commit.catalog_ts, current=state.catalog_ts)
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
