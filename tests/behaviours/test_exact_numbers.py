"""Numbers keep every digit on each engine, in whatever order they are added, or are errors; none is
a negative zero."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import pytest
from fixtures.engines import answer, constant, reduce, ref
from fixtures.plans import aggregate, call, cast, computed, lit

from reclock.algebra.relations import BIGINT, DOUBLE, INTEGER, REAL, TEXT, numeric
from reclock.compute.engines.engine import Engine
from reclock.errors import EvaluationError


def test_sums_that_do_not_fit_are_errors(engine: Engine) -> None:
    huge = constant(
        [numeric(38, 0), BIGINT], (Decimal(10**38 - 1), 2**63 - 1), (Decimal(1), 2**63 - 1)
    )
    assert answer(engine, reduce(huge, (), aggregate("sum", ref(huge, 1)))) == [
        (Decimal(2**64 - 2),)
    ]
    with pytest.raises(EvaluationError):
        answer(engine, reduce(huge, (), aggregate("sum", ref(huge, 0))))


def test_numbers_of_38_digits_keep_them_without_their_sign(engine: Engine) -> None:
    number = Decimal("12345678901234567890123456789.012345678")
    table = constant([numeric(38, 9)], (number,), (number.copy_negate(),))
    assert sorted(answer(engine, computed(table, call("negate", ref(table, 0))))) == [
        (number.copy_negate(),),
        (number,),
    ]
    assert answer(engine, computed(table, call("abs", ref(table, 0)))) == [(number,), (number,)]


@pytest.mark.parametrize("scale", [0, 2, 9, 18, 30, 38])
def test_a_sum_that_fits_is_found_in_any_order_of_its_values(engine: Engine, scale: int) -> None:
    """The partial sums have 39 digits and more."""
    large, several = 10**38 - 1, 5 * 10**37
    groups: list[Any] = [
        [large, large, -large],
        [-large, -large, large],
        [several, several, -1],
        [-several, None, -several, 1],
        [None],
        [3, -4],
    ]
    with localcontext(prec=80):
        rows = [
            (number, None if digits is None else Decimal(digits).scaleb(-scale))
            for number, group in enumerate(groups)
            for digits in group
        ]
        expected = [
            [value for group, value in rows if group == number and value is not None]
            for number in range(len(groups))
        ]
        sums = [(number, sum(values) if values else None) for number, values in enumerate(expected)]
        different = [
            (number, sum(set(values)) if values else None) for number, values in enumerate(expected)
        ]
    for ordered in (rows, sorted(rows, key=lambda row: (row[1] is None, row[1])), rows[::-1]):
        table = constant([INTEGER, numeric(38, scale)], *ordered)
        assert sorted(answer(engine, reduce(table, (0,), aggregate("sum", ref(table, 1))))) == sums
    assert (
        sorted(
            answer(engine, reduce(table, (0,), aggregate("sum", ref(table, 1), is_distinct=True)))
        )
        == different
    )


def test_no_computed_number_is_a_negative_zero(engine: Engine) -> None:
    table = constant([DOUBLE, REAL, TEXT], (-0.0, -0.0, "-0"), (0.0, 0.0, "-0.0"))
    double, real, text = (ref(table, place) for place in range(3))
    zeros = [
        lit(-0.0),
        call("negate", double),
        call("negate", real),
        call("*", double, -1.0),
        call("/", double, -2.0),
        call("round", call("-", double, 0.3)),
        call("ceil", call("-", double, 0.3)),
        cast(text, DOUBLE),
        cast(text, REAL),
    ]
    assert {str(value) for row in answer(engine, computed(table, *zeros)) for value in row} == {
        "0.0"
    }
    less = constant([DOUBLE], (-5e-324,), (0.0,), (0.0,), (0.0,))
    [(mean,)] = answer(engine, reduce(less, (), aggregate("avg", ref(less, 0))))
    assert str(mean) == "0.0"
