"""Every Python example of the documentation runs and prints what its page shows. ``--rewrite`` writes what is printed now."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
_EXAMPLE = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:```text\n(?P<printed>.*?)^```\n)?", re.DOTALL | re.MULTILINE)


def test_python_examples_print_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text()
    names: dict[str, Any] = {}

    def run(match: re.Match[str]) -> str:
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(match["code"], str(PAGE), "exec"), names)  # noqa: S102
        shown = f"```text\n{printed.getvalue()}```\n" if printed.getvalue() else ""
        return f"```python\n{match['code']}```\n{shown}"

    try:
        rewritten = _EXAMPLE.sub(run, page)
    finally:
        names["client"].close()
    if request.config.getoption("--rewrite"):
        PAGE.write_text(rewritten)
    else:
        assert rewritten == page
