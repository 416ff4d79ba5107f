"""Values on the wire: each type in each format is read back as what was written."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fixtures.range_values import RANGE_VALUES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reclock.algebra import relations as r
from reclock.algebra.intervals import Interval
from reclock.algebra.json_documents import normal_form
from reclock.algebra.textual.times import normal_form as normal_time
from reclock.algebra.zones import UTC_CLOCK
from reclock.collections.schema import arrow_type
from reclock.compute.engines.engine import result_type
from reclock.errors import ReclockError
from reclock.server import values

FORMATS = (0, 1)
"""Text and binary."""

moments = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31))


def documents() -> st.SearchStrategy[str]:
    """In normal form."""
    texts = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]))
    scalars = (
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | texts
    )
    nested = st.recursive(
        scalars, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=10
    )
    return nested.map(lambda value: normal_form(json.dumps(value)))


VALUES = {
    r.BOOLEAN: st.booleans(),
    r.SMALLINT: st.integers(-(2**15), 2**15 - 1),
    r.INTEGER: st.integers(-(2**31), 2**31 - 1),
    r.BIGINT: st.integers(-(2**63), 2**63 - 1),
    r.REAL: st.floats(width=32, allow_nan=False),
    r.DOUBLE: st.floats(allow_nan=False),
    r.numeric(): st.decimals(-(10**28), 10**28, places=9),
    r.TEXT: st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"])),
    r.BYTEA: st.binary(),
    r.JSONB: documents(),
    r.UUID: st.uuids().map(str),
    r.TIME: st.times().map(lambda at: normal_time(str(at))),
    r.DATE: st.dates(),
    r.TIMESTAMP: moments,
    r.TIMESTAMPTZ: moments.map(lambda at: at.replace(tzinfo=UTC)),
    r.INTERVAL: st.builds(
        Interval,
        st.integers(-(2**31), 2**31 - 1),
        st.integers(-(2**31), 2**31 - 1),
        st.integers(-(2**63), 2**63 - 1),
    ),
    **RANGE_VALUES,
}


def written(value: object, type: r.ScalarType, format: int) -> bytes | None:
    """The only field of the only row."""
    batch = pa.record_batch({"a": pa.array([value], arrow_type(type))})
    message = bytes(values.encoder([type], [format])(batch).data)
    length = int.from_bytes(message[7:11], "big", signed=True)
    return None if length == -1 else message[11:]


@pytest.mark.parametrize("type", VALUES, ids=str)
def test_round_trip(type: r.ScalarType) -> None:
    @given(VALUES[type])
    def back_again(value: Any) -> None:
        for format in FORMATS:
            read: Any = values.decode(written(value, type, format), type, format, UTC_CLOCK)
            assert (float(np.float32(read)) if type == r.REAL else read) == value

    back_again()
    assert [written(None, type, format) for format in FORMATS] == [None, None]


RECORD = r.record([r.RecordField("a", r.INTEGER), r.RecordField("b", r.array(r.TEXT))])


@pytest.mark.parametrize("type", [*VALUES, r.array(r.TEXT), r.OID, RECORD], ids=str)
def test_many_rows_are_written_as_each_of_them(type: r.ScalarType) -> None:
    sample = {
        r.array(r.TEXT): st.lists(st.none() | VALUES[r.TEXT]),
        r.OID: st.integers(0, 2**32 - 1),
        RECORD: st.fixed_dictionaries(
            {"f1": st.none() | VALUES[r.INTEGER], "f2": st.lists(st.none() | VALUES[r.TEXT])}
        ),
    }.get(type, VALUES.get(type))
    if type in (r.REAL, r.DOUBLE):
        digits = st.floats(-10, 10, width=32 if type == r.REAL else 64)
        sample |= st.floats(allow_nan=True, width=32) | st.builds(
            lambda x, power: x * 10.0**power, digits, st.integers(-9, 18)
        )
    count = values._MANY_ROWS

    # drawing the values takes longer than writing them
    @given(st.lists(st.none() | sample, min_size=count, max_size=2 * count))
    @settings(max_examples=40, suppress_health_check=list(HealthCheck))
    def check(given_values: list[object]) -> None:
        column = pa.array(given_values, result_type(type))
        batch = pa.record_batch({"a": column, "b": pa.array(range(len(column)))})
        for format in FORMATS:
            encode = values.encoder([type, r.BIGINT], [format, 0])
            many = encode(batch)
            encoded_rows = [encode(batch.slice(row, 1)) for row in range(len(batch))]
            assert bytes(many.data) == b"".join(message.data for message in encoded_rows)
            assert [len(many[row : row + 1].data) for row in range(len(batch))] == [
                len(message.data) for message in encoded_rows
            ]
            some = many[3:7]
            expected = b"".join(message.data for message in encoded_rows[3:7])
            assert (len(some), bytes(some.data)) == (4, expected)

    check()


def test_batches_that_are_a_part_of_others_and_rows_without_columns() -> None:
    count = values._MANY_ROWS
    encode = values.encoder([r.INTEGER], [0])
    batch = pa.record_batch({"a": pa.array(range(3 * count), pa.int32())})
    whole = encode(batch)
    assert bytes(encode(batch.slice(count, count)).data) == bytes(whole[count : 2 * count].data)
    assert bytes(encode(batch.slice(2)).data) == bytes(whole[2:].data)
    nothing = pa.RecordBatch.from_struct_array(pa.array([{}] * count, pa.struct([])))
    assert bytes(values.encoder([], [])(nothing).data) == b"D\0\0\0\6\0\0" * count


@given(st.sampled_from(sorted(VALUES, key=str)), st.binary(max_size=40))
def test_any_bytes_are_a_value_or_an_error(type: r.ScalarType, raw: bytes) -> None:
    for format in FORMATS:
        with contextlib.suppress(ReclockError):
            values.decode(raw, type, format, UTC_CLOCK)


def test_text_is_that_of_postgresql() -> None:
    assert written(0.1, r.REAL, 0) == b"0.1"
    assert written(1e16, r.DOUBLE, 0) == b"1e+16"
    assert written(1234567.0, r.REAL, 0) == b"1.234567e+06"
    assert written(123456.5, r.REAL, 0) == b"123456.5"
    assert (
        written(datetime(2020, 1, 2, 3, 4, 5, 600_000, tzinfo=UTC), r.TIMESTAMPTZ, 0)
        == b"2020-01-02 03:04:05.6+00"
    )
    assert written(Interval(0, -1, -7_200_000_000), r.INTERVAL, 0) == b"-1 days -02:00:00"
    assert (
        written(Interval(-13, 1, 500_000), r.INTERVAL, 0) == b"-1 years -1 mons +1 day 00:00:00.5"
    )
    assert written(Decimal("12.50"), r.numeric(4, 2), 0) == b"12.50"
    assert written(date(2020, 2, 1), r.DATE, 0) == b"2020-02-01"
