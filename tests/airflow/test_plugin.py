"""The page in Airflow's UI: for those who may see the DAG, and the data docs with it; nothing else
of the home is served."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fixtures.stalled import stall

from reclock.adapter.session.session import Session
from reclock.runtime.environment import Environment

pytestmark = pytest.mark.airflow


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    with Environment.initialise(home) as environment:
        source = (
            "CREATE SOURCE flights (k text) FROM S3 DISCOVER OBJECTS MATCHING '**' USING "
            "BUCKET SCAN 'b' FORMAT CSV WITH HEADER"
        )
        list(Session(environment).execute(source))
        stall(environment, "flights")
    (home / "quality").mkdir()
    (home / "quality" / "index.html").write_text("the data docs")
    (home / "quality" / "page.json").write_text("{}")
    (home / "secret.html").write_text("not for them")
    (home / "quality" / "link.html").symlink_to(home / "secret.html")
    return home


DOOR, PAGE, DOCS = "/reclock/", "/reclock/overview", "/reclock/data-docs/index.html"
FILTERED = f"{PAGE}?name=weather&reload=60"
HIDDEN = [
    "/reclock/data-docs/..%2Fsecret.html",
    "/reclock/data-docs/%2e%2e/secret.html",
    "/reclock/data-docs/link.html",
    "/reclock/data-docs/page.json",
    "/reclock/data-docs/",
    "/reclock/docs",
    "/reclock/openapi.json",
]


def test_the_page_and_the_data_docs_are_behind_the_login(
    home: Path, run_worker: Callable[..., Any], airflow_database: dict[str, str]
) -> None:
    served = run_worker(
        "plugin_worker.py",
        [DOOR, PAGE, FILTERED, DOCS, *HIDDEN],
        "/reclock/object/{}/0",
        RECLOCK_HOME=str(home),
    )
    answers = {(answer["path"], answer["user"]): answer for answer in served["answers"]}
    for path in (DOOR, PAGE, DOCS):
        assert answers[path, "nobody"]["status"] == 401
        for user in ("admin", "viewer"):
            assert answers[path, user]["status"] == 200
            assert "default-src 'none'" in answers[path, user]["headers"]["content-security-policy"]
    assert "reclock.public.flights" in answers[DOOR, "viewer"]["text"]
    assert "reclock.public.flights" in answers[PAGE, "viewer"]["text"]
    filtered = answers[FILTERED, "viewer"]["text"]
    assert "No object matches" in filtered
    assert 'content="60"' in filtered
    assert answers[DOCS, "viewer"]["text"] == "the data docs"
    for path in HIDDEN:
        for user in ("nobody", "viewer", "admin"):
            assert answers[path, user]["status"] in (401, 404), path
            assert "not for them" not in answers[path, user]["text"]
    # who may only look decides nothing, and neither does a form that another site made
    assert served["decisions"] == {"viewer": 403, "admin without a token": 403, "admin": 303}
    with Environment.open(home) as environment:
        query = (
            "SELECT details::jsonb ->> 'decision' FROM mz_audit_events WHERE event_type = 'alter'"
        )
        (result,) = Session(environment).execute(query)

        assert list(result.rows()) == [("retry",)]
    assert served["audited"] == ["reclock_decision"]
    (plugin,) = [plugin for plugin in served["plugins"] if plugin["name"] == "reclock"]
    assert plugin["external_views"][0]["url_route"] == "reclock"
    assert plugin["source"].startswith(
        "reclock=="
    )  # by its entry point: there is no plugins folder
    assert plugin["timetables"] == ["reclock.airflow.timetable.BackfillTimetable"]


def test_without_an_environment_the_page_says_so(
    tmp_path: Path, run_worker: Callable[..., Any], airflow_database: dict[str, str]
) -> None:
    (tmp_path / "empty").mkdir()
    served = run_worker("plugin_worker.py", [PAGE], RECLOCK_HOME=str(tmp_path / "empty"))
    answer = next(answer for answer in served["answers"] if answer["user"] == "viewer")
    assert answer["status"] == 503
    assert "reclock init" in answer["text"]
