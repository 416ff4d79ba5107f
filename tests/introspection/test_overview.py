"""The overview: what is known of sources and indexes, in order, and the staircase of a source as a
picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import pytest
from fixtures.stalled import stall
from hypothesis import given
from hypothesis import strategies as st

from reclock.adapter.query.overview import object_of, overview_of
from reclock.adapter.session.session import Session
from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp, system_clock
from reclock.consensus.objects.statistics import Total
from reclock.consensus.objects.statuses import Status
from reclock.errors import UpstreamUnavailable
from reclock.introspection.delays import delaying_object, with_derived
from reclock.introspection.overview import (
    STAIRS,
    LastRefresh,
    ObjectDetail,
    ObjectOverview,
    Overview,
    PartitionOverview,
    RecentError,
    Stair,
    WayOut,
    in_order,
    recent_errors,
    staircase,
)
from reclock.introspection.page import (
    PLOT_HEIGHT,
    PLOT_WIDTH,
    duration,
    render,
    render_confirmation,
    render_object,
    size,
    stairs_path,
)
from reclock.pipeline import source_steps
from reclock.quality.docs_index import Entry
from reclock.reclocking.mint import Binding
from reclock.reclocking.remap import Remap
from reclock.runtime.environment import Environment
from reclock.sql.names import SessionNames

BINDINGS = st.lists(
    st.builds(
        Binding, st.sampled_from("abc"), st.integers(1, 50).map(Timestamp), st.integers(1, 100)
    ),
    min_size=1,
    max_size=30,
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
def test_the_path_stays_within_the_plot_and_ends_at_its_right_edge(
    bindings: list[Binding], now: int
) -> None:
    path = stairs_path(staircase(Remap.of(bindings)), Timestamp(now)).split()
    letters, numbers = path[3::2], [float(number) for number in path[4::2]]
    assert path[:3] == ["M", "0", str(PLOT_HEIGHT)]
    assert set(letters) == {"H", "V"}
    assert all(
        0 <= number <= (PLOT_WIDTH if letter == "H" else PLOT_HEIGHT)
        for letter, number in zip(letters, numbers, strict=True)
    )
    assert (letters[-1], numbers[-1]) == ("H", PLOT_WIDTH)
    across = [number for letter, number in zip(letters, numbers, strict=True) if letter == "H"]
    assert across == sorted(across)


def test_nothing_bound_is_no_path() -> None:
    assert stairs_path((), Timestamp(5)) == ""


def test_sizes_are_told_in_a_unit_in_which_they_are_short() -> None:
    assert [size(count) for count in (0, 999, 1_000, 1_250_000, 10**16)] == [
        "0 bytes",
        "999 bytes",
        "1.0 kB",
        "1.2 MB",
        "10000.0 TB",
    ]


def test_durations_are_told_in_their_largest_unit() -> None:
    assert [duration(ms) for ms in (0, 999, 1_000, 61_000, 7_300_000, 200_000_000)] == [
        "0 ms",
        "999 ms",
        "1 s",
        "1 min",
        "2 h",
        "2 d",
    ]


EVIL = "<script>alert(1)</script>"


def an_object(name: str = "o", **fields: Any) -> ObjectOverview:
    return ObjectOverview(GlobalId(name), name, **{"type": "source", "status": "running"} | fields)


def test_names_and_errors_are_escaped_in_the_pages() -> None:
    audit = Entry(EVIL, 1, "failed", [EVIL], [], 0, 0, "", EVIL)
    way_out = WayOut(EVIL, EVIL, EVIL)
    total = Total(EVIL, Timestamp(1), 1, 1, 1, 1)
    fields = dict.fromkeys(
        (
            "type",
            "status",
            "error",
            "detail",
            "hint",
            "culprit",
            "cluster",
            "claim_phase",
            "claim_owner",
        ),
        EVIL,
    )
    evil = an_object(
        EVIL,
        **fields,
        audit=audit,
        ways_out=(way_out,),
        total=total,
        refresh=LastRefresh(EVIL, 1, 1),
        claimed_at=Timestamp(1),
    )
    partitions, stairs = (PartitionOverview(EVIL, 1, Timestamp(1)),), (Stair(Timestamp(1), 1),)
    history = (Status(EVIL, EVIL, EVIL, EVIL, EVIL, Timestamp(1)),)
    detail = ObjectDetail(
        replace(evil, type="source"), (evil,), (evil,), history, 1, partitions, stairs, (audit,)
    )
    overview = Overview(
        Timestamp(5), (evil,), (EVIL,), (), (RecentError(Timestamp(1), EVIL, EVIL, False),)
    )
    for page in (
        render(overview, root="/"),
        render_object(detail, Timestamp(5), root="/"),
        render_confirmation(detail, way_out, root="/", token=EVIL),
    ):
        assert page.count("<script") == 1, "more than the page's own"
        assert "&lt;script&gt;" in page


def test_problems_come_first_then_what_is_late_then_names() -> None:
    objects = [
        an_object("b"),
        an_object("late", status="late", lag_ms=10),
        an_object("later", status="late", lag_ms=20),
        an_object("failing", status="failing"),
        an_object("a"),
        an_object("stalled", status="stalled"),
        an_object("broken", status="broken"),
    ]
    assert [it.name for it in in_order(objects)] == [
        "broken",
        "stalled",
        "failing",
        "later",
        "late",
        "a",
        "b",
    ]


def test_of_recent_errors_those_that_an_object_still_has_are_marked() -> None:
    def status(name: str, error: str | None, at: int) -> Status:
        return Status(name, "stalled" if error else "running", error, None, None, Timestamp(at))

    history = [
        status("u1", "one", 1),
        status("u1", None, 2),
        status("u1", "two", 3),
        status("gone", "three", 4),
    ]
    current = {"u1": history[2]}
    assert recent_errors(history, current, {"u1": "a"}) == (
        RecentError(Timestamp(3), "a", "two", is_over=False),
        RecentError(Timestamp(1), "a", "one", is_over=True),
    )


# view -> join -> (slow -> upstream), fast
DEPENDENCIES = {
    "view": ["join"],
    "join": ["slow", "fast"],
    "slow": ["upstream"],
    "fast": [],
    "upstream": [],
}


@pytest.mark.parametrize(
    ("uppers", "stalled", "expected"),
    [
        ({"view": 5, "join": 5, "slow": 5, "fast": 9, "upstream": 5}, {}, "upstream"),
        ({"view": 5, "join": 5, "slow": 5, "fast": 9, "upstream": 9}, {}, "slow"),
        ({"view": 5, "join": 7, "slow": 7, "fast": 9, "upstream": 9}, {}, None),  # late of itself
        ({"view": 5, "join": 5, "slow": 9, "fast": 9, "upstream": 9}, {}, "join"),
        ({"view": 5, "join": 5, "slow": 5, "fast": 5}, {"fast"}, "fast"),
        ({"view": 5, "join": 5, "slow": 4, "fast": 5}, {"fast"}, "slow"),
        ({"view": 5}, {}, None),
    ],
)
def test_the_culprit_is_the_end_of_the_path_of_the_latest(
    uppers: dict[str, int], stalled: set[str], expected: str | None
) -> None:
    known_uppers = {GlobalId(id): Timestamp(upper) for id, upper in uppers.items()}
    graph = {GlobalId(id): [GlobalId(other) for other in on] for id, on in DEPENDENCIES.items()}
    assert (
        delaying_object(
            GlobalId("view"), known_uppers, graph.__getitem__, {GlobalId(id) for id in stalled}
        )
        == expected
    )


def test_a_circle_of_dependencies_ends() -> None:
    a, b, c = (GlobalId(name) for name in "abc")
    assert (
        delaying_object(a, {a: Timestamp(1), b: Timestamp(1)}, {a: [b], b: [a]}.__getitem__, set())
        == b
    )
    assert with_derived({c: Timestamp(3)}, {a: [b, c], b: [a], c: []})[a] == 3


def test_a_view_without_an_upper_is_complete_as_far_as_what_it_reads() -> None:
    view, join, first, second, constant = (
        GlobalId(name) for name in ("view", "join", "one", "two", "constant")
    )
    graph = {view: [join], join: [first, second], first: [], second: [], constant: []}
    derived = with_derived({first: Timestamp(3), second: Timestamp(5)}, graph)
    assert (derived[view], derived[join]) == (3, 3)
    assert constant not in derived


@pytest.fixture
def stalled_view(tmp_path: Path) -> Iterator[tuple[Environment, str]]:
    """A source that is stalled, with its id, and a view that has all of it. Nothing else is
    there."""
    (tmp_path / "buckets" / "b").mkdir(parents=True)
    with Environment.initialise(tmp_path) as environment:
        list(
            Session(environment).execute(
                "CREATE SOURCE s (a text) FROM S3 DISCOVER OBJECTS MATCHING '*' USING BUCKET SCAN "
                "'b' FORMAT CSV; CREATE MATERIALIZED VIEW v AS SELECT count(*) FROM s"
            )
        )
        id = stall(environment, "s")
        frontiers = environment.stores.frontiers
        indexes = [entry.id for entry in environment.stores.planner_catalog().indexes()]
        frontiers.advance_idle(indexes, frontiers.get(id).upper)
        yield environment, id


def test_a_stalled_source_holds_back_a_view_that_has_all_of_it(
    stalled_view: tuple[Environment, str],
) -> None:
    source, view = overview_of(stalled_view[0]).objects
    assert (source.status, source.culprit) == ("stalled", None)
    assert (view.status, view.culprit) == ("late", "reclock.public.s")


def test_a_source_whose_upstream_does_not_answer_waits_for_the_next_tick(
    stalled_view: tuple[Environment, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unavailable(*_: object) -> NoReturn:
        raise UpstreamUnavailable("the server does not answer")

    environment, id = stalled_view
    monkeypatch.setattr(source_steps, "_ingest_at_possible_time", unavailable)
    with pytest.raises(UpstreamUnavailable):
        source_steps.ingest(environment, "s", 1, owner="tests")
    assert object_of(environment, id).object.hint == "the next tick tries again"


def test_a_source_without_its_history_is_held_back_by_its_backfill(tmp_path: Path) -> None:
    (tmp_path / "buckets" / "b").mkdir(parents=True)
    with Environment.initialise(tmp_path) as environment:
        list(
            Session(environment).execute(
                "CREATE SOURCE s (a text) FROM S3 DISCOVER OBJECTS MATCHING '*' USING BUCKET SCAN "
                "'b' FORMAT CSV WITH (START '2026-03-01')"
            )
        )
        environment.control_plane.storage_controller.step()
        [source] = overview_of(environment).objects
    assert source.culprit == "its backfill"


@pytest.mark.parametrize(
    ("minutes_later", "status", "problems"), [(1, "created", 0), (3, "interrupted", 1)]
)
def test_a_claim_that_nobody_works_on_is_a_problem(
    minutes_later: int, status: str, problems: int, tmp_path: Path
) -> None:
    """A killed tick leaves its claim. A task that has released it for the next one is none."""
    later_ms = [0]

    def clock() -> Timestamp:
        return Timestamp(system_clock() + later_ms[0])

    with Environment.initialise(tmp_path, clock=clock) as environment:
        session = Session(environment)
        list(session.execute("CREATE SOURCE s FROM LOAD GENERATOR COUNTER"))
        environment.control_plane.storage_controller.step()
        source = environment.stores.planner_catalog().resolve(("s",), SessionNames())
        at = environment.stores.frontiers.get(source.id).upper
        environment.stores.frontiers.claim(
            source.id, at=at, payload={}, owner="tick-7", lease_ms=60_000
        )
        later_ms[0] = minutes_later * 60_000
        overview = overview_of(environment)
    assert overview.problems == problems
    [entry] = overview.objects
    assert entry.status == status
    assert ("tick-7" in str(entry.error), "reclock tick" in str(entry.hint)) == (
        (problems == 1,) * 2
    )


def test_after_a_decision_no_other_one_is_proposed(stalled_view: tuple[Environment, str]) -> None:
    environment, id = stalled_view
    assert "SKIP" in str(object_of(environment, id).object.hint)
    list(Session(environment).execute("ALTER SOURCE s RETRY"))
    decided = object_of(environment, id).object
    assert (decided.ways_out, decided.hint) == (
        (),
        "nothing is left to decide: the next tick goes on",
    )


def test_a_new_environment_shows_its_objects_and_one_of_them(tmp_path: Path) -> None:
    (tmp_path / "buckets" / "b").mkdir(parents=True)
    with Environment.initialise(tmp_path) as environment:
        assert "There is nothing yet" in render(overview_of(environment), root="/")
        session = Session(environment)
        source = (
            "CREATE SOURCE {} (k text) FROM S3 DISCOVER OBJECTS MATCHING '**' USING BUCKET "
            "SCAN 'b' FORMAT CSV WITH HEADER"
        )
        for name in ("weather", "flights"):
            list(session.execute(source.format(name)))
        list(session.execute("CREATE MATERIALIZED VIEW v AS SELECT k FROM flights"))
        list(session.execute("CREATE VIEW w AS SELECT k FROM v"))
        environment.control_plane.storage_controller.step()
        overview = overview_of(environment)
        ids = {entry.name: entry.id for entry in overview.objects}
        v, flights = (
            object_of(environment, ids[f"reclock.public.{name}"]) for name in ("v", "flights")
        )
    assert {(entry.name, entry.type) for entry in overview.objects} == {
        ("reclock.public.flights", "source"),
        ("reclock.public.weather", "source"),
        ("reclock.public.v", "maintained view"),
        ("reclock.public.w", "view"),
    }
    assert overview.clusters == ("default",)
    assert all(entry.lag_ms is not None and entry.lag_ms >= 0 for entry in overview.objects)
    assert [entry.name for entry in v.inputs] == ["reclock.public.flights"]
    assert [entry.name for entry in v.dependents] == ["reclock.public.w"]
    assert "Nothing is bound yet" in render_object(flights, overview.now, root="/")
