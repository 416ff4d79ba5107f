"""Steps of DAGs in a warm process: who may ask for them, and what a requester learns. Without a
network: requests are WSGI's."""

from __future__ import annotations

import base64
import errno
import io
import json
import ssl
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
import trustme
from fixtures.waiting import eventually

from reclock.adapter.session.session import Session
from reclock.airflow.warm import WarmProcess, WarmProcessGone, WarmProcessRefuses
from reclock.errors import UpstreamUnavailable
from reclock.pipeline import dag_steps
from reclock.runtime.environment import Environment
from reclock.server import pages, warm_steps
from reclock.server.console import Console
from reclock.server.monitoring import Monitor

PLAN: dict[str, Any] = {
    "step": "plan",
    "arguments": {"sources": None, "at": None},
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with Environment.initialise(tmp_path_factory.mktemp("warm") / "home") as environment:
        session = Session(environment)
        for statement in (
            "CREATE ROLE root SUPERUSER LOGIN PASSWORD 'secret of root'",
            "CREATE ROLE plain LOGIN PASSWORD 'secret of plain'",
            "CREATE ROLE guest LOGIN",
        ):
            list(session.execute(statement))
        yield environment


@pytest.fixture
def console(environment: Environment) -> Console:
    return Console(environment)


def ask(
    console: Console, method: str, path: str, body: Any = None, **variables: str
) -> tuple[int, Any]:
    """The status of the answer, and its JSON or its text."""
    path, _, query = path.partition("?")
    text = b"" if body is None else json.dumps(body).encode()
    request: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": "127.0.0.1:9187",
        "CONTENT_LENGTH": str(len(text)),
        "wsgi.input": io.BytesIO(text),
        "wsgi.url_scheme": "http",
    }
    statuses: list[str] = []
    answer = b"".join(console(request | variables, lambda status, headers: statuses.append(status)))
    try:
        return int(statuses[0][:3]), json.loads(answer)
    except ValueError:
        return int(statuses[0][:3]), answer.decode()


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


FAR = {"REMOTE_ADDR": "192.0.2.7", "HTTP_HOST": "lake.example:9187"}
ROOT = {"HTTP_AUTHORIZATION": basic("root", "secret of root")}


@pytest.mark.parametrize(
    ("variables", "status"),
    [
        ({}, 404),  # this machine, as the role without a password: there is only no such step
        ({"HTTP_AUTHORIZATION": basic("reclock", "anything")}, 404),
        (ROOT, 404),
        ({"HTTP_AUTHORIZATION": basic("root", "wrong")}, 401),
        ({"HTTP_AUTHORIZATION": basic("root", "")}, 401),
        ({"HTTP_AUTHORIZATION": basic("nobody", "secret of root")}, 401),
        ({"HTTP_AUTHORIZATION": basic("plain", "secret of plain")}, 403),
        ({"HTTP_AUTHORIZATION": basic("guest", "")}, 403),
        ({"HTTP_AUTHORIZATION": "Basic §"}, 400),
        (FAR | ROOT, 403),  # the password would travel unencrypted
        (FAR | ROOT | {"wsgi.url_scheme": "https"}, 404),
        (FAR | {"wsgi.url_scheme": "https"}, 401),
        # a proxy on this machine asks for somebody else
        ({"HTTP_X_FORWARDED_FOR": "192.0.2.7"}, 403),
        ({"HTTP_HOST": "evil.example:9187"}, 403),  # a site gave its name to this machine's address
        ({"HTTP_ORIGIN": "https://evil.example"}, 403),
        (ROOT | {"HTTP_ORIGIN": "https://evil.example"}, 403),
        ({"HTTP_ORIGIN": "http://127.0.0.1:9187"}, 404),
    ],
)
def test_only_superusers_are_answered_by_the_rules_of_the_sql_port(
    console: Console, variables: dict[str, str], status: int
) -> None:
    assert ask(console, "GET", "/steps/unknown", **variables)[0] == status
    if status in (400, 401, 403):
        assert ask(console, "POST", "/steps/new", PLAN, **variables)[0] == status
        assert ask(console, "GET", "/steps/new")[0] == 404


def test_a_step_tells_what_it_does_and_what_came_of_it(
    console: Console, environment: Environment
) -> None:
    home = environment.stores.settings.home
    write(home, "k,v\nx,1\n")
    source = (
        "CREATE SOURCE a (k text, v int) FROM S3 DISCOVER OBJECTS MATCHING '**' USING BUCKET "
        "SCAN 'a' FORMAT CSV WITH HEADER"
    )
    list(Session(environment).execute(source))
    assert ask(console, "POST", "/steps/plan", PLAN) == (202, {})
    status, first = ask(console, "GET", "/steps/plan?after=0&wait=20")
    assert status == 200
    lines = list(first["lines"])
    while (progress := ask(console, "GET", f"/steps/plan?after={len(lines)}&wait=20")[1])[
        "outcome"
    ] is None:
        lines += progress["lines"]
    assert [item["source"] for item in progress["outcome"]["result"]] == ["reclock.public.a"]
    assert "news in 1 of 1 sources" in (lines + progress["lines"])[0]


def test_clusters_without_work_say_so(environment: Environment) -> None:
    create = "CREATE TABLE t (n int); CREATE MATERIALIZED VIEW v AS SELECT n FROM t"
    list(Session(environment).execute(create))
    for _ in range(2):
        lines: list[str] = []
        dag_steps.work_clusters(environment, owner="test", tell=lines.append)
    assert lines == ["all indexes and sinks are up to date"]


