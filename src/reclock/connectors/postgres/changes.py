"""Collects the messages of a logical replication slot: for each table its deletions and insertions,
or its changes by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from reclock.algebra.relations import DIFF_COLUMN, RelationDesc
from reclock.collections.schema import arrow_schema
from reclock.connectors.connector import ChangeCount, Read
from reclock.connectors.postgres import pgoutput
from reclock.connectors.postgres.lineages import lineage_desc, spelled_unsent, was
from reclock.connectors.postgres.pgoutput import (
    UNSENT,
    DecodedChanges,
    MessageBatch,
    Numbers,
    Texts,
    Values,
)
from reclock.connectors.postgres.types import is_kept_as
from reclock.connectors.postgres.values import convert
from reclock.errors import OutputFailed

_Key = tuple[str | None, ...]


class ChangeCollector:
    """Collects the changes of the transactions whose commit records start at ``lower`` or later,
    and before ``upper``, in the order of their messages. The outputs equal the upstream's tables as
    they were at ``lower``."""

    def __init__(self, outputs: Mapping[str, RelationDesc], lower: int, upper: int) -> None:
        self._lower, self._upper = lower, upper
        self._tables: dict[str, _Table] = {
            name: _KeyedTable(name, desc, desc.key) if desc.key else _FullIdentityTable(name, desc)
            for name, desc in outputs.items()
        }
        self._relations: dict[int, _FollowedTable | None] = {}
        self._notices: list[Read] = []
        self._lsn = -1
        self.is_over = False
        """Whether all further messages are beyond the range."""

    def take(self, messages: MessageBatch) -> None:
        """Collect the next messages. Raises ``ValueError`` for bytes that are no message."""
        kinds = messages.kinds()
        begins = np.flatnonzero(kinds == pgoutput.BEGIN)
        lsns = messages[begins].commit_lsns()
        beyond = begins[lsns >= self._upper]
        if len(beyond):
            self.is_over = True
            messages, kinds, lsns = (
                messages[: beyond[0]],
                kinds[: beyond[0]],
                lsns[begins < beyond[0]],
            )
        lsns = np.concatenate(([self._lsn], lsns))  # it may continue
        commit_lsns = lsns[np.cumsum(kinds == pgoutput.BEGIN)]
        self._lsn = int(lsns[-1])
        is_within = commit_lsns >= self._lower
        is_change = np.isin(kinds, (pgoutput.INSERT, pgoutput.UPDATE, pgoutput.DELETE)) & is_within
        start = 0
        table_messages = np.flatnonzero(np.isin(kinds, (pgoutput.RELATION, pgoutput.TRUNCATE)))
        for end in [*table_messages.tolist(), len(messages)]:
            changes = start + np.flatnonzero(is_change[start:end])
            self._take_changes(messages[changes], commit_lsns[changes])
            if end < len(messages):
                self._take_table_message(messages[end : end + 1].table(), bool(is_within[end]))
            start = end + 1

    def _take_table_message(
        self, message: pgoutput.Relation | pgoutput.TruncateMessage, is_within: bool
    ) -> None:
        if isinstance(message, pgoutput.Relation):
            table = self._tables.get(f"{message.schema}.{message.name}")
            self._relations[message.id] = (
                _FollowedTable(table, message) if table is not None else None
            )
        elif is_within:
            for followed in filter(None, (self._relations[id] for id in message.relation_ids)):
                followed.table.empty()
                self._notices.append((followed.table.name, None))

    def _take_changes(self, messages: MessageBatch, lsns: Numbers) -> None:
        ids = messages.relation_ids()
        for id in np.unique(ids).tolist():
            followed = self._relations[id]
            if followed is None:
                continue
            self._notices.append(
                (followed.table.name, ChangeCount(int(np.count_nonzero(ids == id))))
            )
            try:
                positions = followed.positions()
                changes = messages[ids == id].changes(len(followed.relation.columns))
                followed.table.take(changes.of(positions), lsns[ids == id])
            except OutputFailed as failure:
                self._fail(followed.table.name, failure)

    def _fail(self, name: str, failure: OutputFailed) -> None:
        """Stop following the table: its rows are unknown from here on."""
        del self._tables[name]
        self._relations = {
            id: None if followed and followed.table.name == name else followed
            for id, followed in self._relations.items()
        }
        self._notices.append((name, failure))

    def ready(self, rows: int) -> Iterator[Read]:
        """The truncations, failures and counts since the last call, and the rows of each table that
        has collected at least ``rows`` of them."""
        yield from self._notices
        self._notices.clear()
        for table in self._tables.values():
            if table.size >= rows:
                yield from ((table.name, updates) for updates in table.take_rows())


class _Table(Protocol):
    name: str
    desc: RelationDesc
    identity: str

    @property
    def size(self) -> int: ...

    def take(self, changes: DecodedChanges, lsns: Numbers) -> None:
        """Collect the next changes; ``lsns`` are their transactions' commit LSNs. Raises
        ``OutputFailed`` if a column cannot hold a value; then the table's rows are unknown."""

    def empty(self) -> None: ...

    def take_rows(self) -> list[pa.Table]:
        """The rows collected since the last call; they are no longer held."""


