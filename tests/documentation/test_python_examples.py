"""Every Python example of the documentation runs and prints what its page shows. ``--rewrite``
writes what is printed now."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

DOCS = Path(__file__).parents[2] / "docs"
_EXAMPLE = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:```text\n(?P<printed>.*?)^```\n)?", re.DOTALL | re.MULTILINE
)


def test_python_examples_print_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    check_examples(DOCS / "python.md", tmp_path, monkeypatch, request)


@pytest.mark.spark
def test_spark_examples_print_what_the_page_shows(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    check_examples(DOCS / "spark.md", tmp_path, monkeypatch, request)


def check_examples(
    path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Run the examples of a page in ``folder``. They open a ``client``, which is closed at the
    end."""
    monkeypatch.chdir(folder)
    page = path.read_text()
    names: dict[str, Any] = {}

    def run(match: re.Match[str]) -> str:
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(match["code"], str(path), "exec"), names)  # noqa: S102
        shown = f"```text\n{printed.getvalue()}```\n" if printed.getvalue() else ""
        return f"```python\n{match['code']}```\n{shown}"

    try:
        rewritten = _EXAMPLE.sub(run, page)
    finally:
        names["client"].close()
    if request.config.getoption("--rewrite"):
        path.write_text(rewritten)
    else:
        assert rewritten == page
