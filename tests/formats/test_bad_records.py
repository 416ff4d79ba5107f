"""The search for bad records: it finds exactly those that fail alone, the first ones first, and its
cost does not grow with their number."""

import math

import pyarrow as pa
import pytest
from fixtures.examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from reclock.algebra.relations import INTEGER, TEXT, Column, RelationDesc
from reclock.definitions.formats import CsvFormat, JsonFormat
from reclock.errors import FOUND_RECORDS, SHOWN_RECORDS, BadRecord, DecodeFailed, RecordsRejected
from reclock.formats.bad_records import decode_run, decoded_in_turn
from reclock.formats.decode import decode
from reclock.formats.values import Unreadable

PAIR = RelationDesc((Column("n", INTEGER, is_nullable=False), Column("w", TEXT)))


def bad_record(index: int, failure: Unreadable) -> BadRecord:
    return BadRecord.in_object("k", index, index + 1, failure.reason)


def searched(count: int, bad: set[int]) -> tuple[DecodeFailed, list[tuple[int, int]]]:
    """The error about these bad ones of ``count`` records, and the attempts that it took."""
    attempts: list[tuple[int, int]] = []

    def attempt(low: int, high: int) -> None:
        attempts.append((low, high))
        for index in range(low, high):
            if index in bad:
                raise Unreadable(f"reason {index}")

    with pytest.raises(DecodeFailed) as failure:
        decode_run(count, attempt, bad_record)
    return failure.value, attempts


@settings(max_examples=examples(200, 2_000))
@given(
    st.integers(1, 3_000).flatmap(
        lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1), min_size=1))
    )
)
def test_exactly_the_bad_records_are_found_up_to_the_limit(case):
    count, bad = case
    failure, attempts = searched(count, bad)
    found = [record.lower for record in failure.records]
    assert found == sorted(bad)[:FOUND_RECORDS]
    assert [record.reason for record in failure.records] == [f"reason {i}" for i in found]
    if failure.is_complete:
        assert len(found) == failure.count == len(bad)
    else:
        assert len(found) == FOUND_RECORDS
    decoded = sum(high - low for low, high in attempts)
    assert decoded <= count * (math.log2(len(found)) + 3) + 4 * len(found)
    assert len(attempts) <= 2 + len(found) * (2 * math.log2(count) + 2)


def test_where_every_record_is_bad_the_search_ends_with_the_limit():
    _, attempts = searched(1_000_000, set(range(1_000_000)))
    assert sum(high - low for low, high in attempts) < 2_500_000
    assert len(attempts) < 500


def test_a_run_that_fails_only_as_a_whole_is_still_an_error():
    def attempt(low: int, high: int) -> None:
        if high - low > 1:
            raise Unreadable("the two do not go together")

    with pytest.raises(DecodeFailed, match="byte 1 ") as failure:
        decode_run(2, attempt, bad_record)
    assert failure.value.detail == "the two do not go together"


@pytest.mark.parametrize("format", [CsvFormat(has_header=False), JsonFormat()])
def test_all_bad_records_of_an_object_are_named_with_their_bytes(format):
    is_json = isinstance(format, JsonFormat)
    lines = [f'{{"n":{i},"w":"a"}}\n' if is_json else f"{i},a\n" for i in range(1000)]
    for i in (0, 500, 501, 999):
        lines[i] = '{"n":"x"}\n' if is_json else f"x{i},a\n"
    run = "".join(lines).encode()
    starts = [sum(map(len, lines[:i])) for i in (0, 500, 501, 999)]
    with pytest.raises(RecordsRejected) as raised:
        decode(run, format, PAIR, key="o'k", offset=50)
    failure = raised.value
    spans = [
        (50 + start, 50 + start + len(lines[i]))
        for start, i in zip(starts, (0, 500, 501, 999), strict=True)
    ]
    assert [(record.lower, record.upper) for record in failure.records] == spans
    assert failure.message == '4 records do not decode, the first at byte 50 of "o\'k"'
    assert str(failure.detail).count("\n") == 3
    (a, b), (c, _), (_, d), (e, f) = spans
    assert failure.hint == (
        "correct the object and ALTER SOURCE … RETRY; or give the records up with "
        f"ALTER SOURCE … SKIP 'o''k' FROM {a} TO {b}, FROM {c} TO {d}, FROM {e} TO {f}"
    )
    skips = [(record.lower, record.upper) for record in failure.records]
    assert decode(run, format, PAIR, key="k", offset=50, skips=skips).num_rows == 996


def test_an_error_about_very_many_records_is_bounded():
    run = b"x,a\n" * 50_000
    with pytest.raises(RecordsRejected, match="at least 100 records do not decode") as raised:
        decode(run, CsvFormat(has_header=False), PAIR, key="k", offset=0)
    failure = raised.value
    lines = str(failure.detail).split("\n")
    assert len(lines) == SHOWN_RECORDS + 1
    assert lines[-1] == f"and {FOUND_RECORDS - SHOWN_RECORDS} more"
    assert str(failure.hint).endswith(
        "give the first 100 of them up with ALTER SOURCE … SKIP 'k' FROM 0 TO 400"
    )


def test_rows_after_a_bad_record_are_searched_and_not_given_out():
    rows = pa.table({"n": [1]})
    given_out = []

    def failing(lower: int) -> pa.Table:
        raise DecodeFailed("k", lower, detail="bad")

    attempts = [lambda: rows, lambda: failing(3), lambda: rows, lambda: failing(9)]
    with pytest.raises(RecordsRejected) as raised:
        given_out.extend(decoded_in_turn(attempts))
    assert given_out == [rows]
    assert [record.lower for record in raised.value.records] == [3, 9]
    assert raised.value.is_complete
