"""Values of Parquet files: every type, exactly, and the first row that does not fit."""

import re
from datetime import UTC, date, datetime, time
from decimal import Decimal
from uuid import UUID as Uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

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
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    Column,
    RelationDesc,
    TextLimit,
    array,
    numeric,
)
from reclock.errors import BadRecord, DecodeFailed
from reclock.formats.bad_records import decode_run
from reclock.formats.parquet import mismatch, source_columns, typed_rows

EARLY = datetime(1969, 12, 31, 23, 59, 59)
STRUCT = pa.struct([("bb", pa.list_(pa.float64())), ("a", pa.decimal128(9, 2))])
KINDS = [
    (pa.bool_(), [True, None], BOOLEAN, [True, None]),
    (pa.int8(), [-128, 127], SMALLINT, [-128, 127]),
    (pa.uint8(), [255], SMALLINT, [255]),
    (pa.int16(), [-(2**15)], SMALLINT, [-(2**15)]),
    (pa.uint16(), [2**16 - 1], INTEGER, [2**16 - 1]),
    (pa.int32(), [-(2**31)], INTEGER, [-(2**31)]),
    (pa.uint32(), [2**32 - 1], BIGINT, [2**32 - 1]),
    (pa.int64(), [-(2**63), None], BIGINT, [-(2**63), None]),
    (pa.uint64(), [2**64 - 1], numeric(20, 0), [Decimal(2**64 - 1)]),
    (pa.float32(), [1.5, float("-inf")], REAL, [1.5, float("-inf")]),
    (pa.float64(), [0.1, None], DOUBLE, [0.1, None]),
    (pa.decimal128(38, 9), [Decimal("1.000000001")], numeric(38, 9), [Decimal("1.000000001")]),
    (pa.decimal128(5, 2), [Decimal("-999.99")], numeric(5, 2), [Decimal("-999.99")]),
    (pa.string(), ["", "ß", None], TEXT, ["", "ß", None]),
    (pa.large_string(), ["x"], TEXT, ["x"]),
    (pa.dictionary(pa.int32(), pa.string()), ["x", None, "x"], TEXT, ["x", None, "x"]),
    (pa.null(), [None, None], TEXT, [None, None]),
    (pa.binary(), [b"\x00\xff"], BYTEA, [b"\x00\xff"]),
    (pa.binary(3), [b"abc", None], BYTEA, [b"abc", None]),
    (pa.date32(), [date(1, 1, 1)], DATE, [date(1, 1, 1)]),
    (pa.date64(), [date(2024, 2, 29)], DATE, [date(2024, 2, 29)]),
    (pa.time32("ms"), [time(1, 2, 3, 4000)], TIME, ["01:02:03.004"]),
    (pa.time64("us"), [time(23, 59, 59, 999999)], TIME, ["23:59:59.999999"]),
    (pa.time64("ns"), pa.array([86_399_999_999_500]), TIME, ["24:00:00"]),
    (pa.timestamp("s"), pa.array([-1]), TIMESTAMP, [EARLY]),
    (pa.timestamp("ms"), pa.array([1]), TIMESTAMP, [datetime(1970, 1, 1, 0, 0, 0, 1000)]),
    (pa.timestamp("us"), [datetime(9999, 12, 31)], TIMESTAMP, [datetime(9999, 12, 31)]),
    (
        pa.timestamp("ns"),
        pa.array([1499, 1500, -1500, -1501]),
        TIMESTAMP,
        [
            datetime(1970, 1, 1, 0, 0, 0, 1),
            datetime(1970, 1, 1, 0, 0, 0, 2),
            EARLY.replace(microsecond=999999),
            EARLY.replace(microsecond=999998),
        ],
    ),
    (
        pa.timestamp("ms", "Europe/Berlin"),
        pa.array([0]),
        TIMESTAMPTZ,
        [datetime(1970, 1, 1, tzinfo=UTC)],
    ),
    (pa.list_(pa.int32()), [[1, None], [], None], array(INTEGER), [[1, None], [], None]),
    (pa.large_list(pa.string()), [["a"]], array(TEXT), [["a"]]),
    (pa.list_(pa.int16(), 2), [[1, 2], None, [3, 4]], array(SMALLINT), [[1, 2], None, [3, 4]]),
    (
        pa.list_(pa.list_(pa.int64())),
        [[[1, 2], [3, 4]], [[], []], [], None],
        array(BIGINT, 2),
        [[[1, 2], [3, 4]], [], [], None],
    ),
    (
        STRUCT,
        [{"bb": [1.5, float("nan"), None], "a": Decimal("1.50")}, {"bb": None, "a": None}, None],
        JSONB,
        ['{"a": 1.5, "bb": [1.5, "NaN", null]}', '{"a": null, "bb": null}', None],
    ),
    (
        pa.map_(pa.string(), pa.timestamp("us", "UTC")),
        [[("b", datetime(2024, 1, 1, tzinfo=UTC)), ("a", None)], [], None],
        JSONB,
        ['{"a": null, "b": "2024-01-01T00:00:00+00:00"}', "{}", None],
    ),
    (pa.map_(pa.int32(), pa.binary()), [[(7, b"\x01")]], JSONB, ['{"7": "\\\\x01"}']),
    (pa.list_(pa.struct([("q", pa.int8())])), [[{"q": 1}, None]], JSONB, ['[{"q": 1}, null]']),
]


