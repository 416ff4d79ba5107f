"""What the messages of a logical replication slot come to: for each table the rows that go and come, or changes by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from reclock.algebra.relations import BIGINT, BOOLEAN, DIFF_COLUMN, TEXT, Column, RelationDesc
from reclock.collections.schema import arrow_schema
from reclock.errors import DecodeFailed, OutputFailed
from reclock.sources import pgoutput, postgres_types
from reclock.sources.connector import DELETED_COLUMN, OFFSET_COLUMN
from reclock.sources.lineages import BORN_COLUMN, UNSENT_COLUMN, lineage_desc, spelled_unsent, was
from reclock.sources.pgoutput import UNCHANGED

Read = tuple[str, pa.Table | OutputFailed | None]
"""What is read of a table (see ``Connector.read``)."""

Range = tuple[int, int]
"""The transactions whose commit records start at ``lower`` or later, and before ``upper``."""


class Reading:
    """The changes of some ranges, in order, as the messages come."""

    def __init__(self, outputs: Mapping[str, RelationDesc], ranges: Sequence[Range]) -> None:
        self._ranges, self._end = ranges, max(upper for _, upper in ranges)
        self._tables = {name: _by_key(name, desc) if desc.key else _Whole(name, desc) for name, desc in outputs.items()}
        self._relations: dict[int, _Followed | None] = {}
        self._told: list[Read] = []
        self._lsn = 0
        self._is_within = False
        self.is_over = False
        """Whether the rest is beyond the ranges."""

    def take(self, message: pgoutput.Message) -> None:
        match message:
            case pgoutput.Relation(id, schema, name):
                table = self._tables.get(f"{schema}.{name}")
                self._relations[id] = _Followed(table, message) if table is not None else None
            case pgoutput.Begin(lsn):
                self._lsn, self.is_over = lsn, lsn >= self._end
                self._is_within = any(lower <= lsn < upper for lower, upper in self._ranges)
            case pgoutput.Change(id) if self._is_within and (followed := self._relations[id]) is not None:
                try:
                    followed.table.take(message, followed.positions())
                except OutputFailed as failure:
                    self._fail(followed.table.name, failure)
            case pgoutput.Truncate(ids) if self._is_within:
                for followed in filter(None, (self._relations[id] for id in ids)):
                    followed.table.empty()
                    self._told.append((followed.table.name, None))

    def _fail(self, name: str, failure: OutputFailed) -> None:
        """From here on nothing is known of the table."""
        del self._tables[name]
        self._relations = {id: None if own and own.table.name == name else own for id, own in self._relations.items()}
        self._told.append((name, failure))

    def told(self, rows: int) -> Iterator[Read]:
        """What was emptied, what failed, and the tables that have gathered at least so many rows since. Raises ``DecodeFailed``."""
        yield from self._told
        self._told.clear()
        for table in self._tables.values():
            if table.size >= rows:
                yield table.name, table.gathered(self._lsn)


class _Table(Protocol):
    name: str
    desc: RelationDesc
    identity: str

    @property
    def size(self) -> int: ...

    def take(self, change: pgoutput.Change, positions: Sequence[int]) -> None: ...

    def empty(self) -> None: ...

    def gathered(self, lsn: int) -> pa.Table: ...


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
            if type_oid is None or not postgres_types.is_kept_as(type_oid, column.type):
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
        self._rows: list[Sequence[pgoutput.Value]] = []
        self._diffs: list[int] = []

    @property
    def size(self) -> int:
        return len(self._rows)

    def take(self, change: pgoutput.Change, positions: Sequence[int]) -> None:
        old, new = change.old, change.new
        if old is not None:
            self._rows.append([old[i] for i in positions])
            self._diffs.append(-1)
        if new is not None:
            before = old or new
            self._rows.append([before[i] if new[i] is UNCHANGED else new[i] for i in positions])
            self._diffs.append(1)

    def empty(self) -> None:
        self._rows, self._diffs = [], []

    def gathered(self, lsn: int) -> pa.Table:
        arrays = _arrays(self.name, self.desc.columns, self._rows, lsn)
        schema = arrow_schema(self.desc, with_updates=False).append(pa.field(DIFF_COLUMN, pa.int64(), nullable=False))
        table = pa.table([*arrays, pa.array(self._diffs, pa.int64())], schema=schema)
        self.empty()
        return table


class _ByKey:
    """A table whose changes name the row that went by its key: they are told by lineage."""

    def __init__(self, name: str, desc: RelationDesc, key: tuple[str, ...]) -> None:
        self.name, self.desc = name, desc
        self.identity = _spelled(set(key))
        self._key = [desc.names.index(column) for column in key]
        self._moved: dict[tuple[pgoutput.Value, ...], tuple[tuple[pgoutput.Value, ...], int]] = {}
        """The lineage of each key that a row has come to, or gone from, by a change of its key."""
        self._count = 0
        self._rows: list[Sequence[pgoutput.Value]] = []
        self._told: list[tuple[int, bool, int, str | None]] = []

    @property
    def size(self) -> int:
        return len(self._rows)

    def take(self, change: pgoutput.Change, positions: Sequence[int]) -> None:
        self._count += 1
        sent = change.new if change.new is not None else change.old
        assert sent is not None
        row = [sent[i] for i in positions]
        if change.old is not None and change.new is not None:
            old = [change.old[i] for i in positions]
            for i in self._key:
                row[i] = old[i] if row[i] is UNCHANGED else row[i]
            self._move(tuple(old[i] for i in self._key), tuple(row[i] for i in self._key))
        key = tuple(row[i] for i in self._key)
        began, born = self._moved.get(key, (key, 0))
        unsent = [i for i, value in enumerate(row) if value is UNCHANGED]
        for i in unsent:
            row[i] = None
        self._rows.append([*row, *began])
        self._told.append((self._count, change.new is None, born, spelled_unsent(unsent)))

    def _move(self, old: tuple[pgoutput.Value, ...], new: tuple[pgoutput.Value, ...]) -> None:
        if old != new:
            lineage = self._moved.get(old, (old, 0))
            self._moved[old] = (old, self._count)  # whoever comes there next is another row
            self._moved[new] = lineage

    def empty(self) -> None:
        self._rows, self._told, self._moved = [], [], {}

    def gathered(self, lsn: int) -> pa.Table:
        arrays = _arrays(self.name, (*self.desc.columns, *was(self.desc)), self._rows, lsn)
        names, types = (OFFSET_COLUMN, DELETED_COLUMN, BORN_COLUMN, UNSENT_COLUMN), (BIGINT, BOOLEAN, BIGINT, TEXT)
        told = RelationDesc(tuple(Column(name, type) for name, type in zip(names, types, strict=True)))
        fields = arrow_schema(told, with_updates=False)
        arrays += [pa.array(values, field.type) for values, field in zip(zip(*self._told, strict=True), fields, strict=True)]
        self._rows, self._told = [], []
        return pa.table(arrays, schema=arrow_schema(lineage_desc(self.desc), with_updates=False))


def _by_key(name: str, desc: RelationDesc) -> _ByKey:
    assert desc.key is not None
    return _ByKey(name, desc, desc.key)


def _arrays(name: str, columns: Sequence[Column], rows: Sequence[Sequence[pgoutput.Value]], lsn: int) -> list[pa.Array]:
    values = zip(*rows, strict=True) if rows else [()] * len(columns)
    return [_array(name, column, own, lsn) for column, own in zip(columns, values, strict=True)]


def _array(name: str, column: Column, values: Sequence[pgoutput.Value], lsn: int) -> pa.Array:
    try:
        return postgres_types.column(pa.array(values, pa.string()), column.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, ValueError) as error:
        raise undecodable(name, column, lsn, error) from error


def undecodable(table: str, column: Column, lsn: int, error: Exception) -> DecodeFailed:
    """A value that does not fit."""
    return DecodeFailed("", lsn, detail=f'table "{table}", column "{column.name}": {error}', unit="LSN")
