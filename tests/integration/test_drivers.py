"""Several processes on one environment: drivers of ticks, one of them killed, and clients that
define things at once. None of them can import PySpark, and none needs to. One is started as users
start it, the others are forked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fixtures import forks

RECLOCK = str(Path(sys.executable).with_name("reclock"))
SOURCES = ("left", "right")


def variables(home: Path, **more: str) -> dict[str, str]:
    return {"RECLOCK_HOME": str(home), "PYTHONPATH": str(home / "modules"), **more}


def start(home: Path, *arguments: str) -> forks.Command:
    return forks.begin(*arguments, **variables(home))


def output_of(command: forks.Command) -> str:
    done = command.completed()
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run(home: Path, *arguments: str) -> str:
    return output_of(start(home, *arguments))


def select(home: Path, query: str) -> list[dict[str, object]]:
    return [
        json.loads(line) for line in run(home, "sql", "--format", "json", "-c", query).splitlines()
    ]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "pyspark.py").write_text("raise ModuleNotFoundError(__name__)")
    run(tmp_path, "init")
    statements = [
        f"CREATE SOURCE {name} (n integer NOT NULL) FROM S3 DISCOVER OBJECTS MATCHING '{name}/*' "
        "USING BUCKET SCAN 'bucket' FORMAT CSV WITH HEADER"
        for name in SOURCES
    ]
    statements.append(
        "CREATE MATERIALIZED VIEW total AS SELECT count(*) AS rows, sum(n) AS n FROM left"
    )
    run(tmp_path, "sql", "-c", "; ".join(statements))
    return tmp_path


def grow(home: Path, name: str, numbers: range) -> None:
    path = home / "buckets" / "bucket" / name / "a.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(
            ("n\n" if numbers.start == 0 else "") + "".join(f"{number}\n" for number in numbers)
        )


def test_two_drivers_and_a_killed_one_lose_nothing_and_repeat_nothing(home: Path) -> None:
    for name in SOURCES:
        grow(home, name, range(100))
    killing = variables(home, RECLOCK_FAILPOINT="ingest.after_bind", RECLOCK_CLAIM_LEASE_MS="1")
    killed = subprocess.run([RECLOCK, "tick"], env=os.environ | killing, capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    assert select(home, "SELECT count(*) AS n FROM right AS OF AT LEAST 0") == [{"n": 0}]

    drivers = [start(home, "tick", "--every", "50ms", "--count", "6") for _ in range(2)]
    for start_at in (100, 200):
        for name in SOURCES:
            grow(home, name, range(start_at, start_at + 100))
    for driver in drivers:
        output_of(driver)
    run(home, "tick")

    for name in SOURCES:
        [state] = select(
            home,
            f"SELECT count(*) AS n, count(DISTINCT n) AS different, sum(n) AS total FROM {name}",
        )
        assert state == {"n": 300, "different": 300, "total": sum(range(300))}
    assert select(home, "SELECT * FROM total") == [{"rows": 300, "n": sum(range(300))}]
    unclaimed = (
        "SELECT type, count(*) AS n FROM mz_frontiers JOIN mz_objects ON id = object_id "
        "WHERE claimed_at IS NULL AND id LIKE 'u%'"
    )
    assert select(home, unclaimed + " GROUP BY type ORDER BY type") == [
        {"type": "index", "n": 1},
        {"type": "source", "n": 2},
        {"type": "source_progress", "n": 2},
    ]
    [progress] = select(home, "SELECT byte_offset FROM left_progress")
    assert (
        progress["byte_offset"] == (home / "buckets" / "bucket" / "left" / "a.csv").stat().st_size
    )


def test_clients_that_define_things_at_once_all_succeed(home: Path) -> None:
    clients = [
        start(
            home,
            "sql",
            "-c",
            "; ".join(
                f"CREATE VIEW v{client}_{number} AS SELECT n FROM left" for number in range(5)
            ),
        )
        for client in range(3)
    ]
    for client in clients:
        output_of(client)
    names = {row["name"] for row in select(home, "SELECT name FROM mz_views")}
    assert names == {f"v{client}_{number}" for client in range(3) for number in range(5)}
    events = select(home, "SELECT id FROM mz_audit_events ORDER BY id")
    assert [event["id"] for event in events] == list(range(1, len(events) + 1))