@dataclass(slots=True)
class _FollowedTable:
    """An output's table, and the upstream's description of it from here on."""

    table: _Table
    relation: pgoutput.Relation
    _positions: list[int] | None = None

    def positions(self) -> list[int]:
        """The position of each output column in the upstream's rows, which may have more columns.
        Raises ``OutputFailed``."""
        if self._positions is None:
            self._positions = self._match_columns()
        return self._positions

    def _match_columns(self) -> list[int]:
        name, desc, columns = self.table.name, self.table.desc, self.relation.columns
        if _identity(self.relation) != self.table.identity:
            message = f'table "{name}" no longer tells which row went'
            detail = (
                f"its replica identity was {self.table.identity}, now it is "
                f"{_identity(self.relation)}"
            )
            raise OutputFailed(message, detail=detail)
        places = {column.name: (i, column.type_oid) for i, column in enumerate(columns)}
        positions = []
        for column in desc.columns:
            place, type_oid = places.get(column.name, (0, None))
            if type_oid is None or not is_kept_as(type_oid, column.type):
                problem = (
                    "was dropped or renamed"
                    if type_oid is None
                    else f"is no {column.type} any more"
                )
                message = f'column "{column.name}" of table "{name}" {problem}'
                raise OutputFailed(message)
            positions.append(place)
        return positions


def _identity(relation: pgoutput.Relation) -> str:
    if relation.replica_identity == "f":
        return "full"
    return _format_identity({column.name for column in relation.columns if column.is_key})


def _format_identity(key: set[str]) -> str:
    return f"({', '.join(sorted(key))})" if key else "nothing"


class _FullIdentityTable:
    """A table with full replica identity: its changes send the whole old row."""

    identity = "full"

    def __init__(self, name: str, desc: RelationDesc) -> None:
        self.name, self.desc = name, desc
        self._updates = _RowBuffer(
            arrow_schema(desc, with_updates=False).append(
                pa.field(DIFF_COLUMN, pa.int64(), nullable=False)
            )
        )

    @property
    def size(self) -> int:
        return self._updates.size

    def take(self, changes: DecodedChanges, lsns: Numbers) -> None:
        deleted_at, inserted_at = lsns[changes.has_old], lsns[changes.has_new]
        rows = changes.old[changes.has_old].then(changes.rows()[changes.has_new])
        diffs = np.repeat(np.array([-1, 1], np.int64), [len(deleted_at), len(inserted_at)])
        if (rows.sizes == UNSENT).any():
            raise ValueError(f'a change of table "{self.name}" does not say what the row was')
        arrays = _convert(self.name, self.desc, rows, np.concatenate((deleted_at, inserted_at)))
        self._updates.add([*arrays, pa.array(diffs)])

    def empty(self) -> None:
        self._updates.take()

    def take_rows(self) -> list[pa.Table]:
        return self._updates.take()


