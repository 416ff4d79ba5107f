"""Values of each type in CSV and JSON are decoded exactly, and an error names the column that a
value does not fit."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from reclock.algebra.intervals import Interval
from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
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
    char,
    numeric,
)
from reclock.definitions.formats import CsvFormat, JsonFormat, TextFormat
from reclock.errors import DecodeFailed
from reclock.formats.decode import decode
from reclock.formats.messages import decode_messages
from reclock.formats.values import Unreadable, typed_table

CSV = CsvFormat(has_header=False)
AT: dict[str, Any] = {"partition": "0", "offsets": [1, 2, 3, 4]}


def of(type):
    return RelationDesc((Column("n", INTEGER), Column("v", type)))


def csv_value(type, text):
    return decode(f"1,{text}\n".encode(), CSV, of(type), key="k", offset=0)["v"].to_pylist()[0]


def json_value(type, text):
    return decode(f'{{"n":1,"v":{text}}}\n'.encode(), JsonFormat(), of(type), key="k", offset=0)[
        "v"
    ].to_pylist()[0]


FIVE = datetime(2013, 1, 1, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        (BOOLEAN, "t", True),
        (BOOLEAN, "FALSE", False),
        (BOOLEAN, "Yes", True),
        (BOOLEAN, "0", False),
        (SMALLINT, "-32768", -32768),
        (INTEGER, "2147483647", 2147483647),
        (BIGINT, "-9223372036854775808", -(2**63)),
        (REAL, "1.5", 1.5),
        (DOUBLE, "-Infinity", float("-inf")),
        (array(INTEGER), '"{1,NULL,3}"', [1, None, 3]),
        (array(TEXT), '"{"""",NULL,""a b"",c}"', ["", None, "a b", "c"]),
        (array(DATE), "{}", []),
        (INTERVAL, "1 day", Interval(0, 1, 0)._asdict()),
        (DOUBLE, "1e-7", 1e-7),
        (
            numeric(38, 9),
            "12345678901234567890123456789.123456789",
            Decimal("12345678901234567890123456789.123456789"),
        ),
        (numeric(10, 2), "-1.5", Decimal("-1.50")),
        (TEXT, "NaN", "NaN"),
        (TEXT, '"a ""quoted"", text\nof two lines"', 'a "quoted", text\nof two lines'),
        (TEXT, "", None),
        (TEXT, '""', ""),
        (TEXT, " spaces ", " spaces "),
        (INTEGER, "", None),
        (BYTEA, r"\x00ff", b"\x00\xff"),
        (JSONB, '"{""b"": 1.50,""a"": []}"', '{"a": [], "b": 1.5}'),
        (TIME, "4:05:06.50 PM", "16:05:06.5"),
        (UUID, "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        (DATE, "2020-02-29", date(2020, 2, 29)),
        (TIMESTAMP, "2013-01-01 05:00:00.123456", datetime(2013, 1, 1, 5, 0, 0, 123456)),
        (TIMESTAMPTZ, "2013-01-01T05:00:00Z", FIVE),
        (TIMESTAMPTZ, "2013-01-01 05:00:00", FIVE),
        (TIMESTAMPTZ, "2013-01-01 07:00:00+02", FIVE),
        (TIMESTAMPTZ, "2013-01-01", FIVE.replace(hour=0)),
    ],
)
def test_a_csv_field_is_the_value_it_spells(type, text, value):
    assert csv_value(type, text) == value


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        (BOOLEAN, "true", True),
        (SMALLINT, "-5", -5),
        (BIGINT, "9223372036854775807", 2**63 - 1),
        (REAL, "1.5", 1.5),
        (DOUBLE, "2", 2.0),
        (REAL, '"Infinity"', float("inf")),
        (DOUBLE, '"-Infinity"', float("-inf")),
        (numeric(38, 9), "0.1", Decimal("0.1")),
        (numeric(10, 2), '"1.25"', Decimal("1.25")),
        (TEXT, r'"\u00e9\n"', "é\n"),
        (TEXT, "null", None),
        (BYTEA, r'"\\x00ff"', b"\x00\xff"),
        (
            JSONB,
            '{"b": 12345678901234567890.10,"a":[1e2, {}]}',
            '{"a": [100, {}], "b": 12345678901234567890.1}',
        ),
        (JSONB, '"{}"', '"{}"'),
        (JSONB, "null", None),
        (UUID, '"A0EEBC999C0B4EF8BB6D6BB9BD380A11"', "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        (DATE, '"2020-02-29"', date(2020, 2, 29)),
        (TIMESTAMP, '"2013-01-01T05:00:00"', datetime(2013, 1, 1, 5)),
        (TIMESTAMPTZ, '"2013-01-01 05:00:00"', FIVE),
        (array(INTEGER), "[1, null]", [1, None]),
        (array(TEXT), '["", "a b", null]', ["", "a b", None]),
        (array(TEXT), "[]", []),
        (array(JSONB), '[{"b": 1}, 1e2]', ['{"b": 1}', "100"]),
        (array(TIMESTAMPTZ), '["2013-01-01 05:00:00"]', [FIVE]),
        (array(INTEGER), "null", None),
        (INTERVAL, '"1 mon 02:00"', Interval(1, 0, 7_200_000_000)._asdict()),
        (TIMESTAMPTZ, '"2013-01-01T06:00:00+01:00"', FIVE),
    ],
)
def test_a_json_field_is_the_value_it_spells(type, text, value):
    assert json_value(type, text) == value


