"""The CPU and memory of a replica are its own, as percentages of its size, or unknown."""

from __future__ import annotations

import pytest

from reclock.algebra.timestamps import Timestamp
from reclock.clusters.sizes import ReplicaSize
from reclock.clusters.usage import Usage

LOCAL = {"master": "local", "cores": 1, "memory": "1g"}


def usage(**size: object) -> Usage:
    return Usage("p1", lambda: Timestamp(1), 1000, ReplicaSize.model_validate(LOCAL | size))


def test_percentages_are_of_the_size() -> None:
    rows = [
        usage(cores=cores, memory=memory).row()
        for cores, memory in ((1, "1g"), (4, "1g"), (1, "512m"))
    ]
    (_, small_cpu, used_bytes, small_memory), (_, large_cpu, *_), (_, _, _, half_memory) = rows
    assert large_cpu == pytest.approx(small_cpu / 4, rel=0.2, abs=0.5)
    assert small_memory == pytest.approx(100 * used_bytes / 2**30, abs=0.01)
    assert half_memory == pytest.approx(2 * small_memory, rel=0.2)


@pytest.mark.parametrize(
    "size", [None, ReplicaSize(master="yarn", cores=2, memory="2g", executors=3)]
)
def test_what_is_shared_or_elsewhere_is_unknown(size: ReplicaSize | None) -> None:
    assert Usage("p1", lambda: Timestamp(1), 1000, size).row() == ("p1", None, None, None)
