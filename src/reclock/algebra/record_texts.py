"""Records as PostgreSQL writes them: ``(1,"a b",)``."""

from __future__ import annotations

import re

_FIELD = re.compile(r'(?:"(?:[^"\\]|\\.|"")*"|\\.|[^"\\,()])*', re.DOTALL)
_PIECE = re.compile(r'"((?:[^"\\]|\\.|"")*)"|\\(.)|([^"\\]+)', re.DOTALL)
_ESCAPED = re.compile(r'\\(.)|"(")', re.DOTALL)


def record_fields(text: str) -> list[str | None]:
    """The texts of a record's fields, None for NULL. Raises ``ValueError``."""
    stripped = text.strip()
    if not stripped.startswith("("):
        raise ValueError("Missing left parenthesis.")
    fields, at = [], 1
    while True:
        match = _FIELD.match(stripped, at)
        assert match is not None
        fields.append(_unescaped(match[0]) if match[0] else None)
        at = match.end()
        if stripped[at : at + 1] != ",":
            break
        at += 1
    end = stripped[at:]
    if not end.startswith(")"):
        raise ValueError("Unexpected end of input.")
    if end != ")":
        raise ValueError("Junk after right parenthesis.")
    return fields


def _unescaped(field: str) -> str:
    """The field without its quotes, which may stand anywhere in it."""
    pieces = []
    for quoted, escaped, plain in _PIECE.findall(field):
        pieces.append(_ESCAPED.sub(r"\1\2", quoted) or escaped or plain)
    return "".join(pieces)
