"""PostgreSQL's logical replication messages, protocol 1, as values (its documentation: "Logical Replication Message Formats").

A transaction is ``Begin``, its changes, ``Commit``; transactions come in the order of their commits, none inside another.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import Enum


class Unchanged(Enum):
    """A large value that the update left as it was, and that was therefore not sent."""

    UNCHANGED = "unchanged"


UNCHANGED = Unchanged.UNCHANGED

Value = str | None | Unchanged
"""The text form of a value, by the session's settings; None is NULL."""

Row = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Begin:
    """A transaction whose commit record starts at ``commit_lsn``; by that the server tells whether a slot is past it."""

    commit_lsn: int


@dataclass(frozen=True, slots=True)
class Commit:
    """``end_lsn`` is the first byte behind the transaction."""

    end_lsn: int


@dataclass(frozen=True, slots=True)
class RelationColumn:
    name: str
    type_oid: int
    is_key: bool
    """Whether it belongs to what the table is replicated by."""


@dataclass(frozen=True, slots=True)
class Relation:
    """How the rows of a table look from here on. ``replica_identity`` is ``d``, ``n``, ``f`` or ``i``, as in ``pg_class``."""

    id: int
    schema: str
    name: str
    replica_identity: str
    columns: tuple[RelationColumn, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One row: ``new`` where there is one afterwards; ``old`` is what was sent of the row before, if anything was: the whole of it
    where the replica identity is full, else its key, and NULL for all other columns."""

    relation_id: int
    old: Row | None
    new: Row | None


@dataclass(frozen=True, slots=True)
class Truncate:
    relation_ids: tuple[int, ...]


Message = Begin | Commit | Relation | Change | Truncate


_COUNT, _SIZE = struct.Struct(">H"), struct.Struct(">I")
_TEXT, _NULL, _UNSENT = b"tnu"


def decode(data: bytes) -> Message | None:
    """The message; None for one that tells of no row (origins, types, messages of applications). Raises ``ValueError``."""
    try:
        return _Reader(data).message()
    except (struct.error, IndexError, ValueError) as error:
        raise ValueError(f"not a logical replication message: {data[:16]!r}") from error


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def message(self) -> Message | None:
        match self._kind():
            case b"B":
                commit_lsn, _, _ = self._take(">qqI")
                return Begin(commit_lsn)
            case b"C":
                _, _, end_lsn, _ = self._take(">bqqq")
                return Commit(end_lsn)
            case b"R":
                return self._relation()
            case b"I":
                (relation,) = self._take(">I")
                self._kind()
                return Change(relation, None, self._row())
            case b"U":
                (relation,) = self._take(">I")
                old = None
                while self._kind() != b"N":
                    old = self._row()
                return Change(relation, old, self._row())
            case b"D":
                (relation,) = self._take(">I")
                self._kind()
                return Change(relation, self._row(), None)
            case b"T":
                count, _ = self._take(">Ib")
                return Truncate(self._take(f">{count}I"))
            case b"O" | b"Y" | b"M":
                return None
            case other:
                raise ValueError(f"unknown logical replication message {other!r}")

    def _relation(self) -> Relation:
        (id,) = self._take(">I")
        schema, name, identity = self._text(), self._text(), self._kind().decode()
        (count,) = self._take(">H")
        columns = []
        for _ in range(count):
            (flags,) = self._take(">b")
            column = self._text()
            type_oid, _ = self._take(">Ii")
            columns.append(RelationColumn(column, type_oid, bool(flags & 1)))
        return Relation(id, schema or "pg_catalog", name, identity, tuple(columns))

    def _row(self) -> Row:
        """In one loop: most of what there is to decode is here."""
        data, at = self._data, self._at + 2
        (count,) = _COUNT.unpack_from(data, self._at)
        row: list[Value] = []
        for _ in range(count):
            kind, at = data[at], at + 1
            if kind == _TEXT:
                end = at + 4 + _SIZE.unpack_from(data, at)[0]
                if end > len(data):
                    raise IndexError(end)
                row.append(data[at + 4 : end].decode())
                at = end
            elif kind == _NULL:
                row.append(None)
            elif kind == _UNSENT:
                row.append(UNCHANGED)
            else:
                raise ValueError(f"unknown form {kind} of a value")
        self._at = at
        return tuple(row)

    def _kind(self) -> bytes:
        kind = self._data[self._at : self._at + 1]
        self._at += 1
        return kind

    def _text(self) -> str:
        end = self._data.index(b"\0", self._at)
        text = self._data[self._at : end].decode()
        self._at = end + 1
        return text

    def _take(self, format: str) -> tuple[int, ...]:
        found = struct.unpack_from(format, self._data, self._at)
        self._at += struct.calcsize(format)
        return found