def file_of(values, type):
    """The column ``v`` after a round trip through a file."""
    column = values.cast(type) if isinstance(values, pa.Array) else pa.array(values, type)
    out = pa.BufferOutputStream()
    pq.write_table(pa.table({"v": column}), out)
    return pq.read_table(pa.BufferReader(out.getvalue()))


def of(type, **options):
    return RelationDesc((Column("v", type, **options),))


@pytest.mark.parametrize(("stored", "values", "type", "expected"), KINDS)
def test_every_type_has_a_column_that_holds_its_values(stored, values, type, expected):
    rows = file_of(values, stored)
    assert source_columns(rows.schema) == (Column("v", type),)
    assert mismatch(rows.schema, of(type)) is None
    assert typed_rows(rows, of(type))["v"].to_pylist() == expected
    for at in range(rows.num_rows):  # a slice knows where it begins
        assert typed_rows(rows.slice(at), of(type))["v"].to_pylist() == expected[at:]


@pytest.mark.parametrize(
    ("stored", "values", "type", "expected"),
    [
        (pa.int64(), [1, None], SMALLINT, [1, None]),
        (pa.int64(), [-7], numeric(10, 2), [Decimal("-7.00")]),
        (pa.decimal128(10, 0), [Decimal(7)], BIGINT, [7]),
        (pa.decimal128(38, 18), [Decimal("1.5")], numeric(5, 1), [Decimal("1.5")]),
        (pa.float32(), [0.5], DOUBLE, [0.5]),
        (pa.binary(), ["ß".encode()], TEXT, ["ß"]),
        (pa.string(), ['{"b": 1.0, "a": [ ]}'], JSONB, ['{"a": [], "b": 1}']),
        (pa.list_(pa.int8()), [[1], None], JSONB, ["[1]", None]),
        (pa.string(), ["A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"], UUID,
         ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]),
        (pa.binary(16), [Uuid(int=1).bytes], UUID, [str(Uuid(int=1))]),
        (pa.string(), ["1:02"], TIME, ["01:02:00"]),
        (pa.timestamp("us"), [datetime(2024, 1, 1)], TIMESTAMPTZ,
         [datetime(2024, 1, 1, tzinfo=UTC)]),
        (pa.timestamp("us", "UTC"), [datetime(2024, 1, 1, tzinfo=UTC)], TIMESTAMP,
         [datetime(2024, 1, 1)]),
    ],
)  # fmt: skip
def test_a_column_may_be_declared_with_another_type_that_holds_the_values(
    stored, values, type, expected
):
    rows = file_of(values, stored)
    assert mismatch(rows.schema, of(type)) is None
    assert typed_rows(rows, of(type))["v"].to_pylist() == expected


