"""What the demo runs on: a warm Spark Connect server, a warm `reclock serve`, and Airflow on
SQLite. All of it on loopback, all of it in the demo's home.

Processes are started as groups of their own and stopped with everything they started, also if this
one is killed. Their output is in `<home>/logs/`.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

PROJECT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
DAG = "reclock_tick"
USER = "admin"
STARTUP_S = 180
RESTART_INTERVAL_S = 60


class StackError(Exception):
    """Something the demo needs did not start, or does not answer. The message says where to
    look."""


@contextmanager
def own(home: Path) -> Iterator[None]:
    """The home is this process's until the end: two demos, or a demo and an open UI, would disturb
    each other."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / ".reclock-demo").open("a") as marker:
        try:
            fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StackError(
                f"{home} is in use: stop the other `make demo` or `make up` first"
            ) from None
        yield


def is_demo_home(home: Path) -> bool:
    """Whether the folder is new, or one that the demo made: another one is never emptied."""
    return not home.exists() or not any(home.iterdir()) or (home / ".reclock-demo").exists()


def clear(home: Path) -> None:
    """Remove what an earlier run left."""
    for path in home.iterdir():
        if path.name != ".reclock-demo":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def free_ports(count: int) -> list[int]:
    """Different ports of loopback that nothing is bound to. They are below the ports that the system
    gives to outgoing connections: one of those could take a port in the minute before its server
    starts."""
    ports: list[int] = []
    with ExitStack() as bound:
        while len(ports) < count:
            port = random.randrange(20_000, 32_768)
            probe = bound.enter_context(socket.socket())
            with suppress(OSError):
                probe.bind(("127.0.0.1", port))
                ports.append(port)
    return ports


@dataclass(frozen=True)
class Stack:
    """The running processes: where they are, and how to talk to Airflow."""

    home: Path
    url: str
    warm_url: str
    """Of the warm process."""
    password: str
    client: httpx.Client
    processes: list[subprocess.Popen[bytes]]
    start: Callable[[list[str]], subprocess.Popen[bytes]]
    """Starts a command that ends with the stack."""
    restarted_at: dict[str, float] = field(default_factory=dict)

    def restart_ended(self) -> list[str]:
        """Start the processes again that have ended. Returns a line about each. StackError if one
        ended within a minute of the last such start."""
        lines: list[str] = []
        for index, process in enumerate(self.processes):
            if process.poll() is None:
                continue
            command: list[str] = process.args  # type: ignore[assignment]
            name, now = _shown(command), time.monotonic()
            if now - self.restarted_at.get(name, -math.inf) < RESTART_INTERVAL_S:
                self.check()
            self.restarted_at[name] = now
            self.processes[index] = self.start(command)
            log = _log_of(command, self.home / "logs")
            lines.append(
                f"`{name}` has ended, with status {process.returncode}, and is started again; see {log}"
            )
        return lines

    def check(self) -> None:
        """StackError if a process has ended: one would wait for what nobody does any more."""
        _check(self.processes, self.home / "logs")

    def call(self, method: str, path: str, **arguments: Any) -> Any:
        """One request to Airflow's REST API; answers the JSON."""
        self.check()
        answer = self.client.request(method, f"{self.url}/api/v2{path}", **arguments)
        if answer.is_error:
            raise StackError(
                f"Airflow answered {answer.status_code} to {method} {path}: {answer.text[:500]}"
            )
        return answer.json()


@contextmanager
def running(
    home: Path,
    *,
    port: int | None = None,
    sql_port: int | None = None,
    before: Sequence[Sequence[str]] = (),
    settings: Mapping[str, str] | None = None,
) -> Iterator[Stack]:
    """Start everything, wait until the DAG can be triggered, and stop everything at the end,
    whatever happens.

    `before` are commands of Airflow, run on its database with the DAGs in it before anything else
    writes to it. `settings` are variables of all processes, and replace those of the demo.
    """
    home = home.resolve()
    airflow_home, logs = home / "airflow", home / "logs"
    for folder in (airflow_home, logs):
        folder.mkdir(parents=True, exist_ok=True)
    free = free_ports(4)
    port, sql_port, spark_port, http_port = port or free[0], sql_port or free[1], *free[2:]
    url = f"http://127.0.0.1:{port}"
    own = _settings(home, airflow_home, url, spark_port, http_port)
    environment = os.environ | own | dict(settings or {})
    password = _password(airflow_home)
    with ExitStack() as stack:

        def start(command: list[str]) -> subprocess.Popen[bytes]:
            return stack.enter_context(_process(command, environment, logs))

        spark = start(
            [str(BIN / "reclock"), "spark", "--home", str(home), "--port", str(spark_port)]
        )
        options = ["--home", str(home), "--port", str(sql_port), "--http", str(http_port)]
        server = start([str(BIN / "reclock"), "serve", *options])
        commands = [["db", "migrate"], *([["dags", "reserialize"], *before] if before else ())]
        _run_airflow(commands, environment, logs)
        started = [
            start([str(BIN / "airflow"), *arguments])
            for arguments in (
                ["api-server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"],
                ["scheduler", "--skip-serve-logs"],
                ["dag-processor"],
                ["triggerer", "--skip-serve-logs"],
            )
        ]
        # they end side by side, and are waited for one by one
        processes = [spark, server, *started]
        stack.callback(_signal_all, processes)
        client = stack.enter_context(httpx.Client(timeout=120))
        made = Stack(home, url, f"http://127.0.0.1:{http_port}", password, client, processes, start)
        _await(lambda: _is_open(spark_port) and _is_open(sql_port), [spark, server], logs)
        _await(lambda: _log_in(made), started, logs)
        _await(lambda: _is_ready(made), started, logs)
        yield made