class _KeyedTable:
    """A table whose changes identify the old row by its key. They are staged by lineage. Only rows
    inserted before the first update or delete are staged as plain insertions: the output has no row
    with their keys."""

    def __init__(self, name: str, desc: RelationDesc, key: tuple[str, ...]) -> None:
        self.name, self.desc = name, desc
        self.identity = _format_identity(set(key))
        self._key = [desc.names.index(column) for column in key]
        self._moved: dict[_Key, tuple[_Key, int]] = {}
        """The lineage of each key that a change of key gave to a row, or took from one."""
        self._count = 0
        self._may_exist = False
        """Whether a change was collected after which an inserted row may have a key of the
        output."""
        self._inserted = _RowBuffer(arrow_schema(desc, with_updates=False))
        self._lineage_rows = _RowBuffer(arrow_schema(lineage_desc(desc), with_updates=False))

    @property
    def size(self) -> int:
        return self._inserted.size + self._lineage_rows.size

    def take(self, changes: DecodedChanges, lsns: Numbers) -> None:
        numbers = self._count + 1 + np.arange(len(lsns))
        self._count += len(lsns)
        may_exist = np.logical_or.accumulate(changes.has_old) | self._may_exist
        self._may_exist = bool(may_exist[-1])
        is_new = changes.is_insert & ~may_exist
        self._inserted.add(_convert(self.name, self.desc, changes.new[is_new], lsns[is_new]))
        self._follow(changes[~is_new], numbers[~is_new], lsns[~is_new])

    def _follow(self, changes: DecodedChanges, numbers: Numbers, lsns: Numbers) -> None:
        rows = changes.rows()
        arrays = _convert(self.name, self.desc, rows, lsns)
        first_keys, born = self._lineages(changes, rows, numbers)
        arrays += convert(self.name, RelationDesc(was(self.desc)), first_keys, lsns)
        unsent = rows.sizes == UNSENT
        unsent_columns: list[str | None] = [None] * len(numbers)
        for row in np.flatnonzero(unsent.any(axis=0)).tolist():
            unsent_columns[row] = spelled_unsent(np.flatnonzero(unsent[:, row]).tolist())
        self._lineage_rows.add(
            [
                *arrays,
                pa.array(numbers),
                pa.array(~changes.has_new),
                pa.array(born),
                pa.array(unsent_columns, pa.string()),
            ]
        )

    def _lineages(
        self, changes: DecodedChanges, rows: Values, numbers: Numbers
    ) -> tuple[list[Texts], Numbers]:
        """The first key of each row's lineage, by column, and the number of the change that began
        the lineage (0 if the output had the row)."""
        moves = changes.has_old & changes.has_new
        if not self._moved and not moves.any():
            return [rows.column(i) for i in self._key], np.zeros(len(numbers), np.int64)
        lineages = []
        keyed_changes = zip(
            self._keys(changes.old), self._keys(rows), numbers.tolist(), moves.tolist(), strict=True
        )
        for old, key, number, has_moved in keyed_changes:
            if has_moved:
                self._move(old, key, number)
            lineages.append(self._moved.get(key, (key, 0)))
        first_keys = [
            pa.array(column, pa.string())
            for column in zip(*(key for key, _ in lineages), strict=True)
        ]
        return [column.slice for column in first_keys], np.array(
            [born for _, born in lineages], np.int64
        )

    def _keys(self, rows: Values) -> Iterator[_Key]:
        return zip(*(rows.column(i)(0, len(rows)).to_pylist() for i in self._key), strict=True)

    def _move(self, old: _Key, new: _Key, number: int) -> None:
        if old != new:
            lineage = self._moved.get(old, (old, 0))
            self._moved[old] = (old, number)  # the next row with this key is another one
            self._moved[new] = lineage

    def empty(self) -> None:
        self._moved, self._may_exist = {}, False
        self._inserted.take()
        self._lineage_rows.take()

    def take_rows(self) -> list[pa.Table]:
        return self._inserted.take() + self._lineage_rows.take()


class _RowBuffer:
    """The rows added since the last ``take``."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._parts: list[pa.Table] = []
        self.size = 0

    def add(self, arrays: Sequence[pa.Array]) -> None:
        if len(arrays[0]):
            self._parts.append(pa.table(arrays, schema=self._schema))
            self.size += len(arrays[0])

    def take(self) -> list[pa.Table]:
        """Remove and return the rows, as one table if there are any."""
        parts, self._parts, self.size = self._parts, [], 0
        return [pa.concat_tables(parts)] if parts else []


def _convert(name: str, desc: RelationDesc, rows: Values, lsns: Numbers) -> list[pa.Array]:
    return convert(name, desc, [rows.column(i) for i in range(len(desc.columns))], lsns)
