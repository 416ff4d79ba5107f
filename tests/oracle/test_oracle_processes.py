"""The oracle's guarantees between processes, judged by the real time at which calls began and
returned."""

import itertools

import pytest
from fixtures.oracle_history import Call, violations
from fixtures.workers import run_at_once
from oracle.oracle_worker import call_often


@pytest.mark.servers
def test_guarantees_hold_between_processes_whose_clocks_disagree(consensus_url: str) -> None:
    """The processes also create the tables and open the timeline at once."""
    reports = run_at_once(call_often, [(consensus_url, seed, 2, 40) for seed in range(3)])
    history = [Call(*call) for call in itertools.chain.from_iterable(reports)]
    assert len(history) == 240
    assert {call.operation for call in history} == {"read", "write", "apply"}
    assert all(call.ts > 7 for call in history if call.operation == "write")
    assert violations(history) == []


@pytest.mark.parametrize(
    ("history", "said"),
    [
        ([Call(0, 1, "apply", 5), Call(2, 3, "read", 4)], "at least every timestamp applied"),
        ([Call(0, 1, "read", 5), Call(2, 3, "read", 4)], "do not go back"),
        ([Call(0, 1, "read", 5), Call(2, 3, "write", 5)], "greater than every timestamp given out"),
        (
            [Call(0, 1, "write", 5), Call(2, 3, "write", 5)],
            "greater than every timestamp given out",
        ),
        ([Call(0, 3, "write", 5), Call(2, 4, "write", 5)], "given out twice"),
    ],
)
def test_a_broken_history_is_found_out(history: list[Call], said: str) -> None:
    assert any(said in violation for violation in violations(history))


def test_calls_that_overlap_may_be_in_either_order() -> None:
    assert violations([Call(0, 3, "apply", 5), Call(2, 4, "read", 4), Call(1, 5, "write", 3)]) == []
