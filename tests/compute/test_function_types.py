"""Functions are typed as PostgreSQL types them."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    REAL,
    SMALLINT,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    ScalarType,
    numeric,
)
from reclock.errors import InvalidOption, TypeMismatch, UnknownFunction
from reclock.plan.functions import common_type, resolve_aggregate, resolve_cast, resolve_scalar

Types = Sequence[ScalarType | None]


def computed(type: ScalarType) -> ScalarType:
    """The type without the digits that its values print, which are compared with PostgreSQL."""
    return replace(type, least_digits=None, is_quotient=False, integral_digits=None)


@pytest.mark.parametrize(
    ("name", "given", "taken", "result"),
    [
        ("+", [SMALLINT, SMALLINT], [SMALLINT, SMALLINT], SMALLINT),
        ("+", [INTEGER, BIGINT], [BIGINT, BIGINT], BIGINT),
        ("/", [INTEGER, INTEGER], [INTEGER, INTEGER], INTEGER),
        ("+", [INTEGER, None], [INTEGER, INTEGER], INTEGER),
        ("+", [INTEGER, REAL], [DOUBLE, DOUBLE], DOUBLE),
        ("+", [REAL, REAL], [REAL, REAL], REAL),
        ("*", [numeric(10, 2), DOUBLE], [DOUBLE, DOUBLE], DOUBLE),
        ("+", [INTEGER, numeric(10, 2)], [numeric(13, 2), numeric(13, 2)], numeric(13, 2)),
        ("*", [numeric(10, 2), INTEGER], [numeric(10, 2), numeric(10, 0)], numeric(20, 2)),
        (
            "*",
            [numeric(38, 9), numeric(38, 18)],
            [numeric(38, 9), numeric(38, 18)],
            numeric(scale=18),
        ),
        ("*", [numeric(38, 9), numeric(38, 9)], [numeric(38, 9), numeric(38, 9)], numeric(38, 18)),
        (
            "*",
            [numeric(19, 19), numeric(19, 19)],
            [numeric(19, 19), numeric(19, 19)],
            numeric(38, 38),
        ),
        (
            "*",
            [numeric(38, 30), numeric(10, 2)],
            [numeric(38, 30), numeric(10, 2)],
            numeric(scale=30),
        ),
        (
            "*",
            [numeric(38, 30), numeric(38, 12)],
            [numeric(scale=18), numeric(38, 12)],
            numeric(scale=18),
        ),
        ("+", [numeric(), numeric(10, 2)], [numeric(), numeric()], numeric()),
        ("/", [numeric(38, 30), INTEGER], [numeric(scale=18), numeric(scale=18)], numeric(38, 18)),
        ("/", [numeric(4, 1), BIGINT], [numeric(38, 1), numeric(38, 1)], numeric(38, 18)),
        ("%", [numeric(10, 2), INTEGER], [numeric(12, 2), numeric(12, 2)], numeric(12, 2)),
        ("-", [DATE, DATE], [DATE, DATE], INTEGER),
        ("-", [DATE, None], [DATE, DATE], INTEGER),
        ("+", [DATE, INTEGER], [DATE, INTEGER], DATE),
        ("+", [SMALLINT, DATE], [INTEGER, DATE], DATE),
        ("+", [DATE, INTERVAL], [TIMESTAMP, INTERVAL], TIMESTAMP),
        ("+", [INTERVAL, TIMESTAMPTZ], [INTERVAL, TIMESTAMPTZ], TIMESTAMPTZ),
        ("+", [TIMESTAMP, None], [TIMESTAMP, INTERVAL], TIMESTAMP),
        ("-", [TIMESTAMP, DATE], [TIMESTAMP, TIMESTAMP], INTERVAL),
        ("-", [INTERVAL, INTERVAL], [INTERVAL, INTERVAL], INTERVAL),
        ("=", [DATE, TIMESTAMPTZ], [TIMESTAMPTZ, TIMESTAMPTZ], BOOLEAN),
        ("<", [None, None], [TEXT, TEXT], BOOLEAN),
        ("coalesce", [None, SMALLINT, numeric(6, 3)], [numeric(8, 3)] * 3, numeric(8, 3)),
        ("concat", [TEXT, INTEGER], [TEXT, TEXT], TEXT),
        ("date_trunc", [None, DATE], [TEXT, TIMESTAMPTZ], TIMESTAMPTZ),
        ("date_trunc", [None, TIMESTAMPTZ], [TEXT, TIMESTAMPTZ], TIMESTAMPTZ),
        ("sqrt", [INTEGER], [DOUBLE], DOUBLE),
        ("ceil", [numeric(10, 2)], [numeric(10, 2)], numeric(9, 0)),
        ("length", [None], [TEXT], INTEGER),
    ],
)
def test_mixed_arguments_are_taken_at_their_common_type(
    name: str, given: Types, taken: Sequence[ScalarType], result: ScalarType
) -> None:
    resolved = resolve_scalar(name, given)
    assert list(map(computed, resolved.argument_types)) == list(map(computed, taken))
    assert computed(resolved.result) == computed(result)


def test_the_digits_before_the_point_of_quotients_are_known_as_far_as_operands_say() -> None:
    average = resolve_aggregate("avg", [numeric(12, 2)]).result
    assert average.integral_digits == 10
    assert resolve_aggregate("max", [average]).result.integral_digits == 10
    assert resolve_aggregate("sum", [average]).result.integral_digits is None
    assert resolve_aggregate("avg", [numeric()]).result.integral_digits is None
    assert resolve_scalar("/", [numeric(12, 2), numeric(4, 3)]).result.integral_digits == 13
    assert resolve_scalar("*", [numeric(3, 1), average]).result.integral_digits == 12
    assert resolve_scalar("*", [average, average]).result.integral_digits is None
    assert resolve_scalar("+", [average, average]).result.integral_digits is None
    assert resolve_scalar("round", [average, INTEGER], {1: 2}).result == numeric(23, 2)


def test_rounding_to_known_digits_keeps_that_many_in_the_type() -> None:
    assert resolve_scalar("round", [numeric(38, 18), INTEGER], {1: 2}).result == numeric(23, 2)
    assert resolve_scalar("round", [numeric(10, 3), INTEGER], {1: -1}).result == numeric(8, 0)
    assert resolve_scalar("extract", [None, TIMESTAMP], {0: "Hour"}).result == numeric(38, 0)
    assert resolve_scalar("extract", [None, TIMESTAMP], {0: "epoch"}).result == numeric(38, 6)


@pytest.mark.parametrize(
    ("name", "given", "result"),
    [
        ("count", [], BIGINT),
        ("count", [BYTEA], BIGINT),
        ("sum", [SMALLINT], BIGINT),
        ("sum", [INTEGER], BIGINT),
        ("sum", [BIGINT], numeric(38, 0)),
        ("sum", [numeric(10, 2)], numeric(38, 2)),
        ("sum", [REAL], REAL),
        ("avg", [REAL], DOUBLE),
        ("avg", [INTEGER], numeric(38, 18)),
        ("avg", [DOUBLE], DOUBLE),
        ("min", [DATE], DATE),
        ("max", [TEXT], TEXT),
        ("bool_and", [BOOLEAN], BOOLEAN),
        ("string_agg", [TEXT, None], TEXT),
        ("stddev", [INTEGER], numeric(scale=18)),
        ("var_pop", [numeric(10, 2)], numeric(scale=18)),
        ("stddev", [REAL], DOUBLE),
    ],
)
def test_aggregates_answer_postgresqls_types(name: str, given: Types, result: ScalarType) -> None:
    assert computed(resolve_aggregate(name, given).result) == computed(result)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("+", [TEXT, INTEGER]),
        ("+", [DATE, DATE]),
        ("+", [BOOLEAN, BOOLEAN]),
        ("%", [DOUBLE, DOUBLE]),
        ("=", [TEXT, INTEGER]),
        ("and", [INTEGER, BOOLEAN]),
        ("concat", [INTEGER, INTEGER]),
        ("round", [DOUBLE, INTEGER]),
        ("substring", [TEXT, BIGINT]),
        ("coalesce", []),
        ("nonsense", [TEXT]),
    ],
)
def test_arguments_that_no_overload_takes_are_an_unknown_function(name: str, given: Types) -> None:
    with pytest.raises(UnknownFunction):
        resolve_scalar(name, given)


def test_aggregates_of_the_wrong_type_are_unknown_functions() -> None:
    for name, types in (
        ("sum", [TEXT]),
        ("max", [BOOLEAN]),
        ("bool_or", [INTEGER]),
        ("sum", []),
        ("sqrt", [DOUBLE]),
    ):
        with pytest.raises(UnknownFunction):
            resolve_aggregate(name, types)


def test_an_unknown_unit_of_time_names_those_there_are() -> None:
    with pytest.raises(InvalidOption, match='unit "fortnight" not recognized') as raised:
        resolve_scalar("date_trunc", [None, TIMESTAMP], {0: "fortnight"})
    assert "quarter" in (raised.value.hint or "")


def test_the_common_type_of_several() -> None:
    assert common_type([None, None]) == TEXT
    assert common_type([SMALLINT, None, BIGINT]) == BIGINT
    assert common_type([numeric(5, 4), numeric(10, 0)]) == numeric(14, 4)
    assert common_type([DATE, TIMESTAMP]) == TIMESTAMP
    assert common_type([TEXT, INTEGER]) is None


def test_casts_that_do_not_exist_are_type_mismatches() -> None:
    assert resolve_cast(None, DATE) == DATE
    assert resolve_cast(BOOLEAN, INTEGER) == INTEGER
    for source, target in (
        (BOOLEAN, BIGINT),
        (DATE, INTEGER),
        (INTERVAL, BIGINT),
        (DOUBLE, TIMESTAMP),
    ):
        with pytest.raises(TypeMismatch, match="cannot cast type"):
            resolve_cast(source, target)
