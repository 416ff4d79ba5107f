"""A process that says that it lasts has replicas that build state at once."""

from pathlib import Path

import pytest

from reclock.runtime.environment import Environment


@pytest.mark.parametrize("is_long_lived", [False, True])
def test_replicas_of_a_process_that_lasts_build_state_at_once(
    tmp_path: Path, is_long_lived: bool
) -> None:
    Environment.initialise(tmp_path).close()
    with Environment.open(tmp_path, is_long_lived=is_long_lived) as environment:
        replica = environment.runtime.make_replica()
        assert replica.costs.builds_state_at_once == is_long_lived
