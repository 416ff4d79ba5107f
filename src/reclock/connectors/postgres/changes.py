"""What the messages of a logical replication slot come to: for each table the rows that go and come, or changes by key."""

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
from reclock.connectors.postgres.pgoutput import UNSENT, DecodedChanges, MessageBatch, Numbers, Texts, Values
from reclock.connectors.postgres.types import is_kept_as
from reclock.connectors.postgres.values import convert
from reclock.errors import OutputFailed

_Key = tuple[str | None, ...]

Range = tuple[int, int]
"""The transactions whose commit records start at ``lower`` or later, and before ``upper``."""


class ChangeCollector:
    """The changes of some ranges, in order, as the messages come."""

    def __init__(self, outputs: Mapping[str, RelationDesc], ranges: Sequence[Range], *, is_exact: bool = True) -> None:
        """``is_exact``: whether the outputs are what the upstream's tables were, so that a row that comes cannot be there."""
        self._ranges, self._end = ranges, max(upper for _, upper in ranges)
        self._tables: dict[str, _Table] = {
            name: _ByKey(name, desc, desc.key, is_exact=is_exact) if desc.key else _Whole(name, desc)
            for name, desc in outputs.items()
        }
        self._relations: dict[int, _Followed | None] = {}
        self._notices: list[Read] = []
        self._lsn = -1
        self.is_over = False
        """Whether the rest is beyond the ranges."""

    def take(self, messages: MessageBatch) -> None:
        """Raises ``ValueError`` for what is no message."""
        kinds = messages.kinds()
        begins = np.flatnonzero(kinds == pgoutput.BEGIN)
        lsns = messages[begins].commit_lsns()
        beyond = begins[lsns >= self._end]
        if len(beyond):
            self.is_over = True
            messages, kinds, lsns = messages[: beyond[0]], kinds[: beyond[0]], lsns[begins < beyond[0]]
        lsns = np.concatenate(([self._lsn], lsns))  # the transaction that has begun before goes on
        commit_lsns = lsns[np.cumsum(kinds == pgoutput.BEGIN)]
        self._lsn = int(lsns[-1])
        is_within = np.zeros(len(commit_lsns), np.bool_)
        for lower, upper in self._ranges:
            is_within |= (commit_lsns >= lower) & (commit_lsns < upper)
        is_change = np.isin(kinds, (pgoutput.INSERT, pgoutput.UPDATE, pgoutput.DELETE)) & is_within
        start = 0
        of_tables = np.flatnonzero(np.isin(kinds, (pgoutput.RELATION, pgoutput.TRUNCATE)))
        for end in [*of_tables.tolist(), len(messages)]:
            which = start + np.flatnonzero(is_change[start:end])
            self._take_changes(messages[which], commit_lsns[which])
            if end < len(messages):
                self._take_of_table(messages[end : end + 1].table(), bool(is_within[end]))
            start = end + 1

    def _take_of_table(self, message: pgoutput.Relation | pgoutput.TruncateMessage, is_within: bool) -> None:
        if isinstance(message, pgoutput.Relation):
            table = self._tables.get(f"{message.schema}.{message.name}")
            self._relations[message.id] = _Followed(table, message) if table is not None else None
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
            self._notices.append((followed.table.name, ChangeCount(int(np.count_nonzero(ids == id)))))
            try:
                positions = followed.positions()
                changes = messages[ids == id].changes(len(followed.relation.columns))
                followed.table.take(changes.of(positions), lsns[ids == id])
            except OutputFailed as failure:
                self._fail(followed.table.name, failure)

    def _fail(self, name: str, failure: OutputFailed) -> None:
        """From here on nothing is known of the table."""
        del self._tables[name]
        self._relations = {
            id: None if followed and followed.table.name == name else followed for id, followed in self._relations.items()
        }
        self._notices.append((name, failure))

    def ready(self, rows: int) -> Iterator[Read]:
        """What was emptied, what failed, and the tables that have gathered at least so many rows since."""
        yield from self._notices
        self._notices.clear()
        for table in self._tables.values():
            if table.size >= rows:
                yield from ((table.name, gathered) for gathered in table.gathered())


