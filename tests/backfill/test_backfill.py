"""History given interval by interval: what the upstream had by the end of each can be read AS OF
it, however often it is given."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fixtures.forks import command

from reclock.adapter.session.session import Session
from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId
from reclock.algebra.timestamps import Timestamp, moment
from reclock.collections.collection import Collection
from reclock.collections.compaction import vacuum
from reclock.errors import (
    BackfillRefused,
    DecodeFailed,
    InvalidOption,
    NotReadable,
    UpstreamChanged,
)
from reclock.pipeline import backfill, tick
from reclock.pipeline.backfill import BackfillInterval, Outcome
from reclock.runtime.environment import Environment
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames
from reclock.sql.statements.sources.define import define_source
from reclock.sql.statements.sources.syntax import CreateSourceStatement
from reclock.sql.syntax.parse import parse_one

DAY = 86_400_000
DAYS = [Timestamp(moment("2026-03-01") + n * DAY) for n in range(6)]
NOON = 12 * 3_600_000


class Days:
    """An environment whose clock stands on 4 March at noon, and a bucket of objects of the days
    before."""

    def __init__(self, home: Path) -> None:
        self.home, self.now = home, Timestamp(DAYS[3] + NOON)
        (home / "buckets" / "landing").mkdir(parents=True)
        self.environment = Environment.initialise(home, clock=lambda: self.now)
        self.session = Session(self.environment)

    def put(self, key: str, text: str, at: int) -> None:
        path = self.home / "buckets" / "landing" / key
        with path.open("a") as file:
            file.write(text)
        os.utime(path, ns=(at * 1_000_000, at * 1_000_000))

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        *_, result = self.session.execute(text)
        return [tuple(row) for row in result.rows()]

    def create(self, options: str = "WITH (START '2026-03-01')", name: str = "s") -> None:
        self.sql(
            f"CREATE SOURCE {name} (n int) FROM S3 DISCOVER OBJECTS USING BUCKET SCAN "
            f"'landing' FORMAT JSON {options}"
        )

    def give(self, n: int, source: str = "s", length: int = DAY) -> backfill.BackfillReport:
        return backfill.run(
            self.environment,
            source,
            BackfillInterval(Timestamp(DAYS[n] - length), DAYS[n]),
            owner="test",
        )

    def at(self, n: int, source: str = "s") -> list[int]:
        return [row[0] for row in self.sql(f"SELECT n FROM {source} ORDER BY n AS OF {DAYS[n]}")]

    def state(self) -> Any:
        frontier = self.environment.stores.frontiers.get("u1")
        return (
            frontier,
            self.sql(f"SELECT * FROM s_progress AS OF {frontier.upper - 1}"),
            self.environment.stores.frontiers.backfilled(),
        )


@pytest.fixture
def days(tmp_path: Path) -> Iterator[Days]:
    made = Days(tmp_path / "home")
    yield made
    made.environment.close()


def fill(days: Days) -> None:
    days.put("old", '{"n": 0}\n', DAYS[0] - DAY)
    days.put("a", '{"n": 1}\n', DAYS[0] + NOON)
    days.put("b", '{"n": 3}\n{"n": 4}\n', DAYS[2] + NOON)
    days.put("c", '{"n": 5}\n', DAYS[3] + 1)


def test_each_interval_is_bound_at_its_end_and_ticks_follow_when_none_is_missing(
    days: Days,
) -> None:
    fill(days)
    days.create()
    days.sql("CREATE SOURCE other FROM LOAD GENERATOR COUNTER")
    assert backfill.sources(days.environment) == ["reclock.public.s"]
    assert backfill.sources(days.environment, by=DAYS[0]) == ["reclock.public.s"]
    assert backfill.sources(days.environment, []) == []
    assert backfill.sources(days.environment, by=Timestamp(DAYS[0] - 1)) == []
    # ticks and readers leave it alone; other sources go on
    assert tick.run(days.environment, owner="tick").sources == ("reclock.public.other",)
    with pytest.raises(NotReadable):
        days.sql("SELECT * FROM s")
    assert [
        (report.outcome, report.rows, report.is_over)
        for report in (days.give(1), days.give(2), days.give(3))
    ] == [
        (Outcome.BOUND, 2, False),
        (Outcome.EMPTY, 0, False),
        (Outcome.BOUND, 2, True),
    ]
    assert [days.at(n) for n in range(4)] == [[], [0, 1], [0, 1], [0, 1, 3, 4]]
    progress = f"SELECT mz_timestamp, key FROM s_progress ORDER BY key AS OF {DAYS[3]}"
    assert days.sql(progress) == [(DAYS[1], "a"), (DAYS[3], "b"), (DAYS[1], "old")]
    assert backfill.sources(days.environment) == []
    assert tick.run(days.environment, owner="tick").published.rows["reclock.public.s"] == 1
    assert days.sql("SELECT count(*) FROM s") == [(5,)]
    assert days.at(3) == [0, 1, 3, 4]


def test_repeated_and_overlapping_intervals_change_nothing(days: Days) -> None:
    fill(days)
    days.create()
    days.give(1)
    days.give(2)
    before = days.state()
    assert [days.give(1).outcome, days.give(2).outcome, days.give(1, length=2 * DAY).outcome] == [
        Outcome.DONE
    ] * 3
    assert days.state() == before
    days.give(3)
    tick.run(days.environment, owner="tick")
    before = days.state()
    # later growth of what is bound already belongs to a later time
    days.put("a", '{"n": 2}\n', days.now)
    assert [days.give(n).outcome for n in (1, 2, 3)] == [Outcome.DONE] * 3
    assert days.state() == before


def test_what_cannot_be_given_is_refused_with_the_reason(days: Days) -> None:
    fill(days)
    days.create()
    with pytest.raises(BackfillRefused, match=f"between {DAYS[0]} and {DAYS[1]} is missing"):
        days.give(2)
    with pytest.raises(BackfillRefused, match="not over yet"):
        days.give(4)
    with pytest.raises(BackfillRefused, match=f"begins at {DAYS[0]}"):
        backfill.run(
            days.environment,
            "s",
            BackfillInterval(Timestamp(0), Timestamp(DAYS[0] - 1)),
            owner="test",
        )
    days.give(3, length=3 * DAY)
    with pytest.raises(BackfillRefused, match="published below") as refused:
        days.give(1)  # it would have been bound a day earlier, had anybody asked in time
    assert "2 partitions" in str(refused.value.detail)
    days.create("", name="plain")
    days.now = DAYS[5]
    with pytest.raises(BackfillRefused, match="it has no START"):
        backfill.run(days.environment, "plain", BackfillInterval(DAYS[3], DAYS[4]), owner="test")
    with pytest.raises(BackfillRefused, match="ticks go on"):
        days.give(5)
    publication = (
        "FROM POSTGRES CONNECTION 'dbname=x' PUBLICATION 'p' SLOT 's' FOR TABLES (t (a int))"
    )
    parsed = parse_one(f"CREATE SOURCE p {publication} WITH (START '2026-03-01')")
    assert isinstance(parsed, CreateSourceStatement)
    with pytest.raises(InvalidOption, match="cannot START") as refused_option:
        define_source(parsed, PlannerCatalog(), SessionNames())
    assert "replication slot" in str(refused_option.value.detail)
    for start, reason in (("2027-01-01", "future"), ("soon", "not a time")):
        with pytest.raises(InvalidOption, match=reason):
            days.sql(f"CREATE SOURCE p FROM LOAD GENERATOR COUNTER WITH (START '{start}')")


def test_a_source_that_stalls_goes_on_where_it_stopped(days: Days) -> None:
    fill(days)
    days.put("a", "no json\n", DAYS[1] + NOON)
    days.create()
    days.give(1)
    with pytest.raises(DecodeFailed):
        days.give(2)
    with pytest.raises(DecodeFailed):
        days.give(3)
    days.sql("ALTER SOURCE s SKIP 'a' FROM 9 TO 10")
    assert days.give(3).rows == 2
    assert [days.at(n) for n in (1, 2, 3)] == [[0], [0, 1], [0, 1, 3, 4]]


def test_a_generator_counts_by_its_own_time(days: Days) -> None:
    days.sql(
        "CREATE SOURCE s FROM LOAD GENERATOR COUNTER (TICK INTERVAL '12h') WITH (START "
        "'2026-03-01')"
    )
    assert [days.give(n).rows for n in (1, 2, 3)] == [2, 2, 2]
    assert days.sql(f"SELECT max(counter) FROM s AS OF {DAYS[2]}") == [(4,)]
    tick.run(days.environment, owner="tick")
    assert days.sql("SELECT count(*) FROM s") == [(8,)]  # 4 March at midnight, and at noon


POINTS = [
    "ingest.after_claim",
    "ingest.after_bind",
    "ingest.after_stage",
    "ingest.before_commit",
    "ingest.after_commit",
    "ingest.after_publish",
    "backfill.before_advance",
]


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("point", POINTS)
def test_a_stop_at_any_point_changes_nothing_of_the_outcome(
    days: Days, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    fill(days)
    days.create()

    def reach(name: str) -> None:
        if name == point:
            raise Killed

    monkeypatch.setattr("reclock.failpoints.on_reach", reach)
    with pytest.raises(Killed):
        days.give(1)
    monkeypatch.undo()
    assert tick.run(days.environment, owner="tick").sources == ()
    assert [days.give(n).outcome for n in (2, 3, 1)] == [Outcome.EMPTY, Outcome.BOUND, Outcome.DONE]
    assert [days.at(n) for n in range(4)] == [[], [0, 1], [0, 1], [0, 1, 3, 4]]


def backfill_killed_at(point: str, days: Days, *options: str) -> None:
    variables = {
        "RECLOCK_FAILPOINT": point,
        "RECLOCK_CLAIM_LEASE_MS": "1",
        "RECLOCK_HOME": str(days.home),
    }
    assert command("backfill", "s", *options, **variables) == -signal.SIGKILL, (
        f"{point} was not reached"
    )


@pytest.mark.parametrize(
    "killed_at",
    [("ingest.after_claim", "ingest.after_bind", "backfill.before_advance")],
    ids=["each"],
)
def test_processes_that_are_killed_leave_nothing_half_done(
    days: Days, killed_at: tuple[str, ...]
) -> None:
    """At points before Spark is needed, and after an interval without rows, so that they are
    quick."""
    fill(days)
    days.create()
    *points, before_advance = killed_at
    for point in points:
        backfill_killed_at(point, days, "--to", "2026-03-04")
    assert days.give(1).outcome is Outcome.DONE
    backfill_killed_at(before_advance, days, "--to", "2026-03-04")
    assert [days.give(n).outcome for n in (2, 3)] == [Outcome.EMPTY, Outcome.BOUND]
    assert [days.at(n) for n in range(4)] == [[], [0, 1], [0, 1], [0, 1, 3, 4]]


# --- rebuilding what is bound ---


def stored(days: Days, source: str = "u1") -> Collection:
    return days.environment.stores.lake.open(
        StorageCollectionId(GlobalId(source), CollectionType.RECLOCKED)
    )


def updates(days: Days) -> list[dict[str, Any]]:
    table = (
        stored(days).pin().changes(Timestamp(0), days.environment.stores.frontiers.get("u1").upper)
    )
    return sorted(table.to_pylist(), key=lambda row: (row["mz_timestamp"], row["n"]))


def give_three_days(days: Days) -> None:
    fill(days)
    days.create()
    for n in (1, 2, 3):
        days.give(n)


def test_a_rebuild_makes_the_same_rows_at_the_same_times(days: Days) -> None:
    give_three_days(days)
    before, frontier = updates(days), days.environment.stores.frontiers.get("u1")
    [*lost, _] = stored(days).pin().all_files
    for file in lost:  # what the lake has lost is there again, and what it has too much is not
        stored(days).replace(stored(days).pin(), [file], [], at=Timestamp(0))
    assert updates(days) != before
    rebuilt = backfill.rebuild(days.environment, "s")
    assert (rebuilt.rows, rebuilt.rows_before, rebuilt.upper) == (4, 2, frontier.upper)
    assert (updates(days), days.environment.stores.frontiers.get("u1")) == (before, frontier)
    assert [days.at(n) for n in range(4)] == [[], [0, 1], [0, 1], [0, 1, 3, 4]]
    backfill.rebuild(days.environment, "s")
    assert updates(days) == before
    assert tick.run(days.environment, owner="tick").published.rows["reclock.public.s"] == 1


def test_objects_that_are_not_what_they_were_refuse_to_be_rebuilt(days: Days) -> None:
    give_three_days(days)
    before, version = updates(days), stored(days).pin().number
    path = days.home / "buckets" / "landing" / "b"
    whole = path.read_bytes()
    for content, message in (
        (whole.replace(b"4", b"9"), "changed under its bound bytes"),
        (whole.replace(b"\n", b" "), "changed under its bound bytes"),
        (whole[:-1], "shrank"),
        (None, "is gone"),
    ):
        path.unlink() if content is None else path.write_bytes(content)
        with pytest.raises(UpstreamChanged, match=message):
            backfill.rebuild(days.environment, "s")
    assert (updates(days), stored(days).pin().number) == (before, version)
    path.write_bytes(whole + b'{"n": 6}\n')  # what is not bound yet does not matter
    assert backfill.rebuild(days.environment, "s").rows == 4
    assert updates(days) == before


def test_what_was_given_up_stays_so(days: Days) -> None:
    fill(days)
    days.put("a", "no json\n", DAYS[1] - NOON)
    days.create()
    with pytest.raises(DecodeFailed):
        days.give(1)
    days.sql("ALTER SOURCE s SKIP 'a' FROM 9 TO 10")
    for n in (1, 2, 3):
        days.give(n)
    before = updates(days)
    assert backfill.rebuild(days.environment, "s").rows == 4
    assert updates(days) == before


def test_a_generator_is_rebuilt_and_upstreams_without_history_refuse(days: Days) -> None:
    days.sql(
        "CREATE SOURCE s FROM LOAD GENERATOR AUCTION (TICK INTERVAL '6h') FOR ALL TABLES "
        "WITH (START '2026-03-01')"
    )
    for n in (1, 2):
        days.give(n)
    requested = (
        f"SELECT count(*), sum(amount) FROM bids AS OF {DAYS[1]}",
        "SELECT count(*), sum(amount) FROM bids",
    )
    before = [days.sql(text) for text in (requested[0], f"{requested[1]} AS OF {DAYS[2]}")]
    rebuilt = backfill.rebuild(days.environment, "s")
    assert rebuilt.rows == rebuilt.rows_before > 0
    assert [days.sql(text) for text in (requested[0], f"{requested[1]} AS OF {DAYS[2]}")] == before
    days.sql("CREATE SOURCE p FROM PUBNUB SUBSCRIBE KEY 'demo' CHANNEL 'c'")
    with pytest.raises(BackfillRefused, match="cannot be read again") as refused:
        backfill.rebuild(days.environment, "p")
    assert "forgets" in str(refused.value.detail)


@pytest.mark.parametrize(
    "point", ["rebuild.after_stage", "collections.commit.landed", "rebuild.after_replace"]
)
def test_a_rebuild_that_is_stopped_anywhere_shows_the_old_or_the_new(
    days: Days, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    give_three_days(days)
    before = updates(days)

    def reach(name: str) -> None:
        if name == point:
            raise Killed

    monkeypatch.setattr("reclock.failpoints.on_reach", reach)
    with pytest.raises(Killed):
        backfill.rebuild(days.environment, "s")
    monkeypatch.undo()
    assert updates(days) == before
    days.now = Timestamp(2**61)
    for _ in range(2):  # what it left is garbage, and nothing else is
        days.now = Timestamp(days.now + 1)
        vacuum(stored(days), before=days.now, claimed_staging=frozenset(), clock=lambda: days.now)
        assert updates(days) == before
        listed = {
            info.path
            for info in stored(days).folder.walk("_staging")
            if info.path.endswith(".parquet")
        }
        assert listed <= {file.path for file in stored(days).pin().all_files}
        assert backfill.rebuild(days.environment, "s").rows == 4
        assert updates(days) == before


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "killed_at", [("rebuild.after_stage", "rebuild.after_replace")], ids=["each"]
)
def test_rebuilds_that_are_killed_show_the_old_or_the_new(
    days: Days, killed_at: tuple[str, ...]
) -> None:
    give_three_days(days)
    before = updates(days)
    for point in killed_at:
        backfill_killed_at(point, days, "--rebuild")
        assert updates(days) == before
    assert backfill.rebuild(days.environment, "s").rows == 4
    assert updates(days) == before


def test_a_rebuild_that_others_overtake_begins_again(
    days: Days, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A vacuum fences it, then another rebuild comes first, during which a step is published."""
    give_three_days(days)
    expected = [*updates(days), {"n": 5, "mz_timestamp": days.now, "mz_diff": 1}]
    ahead = [
        lambda: vacuum(stored(days), before=Timestamp(2**62), claimed_staging=frozenset()),
        lambda: backfill.rebuild(days.environment, "s"),
        lambda: tick.run(days.environment, owner="tick"),
    ]

    def reach(name: str) -> None:
        if name == "rebuild.after_stage" and ahead:
            ahead.pop(0)()

    monkeypatch.setattr("reclock.failpoints.on_reach", reach)
    assert backfill.rebuild(days.environment, "s").rows == 5
    assert not ahead
    assert [
        {**row, "mz_timestamp": min(row["mz_timestamp"], days.now)} for row in updates(days)
    ] == expected


