"""The main job on real data: five sources over growing CSV objects, several ticks of the DAG
`reclock_tick` in a real Airflow, then the history of a new source by `airflow backfill create`,
then queries. Every run starts clean in its home (`demo-home` unless told) and leaves it there for
`make up`.

    .venv/bin/python examples/flights/demo.py [--home DIR] [--ticks 4] [--days 2]
"""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from feed import Feed
from rich.console import Console
from rich.live import Live
from rich.syntax import Syntax
from rich.text import Text
from stack import BIN, DAG, PROJECT, Stack, StackError, clear, is_demo_home, own, running

import reclock

SCHEMA = Path(__file__).with_name("schema.sql")
SOURCES = ("flights", "weather", "airlines", "airports", "planes")
RUN_LIMIT_S = 900
BACKFILL = "reclock_backfill"
HISTORY = (
    "CREATE SOURCE hours FROM LOAD GENERATOR COUNTER (TICK INTERVAL '1h') WITH (START "
    "'{:%Y-%m-%d}')"
)

WORST_HOURS = """\
SELECT origin, time_hour, flights, cancelled,
       round(mean_delay, 1) AS mean_delay, worst_delay,
       round(temp) AS temp, round(wind_speed::numeric, 1) AS wind, visib
FROM delays
WHERE mean_delay IS NOT NULL
ORDER BY mean_delay DESC, origin, time_hour
LIMIT 8{as_of}"""

console = Console(highlight=False, soft_wrap=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--home",
        type=Path,
        default=PROJECT / "demo-home",
        help="folder of the demo's environment; emptied first",
    )
    parser.add_argument("--ticks", type=int, default=4, help="runs of the DAG")
    parser.add_argument(
        "--days", type=int, default=2, help="days of flights, from 1 January 2013 on"
    )
    arguments = parser.parse_args()
    if arguments.ticks < 2 or arguments.days < 1:
        parser.error("two ticks and one day at least")
    # what was started is stopped then too
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return run(arguments.home, arguments.ticks, arguments.days)
    except StackError as error:
        console.print(f"[red]{error}[/red]")
        return 1
    except KeyboardInterrupt:
        return 130


def run(home: Path, ticks: int, days: int) -> int:
    if not is_demo_home(home):
        raise StackError(
            f"{home} is not a demo's folder, and would be emptied: choose another --home"
        )
    started = time.monotonic()
    with own(home):
        clear(home)
        console.rule("[bold]an environment, five sources, a materialized view")
        bucket = home / "buckets" / "nycflights"
        bucket.mkdir(parents=True)
        with reclock.connect(home, create=True) as client:
            client.sql(SCHEMA.read_text())
        console.print(f"{SCHEMA.relative_to(PROJECT)} over {bucket}")
        feed = Feed(bucket, days=days, steps=ticks)
        past = days_before(datetime.now(UTC))
        console.print(f"airflow {shlex.join(runs_of(past))}")
        with console.status("starting Airflow and a warm Spark session"):
            # Airflow's SQLite has one writer: a backfill made beside a scheduler fails, and may
            # take the scheduler with it
            stack = running(home, before=[runs_of(past)])
            airflow = stack.__enter__()
        try:
            console.rule(f"[bold]{ticks} ticks of the DAG {DAG}")
            console.print("Spark reads every source, however small: staging_threshold_bytes is 0")
            uppers = [one_tick(airflow, feed, number, ticks) for number in range(1, ticks + 1)]
            console.rule(f"[bold]the history of a new source, by the DAG {BACKFILL}: a day a run")
            has_history = backfill(airflow, past)
        finally:
            with console.status("stopping Airflow and Spark"):
                stack.__exit__(None, None, None)
        is_right = look(home, feed, uppers) and has_history
    console.rule()
    console.print(
        f"done in {time.monotonic() - started:.0f} s. The environment is in {shown(home)}."
    )
    console.print(
        "[bold]make up[/bold] opens Airflow on it (http://127.0.0.1:8080, with the page "
        "Reclock), and shows the login."
    )
    console.print(f"[bold]{shown(BIN)}/reclock sql --home {shown(home)}[/bold] is the SQL shell.")
    return 0 if is_right else 1


