"""Log lines say which tick or statement they are about, to people and to programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import structlog
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from reclock.adapter.session.activity import Activity
from reclock.cli import configure_logging
from reclock.config import Settings
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
