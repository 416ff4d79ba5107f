"""None of the reference's three anomalies shows, over two processes with late controllers; and each
of them would. ``--planted`` plants all of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from controllers.anomalies import PLANTS, search
from fixtures.examples import plant_some


def test_no_anomaly_shows_in_two_processes_whose_controllers_are_late(tmp_path: Path) -> None:
    assert search(tmp_path, 24, modes=[("1", "2"), ()]) == {"fine": 24}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    plant_some(metafunc, "plant", PLANTS, {"stale catalog"})


def test_an_anomaly_that_is_planted_is_found(tmp_path: Path, plant: str) -> None:
    assert search(tmp_path, 8, plant=plant, modes=[()]).keys() - {"fine"}