def test_a_float_that_json_has_no_number_for_is_a_text_among_numbers() -> None:
    """As Debezium writes it, and Reclock's sinks. Such a text is one where the column is text, and
    no other text is a number."""
    desc = RelationDesc((Column("x", DOUBLE), Column("s", TEXT), Column("at", TIMESTAMPTZ)))
    records = b"""{"x": 1.5, "s": "NaN"}\n{"x": "NaN", "at": "2013-01-01 05:00:00"}\n{"s": "x"}\n"""
    table = decode(records, JsonFormat(), desc, key="k", offset=0)
    assert str(table["x"].to_pylist()) == "[1.5, nan, None]"
    assert table["s"].to_pylist() == ["NaN", None, "x"]
    assert table["at"].to_pylist() == [None, FIVE, None]
    first, *others = records.splitlines(keepends=True)
    for wrong in (b'"nan"', b"true", b"{}", b'"1"'):
        bad = b"".join([first, b'{"x": %s}\n' % wrong, *others])
        with pytest.raises(DecodeFailed, match=f"record at byte {len(first)} ") as failure:
            decode(bad, JsonFormat(), desc, key="k", offset=0)
        assert 'column "x" of type double precision: found ' in failure.value.detail


@pytest.mark.parametrize(
    ("type", "text"),
    [
        *[
            (BOOLEAN, "maybe"),
            (SMALLINT, "32768"),
            (INTEGER, "1.5"),
            (BIGINT, "x"),
            (REAL, "x"),
            (REAL, "1e39"),
            (DOUBLE, "-1e400"),
            (numeric(4, 2), "123.45"),
        ],
        *[
            (numeric(4, 2), "1.234"),
            (BYTEA, "ff"),
            (BYTEA, r"\xf"),
            (DATE, "2019-02-29"),
            (TIMESTAMP, "soon"),
        ],
        *[
            (TIMESTAMPTZ, "2013-01-01 25:00:00"),
            (INTEGER, '""'),
            (JSONB, "{"),
            (JSONB, "x"),
            (UUID, "x"),
            (array(INTEGER), "{x}"),
            (array(INTEGER), '"{{1},{2}}"'),
            (array(INTEGER), "1"),
            (INTERVAL, "x"),
        ],
    ],
)
def test_a_csv_field_that_does_not_fit_names_its_column(type, text):
    with pytest.raises(DecodeFailed) as failure:
        csv_value(type, text)
    assert f'column "v" of type {type}' in failure.value.detail


@pytest.mark.parametrize(
    ("type", "text"),
    [
        *[
            (BOOLEAN, "1"),
            (SMALLINT, "40000"),
            (INTEGER, "1.5"),
            (INTEGER, '"1"'),
            (DOUBLE, '"1"'),
            (REAL, "1e39"),
            (numeric(4, 2), "1.234"),
        ],
        *[
            (TEXT, "1"),
            (array(INTEGER), '["x"]'),
            (array(INTEGER), "[[1]]"),
            (array(INTEGER), '"{1}"'),
            (array(TEXT), "[1]"),
            (INTERVAL, "5"),
            (INTERVAL, '"x"'),
            (TEXT, "{}"),
            (BYTEA, '"x"'),
            (DATE, '"x"'),
            (DATE, "1"),
            (TIMESTAMP, '"x"'),
            (TIMESTAMPTZ, "5"),
        ],
    ],
)
def test_a_json_field_of_another_type_names_its_column(type, text):
    with pytest.raises(DecodeFailed) as failure:
        json_value(type, text)
    assert f'column "v" of type {type}' in failure.value.detail


