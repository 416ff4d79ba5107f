"""The list of the audits in the data docs. Reading it does not import Great Expectations."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

FILE = "index.json"

KEPT_PER_SOURCE = 20
"""How many pages each source keeps, the newest ones."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the index. ``page`` is relative to the root of the data docs, URL-encoded."""

    source: str
    at: int
    outcome: Literal["passed", "waived", "failed"]
    failed: list[str]
    waived: list[str]
    rows: int
    bindings: int
    audited_at: str
    page: str


def read_index(root: Path) -> list[Entry]:
    """The entries, newest first. Without an index, or with an unreadable one, there are none: it is
    derived, and starts over."""
    try:
        return [Entry(**entry) for entry in json.loads((root / FILE).read_text())]
    except (FileNotFoundError, ValueError, TypeError):
        return []


def latest(entries: Iterable[Entry]) -> dict[str, Entry]:
    """The newest entry of each source."""
    return {entry.source: entry for entry in sorted(entries, key=lambda entry: entry.at)}


def retain(new: Sequence[Entry], old: Sequence[Entry]) -> tuple[list[Entry], list[Entry]]:
    """The entries to keep, newest first, and those to delete. A repeated audit replaces its earlier
    entry."""
    by_audit = {(entry.source, entry.at): entry for entry in [*old, *new]}
    count: Counter[str] = Counter()
    retained: list[Entry] = []
    dropped: list[Entry] = []
    for entry in sorted(by_audit.values(), key=lambda entry: (-entry.at, entry.source)):
        count[entry.source] += 1
        (retained if count[entry.source] <= KEPT_PER_SOURCE else dropped).append(entry)
    return retained, dropped
