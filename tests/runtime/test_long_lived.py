"""A process that lasts says so, and then has replicas that build state at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reclock.cli import app
from reclock.runtime.environment import Environment


@pytest.mark.parametrize("is_long_lived", [False, True])
def test_replicas_of_a_process_that_lasts_build_state_at_once(
    tmp_path: Path, is_long_lived: bool
) -> None:
    Environment.initialise(tmp_path).close()
    with Environment.open(tmp_path, is_long_lived=is_long_lived) as environment:
        replica = environment.runtime.make_replica()
        assert replica.costs.builds_state_at_once == is_long_lived


class Opened(BaseException):
    """Ends a command where it opens its environment."""


@pytest.mark.parametrize(
    ("command", "is_long_lived"),
    [
        ("serve --port 0", True),
        ("replica --cluster c --replica r", True),
        ("tick --every 1h", True),
        ("tick", False),
    ],
)
def test_commands_that_last_say_so(
    tmp_path: Path, command: str, is_long_lived: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    Environment.initialise(tmp_path).close()

    def open(home: Path, *, is_long_lived: bool = False, **_: Any) -> Environment:
        raise Opened(is_long_lived)

    monkeypatch.setattr(Environment, "open", open)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    with pytest.raises(Opened) as opened:
        app([*command.split(), "--home", str(tmp_path)])
    assert opened.value.args == (is_long_lived,)