class _Table(Protocol):
    name: str
    desc: RelationDesc
    identity: str

    @property
    def size(self) -> int: ...

    def take(self, changes: DecodedChanges, lsns: Numbers) -> None:
        """These are next; the transaction of each is at one of ``lsns``. Raises ``OutputFailed`` for a value that its column cannot
        hold: then nothing is known of the table any more."""

    def empty(self) -> None: ...

    def gathered(self) -> list[pa.Table]:
        """What was gathered since; it is no longer kept."""


@dataclass(slots=True)
class _Followed:
    """A table as it is upstream from here on."""

    table: _Table
    relation: pgoutput.Relation
    _positions: list[int] | None = None

    def positions(self) -> list[int]:
        """Where our columns are in the upstream's rows. Those that were added are not ours. Raises ``OutputFailed``."""
        if self._positions is None:
            self._positions = self._found()
        return self._positions

    def _found(self) -> list[int]:
        name, desc, columns = self.table.name, self.table.desc, self.relation.columns
        if _identity(self.relation) != self.table.identity:
            message = f'table "{name}" no longer tells which row went'
            detail = f"its replica identity was {self.table.identity}, now it is {_identity(self.relation)}"
            raise OutputFailed(message, detail=detail)
        places = {column.name: (i, column.type_oid) for i, column in enumerate(columns)}
        positions = []
        for column in desc.columns:
            place, type_oid = places.get(column.name, (0, None))
            if type_oid is None or not is_kept_as(type_oid, column.type):
                what = "was dropped" if type_oid is None else f"is no {column.type} any more"
                message = f'column "{column.name}" of table "{name}" {what}'
                raise OutputFailed(message)
            positions.append(place)
        return positions


def _identity(relation: pgoutput.Relation) -> str:
    if relation.replica_identity == "f":
        return "full"
    return _spelled({column.name for column in relation.columns if column.is_key})


def _spelled(key: set[str]) -> str:
    return f"({', '.join(sorted(key))})" if key else "nothing"


class _Whole:
    """A table whose changes say which row went."""

    identity = "full"

    def __init__(self, name: str, desc: RelationDesc) -> None:
        self.name, self.desc = name, desc
        self._updates = _Gathered(arrow_schema(desc, with_updates=False).append(pa.field(DIFF_COLUMN, pa.int64(), nullable=False)))

    @property
    def size(self) -> int:
        return self._updates.size

    def take(self, changes: DecodedChanges, lsns: Numbers) -> None:
        gone, come = lsns[changes.has_old], lsns[changes.has_new]
        rows = changes.old[changes.has_old].then(changes.rows()[changes.has_new])
        diffs = np.repeat(np.array([-1, 1], np.int64), [len(gone), len(come)])
        if (rows.sizes == UNSENT).any():
            raise ValueError(f'a change of table "{self.name}" does not say what the row was')
        arrays = _convert(self.name, self.desc, rows, np.concatenate((gone, come)))
        self._updates.add([*arrays, pa.array(diffs)])

    def empty(self) -> None:
        self._updates.taken()

    def gathered(self) -> list[pa.Table]:
        return self._updates.taken()


