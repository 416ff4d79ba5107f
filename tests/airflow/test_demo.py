"""`make demo`, shorter: a real scheduler, triggered through the API, over data that grows between the runs; and a backfill, created
by Airflow's command line, whose runs the scheduler starts, oldest first.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
DEMO = PROJECT / "examples" / "flights" / "demo.py"

pytestmark = [pytest.mark.airflow, pytest.mark.spark]


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DEMO), "--home", str(home), *arguments]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def test_the_demo_runs_ticks_and_counts_what_is_in_the_files(tmp_path: Path) -> None:
    done = run(tmp_path / "home", "--ticks", "2", "--days", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("published below") == 2
    assert done.stdout.count("equal") == 5
    assert "the history is as it was" in done.stdout
    assert "flights/2013-01-01/JFK.csv" in done.stdout


def test_the_demo_empties_no_folder_that_is_not_its_own(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("data")
    done = run(tmp_path)
    assert done.returncode == 1
    assert "not a demo's folder" in done.stdout
    assert (tmp_path / "precious").read_text() == "data"
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]
