"""Common mistakes at the command line are answered in PostgreSQL's style, in few lines, and leave
nothing behind."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from reclock.cli import app
from reclock.clusters import jars
from reclock.clusters.session import start
from reclock.config import Settings
from reclock.errors import ConfigurationError


def refused(*arguments: str) -> str:
    """What is said of a command that fails, without a traceback."""
    result = CliRunner().invoke(app, list(arguments))
    assert isinstance(result.exception, SystemExit), result.output
    assert result.exit_code in (1, 2)
    return " ".join(result.output.replace("│", " ").split())


@pytest.mark.parametrize(
    "command",
    [["sql", "-c", "SELECT 1"], ["serve", "--port", "0"], ["maintain"], ["catalog", "dump"]],
)
def test_a_folder_without_an_environment_is_left_as_it_is(
    tmp_path: Path, command: list[str]
) -> None:
    answer = refused(*command, "--home", str(tmp_path))
    assert f'DETAIL: there is no environment in "{tmp_path}" HINT: run "reclock init"' in answer
    assert list(tmp_path.iterdir()) == []


def test_the_package_runs_as_the_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "reclock", "sql", "-c", "SELECT 1", "--home", str(tmp_path)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert f'there is no environment in "{tmp_path}"' in answer.stderr


def test_an_environment_is_not_replaced_without_being_told(tmp_path: Path) -> None:
    home = ["--home", str(tmp_path / "lake")]
    for command in (["init", *home], ["backup", str(tmp_path / "saved"), *home]):
        assert CliRunner().invoke(app, command).exit_code == 0
    answer = refused("restore", str(tmp_path / "saved"), *home)
    assert "there is an environment already HINT: --replace deletes it" in answer
    for options, is_warned in (
        (["--home", str(tmp_path / "copy")], True),
        ([*home, "--replace"], False),
    ):
        done = CliRunner().invoke(app, ["restore", str(tmp_path / "saved"), *options])
        assert done.exit_code == 0
        assert ("reclock init --take-over" in done.output) == is_warned


def test_a_file_of_statements_needs_its_option(tmp_path: Path) -> None:
    answer = refused("sql", "--home", str(tmp_path), "statements.sql")
    assert 'unexpected argument "statements.sql" HINT: -f FILE runs' in answer


def test_each_command_says_in_one_line_what_it_does() -> None:
    for command in app.registered_commands:
        described = inspect.getdoc(command.callback) or ""
        assert "\n" not in described.split("\n\n")[0], described


def test_a_setting_that_there_is_not_is_named(tmp_path: Path) -> None:
    (tmp_path / "reclock.toml").write_text('log_levl = "INFO"')
    assert "DETAIL: log_levl: there is no such setting HINT: docs/settings.md" in refused(
        "init", "--home", str(tmp_path)
    )


def test_settings_that_are_not_toml_are_told_by_line(tmp_path: Path) -> None:
    (tmp_path / "reclock.toml").write_text("log_level = INFO")
    answer = refused("init", "--home", str(tmp_path))
    assert "ERROR: F0000: reclock.toml is not TOML DETAIL: Invalid value (at line 1" in answer


def test_a_home_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert f'ERROR: F0000: cannot make "{tmp_path}/file/home"' in refused(
        "init", "--home", str(tmp_path / "file" / "home")
    )


def test_a_file_of_statements_must_be_there(tmp_path: Path) -> None:
    assert "does not exist" in refused(
        "sql", "--home", str(tmp_path), "-f", str(tmp_path / "a.sql")
    )


def test_what_is_no_url_of_a_server_is_not_repeated(tmp_path: Path) -> None:
    answer = refused("sql", "--home", str(tmp_path), "--url", "http://reclock:secret@host")
    assert "HINT: write postgresql://" in answer
    assert "secret" not in answer


def test_a_machine_without_java_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reclock.clusters import session

    def no_gateway(*_: object) -> None:
        raise session.PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})

    monkeypatch.setattr(session.SparkSession.Builder, "getOrCreate", no_gateway)
    with pytest.raises(ConfigurationError, match="Java process") as refusal:
        start(Settings.load(tmp_path))
    assert refusal.value.hint == "install a Java 17 runtime, or set JAVA_HOME"


@pytest.mark.parametrize(
    "command", [["serve", "--port", "0"], ["init"], ["tick"], ["sql", "-c", "SELECT 1"]]
)
@pytest.mark.parametrize("content", [None, "{}}", '{"small": {"master": "local"}}'])
def test_a_file_of_sizes_that_cannot_be_read_is_named_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], content: str | None
) -> None:
    assert CliRunner().invoke(app, ["init", "--home", str(tmp_path)]).exit_code == 0
    sizes = tmp_path / "sizes.json"
    if content is not None:
        sizes.write_text(content)
    monkeypatch.setenv("RECLOCK_CLUSTER_REPLICA_SIZES", str(sizes))
    answer = refused(*command, "--home", str(tmp_path))
    assert f"{'cannot read' if content is None else 'invalid'} cluster replica sizes" in answer
    assert str(sizes) in answer.replace(" ", "") or sizes.name in answer
    assert "listening" not in answer


def test_spark_without_its_extra_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jars, "find_spec", lambda package: None)
    answer = refused("spark", "--home", str(tmp_path))
    assert 'the extra "spark" of Reclock is not installed' in answer
    assert "HINT: pip install 'reclock[spark]'" in answer
