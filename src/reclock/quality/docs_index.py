"""The list of the audits that the data docs show. Light: reading it needs no Great Expectations."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

FILE = "index.json"

KEPT_PER_SOURCE = 20
"""Pages kept of each source, the newest."""


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
    """The entries, newest first; none if there is no index, or one that cannot be understood: it is derived, and begins anew."""
    try:
        return [Entry(**entry) for entry in json.loads((root / FILE).read_text())]
    except (FileNotFoundError, ValueError, TypeError):
        return []


def latest(entries: Iterable[Entry]) -> dict[str, Entry]:
    """By source, its newest entry."""
    return {entry.source: entry for entry in sorted(entries, key=lambda entry: entry.at)}


def retain(new: Sequence[Entry], old: Sequence[Entry]) -> tuple[list[Entry], list[Entry]]:
    """The entries to keep, newest first, and those to drop. An audit that was run again replaces its earlier entry."""
    by_audit = {(entry.source, entry.at): entry for entry in [*old, *new]}
    count: Counter[str] = Counter()
    retained: list[Entry] = []
    dropped: list[Entry] = []
    for entry in sorted(by_audit.values(), key=lambda entry: (-entry.at, entry.source)):
        count[entry.source] += 1
        (retained if count[entry.source] <= KEPT_PER_SOURCE else dropped).append(entry)
    return retained, dropped
