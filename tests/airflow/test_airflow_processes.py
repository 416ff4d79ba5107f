"""A user's DAGs in an Airflow of separate processes, with Reclock from its wheel: a sensor and an
asset watcher go on after the triggerer was killed, news of an upstream starts ticks, and Airflow's
provider of OpenLineage reports what tasks read and wrote."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from fixtures.lineage import EventServer, event_server
from fixtures.ports import free_port
from fixtures.waiting import await_port, eventually

import reclock

pytestmark = pytest.mark.airflow

FOLDER = Path(__file__).resolve().parent
AIRFLOW = str(Path(sys.executable).parent / "airflow")

SOURCE = """CREATE SOURCE {name} (k text, v integer) FROM S3
  DISCOVER OBJECTS MATCHING '**' USING BUCKET SCAN '{name}' FORMAT CSV WITH HEADER"""


EVENTS = """SELECT asset_event.extra FROM asset_event JOIN asset ON asset.id = asset_event.asset_id
  WHERE asset.name = '{asset}' ORDER BY asset_event.id"""


class AirflowProcesses:
    """Airflow in ``folder``, on SQLite. Processes are started as groups of their own."""

    def __init__(self, folder: Path, settings: dict[str, str], stack: ExitStack) -> None:
        self.folder, self._settings, self._stack = folder, settings, stack

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        output = self._stack.enter_context((self.folder / f"{words[0]}.log").open("ab"))
        process = subprocess.Popen(
            [AIRFLOW, *words],
            env=self._settings,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        self._stack.callback(end, process, signal.SIGTERM)
        return process

    def stored(self, query: str) -> list[tuple[Any, ...]]:
        """Read without Airflow, whose import takes seconds."""
        with closing(sqlite3.connect(self.folder / "airflow.db", timeout=60)) as database:
            return database.execute(query).fetchall()

    def state(self, dag: str, task: str) -> str | None:
        query = f"SELECT state FROM task_instance WHERE dag_id = '{dag}' AND task_id = '{task}'"
        rows = self.stored(query)
        return rows[0][0] if rows else None

    def logs(self) -> str:
        paths = [*self.folder.glob("*.log"), *self.folder.glob("logs/**/attempt=*.log")]
        return "\n".join(f"{path}\n{path.read_text()[-3000:]}" for path in sorted(paths))


@pytest.fixture(scope="module")
def lineage_server() -> Iterator[EventServer]:
    with event_server() as server:
        yield server


@pytest.fixture(scope="module")
def airflow(
    tmp_path_factory: pytest.TempPathFactory,
    airflow_settings: dict[str, str],
    airflow_commands: Callable[..., Any],
    lineage_server: EventServer,
) -> Iterator[AirflowProcesses]:
    folder = tmp_path_factory.mktemp("processes")
    (folder / "dags").mkdir()
    for name in ("waiting", "watched", "ticking", "lineage"):
        shutil.copy(FOLDER / "user_dags" / f"{name}.py", folder / "dags")
    connection = {"conn_type": "reclock", "extra": {"home": str(folder / "home")}}
    port = free_port()
    settings = airflow_settings | {
        "AIRFLOW_HOME": str(folder),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{folder}/airflow.db?timeout=60",
        "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": "1",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        "AIRFLOW__API__BASE_URL": f"http://127.0.0.1:{port}",
        "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",
        # a triggerer that is not heard of for so long is dead, and another takes its triggers
        "AIRFLOW__TRIGGERER__JOB_HEARTBEAT_SEC": "1",
        "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "10",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "INFO",
        "AIRFLOW_CONN_RECLOCK_DEFAULT": json.dumps(connection),
        "OPENLINEAGE_URL": lineage_server.url,
    }
    for source in ("a", "arriving"):
        (folder / "home" / "buckets" / source).mkdir(parents=True)
    (folder / "home" / "buckets" / "a" / "1.csv").write_text("k,v\nx,1\nx,2\n")
    with reclock.connect(folder / "home", create=True) as client:
        client.sql("CREATE TABLE waited_for (n integer); INSERT INTO waited_for VALUES (1)")
        client.sql("CREATE TABLE watched (n integer); INSERT INTO watched VALUES (0)")
        for source in ("a", "arriving"):
            client.sql(SOURCE.format(name=source))
        client.sql("CREATE MATERIALIZED VIEW v AS SELECT k, sum(v) AS total FROM a GROUP BY k")
    airflow_commands(["db", "migrate"], **settings)
    with ExitStack() as stack:
        processes = AirflowProcesses(folder, settings, stack)
        words = ("api-server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1")
        await_port(port, processes.start(*words), folder / "api-server.log")
        processes.start("dag-processor")
        processes.start("scheduler", "--skip-serve-logs")
        yield processes


def test_a_sensor_and_a_watcher_survive_the_death_of_the_triggerer(
    airflow: AirflowProcesses,
) -> None:
    def triggerers() -> set[Any]:
        """Those that the triggers of the sensor and of the watcher are assigned to."""
        return {id for (id,) in airflow.stored("SELECT triggerer_id FROM trigger")}

    def documents(query: str) -> list[Any]:
        return [json.loads(value) for (value,) in airflow.stored(query)]

    def payloads() -> list[dict[str, Any]]:
        events = documents(EVENTS.format(asset="watched"))
        return [event["payload"] for event in events if "payload" in event]

    def count_is(count: int) -> bool:
        return len(payloads()) == count

    triggerer = airflow.start("triggerer", "--skip-serve-logs")
    log = airflow.folder / "triggerer.log"
    eventually(lambda: airflow.state("waiting", "enough") == "deferred", airflow.logs)
    eventually(lambda: "watching from" in log.read_text(), airflow.logs)
    eventually(lambda: len(ids := triggerers()) == 1 and None not in ids, airflow.logs)
    first = triggerers()
    with reclock.connect(airflow.folder / "home") as client:
        client.sql("INSERT INTO watched VALUES (1), (2)")
        eventually(lambda: count_is(1), airflow.logs)
        client.sql("SELECT * FROM watched")  # a read moves time on, and is not an event
        client.sql("UPDATE watched SET n = 3 WHERE n = 2; DELETE FROM watched WHERE n = 0")
        eventually(lambda: count_is(2), airflow.logs)
        states = "SELECT value FROM asset_state_store WHERE key LIKE 'reclock_published_%'"
        eventually(lambda: documents(states) == [payloads()[-1]["time"]], airflow.logs)
        end(triggerer, signal.SIGKILL)
        client.sql("INSERT INTO watched VALUES (4)")
        client.sql("INSERT INTO waited_for VALUES (41)")
        assert (airflow.state("waiting", "enough"), triggerers()) == ("deferred", first)
        airflow.start("triggerer", "--skip-serve-logs")
        eventually(lambda: airflow.state("waiting", "enough") == "success", airflow.logs)
        eventually(lambda: count_is(3), airflow.logs)
        changes = [event["changes"] for event in payloads()]
        assert changes == [{"watched": 2}, {"watched": 3}, {"watched": 1}]
        rows = [
            sorted(n for (n,) in client.sql("SELECT n FROM watched", as_of=event["time"]).rows())
            for event in payloads()
        ]
        assert rows == [[0, 1, 2], [1, 3], [1, 3, 4]]
    ((value,),) = airflow.stored(
        "SELECT value FROM xcom WHERE task_id = 'enough' AND key = 'return_value'"
    )
    row = json.loads(value)
    assert (json.loads(row) if isinstance(row, str) else row) == [True, 42]
    # the DAG that has the asset as its schedule
    eventually(lambda: airflow.state("react", "payloads") == "success", airflow.logs)


def test_news_of_an_upstream_starts_a_tick(airflow: AirflowProcesses) -> None:
    """The triggerer is the one that the test before has left running."""
    objects = airflow.folder / "home" / "buckets" / "arriving"

    def reported() -> list[Any]:
        events = airflow.stored(EVENTS.format(asset="news"))
        return [json.loads(extra)["payload"]["sources"] for (extra,) in events]

    with reclock.connect(airflow.folder / "home") as client:
        for count in (1, 2):
            (objects / f"{count}.csv").write_text("k,v\nx,1\n")

            def is_published(count: int = count) -> bool:
                return client.sql("SELECT count(*) FROM arriving").rows() == [(count,)]

            eventually(is_published, airflow.logs)
            assert reported() == [["reclock.public.arriving"]] * count
    states = [
        state for (state,) in airflow.stored("SELECT state FROM dag_run WHERE dag_id = 'ticking'")
    ]
    assert len(states) == 2


def test_airflow_reports_what_tasks_read_and_wrote(
    airflow: AirflowProcesses, lineage_server: EventServer
) -> None:
    eventually(lambda: airflow.state("lineage", "refresh") == "success", airflow.logs)

    def completed() -> list[dict[str, Any]]:
        return [
            event
            for event in lineage_server.events
            if event["job"]["name"] == "lineage.tick" and event["eventType"] == "COMPLETE"
        ]

    (event,) = eventually(completed, airflow.logs)
    assert [dataset["name"] for dataset in event["inputs"]] == [
        f"{airflow.folder}/home/buckets/a/**"
    ]
    outputs = {dataset["name"]: dataset for dataset in event["outputs"]}
    assert set(outputs) == {"reclock.public.a", "reclock.public.v"}
    fields = outputs["reclock.public.v"]["facets"]["columnLineage"]["fields"]
    (origin,) = fields["total"]["inputFields"]
    assert (origin["name"], origin["field"]) == ("reclock.public.a", "v")
    assert origin["transformations"][0]["subtype"] == "AGGREGATION"
    # the tick's own events would say it again
    assert not [e for e in lineage_server.events if e["producer"].startswith("urn:reclock:")]


def end(process: subprocess.Popen[bytes], number: int) -> None:
    """Signal the process with everything that it started, and wait for it."""
    if process.poll() is None:
        os.killpg(process.pid, number)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(60)
