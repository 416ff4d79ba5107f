"""Syntax nodes of the statements that sqlglot does not know. Queries and expressions keep sqlglot's own nodes."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp


class Statement(exp.Expression):
    """A root: the only class of node that the parser gives back."""

    arg_types: ClassVar[dict[str, bool]] = {}


class QueryStatement(Statement):
    """A query with its ``AS OF``, which belongs to the whole statement."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "as_of": False}


class AsOfClause(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "at_least": False}


class WithOption(exp.Expression):
    """One ``name = value`` of a ``WITH`` clause."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "value": True}
