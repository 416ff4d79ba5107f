"""The oracle on consensus: its formula, its timelines, and what it does when consensus was lost."""

from collections.abc import Iterator

import pytest

from reclock.algebra.timestamps import CATALOG, EPOCH_MS, Timestamp
from reclock.consensus.database.store import Consensus
from reclock.errors import (
    ClockImplausible,
    ConfigurationError,
    TimelineBelowFloor,
    UnknownTimeline,
)
from reclock.oracle.oracle import (
    ConsensusOracle,
    TimelineState,
    allocate_write,
    record_next_write,
    record_write,
)

T = Timestamp


class Hands:
    """A clock that shows what the test sets."""

    def __init__(self) -> None:
        self.at = T(100)

    def __call__(self) -> Timestamp:
        return self.at


@pytest.fixture
def clock() -> Hands:
    return Hands()


@pytest.fixture
def consensus(migrated_url: str) -> Iterator[Consensus]:
    opened = Consensus.connect(migrated_url)
    yield opened
    opened.close()


@pytest.fixture
def oracle(consensus: Consensus, clock: Hands) -> ConsensusOracle:
    opened = ConsensusOracle(consensus, clock)
    opened.open_timeline(EPOCH_MS, T(0))
    opened.open_timeline(CATALOG, T(0))
    return opened


def test_write_timestamps_follow_the_clock_and_never_go_back(
    oracle: ConsensusOracle, clock: Hands
) -> None:
    assert oracle.write_ts(EPOCH_MS) == 100
    assert oracle.write_ts(EPOCH_MS) == 101
    clock.at = T(50)
    assert oracle.write_ts(EPOCH_MS) == 102
    clock.at = T(103)
    assert oracle.write_ts(EPOCH_MS) == 103
    clock.at = T(1 << 30)
    assert oracle.write_ts(EPOCH_MS) == 1 << 30
    assert oracle.read_ts(EPOCH_MS) == 0


def test_a_timestamp_is_given_out_and_applied_at_once(
    oracle: ConsensusOracle, consensus: Consensus, clock: Hands
) -> None:
    def record(at_least: int) -> Timestamp:
        return consensus.transact(
            lambda connection: record_next_write(
                connection, EPOCH_MS, clock(), at_least=T(at_least), max_jump_ms=1000
            )
        )

    assert [record(0), record(0), record(200), record(150)] == [100, 101, 200, 201]
    assert oracle.state(EPOCH_MS) == TimelineState(T(201), T(201))
    assert oracle.write_ts(EPOCH_MS) == 202
    clock.at = T(5000)
    assert record(0) == 5000
    clock.at = T(6001)
    with pytest.raises(ClockImplausible):
        record(0)
    assert oracle.state(EPOCH_MS) == TimelineState(T(5000), T(5000))


def test_applying_moves_reads_and_later_writes(oracle: ConsensusOracle) -> None:
    ts = oracle.write_ts(EPOCH_MS)
    oracle.apply_write(EPOCH_MS, ts)
    assert oracle.read_ts(EPOCH_MS) == ts
    oracle.apply_write(EPOCH_MS, T(ts - 10))
    assert oracle.read_ts(EPOCH_MS) == ts
    oracle.apply_write(EPOCH_MS, T(500))  # a time that the oracle did not give out
    assert (oracle.read_ts(EPOCH_MS), oracle.write_ts(EPOCH_MS)) == (500, 501)


def test_timelines_are_independent(oracle: ConsensusOracle) -> None:
    oracle.apply_write(EPOCH_MS, T(500))
    assert oracle.read_ts(CATALOG) == 0
    assert oracle.write_ts(CATALOG) == 100
    assert oracle.state(EPOCH_MS) == TimelineState(T(500), T(500))


def test_state_outlives_the_process(
    oracle: ConsensusOracle, migrated_url: str, clock: Hands
) -> None:
    oracle.apply_write(EPOCH_MS, oracle.write_ts(EPOCH_MS))
    oracle.write_ts(EPOCH_MS)
    clock.at = T(0)
    other = Consensus.connect(migrated_url)
    again = ConsensusOracle(other, clock)
    assert (again.read_ts(EPOCH_MS), again.write_ts(EPOCH_MS)) == (100, 102)
    other.close()


def test_a_timeline_that_was_not_opened_is_unknown(oracle: ConsensusOracle) -> None:
    for attempt in (
        lambda: oracle.read_ts("other"),
        lambda: oracle.write_ts("other"),
        lambda: oracle.apply_write("other", T(1)),
        lambda: oracle.state("other"),
    ):
        with pytest.raises(UnknownTimeline, match="other"):
            attempt()


def test_a_lost_consensus_begins_at_the_floor(oracle: ConsensusOracle, clock: Hands) -> None:
    clock.at = T(3)
    oracle.open_timeline("rebuilt", T(700))
    assert oracle.read_ts("rebuilt") == 700
    assert oracle.write_ts("rebuilt") == 701


def test_an_older_consensus_is_refused_and_not_touched(oracle: ConsensusOracle) -> None:
    oracle.apply_write(EPOCH_MS, T(500))
    with pytest.raises(TimelineBelowFloor) as refused:
        oracle.open_timeline(EPOCH_MS, T(501))
    assert (refused.value.floor, refused.value.write_ts) == (501, 500)
    assert isinstance(refused.value, ConfigurationError)
    assert oracle.state(EPOCH_MS) == TimelineState(T(500), T(500))


def test_opening_again_changes_nothing(oracle: ConsensusOracle) -> None:
    oracle.write_ts(EPOCH_MS)
    for floor in (0, 50, 100):  # a floor may be a write timestamp that is not applied yet
        oracle.open_timeline(EPOCH_MS, T(floor))
    assert oracle.state(EPOCH_MS) == TimelineState(T(0), T(100))


def test_timestamps_can_be_a_part_of_a_larger_transaction(
    oracle: ConsensusOracle, consensus: Consensus
) -> None:
    ts = consensus.transact(lambda connection: allocate_write(connection, EPOCH_MS, T(100)))
    with pytest.raises(ZeroDivisionError):
        consensus.transact(lambda connection: record_write(connection, EPOCH_MS, ts) or 1 / 0)
    assert oracle.read_ts(EPOCH_MS) == 0
    consensus.transact(lambda connection: record_write(connection, EPOCH_MS, ts))
    assert oracle.read_ts(EPOCH_MS) == ts
