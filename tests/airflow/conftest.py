"""An Airflow of the tests' own: SQLite in a temporary folder, and everything that imports it in
processes of their own."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from fixtures.airflow_processes import Zygote

PROJECT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent

Worker = Callable[..., Any]


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with Reclock installed from its wheel, once for all processes of a run: Airflow sees
    the provider, the plugin and the DAGs as users do, whatever the checkout has."""
    base = tmp_path_factory.getbasetemp()
    folder = base.parent / "wheel" if "PYTEST_XDIST_WORKER" in os.environ else base / "wheel"
    folder.mkdir(exist_ok=True)
    target = folder / "installed"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            install(folder / "checkout", target)
    return target


def install(checkout: Path, target: Path) -> None:
    """Copy the project to ``checkout``, and install it from there."""
    unfinished = target.with_name("unfinished")
    for folder in (checkout, unfinished):  # of a process that was stopped
        shutil.rmtree(folder, ignore_errors=True)
    without_caches = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("src", "catalog_migrations", "dags", "jobs"):
        shutil.copytree(PROJECT / name, checkout / name, ignore=without_caches)
    for name in ("setup.cfg", "pyproject.toml", "MANIFEST.in", "README.md"):
        shutil.copy(PROJECT / name, checkout / name)
    options = [
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--disable-pip-version-check",
    ]
    words = ["-m", "pip", "install", *options, "--target", str(unfinished), str(checkout)]
    subprocess.run([sys.executable, *words], check=True, capture_output=True, cwd=checkout.parent)
    unfinished.rename(target)


@pytest.fixture(scope="session")
def airflow_settings(tmp_path_factory: pytest.TempPathFactory, installed: Path) -> dict[str, str]:
    home = tmp_path_factory.mktemp("airflow")
    return os.environ | {
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(installed),
        "PYTHONWARNINGS": "ignore",
        "PYSPARK_PYTHON": sys.executable,
        "RECLOCK_HOME": str(home / "reclock"),
        "AIRFLOW_HOME": str(home),
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[1]"}),
        "AIRFLOW__CORE__DAGS_FOLDER": str(installed / "share" / "reclock" / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "admin:admin,guest:viewer",
        "AIRFLOW__API_AUTH__JWT_SECRET": "a-secret-of-the-tests-that-is-long-enough-for-a-signature-of-512-bits",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
    }


@pytest.fixture(scope="session")
def airflow_database(airflow_settings: dict[str, str], airflow_commands: Worker) -> dict[str, str]:
    """The settings, with Airflow's tables made."""
    airflow_commands(["db", "migrate"])
    return airflow_settings


@pytest.fixture(scope="session")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    zygote = Zygote(tmp_path_factory.mktemp("zygote"))
    yield zygote
    zygote.stop()


@pytest.fixture(scope="session")
def run_worker(airflow_settings: dict[str, str], zygote: Zygote) -> Worker:
    """Run one of the scripts beside this file with arguments as JSON; answers the JSON it prints
    last."""

    def run(script: str, *arguments: Any, **settings: str) -> Any:
        forked = zygote.run(script, list(map(json.dumps, arguments)), airflow_settings | settings)
        assert forked.wait() == 0, forked.output()[-8000:]
        return json.loads(forked.output().splitlines()[-1])

    return run


@pytest.fixture(scope="session")
def airflow_commands(run_worker: Worker) -> Worker:
    """The outputs of commands of Airflow, in one process with these settings."""

    def run(*commands: Sequence[str], **settings: str) -> Any:
        return run_worker("command_worker.py", commands, **settings)

    return run


@pytest.fixture(scope="session")
def loaded_dags(airflow_settings: dict[str, str]) -> Any:
    """What a process that has imported nothing else loads from the DAG files."""
    command = [sys.executable, str(Path(__file__).with_name("dag_file_worker.py"))]
    done = subprocess.run(command, env=airflow_settings, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])
