"""`make demo`, shorter: a real scheduler, triggered through the API, over data that grows between
the runs; and a backfill, created by Airflow's command line, whose runs the scheduler starts, oldest
first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from fixtures.waiting import eventually

PROJECT = Path(__file__).resolve().parents[2]
DEMO = PROJECT / "examples" / "flights" / "demo.py"

pytestmark = [pytest.mark.airflow, pytest.mark.spark]


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DEMO), "--home", str(home), *arguments]
    try:
        return subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=550
        )
    except subprocess.TimeoutExpired as late:
        output = b"".join(part for part in (late.stdout, late.stderr) if part).decode()
        raise AssertionError(f"the demo has not ended, and had said:\n{output}") from None


def test_the_demo_runs_ticks_and_counts_what_is_in_the_files(tmp_path: Path) -> None:
    demo = run(tmp_path / "home", "--ticks", "2", "--days", "1")
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert demo.stdout.count("published below") == 2
    assert demo.stdout.count("equal") == 5
    assert "the history is as it was" in demo.stdout
    assert "flights/2013-01-01/JFK.csv" in demo.stdout


def test_the_demo_empties_no_folder_that_is_not_its_own(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("data")
    done = run(tmp_path)
    assert done.returncode == 1
    assert "not a demo's folder" in done.stdout
    assert (tmp_path / "precious").read_text() == "data"
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


LEFT_ALONE = """
import os, signal, sys
from pathlib import Path
from stack import _process
with _process(["sh", "-c", "sleep 600 & wait"], dict(os.environ), Path(sys.argv[1])) as process:
    print(process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_demo_has_started_ends_with_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LEFT_ALONE, str(tmp_path)]
    killed = subprocess.run(
        command, capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=DEMO.parent
    )
    group = int(killed.stdout)

    eventually(lambda: not any(is_of_group(process, group) for process in psutil.process_iter()))


ENDED = """
import os, subprocess, sys
from pathlib import Path
from stack import Stack, StackError, _process
from contextlib import ExitStack
home = Path(sys.argv[1])
(home / "logs").mkdir()
with ExitStack() as started:
    def start(command):
        return started.enter_context(_process(command, dict(os.environ), home / "logs"))
    processes = [start(["sleep", "600"]), start(["tail", "-f", "/dev/null"])]
    stack = Stack(home, "", "", "", None, processes, start)
    print(stack.restart_ended())
    processes[0].kill()
    processes[0].wait()
    print(*stack.restart_ended())
    print([process.poll() for process in processes], stack.restart_ended())
    processes[0].kill()
    processes[0].wait()
    try:
        stack.restart_ended()
    except StackError as error:
        print(error)
"""


def test_a_process_that_ends_is_started_again_unless_it_ends_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ENDED, str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=DEMO.parent)
    nothing, again, alive, given_up, *_ = ended.stdout.splitlines()
    assert nothing == "[]"
    assert again.startswith("`sleep 600` has ended, with status -9, and is started again; see ")
    assert alive == "[None, None] []"
    assert given_up.startswith("`sleep 600` has ended, with status -9. The end of ")


def is_of_group(process: psutil.Process, group: int) -> bool:
    try:
        return os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE
    except (ProcessLookupError, psutil.NoSuchProcess):
        return False
