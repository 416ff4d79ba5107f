"""Decodes PostgreSQL's logical replication messages in batches (protocol 1, "Logical Replication
Message Formats" in its documentation).

A transaction is a begin, its changes, and a commit. Transactions arrive in commit order and do not
interleave. Most of the bytes are values of rows. They never become Python objects: their positions
are computed for a column of many messages together, and their bytes are copied into Arrow.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]

Texts = Callable[[int, int], pa.Array]
"""Called with a row and a count, returns the texts of a column from that row on."""

BEGIN, RELATION, INSERT, UPDATE, DELETE, TRUNCATE = b"BRIUDT"
_IGNORED = tuple(b"COYM")  # commits, origins, types, application messages
_TEXT, _NULL, _UNSENT, _NEW = b"tnuN"

NULL, UNSENT = -1, -2
"""Sizes of values that have none: NULL, and a large value that an update left unchanged."""

_ASCII = 127
_BEGIN_BYTES = 21

_INDEXED_BYTES = 64
"""The greatest mean size of values that are copied by an index for each byte."""


@dataclass(frozen=True, slots=True)
class RelationColumn:
    name: str
    type_oid: int
    is_key: bool
    """Whether it belongs to the table's replica identity."""


@dataclass(frozen=True, slots=True)
class Relation:
    """The layout of a table's rows from here on. ``replica_identity`` is ``d``, ``n``, ``f`` or
    ``i``, as in ``pg_class``."""

    id: int
    schema: str
    name: str
    replica_identity: str
    columns: tuple[RelationColumn, ...]


@dataclass(frozen=True, slots=True)
class TruncateMessage:
    relation_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MessageBatch:
    """Several messages: message ``i`` is ``data[starts[i]:ends[i]]``."""

    data: Bytes
    starts: Numbers
    ends: Numbers

    @classmethod
    def of(cls, data: bytes, sizes: bytes) -> MessageBatch:
        """From the messages' concatenated bytes, and their sizes, four bytes each."""
        ends = np.cumsum(np.frombuffer(sizes, ">i4"), dtype=np.int64)
        return cls(np.frombuffer(data, np.uint8), ends - np.frombuffer(sizes, ">i4"), ends)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, which: slice | Truths | Numbers) -> MessageBatch:
        return MessageBatch(self.data, self.starts[which], self.ends[which])

    def kinds(self) -> Bytes:
        """The messages' type bytes. Raises ``ValueError`` for an unknown type."""
        kinds = self._at(self.starts)
        known = np.isin(kinds, (BEGIN, RELATION, INSERT, UPDATE, DELETE, TRUNCATE, *_IGNORED))
        if not known.all():
            raise ValueError(f"unknown logical replication message {bytes(kinds[~known][:1])!r}")
        return kinds

    def commit_lsns(self) -> Numbers:
        """For begins: where the transaction's commit record starts. The server compares this LSN
        with a slot's position. Raises ``ValueError``."""
        if (self.ends - self.starts != _BEGIN_BYTES).any():
            raise ValueError(
                "not a logical replication message: a transaction does not begin like this"
            )
        return self._numbers(">i8", self.starts + 1)

    def relation_ids(self) -> Numbers:
        """For changes: the ids of their tables."""
        return self._numbers(">u4", self.starts + 1)

    def table(self) -> Relation | TruncateMessage:
        """The first message, which must be of one of these two kinds. Raises ``ValueError``."""
        data = self.data[self.starts[0] : self.ends[0]].tobytes()
        try:
            return _truncate(data) if data[0] == TRUNCATE else _relation(data)
        except (struct.error, IndexError, ValueError) as error:
            raise ValueError(f"not a logical replication message: {data[:16]!r}") from error

    def changes(self, columns: int) -> DecodedChanges:
        """The changes, decoded; all are of one table with this number of columns. Raises
        ``ValueError``."""
        kinds, firsts = self._at(self.starts), self._at(self.starts + 5)
        has_new = kinds != DELETE
        has_old = ~has_new | ((kinds == UPDATE) & (firsts != _NEW))
        old, old_ends = self[has_old]._rows(self.starts[has_old] + 6, columns)
        new_begins = self.starts + 6
        new_begins[has_old] = old_ends + 1
        has_both = has_old & has_new
        if (self._at(new_begins[has_both] - 1) != _NEW).any():
            raise ValueError("not a logical replication message: it does not say what the row is")
        new, _ = self[has_new]._rows(new_begins[has_new], columns)
        return DecodedChanges(
            old.spread(has_old), new.spread(has_new), has_old, has_new, kinds == INSERT
        )

    def _rows(self, at: Numbers, columns: int) -> tuple[Values, Numbers]:
        """The rows that begin at ``at``, and the end of each."""
        if len(at) and (self._numbers(">u2", at) != columns).any():
            raise ValueError(f"a row has not the {columns} columns of its table")
        at = at + 2
        begins = np.zeros((columns, len(at)), np.int64)
        sizes = np.full((columns, len(at)), NULL, np.int64)
        for column in range(columns):
            kinds = self._at(at)
            is_sent = kinds == _TEXT
            if not (is_sent | (kinds == _NULL) | (kinds == _UNSENT)).all():
                raise ValueError("unknown form of a value")
            sizes[column, kinds == _UNSENT] = UNSENT
            sizes[column, is_sent] = self._numbers(">u4", at[is_sent] + 1)
            begins[column] = at + 5
            at = np.where(is_sent, at + 5 + sizes[column], at + 1)
            if (at > self.ends).any():
                raise ValueError("a logical replication message is cut")
        return Values(self.data, begins, sizes), at

    def _at(self, at: Numbers) -> Bytes:
        if len(at) and at.max() >= len(self.data):
            raise ValueError("a logical replication message is cut")
        return self.data[at]

    def _numbers(self, type: str, at: Numbers) -> Numbers:
        size = np.dtype(type).itemsize
        if not len(at):
            return np.zeros(0, np.int64)
        if at.max() + size > len(self.data):
            raise ValueError("a logical replication message is cut")
        everywhere = np.ndarray((len(self.data) - size + 1,), type, self.data, strides=(1,))
        return everywhere[at].astype(np.int64)


