"""A column's texts and binary values are those of its values, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reclock.adapter.context.texts import texts, writer
from reclock.adapter.copy.binary_values import encode_column, value_encoder
from reclock.algebra.relations import TIMESTAMPTZ, ScalarType, numeric
from reclock.algebra.text_style import TextStyle
from reclock.collections.schema import arrow_type
from reclock.plan.functions.arithmetic import quotient

LARGEST = 10**38 - 1
numbers = st.one_of(
    st.integers(-LARGEST, LARGEST),
    st.integers(-(10**24), 10**24),
    st.integers(-100, 100),
    st.builds(
        lambda power, around: 10**power + around,
        st.integers(18, 37),
        st.integers(-(10**17), 10**17),
    ),
)


@pytest.mark.parametrize(
    "type",
    [numeric(), numeric(38, 0), numeric(20, 4), quotient(0, 20), quotient(3, 20), quotient(18, 10)],
    ids=str,
)
@given(st.lists(st.none() | numbers, min_size=1))
def test_numerics(type: ScalarType, unscaled: Sequence[int | None]) -> None:
    limit, scale = 10 ** (type.precision or 38), type.scale or 0
    values = [
        None if number is None else Decimal(f"{number}e-{scale}")
        for number in unscaled
        if number is None or abs(number) < limit
    ]
    assert_alike(values, type)


ZONES = [
    "Europe/Berlin",
    "America/St_Johns",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "UTC",
    "Africa/Monrovia",
]
moments = st.one_of(
    st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)),
    st.datetimes(datetime(1970, 1, 1), datetime(2040, 1, 1)),
    st.datetimes(datetime(2026, 3, 28, 23), datetime(2026, 3, 29, 3)),
    st.datetimes(datetime(2011, 12, 29), datetime(2012, 1, 1)),
)


@pytest.mark.parametrize("zone", ZONES)
@given(st.lists(st.none() | moments.map(lambda moment: moment.replace(tzinfo=UTC)), min_size=1))
def test_moments(zone: str, values: Sequence[datetime | None]) -> None:
    assert_alike(values, TIMESTAMPTZ, zone)


def assert_alike(values: Sequence[Any], type: ScalarType, zone: str = "UTC") -> None:
    column = pa.array(values, arrow_type(type))
    style = TextStyle(zone)
    write, encode = writer(type, style), value_encoder(type)
    assert texts(column, type, style).to_pylist() == [
        None if value is None else write(value) for value in values
    ]
    assert encode_column(column, type).to_pylist() == [
        None if value is None else encode(value) for value in values
    ]