def test_a_step_that_runs_is_not_begun_again_and_one_that_ended_is(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end, started = threading.Event(), []

    def slow(environment: Environment, *, tell: dag_steps.Tell) -> str:
        started.append(1)
        tell("begun")
        assert may_end.wait(60)
        return "done"

    monkeypatch.setattr(warm_steps, "STEPS", {"slow": slow})
    body = {"step": "slow", "arguments": {}}
    for _ in range(2):
        assert ask(console, "POST", "/steps/key", body)[0] == 202
        assert ask(console, "GET", "/steps/key?after=0&wait=20")[1] == {
            "lines": ["begun"],
            "outcome": None,
        }
    assert len(started) == 1
    may_end.set()
    assert ask(console, "GET", "/steps/key?after=1&wait=20")[1]["outcome"] == {"result": "done"}
    assert ask(console, "POST", "/steps/key", body)[0] == 202
    assert ask(console, "GET", "/steps/key?after=1&wait=20")[1]["outcome"] == {"result": "done"}
    assert len(started) == 2


def test_what_was_done_for_a_killed_task_is_in_the_log_of_its_retry(
    console: Console, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    news = ["published 2 rows"]

    def publish(environment: Environment, *, tell: dag_steps.Tell) -> str:
        tell(news.pop() if news else "nothing new")
        return "done"

    monkeypatch.setattr(warm_steps, "STEPS", {"publish": publish})
    steps = warm_steps.WarmSteps(environment)

    def lines() -> list[str]:
        logged: list[str] = []
        while (progress := steps.progress("key", after=len(logged), wait_s=60)) is not None:
            logged += progress["lines"]
            if progress["outcome"] is not None:
                break
        return logged

    steps.start("key", "publish", {})
    eventually(lambda: steps._running["key"].outcome is not None)
    steps.start("key", "publish", {})  # the task that began it was killed
    assert lines() == [
        "published 2 rows",
        "that was done for an earlier attempt, which did not live to see it; the step is done again",
        "nothing new",
    ]
    steps.start("key", "publish", {})  # cleared
    assert lines() == ["nothing new"]


def test_a_failure_keeps_its_detail_and_hint_and_a_bug_is_no_silence(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(environment: Environment, *, tell: dag_steps.Tell) -> None:
        raise UpstreamUnavailable("no answer", detail="port 1 is closed", hint="open it")

    monkeypatch.setattr(
        warm_steps,
        "STEPS",
        {
            "unreachable": unreachable,
            "bug": lambda environment, *, tell: dict[str, str]()["no such key"],
        },
    )
    for step in ("unreachable", "bug"):
        ask(console, "POST", f"/steps/{step}", {"step": step, "arguments": {}})
    assert ask(console, "GET", "/steps/unreachable?wait=20")[1]["outcome"]["error"] == {
        "sqlstate": "08001",
        "message": "no answer",
        "detail": "port 1 is closed",
        "hint": "open it",
    }
    assert (
        "no such key" in ask(console, "GET", "/steps/bug?wait=20")[1]["outcome"]["error"]["message"]
    )


@pytest.mark.parametrize(
    "body",
    [{"step": "drop everything", "arguments": {}}, {"step": "plan"}, [], "plan", {"step": 1}],
)
def test_what_is_no_step_is_refused(console: Console, body: Any) -> None:
    assert ask(console, "POST", "/steps/key", body)[0] == 400
    assert ask(console, "GET", "/steps/key")[0] == 404


def write(home: Path, text: str) -> None:
    folder = home / "buckets" / "a"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "object.csv").write_text(text)


def test_the_operators_client_follows_a_step_over_https(
    environment: Environment, tmp_path: Path
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    monitor = Monitor("127.0.0.1", 0, tls)
    try:
        process = WarmProcess(
            f"https://{monitor.address}", "root", "secret of root", str(tmp_path / "ca.pem")
        )
        with pytest.raises(WarmProcessGone, match="not joined"):
            process.start("plan", **PLAN)
        with monitor.watching(environment, application=Console(environment)):
            with pytest.raises(WarmProcessGone, match="no such step"):
                process.look("plan", after=0, wait_s=0)
            process.start("plan", **PLAN)
            outcome = None
            while outcome is None:
                _, outcome = process.look("plan", after=0, wait_s=5)
            assert "result" in outcome
            with pytest.raises(WarmProcessRefuses, match="401"):
                replace(process, password="wrong").start("plan", **PLAN)
            with pytest.raises(WarmProcessGone, match="certificate"):
                replace(process, certificates=None).start("plan", **PLAN)
    finally:
        monitor.close()
    with pytest.raises(WarmProcessGone):
        process.start("plan", **PLAN)


@pytest.mark.parametrize(
    ("is_lost", "told"),
    [
        (False, ("no space is left on a disk", "free space where")),
        (True, ("the lake is older than consensus", "it is empty", "reclock restore")),
    ],
)
def test_a_page_that_cannot_be_shown_says_why_and_what_to_do(
    console: Console,
    environment: Environment,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_lost: bool,
    told: tuple[str, ...],
) -> None:
    def unreadable(_: Environment) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pages, "overview_of", unreadable)
    lake = Path(environment.stores.settings.lake_root)
    if is_lost:
        lake.rename(tmp_path / "away")
    try:
        status, answer = ask(console, "GET", "/")
    finally:
        if is_lost:
            (tmp_path / "away").rename(lake)
    assert status == 503
    for text in (*told, "Try again"):
        assert text in answer
