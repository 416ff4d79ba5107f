"""The laws of reclocking, over the upstreams of connectors: whenever they are looked at, and
however a range is cut for reading."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from reclock.algebra.timestamps import Timestamp
from reclock.connectors.connector import Increment
from reclock.connectors.load_generators.connector import Generator
from reclock.definitions.load_generators import GENERATED
from reclock.definitions.sources import LoadGenerator
from reclock.reclocking.mint import mint
from reclock.reclocking.remap import Remap

START = 1_000

generators = st.builds(
    LoadGenerator,
    kind=st.sampled_from(sorted(GENERATED)),
    tick_interval_ms=st.integers(1, 50),
    max_cardinality=st.none(),
    scale_factor=st.just(0.00001),
) | st.builds(
    LoadGenerator,
    kind=st.just("COUNTER"),
    tick_interval_ms=st.integers(1, 50),
    max_cardinality=st.integers(1, 20),
)
moments = st.lists(st.integers(0, 300), max_size=8)


def opened(upstream: LoadGenerator, now: int = START) -> Generator:
    return Generator(upstream, GENERATED[upstream.kind], Timestamp(START), Timestamp(now))


def rows(generator: Generator, increments: list[Increment], skips=()) -> Counter:
    """Everything the tasks yield, summed up as collections do it."""
    counts: Counter = Counter()
    for task in generator.tasks(increments, skips):
        for output, table in generator.read(task):
            for row in table.to_pylist():
                counts[
                    output,
                    tuple(row[name] for name in GENERATED[generator.upstream.kind][output].names),
                ] += row.get("mz_diff", 1)
    return +counts


@given(generators, moments)
def test_whenever_it_is_probed_the_whole_is_the_same_and_offsets_are_bound_once(upstream, gaps):
    """Each probe knows nothing but the bindings before, as after a restart."""
    bindings, pieces, now = [], [], START
    for gap in gaps:
        now += gap
        frontier = Remap.of(bindings).frontier_at(Timestamp(now))
        bound = {partition: (offset,) for partition, offset in frontier.items()}
        increments = opened(upstream, now).probe(bound)
        bindings += mint(
            {increment.partition: increment.upper for increment in increments},
            frontier,
            Timestamp(now),
        )
        pieces += increments
    remap = Remap.of(bindings)
    whole = opened(upstream, now).probe({}) if gaps else []
    assert remap.frontier_at(Timestamp(now)) == {
        increment.partition: increment.upper for increment in whole
    }
    assert signed(opened(upstream, now), pieces) == signed(opened(upstream, now), whole)
    for increment in whole:
        times = [remap.time_of((), offset) for offset in range(increment.upper)]
        known = [time for time in times if time is not None]
        assert times == sorted(known)


@given(generators, st.integers(1, 120), st.integers(1, 119))
def test_reading_in_pieces_is_reading_at_once(upstream, upper, cut):
    cut = min(cut, upper)
    whole = Increment((), 0, upper, upper)
    first, second = replace(whole, upper=cut), replace(whole, lower=cut)
    generator = opened(upstream)
    at_once = signed(generator, [whole])
    in_pieces = signed(generator, [first, second])
    assert at_once == in_pieces
    assert all(count in (0, 1) for count in at_once.values())


def signed(generator: Generator, increments: list[Increment]) -> dict:
    """The sum of the diffs of each row; none is ever below zero, whatever has been read."""
    counts: dict = {}
    for task in generator.tasks(increments, ()):
        for output, table in generator.read(task):
            for row in table.to_pylist():
                key = (
                    output,
                    tuple(row[name] for name in GENERATED[generator.upstream.kind][output].names),
                )
                counts[key] = counts.get(key, 0) + row.get("mz_diff", 1)
        assert min(counts.values(), default=0) >= 0
    return counts


@given(st.integers(1, 200), st.integers(1, 30))
def test_a_counter_of_a_cardinality_holds_its_last_numbers(ticks, most):
    upstream = LoadGenerator("COUNTER", 1, most)
    found = signed(opened(upstream), [Increment((), 0, ticks, ticks)])
    assert sorted(row[0] for (_, row), count in found.items() if count) == list(
        range(max(1, ticks - most + 1), ticks + 1)
    )


@given(st.integers(2, 80))
def test_every_bid_is_on_an_auction_that_is_there_by_a_user_who_is_there(ticks):
    counts = rows(opened(LoadGenerator("AUCTION", 100)), [Increment((), 0, ticks, ticks)])
    ids = {
        output: {row[0] for of, row in counts if of == output} for output in GENERATED["AUCTION"]
    }
    assert len(ids["auctions"]) == ticks - 1
    assert {row[2] for of, row in counts if of == "bids"} <= ids["auctions"]
    assert {row[1] for of, row in counts if of in ("bids", "auctions")} <= ids["users"]
    assert {row[1] for of, row in counts if of in ("users", "accounts")} == ids["organizations"]


def test_offsets_that_are_given_up_yield_nothing():
    generator = opened(LoadGenerator("COUNTER", 1))
    assert sorted(
        row[0] for _, row in rows(generator, [Increment((), 0, 6, 6)], [("", 1, 3), ("", 5, 9)])
    ) == [1, 4, 5]
