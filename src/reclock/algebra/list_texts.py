"""Lists and maps as Materialize writes them: ``{a,"b c",NULL}``, ``{{1},{2,3}}``, ``{k=>1}``."""

from __future__ import annotations

import re
from collections.abc import Iterator

_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_CHARACTER, _INNER = r'(?:[^{},"\\\s]|\\.)', r'(?:[^{},"\\]|\\.)'
_PLAIN = rf"({_CHARACTER}(?:{_INNER}*{_CHARACTER})?)"
_KEY_PLAIN = rf"((?:(?!=>){_CHARACTER})(?:(?:(?!=>){_INNER})*(?:(?!=>){_CHARACTER}))?)"


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL | re.ASCII)


_OPENING = _compiled(r"\s*\{\s*")
_END = _compiled(r"\s*\}\s*\Z")
_COMMA = _compiled(r"\s*,\s*")
_PART = _compiled(f"(?:{_QUOTED}|{_PLAIN})")
_KEY = _compiled(rf"(?:{_QUOTED}|{_KEY_PLAIN})\s*=>\s*")
_NESTED = _compiled(r'"(?:[^"\\]|\\.)*"|\\.|[{}]|[^"\\{}]+')


def list_parts(text: str, is_nested: bool) -> list[str | None]:
    """The texts of a list's elements, None for NULL. Elements in braces, which only lists and maps
    have (``is_nested``), are as they are written. Raises ``ValueError``."""
    return [part for _, part in _parts(text, is_nested, is_map=False)]


def map_parts(text: str, is_nested: bool) -> list[tuple[str, str | None]]:
    """The keys of a map and the texts of their values, as ``list_parts`` has them."""
    return list(_parts(text, is_nested, is_map=True))


def _parts(text: str, is_nested: bool, *, is_map: bool) -> Iterator[tuple[str, str | None]]:
    at = _expect(_OPENING, text, 0).end()
    if _END.match(text, at):
        return
    while True:
        key = ""
        if is_map:
            matched = _expect(_KEY, text, at)
            key, at = (
                _unescaped(matched[1] if matched[1] is not None else matched[2]),
                matched.end(),
            )
        if is_nested and text[at : at + 1] == "{":
            end = _closing(text, at)
            yield key, text[at:end]
        else:
            matched = _expect(_PART, text, at)
            end, (quoted, plain) = matched.end(), matched.groups()
            is_null = quoted is None and plain.upper() == "NULL"
            yield key, None if is_null else _unescaped(plain if quoted is None else quoted)
        if _END.match(text, end):
            return
        at = _expect(_COMMA, text, end).end()


def _closing(text: str, at: int) -> int:
    """Where what begins with a brace ends."""
    depth = 0
    while True:
        token = _expect(_NESTED, text, at)
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        at = token.end()
        if not depth:
            return at


def _expect(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str]:
    match = pattern.match(text, at)
    if match is None:
        raise ValueError(text)
    return match


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)
