"""Arrays as PostgreSQL writes them: ``{a,"b c",NULL}``."""

from __future__ import annotations

import re

_ELEMENT = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^{}",\\]*?))\s*(,|$)', re.DOTALL)


def elements(text: str) -> list[str | None]:
    """The texts of the elements, None for NULL. Raises ``ValueError``, also for an array of several
    dimensions."""
    inner = text.strip()
    if not (inner.startswith("{") and inner.endswith("}")):
        raise ValueError(text)
    inner, at, items = inner[1:-1], 0, list[str | None]()
    while inner.strip():
        element = _ELEMENT.match(inner, at)
        if element is None or (element[1] is None and not element[2]):
            raise ValueError(text)
        if element[1] is not None:
            items.append(re.sub(r"\\(.)", r"\1", element[1], flags=re.DOTALL))
        else:
            items.append(None if element[2].upper() == "NULL" else element[2])
        at = element.end()
        if not element[3]:
            break
    return items
