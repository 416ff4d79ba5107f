"""An asset watcher in a real triggerer: an event for each publication of new rows, also while the
triggerer was stopped."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import reclock

pytestmark = pytest.mark.airflow

FOLDER = Path(__file__).resolve().parent
AIRFLOW = str(Path(sys.executable).parent / "airflow")

PATIENCE_S = 300


def test_new_rows_of_a_relation_are_events_of_its_asset(
    tmp_path: Path, airflow_settings: dict[str, str]
) -> None:
    """Airflow's tables are this test's own: the triggerer runs every trigger that they have."""
    (tmp_path / "dags").mkdir()
    shutil.copy(FOLDER / "user_dags" / "watched.py", tmp_path / "dags")
    connection = {"conn_type": "reclock", "extra": {"home": str(tmp_path / "home")}}
    settings = airflow_settings | {
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__CORE__DAGS_FOLDER": str(tmp_path / "dags"),
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "INFO",
        "AIRFLOW_CONN_RECLOCK_DEFAULT": json.dumps(connection),
    }
    log = tmp_path / "triggerer.log"

    def stored(query: str) -> list[Any]:
        """One column of JSON in Airflow's tables, read without Airflow, whose import takes
        seconds."""
        with closing(sqlite3.connect(tmp_path / "airflow.db")) as database:
            return [json.loads(value) for (value,) in database.execute(query)]

    def payloads() -> list[dict[str, Any]]:
        return [event["payload"] for event in stored("SELECT extra FROM asset_event ORDER BY id")]

    def states() -> list[int]:
        return stored("SELECT value FROM asset_state_store")

    for command in (["db", "migrate"], ["dags", "reserialize"]):
        subprocess.run([AIRFLOW, *command], env=settings, check=True, capture_output=True)
    with reclock.connect(tmp_path / "home", create=True) as client, log.open("wb") as output:
        client.sql("CREATE TABLE watched (n integer); INSERT INTO watched VALUES (0)")

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                [AIRFLOW, "triggerer", "--skip-serve-logs"],
                env=settings,
                stdout=output,
                stderr=output,
            )

        triggerer = start()
        try:
            wait_until(lambda: "watching from" in log.read_text(), triggerer, log)
            client.sql("INSERT INTO watched VALUES (1), (2)")
            wait_until(lambda: len(payloads()) == 1, triggerer, log)
            client.sql("SELECT * FROM watched")  # a read moves time on, and is not an event
            client.sql("UPDATE watched SET n = 3 WHERE n = 2; DELETE FROM watched WHERE n = 0")
            wait_until(lambda: len(payloads()) == 2, triggerer, log)
            wait_until(lambda: states() == [payloads()[-1]["time"]], triggerer, log)
            triggerer.terminate()
            triggerer.wait(60)
            client.sql("INSERT INTO watched VALUES (4)")
            triggerer = start()
            wait_until(lambda: len(payloads()) == 3, triggerer, log)
        finally:
            triggerer.terminate()
            triggerer.wait(60)
        first, second, third = payloads()
        assert [event["changes"] for event in (first, second, third)] == [
            {"watched": 2},
            {"watched": 3},
            {"watched": 1},
        ]

        def rows(at: int) -> list[int]:
            return sorted(n for (n,) in client.sql("SELECT n FROM watched", as_of=at).rows())

        assert rows(first["time"]) == [0, 1, 2]
        assert rows(second["time"]) == [1, 3]
        assert rows(third["time"]) == [1, 3, 4]


def wait_until(is_reached: Any, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_reached():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.2)