@pytest.mark.parametrize(
    ("stored", "values", "type", "bad", "reason"),
    [
        (pa.int64(), [1, 2**31, -1, 2**40], INTEGER, [1, 3], "2147483648 not in range"),
        (pa.uint64(), [0, 2**63], BIGINT, [1], "not in range"),
        (pa.int64(), [9, 10], numeric(2, 1), [1], "does not fit in precision 2"),
        (
            pa.decimal128(9, 3),
            [Decimal("1.500"), Decimal("1.555")],
            numeric(9, 1),
            [1],
            "data loss",
        ),
        (pa.binary(), [b"a", b"b", b"\xff"], TEXT, [2], "UTF8"),
        (pa.string(), ["1", "{"], JSONB, [1], "invalid input syntax for type json"),
        (pa.string(), ["x"], UUID, [0], "uuid"),
        (pa.timestamp("ms"), pa.array([0, 2**62]), TIMESTAMP, [1], "overflow"),
        (pa.list_(pa.list_(pa.int32())), [[[1]], [[1], [1, 2]]], array(INTEGER, 2), [1], "length"),
        (pa.list_(pa.int32()), [[1], [1, 40_000]], array(SMALLINT), [1], "40000 not in range"),
        (pa.struct([("a", pa.string())]), [{"a": "x"}, {"a": "\0"}], JSONB, [1], "Unicode"),
    ],
)
def test_rows_that_do_not_fit_are_named(stored, values, type, bad, reason):
    failure = rejected(file_of(values, stored), of(type))
    assert [record.lower for record in failure.records] == bad
    assert re.search(reason, failure.records[0].reason)
    assert 'column "v" of type' in failure.records[0].reason


def rejected(rows: pa.Table, desc: RelationDesc) -> DecodeFailed:
    """The error about the rows that do not fit."""
    with pytest.raises(DecodeFailed) as failure:
        decode_run(
            rows.num_rows,
            lambda low, high: typed_rows(rows.slice(low, high - low), desc),
            lambda row, failure: BadRecord.in_object("k", row, row + 1, failure.reason, unit="row"),
        )
    return failure.value


def test_lengths_and_not_null_are_checked():
    rows = file_of(["ab", "abc  ", "abcd", None], pa.string())
    too_long = rejected(rows, of(TEXT, limit=TextLimit(3)))
    assert too_long.offset == 2
    assert "too long" in str(too_long.detail)
    missing = rejected(rows, of(TEXT, is_nullable=False))
    assert missing.offset == 3
    assert "NOT NULL" in str(missing.detail)


def test_the_rows_of_several_columns_are_in_order():
    rows = pa.table({"a": [1, 2, 2**40], "b": [1, 2**40, 1]})
    desc = RelationDesc((Column("a", INTEGER), Column("b", INTEGER)))
    records = rejected(rows, desc).records
    assert [record.lower for record in records] == [1, 2]
    assert 'column "b"' in records[0].reason
    assert 'column "a"' in records[1].reason


def test_how_a_schema_differs_is_said_of_every_column():
    schema = pa.schema([("n", pa.string()), ("Word", pa.string()), ("x", pa.int8())])
    desc = RelationDesc((Column("n", INTEGER), Column("word", TEXT)))
    assert mismatch(schema, desc) == (
        'column "n" of type integer: found string; column "word" is missing; '
        'columns of the file: "n", "Word", "x"; '
        "upper and lower case count; CREATE SOURCE keeps those of a quoted name"
    )
    twice = pa.schema([("n", pa.int8()), ("n", pa.int8())])
    assert 'column "n" is there 2 times' in mismatch(twice, RelationDesc((Column("n", INTEGER),)))


@pytest.mark.parametrize(
    ("stored", "type"),
    [
        (pa.float64(), REAL),
        (pa.float64(), INTEGER),
        (pa.string(), INTEGER),
        (pa.int32(), TEXT),
        (pa.int32(), BOOLEAN),
        (pa.binary(8), UUID),
        (pa.list_(pa.string()), array(INTEGER)),
        (pa.int32(), array(INTEGER)),
        (pa.date32(), TIMESTAMP),
        (pa.int64(), TIMESTAMP),
        (pa.struct([("a", pa.int8())]), TEXT),
    ],
)
def test_other_types_do_not_match(stored, type):
    assert "found" in (mismatch(pa.schema([("v", stored)]), of(type)) or "")


def test_a_type_that_no_column_can_have_is_named():
    with pytest.raises(ValueError, match='column "v" has the type duration'):
        source_columns(pa.schema([("v", pa.duration("us"))]))
