"""Data docs: Great Expectations' pages of validations, in a form that needs no network, with an
index of the newest.

The folder `<root>/<source>/` has for each audit a page, `<at>.html`, and its result, `<at>.json`.
`<root>/index.html` lists the pages in `<root>/index.json`. The number of pages is bounded, so that
writing one never scans a long history.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, unquote

from great_expectations.core import ExpectationSuiteValidationResult
from great_expectations.core.expectation_validation_result import (
    expectationSuiteValidationResultSchema,
)
from great_expectations.render.renderer import ValidationResultsPageRenderer
from great_expectations.render.view import DefaultJinjaPageView
from jinja2 import ChoiceLoader, Environment, PackageLoader, select_autoescape

from reclock.quality import docs_index
from reclock.quality.docs_index import Entry
from reclock.quality.results import AuditResult, ExpectationResult
from reclock.quality.slice import AuditSlice

_TEMPLATES = PackageLoader("reclock.quality", "templates")
_SUITE_LINK = re.compile(
    r'<a href="[^"]*/expectations/[^"]*"\s*>(.*?)</a>(?:<br>\s*Data asset: None)?', re.DOTALL
)
"""A link to the page of a suite, which does not exist, and the asset's name after it, which is that
of the suite."""


def publish(
    root: Path,
    audits: Sequence[tuple[AuditSlice, AuditResult, Sequence[ExpectationSuiteValidationResult]]],
    now: datetime,
) -> list[str]:
    """Write a page for each audit, and the index. Returns the pages' addresses relative to
    ``root``, in the given order.

    Several processes may do so at once. Each file is replaced atomically.
    """
    root.mkdir(parents=True, exist_ok=True)
    entries = []
    for slice_, result, validations in audits:
        folder = root / _folder_name(slice_.source)
        folder.mkdir(exist_ok=True)
        validation = _combine(slice_, result, validations, now)
        document = json.dumps(validation.to_json_dict(), indent=1)  # type: ignore[no-untyped-call]
        _replace(folder / f"{slice_.at}.json", document)
        _replace(folder / f"{slice_.at}.html", render_page(document, slice_, result))
        entries.append(_entry(slice_, result, f"{quote(folder.name)}/{slice_.at}.html", now))
    with _locked(root / ".lock"):
        retained, dropped = docs_index.retain(entries, docs_index.read_index(root))
        _replace(
            root / docs_index.FILE, json.dumps([asdict(entry) for entry in retained], indent=1)
        )
        _replace(root / "index.html", render_index(retained))
    for entry in dropped:
        page = root / unquote(entry.page)
        page.unlink(missing_ok=True)
        page.with_suffix(".json").unlink(missing_ok=True)
    return [entry.page for entry in entries]


def _folder_name(source: str) -> str:
    """The source's name, as far as a file system takes it. Each name has another one."""
    return source.replace("%", "%25").replace("/", "%2F")


def render_page(document: str, slice_: AuditSlice, result: AuditResult) -> str:
    """The self-contained page of one audit, from the validation as JSON text (the renderers fail on
    numpy's numbers)."""
    loaded = json.loads(document)
    for result_json in loaded["results"]:
        # the renderers print these as they are,
        result_json |= {part: _escaped(result_json[part]) for part in ("result", "exception_info")}
        named = result_json["expectation_config"]["kwargs"]  # and the names of columns, in headings
        named |= {
            part: _escaped(named[part])
            for part in named.keys() & {"column", "column_A", "column_B", "column_list"}
        }
        for counted in result_json["result"].get("partial_unexpected_counts", []):
            if isinstance(counted["value"], list):  # else the page shows it with nothing in between
                counted["value"] = ", ".join(map(str, counted["value"]))
    validation = expectationSuiteValidationResultSchema.load(loaded)
    content = ValidationResultsPageRenderer().render(validation)
    html: str = _page_view().render(content, "page.html", slice=slice_, audit=result)  # type: ignore[no-untyped-call]
    return _SUITE_LINK.sub(r"\1", html)


def render_index(entries: Sequence[Entry]) -> str:
    """The self-contained list of audits."""
    environment = Environment(
        loader=_TEMPLATES, autoescape=select_autoescape(default=True, default_for_string=True)
    )
    return environment.get_template("index.html").render(entries=entries)


@cache
def _page_view() -> DefaultJinjaPageView:
    """Great Expectations' page view, with our templates before its own."""
    view = DefaultJinjaPageView()
    theirs = view.env.loader
    view.env.loader = ChoiceLoader([_TEMPLATES, theirs] if theirs else [_TEMPLATES])
    return view


def _combine(
    slice_: AuditSlice,
    result: AuditResult,
    validations: Sequence[ExpectationSuiteValidationResult],
    now: datetime,
) -> ExpectationSuiteValidationResult:
    """The validations of one audit as one result, with the decisions about them."""
    results = [
        expectation_result
        for validation in validations
        for expectation_result in validation.results
    ]
    successful = sum(1 for expectation_result in results if expectation_result.success)
    return ExpectationSuiteValidationResult(
        success=result.success,
        results=results,
        suite_name=slice_.source,
        statistics={
            "evaluated_expectations": len(results),
            "successful_expectations": successful,
            "unsuccessful_expectations": len(results) - successful,
            "success_percent": 100.0 * successful / len(results) if results else None,
        },
        meta={
            "run_id": {"run_name": "reclock", "run_time": now.isoformat()},
            "active_batch_definition": {"data_asset_name": slice_.source},
            "reclock": {
                "upper": slice_.upper,
                "at": slice_.at,
                "checks": [_summary(check) for check in result.checks],
            },
        },
    )


def _escaped(value: Any) -> object:
    """The JSON value with every text in it, also names of fields, escaped for HTML."""
    match value:
        case dict():
            return {name: _escaped(inner) for name, inner in value.items()}
        case list():
            return [_escaped(inner) for inner in value]
        case str():
            return escape(value)
        case _:
            return value


def _summary(check: ExpectationResult) -> dict[str, str]:
    return {"name": check.name, "status": check.status, "detail": check.detail}


def _entry(slice_: AuditSlice, result: AuditResult, page: str, now: datetime) -> Entry:
    failed, waived = result.names("failed"), result.names("waived")
    outcome: Literal["passed", "waived", "failed"] = (
        "failed" if failed else "waived" if waived else "passed"
    )
    rows, bindings = slice_.rows, len(slice_.bindings)
    return Entry(
        slice_.source,
        slice_.at,
        outcome,
        failed,
        waived,
        rows,
        bindings,
        now.isoformat(timespec="seconds"),
        page,
    )


def _replace(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
