"""What a tick says of a source that a check holds up: which check, how many rows, and what to do. The
command line and the DAG's task say the same."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from reclock.cli import app
from reclock.pipeline import dag_steps, tick
from reclock.quality.suites import suite_path
from reclock.runtime.environment import Environment

SOURCE = "reclock.public.s"
CREATE = (
    "CREATE SOURCE s (v int) FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'b' FORMAT CSV WITH HEADER"
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source of three rows, of which a check allows one. Signals stay the test's."""
    monkeypatch.setenv("RECLOCK_HOME", str(tmp_path))
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    bucket = tmp_path / "buckets" / "b"
    bucket.mkdir(parents=True)
    (bucket / "o.csv").write_text("v\n1\n20\n30\n")
    for arguments in (["init"], ["sql", "-c", CREATE]):
        assert CliRunner().invoke(app, arguments).exit_code == 0
    check = {
        "type": "expect_column_values_to_be_between",
        "kwargs": {"column": "v", "max_value": 9},
        "meta": {"check": "v_is_small"},
    }
    suite = suite_path(tmp_path / "expectations", SOURCE)
    suite.parent.mkdir()
    suite.write_text(json.dumps({"expectations": [check]}))
    return tmp_path


def said_of(failure: dict[str, Any]) -> None:
    """Checks the failure of the source at any tick."""
    assert failure["message"] == f'audit of source "{SOURCE}" failed: v_is_small'
    assert failure["sqlstate"] == "23514"
    assert "v_is_small: " in failure["detail"]
    assert "2 of 3 do not meet it, such as " in failure["detail"]
    assert f"data docs: {SOURCE}/" in failure["detail"]
    assert f"ALTER SOURCE {SOURCE} WAIVE 'v_is_small'" in failure["hint"]
    assert f"ALTER SOURCE {SOURCE} RETRY" in failure["hint"]


def test_the_command_line_says_it_at_each_tick(home: Path) -> None:
    for _ in range(2):
        ticked = CliRunner().invoke(app, ["tick", "--json"])
        assert ticked.exit_code == 1
        [failure] = json.loads(ticked.stdout)["failed"]
        said_of(failure)
    shown = CliRunner().invoke(app, ["tick"]).stdout
    assert "    detail: v_is_small: " in shown
    assert "    hint: correct the upstream and ALTER SOURCE" in shown


def test_the_task_of_a_dag_says_it(home: Path) -> None:
    with Environment.open(home) as environment:
        at = tick.allocate(environment)
        lines: list[str] = []
        moved = dag_steps.move_source(
            environment, source=SOURCE, at=at, owner="run", tell=lines.append
        )
    [failure] = moved["failed"]
    said_of(failure)
    assert moved["docs"] == f"{SOURCE}/{at}.html"
    assert any(line.startswith("audit failed: v_is_small") for line in lines)
