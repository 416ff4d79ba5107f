"""Laws of the CollectionManager: whatever replicas, processes, crashes and time do, what is kept is
what live replicas hold."""

from __future__ import annotations

import itertools
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fixtures.tables import LEADERSHIP
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.collections.lake import Lake
from reclock.consensus.database.store import Consensus
from reclock.consensus.leadership import fence
from reclock.consensus.processes.reporters import Reporters
from reclock.introspection.collection_manager import Append, CollectionManager, Delete, net_changes
from reclock.introspection.managed import LakeManagedCollections
from reclock.introspection.types import HISTORIES, MANAGED
from reclock.oracle.oracle import ConsensusOracle
from reclock.protocol.introspection import IntrospectionType

LEASE_MS = 10_000
FRONTIERS, ERRORS = IntrospectionType.FRONTIERS, IntrospectionType.ERROR_COUNTS
IDS = {name: GlobalId(f"s{number}") for number, name in enumerate(IntrospectionType, 1)}

processes = st.integers(0, 2)
replicas = st.sampled_from([1, 2, 3])
collections = st.sampled_from([FRONTIERS, ERRORS])
steps = st.one_of(
    st.tuples(st.just("connect"), processes, replicas),
    st.tuples(st.just("disconnect"), replicas),
    st.tuples(st.just("change"), replicas, collections, st.sampled_from("ab"), st.integers(1, 3)),
    st.tuples(st.just("change"), replicas, collections, st.sampled_from("ab"), st.integers(1, 3)),
    st.tuples(st.just("flush"), processes),
    st.tuples(st.just("fail"), processes, st.booleans()),
    st.tuples(st.just("crash"), processes),
    st.tuples(st.just("wait"), st.sampled_from([LEASE_MS // 2, LEASE_MS + 1])),
    st.tuples(st.just("apply"), processes),
)

_number = itertools.count()


class Failure(Exception):
    """The database goes away in the middle of a commit."""


class Failing(LakeManagedCollections):
    """Collections whose next commit fails, before it landed or after."""

    fails: bool | None = None

    def commit(self, *arguments: Any, **more: Any) -> None:
        fails, self.fails = self.fails, None
        if fails is False:
            raise Failure
        super().commit(*arguments, **more)
        if fails is True:
            raise Failure


class World:
    """Three processes that come back after a crash, three replicas, one lake and one consensus, one
    clock."""

    def __init__(self, folder: Path) -> None:
        self.now = 1_000_000
        self.lake = Lake(str(folder / "lake"))
        self.consensus = Consensus.connect(
            f"sqlite:///{folder}/consensus.db", clock=lambda: Timestamp(self.now)
        )
        self.consensus.transact(lambda connection: fence.advance(connection, LEADERSHIP))
        ConsensusOracle(self.consensus, lambda: Timestamp(self.now)).open_timeline(
            EPOCH_MS, Timestamp(0)
        )
        ConsensusOracle(self.consensus, lambda: Timestamp(self.now)).open_timeline(
            "catalog", Timestamp(0)
        )
        self.managers: list[Any] = [self.start() for _ in range(3)]
        self.held: dict[int, dict[IntrospectionType, Counter]] = {}
        self.reporters: dict = {}

    def start(self) -> CollectionManager:
        collections = Failing(
            self.lake,
            self.consensus,
            LEADERSHIP,
            lambda: Timestamp(self.now),
            lambda: IDS,
            apply_delay_ms=None,
        )
        names = Reporters(self.consensus, LEADERSHIP, lease_ms=LEASE_MS)
        return CollectionManager(
            collections,
            names,
            HISTORIES,
            clock=lambda: Timestamp(self.now),
            monotonic_ms=lambda: self.now,
        )

    def connect(self, process: int, replica: int) -> None:
        """As a controller does: the replica answers all that it holds, which begins empty if it is
        new."""
        manager = self.managers[process]
        held = self.held.setdefault(replica, {FRONTIERS: Counter(), ERRORS: Counter()})
        lost: list[bool] = []
        reporter = manager.report(str(replica), lambda: lost.append(True))
        for collection, rows in held.items():
            reporter.append(
                collection, [((replica, *row), count) for row, count in rows.items() if count]
            )
        self.reporters[replica] = (process, reporter, lost)

    def change(self, replica: int, collection: IntrospectionType, row: tuple, diff: int) -> None:
        if replica in self.reporters:
            self.held[replica][collection][row] += diff
            self.reporters[replica][1].append(collection, [((replica, *row), diff)])

    def disconnect(self, replica: int) -> None:
        if replica in self.reporters:
            self.reporters.pop(replica)[1].close()
            del self.held[replica]

    def crash(self, process: int) -> None:
        """With all that was not flushed. Its replicas are gone too."""
        self.managers[process] = self.start()
        for replica in [replica for replica, (of, _, _) in self.reporters.items() if of == process]:
            del self.reporters[replica], self.held[replica]

    def settle(self) -> None:
        """Those that live go on, until nothing changes any more."""
        for _ in range(3):
            for replica, (process, _, lost) in list(self.reporters.items()):
                if lost:
                    self.connect(process, replica)
            for manager in self.managers:
                manager.flush()
            self.now += LEASE_MS // 2  # those that live renew, those that died do not

    def kept(self, collection: IntrospectionType) -> Counter:
        return Counter(
            dict(self.managers[0].collections.read({collection}).rows.get(collection, {}))
        )

    def expected(self, collection: IntrospectionType) -> Counter:
        return +Counter(
            {
                (replica, *row): count
                for replica, held in self.held.items()
                for row, count in held[collection].items()
                if count
            }
        )


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("introspection")


# a failing script is short; shrinking takes minutes
@settings(max_examples=25, phases=[Phase.explicit, Phase.generate])
@given(st.lists(steps, min_size=8, max_size=30))
def test_what_is_kept_is_what_live_replicas_hold(root: Path, script: list[tuple]) -> None:
    folder = root / str(next(_number))
    folder.mkdir()
    world = World(folder)
    for step in script:
        match step:
            case ("connect", process, replica):
                # another process takes it over; what the first still says is not kept
                if replica in world.reporters:
                    assert world.reporters[replica][1].name == str(replica)
                world.connect(process, replica)
            case ("disconnect", replica):
                world.disconnect(replica)
            case ("change", replica, collection, name, number):
                rows = world.held.get(replica, {}).get(collection, Counter())
                known = [row for row, count in rows.items() if row[0] == name and count]
                for row in known:  # a replica that reports a new value takes back the one before
                    world.change(replica, collection, row, -rows[row])
                world.change(replica, collection, (name, number), 1)
            case ("flush", process):
                world.managers[process].flush()
            case ("fail", process, has_landed):
                world.managers[process].collections.fails = has_landed
                with suppress(Failure):
                    world.managers[process].flush()
                world.managers[process].collections.fails = None
            case ("crash", process):
                world.crash(process)
            case ("wait", milliseconds):
                world.now += milliseconds
            case ("apply", process):
                world.managers[process].collections.tables.apply()
    world.settle()
    for collection in (FRONTIERS, ERRORS):
        assert world.kept(collection) == world.expected(collection)
    assert set(world.managers[0].names.current()) == {str(replica) for replica in world.reporters}
    world.consensus.close()


rows = st.tuples(st.sampled_from("ab"), st.integers(0, 2))
requests = st.one_of(
    st.lists(st.tuples(rows, st.integers(1, 3)), max_size=4).map(
        lambda changes: Append(tuple(changes))
    ),
    st.sampled_from("ab").map(lambda name: Delete(lambda row, name=name: row[0] == name)),
)


@given(st.dictionaries(rows, st.integers(1, 3)), st.lists(requests, max_size=12))
def test_requests_settle_as_if_applied_one_after_the_other(contents: dict, requests: list) -> None:
    one_by_one = Counter(contents)
    for request in requests:
        one_by_one.update(net_changes([request], one_by_one))
        one_by_one = Counter({row: count for row, count in one_by_one.items() if count})
    together = Counter(contents)
    together.update(net_changes(requests, contents))
    assert Counter({row: count for row, count in together.items() if count}) == one_by_one


@given(
    st.dictionaries(rows, st.integers(1, 3)), st.lists(requests, max_size=12), st.sampled_from("ab")
)
def test_a_deletion_leaves_no_earlier_append_behind(
    contents: dict, requests: list, name: str
) -> None:
    after = Counter(contents)
    after.update(net_changes([*requests, Delete(lambda row: row[0] == name)], contents))
    assert not any(count for row, count in after.items() if row[0] == name)


def test_what_a_replaced_reporter_still_had_to_say_is_not_kept(tmp_path: Path) -> None:
    world = World(tmp_path)
    first, second = world.managers[:2]
    lost: list[bool] = []
    old = first.report("1", lambda: lost.append(True))
    first.flush()
    old.append(FRONTIERS, [((1, "u1", 5), 1)])
    second.report("1").append(FRONTIERS, [((1, "u1", 7), 1)])
    second.flush()
    first.flush()
    assert lost == [True]
    assert world.kept(FRONTIERS) == Counter({(1, "u1", 7): 1})
    world.consensus.close()


def test_every_collection_is_described_and_begins_with_who_reports() -> None:
    assert MANAGED.keys() == set(IntrospectionType)
    assert {managed.desc.names[0] for managed in MANAGED.values()} == {"replica_id", "process"}


def test_one_commit_takes_what_all_collections_wait_for(tmp_path: Path) -> None:
    world = World(tmp_path)
    manager = world.managers[0]
    reporters = [manager.report(str(number)) for number in range(20)]
    for reporter in reporters:
        for collection in (FRONTIERS, ERRORS):
            reporter.append(collection, [((int(reporter.name), "u1", 5), 1)])
    manager.flush()
    assert len({write.at for write in manager.collections.tables.log.pending()}) == 1
    assert world.kept(FRONTIERS).total() == world.kept(ERRORS).total() == 20
    world.consensus.close()
