"""Every failpoint is in the code, and at every failpoint a test kills a process.

Where a test kills a process is its parameter ``killed_at``: a failpoint, or several at which one
process after another dies.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType

import pytest
from fixtures.syntax_trees import syntax_trees

from reclock import failpoints
from reclock.failpoints import FAILPOINTS, failpoint

ROOT = Path(__file__).parents[2]


def reached_names(tree: ast.Module) -> Iterator[str]:
    """The names that a module gives to ``failpoint`` or the effect ``Failpoint``, as patterns: of
    an f-string any value counts.

    A registered name counts wherever it is an argument, since a helper may make the effect.
    """
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        is_failpoint = isinstance(node.func, ast.Name) and node.func.id in (
            "failpoint",
            "Failpoint",
        )
        for name in node.args:
            if isinstance(name, ast.Constant) and (is_failpoint or name.value in FAILPOINTS):
                yield re.escape(str(name.value))
            elif isinstance(name, ast.JoinedStr) and is_failpoint:
                yield "".join(
                    re.escape(str(part.value)) if isinstance(part, ast.Constant) else r"\w+"
                    for part in name.values
                )


def kills(path: Path) -> Iterator[str]:
    """The values of ``killed_at`` in the parametrisations of a test module."""
    module = importlib.import_module(
        ".".join(path.relative_to(ROOT / "tests").with_suffix("").parts)
    )
    for test in vars(module).values():
        for mark in getattr(test, "pytestmark", ()) if isinstance(test, FunctionType) else ():
            if mark.name == "parametrize":
                names, values = mark.args[:2]
                names = (
                    [name.strip() for name in names.split(",")]
                    if isinstance(names, str)
                    else list(names)
                )
                if "killed_at" in names:
                    yield from killed_at_of(names, list(values))


def killed_at_of(names: list[str], values: list[object]) -> Iterator[str]:
    for value in values:
        row = getattr(value, "values", value)  # of a ``pytest.param``
        if len(names) > 1 or row is not value:
            row = row[names.index("killed_at")]  # type: ignore[index]
        yield from [row] if isinstance(row, str) else row  # type: ignore[misc]


@pytest.fixture(scope="module")
def killed() -> set[str]:
    modules = [
        path
        for path in (ROOT / "tests").rglob("test_*.py")
        if '"killed_at"' in path.read_text() and path != Path(__file__)
    ]
    return {name for path in modules for name in kills(path)}


def test_the_code_reaches_what_is_registered_and_nothing_else() -> None:
    reached = {name for tree in syntax_trees().values() for name in reached_names(tree)}
    unregistered = {
        name
        for name in reached
        if not any(re.fullmatch(name, registered) for registered in FAILPOINTS)
    }
    unreached = {
        registered
        for registered in FAILPOINTS
        if not any(re.fullmatch(name, registered) for name in reached)
    }
    assert (unregistered, unreached) == (set(), set())


def test_a_process_is_killed_at_every_failpoint_and_nowhere_else(killed: set[str]) -> None:
    assert (sorted(FAILPOINTS.keys() - killed), sorted(killed - FAILPOINTS.keys())) == ([], [])


def test_a_failpoint_that_is_not_registered_is_an_error() -> None:
    with pytest.raises(KeyError, match="not registered"):
        failpoint("collections.append.whenever")


def test_no_failpoint_acts_unless_a_test_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(failpoints.VARIABLE, raising=False)
    assert [failpoint(name) for name in FAILPOINTS] == [None] * len(FAILPOINTS)
