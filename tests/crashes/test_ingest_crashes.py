"""The ingestion is stopped at every named point between two durable steps and started again. The mapping is the one an undisturbed
run makes, every byte is there exactly once, and nothing could be seen early.

Most stops are made within one process, by an exception that nothing handles: the next driver, with stores opened anew, finds
what was durable. Three points are done again with processes that are really killed.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fixtures.objects import World

from reclock import crashpoints

pytestmark = pytest.mark.spark

STEP_POINTS = [
    "ingest.after_probe",
    "ingest.after_claim",
    "ingest.after_claimed",
    "ingest.after_bind",
    "ingest.after_bound",
    "ingest.after_stage",
    "ingest.after_staged",
    "ingest.before_commit",
    "ingest.after_commit",
    "ingest.after_publish",
    "ingest.after_audit",
]
COMMIT_POINTS = [
    "collections.append.before_write",
    "collections.append.before_commit",
    "collections.append.after_commit",
    "collections.commit.landed",
]
"""Reached at each of the three commits of a step: the bindings, the rows, the evidence."""


class Killed(BaseException):
    """The process is gone."""


def fill(world):
    world.write("a.csv", "1,x\n2,y\n")
    world.tick(10)
    world.write("a.csv", '3,"two\nlines"\n4,u\n5,open')
    world.write("d/b.csv", "6,v\n")


ROWS = [(1, "x"), (2, "y"), (3, "two\nlines"), (4, "u"), (6, "v")]


def check(world, at):
    """What the second step binds has one time, ``at`` or that of a step of its own if nothing had been claimed before."""
    assert [row[:2] for row in world.visible()] == ROWS
    assert {row[2] for row in world.visible()} == {10, at}
    assert world.mapping() == [("a.csv", 10, 8), ("a.csv", at, 18), ("d/b.csv", at, 4)]
    assert world.frontiers.get("u4").claim is None
    known = world.lineup().read_bound()[1]
    assert {key: kept[0] for key, kept in known.items()} == {"a.csv": 26, "d/b.csv": 4}


def stop_at(monkeypatch, point, occurrence):
    ahead = [point] * occurrence

    def reach(name):
        if name == point and ahead:
            ahead.pop()
            if not ahead:
                raise Killed(name)

    monkeypatch.setattr("reclock.crashpoints.reach", reach)


def run_until_killed(world, at, owner):
    """A tick; whether it was stopped."""
    try:
        world.ingest(at, owner=owner)
        world.audit(owner=owner)
        crashpoints.reach("ingest.after_audit")
        world.publish(at, owner=owner)
    except Killed:
        return True
    return False


@pytest.mark.parametrize(
    ("point", "occurrence"),
    [*((point, 1) for point in STEP_POINTS), *((point, nth) for point in COMMIT_POINTS for nth in (1, 2))],
)
def test_a_stop_at_any_point_changes_nothing_of_the_outcome(tmp_path, spark, monkeypatch, point, occurrence):
    world = World(tmp_path, lambda: spark)
    fill(world)
    stop_at(monkeypatch, point, occurrence)
    assert run_until_killed(world, 20, "first"), f"{point} was never reached"
    monkeypatch.undo()
    seen = {row[2] for row in world.visible()}
    assert seen == ({10, 20} if point == "ingest.after_publish" else {10})
    world.close()

    restarted = World(tmp_path, lambda: spark)
    claim = restarted.frontiers.get("u4").claim
    if claim is not None:
        # as if the dead writer's lease had run out
        restarted.frontiers.amend("u4", claim, claim.payload, lease_ms=0)
    restarted.tick(30, owner="second")
    restarted.tick(40, owner="second")
    check(restarted, 30 if point == "ingest.after_probe" else 20)
    restarted.close()


def test_a_second_stop_during_recovery_changes_nothing_either(tmp_path, spark, monkeypatch):
    """Each try gets one point further and is stopped there."""
    world = World(tmp_path, lambda: spark)
    fill(world)
    in_order = [point for point in STEP_POINTS if point != "ingest.after_audit"]
    for number, point in enumerate(in_order):
        stop_at(monkeypatch, point, 1)
        at = 20 + number
        run_until_killed(world, at, "same owner")
        monkeypatch.undo()
        world.close()
        world = World(tmp_path, lambda: spark)
        expected_times = {10} if point != "ingest.after_publish" else {10, 21}
        assert {row[2] for row in world.visible()} == expected_times
    world.tick(100, owner="same owner")
    check(world, 21)
    world.close()


TICK = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
from fixtures.objects import World

def spark():
    return (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.driver.memory", "512m")
            .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1").getOrCreate())

world = World(Path(sys.argv[1]), spark, lease_ms=200)
world.tick(int(sys.argv[2]), owner=f"process {sys.argv[2]}")
"""


def run_process(home: Path, at: int, crash_at: str | None) -> int:
    """One tick in a process of its own; its exit status. A Spark it leaves behind ends with its standard input."""
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    environment.pop("RECLOCK_CRASH_AT", None)
    if crash_at:
        environment["RECLOCK_CRASH_AT"] = crash_at
    return subprocess.run(
        [sys.executable, "-c", TICK, str(home), str(at)], env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ).returncode


@pytest.mark.timeout(300)
def test_processes_that_are_killed_leave_nothing_half_done(tmp_path, spark):
    """One after another dies a step further: after binding, after staging, after the commit. The last one finishes."""
    world = World(tmp_path, lambda: spark)
    fill(world)
    for at, point in ((20, "ingest.after_bind"), (30, "ingest.after_stage"), (40, "ingest.after_commit")):
        assert run_process(tmp_path, at, point) == -signal.SIGKILL
        assert {row[2] for row in world.visible()} == {10}
    claim = world.frontiers.get("u4").claim
    world.frontiers.amend("u4", claim, claim.payload, lease_ms=0)
    world.tick(50, owner="survivor")
    check(world, 20)
    world.close()
