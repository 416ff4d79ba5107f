"""Logical replication messages: what PostgreSQL's documentation says they are made of, and nothing else, decodes."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reclock.sources.pgoutput import UNCHANGED, Begin, Change, Commit, Message, Relation, RelationColumn, Row, Truncate, decode


def text(value: str) -> bytes:
    return value.encode() + b"\0"


def tuple_data(row: Row) -> bytes:
    parts = [struct.pack(">H", len(row))]
    for value in row:
        if value is None:
            parts.append(b"n")
        elif value is UNCHANGED:
            parts.append(b"u")
        else:
            parts.append(b"t" + struct.pack(">I", len(str(value).encode())) + str(value).encode())
    return b"".join(parts)


ROW: Row = ("1", None, UNCHANGED, "größe")
EXAMPLES: list[tuple[bytes, Message | None]] = [
    (b"B" + struct.pack(">qqI", 100, 1_000_000, 7), Begin(100)),
    (b"C" + struct.pack(">bqqq", 0, 100, 148, 1_000_000), Commit(148)),
    (
        b"R" + struct.pack(">I", 16384) + text("public") + text("t") + b"f" + struct.pack(">H", 2)
        + b"\1" + text("id") + struct.pack(">Ii", 23, -1) + b"\0" + text("note") + struct.pack(">Ii", 25, -1),
        Relation(16384, "public", "t", "f", (RelationColumn("id", 23, True), RelationColumn("note", 25, False))),
    ),
    (b"I" + struct.pack(">I", 5) + b"N" + tuple_data(ROW), Change(5, None, ROW)),
    (b"U" + struct.pack(">I", 5) + b"N" + tuple_data(ROW), Change(5, None, ROW)),
    (b"U" + struct.pack(">I", 5) + b"O" + tuple_data(("0", None)) + b"N" + tuple_data(ROW), Change(5, ("0", None), ROW)),
    (b"U" + struct.pack(">I", 5) + b"K" + tuple_data(("0", None)) + b"N" + tuple_data(ROW), Change(5, ("0", None), ROW)),
    (b"D" + struct.pack(">I", 5) + b"O" + tuple_data(ROW), Change(5, ROW, None)),
    (b"D" + struct.pack(">I", 5) + b"K" + tuple_data(("0", None)), Change(5, ("0", None), None)),
    (b"T" + struct.pack(">IbII", 2, 0, 5, 6), Truncate((5, 6))),
    (b"Y" + struct.pack(">I", 1), None),
    (b"M" + b"\0" * 20, None),
]  # fmt: skip


@pytest.mark.parametrize(("data", "message"), EXAMPLES, ids=lambda value: type(value).__name__)
def test_a_message_is_what_it_is_documented_to_be(data: bytes, message: Message | None) -> None:
    assert decode(data) == message


@given(st.sampled_from([data for data, message in EXAMPLES if message is not None]), st.integers(min_value=0))
def test_a_message_that_is_cut_is_refused(data: bytes, at: int) -> None:
    with pytest.raises(ValueError, match="not a logical replication message"):
        decode(data[: at % len(data)])


@given(st.binary(max_size=40))
def test_anything_decodes_or_is_refused(data: bytes) -> None:
    with suppress(ValueError):
        decode(data)