def one_tick(airflow: Stack, feed: Feed, number: int, ticks: int) -> int:
    """Let the objects grow, run the DAG, and answer the upper that it published."""
    added = feed.append(number)
    console.print(
        f"[bold]tick {number}/{ticks}[/bold]  flights and weather until "
        f"{added.until:%Y-%m-%d %H:%M} UTC: "
        f"{added.objects_begun} objects begun, {added.objects_grown} grown, "
        f"{added.bytes_added:,} bytes"
    )
    began = time.monotonic()
    triggered = airflow.call(
        "POST", f"/dags/{DAG}/dagRuns", json={"logical_date": None, "conf": {}}
    )
    run = f"/dags/{DAG}/dagRuns/{triggered['dag_run_id']}"
    state = follow(airflow, run, began)
    if state != "success":
        failed = [
            task
            for task in tasks_of(airflow, run)
            if task["state"] in ("failed", "upstream_failed")
        ]
        for task in failed:
            console.print(f"  [red]{name_of(task)} {task['state']}[/red]")
        raise StackError(
            f"the run is {state}; the logs of its tasks are in {airflow.home / 'airflow' / 'logs'}"
        )
    published: dict[str, dict[str, int]] = {}
    for task in tasks_of(airflow, run):
        published |= publication_of(airflow, run, task) if is_publication(task) else {}
    upper = max(changes["upper"] for changes in published.values())
    rows = ", ".join(
        f"{name.rpartition('.')[2]} {changes['rows']:,}" for name, changes in published.items()
    )
    console.print(
        f"        [green]published[/green] below {upper} in "
        f"{time.monotonic() - began:.1f} s: {rows}"
    )
    return upper


def is_publication(task: dict[str, Any]) -> bool:
    """Whether the task has published something."""
    return bool(task["task_id"] == "source" and task["state"] == "success")


def publication_of(airflow: Stack, run: str, task: dict[str, Any]) -> dict[str, dict[str, int]]:
    """The rows of the source that the task says it has published, and their upper."""
    wanted = {"map_index": task["map_index"], "deserialize": True}
    entry = airflow.call(
        "GET", f"{run}/taskInstances/source/xcomEntries/return_value", params=wanted
    )
    changed: dict[str, dict[str, int]] = entry["value"]["changed"]
    return {
        name: changes for name, changes in changed.items() if name.rpartition(".")[2] in SOURCES
    }


def follow(airflow: Stack, run: str, began: float) -> str:
    """Show which tasks run until the run has ended; answers how it ended."""
    with Live(console=console, refresh_per_second=1, transient=True) as live:
        while (state := str(airflow.call("GET", run)["state"])) not in ("success", "failed"):
            if time.monotonic() - began > RUN_LIMIT_S:
                raise StackError(f"the run has not ended after {RUN_LIMIT_S} s")
            tasks = tasks_of(airflow, run)
            done = sum(task["state"] in ("success", "skipped") for task in tasks)
            active = [name_of(task) for task in tasks if task["state"] == "running"]
            live.update(
                Text(f"        {done} tasks done; running: {', '.join(active) or '-'}", style="dim")
            )
            time.sleep(1)
    return state


def days_before(now: datetime) -> list[datetime]:
    """The last days that are over, oldest first."""
    today = datetime.combine(now.date(), datetime.min.time(), UTC)
    return [today - timedelta(days=back) for back in (3, 2, 1)]


def runs_of(days: list[datetime]) -> list[str]:
    """The command of Airflow that makes the backfill's runs. They wait until the DAG is no longer
    paused."""
    which = [
        "--dag-id",
        BACKFILL,
        "--from-date",
        f"{days[0]:%Y-%m-%d}",
        "--to-date",
        f"{days[-1]:%Y-%m-%d}",
    ]
    return [
        "backfill",
        "create",
        *which,
        "--max-active-runs",
        "1",
        "--dag-run-conf",
        json.dumps({"sources": ["hours"]}),
    ]


