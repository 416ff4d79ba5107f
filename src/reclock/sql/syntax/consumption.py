"""Which parts of a parsed statement the planner has read. What it has not read is refused, never
dropped in silence.

The parser of queries is sqlglot's, which knows many dialects: a node may carry clauses that the
planner does not expect in that place. Every node of a parsed statement therefore records which of
its arguments are read, and `check_consumed` raises for an argument that no code looked at while the
statement was planned.
"""

from __future__ import annotations

from typing import Any, TypeVar

from sqlglot import exp

from reclock.errors import UnsupportedSql
from reclock.sql.syntax import nodes
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.places import begin_statement, number_word

E = TypeVar("E", bound=exp.Expr)

_WITHOUT_MEANING: frozenset[tuple[type[exp.Expr], str]] = frozenset(
    {
        (exp.Div, "typed"),  # how other dialects divide and concatenate
        (exp.Div, "safe"),
        (exp.DPipe, "safe"),
        (exp.Array, "value_constructor"),
        (exp.DataType, "nested"),
        (exp.Fetch, "direction"),  # FIRST and NEXT are one, ROW and ROWS too
        (exp.CTE, "materialized"),  # advice: the rows are the same
        (exp.LimitOptions, "rows"),
        (exp.Literal, "is_string"),  # a rule of the grammar said which it is
    }
)
"""Arguments that the parser sets by itself and that say nothing about what was written."""


class TrackedArgs(dict[str, Any]):
    """The arguments of a node; ``read`` has the names of those that were looked up. Iterating over
    them reads none."""

    __slots__ = ("read",)

    def __init__(self, args: dict[str, Any], read: set[str] | None = None) -> None:
        super().__init__(args)
        self.read = set() if read is None else read

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return dict.__getitem__(self, name)

    def get(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        return dict.get(self, name, default)


def track(statement: exp.Expr, text: str) -> None:
    """Record from now on what is read of a statement and of all nodes below it. ``text`` is what it
    was parsed from."""
    number = begin_statement(statement, text)
    for part in statement.walk():
        part.args = TrackedArgs(part.args)
        number_word(part, number)


def tracked_copy(node: E) -> E:
    """A copy for planning: what is read of the copy counts as read of ``node``."""
    if isinstance(node, exp.Literal) and isinstance(node.args, TrackedArgs):
        literal = type(node)(**node.args)
        literal.meta.update(node.meta)
        literal.args = TrackedArgs(literal.args, node.args.read)
        return literal
    copied = node.copy()
    for original, copy in zip(node.walk(), copied.walk(), strict=True):
        if isinstance(original.args, TrackedArgs):
            copy.args = TrackedArgs(copy.args, original.args.read)
    return copied


def consume(node: exp.Expr) -> None:
    """Count all of ``node`` that its grammar knows as read: the planner has found that it changes
    nothing."""
    for part in node.walk():
        if isinstance(part.args, TrackedArgs):
            part.args.read.update(part.arg_types)


def check_consumed(node: exp.Expr) -> None:
    """Raises ``UnsupportedSql``, naming the clause, if a part of a tracked ``node`` was never
    read."""
    for part in node.walk():
        if not isinstance(part.args, TrackedArgs):
            continue
        for name, value in part.args.items():
            if value is None or value is False or (isinstance(value, list) and not value):
                continue
            if (
                name in part.args.read
                or (type(part), name) in _WITHOUT_MEANING
                or _is_word(part, value)
            ):
                continue
            raise unsupported_clause(part, name)


def _is_word(node: exp.Expr, value: Any) -> bool:
    """Whether the argument is a word of Reclock's own grammar, as CASCADE, which matters only where
    there is something to do."""
    return isinstance(node, nodes.Statement) and isinstance(value, bool | str)


_AS_OF = "AS OF at the end of the query: SELECT … AS OF '2026-01-31 12:00'"
_INSTEAD = {
    "except_": "name the columns that are wanted",
    "qualify": "filter the window function's value in a query around: SELECT * FROM (…) WHERE …",
    "version": _AS_OF,
    "when": _AS_OF,
}
"""By the parser's name for a clause that other dialects have: what to write."""


def unsupported_clause(node: exp.Expr, name: str) -> UnsupportedSql:
    """The error for a clause that nothing has read."""
    return UnsupportedSql(f"not supported here: {_written(node, name)}", hint=_INSTEAD.get(name))


def _written(node: exp.Expr, name: str) -> str:
    """The clause by the parser's word for it, and as SQL."""
    value: Any = dict.get(node.args, name)
    clause = name.strip("_").upper().replace("_", " ")
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(value, exp.Expr) for value in values):
        return f"{clause} of {to_sql(node)[:80]}"
    sql = ", ".join(to_sql(value).strip() for value in values)[:80]
    return sql if sql.startswith(clause) else f"{clause} {sql}"
