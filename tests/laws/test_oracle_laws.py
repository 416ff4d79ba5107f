"""The oracle against a model of two numbers, under a clock that jumps both ways and processes that
come and go."""

import pytest
from fixtures.oracle_history import Call, violations
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.database.store import Consensus
from reclock.errors import TimelineBelowFloor
from reclock.oracle.batching import BatchingOracle
from reclock.oracle.oracle import ConsensusOracle, TimelineState, TimestampOracle

TIMES = st.one_of(st.integers(0, 30), st.integers(0, 2**52)).map(Timestamp)
ANY_CLOCK = 2**53
"""Which clock is believed is another matter (``tests/consensus/test_clock.py``)."""
ACTORS = st.integers(0, 2)


def test_the_oracle_keeps_its_guarantees(consensus_url: str) -> None:
    """Three actors with connections of their own, one of which batches, take turns on one
    timeline."""
    consensuses = [Consensus.connect(consensus_url) for _ in range(3)]
    names = iter(range(1_000_000))

    class OracleLaws(RuleBasedStateMachine):
        timestamps = Bundle("given")

        @initialize(floor=TIMES)
        def begin(self, floor: Timestamp) -> None:
            self.timeline = f"timeline {next(names)}"
            self.now = Timestamp(0)
            self.history: list[Call] = []
            self.oracles = [
                ConsensusOracle(consensus, lambda: self.now, max_clock_jump_ms=ANY_CLOCK)
                for consensus in consensuses
            ]
            self.actors: list[TimestampOracle] = [
                self.oracles[0],
                BatchingOracle(self.oracles[1]),
                self.oracles[2],
            ]
            self.oracles[0].open_timeline(self.timeline, floor)
            self.read = self.write = floor

        @rule(now=TIMES)
        def clock_jumps(self, now: Timestamp) -> None:
            self.now = now

        @rule(actor=ACTORS)
        def read_ts(self, actor: int) -> None:
            answer = self.actors[actor].read_ts(self.timeline)
            assert answer == self.read
            self.log("read", answer)

        @rule(target=timestamps, actor=ACTORS)
        def write_ts(self, actor: int) -> Timestamp:
            answer = self.actors[actor].write_ts(self.timeline)
            assert answer == max(self.write + 1, self.now)
            self.write = answer
            self.log("write", answer)
            return answer

        @rule(actor=ACTORS, ts=timestamps)
        def apply_what_was_given(self, actor: int, ts: Timestamp) -> None:
            self.apply(actor, ts)

        @rule(target=timestamps, actor=ACTORS, ts=TIMES)
        def apply_any_time(self, actor: int, ts: Timestamp) -> object:
            self.apply(actor, ts)
            return multiple()

        @rule(actor=ACTORS, floor=TIMES)
        def open_again(self, actor: int, floor: Timestamp) -> None:
            if floor > self.write:
                with pytest.raises(TimelineBelowFloor):
                    self.oracles[actor].open_timeline(self.timeline, floor)
            else:
                self.oracles[actor].open_timeline(self.timeline, floor)

        @invariant()
        def state_is_the_models(self) -> None:
            if hasattr(self, "oracles"):
                assert self.oracles[2].state(self.timeline) == TimelineState(self.read, self.write)

        def teardown(self) -> None:
            assert violations(getattr(self, "history", [])) == []

        def apply(self, actor: int, ts: Timestamp) -> None:
            self.actors[actor].apply_write(self.timeline, ts)
            self.read, self.write = max(self.read, ts), max(self.write, ts)
            self.log("apply", ts)

        def log(self, operation: str, ts: Timestamp) -> None:
            moment = len(self.history)
            self.history.append(Call(2 * moment, 2 * moment + 1, operation, ts))  # type: ignore[arg-type]

    run_state_machine_as_test(
        OracleLaws,
        settings=settings(
            max_examples=40, stateful_step_count=30, suppress_health_check=list(HealthCheck)
        ),
    )
    for consensus in consensuses:
        consensus.close()