def backfill(airflow: Stack, days: list[datetime]) -> bool:
    """Give a source of hours its history of some days. False if they did not come oldest first, or
    if what it had at the end of any day is not the hours until then."""
    rows(airflow.home, HISTORY.format(days[0]))
    began, runs = time.monotonic(), f"/dags/{BACKFILL}/dagRuns"
    airflow.call(
        "PATCH", f"/dags/{BACKFILL}", json={"is_paused": False}, params={"update_mask": "is_paused"}
    )
    while states := {run["state"] for run in airflow.call("GET", runs)["dag_runs"]} - {"success"}:
        if "failed" in states or time.monotonic() - began > RUN_LIMIT_S:
            raise StackError(
                "the backfill has failed, or takes too long; the logs are in "
                f"{airflow.home / 'airflow' / 'logs'}"
            )
        time.sleep(1)
    made = sorted(airflow.call("GET", runs)["dag_runs"], key=lambda run: str(run["start_date"]))
    is_right = [run["logical_date"][:10] for run in made] == [f"{day:%Y-%m-%d}" for day in days]
    for number, day in enumerate(days, 1):
        until = day + timedelta(days=1)
        query = f"SELECT count(*) FROM hours AS OF {int(until.timestamp() * 1000)}"
        ((found,),) = rows(airflow.home, query)
        is_right = is_right and found == 24 * number
        console.print(f"as of {until:%Y-%m-%d %H:%M} UTC: {found} hours")
    console.print(
        f"the history is [{'green]as it was' if is_right else 'red]DIFFERENT'}[/] "
        f"({time.monotonic() - began:.0f} s)"
    )
    return is_right


def tasks_of(airflow: Stack, run: str) -> list[dict[str, Any]]:
    tasks: list[dict[str, Any]] = airflow.call(
        "GET", f"{run}/taskInstances", params={"limit": 100}
    )["task_instances"]
    return tasks


def name_of(task: dict[str, Any]) -> str:
    return f"{task['task_id']} {task.get('rendered_map_index') or ''}".strip()


def look(home: Path, feed: Feed, uppers: list[int]) -> bool:
    """What came of it, in SQL. False if the counts differ from the files'."""
    earlier = uppers[max(0, len(uppers) // 2 - 1)] - 1
    console.rule("[bold]the worst hours, with their weather, from the materialized view")
    query(home, WORST_HOURS.format(as_of=""))
    console.rule("[bold]the same, as of an earlier tick")
    query(home, WORST_HOURS.format(as_of=f"\nAS OF {earlier}"))
    console.rule("[bold]progress of flights: bytes read of each object, and their time")
    query(home, "SELECT * FROM flights_progress ORDER BY key")
    console.rule("[bold]counted in SQL, and in the files")
    counts = " UNION ALL ".join(
        f"SELECT '{name}' AS source, count(*) AS rows FROM {name}" for name in SOURCES
    )
    found = dict(rows(home, counts))
    expected = feed.count()
    for name in SOURCES:
        mark = (
            "[green]equal[/green]" if found.get(name) == expected[name] else "[red]DIFFERENT[/red]"
        )
        console.print(
            f"{name:10} {found.get(name, 0):>9,} rows, {expected[name]:>9,} records  {mark}"
        )
    return found == expected


def shown(path: Path) -> Path:
    """The path as a user in the project's folder would write it."""
    path = path.absolute()
    return path.relative_to(PROJECT) if path.is_relative_to(PROJECT) else path


def query(home: Path, text: str) -> None:
    console.print(Syntax(text + ";", "sql", background_color="default"))
    command = [str(BIN / "reclock"), "sql", "--home", str(home), "-c", text]
    if subprocess.run(command).returncode:
        raise StackError("`reclock sql` failed")


def rows(home: Path, statement: str) -> list[tuple[Any, ...]]:
    with reclock.connect(home) as client:
        return list(client.sql(statement).rows())


if __name__ == "__main__":
    sys.exit(main())
