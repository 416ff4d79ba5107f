"""Airflow's tables in PostgreSQL through the one driver that is locked, as `docker/compose.yaml`
has them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reclock.runtime.environment import Environment

pytestmark = pytest.mark.airflow

COMPOSE = Path(__file__).resolve().parents[2] / "docker" / "compose.yaml"
CONNECTIONS = ("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC")


def test_a_tick_and_the_api_run_on_it(
    tmp_path: Path,
    airflow_commands: Callable[..., Any],
    run_worker: Callable[..., Any],
    new_postgres_url: Callable[[], str],
) -> None:
    url = new_postgres_url()
    drivers = re.findall(rf"(?:{'|'.join(CONNECTIONS)}): ([\w+]+)://", COMPOSE.read_text())
    assert drivers == [url.partition("://")[0]] * 2
    home = tmp_path / "home"
    with Environment.initialise(home):
        pass
    settings = dict.fromkeys(CONNECTIONS, url) | {"RECLOCK_HOME": str(home)}
    airflow_commands(["db", "migrate"], **settings)
    (run,) = run_worker("tick_worker.py", [{}], **settings)
    assert run["state"] == "success"
    served = run_worker("plugin_worker.py", ["/api/v2/dags", "/api/v2/assets/events"], **settings)
    assert {answer["status"] for answer in served["answers"] if answer["user"] == "viewer"} == {200}
