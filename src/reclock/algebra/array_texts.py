"""Arrays as PostgreSQL writes them: ``{a,"b c",NULL}``, ``{{1,2},{3,4}}``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reclock.algebra.array_shapes import shape
from reclock.errors import UnsupportedSql

_TOKEN = re.compile(
    r'\s*(?:([{},])|"((?:[^"\\]|\\.)*)"'
    r'|((?:[^{}",\\\s]|\\.)(?:(?:[^{}",\\]|\\.)*(?:[^{}",\\\s]|\\.))?))\s*',
    re.DOTALL | re.ASCII,
)
"""A brace or comma, an element in quotes, or one without. Only blanks of ASCII around an element are
no part of it."""
_BOUND = r"\[\s*(?:([-+]?\d+)\s*:)?\s*([-+]?\d+)\s*\]\s*"
_BOUNDS = re.compile(rf"\s*((?:{_BOUND})+)=", re.ASCII)
Items = list["str | Items | None"]
"""The texts of elements, or arrays of them."""
MOST_DIMENSIONS = 6
"""PostgreSQL's limit."""


def elements(text: str) -> Items:
    """The texts of the elements, None for NULL; of several dimensions as lists of lists. An array
    without elements is an empty list, whatever its dimensions.

    Raises ``ValueError``, and ``UnsupportedSql`` for an array whose first index is not 1.
    """
    bounds = _BOUNDS.match(text)
    tokens = _tokens(text, bounds.end() if bounds else 0)
    if next(tokens, None) != ("{", None):
        raise ValueError(text)
    items = _items(tokens, 1)
    if next(tokens, None) is not None:
        raise ValueError(text)
    sizes = shape(items)
    if bounds is not None:
        _check_bounds(bounds[1], sizes)
    return items if sizes else []


def _tokens(text: str, at: int) -> Iterator[tuple[str, str | None]]:
    """Braces and commas, and elements with an empty mark."""
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError(text)
        at = token.end()
        mark, quoted, plain = token.groups()
        if mark is not None:
            yield mark, None
        elif quoted is not None:
            yield "", _unescaped(quoted)
        else:
            yield "", None if plain.upper() == "NULL" else _unescaped(plain)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)


def _items(tokens: Iterator[tuple[str, str | None]], depth: int) -> Items:
    """The items up to the closing brace."""
    if depth > MOST_DIMENSIONS:
        raise ValueError("too many dimensions")
    items = Items()
    for mark, element in tokens:
        if mark == "}" and not items:
            return items
        if mark not in ("", "{"):
            break
        items.append(_items(tokens, depth + 1) if mark else element)
        end, _ = next(tokens, ("", None))
        if end == "}":
            return items
        if end != ",":
            break
    raise ValueError("a malformed array")


def _check_bounds(bounds: str, sizes: tuple[int, ...]) -> None:
    """``[1:2][1:3]``, as it is written before an array of these lengths."""
    pairs = [(int(low or 1), int(high)) for low, high in re.findall(_BOUND, bounds)]
    if any(low != 1 for low, _ in pairs):
        raise UnsupportedSql("arrays whose first index is not 1 are not supported")
    if tuple(high for _, high in pairs) != sizes:
        raise ValueError("bounds that differ from the array")
