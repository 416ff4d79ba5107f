"""Which calls have a value whatever their arguments: a filter of them moves below a join."""

from __future__ import annotations

import pytest
from fixtures.plans import call, cast, column

from reclock.algebra.relations import DATE, TEXT, TIMESTAMP
from reclock.plan.scalars import ColumnRef, Scalar
from reclock.plan.totality import could_error

A_TEXT, A_DAY = ColumnRef(0, TEXT), ColumnRef(1, DATE)


@pytest.mark.parametrize(
    "scalar",
    [
        call("lower", A_TEXT),
        call("=", call("substring", A_TEXT, 1, 3), "abc"),
        call("substr", A_TEXT, -2),
        call("substr", A_TEXT, None, 2),
        call("left", A_TEXT, -3),
        call("split_part", A_TEXT, ",", -1),
        call("extract", "year", cast(A_DAY, TIMESTAMP)),
    ],
    ids=repr,
)
def test_without_failure(scalar: Scalar) -> None:
    assert not could_error(scalar)


@pytest.mark.parametrize(
    "scalar",
    [
        call("lower", call("chr", column("i"))),
        call("substring", A_TEXT, 1, -1),
        call("substring", A_TEXT, column("i")),
        call("left", A_TEXT, column("i")),
        call("split_part", A_TEXT, ",", 0),
        call("extract", A_TEXT, cast(A_DAY, TIMESTAMP)),
    ],
    ids=repr,
)
def test_with_failure(scalar: Scalar) -> None:
    assert could_error(scalar)
