"""The examples of docs/catalog.md, run one after the other in a new environment. ``--rewrite``
writes what is answered now."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from reclock.catalog.objects import Kind
from reclock.cli import app
from reclock.runtime.environment import Environment

DOCUMENT = Path(__file__).parents[2] / "docs" / "catalog.md"
EXAMPLE = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)
SIZES = {
    "small": {"master": "local", "cores": 2, "memory": "2g"},
    "large": {"master": "spark://10.0.0.1:7077", "executors": 4, "cores": 8, "memory": "16g"},
}


def answer(command: str, home: Path) -> str:
    """What a terminal shows: standard error goes there too."""
    program, *arguments = shlex.split(command)
    if program == "reclock":
        return CliRunner().invoke(app, arguments).output
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        ["sh", "-c", command], cwd=home, env={"PATH": path}, capture_output=True, text=True
    ).stdout


def test_every_example_answers_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECLOCK_HOME", ".")
    Environment.initialise().close()
    (tmp_path / "sizes.json").write_text(json.dumps(SIZES, indent=2) + "\n")

    def run(example: re.Match[str]) -> str:
        commands = [line[2:] for line in example[0].splitlines() if line.startswith("$ ")]
        return "".join(f"$ {command}\n{answer(command, tmp_path)}" for command in commands)

    written = DOCUMENT.read_text()
    answered = EXAMPLE.sub(run, written)
    if request.config.getoption("--rewrite"):
        DOCUMENT.write_text(answered)
    else:
        assert answered == written


def test_every_kind_is_described() -> None:
    table = DOCUMENT.read_text().partition("## What is in it")[2].partition("##")[0]
    described = {
        kind
        for row in table.splitlines()
        if row.startswith("| `")
        for kind in re.findall(r"`(\w+)`", row.split("|")[1])
    }
    assert described == set(Kind)
