"""Logical replication messages: what PostgreSQL's documentation says they are made of, and nothing
else, decodes, however many."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from fixtures.examples import examples
from fixtures.pgoutput import (
    UNCHANGED,
    Begin,
    Change,
    Commit,
    Message,
    Relation,
    RelationColumn,
    Row,
    TruncateMessage,
    decode,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from reclock.connectors.postgres import pgoutput
from reclock.connectors.postgres.pgoutput import UNSENT, MessageBatch, Truths, Values


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
OLD: Row = ("0", None, None, None)
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
    (b"U" + struct.pack(">I", 5) + b"O" + tuple_data(OLD) + b"N" + tuple_data(ROW), Change(5, OLD, ROW)),
    (b"U" + struct.pack(">I", 5) + b"K" + tuple_data(OLD) + b"N" + tuple_data(ROW), Change(5, OLD, ROW)),
    (b"D" + struct.pack(">I", 5) + b"O" + tuple_data(ROW), Change(5, ROW, None)),
    (b"D" + struct.pack(">I", 5) + b"K" + tuple_data(OLD), Change(5, OLD, None)),
    (b"T" + struct.pack(">IbII", 2, 0, 5, 6), TruncateMessage((5, 6))),
    (b"Y" + struct.pack(">I", 1), None),
    (b"M" + b"\0" * 20, None),
]  # fmt: skip


REFUSED = r"logical replication message|columns of its table|form of a value"


def messages(*data: bytes) -> MessageBatch:
    return MessageBatch.of(
        b"".join(data), b"".join(struct.pack(">i", len(message)) for message in data)
    )


def row_of(values: Values, row: int) -> Row:
    columns = zip(
        values.sizes[:, row],
        (values.column(i)(row, 1)[0].as_py() for i in range(len(values.sizes))),
        strict=True,
    )
    return tuple(UNCHANGED if size == UNSENT else text for size, text in columns)


def read(data: bytes, message: Message | None) -> Message | None:
    """What our decoder makes of a message of that kind."""
    batch = messages(data)
    match message:
        case None | Commit():
            batch.kinds()
            return message
        case Begin():
            return Begin(int(batch.commit_lsns()[0]))
        case Change():
            kinds = batch.kinds()
            changes = batch.changes(len(message.new or message.old or ()))
            old, new = (row_of(values, 0) if has[0] else None for values, has in _sides(changes))
            assert changes.is_insert[0] == (kinds[0] == ord("I"))
            return Change(int(batch.relation_ids()[0]), old, new)
        case _:
            rows = batch.table()
            if isinstance(rows, pgoutput.TruncateMessage):
                return TruncateMessage(rows.relation_ids)
            columns = tuple(
                RelationColumn(column.name, column.type_oid, column.is_key)
                for column in rows.columns
            )
            return Relation(rows.id, rows.schema, rows.name, rows.replica_identity, columns)


def _sides(changes: pgoutput.DecodedChanges) -> tuple[tuple[Values, Truths], ...]:
    return (changes.old, changes.has_old), (changes.new, changes.has_new)


@pytest.mark.parametrize(("data", "message"), EXAMPLES, ids=lambda value: type(value).__name__)
def test_a_message_is_what_it_is_documented_to_be(data: bytes, message: Message | None) -> None:
    assert decode(data) == message
    assert read(data, message) == message


@given(
    st.sampled_from([example for example in EXAMPLES if example[1] is not None]),
    st.integers(min_value=0),
)
def test_a_message_that_is_cut_is_refused(example: tuple[bytes, Message | None], at: int) -> None:
    data, message = example
    if isinstance(message, Commit):  # it tells nothing that is looked at
        return
    cut = data[: at % (len(data) - 1) + 1]
    with pytest.raises(ValueError, match=REFUSED):
        read(cut, message)
    if isinstance(message, Change):  # nor does it go on in the next one
        with pytest.raises(ValueError, match=REFUSED):
            messages(cut, data).changes(len(message.new or message.old or ()))


@settings(max_examples=examples(1_500, 10_000))
@given(st.binary(min_size=1, max_size=40), st.integers(min_value=0, max_value=3))
def test_anything_decodes_or_is_refused(data: bytes, columns: int) -> None:
    with suppress(ValueError):
        messages(data).kinds()
    for read_one in (
        MessageBatch.table,
        MessageBatch.commit_lsns,
        MessageBatch.relation_ids,
        lambda one: one.changes(columns),
    ):
        with suppress(ValueError):
            read_one(messages(data))


VALUES = st.one_of(
    st.none(), st.just(UNCHANGED), st.text(max_size=4), st.text(min_size=300, max_size=400)
)
ROWS = st.tuples(VALUES, VALUES)
CHANGES = st.one_of(
    st.builds(lambda new: b"I" + struct.pack(">I", 5) + b"N" + tuple_data(new), ROWS),
    st.builds(lambda new: b"U" + struct.pack(">I", 5) + b"N" + tuple_data(new), ROWS),
    st.builds(
        lambda old, new: (
            b"U" + struct.pack(">I", 5) + b"O" + tuple_data(old) + b"N" + tuple_data(new)
        ),
        ROWS,
        ROWS,
    ),
    st.builds(lambda old: b"D" + struct.pack(">I", 5) + b"K" + tuple_data(old), ROWS),
)


@given(st.lists(CHANGES, min_size=1, max_size=12))
def test_many_changes_are_read_as_each_of_them_is(data: list[bytes]) -> None:
    changes = messages(*data).changes(2)
    expected = [decode(message) for message in data]
    for row, change in enumerate(expected):
        assert isinstance(change, Change)
        old, new = (row_of(values, row) if has[row] else None for values, has in _sides(changes))
        assert (old, new) == (change.old, change.new)
    whole = [values.column(0)(0, len(data)).to_pylist() for values, _ in _sides(changes)]
    texts = [[_text(change.old) for change in expected], [_text(change.new) for change in expected]]
    assert whole == texts


def _text(row: Row | None) -> str | None:
    return row[0] if row is not None and isinstance(row[0], str) else None


def test_what_is_no_utf_8_is_refused() -> None:
    changes = messages(
        b"I"
        + struct.pack(">I", 5)
        + b"N"
        + struct.pack(">H", 1)
        + b"t"
        + struct.pack(">I", 1)
        + b"\xe9"
    ).changes(1)
    with pytest.raises(ValueError, match="UTF8"):
        changes.new.column(0)(0, 1)
