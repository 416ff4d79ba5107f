"""Errors have times: an interval says at which a collection has an error in the place of rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reclock.algebra.error_intervals import (
    ErrorIntervals,
    answered_through,
    decode,
    encode,
    with_answer,
    with_error,
    without_past,
)
from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import BIGINT, Column, RelationDesc
from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.collections.lake import Lake
from reclock.errors import ErrorAtTime, EvaluationError, OutputFailed

ERRORS = {name: EvaluationError(name, sqlstate="22012", detail=f"why {name}") for name in "ab"}

refreshes = st.lists(
    st.tuples(st.integers(1, 5), st.sampled_from([None, "a", "b"])), min_size=1, max_size=8
)
"""Gaps between refreshes, and the error that each has found."""


def recorded(history: list[tuple[int, str | None]]) -> tuple[ErrorIntervals, dict[int, str | None]]:
    """The intervals, and by hand what each time has; the first refresh also says what earlier times
    had."""
    intervals: ErrorIntervals = ()
    expected: dict[int, str | None] = {}
    at = 0
    for gap, name in history:
        before, at = at, at + gap
        found = expected.get(before)
        expected |= dict.fromkeys(range(before, at), found)
        is_first = not before
        if is_first:
            expected |= dict.fromkeys(range(at), name)
        expected[at] = name
        if name is None:
            intervals = with_answer(intervals, Timestamp(at))
        else:
            intervals = with_error(intervals, Timestamp(at), ERRORS[name], is_first=is_first)
    return intervals, expected


@given(refreshes)
def test_every_time_has_the_error_that_was_found_at_the_last_refresh_up_to_it(
    history: list[tuple[int, str | None]],
) -> None:
    intervals, expected = recorded(history)
    for at, name in expected.items():
        here = [
            interval.message
            for interval in intervals
            if interval.overlaps(Timestamp(at), Timestamp(at + 1))
        ]
        assert here == ([] if name is None else [name])
    answered = [at for at, name in expected.items() if name is None]
    assert answered_through(intervals, Timestamp(max(expected) + 1)) == max(answered, default=None)
    assert decode(encode(intervals)) == intervals


@given(refreshes, st.integers(0, 20))
def test_what_lies_before_since_is_forgotten_and_nothing_else(
    history: list[tuple[int, str | None]], since: int
) -> None:
    intervals, expected = recorded(history)
    remaining = without_past(intervals, Timestamp(since))
    for at in (at for at in expected if at >= since):
        whole = [
            interval
            for interval in intervals
            if interval.overlaps(Timestamp(at), Timestamp(at + 1))
        ]
        assert [
            interval
            for interval in remaining
            if interval.overlaps(Timestamp(at), Timestamp(at + 1))
        ] == whole
    assert all(interval.upper is None or interval.upper > since for interval in remaining)


def test_the_same_error_goes_on_and_another_takes_its_place() -> None:
    once = with_error((), Timestamp(5), ERRORS["a"], is_first=False)
    assert with_error(once, Timestamp(9), ERRORS["a"], is_first=False) == once
    twice = with_error(once, Timestamp(9), ERRORS["b"], is_first=False)
    assert [(interval.lower, interval.upper, interval.message) for interval in twice] == [
        (5, 9, "a"),
        (9, None, "b"),
    ]
    assert answered_through(twice, Timestamp(20)) == 4


def test_the_error_that_a_reader_gets_says_when() -> None:
    lasting = with_error((), Timestamp(5), ERRORS["a"], is_first=False)
    raised = lasting[0].error()
    assert (raised.sqlstate, raised.message, raised.detail) == ("22012", "a", "why a")
    assert (
        raised.hint
        == "the view has no answer from 5; it has one again as soon as its query succeeds"
    )
    [over] = with_answer(lasting, Timestamp(9))
    assert over.error().hint == "there is no answer from 5 to 8"


def test_a_failure_that_an_earlier_release_recorded_is_an_error_until_the_next_answer(
    tmp_path: Path,
) -> None:
    """It wrote a file of its own, which a number in the table's log names."""
    lake, id = Lake(str(tmp_path)), StorageCollectionId(GlobalId("u1"))
    collection = lake.create(id, RelationDesc((Column("n", BIGINT),)))
    collection.seal(expected_upper=MINIMUM, new_upper=Timestamp(5))
    failures = Path(collection.uri.removeprefix("file://")) / "_failures"
    failures.mkdir()
    (failures / "5.json").write_text(json.dumps({"message": "gone", "detail": "it was"}))
    assert collection._log.commit([], {str(id): 6, f"{id}#failed": 5})
    version = collection.pin()
    version.check(Timestamp(4))
    for at in (5, 9):
        with pytest.raises(OutputFailed, match="gone") as raised:
            version.check(Timestamp(at))
        assert raised.value.detail == "it was"
    answered = with_answer(version.errors, Timestamp(7))
    collection.seal(expected_upper=Timestamp(6), new_upper=Timestamp(8), errors=answered)
    version = lake.open(id).pin()
    version.check(Timestamp(7))
    with pytest.raises(ErrorAtTime, match="gone"):
        version.check(Timestamp(6))
