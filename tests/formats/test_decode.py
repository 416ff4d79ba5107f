"""Records of CSV, JSON and text are decoded whole, and an error names the bytes of those that are
bad."""

import random

import pyarrow as pa
import pytest
from fixtures.malformed import GOOD, MANY, changed
from hypothesis import given
from hypothesis import strategies as st

from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    JSONB,
    REAL,
    SMALLINT,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    Column,
    RelationDesc,
    numeric,
)
from reclock.collections.schema import arrow_schema
from reclock.definitions.formats import CsvFormat, JsonFormat, LineFormat, TextFormat
from reclock.errors import DecodeFailed
from reclock.formats.decode import decode
from reclock.formats.records import quote_of, record_ends, row_ranges

CSV = CsvFormat(has_header=False)
PAIR = RelationDesc((Column("n", INTEGER, is_nullable=False), Column("w", TEXT)))


@pytest.mark.parametrize("name", GOOD)
def test_malformed_records_are_each_an_error_that_names_them(name, malformed):
    formats: dict[str, LineFormat] = {"json": JsonFormat(), "csv": CSV, "text": TextFormat()}
    format = formats[name]
    desc = RelationDesc((Column("w", TEXT),)) if name == "text" else MANY
    chance, refused = random.Random(20261122), 0

    def rows(buffer):
        return decode(buffer, format, desc, key="k", offset=50).num_rows

    for _ in range(malformed):
        before, after = chance.choice([(0, 0), (0, 1), (2, 0), (1, 2)])
        buffer = GOOD[name] * before + changed(GOOD[name], chance) + GOOD[name] * after
        # what is behind an open quote is not whole
        ends = [int(end) for end in record_ends(buffer, quote_of(format))]
        starts, buffer = [0, *ends[:-1]], buffer[: ends[-1]] if ends else b""
        blank = [
            name != "text" and not buffer[start:end].strip()
            for start, end in zip(starts, ends, strict=False)
        ]
        try:
            assert rows(buffer) == len(ends) - sum(blank), buffer
            ranges = list(row_ranges(buffer, format, len(desc), offset=50))
            whole = decode(buffer, format, desc, key="k", offset=50)
            alone = [buffer[lower - 50 : upper - 50] for lower, upper in ranges]
            assert [
                decode(line, format, desc, key="k", offset=50).to_pylist() for line in alone
            ] == [[row] for row in whole.to_pylist()]
        except DecodeFailed as failure:
            places = [starts.index(record.lower - 50) for record in failure.records]
            spans = [(record.lower - 50, record.upper - 50) for record in failure.records]
            assert spans == [(starts[i], ends[i]) for i in places]
            assert places[0] >= min(before, len(ends) - 1)
            good = [i for i in range(len(ends)) if i not in places]
            others = b"".join(buffer[starts[i] : ends[i]] for i in good)
            assert rows(others) == len(good) - sum(blank[i] for i in good), buffer
            refused += 1
    assert refused > malformed // 10


def test_an_object_stands_on_one_line():
    for bad in (
        b'{"n":1,\n"w":"a"}\n',
        b'{\n"n":1}\n',
        b'{"n":1}{"n":2}\n{"n":\n3}\n',
        b'{"n":1,"o":{}\n,"w":"a"}\n',
    ):
        with pytest.raises(DecodeFailed) as failure:
            decode(b'{"n":1}\n' + bad, JsonFormat(), PAIR, key="k", offset=0)
        assert failure.value.offset == 8
    assert decode(b'\n {"n":1} \r\n \t\n{"n":2}\n\n', JsonFormat(), PAIR, key="k", offset=0)[
        "n"
    ].to_pylist() == [1, 2]


BAD_CSV = [b"x,a\n", b",a\n", b"1\n", b"1,a,b\n", b"1,\xff\n", b"99999999999,a\n"]
BAD_JSON = [
    *[
        b'{"n":"x"}\n',
        b"{}\n",
        b'{"w":"a"}\n',
        b"[1]\n",
        b"nonsense\n",
        b'{"n":1\n',
        b'{"n":1,"w":"\xff"}\n',
    ],
    *[b'{"n":1}{"n":2}\n', b'{"n":1,"n":2}\n', b'{"n":1,"w":3}\n'],
]


@pytest.mark.parametrize(
    ("bad", "format", "good"),
    [
        *((bad, CSV, b'1,"a\nb"\n') for bad in BAD_CSV),
        *((bad, JsonFormat(), b'{"n":1}\n') for bad in BAD_JSON),
    ],
)
@pytest.mark.parametrize(("before", "after"), [(0, 0), (0, 3), (7, 0), (100, 100)])
def test_the_first_bad_record_is_named_by_its_byte_and_can_be_skipped(
    bad, format, good, before, after
):
    buffer = good * before + bad + good * after + bad
    start = 1000 + len(good) * before
    with pytest.raises(DecodeFailed) as failure:
        decode(buffer, format, PAIR, key="k", offset=1000)
    assert (failure.value.partition, failure.value.offset) == ("k", start)
    last = 1000 + len(buffer)
    rows = decode(
        buffer,
        format,
        PAIR,
        key="k",
        offset=1000,
        skips=[(start, start + 1), (last - 1, last + 5), (0, 1000), (last, last + 1)],
    )
    assert rows.num_rows == before + after


