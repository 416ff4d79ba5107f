"""Names of objects in messages."""

from __future__ import annotations

import re

_PART = r'(?:"(?:[^"]|"")+"|[^".]+)'
_SQL_NAME = re.compile(rf"{_PART}(?:\.{_PART})*")


def unquoted_name(name: object) -> str:
    """A name without the quotes that it has in SQL: ``public.Orders`` of ``public."Orders"``. Text
    that is no name in SQL stays as it is."""
    text = str(name)
    if not _SQL_NAME.fullmatch(text):
        return text
    return ".".join(
        part[1:-1].replace('""', '"') if part.startswith('"') else part
        for part in re.findall(_PART, text)
    )


def item_name(name: object) -> str:
    """The last part of a name, and of a function's its types too: ``Orders`` of
    ``public."Orders"``."""
    text = str(name)
    written, parenthesis, types = text.partition("(")
    if not _SQL_NAME.fullmatch(written):
        return text
    return unquoted_name(re.findall(_PART, written)[-1]) + parenthesis + types


def with_article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeio" else f"a {kind}"


def quoted_name(name: object) -> str:
    """A name in double quotes, as every message writes names of objects, and as PostgreSQL does:
    ``"public.Orders"``. ``name`` is its text in SQL, or the name itself."""
    return f'"{unquoted_name(name)}"'
