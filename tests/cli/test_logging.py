"""Log lines say which tick or statement they are about, to people and to programs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from reclock.adapter.session.activity import Activity
from reclock.adapter.session.session import Session
from reclock.config import Settings
from reclock.config.logs import configure_logging
from reclock.ingest.report import IngestReport
from reclock.pipeline import dag_steps, source_steps
from reclock.pipeline.tick import ALLOCATE, STAGES, TickRun, TickStage
from reclock.runtime.environment import Environment
from reclock.sql.syntax.parse import parse


@pytest.fixture
def _logging_as_it_was() -> Iterator[None]:
    configuration = structlog.get_config()
    yield
    structlog.configure(**configuration)


@pytest.mark.usefixtures("_logging_as_it_was")
def test_programs_read_an_object_a_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    configure_logging(Settings(home=tmp_path, log_format="json"))
    try:
        raise ValueError("the cause")
    except ValueError:
        structlog.get_logger().warning("loop failed", path=tmp_path, exc_info=True)
    line = json.loads(capsys.readouterr().err)
    assert (line["level"], line["event"]) == ("warning", "loop failed")
    assert line["exception"].endswith("ValueError: the cause")


@pytest.mark.usefixtures("_logging_as_it_was")
def test_people_read_text(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    configure_logging(Settings(home=tmp_path))
    structlog.get_logger().info("connection opened", peer="ada")
    assert "connection opened" in (line := capsys.readouterr().err)
    assert line.rstrip().endswith("peer=ada")


def test_a_program_that_connects_logs_no_values_of_variables(tmp_path: Path) -> None:
    """They may be a user's data. Its answers alone are on standard output."""
    program = """if True:
        import reclock, structlog
        reclock.connect("home", create=True).close()
        try:
            password = "hunter" + "2"
            raise ValueError("the cause")
        except ValueError:
            structlog.get_logger().warning("loop failed", exc_info=True)
        print("done")
    """
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ended.stdout == "done\n"
    assert "the cause" in ended.stderr
    assert "hunter2" not in ended.stderr


def test_lines_of_a_tick_have_its_time(environment: Environment) -> None:
    def logged(stage: TickStage) -> TickStage:
        def run(tick: TickRun) -> None:
            structlog.get_logger().info(stage.name)
            stage.run(tick)

        return replace(stage, run=run)

    with capture_logs(processors=[merge_contextvars]) as lines:
        report = TickRun(environment, "t", None, is_last=True).walk([logged(s) for s in STAGES])
        structlog.get_logger().info("after the tick")
    times = {line["event"]: line.get("tick") for line in lines}
    assert times.pop(ALLOCATE.name) is None
    assert times.pop("after the tick") is None
    assert set(times.values()) == {report.at}


def test_lines_of_the_tasks_of_a_tick_have_its_time(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those of the threads that probe."""
    home = environment.stores.settings.home
    for name in ("a", "b"):
        (home / "buckets" / name).mkdir(parents=True)
        (home / "buckets" / name / "o.csv").write_text("v\n1\n")
        create = f"CREATE SOURCE {name} (v int) FROM S3 DISCOVER OBJECTS USING BUCKET SCAN '{name}'"
        list(Session(environment).execute(f"{create} FORMAT CSV WITH HEADER"))
    ingest = source_steps.ingest_spec

    def logged(*arguments: Any, is_probe: bool = False) -> IngestReport:
        structlog.get_logger().info("probed" if is_probe else "ingested")
        return ingest(*arguments, is_probe=is_probe)

    monkeypatch.setattr(source_steps, "ingest_spec", logged)
    with capture_logs(processors=[merge_contextvars]) as lines:
        planned = dag_steps.plan(environment, sources=None, at=None, tell=lambda _: None)
        dag_steps.move_source(environment, **planned[0], owner="task", tell=lambda _: None)
        structlog.get_logger().info("after it")
    *of_tasks, after = [
        line for line in lines if line["event"] in ("probed", "ingested", "after it")
    ]
    assert [line["event"] for line in of_tasks] == ["probed", "probed", "ingested"]
    assert {line["tick"] for line in of_tasks} == {planned[0]["at"]}
    assert "tick" not in after


def test_lines_of_a_statement_have_its_session(environment: Environment) -> None:
    activity = Activity(environment)
    [parsed] = parse("SELECT 1")
    with capture_logs(processors=[merge_contextvars]) as lines:
        activity.recorded(
            parsed, "reclock", "default", lambda: structlog.get_logger().info("in it")
        )
        structlog.get_logger().info("after it")
    inside, after = lines
    assert inside["session"] == activity.id
    assert inside["statement_began_at"] > 0
    assert "session" not in after