@given(
    st.lists(st.tuples(st.integers(0, 99), st.sampled_from(["a", 'q"', "l\nm", ""])), max_size=8),
    st.integers(0, 60),
    st.integers(0, 60),
)
def test_skipping_drops_exactly_the_records_that_hold_a_skipped_byte(rows, start, length):
    records = ['{},"{}"\n'.format(n, w.replace('"', '""')).encode() for n, w in rows]
    remaining, at = [], 0
    for row, record in zip(rows, records, strict=True):
        if not (length and start < at + len(record) and start + length > at):
            remaining.append(row)
        at += len(record)
    decoded = decode(
        b"".join(records),
        CSV,
        PAIR,
        key="k",
        offset=0,
        skips=[(start, start + length)] if length else [],
    )
    assert [(row["n"], row["w"]) for row in decoded.to_pylist()] == remaining


def test_a_header_orders_the_fields():
    assert decode(b"x,1\n", CsvFormat(), PAIR, ["w", "n"], key="k", offset=4).to_pylist() == [
        {"n": 1, "w": "x"}
    ]
    with pytest.raises(DecodeFailed, match="byte 4") as failure:
        decode(b"x,y\n", CsvFormat(), PAIR, ["w", "n"], key="k", offset=4)
    assert 'column "n" of type integer' in failure.value.detail


def test_fields_of_a_header_that_are_no_columns_are_not_read():
    header = ["x", "w", "", "n", "x"]
    records = b"\xff,a,,1,2026\n{,,,2,\n"
    decoded = decode(records, CsvFormat(), PAIR, header, key="k", offset=9)
    assert decoded.to_pylist() == [{"n": 1, "w": "a"}, {"n": 2, "w": None}]
    with pytest.raises(DecodeFailed) as failure:
        decode(b"1,a,,y,\n", CsvFormat(), PAIR, header, key="k", offset=9)
    assert failure.value.detail == "column \"n\" of type integer: invalid value 'y'"
    with pytest.raises(DecodeFailed, match="byte 9") as failure:
        decode(b"1,a,,2\n", CsvFormat(), PAIR, header, key="k", offset=9)
    assert failure.value.detail == "expected 5 fields, got 4"


def test_an_empty_line_is_no_row_where_records_have_fields_that_are_no_columns():
    one, header = RelationDesc((Column("w", TEXT),)), ["w", "x"]
    decoded = decode(b"a,1\n\nb,2\n", CsvFormat(), one, header, key="k", offset=4)
    assert decoded["w"].to_pylist() == ["a", "b"]


def test_json_ignores_what_is_not_declared_and_missing_is_null():
    found = decode(
        b'{"z":{"a":[1]},"n":1}\n\n{"w":null,"n":2}\n', JsonFormat(), PAIR, key="k", offset=0
    )
    assert found.to_pylist() == [{"n": 1, "w": None}, {"n": 2, "w": None}]


def test_the_options_of_csv_are_obeyed():
    odd = CsvFormat(has_header=False, delimiter=";", null_text=r"\N", quote="'")
    found = decode(b"1;'a;''b'\r\n2;\\N\n3;\n4;'\\N'\n", odd, PAIR, key="k", offset=0)
    assert [row["w"] for row in found.to_pylist()] == ["a;'b", None, "", r"\N"]
    assert decode(b'1,"a\n', CsvFormat(quote=None), PAIR, key="k", offset=0)["w"].to_pylist() == [
        '"a'
    ]


def test_a_byte_order_mark_at_the_start_of_an_object_is_no_data():
    assert decode(b"\xef\xbb\xbf1,a\n", CSV, PAIR, key="k", offset=0).to_pylist() == [
        {"n": 1, "w": "a"}
    ]


@pytest.mark.parametrize("format", [CSV, JsonFormat()])
def test_the_result_has_exactly_the_declared_schema(format):
    types = (
        BOOLEAN,
        SMALLINT,
        INTEGER,
        BIGINT,
        REAL,
        DOUBLE,
        numeric(10, 2),
        TEXT,
        BYTEA,
        JSONB,
        DATE,
        TIMESTAMP,
        TIMESTAMPTZ,
    )
    desc = RelationDesc(tuple(Column(f"c{i}", type) for i, type in enumerate(types)))
    nulls = (b"," * (len(types) - 1) if format == CSV else b"{}") + b"\n"
    for buffer in (b"", nulls):
        table = decode(buffer, format, desc, key="k", offset=0)
        assert table.schema.equals(arrow_schema(desc, with_updates=False))
        assert table.num_rows == buffer.count(b"\n")
        assert isinstance(table, pa.Table)


@pytest.mark.parametrize("before", [b"", b'{"n":1}\n', b"\n", b" "])
def test_a_null_is_no_json_object(before):
    """Arrow takes it for an object of NULLs, and where it comes first ends the process."""
    with pytest.raises(DecodeFailed, match=f"byte {before.rfind(10) + 1} "):
        decode(before + b'null\n{"n":2}\n', JsonFormat(), PAIR, key="k", offset=0)


@pytest.mark.parametrize(
    ("format", "record", "reason"),
    [
        (
            CsvFormat(has_header=False),
            b"1,5.55,5.555\n",
            "column \"b\" of type numeric(4,2): invalid value '5.555', which has too many digits "
            "after the point",
        ),
        (JsonFormat(), b'{"id": 1, "id": 2}\n', 'the object has the field "id" twice'),
        (JsonFormat(), b'{"a": 1e400}\n', "a number is beyond the range of double precision"),
    ],
)
def test_arrows_messages_about_a_record_are_told_in_our_words(format, record, reason):
    desc = RelationDesc(
        (Column("id", BIGINT), Column("a", numeric(4, 2)), Column("b", numeric(4, 2)))
    )
    with pytest.raises(DecodeFailed) as failure:
        decode(record, format, desc, key="k", offset=0)
    assert failure.value.detail == reason
