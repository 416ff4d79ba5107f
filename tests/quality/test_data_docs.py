"""The data docs: complete without a network, escaped, bounded, and safe to write from several
processes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reclock.algebra.timestamps import Timestamp
from reclock.quality.audit import audit
from reclock.quality.docs_index import KEPT_PER_SOURCE, Entry, retain
from reclock.quality.results import AuditResult
from reclock.quality.row_checks import RowCheck
from reclock.quality.slice import AuditSlice
from reclock.quality.suites import suite_path

NOW = datetime(2026, 11, 27, tzinfo=UTC)


def publish(
    root: Path, audits: Sequence[tuple[AuditSlice, AuditResult, Sequence[Any]]], now: datetime
) -> list[str]:
    """As ``docs.publish``, whose module imports Great Expectations: it takes seconds of each
    process that collects tests, if this file imports it."""
    from reclock.quality import docs

    return docs.publish(root, audits, now)


def slice_of(
    source: str = "reclock.public.flights",
    at: int = 1_795_261_937_963,
    *,
    partition: str = "a",
    null_diffs: int = 0,
) -> AuditSlice:
    time = Timestamp(at)
    return AuditSlice(
        source,
        Timestamp(0),
        time,
        {},
        [(partition, 4)],
        1,
        time,
        time,
        null_diffs,
        {partition: 4},
        ["x.parquet"],
    )


class References(HTMLParser):
    """What a page would fetch, where it links to, and its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.linked: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "src" or (tag == "link" and name == "href"):
                self.fetched.append(value or "")
            elif name == "href":
                self.linked.append(value or "")


def test_pages_fetch_nothing_and_their_links_lead_somewhere(tmp_path: Path) -> None:
    results = audit(
        [slice_of(), slice_of("reclock.public.weather", null_diffs=3)], docs_root=tmp_path
    )
    for page in [tmp_path / "index.html", *(tmp_path / str(result.docs) for result in results)]:
        text = page.read_text()
        found = References(text)
        assert found.fetched == []
        assert not re.search(r"@import|url\(\s*['\"]?https?:", text)
        for link in found.linked:
            target, _, fragment = link.partition("#")
            assert (
                (page.parent / target).exists()
                if target
                else f"id={fragment}" in text.replace('"', "")
            )
    assert "staged_diffs_present" in (tmp_path / "index.html").read_text()


def test_checks_of_users_are_shown_once_and_apart_from_those_of_every_step(tmp_path: Path) -> None:
    checks = [RowCheck("positive", "id > 0", 1, 1, "<b>-1</b>")]
    (checked, plain) = audit(
        [slice_of(), slice_of("reclock.public.weather")],
        docs_root=tmp_path,
        row_checks={"reclock.public.flights": checks},
    )
    page = (tmp_path / str(checked.docs)).read_text()
    of_rows, of_step = page.index("Checks of the rows"), page.index("Checks of the step")
    assert (
        page.count("1 of 1 rows violates CHECK (id &gt; 0), such as (&lt;b&gt;-1&lt;/b&gt;)") == 1
    )
    assert of_rows < page.index("1 of 1 rows violates") < of_step
    assert of_step < page.index("remap_increments_positive")
    assert "Checks of the rows" not in (tmp_path / str(plain.docs)).read_text()


