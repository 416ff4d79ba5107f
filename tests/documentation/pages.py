"""Pages of the documentation, taken apart: SQL examples, the answers shown below them, and comments
that set the scene.

A block of ``sql`` is one example. A block of ``text`` right after it shows the whole answer. HTML
comments, which readers do not see, prepare an example: ``<!-- put KEY`` with the object's text in
the lines below stores an object, ``<!-- tick AT SOURCE … -->`` runs a tick of these sources at a
time, and ``<!-- fails SQLSTATE: why -->`` says that statements of the next example may fail in this
way, and that one must.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_PARTS = re.compile(
    r"^(?P<indent> *)```sql\n(?P<sql>.*?)^ *```\n(?:\n? *```text\n(?P<answer>.*?)^ *```\n)?"
    r"|^<!-- put (?P<key>\S+)\n(?P<body>.*?)^-->\n"
    r"|^<!-- tick (?P<at>\d+) (?P<sources>.*?) -->\n"
    r"|^<!-- fails (?P<sqlstate>\w{5}): .*? -->\n",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Example:
    """SQL, and the answer that the page shows (None if it shows none), which begins and ends at
    these characters."""

    sql: str
    answer: str | None
    answer_span: tuple[int, int]
    may_fail_with: str | None


@dataclass(frozen=True, slots=True)
class StoredObject:
    key: str
    body: str


@dataclass(frozen=True, slots=True)
class Tick:
    at: int
    sources: tuple[str, ...]


def parts(page: str) -> Iterator[Example | StoredObject | Tick]:
    """What a page holds, in its order."""
    may_fail_with: str | None = None
    for match in _PARTS.finditer(page):
        if match["sql"] is not None:
            yield Example(match["sql"], match["answer"], match.span("answer"), may_fail_with)
            may_fail_with = None
        elif match["key"]:
            yield StoredObject(match["key"], match["body"])
        elif match["at"]:
            yield Tick(int(match["at"]), tuple(match["sources"].split()))
        else:
            may_fail_with = match["sqlstate"]
