"""A refresh that ends at any point between two durable steps is finished by the next, to the same
result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock
from unittest.mock import Mock

import pyarrow as pa
import pytest
from fixtures.forks import die_at

from reclock import failpoints
from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import BIGINT, INTEGER, TEXT, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.clusters.known_results import KnownResults
from reclock.clusters.refresh import Refresher
from reclock.collections.lake import Lake
from reclock.compute import maintenance
from reclock.compute.costs import RefreshChoice, RefreshCosts
from reclock.compute.engines.duckdb import DuckDbEngine
from reclock.compute.maintenance import MaintenanceMode
from reclock.config import Settings
from reclock.consensus.database.store import Consensus
from reclock.consensus.frontiers.groups import Frontiers
from reclock.consensus.frontiers.holds import ReadHolds
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import (
    ClaimConflict,
    ErrorAtTime,
    EvaluationError,
    InternalError,
    NotReadable,
    ReclockError,
    SinceHeld,
)
from reclock.plan.relational import Get, Reduce
from reclock.plan.scalars import Aggregate
from reclock.protocol.compute import Dataflow, RefreshFailed

SOURCE = StorageCollectionId(GlobalId("u1"))
INDEX = StorageCollectionId(GlobalId("u2"))
DESC = RelationDesc((Column("word", TEXT), Column("number", INTEGER)))
COUNTS = RelationDesc((Column("word", TEXT), Column("count", BIGINT)))
PLAN = Reduce(Get(SOURCE, "words", DESC), (0,), (Aggregate("count", (), BIGINT),), COUNTS)
SPEC = Dataflow(INDEX.source_id, "counts", PLAN, COUNTS)
POINTS = ["refresh.after_claim", "refresh.after_append", "refresh.after_publish"]


class Crash(BaseException):
    """The process is gone: nothing catches this."""


@dataclass
class Replica:
    """One source and one index on it, and any number of replicas by owner."""

    folder: Path
    now: int = 1_000_000
    times_limit: int = 16
    is_new: bool = True
    costs: RefreshCosts = field(default_factory=lambda: RefreshCosts(1 << 20))
    results: KnownResults = field(default_factory=KnownResults)

    def __post_init__(self) -> None:
        self.consensus = Consensus.connect(
            f"sqlite:///{self.folder / 'c.db'}", clock=lambda: Timestamp(self.now)
        )
        self.leadership = Leadership(epoch=2, deploy_generation=0)
        self.consensus.transact(lambda connection: fence.advance(connection, self.leadership))
        self.lake = Lake(str(self.folder / "lake"))
        self.frontiers = Frontiers(self.consensus, self.leadership)
        self.holds = ReadHolds(self.consensus, self.leadership)
        if self.is_new:
            self.create()

    def create(self) -> None:
        self.lake.create(SOURCE, DESC, is_monotonic=True)
        self.lake.create(INDEX, COUNTS)
        self.frontiers.create(SOURCE.source_id, since=Timestamp(10), upper=Timestamp(11))
        self.frontiers.create(INDEX.source_id, since=Timestamp(10), upper=Timestamp(10))

    def write(self, at: int, *words: str) -> None:
        rows = [{"word": word, "number": 1, "mz_timestamp": at, "mz_diff": 1} for word in words]
        collection = self.lake.open(SOURCE)
        collection.append(
            pa.Table.from_pylist(rows),
            expected_upper=collection.upper(),
            new_upper=Timestamp(at + 1),
        )
        self.frontiers.advance_idle([SOURCE.source_id], Timestamp(at + 1))

    def refresh(self, at: int, owner: str = "r1"):
        settings = Settings(home=self.folder, refresh_times_limit=self.times_limit)
        engine = DuckDbEngine([str(self.folder)])
        stores = (self.frontiers, self.holds, self.lake, settings)
        refresher = Refresher(*stores, owner, engine, lambda: engine, self.costs, self.results)
        [done] = refresher.refresh([SPEC], Timestamp(at))
        if isinstance(done, RefreshFailed):
            raise done.error
        return done

    def read(self, at: int) -> dict[str, int]:
        assert self.frontiers.get(INDEX.source_id).is_readable_at(Timestamp(at))
        rows = self.lake.open(INDEX).pin().snapshot(Timestamp(at)).to_pylist()
        assert all(row["mz_diff"] == 1 for row in rows)
        return {row["word"]: row["count"] for row in rows}


@pytest.fixture
def replica(tmp_path: Path) -> Iterator[Replica]:
    made = Replica(tmp_path)
    yield made
    made.consensus.close()


def refresh(folder: Path, at: int) -> None:
    Replica(folder, is_new=False).refresh(at)


@pytest.mark.parametrize("killed_at", POINTS)
@pytest.mark.parametrize("crash_at_refresh", [1, 2])
def test_a_crash_leaves_what_the_next_refresh_finishes(
    replica: Replica, killed_at: str, crash_at_refresh: int
) -> None:
    replica.write(20, "a", "b")
    if crash_at_refresh == 2:
        replica.refresh(20)
        replica.write(30, "a")
    replica.frontiers.advance_idle([SOURCE.source_id], Timestamp(31))

    die_at(killed_at, refresh, replica.folder, 30)
    if killed_at == "refresh.after_claim":
        with pytest.raises(ClaimConflict):
            replica.refresh(30, owner="r2")  # its lease lasts
    replica.now += 3_600_000
    replica.refresh(30, owner="r2")
    replica.refresh(30, owner="r2")
    assert replica.read(20) == {"a": 1, "b": 1}
    assert replica.read(30) == ({"a": 2, "b": 1} if crash_at_refresh == 2 else {"a": 1, "b": 1})


def raising(error: ReclockError, at: int):
    """A refresh that raises ``error`` at this time."""

    def refresh(*arguments):
        if at in arguments[-1]:
            raise error
        return maintenance.refresh(*arguments)

    return mock.patch(
        "reclock.clusters.index_step.maintenance",
        Mock(wraps=maintenance, refresh=refresh, NO_ANSWER=maintenance.NO_ANSWER),
    )


@pytest.mark.parametrize("point", POINTS)
def test_an_error_that_is_found_before_a_crash_has_its_time_afterwards(
    replica: Replica, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(name: str) -> None:
        if name == point:
            raise Crash(name)

    replica.write(20, "a")
    replica.refresh(20)
    replica.write(30, "a")
    with raising(EvaluationError("broken"), 30):
        with monkeypatch.context() as patch:
            patch.setattr(failpoints, "on_reach", crash)
            with pytest.raises(Crash):
                replica.refresh(30)
        replica.now += 3_600_000
        assert replica.refresh(30, owner="r2").error is not None
        replica.write(40, "b")
        done = replica.refresh(40, owner="r2")
    assert (done.times, done.error) == ((40,), None)
    assert (replica.read(20), replica.read(40)) == ({"a": 1}, {"a": 2, "b": 1})
    with pytest.raises(ErrorAtTime, match="broken"):
        replica.read(30)


def test_an_internal_error_is_one_of_its_time_when_it_comes_again(replica: Replica) -> None:
    replica.write(20, "a")
    replica.write(30, "a")
    with raising(InternalError("a plan failed"), 20):
        with pytest.raises(InternalError):
            replica.refresh(30)
        assert replica.refresh(30).upper == 31
    with pytest.raises(ErrorAtTime, match="a plan failed"):
        replica.read(20)
    assert replica.read(30) == {"a": 2}


class Scripted(RefreshCosts):
    """Chooses the ways in this order."""

    def script(self, *modes: MaintenanceMode) -> Scripted:
        self.left, self.recorded = list(modes), []
        return self

    def choose(self, index, work) -> RefreshChoice:
        assert 0 < work.changed_bytes <= work.all_bytes
        return RefreshChoice(self.left.pop(0))

    def record(self, index, mode, work, seconds, *, is_warm=True) -> None:
        self.recorded.append((index, mode))


@pytest.mark.parametrize("first", list(MaintenanceMode))
def test_a_refresh_in_either_way_goes_on_from_one_in_the_other(
    replica: Replica, first: MaintenanceMode
) -> None:
    [second] = set(MaintenanceMode) - {first}
    assert replica.refresh(10).how is MaintenanceMode.RECOMPUTED
    replica.costs = Scripted(0).script(first, second, first, second, first)
    replica.write(20, "a")
    replica.refresh(20)
    for at, word in ((30, "a"), (40, "b"), (50, "a"), (60, "b")):
        replica.write(at, word)
        replica.refresh(at)
    assert replica.costs.recorded == [
        (INDEX.source_id, mode) for mode in (first, second, first, second, first)
    ]
    assert [replica.read(at) for at in (20, 30, 40, 50, 60)] == [
        {"a": 1},
        {"a": 2},
        {"a": 2, "b": 1},
        {"a": 3, "b": 1},
        {"a": 3, "b": 2},
    ]


def test_each_time_is_kept_apart_up_to_the_limit(replica: Replica) -> None:
    for at in (20, 30, 40):
        replica.write(at, "a")
    report = replica.refresh(40)
    assert report.times == (10, 20, 30, 40)
    assert [replica.read(at) for at in (15, 25, 35, 40)] == [{}, {"a": 1}, {"a": 2}, {"a": 3}]


def test_beyond_the_limit_since_moves_to_the_time_it_was_refreshed_at(replica: Replica) -> None:
    replica.times_limit = 2
    for at in (20, 30, 40):
        replica.write(at, "a")
    assert replica.refresh(40).times == (40,)
    frontier = replica.frontiers.get(INDEX.source_id)
    assert (frontier.since, frontier.upper) == (40, 41)
    assert replica.read(40) == {"a": 3}


def test_a_reader_of_the_index_keeps_its_times_and_does_not_hold_it_up(replica: Replica) -> None:
    replica.refresh(10)
    hold = replica.holds.acquire([INDEX.source_id], Timestamp(10), owner="reader", lease_ms=60_000)
    replica.times_limit = 2
    for at in (20, 30, 40, 50, 60):
        replica.write(at, "a")
    assert replica.refresh(60).times == (20, 30, 40, 50, 60)
    assert [replica.read(at) for at in (10, 20, 30, 60)] == [{}, {"a": 1}, {"a": 2}, {"a": 5}]
    replica.holds.release(hold)
    for at in (70, 80, 90):
        replica.write(at, "a")
    assert replica.refresh(90).times == (90,)


def test_a_reader_that_comes_during_a_jump_does_not_find_the_times_that_it_forgets(
    replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica.refresh(10)
    replica.times_limit = 2
    for at in (20, 30, 40):
        replica.write(at, "a")

    def read(name: str) -> None:
        if name == "refresh.after_claim":
            with pytest.raises(NotReadable):
                replica.holds.acquire(
                    [INDEX.source_id], Timestamp(10), owner="reader", lease_ms=60_000
                )

    monkeypatch.setattr(failpoints, "on_reach", read)
    assert replica.refresh(40).times == (40,)
    assert replica.read(40) == {"a": 3}


def test_an_index_without_new_input_advances_without_a_commit(replica: Replica) -> None:
    replica.write(20, "a")
    replica.refresh(20)
    before = replica.lake.open(INDEX).pin().number
    replica.frontiers.advance_idle([SOURCE.source_id], Timestamp(51))
    assert replica.refresh(50).upper == 51
    assert replica.lake.open(INDEX).pin().number == before


def test_an_index_goes_no_further_than_its_inputs(replica: Replica) -> None:
    replica.write(20, "a")
    assert replica.refresh(100).upper == 21


def test_inputs_are_held_at_the_upper_of_the_index(replica: Replica) -> None:
    replica.write(20, "a")
    replica.refresh(20)
    with pytest.raises(SinceHeld):
        replica.frontiers.allow_compaction(SOURCE.source_id, Timestamp(21))
    replica.frontiers.allow_compaction(SOURCE.source_id, Timestamp(20))
