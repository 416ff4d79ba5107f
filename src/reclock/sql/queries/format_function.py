"""``format('%s of %I', …)`` as SQL over ``argument1``, ``argument2``, …

The arguments are the texts, and then the same texts as identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reclock.errors import EvaluationError, UnsupportedSql

_PLACE = re.compile(r"%(?:(%)|(?:(\d+)\$)?(?:(-?)([1-9]\d{0,3}))?([sIL])|)")
_WRITTEN = {
    "s": "coalesce({}, '')",
    "I": "quote_ident({})",
    "L": "coalesce(quote_literal({}), 'NULL')",
}


def formatted(text: str, count: int) -> str:
    """An expression for ``text`` with ``count`` texts, or identifiers, in its places.

    Raises ``EvaluationError``, ``UnsupportedSql``.
    """
    return " || ".join(_pieces(text, count)) or "''"


def _pieces(text: str, count: int) -> Iterator[str]:
    end = last = 0
    for place in _PLACE.finditer(text):
        if text[end : place.start()]:
            yield _quoted(text[end : place.start()])
        end = place.end()
        percent, position, is_left, width, kind = place.groups()
        if percent:
            yield "'%'"
        elif kind is None:
            raise UnsupportedSql(
                f"format with {text[place.start() :][:8]!r} is not supported",
                hint="use %s, %I, %L, %1$s, %10s, %-10s or %%",
            )
        else:
            last = int(position) if position else last + 1
            if not 1 <= last <= count:
                raise EvaluationError("too few arguments for format()", sqlstate="22023")
            argument = last + count if kind == "I" else last
            value = _WRITTEN[kind].format(f"argument{argument}")
            blanks = f"repeat(' ', {width} - length({value}))"
            yield (
                value
                if width is None
                else " || ".join((value, blanks) if is_left else (blanks, value))
            )
    if text[end:]:
        yield _quoted(text[end:])


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
