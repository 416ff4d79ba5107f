"""Messages decode one by one what they decode many at once, and a bad one is named, whatever its
neighbours are."""

from __future__ import annotations

import random

import pytest
from fixtures.examples import examples
from fixtures.malformed import GOOD, MANY, changed
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reclock.algebra.relations import BYTEA, INTEGER, TEXT, Column, RelationDesc
from reclock.definitions.formats import BytesFormat, CsvFormat, Format, JsonFormat, TextFormat
from reclock.errors import DecodeFailed
from reclock.formats.messages import decode_messages, message_rows

DESC = RelationDesc((Column("n", INTEGER), Column("w", TEXT)))
FORMATS: dict[str, tuple[Format, RelationDesc]] = {
    "json": (JsonFormat(), DESC),
    "csv": (CsvFormat(has_header=False), DESC),
    "text": (TextFormat(), RelationDesc((Column("text", TEXT),))),
}

# fragments that, put on lines one after another, could be taken for other records than they are
json_pieces = st.sampled_from(
    [b'{"n":1}', b'{"n":2,"w":"x"}', b"{}", b'{"w":"a', b'b"}', b'{"n":', b"1}", b"{", b"}", b'{"n":1}{"n":2}', b'{"w":{"n":1}',
     b'{"n":"x"}', b"[]", b"null", b"", b" ", b'{"n":1,\n"w":"y"}', b'{"w":"line\nbreak"}', b'{"n":1}\n{"n":2}', b'{"w":"\xff"}',
     b' {"n":3} ', b'{"w":"}"', b"{}}"]
)  # fmt: skip
csv_pieces = st.sampled_from(
    [
        b"1,x",
        b"2,",
        b",",
        b'3,"a,b"',
        b'4,"a',
        b'b"',
        b"5",
        b"1,2,3",
        b"",
        b"x,y",
        b"6,a\n7,b",
        b'8,"a\nb"',
        b"9,x\n",
        b"1,\xff",
        b'"',
        b"\r",
    ]
)
text_pieces = st.sampled_from([b"a", b"", b"\xff", b"a\nb", b"\xc3\xa9"])


def alone(value, format, desc):
    """The row of one message, or None if it has none."""
    try:
        [row] = decode_messages([value], format, desc, partition="0", offsets=[0]).to_pylist()
    except DecodeFailed:
        return None
    return row


def outcome(value, format, desc):
    """The number of rows, or the place of the error."""
    try:
        return decode_messages([value], format, desc, partition="0", offsets=[5]).num_rows
    except DecodeFailed as failure:
        return failure.partition, failure.offset


@pytest.mark.parametrize(
    ("name", "pieces"), [("json", json_pieces), ("csv", csv_pieces), ("text", text_pieces)]
)
def test_many_messages_are_what_each_is_alone(name, pieces):
    format, desc = FORMATS[name]

    @settings(max_examples=examples(150, 2_000))
    @given(st.lists(st.none() | pieces, max_size=6))
    def law(values):
        rows = [alone(value, format, desc) for value in values]
        offsets = [10 * i + 3 for i in range(len(values))]
        if None not in rows:
            assert (
                decode_messages(values, format, desc, partition="7", offsets=offsets).to_pylist()
                == rows
            )
            return
        with pytest.raises(DecodeFailed) as failure:
            decode_messages(values, format, desc, partition="7", offsets=offsets)
        bad = [offset for offset, row in zip(offsets, rows, strict=True) if row is None]
        assert [record.skip for record in failure.value.records] == [
            ("7", offset, offset + 1) for offset in bad
        ]
        assert {record.unit for record in failure.value.records} == {"offset"}
        assert failure.value.is_complete

    law()


@pytest.mark.parametrize("name", FORMATS)
def test_any_bytes_are_a_row_or_a_definite_error(name):
    format, desc = FORMATS[name]

    @settings(max_examples=examples(500, 5_000))
    @given(st.binary(max_size=40))
    @example(b'{"n":99999999999999999999}')
    @example(b'{"n":1,"n":2}')
    @example(b"\x00")
    def law(value):
        found = outcome(value, format, desc)
        assert found in (1, ("0", 5))

    law()


@pytest.mark.parametrize("name", GOOD)
def test_malformed_messages_are_each_an_error_that_names_them(name, malformed):
    format, desc = FORMATS[name][0], RelationDesc((Column("w", TEXT),)) if name == "text" else MANY
    chance, refused, good = random.Random(20261122), 0, GOOD[name].rstrip(b"\n")
    for _ in range(malformed // 2):
        values = [good, *(changed(GOOD[name], chance).rstrip(b"\n") for _ in range(2))]
        alone = [outcome(value, format, desc) for value in values]
        assert alone[0] == 1
        assert set(alone) <= {1, ("0", 5)}
        bad = [place for place, found in enumerate(alone) if found != 1]
        refused += len(bad)
        if not bad:
            assert (
                decode_messages(values, format, desc, partition="0", offsets=[7, 8, 12]).num_rows
                == 3
            )
            continue
        with pytest.raises(DecodeFailed) as failure:
            decode_messages(values, format, desc, partition="0", offsets=[7, 8, 12])
        assert [record.lower for record in failure.value.records] == [[7, 8, 12][i] for i in bad]
    assert refused > malformed // 10


def test_what_lacks_a_value_is_null_or_an_error():
    required = RelationDesc((Column("n", INTEGER, is_nullable=False),))
    rows = decode_messages([b'{"n":1}', None], JsonFormat(), DESC, partition="0", offsets=[0, 1])
    assert rows.to_pylist() == [{"n": 1, "w": None}, {"n": None, "w": None}]
    with pytest.raises(DecodeFailed, match="offset 1"):
        decode_messages([b'{"n":1}', None], JsonFormat(), required, partition="0", offsets=[0, 1])
    decoded = message_rows([None, b'{"n":1}'], JsonFormat(), required, may_lack_values=True)
    assert decoded.to_pylist() == [{"n": None}, {"n": 1}]


def test_bytes_are_kept_as_they_are():
    desc = RelationDesc((Column("data", BYTEA),))
    assert decode_messages(
        [b"\x00\xff", b""], BytesFormat(), desc, partition="0", offsets=[0, 1]
    ).column(0).to_pylist() == [
        b"\x00\xff",
        b"",
    ]
