"""The provider in a real Airflow: what it lists, and connections of type ``reclock``."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from fixtures.server import SqlServer

from reclock.airflow.provider import get_provider_info
from reclock.runtime.environment import Environment

pytestmark = pytest.mark.airflow

Worker = Callable[..., Any]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("provider") / "home"
    Environment.initialise(home).close()
    return home


@pytest.fixture
def airflow(airflow_commands: Worker, airflow_database: dict[str, str]) -> Worker:
    """The outputs of commands of Airflow, as JSON of those that are asked for it."""

    def run(*commands: Sequence[str], **settings: str) -> list[Any]:
        done = airflow_commands(*commands, **settings)
        return [
            json.loads(text) if "json" in words else text
            for words, text in zip(commands, done, strict=True)
        ]

    return run


@pytest.fixture
def hook_answers(run_worker: Worker, airflow_database: dict[str, str]) -> Worker:
    """The answers of the hook with each of the connections, at first without one if that is
    None."""

    def run(*connections: Any, **variables: str) -> list[dict[str, Any]]:
        queries = [
            {"AIRFLOW_CONN_RECLOCK_DEFAULT": json.dumps({"conn_type": "reclock"} | connection)}
            if connection is not None
            else {}
            for connection in connections
        ]
        return list(run_worker("hook_worker.py", queries, **variables))

    return run


def test_airflow_lists_the_provider_and_its_connection_type(airflow: Worker) -> None:
    commands = ("list", "hooks", "widgets", "triggers")
    outputs = airflow(*(("providers", name, "-o", "json") for name in commands))
    rows_of = dict(zip(commands, outputs, strict=True))

    def listed(command: str, column: str, value: str) -> dict[str, str]:
        (row,) = [row for row in rows_of[command] if value in row[column]]
        return dict(row)

    provider = listed("list", "package_name", "reclock")
    assert provider["description"] + "." == get_provider_info()["description"]
    hook = listed("hooks", "connection_type", "reclock")
    assert (hook["class"], hook["package_name"]) == ("reclock.airflow.hooks.ReclockHook", "reclock")
    assert hook["conn_id_attribute_name"] == "reclock_conn_id"
    trigger = listed("triggers", "class", "reclock")
    assert (trigger["class"], trigger["package_name"]) == ("reclock.airflow.triggers", "reclock")
    assert listed("widgets", "connection_parameter_name", "extra__reclock__home")


def test_a_connection_is_added_and_tested(airflow: Worker, home: Path) -> None:
    extra = json.dumps({"home": str(home)})
    _, [lake], tested = airflow(
        ("connections", "add", "lake", "--conn-type", "reclock", "--conn-extra", extra),
        ("connections", "get", "lake", "-o", "json"),
        ("connections", "test", "lake"),
        AIRFLOW__CORE__TEST_CONNECTION="Enabled",
    )
    assert (lake["conn_type"], lake["extra_dejson"]) == ("reclock", {"home": str(home)})
    assert "Connection success!" in tested


def test_the_hook_opens_a_home_in_the_process(hook_answers: Worker, home: Path) -> None:
    missing, named, empty = hook_answers(
        None, {"extra": {"home": str(home)}}, {}, RECLOCK_HOME=str(home)
    )
    assert_answers(missing)
    assert_answers(named)
    assert named["sqlalchemy"] == "SQLAlchemy needs a server"
    assert empty["user"] == "reclock"


def test_the_hook_connects_to_a_server(hook_answers: Worker, sql_server: SqlServer) -> None:
    connection = {
        "host": "127.0.0.1",
        "port": sql_server.port,
        "login": "reclock",
        "password": "p@ss/word",
        "extra": {"application_name": "a dag"},
    }
    [answers] = hook_answers(connection)
    assert_answers(answers)
    server = f"reclock:p%40ss%2Fword@127.0.0.1:{sql_server.port}"
    expected = f"postgresql+psycopg://{server}/reclock?application_name=a+dag"
    assert answers["sqlalchemy"] == expected


def test_the_wheel_has_the_dags_and_their_timetable(installed: Path, loaded_dags: Any) -> None:
    assert loaded_dags["errors"] == {}
    assert set(loaded_dags["dags"]) == {"reclock_tick", "reclock_maintenance", "reclock_backfill"}
    jobs = {path.name for path in (installed / "share" / "reclock" / "jobs").iterdir()}
    assert jobs >= {"ingest_source.py", "work_cluster.py"}


def assert_answers(answers: dict[str, Any]) -> None:
    assert answers["test"] == [True, "Connection successfully tested"]
    assert answers["triggerer"] == answers["test"]
    assert answers["records"] == [[1, "2.50"], [2, "3.00"]]
    assert answers["first"] == [1]
    assert answers["types"] == {"id": "int32", "price": "Decimal"}
    assert answers["user"] == "reclock"


WRONG = [
    ({"extra": {"home": "/nowhere"}}, "the catalog is not initialized"),
    ({"host": "127.0.0.1", "port": 1}, "refused"),
    (
        {"host": "127.0.0.1", "extra": {"home": "/nowhere"}},
        'connection "reclock_default" has both a home and a host',
    ),
    ({"port": 6875}, 'connection "reclock_default" has options of a server, but no host'),
]


def test_what_is_wrong_with_a_connection_is_said(hook_answers: Worker) -> None:
    answers = hook_answers(*(connection for connection, _ in WRONG))
    for (connection, message), answer in zip(WRONG, answers, strict=True):
        succeeded, text = answer["test"]
        assert not succeeded, connection
        assert message in text