@pytest.mark.parametrize(
    "column",
    [Column("n", TEXT, limit=TextLimit(3)), Column("n", char(3))],
    ids=lambda it: it.sql_type,
)
@pytest.mark.parametrize("format", [CSV, JsonFormat(), TextFormat()])
def test_a_text_that_is_longer_than_its_column_does_not_decode(format, column):
    desc = RelationDesc((column,))

    def lines(*texts):
        write = (lambda text: f'{{"n":"{text}"}}') if isinstance(format, JsonFormat) else str
        return [write(text).encode() + b"\n" for text in texts]

    good = lines("abc", "é", "ab   ", "a b")
    expected = ["abc", "é", "ab" if column.limit is None else "ab ", "a b"]
    assert decode(b"".join(good), format, desc, key="k", offset=0)["n"].to_pylist() == expected
    assert [
        column.to_pylist()
        for column in decode_messages([line[:-1] for line in good], format, desc, **AT)
    ] == [expected]
    bad = lines("x", "abcd", "abcde")
    with pytest.raises(DecodeFailed, match=f"byte {len(bad[0])} ") as failure:
        decode(b"".join(bad), format, desc, key="k", offset=0)
    assert f"value too long for type {column.sql_type}" in failure.value.detail
    with pytest.raises(DecodeFailed, match="offset 8 ") as failure:
        decode_messages([line[:-1] for line in bad], format, desc, partition="0", offsets=[7, 8, 9])
    assert f"value too long for type {column.sql_type}" in failure.value.detail


def test_a_value_of_a_schema_that_is_longer_than_its_column_does_not_decode():
    desc = RelationDesc((Column("n", TEXT, limit=TextLimit(2)),))
    assert typed_table([{"n": "é  "}, {}, {"n": "ab"}], desc)["n"].to_pylist() == ["é ", None, "ab"]
    with pytest.raises(Unreadable, match='column "n": value too long for type character varying'):
        typed_table([{"n": "ab"}, {"n": "abc"}, {"n": "abcd"}], desc)


@pytest.mark.parametrize("format", [CSV, JsonFormat()], ids=["csv", "json"])
@pytest.mark.parametrize(
    ("type", "value", "suffix"),
    [
        (numeric(4, 2), "abc", ""),
        (numeric(4, 2), "12.345", ", which has too many digits"),
        (INTEGER, "12.5", ""),
        (TIMESTAMP, "2026-13-01", ""),
        (TIMESTAMPTZ, "2026-13-01", ""),
        (TIMESTAMPTZ, "2026-01-01T25:00:00Z", ""),
        (DATE, "tomorrow", ""),
    ],
)
def test_an_invalid_value_is_named_with_its_column_in_our_words(format, type, value, suffix):
    """Arrow's messages speak of its own types, and not all of them name the column."""
    desc = RelationDesc((Column("w", TEXT), Column("v", type)))
    text = value if value[-1].isdigit() and value.count(".") == 1 else f'"{value}"'
    line = f'{{"w":"x","v":{text}}}\n' if isinstance(format, JsonFormat) else f"x,{value}\n"
    with pytest.raises(DecodeFailed) as failure:
        decode(line.encode(), format, desc, key="k", offset=0)
    sql_type = Column("v", type).sql_type
    assert (
        failure.value.detail == f"column \"v\" of type {sql_type}: invalid value '{value}'{suffix}"
    )


def test_a_value_with_too_many_digits_after_the_point_is_not_rounded():
    """PostgreSQL would round it; a source keeps what was sent, or says that it cannot."""
    desc = RelationDesc((Column("v", numeric(4, 2)),))
    for line, format in ((b"1.234\n", CSV), (b'{"v":1.234}\n', JsonFormat())):
        with pytest.raises(DecodeFailed) as failure:
            decode(line, format, desc, key="k", offset=0)
        assert "too many digits" in failure.value.detail
