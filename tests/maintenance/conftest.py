"""A small environment of each test's own; what it retains is measured in milliseconds."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.maintained import World


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    for name, value in {
        "RETENTION_MS": "100",
        "INDEX_RETENTION_MS": "0",
        "VACUUM_GRACE_MS": "1000",
    }.items():
        monkeypatch.setenv(f"RECLOCK_{name}", value)
    made = World(tmp_path / "home")
    yield made
    made.close()
