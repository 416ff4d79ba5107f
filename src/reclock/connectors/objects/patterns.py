"""Glob patterns of object keys: ``*`` stays within a path segment, ``**`` crosses segments."""

from __future__ import annotations

import re
from functools import lru_cache

from reclock.errors import InvalidOption


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    r"""The regular expression whose ``fullmatch`` says whether a key matches. Raises
    ``InvalidOption``.

    ``*`` matches any run of characters but ``/``; ``**/`` any number of whole segments, or none;
    ``**`` at the end everything below; ``?`` one character but ``/``; ``[a-z]`` and ``[!a-z]`` one
    character of a set; ``{csv,tsv}`` one of several texts. ``\`` escapes the next character.
    """
    out: list[str] = []
    depth = at = 0
    while at < len(pattern):
        remaining = pattern[at:]
        at_segment_start = at == 0 or pattern[at - 1] == "/"
        if at_segment_start and remaining.startswith("**/"):
            out.append("(?:[^/]+/)*")
            at += 3
        elif at_segment_start and remaining == "**":
            out.append(".*")
            at += 2
        elif remaining.startswith("**"):
            raise _invalid(pattern, '"**" must be a whole segment')
        elif remaining[0] == "*":
            out.append("[^/]*")
            at += 1
        elif remaining[0] == "?":
            out.append("[^/]")
            at += 1
        elif remaining[0] == "[":
            if not (match := re.match(r"\[([!^]?)(\]?[^]]*)\]", remaining)) or not match[2]:
                raise _invalid(pattern, '"[" is not closed')
            members = re.sub(r"([\\\[\]^&~|])", r"\\\1", match[2])
            out.append(f"(?!/)[{'^' if match[1] else ''}{members}]")
            at += match.end()
        elif remaining[0] in "{}" or (remaining[0] == "," and depth):
            depth += {"{": 1, "}": -1}.get(remaining[0], 0)
            if depth not in (0, 1):
                raise _invalid(pattern, '"{" and "}" do not pair, or are nested')
            out.append({"{": "(?:", "}": ")", ",": "|"}[remaining[0]])
            at += 1
        else:
            escaped = remaining[0] == "\\" and len(remaining) > 1
            out.append(re.escape(remaining[1] if escaped else remaining[0]))
            at += 2 if escaped else 1
    if depth:
        raise _invalid(pattern, '"{" is not closed')
    try:
        return re.compile("".join(out), re.DOTALL)
    except re.error as error:
        raise _invalid(pattern, str(error)) from error


def literal_prefix(pattern: str) -> str:
    """The prefix that every matching key has, which limits the listing."""
    return re.split(r"[*?\[{\\]", pattern, maxsplit=1)[0]


def _invalid(pattern: str, detail: str) -> InvalidOption:
    return InvalidOption(
        f'invalid object pattern "{pattern}"', detail=detail, hint='for example "flights/**/*.csv"'
    )
