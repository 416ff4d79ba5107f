"""The overview: what is known of sources and indexes, in order, and the staircase of a source as a picture."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from reclock.adapter.query.overview import overview_of
from reclock.adapter.session.session import Session
from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.introspection.overview import (
    STAIRS,
    ObjectHealth,
    Overview,
    PartitionOverview,
    SourceOverview,
    Stair,
    staircase,
)
from reclock.introspection.page import PLOT_HEIGHT, PLOT_WIDTH, duration, render, stairs_path
from reclock.quality.docs_index import Entry
from reclock.reclocking.mint import Binding
from reclock.reclocking.remap import Remap
from reclock.runtime.environment import Environment

BINDINGS = st.lists(
    st.builds(Binding, st.sampled_from("abc"), st.integers(1, 50).map(Timestamp), st.integers(1, 100)), min_size=1, max_size=30
)


@given(BINDINGS)
def test_the_staircase_sums_all_partitions_and_only_rises(bindings: list[Binding]) -> None:
    stairs = staircase(Remap.of(bindings))
    assert stairs[-1].total == sum(binding.increment for binding in bindings)
    assert [stair.at for stair in stairs] == sorted({binding.time for binding in bindings})
    assert all(lower.total < upper.total for lower, upper in pairwise(stairs))


def test_of_a_long_staircase_the_end_is_shown() -> None:
    stairs = staircase(Remap.of([Binding("a", Timestamp(at), 1) for at in range(1, STAIRS + 10)]))
    assert len(stairs) == STAIRS
    assert stairs[-1] == Stair(Timestamp(STAIRS + 9), STAIRS + 9)


@given(BINDINGS, st.integers(0, 100))
def test_the_path_stays_within_the_plot_and_ends_at_its_right_edge(bindings: list[Binding], now: int) -> None:
    path = stairs_path(staircase(Remap.of(bindings)), Timestamp(now)).split()
    letters, numbers = path[3::2], [float(number) for number in path[4::2]]
    assert path[:3] == ["M", "0", str(PLOT_HEIGHT)]
    assert set(letters) == {"H", "V"}
    assert all(
        0 <= number <= (PLOT_WIDTH if letter == "H" else PLOT_HEIGHT) for letter, number in zip(letters, numbers, strict=True)
    )
    assert (letters[-1], numbers[-1]) == ("H", PLOT_WIDTH)
    across = [number for letter, number in zip(letters, numbers, strict=True) if letter == "H"]
    assert across == sorted(across)


def test_nothing_bound_is_no_path() -> None:
    assert stairs_path((), Timestamp(5)) == ""


def test_durations_are_told_in_their_largest_unit() -> None:
    assert [duration(ms) for ms in (0, 999, 1_000, 61_000, 7_300_000, 200_000_000)] == [
        "0 ms",
        "999 ms",
        "1 s",
        "1 min",
        "2 h",
        "2 d",
    ]


def test_names_and_errors_are_escaped_in_the_page() -> None:
    evil = "<script>alert(1)</script>"
    standing = ObjectHealth(GlobalId("u1"), evil, "stalled", evil, evil, evil, Timestamp(1), Timestamp(2), 3, Timestamp(2), evil)
    audit = Entry(evil, 1, "failed", [evil], [], 0, 0, "", evil)
    source = SourceOverview(standing, 1, (PartitionOverview(evil, 1, Timestamp(1)),), (Stair(Timestamp(1), 1),), audit)
    page = render(Overview(Timestamp(5), (source,), (replace(standing, id=GlobalId("u2")),), (evil,)), docs_url="/docs/")
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_a_new_environment_shows_its_sources_and_indexes(tmp_path: Path) -> None:
    (tmp_path / "buckets" / "b").mkdir(parents=True)
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        source = "CREATE SOURCE {} (k text) FROM S3 DISCOVER OBJECTS MATCHING '**' USING BUCKET SCAN 'b' FORMAT CSV WITH HEADER"
        for name in ("weather", "flights"):
            list(session.execute(source.format(name)))
        list(session.execute("CREATE MATERIALIZED VIEW v AS SELECT k FROM flights"))
        found = overview_of(environment)
    assert [source.standing.name for source in found.sources] == ["reclock.public.flights", "reclock.public.weather"]
    assert [source.partition_count for source in found.sources] == [0, 0]
    assert len(found.indexes) == 1
    assert found.clusters == ("default",)
    assert all(source.standing.lag_ms >= 0 for source in found.sources)
    assert "Nothing is bound yet" in render(found, docs_url="/docs/")