def test_names_from_upstream_are_escaped(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    staged = tmp_path / "part-0.parquet"
    pq.write_table(pa.table({evil: [evil, None]}), staged)
    bad = replace(
        slice_of(f"reclock.public.{evil}", partition=evil),
        bindings=[(evil, -4), (evil, -4)],
        staged_files=[str(staged)],
    )
    expectations = [
        {"type": "expect_column_values_to_not_be_null", "kwargs": {"column": evil}},
        {
            "type": "expect_column_values_to_match_regex",
            "kwargs": {"column": evil, "regex": "<img src=x>"},
        },
        {
            "type": "expect_column_values_to_be_in_set",
            "kwargs": {"column": evil, "value_set": ["<img src=x>"]},
        },
        {
            "type": "expect_column_distinct_values_to_be_in_set",
            "kwargs": {"column": evil, "value_set": ["<img src=x>"]},
        },
        {
            "type": "expect_column_max_to_be_between",
            "kwargs": {"column": "<img src=x>", "max_value": 1},
        },
    ]
    suite_path(tmp_path, bad.source).write_text(json.dumps({"expectations": expectations}))
    docs = tmp_path / "docs"
    (result,) = audit([bad], docs_root=docs, suites=tmp_path)
    assert len(result.names("failed")) == 9
    pages = list(docs.rglob("*.html"))
    assert len(pages) == 2
    for page in pages:
        found = References(page.read_text())
        assert "img" not in found.tags
        assert found.tags.count("script") <= 1  # the page's own


def test_the_address_of_a_page_encodes_a_quoted_name_once(tmp_path: Path) -> None:
    source = 'reclock.public."50% a/b"'
    [page] = publish(tmp_path, [(slice_of(source), AuditResult(source, True, ()), [])], NOW)
    assert page == f"reclock.public.%2250%2525%20a%252Fb%22/{slice_of().at}.html"
    assert (tmp_path / unquote(page)).is_file()
    [plain] = publish(tmp_path, [(slice_of('a."b c"'), AuditResult('a."b c"', True, ()), [])], NOW)
    assert plain == f"a.%22b%20c%22/{slice_of().at}.html"


def test_pages_at_addresses_of_an_earlier_release_are_deleted_too(tmp_path: Path) -> None:
    source, old = 'a."b c"', tmp_path / "a.%22b%20c%22" / "1.html"
    [page] = publish(tmp_path, [(slice_of(source, at=1), AuditResult(source, True, ()), [])], NOW)
    (tmp_path / unquote(page)).parent.rename(old.parent)
    index = tmp_path / "index.json"
    index.write_text(index.read_text().replace(page, quote(f"{old.parent.name}/1.html")))
    for at in range(2, KEPT_PER_SOURCE + 2):
        publish(tmp_path, [(slice_of(source, at=at), AuditResult(source, True, ()), [])], NOW)
    assert not old.exists()


def test_the_newest_pages_of_each_source_are_kept(tmp_path: Path) -> None:
    for at in range(1, KEPT_PER_SOURCE + 4):
        audited = AuditResult("reclock.public.flights", True, ())
        publish(tmp_path, [(slice_of(at=at), audited, [])], datetime.now(UTC))
    publish(
        tmp_path,
        [(slice_of("reclock.public.idle", at=1), AuditResult("reclock.public.idle", True, ()), [])],
        datetime.now(UTC),
    )
    pages = {int(page.stem) for page in (tmp_path / "reclock.public.flights").glob("*.html")}
    assert pages == set(range(4, KEPT_PER_SOURCE + 4))
    entries = json.loads((tmp_path / "index.json").read_text())
    assert len(entries) == KEPT_PER_SOURCE + 1
    assert {path.stem for path in tmp_path.rglob("[0-9]*.json")} == {str(at) for at in [1, *pages]}


def test_an_audit_that_is_run_again_replaces_its_page() -> None:
    first = Entry("s", 3, "failed", ["x"], [], 1, 1, "t", "s/3.html")
    again = replace(first, outcome="waived", failed=[], waived=["x"])
    assert retain([again], [first]) == ([again], [])


def test_processes_that_publish_at_once_lose_no_entry(tmp_path: Path) -> None:
    def one(number: int) -> None:
        source = f"reclock.public.s{number}"
        publish(
            tmp_path, [(slice_of(source), AuditResult(source, True, ()), [])], datetime.now(UTC)
        )

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(24)))
    assert len(json.loads((tmp_path / "index.json").read_text())) == 24
    assert not list(tmp_path.rglob(".*.html.*"))


@pytest.mark.parametrize("damage", ["", "{", '[{"source": 1}]'])
def test_a_damaged_index_begins_anew(damage: str, tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text(damage)
    publish(
        tmp_path,
        [(slice_of(), AuditResult("reclock.public.flights", True, ()), [])],
        datetime.now(UTC),
    )
    assert len(json.loads((tmp_path / "index.json").read_text())) == 1


def test_what_was_found_stands_without_its_pages(tmp_path: Path) -> None:
    blocked = tmp_path / "docs"
    blocked.write_text("a file where the folder should be")
    (result,) = audit([slice_of(null_diffs=1)], docs_root=blocked)
    assert result.names("failed") == ["staged_diffs_present"]
    assert result.docs is None