@dataclass(frozen=True, slots=True)
class Values:
    """The positions of the values of rows: the value of row ``r`` in column ``c`` begins at
    ``begins[c, r]`` and has ``sizes[c, r]`` bytes."""

    data: Bytes
    begins: Numbers
    sizes: Numbers

    def __len__(self) -> int:
        return int(self.begins.shape[1])

    def __getitem__(self, rows: Truths) -> Values:
        return Values(self.data, self.begins[:, rows], self.sizes[:, rows])

    def of(self, columns: Sequence[int]) -> Values:
        return Values(self.data, self.begins[columns, :], self.sizes[columns, :])

    def then(self, other: Values) -> Values:
        """These rows, followed by those of ``other``."""
        return Values(
            self.data, np.hstack((self.begins, other.begins)), np.hstack((self.sizes, other.sizes))
        )

    def or_from(self, other: Values, which: Truths) -> Values:
        """These rows with the values of ``other`` where ``which``, by column and row, is true."""
        return Values(
            self.data,
            np.where(which, other.begins, self.begins),
            np.where(which, other.sizes, self.sizes),
        )

    def spread(self, where: Truths) -> Values:
        """These rows at the places where ``where`` is true, and rows of NULLs elsewhere."""
        shape = (len(self.begins), len(where))
        begins, sizes = np.zeros(shape, np.int64), np.full(shape, NULL, np.int64)
        begins[:, where], sizes[:, where] = self.begins, self.sizes
        return Values(self.data, begins, sizes)

    def column(self, column: int) -> Texts:
        """The text forms of a column's values, by the session's settings; NULL for a value that was
        not sent. Raises ``ValueError`` for a value that is not UTF-8."""
        return lambda start, count: _gather(
            self.data,
            *(places[column, start : start + count] for places in (self.begins, self.sizes)),
        )


@dataclass(frozen=True, slots=True)
class DecodedChanges:
    """For each change the new row, and the old row as it was sent: whole if the replica identity is
    full, else its key and NULLs in all other columns. A row that does not exist is all NULL."""

    old: Values
    new: Values
    has_old: Truths
    has_new: Truths
    is_insert: Truths

    def __getitem__(self, which: Truths) -> DecodedChanges:
        marks = (self.has_old[which], self.has_new[which], self.is_insert[which])
        return DecodedChanges(self.old[which], self.new[which], *marks)

    def of(self, columns: Sequence[int]) -> DecodedChanges:
        return DecodedChanges(
            self.old.of(columns), self.new.of(columns), self.has_old, self.has_new, self.is_insert
        )

    def rows(self) -> Values:
        """The new row, in which the old row's values replace those that were not sent, if possible.
        If there is no new row, the old row as it was sent."""
        if not self.has_old.any():
            return self.new
        return self.new.or_from(
            self.old, ~self.has_new | ((self.new.sizes == UNSENT) & (self.old.sizes != NULL))
        )


def _gather(data: Bytes, begins: Numbers, sizes: Numbers) -> pa.Array:
    is_valid, lengths = sizes >= 0, np.maximum(sizes, 0)
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    if total > np.iinfo(np.int32).max:
        raise ValueError("the values of a column are too large")
    offsets = np.zeros(len(sizes) + 1, np.int32)
    offsets[1:] = ends
    if total <= _INDEXED_BYTES * len(sizes):
        texts = data[np.repeat(begins - offsets[:-1], lengths) + np.arange(total)]
    else:
        slices = zip(begins.tolist(), (begins + lengths).tolist(), strict=True)
        texts = np.frombuffer(b"".join(data[lower:upper].data for lower, upper in slices), np.uint8)
    buffers = [
        pa.py_buffer(np.packbits(is_valid, bitorder="little")),
        pa.py_buffer(offsets),
        pa.py_buffer(texts),
    ]
    array = pa.Array.from_buffers(pa.string(), len(sizes), buffers)
    if total and texts.max() > _ASCII:
        array.validate(full=True)
    return array


def _truncate(data: bytes) -> TruncateMessage:
    count, _ = struct.unpack_from(">Ib", data, 1)
    return TruncateMessage(struct.unpack_from(f">{count}I", data, 6))


def _relation(data: bytes) -> Relation:
    [id] = struct.unpack_from(">I", data, 1)
    schema, at = _text(data, 5)
    name, at = _text(data, at)
    identity: str
    count: int
    identity, count = chr(data[at]), *struct.unpack_from(">H", data, at + 1)
    at += 3
    columns = []
    for _ in range(count):
        is_key = bool(data[at] & 1)
        column, at = _text(data, at + 1)
        numbers: tuple[Any, ...] = struct.unpack_from(">Ii", data, at)
        columns.append(RelationColumn(column, numbers[0], is_key))
        at += 8
    return Relation(id, schema or "pg_catalog", name, identity, tuple(columns))


def _text(data: bytes, at: int) -> tuple[str, int]:
    """The NUL-terminated text at ``at``, and the offset after it."""
    end = data.index(b"\0", at)
    return data[at:end].decode(), end + 1
