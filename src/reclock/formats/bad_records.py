"""Finds the records that do not decode, in a bounded number of attempts at decoding parts of a run.

A run of records usually decodes in one attempt. If it does not, halves of it are tried, and halves
of those that fail. To find ``k`` bad records among ``n``, this decodes every record about
``log2(k) + 2`` times, and a few records more often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import pyarrow as pa

from reclock.errors import FOUND_RECORDS, BadRecord, DecodeFailed
from reclock.formats.values import Unreadable

R = TypeVar("R")
Attempt = Callable[[int, int], R]
"""Decodes the records ``[low, high)`` of a run. Raises ``Unreadable`` for one of them."""


def decode_run(
    count: int, attempt: Attempt[R], bad_record: Callable[[int, Unreadable], BadRecord]
) -> R:
    """The ``count`` records of a run. Raises ``DecodeFailed`` for the bad records among them, which
    ``bad_record`` describes: at most the first ``FOUND_RECORDS``."""
    try:
        return attempt(0, count)
    except Unreadable as failure:
        raise search(count, attempt, failure, bad_record) from failure


def search(
    count: int,
    attempt: Attempt[R],
    failure: Unreadable,
    bad_record: Callable[[int, Unreadable], BadRecord],
) -> DecodeFailed:
    """The error for a run of which an attempt to decode the whole has failed."""

    def tried(low: int, high: int) -> Unreadable | None:
        try:
            attempt(low, high)
        except Unreadable as failure:
            return failure
        return None

    records: list[BadRecord] = []
    remaining: list[tuple[int, int, Unreadable | None]] = [(0, count, failure)]
    """The parts that are not searched yet, the first last; each with its failure, if it was
    tried."""
    while remaining and len(records) < FOUND_RECORDS:
        low, high, known = remaining.pop()
        known = known or tried(low, high)
        if known is None:
            continue
        if high - low == 1:
            records.append(bad_record(low, tried(low, high) or known))
            continue
        middle = (low + high) // 2
        if (left := tried(low, middle)) is None:
            remaining.append((middle, high, known))
        else:
            remaining += [(middle, high, None), (low, middle, left)]
    return DecodeFailed.of(records, count=len(records), is_complete=not remaining)


def decoded_in_turn(attempts: Iterable[Callable[[], pa.Table]]) -> Iterator[pa.Table]:
    """The rows of each of ``attempts``, in order, up to the first that raises ``DecodeFailed``. The
    later ones are only searched for bad records. Raises ``DecodeFailed`` for those of all
    attempts."""
    failures: list[DecodeFailed] = []
    is_complete = True
    for attempt in attempts:
        if sum(failure.count for failure in failures) >= FOUND_RECORDS:
            is_complete = False
            break
        try:
            rows = attempt()
        except DecodeFailed as failure:
            failures.append(failure)
        else:
            if not failures:
                yield rows
    if failures:
        raise DecodeFailed.merged(failures, is_complete=is_complete)
