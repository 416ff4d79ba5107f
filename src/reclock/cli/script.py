"""How the shell reads text: what is SQL, what is a backslash command, and what its words are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_QUOTED = r"""(?P<quoted>
        (?<![\w$])[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z)
      | '(?:[^']|'')*(?:'|\Z)
      | "(?:[^"]|"")*(?:"|\Z)
      | (?<![\w$])\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?(?:\$(?P=tag)\$|\Z)
    )"""
"""A quotation; one that is not closed yet reaches to the end of the text."""

_COMMENT = r"""(?P<comment>--[^\n]* | /\*.*?(?:\*/|\Z))"""

_TOKEN = re.compile(
    rf"""{_QUOTED} | {_COMMENT} | ::
  | (?P<variable>:(?:\w+|'\w+'|"\w+"))
  | (?P<command>\\copy\b[^\n]* | \\[^\s\\]*(?:'(?:\\.|[^'\\\n])*'|"[^"\n]*"|[^\\\n])*(?:\\\\)?)
  | (?P<semicolon>;)
    """,
    re.VERBOSE | re.DOTALL,
)
"""What has a meaning for the shell. A command ends with its line, or before the next backslash that
no quotes are around; two backslashes are its end too."""

_COMMENTS = re.compile(_COMMENT, re.VERBOSE | re.DOTALL)
_WORD_OF_SQL = re.compile(
    rf"{_QUOTED} | {_COMMENT} | (?P<bracket>[()]) | (?P<word>\w+)", re.VERBOSE | re.DOTALL
)

_WORD = re.compile(
    r"""(?:'(?:\\.|''|[^'\\])*(?:'|\Z) | "[^"]*(?:"|\Z) | :(?:'\w+'|"\w+") | [^\s'":]+ | :)+""",
    re.VERBOSE | re.DOTALL,
)
_WORD_PART = re.compile(
    r"""(?P<text>'(?:\\.|''|[^'\\])*(?:'|\Z)) | (?P<identifier>"[^"]*(?:"|\Z))
      | (?P<variable>:(?:\w+|'\w+'|"\w+")) | (?P<rest>.)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r"''|\\(.)", re.DOTALL)
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


@dataclass(frozen=True, slots=True)
class Sql:
    """Text without commands: ``complete`` has whole statements, ``open`` the beginning of one."""

    complete: str
    open: str
    is_last: bool
    """Whether the text ends with it."""


@dataclass(frozen=True, slots=True)
class Command:
    """A backslash command, such as ``\\dt late*``."""

    name: str
    argument: str


def pieces(text: str) -> Iterator[Sql | Command]:
    """The SQL and the commands of a text, in order. A command may follow a statement on its line,
    or an open statement."""
    start = end = 0
    for token in _TOKEN.finditer(text):
        match token.lastgroup:
            case "command":
                if text[start : token.start()].strip():
                    yield _sql(text[start : token.start()], end - start, is_last=False)
                yield command_of(token.group())
                start = end = token.end()
            case "semicolon":
                end = token.end()
    if text[start:].strip():
        yield _sql(text[start:], end - start, is_last=True)


def _sql(text: str, end: int, *, is_last: bool) -> Sql:
    """The SQL whose last semicolon is before ``end``."""
    if end and not _COMMENTS.sub("", text[end:]).strip():
        end = len(text)
    return Sql(text[:end], text[end:], is_last)


def command_of(text: str) -> Command:
    """The command that the text is."""
    name, *argument = text.strip().removesuffix("\\\\").split(None, 1)
    return Command(name, argument[0].strip() if argument else "")


def interpolate(text: str, substitute: Callable[[str], str]) -> str:
    """The SQL with its variables substituted, except within quotes and comments."""
    return _TOKEN.sub(
        lambda token: substitute(token.group()) if token["variable"] else token.group(), text
    )


def words(argument: str, substitute: Callable[[str], str]) -> list[str]:
    """The words of a command's argument. Single quotes around a part are removed and keep its
    spaces, double quotes stay. Variables are substituted outside of both."""
    return [_word(word.group(), substitute) for word in _WORD.finditer(argument)]


def _word(text: str, substitute: Callable[[str], str]) -> str:
    parts = []
    for part in _WORD_PART.finditer(text):
        match part.lastgroup:
            case "text":
                parts.append(_ESCAPED.sub(_unescaped, part.group()[1:].removesuffix("'")))
            case "variable":
                parts.append(substitute(part.group()))
            case _:
                parts.append(part.group())
    return "".join(parts)


def _unescaped(escape: re.Match[str]) -> str:
    return "'" if escape[1] is None else _CONTROL.get(escape[1], escape[1])


def top_level_words(text: str) -> Iterator[tuple[str, int, int]]:
    """The words of SQL that are outside of quotes, comments and parentheses, each with its place
    in the text."""
    depth = 0
    for token in _WORD_OF_SQL.finditer(text):
        match token.lastgroup:
            case "bracket":
                depth += 1 if token.group() == "(" else -1
            case "word" if not depth:
                yield token.group(), token.start(), token.end()
