"""How statements become text: a template or a function for each of their nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.templates import Writer, template

N = TypeVar("N", bound=exp.Expression)
WRITERS: dict[type[exp.Expression], Writer] = {}
"""What writes the nodes of each class: text that parses to an equal node."""


def written_as(text: str) -> Callable[[type[N]], type[N]]:
    """Registers the template of a class of nodes."""

    def register(kind: type[N]) -> type[N]:
        WRITERS[kind] = template(text)
        return kind

    return register


def generates(kind: type[exp.Expression]) -> Callable[[Writer], Writer]:
    """Registers a function that writes nodes of ``kind``, because no template can."""

    def register(writer: Writer) -> Writer:
        WRITERS[kind] = writer
        return writer

    return register


def joined(*parts: str) -> str:
    """The parts that are not empty, with a space between."""
    return " ".join(part for part in parts if part)


def comma_list(*parts: str) -> str:
    """The parts that are not empty, with commas between."""
    return ", ".join(part for part in parts if part)


def when(node: exp.Expression, name: str, words: str) -> str:
    """``words``, if the node has the argument."""
    return words if node.args.get(name) else ""


def clause(write: Generator, words: str, node: exp.Expression, name: str) -> str:
    """``words`` and the argument, if the node has it."""
    value = write.sql(node, name)
    return f"{words} {value}" if value else ""


def listed(write: Generator, node: exp.Expression, name: str) -> str:
    """The items of an argument, with commas between."""
    return ", ".join(write.sql(item) for item in node.args.get(name) or ())


def list_clause(write: Generator, words: str, node: exp.Expression, name: str) -> str:
    """``words`` and the items of an argument in parentheses, if the node has any."""
    items = listed(write, node, name)
    return joined(words, f"({items})") if items else ""
