"""What scripts ask of the command line: JSON in lines, the version, completion."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from reclock.cli import app

SCHEMA = """
CREATE TABLE t (x int);
CREATE MATERIALIZED VIEW v AS SELECT sum(x) AS x FROM t;
INSERT INTO t VALUES (1), (2);
CREATE SOURCE empty (x int) FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'b' FORMAT JSON;
"""


@pytest.fixture
def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """Runs a command with --json, and reads what it prints. Signals stay the test's."""
    monkeypatch.setenv("RECLOCK_HOME", str(tmp_path))
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    (tmp_path / "buckets" / "b").mkdir(parents=True)
    for arguments in (["init"], ["sql", "-c", SCHEMA]):
        assert CliRunner().invoke(app, arguments).exit_code == 0

    def run(*arguments: str, exit_code: int = 0) -> list[Any]:
        result = CliRunner().invoke(app, [*arguments, "--json"])
        assert result.exit_code == exit_code, result.output
        return [json.loads(line) for line in result.stdout.splitlines()]

    return run


def test_commands_tell_programs_what_they_did(
    tmp_path: Path, lines: Callable[..., list[Any]]
) -> None:
    [ticked] = lines("tick")
    assert ticked["upper"] > ticked["at"]
    assert ticked["sources"] == {"reclock.public.empty": 0}
    assert ticked["indexes"] == {"reclock.public.v_primary_idx": 3}
    assert ticked["failed"] == []
    maintained = {(line["object"], line["collection"]) for line in lines("maintain")}
    assert ("reclock.public.v_primary_idx", "u3/reclocked") in maintained
    checked = lines("source", "check", "empty", exit_code=1)
    assert [finding["what"] for finding in checked if not finding["is_fine"]] == ["objects"]
    (tmp_path / "buckets" / "b").rmdir()
    [failure] = lines("tick", exit_code=1)[0]["failed"]
    assert failure["name"] == "reclock.public.empty"
    assert failure["sqlstate"]
    [overview] = lines("status", exit_code=1)
    worst, *others = overview["objects"]
    assert (worst["name"], worst["error"]) == (failure["name"], failure["message"])
    assert {it["name"] for it in others} == {"reclock.public.t", "reclock.public.v"}


def test_a_status_is_one_screen_with_problems_first(lines: Callable[..., list[Any]]) -> None:
    lines("tick")
    status = CliRunner().invoke(app, ["status"])
    assert status.exit_code == 0, status.output
    assert "3 objects, no problems" in status.output
    assert "recomputed, 1 update in" in status.output or "maintained" in status.output
    view = "CREATE MATERIALIZED VIEW q AS SELECT 1 / (x - 1) AS y FROM t"
    assert CliRunner().invoke(app, ["sql", "-c", view]).exit_code == 0
    lines("tick", exit_code=1)
    status = CliRunner().invoke(app, ["status"])
    assert status.exit_code == 1
    assert "4 objects, 1 problem" in status.output
    table, problem = status.output.split("reclock.public.q: division by zero\n")
    assert table.index("reclock.public.q") < table.index("reclock.public.t")
    assert "for the row of t with x = 1" in problem


def test_an_error_that_several_objects_have_is_told_once(
    tmp_path: Path, lines: Callable[..., list[Any]]
) -> None:
    views = """
        CREATE MATERIALIZED VIEW q AS SELECT 1 / (x - 1) AS y FROM t;
        CREATE MATERIALIZED VIEW r AS SELECT y + 1 AS z FROM q;
        CREATE MATERIALIZED VIEW s AS SELECT z FROM r"""
    assert CliRunner().invoke(app, ["sql", "-c", views]).exit_code == 0
    ticked = CliRunner().invoke(app, ["tick"]).output
    status = CliRunner().invoke(app, ["status"]).output
    for output in (ticked, status):
        assert output.count("division by zero") == 1
        assert output.count("for the row of t with x = 1") == 1
    assert "same error: reclock.public.r_primary_idx, reclock.public.s_primary_idx" in ticked
    assert "same error: reclock.public.r, reclock.public.s" in status
    [overview] = lines("status", exit_code=1)
    culprits = {it["name"]: it["culprit"] for it in overview["objects"]}
    assert culprits["reclock.public.s"] == culprits["reclock.public.r"] == "reclock.public.q"


def test_the_version_is_told_and_shells_complete_commands() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout == f"reclock {version('reclock')}\n"
    variables = {
        "_RECLOCK_COMPLETE": "complete_bash",
        "COMP_WORDS": "reclock mai",
        "COMP_CWORD": "1",
    }
    assert "maintain" in CliRunner().invoke(app, [], prog_name="reclock", env=variables).stdout
