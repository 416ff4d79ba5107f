"""An Airflow of the tests' own: SQLite in a temporary folder, and everything that imports it in
processes of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fixtures.airflow_processes import Zygotes

PROJECT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent

Worker = Callable[..., Any]


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with Reclock installed from its wheel: Airflow sees the provider, the plugin and the
    DAGs as users do, whatever the checkout has."""
    folder = tmp_path_factory.mktemp("wheel")
    checkout, target = folder / "checkout", folder / "installed"
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
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        *options,
        "--target",
        str(target),
        str(checkout),
    ]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    return target


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
def airflow_database(airflow_settings: dict[str, str]) -> dict[str, str]:
    """The settings, with Airflow's tables made."""
    subprocess.run(
        [str(BIN / "airflow"), "db", "migrate"],
        env=airflow_settings,
        check=True,
        capture_output=True,
    )
    return airflow_settings


@pytest.fixture(scope="session")
def zygotes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygotes]:
    zygotes = Zygotes(tmp_path_factory.mktemp("zygotes"))
    yield zygotes
    zygotes.stop()


@pytest.fixture(scope="session")
def run_worker(airflow_settings: dict[str, str], zygotes: Zygotes) -> Worker:
    """Run one of the scripts beside this file with arguments as JSON; answers the JSON it prints
    last."""

    def run(script: str, *arguments: Any, **settings: str) -> Any:
        forked = zygotes.run(script, list(map(json.dumps, arguments)), airflow_settings | settings)
        assert forked.wait() == 0, forked.output()[-8000:]
        return json.loads(forked.output().splitlines()[-1])

    return run


@pytest.fixture(scope="session")
def loaded_dags(airflow_settings: dict[str, str]) -> Any:
    """What a process that has imported nothing else loads from the DAG files."""
    command = [sys.executable, str(Path(__file__).with_name("dag_file_worker.py"))]
    done = subprocess.run(command, env=airflow_settings, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])