class _ByKey:
    """A table whose changes name the row that went by its key: they are told by lineage, but for rows that come before any went:
    no row of their keys is there, so that they are updates as they are."""

    def __init__(self, name: str, desc: RelationDesc, key: tuple[str, ...], *, is_exact: bool) -> None:
        self.name, self.desc = name, desc
        self.identity = _spelled(set(key))
        self._key = [desc.names.index(column) for column in key]
        self._moved: dict[_Key, tuple[_Key, int]] = {}
        """The lineage of each key that a row has come to, or gone from, by a change of its key."""
        self._count = 0
        self._is_exact = is_exact
        self._may_be_there = not is_exact
        """Whether a row may come whose key the output has, from before."""
        self._come = _Gathered(arrow_schema(desc, with_updates=False))
        self._followed = _Gathered(arrow_schema(lineage_desc(desc), with_updates=False))

    @property
    def size(self) -> int:
        return self._come.size + self._followed.size

    def take(self, changes: DecodedChanges, lsns: Numbers) -> None:
        numbers = self._count + 1 + np.arange(len(lsns))
        self._count += len(lsns)
        has_gone = np.logical_or.accumulate(changes.has_old) | self._may_be_there
        self._may_be_there = bool(has_gone[-1])
        has_come = changes.is_insert & ~has_gone
        self._come.add(_convert(self.name, self.desc, changes.new[has_come], lsns[has_come]))
        rest = ~has_come
        self._follow(changes[rest], numbers[rest], lsns[rest])

    def _follow(self, changes: DecodedChanges, numbers: Numbers, lsns: Numbers) -> None:
        rows = changes.rows()
        arrays = _convert(self.name, self.desc, rows, lsns)
        began, born = self._lineages(changes, rows, numbers)
        arrays += convert(self.name, RelationDesc(was(self.desc)), began, lsns)
        unsent = rows.sizes == UNSENT
        unsent_columns: list[str | None] = [None] * len(numbers)
        for row in np.flatnonzero(unsent.any(axis=0)).tolist():
            unsent_columns[row] = spelled_unsent(np.flatnonzero(unsent[:, row]).tolist())
        self._followed.add(
            [*arrays, pa.array(numbers), pa.array(~changes.has_new), pa.array(born), pa.array(unsent_columns, pa.string())]
        )

    def _lineages(self, changes: DecodedChanges, rows: Values, numbers: Numbers) -> tuple[list[Texts], Numbers]:
        """The key under which the lineage of each row began, by column, and by which change."""
        moves = changes.has_old & changes.has_new
        if not self._moved and not moves.any():
            return [rows.column(i) for i in self._key], np.zeros(len(numbers), np.int64)
        lineages = []
        keyed_changes = zip(self._keys(changes.old), self._keys(rows), numbers.tolist(), moves.tolist(), strict=True)
        for old, key, number, has_moved in keyed_changes:
            if has_moved:
                self._move(old, key, number)
            lineages.append(self._moved.get(key, (key, 0)))
        began = [pa.array(column, pa.string()) for column in zip(*(began_as for began_as, _ in lineages), strict=True)]
        return [column.slice for column in began], np.array([born for _, born in lineages], np.int64)

    def _keys(self, rows: Values) -> Iterator[_Key]:
        return zip(*(rows.column(i)(0, len(rows)).to_pylist() for i in self._key), strict=True)

    def _move(self, old: _Key, new: _Key, number: int) -> None:
        if old != new:
            lineage = self._moved.get(old, (old, 0))
            self._moved[old] = (old, number)  # whoever comes there next is another row
            self._moved[new] = lineage

    def empty(self) -> None:
        self._moved, self._may_be_there = {}, not self._is_exact
        self._come.taken()
        self._followed.taken()

    def gathered(self) -> list[pa.Table]:
        return self._come.taken() + self._followed.taken()


class _Gathered:
    """Rows since they were last taken."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._parts: list[pa.Table] = []
        self.size = 0

    def add(self, arrays: Sequence[pa.Array]) -> None:
        if len(arrays[0]):
            self._parts.append(pa.table(arrays, schema=self._schema))
            self.size += len(arrays[0])

    def taken(self) -> list[pa.Table]:
        """They in one, if there are any."""
        parts, self._parts, self.size = self._parts, [], 0
        return [pa.concat_tables(parts)] if parts else []


def _convert(name: str, desc: RelationDesc, rows: Values, lsns: Numbers) -> list[pa.Array]:
    return convert(name, desc, [rows.column(i) for i in range(len(desc.columns))], lsns)
