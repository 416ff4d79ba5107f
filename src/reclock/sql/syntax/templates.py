"""Templates of the text of a node, in the notation in which manuals write grammars.

- ``{name}`` is an argument of the node, or nothing. A list has commas between its items, or spaces
  if it is written ``{*name}``. ``{name|ALL}`` is ALL if the node lacks the argument.
- ``[AS {name}]`` is left out if one of its arguments is nothing.
- ``[name: WORDS]`` is written if the argument is true.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.generator import Generator

Writer = Callable[[Generator, exp.Expression], str]

_TOKENS = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<begin>\[)((?P<flag>\w+):\s+)?"
    r"|(?P<end>\])"
    r"|\{(?P<spaced>\*)?(?P<name>\w+)(\|(?P<default>[^}]+))?\}"
    r"|(?P<text>[^\s\[\]{}]+)"
)


def template(text: str) -> Writer:
    """Writes nodes as the template says. Words that are empty leave no space behind."""
    words = _parse(_TOKENS.finditer(text))
    return lambda write, node: _joined(words, write, node)


def _parse(tokens: Iterator[re.Match[str]]) -> list[list[Writer]]:
    """The words up to the end of the template, or of the optional part that has begun."""
    words: list[list[Writer]] = [[]]
    for token in tokens:
        if token["end"]:
            break
        if token["space"]:
            words.append([])
        elif token["begin"]:
            words[-1].append(_Optional(token["flag"], _parse(tokens)))
        elif token["name"]:
            separator = " " if token["spaced"] else ", "
            words[-1].append(_Argument(token["name"], separator, token["default"] or ""))
        else:
            words[-1].append(_Text(token["text"]))
    return words


def _joined(
    words: list[list[Writer]], write: Generator, node: exp.Expression, *, is_optional: bool = False
) -> str:
    texts = []
    for word in words:
        parts = [part(write, node) for part in word]
        if is_optional and any(
            not text and isinstance(part, _Argument) for part, text in zip(word, parts, strict=True)
        ):
            return ""
        texts.append("".join(parts))
    return " ".join(text for text in texts if text)


@dataclass(frozen=True, slots=True)
class _Text:
    text: str

    def __call__(self, write: Generator, node: exp.Expression) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class _Argument:
    name: str
    separator: str
    default: str

    def __call__(self, write: Generator, node: exp.Expression) -> str:
        value = node.args.get(self.name)
        items = value if isinstance(value, list) else [value]
        return self.separator.join(write.sql(item) for item in items if item) or self.default


@dataclass(frozen=True, slots=True)
class _Optional:
    flag: str | None
    words: list[list[Writer]]

    def __call__(self, write: Generator, node: exp.Expression) -> str:
        if self.flag is not None:
            return _joined(self.words, write, node) if node.args.get(self.flag) else ""
        return _joined(self.words, write, node, is_optional=True)
