"""How statements become text: a writer for each of their nodes, and what writers are made of."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax import nodes

Writer = Callable[[Generator, exp.Expression], str]
WRITERS: dict[type[exp.Expression], Writer] = {}


def generates(kind: type[exp.Expression]) -> Callable[[Writer], Writer]:
    """Registers what writes nodes of ``kind``: text that parses to an equal node."""

    def register(writer: Writer) -> Writer:
        WRITERS[kind] = writer
        return writer

    return register


def joined(*parts: str) -> str:
    """The parts that are not empty, with a space between."""
    return " ".join(part for part in parts if part)


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


@generates(nodes.QueryStatement)
def _write_query(write: Generator, node: exp.Expression) -> str:
    return joined(write.sql(node, "this"), write.sql(node, "as_of"))


@generates(nodes.AsOfClause)
def _write_as_of(write: Generator, node: exp.Expression) -> str:
    return joined("AS OF", when(node, "at_least", "AT LEAST"), write.sql(node, "this"))


@generates(nodes.MutuallyRecursive)
def _write_mutually_recursive(write: Generator, node: exp.Expression) -> str:
    limit = clause(write, f"({node.args.get('limit_action')} AT RECURSION LIMIT", node, "limit")
    bindings = listed(write, node, "expressions")
    return joined("WITH MUTUALLY RECURSIVE", f"{limit})" if limit else "", bindings)


@generates(nodes.Variadic)
def _write_variadic(write: Generator, node: exp.Expression) -> str:
    return f"VARIADIC {write.sql(node, 'this')}"


@generates(nodes.WithOption)
def _write_option(write: Generator, node: exp.Expression) -> str:
    return f"{write.sql(node, 'this')} = {write.sql(node, 'value')}"
