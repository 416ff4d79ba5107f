"""LIKE among the columns of CREATE TABLE."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.writing import generates, joined

_OPTIONS = (
    "COMMENTS",
    "COMPRESSION",
    "CONSTRAINTS",
    "DEFAULTS",
    "GENERATED",
    "IDENTITY",
    "INDEXES",
    "STATISTICS",
    "STORAGE",
)


class TableLike(exp.Expression):
    """``words`` are what it includes, as PostgreSQL names them."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "words": False}

    @property
    def included(self) -> frozenset[str]:
        return frozenset(word.name for word in self.args.get("words") or ())


def table_like(parser: StatementParser) -> TableLike:
    """What follows LIKE: the name of a relation, and what is copied besides types
    and NOT NULL."""
    name, included = parser.object_name(), set[str]()
    while (verb := parser.accept_first("INCLUDING", "EXCLUDING")) is not None:
        word = parser.accept_first("ALL", *_OPTIONS)
        if word is None:
            parser.raise_error(f"Expected ALL, {', '.join(_OPTIONS)}")
        words = set(_OPTIONS) if word == "ALL" else {word}
        included = included | words if verb == "INCLUDING" else included - words
    return TableLike(this=name, words=[exp.var(word) for word in sorted(included)])


@generates(TableLike)
def _write_table_like(write: Generator, node: exp.Expression) -> str:
    words = [f"INCLUDING {word.name}" for word in node.args.get("words") or ()]
    return joined("LIKE", write.sql(node, "this"), *words)
