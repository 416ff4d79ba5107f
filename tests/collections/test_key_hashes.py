"""Equal keys have equal hashes, whatever their types."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from reclock.algebra.relations import DIFF_COLUMN, Column, RelationDesc, ScalarType, TypeName
from reclock.collections.key_counts import KeyCounts
from reclock.collections.key_hashes import KeyColumns
from reclock.collections.schema import arrow_schema

SAMPLES: dict[TypeName, list[Any]] = {
    TypeName.BOOLEAN: [True, False],
    TypeName.SMALLINT: [0, -1, 32_767],
    TypeName.INTEGER: [0, -1, 2**31 - 1],
    TypeName.BIGINT: [0, -1, 2**63 - 1],
    TypeName.REAL: [0.0, -1.5, float("inf"), float("nan")],
    TypeName.DOUBLE: [0.0, -1.5, float("inf"), float("nan")],
    TypeName.NUMERIC: [Decimal(0), Decimal("-1.5"), Decimal("12345678901234567890.5")],
    TypeName.TEXT: ["", "a", "ä"],
    TypeName.BYTEA: [b"", b"a", b"\xff"],
    TypeName.JSONB: ["{}", "[1]"],
    TypeName.DATE: [date(1970, 1, 1), date(2020, 2, 29)],
    TypeName.TIMESTAMP: [datetime(1970, 1, 1), datetime(2020, 2, 29, 1, 2, 3, 4)],
    TypeName.TIMESTAMPTZ: [datetime(1970, 1, 1), datetime(2020, 2, 29, 1, 2, 3, 4)],
    TypeName.OID: [0, 2**32 - 1],
}


def table(*columns: tuple[ScalarType, list[Any]]) -> pa.Table:
    desc = RelationDesc(tuple(Column(f"c{i}", type) for i, (type, _) in enumerate(columns)))
    schema = arrow_schema(desc, with_updates=False)
    return pa.table(
        [pa.array(values, field.type) for (_, values), field in zip(columns, schema, strict=True)],
        schema,
    )


@pytest.mark.parametrize("name", SAMPLES)
def test_equal_values_have_equal_hashes_and_others_others(name: TypeName) -> None:
    values = SAMPLES[name]
    rows = table((ScalarType(name), [*values, None, *values]))
    hashes, has_key = KeyColumns(("c0",)).hashes(rows.slice(1))
    half = len(values)
    assert list(has_key) == [True] * (half - 1) + [False] + [True] * half
    assert list(hashes[: half - 1]) == list(hashes[half + 1 :])
    assert len(set(hashes[half:].tolist())) == half


def test_there_is_one_zero_and_integers_of_all_widths_are_equal() -> None:
    key = KeyColumns(("c0",))
    for name, values in ((TypeName.DOUBLE, [0.0, -0.0]), (TypeName.REAL, [0.0, -0.0])):
        hashes, _ = key.hashes(table((ScalarType(name), values)))
        assert hashes[0] == hashes[1]
    widths = [
        key.hashes(table((ScalarType(name), [-7])))[0][0]
        for name in (TypeName.SMALLINT, TypeName.INTEGER, TypeName.BIGINT)
    ]
    assert len(set(widths)) == 1


def test_the_order_of_columns_counts_and_nulls_are_equal_if_the_key_says_so() -> None:
    rows = table(
        (ScalarType(TypeName.INTEGER), [1, 2, None, None]),
        (ScalarType(TypeName.TEXT), ["x", "x", "x", "x"]),
    )
    hashes, has_key = KeyColumns(("c0", "c1"), are_nulls_equal=True).hashes(rows)
    assert has_key.all()
    assert len(set(hashes.tolist())) == 3
    assert list(KeyColumns(("c0", "c1")).hashes(rows)[1]) == [True, True, False, False]
    assert hashes[0] != KeyColumns(("c1", "c0")).hashes(rows)[0][0]


def test_net_counts_leave_out_keys_that_come_and_go() -> None:
    rows = table((ScalarType(TypeName.INTEGER), [1, 1, 2, 3, 3])).append_column(
        DIFF_COLUMN, pa.array([1, -1, 1, -1, -1])
    )
    hashes, counts = KeyColumns(("c0",)).net_counts(rows)
    assert sorted(counts.tolist()) == [-2, 1]
    kept = KeyCounts()
    kept.add(hashes, counts)
    kept.add(hashes, -counts)
    assert not kept.few


def test_many_counts_and_few_add_up() -> None:
    hashes = np.arange(20_000, dtype=np.uint64)
    counts = KeyCounts()
    counts.add(hashes, np.ones(20_000, np.int64))
    counts.add(hashes[:3], np.array([-1, 2, 1]))
    counts.add(hashes, np.full(20_000, 2))
    assert list(counts.counts(np.array([0, 1, 2, 19_999, 20_000], np.uint64))) == [2, 5, 4, 3, 0]
