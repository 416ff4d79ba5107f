"""Commits to tables as values, and the decision which commits of a batch are refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

import pyarrow as pa

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.collections.key_counts import KeyCounts
from reclock.collections.key_hashes import Hashes, KeyColumns
from reclock.collections.keys import Keys
from reclock.errors import CatalogMoved, InternalError, StagedRowsGone, WriteConflict


@dataclass(frozen=True, slots=True)
class Payload:
    """Rows of one table, each with its diff: in memory, or under the name of the staged files that
    hold them."""

    rows: pa.Table | None = None
    staged: str | None = None


@dataclass(frozen=True, slots=True)
class KeyRead:
    """The transaction rests on how many rows of ``table`` had keys with these ``hashes`` at
    ``read_at``."""

    table: GlobalId
    read_at: Timestamp
    key: KeyColumns
    hashes: Hashes


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
    earlier = _EarlierWrites(state)
    outcomes: list[WriteConflict | CatalogMoved | StagedRowsGone | None] = []
    for commit in batch:
        refusal = _refusal(commit, state, earlier)
        if refusal is None:
            earlier.add(commit)
        outcomes.append(refusal)
    return outcomes


def joined_writes(commits: Iterable[Commit]) -> list[tuple[GlobalId, Payload]]:
    """The writes of commits that share a record of the log: the rows of one table are one
    payload, but for staged ones."""
    parts: dict[tuple[GlobalId, pa.Schema], list[pa.Table]] = {}
    staged: list[tuple[GlobalId, Payload]] = []
    for commit in commits:
        for table, payload in commit.writes.items():
            if payload.rows is None:
                staged.append((table, payload))
            else:
                parts.setdefault((table, payload.rows.schema), []).append(payload.rows)
    joined = [(table, Payload(pa.concat_tables(rows))) for (table, _), rows in parts.items()]
    return joined + staged


@dataclass(slots=True)
class _Writes:
    """Writes to one table. Of each key, every write is hashed once."""

    payloads: list[Payload] = field(default_factory=list)
    _changed: dict[KeyColumns, tuple[int, set[int]]] = field(default_factory=dict)
    """The hashes of the changed keys, of so many of the first payloads."""

    def may_change(self, read: KeyRead) -> bool:
        """Whether one of the numbers that were read may be another after the writes."""
        if any(payload.rows is None for payload in self.payloads):
            return True
        count, changed = self._changed.get(read.key, (0, set()))
        for payload in self.payloads[count:]:
            hashes, _ = read.key.net_counts(payload.rows)
            changed.update(hashes.tolist())
        self._changed[read.key] = len(self.payloads), changed
        return not changed.isdisjoint(read.hashes.tolist())

    def may_be_of(self, keys: Keys | None) -> bool:
        """Whether rows with one of the keys may be written; without keys, any rows."""
        if keys is None:
            return bool(self.payloads)
        return any(
            payload.rows is None or keys.contain_any([payload.rows]) for payload in self.payloads
        )


@dataclass(slots=True)
class _EarlierWrites:
    """The writes before a commit: those that the log has, and those of its batch."""

    state: WalState
    _of_batch: dict[GlobalId, _Writes] = field(default_factory=dict)
    _of_log: dict[tuple[GlobalId, Timestamp], _Writes | None] = field(default_factory=dict)

    def add(self, commit: Commit) -> None:
        """The next commits of the batch are after this one."""
        for table, payload in commit.writes.items():
            self._of_batch.setdefault(table, _Writes()).payloads.append(payload)

    def since(self, table: GlobalId, read_at: Timestamp) -> list[_Writes] | None:
        """The writes to the table since ``read_at``; None if there were some that are not in the
        log any more, which may be of any rows."""
        logged = self._logged(table, read_at)
        if logged is None:
            return None
        return [logged, self._of_batch[table]] if table in self._of_batch else [logged]

    def _logged(self, table: GlobalId, read_at: Timestamp) -> _Writes | None:
        if self.state.last_writes[table] <= read_at:
            return _Writes()
        if (table, read_at) not in self._of_log:
            recent = self.state.recent.get(table)
            self._of_log[table, read_at] = (
                _Writes([write.payload for write in recent if write.at > read_at])
                if recent is not None
                else None
            )
        return self._of_log[table, read_at]


def _refusal(
    commit: Commit, state: WalState, earlier: _EarlierWrites
) -> WriteConflict | CatalogMoved | StagedRowsGone | None:
    is_gone = not commit.tables <= state.last_writes.keys()
    if commit.catalog_ts < state.catalog_ts or is_gone:
        return CatalogMoved(planned=commit.catalog_ts, current=state.catalog_ts)
    for table in sorted(commit.reads):
        if commit.read_at is None:
            raise InternalError("a commit that read tables does not say when")
        writes, keys = earlier.since(table, commit.read_at), commit.keys.get(table)
        if writes is None or any(part.may_be_of(keys) for part in writes):
            return WriteConflict(table, read_at=commit.read_at)
    for read in commit.key_reads:
        writes = earlier.since(read.table, read.read_at)
        if writes is None or any(part.may_change(read) for part in writes):
            return WriteConflict(read.table, read_at=read.read_at)
    for payload in commit.writes.values():
        if payload.staged is not None and payload.staged not in state.staged:
            return StagedRowsGone(payload.staged)
    return None
