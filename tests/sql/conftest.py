"""The catalog of ``new_york``, for tests of planning."""

import pytest
from fixtures.planning import World, new_york


@pytest.fixture
def world() -> World:
    return new_york()