def test_tpch_under_an_index_is_what_is_recomputed_also_after_it_is_rebuilt(days: Days) -> None:
    """TPC-H's first query, over orders that are replaced at every tick."""
    days.sql(
        "CREATE SOURCE s FROM LOAD GENERATOR TPCH (SCALE FACTOR 0.001, TICK INTERVAL "
        "'1s') FOR TABLES (lineitem)"
    )
    query = """
        SELECT l_returnflag, l_linestatus, sum(l_quantity) AS quantity, sum(l_extendedprice * (1 - l_discount)) AS price
        FROM lineitem WHERE l_shipdate <= date '1998-09-02' GROUP BY l_returnflag, l_linestatus
    """
    days.sql(f"CREATE MATERIALIZED VIEW pricing AS {query}")

    def compared() -> list[tuple[Any, ...]]:
        at = f"AS OF {days.environment.stores.frontiers.get('u1').upper - 1}"
        maintained = sorted(days.sql(f"SELECT * FROM pricing {at}"))
        made = sorted(days.sql(f"{query} {at}"))
        assert maintained == made
        return maintained

    tick.run(days.environment, owner="tick")
    first = compared()
    days.now = Timestamp(days.now + 5000)
    tick.run(days.environment, owner="tick")
    second = compared()
    assert first
    assert first != second
    rebuilt = backfill.rebuild(days.environment, "s")
    assert rebuilt.rows == rebuilt.rows_before
    assert compared() == second
