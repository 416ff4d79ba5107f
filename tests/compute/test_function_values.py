"""Functions answer what PostgreSQL answers: values that were taken from its documentation or follow
from its rules."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from fixtures.plans import call, cast, computed, lit, rows

from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    RelationDesc,
    numeric,
)
from reclock.algebra.timestamps import Timestamp
from reclock.compute.engines.duckdb import DuckDbEngine
from reclock.plan.relational import Constant, Finishing
from reclock.plan.scalars import Scalar

D, T = Decimal, dt.datetime
MOMENT = T(2001, 2, 16, 20, 38, 40, 120000)
CASES: list[tuple[Scalar, Any]] = [
    (call("/", 7, 2), 3),
    (call("/", -7, 2), -3),
    (call("%", -7, 3), -1),
    (call("&", -7, 12), 8),
    (call("|", 5, 10), 15),
    (call("%", D("-5.5"), 2), D("-1.5")),
    (call("/", D("1.0"), 3), D("0.333333333333333333")),
    (call("/", D("-2"), D("3")), D("-0.666666666666666667")),
    (
        call(
            "/",
            cast(D("12345678901234567890.123456789"), numeric()),
            cast(D("98765432109876543210.987654321"), numeric()),
        ),
        D("0.124999998860937500"),
    ),
    (call("/", D("1"), D("2000000000000000000")), D("0.000000000000000001")),
    (call("/", D("-1"), D("2000000000000000000")), D("-0.000000000000000001")),
    (call("*", D("1.5"), D("2.25")), D("3.375")),
    (call("round", D("42.4382"), 2), D("42.44")),
    (call("round", D("-2.5")), D("-3")),
    (call("round", 2.5), 2.0),
    (call("round", D("1234.56"), -1), D("1230")),
    (call("trunc", D("-42.8")), D("-42")),
    (call("ceil", D("-42.8")), D("-42")),
    (call("floor", -42.8), -43.0),
    (call("sign", D("-8.4")), D("-1")),
    (call("greatest", 1, None, 3), 3),
    (call("power", 9.0, 3.0), 729.0),
    (call("length", "jose"), 4),
    (call("substring", "Thomas", 2, 3), "hom"),
    (call("substring", "hello", -1, 4), "he"),
    (call("trim", "yxTomxx", "xyz"), "Tom"),
    (call("ltrim", "zzzytest", "xyz"), "test"),
    (call("position", "Thomas", "om"), 3),
    (call("strpos", "high", "ig"), 2),
    (call("lpad", "hi", 5, "xy"), "xyxhi"),
    (call("rpad", "hi", 5, "xy"), "hixyx"),
    (call("left", "abcde", -2), "abc"),
    (call("right", "abcde", -2), "cde"),
    (call("split_part", "abc~@~def~@~ghi", "~@~", 2), "def"),
    (call("split_part", "abc,def,ghi,jkl", ",", -2), "ghi"),
    (call("repeat", "Pg", 4), "PgPgPgPg"),
    (call("reverse", "abcde"), "edcba"),
    (call("concat_ws", ",", "abcde", 2, None, 22), "abcde,2,22"),
    (call("md5", "abc"), "900150983cd24fb0d6963f7d28e17f72"),
    (call("like", "abc", "_b_"), True),
    (call("like", "a%c", "a\\%c"), True),
    (call("like", "abc", "a\\%c"), False),
    (call("ilike", "ABC", "a%"), True),
    (call("date_trunc", "hour", MOMENT), T(2001, 2, 16, 20)),
    (call("date_trunc", "week", MOMENT), T(2001, 2, 12)),
    (call("date_trunc", "quarter", MOMENT), T(2001, 1, 1)),
    (call("extract", "epoch", MOMENT), D("982355920.120000")),
    (call("extract", "second", MOMENT), D("40.120000")),
    (call("extract", "milliseconds", MOMENT), D("40120.000")),
    (call("extract", "dow", MOMENT), D(5)),
    (call("extract", "isodow", T(2001, 2, 18)), D(7)),
    (call("extract", "doy", MOMENT), D(47)),
    (call("extract", "week", T(2005, 1, 1)), D(53)),
    (call("extract", "isoyear", T(2006, 1, 1)), D(2005)),
    (call("date_part", "hour", MOMENT), 20.0),
    (call("+", dt.date(2001, 9, 28), 7), dt.date(2001, 10, 5)),
    (call("-", dt.date(2001, 10, 1), dt.date(2001, 9, 28)), 3),
    (call("+", dt.date(2001, 9, 28), dt.timedelta(hours=1)), T(2001, 9, 28, 1)),
    (
        call("-", T(2001, 9, 29, 3), T(2001, 7, 27, 12)),
        {"months": 0, "days": 63, "microseconds": 54_000_000_000},
    ),
    (call("to_timestamp", 1284352323.0), T(2010, 9, 13, 4, 32, 3, tzinfo=dt.UTC)),
    (call("make_date", 2013, 7, 15), dt.date(2013, 7, 15)),
    (cast(D("2.5"), INTEGER), 3),
    (cast(2.5, INTEGER), 2),
    (cast(D("-0.5"), BIGINT), -1),
    (cast(0.125, numeric(10, 2)), D("0.13")),
    (cast(D("12345.678"), numeric(7, 2)), D("12345.68")),
    (cast(" 42 ", INTEGER), 42),
    (cast("1e3", DOUBLE), 1000.0),
    (cast("yes", BOOLEAN), True),
    (cast("of", BOOLEAN), False),
    (cast("1999-01-08", DATE), dt.date(1999, 1, 8)),
    (cast("1999-01-08 04:05:06.789", TIMESTAMP), T(1999, 1, 8, 4, 5, 6, 789000)),
    (cast("1999-01-08 04:05:06-08", TIMESTAMPTZ), T(1999, 1, 8, 12, 5, 6, tzinfo=dt.UTC)),
    (cast(T(1999, 1, 8, 4, 5, 6), TEXT), "1999-01-08 04:05:06"),
    (cast(T(1999, 1, 8, 4, 5, 6, tzinfo=dt.UTC), TEXT), "1999-01-08 04:05:06+00"),
    (cast(b"\xde\xad", TEXT), "\\xdead"),
    (cast(1.0, TEXT), "1"),
    (cast(True, TEXT), "true"),
]
ONE_ROW = Constant(((),), RelationDesc(()))


@pytest.fixture(scope="module")
def engine() -> DuckDbEngine:
    return DuckDbEngine()


@pytest.mark.parametrize(("scalar", "expected"), CASES)
def test_the_value_is_postgresqls(scalar: Scalar, expected: Any, engine: DuckDbEngine) -> None:
    ((value,),) = rows(engine.run(computed(ONE_ROW, scalar), Finishing(), {}, Timestamp(0)))
    assert value == expected
    assert type(value) is type(expected)
    if isinstance(expected, Decimal):
        assert value.as_tuple().exponent <= expected.as_tuple().exponent


def test_nulls_go_through(engine: DuckDbEngine) -> None:
    for name, arguments in (
        ("+", (None, lit(1))),
        ("concat", (None, "a")),
        ("like", (None, "a")),
        ("nullif", (lit(1), lit(1))),
    ):
        ((found,),) = rows(
            engine.run(computed(ONE_ROW, call(name, *arguments)), Finishing(), {}, Timestamp(0))
        )
        assert found is None
