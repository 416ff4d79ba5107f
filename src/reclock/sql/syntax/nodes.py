"""Syntax nodes of the statements that sqlglot does not know. Queries and expressions keep sqlglot's
own nodes."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp

from reclock.sql.syntax.writing import written_as


class Statement(exp.Expression):
    """A root: the only class of node that the parser gives back."""

    arg_types: ClassVar[dict[str, bool]] = {}


@written_as("{this} {as_of}")
class QueryStatement(Statement):
    """A query with its ``AS OF``, which belongs to the whole statement."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "as_of": False}


@written_as(
    "CREATE TABLE [exists: IF NOT EXISTS] {this} [({names})] [ON COMMIT {on_commit}] AS {query} "
    "[is_empty: WITH NO DATA]"
)
class CreateTableAsStatement(Statement):
    """``names`` are of the columns; without them they are those of ``query``. ``is_empty`` is WITH
    NO DATA."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "exists": False,
        "names": False,
        "on_commit": False,
        "query": True,
        "is_empty": False,
    }


@written_as("AS OF [at_least: AT LEAST] {this}")
class AsOfClause(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "at_least": False}


@written_as("{this} = {value}")
class WithOption(exp.Expression):
    """One ``name = value`` of a ``WITH`` clause."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "value": True}


@written_as("VARIADIC {this}")
class Variadic(exp.Expression):
    """An argument after VARIADIC."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


@written_as("WITH MUTUALLY RECURSIVE [({limit_action} AT RECURSION LIMIT {limit})] {expressions}")
class MutuallyRecursive(exp.With):
    """``WITH MUTUALLY RECURSIVE``; the columns of its queries have types. ``limit_action`` is a
    word of the grammar: ERROR or RETURN."""

    arg_types: ClassVar[dict[str, bool]] = {
        **exp.With.arg_types,
        "limit": False,
        "limit_action": False,
    }


HIDDEN = "hidden"
"""The key in a node's ``meta`` of a secret's value or a password. It is no argument: no text that
is made of the node has it."""


def hides_value(node: exp.Expr) -> bool:
    """Whether ``node``, or a node below it, has a hidden value."""
    return any(part._meta and HIDDEN in part._meta for part in node.walk())
