"""A lake in a folder of the test's own, with one collection in it."""

from pathlib import Path

import pytest
from fixtures.lakes import DESC, FLIGHTS

from reclock.collections.collection import Collection
from reclock.collections.lake import Lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


@pytest.fixture
def collection(lake: Lake) -> Collection:
    return lake.create(FLIGHTS, DESC)