def _settings(
    home: Path, airflow_home: Path, url: str, spark_port: int, http_port: int
) -> dict[str, str]:
    return {
        "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}",
        "RECLOCK_HOME": str(home),
        "RECLOCK_SPARK_REMOTE": f"sc://127.0.0.1:{spark_port}",
        # the demo's objects are small, and shall be seen to be read on Spark
        "RECLOCK_STAGING_THRESHOLD_BYTES": "0",
        "RECLOCK_TICK_SCHEDULE": "",
        "PYSPARK_PYTHON": sys.executable,
        "AIRFLOW_HOME": str(airflow_home),
        "AIRFLOW_CONN_RECLOCK_WARM": f"http://127.0.0.1:{http_port}",
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[2]"}),
        # SQLite locks as a whole; with its own five seconds' patience, commands fail beside a busy
        # scheduler
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{airflow_home}/airflow.db?timeout=60",
        "AIRFLOW__CORE__DAGS_FOLDER": str(PROJECT / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{USER}:admin",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
        "AIRFLOW__API__BASE_URL": url,
        # on a machine that is busy, tasks would fail that only waited
        "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",
        "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_hex(64),
        # a run of four tasks takes a second longer than with no pause; without one, an idle scheduler
        # takes a quarter of a core
        "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.4",
        # the DAG files change with the project alone
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "300",
        "AIRFLOW__DAG_PROCESSOR__PARSING_PROCESSES": "1",
        "GX_ANALYTICS_ENABLED": "false",
    }


def _password(airflow_home: Path) -> str:
    """The password of Airflow's user, made at the first start and kept in a file only its owner
    reads."""
    file = airflow_home / "simple_auth_manager_passwords.json.generated"
    if file.exists():
        password: str = json.loads(file.read_text())[USER]
        return password
    password = secrets.token_urlsafe(12)
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        json.dump({USER: password}, opened)
    return password


@contextmanager
def _process(
    command: list[str], environment: dict[str, str], logs: Path
) -> Iterator[subprocess.Popen[bytes]]:
    with _log_of(command, logs).open("ab") as output:
        process = subprocess.Popen(
            command,
            env=environment,
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    guard = subprocess.Popen(
        ["sh", "-c", GUARD, "guard", str(process.pid)],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        _stop(process)
        guard.kill()
        guard.communicate()


GUARD = "cat; kill -s TERM -- -$1 && sleep 15 && kill -s KILL -- -$1"
"""Ends a group when who started it is gone, and the pipe that it holds is closed."""


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the whole group: first kindly, then, if it stays, at once."""
    for signal_ in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, signal_)
            process.wait(15)
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            break
    process.wait()


def _signal_all(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)


COMMANDS = """
import json, sys
from airflow.cli.cli_parser import get_parser
for words in json.loads(sys.argv[1]):
    arguments = get_parser().parse_args(words)
    arguments.func(arguments)
"""
"""Commands of Airflow in one process: each would need seconds to import it."""


def _run_airflow(
    commands: Sequence[Sequence[str]], environment: dict[str, str], logs: Path
) -> None:
    log = logs / "airflow-commands.log"
    command = [sys.executable, "-c", COMMANDS, json.dumps(commands)]
    with log.open("ab") as output:
        if subprocess.run(
            command, env=environment, stdout=output, stderr=output, stdin=subprocess.DEVNULL
        ).returncode:
            raise StackError(f"a command of Airflow failed. {_end_of(log)}")


def _await(
    is_there: Callable[[], bool], processes: list[subprocess.Popen[bytes]], logs: Path
) -> None:
    deadline = time.monotonic() + STARTUP_S
    while not is_there():
        _check(processes, logs)
        if time.monotonic() > deadline:
            raise StackError(f"a process does not answer; see {logs}")
        time.sleep(0.2)


def _check(processes: list[subprocess.Popen[bytes]], logs: Path) -> None:
    for process in processes:
        if process.poll() is not None:
            command: list[str] = process.args  # type: ignore[assignment]
            status = f"`{_shown(command)}` has ended, with status {process.returncode}."
            raise StackError(f"{status} {_end_of(_log_of(command, logs))}")


def _shown(command: list[str]) -> str:
    return f"{Path(command[0]).name} {command[1]}"


def _log_of(command: list[str], logs: Path) -> Path:
    return logs / f"{_shown(command).replace(' ', '-')}.log"


def _end_of(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return "\n".join([f"The end of {log}:", *lines[-20:]])


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _log_in(stack: Stack) -> bool:
    try:
        answer = stack.client.post(
            f"{stack.url}/auth/token", json={"username": USER, "password": stack.password}
        )
    except httpx.TransportError:
        return False
    if answer.is_error:
        return False
    stack.client.headers["Authorization"] = f"Bearer {answer.json()['access_token']}"
    return True


def _is_ready(stack: Stack) -> bool:
    """Whether the DAG has been read and may run."""
    answer = stack.client.patch(
        f"{stack.url}/api/v2/dags/{DAG}",
        json={"is_paused": False},
        params={"update_mask": "is_paused"},
    )
    return not answer.is_error
