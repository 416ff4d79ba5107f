"""The names that PostgreSQL gives columns without an alias."""

from __future__ import annotations

from sqlglot import exp

from reclock.sql.named_types import written_parts
from reclock.sql.names import fold
from reclock.sql.queries.expressions import SESSION_WORDS
from reclock.sql.syntax.json_calls import JsonConstructor

UNNAMED = "?column?"
_TYPES = {
    exp.DType.BOOLEAN: "bool",
    exp.DType.SMALLINT: "int2",
    exp.DType.INT: "int4",
    exp.DType.BIGINT: "int8",
    exp.DType.FLOAT: "float4",
    exp.DType.DOUBLE: "float8",
    exp.DType.DECIMAL: "numeric",
    exp.DType.CHAR: "bpchar",
    exp.DType.VARCHAR: "varchar",
    exp.DType.VARBINARY: "bytea",
}
"""PostgreSQL's own names of types that SQL calls otherwise."""


def output_name(node: exp.Expr) -> str:
    """The name of a column that is ``node``."""
    return _name(node)[0] or UNNAMED


def _name(node: exp.Expr) -> tuple[str | None, bool]:
    """The name, and whether it holds: a cast or CASE around the node has a name of its own where it
    does not."""
    match node:
        case exp.Column():
            return fold(node.this), True
        case (
            exp.Paren()
            | exp.Filter()
            | exp.WithinGroup()
            | exp.Window()
            | exp.Bracket()
            | exp.Collate()
        ):
            return _name(node.this)
        case exp.Cast():
            name, holds = _name(node.this)
            return (name, True) if holds else (_type_name(node.args["to"]), False)
        case exp.Interval():
            return "interval", False
        case exp.Case():
            default = node.args.get("default")
            name, holds = _name(default) if default is not None else (None, False)
            return (name, True) if holds else ("case", False)
        case exp.Anonymous():
            return fold(node.this) if isinstance(node.this, exp.Expr) else node.name.lower(), True
        case JsonConstructor():
            return node.function, True
        case exp.Tuple():
            return "row", True
        case exp.Array():
            return "array", True
        case exp.AtTimeZone():
            return "timezone", True
        case exp.Dot() if isinstance(node.expression, exp.Identifier):
            return fold(node.expression), True
        case exp.Dot():
            return _name(node.expression)
        case _ if type(node) in SESSION_WORDS:
            return SESSION_WORDS[type(node)], True
        case exp.Exists() | exp.Extract() | exp.Overlaps():
            return node.key, True
        case exp.Subquery():
            query = node.this
            while isinstance(query, exp.SetOperation | exp.Subquery):
                query = query.this
            if isinstance(query, exp.Values):
                return "column1", True
            first = (
                query.expressions[0]
                if isinstance(query, exp.Select) and query.expressions
                else None
            )
            if isinstance(first, exp.Alias):
                return fold(first.args["alias"]), True
            name = _name(first)[0] if first is not None else None
            return name, name is not None
        case _:
            return None, False


def _type_name(node: exp.Expr) -> str:
    if isinstance(node, exp.DataType) and node.this == exp.DType.ARRAY and node.expressions:
        return _type_name(node.expressions[0])
    if isinstance(node, exp.DataType) and node.this in _TYPES:
        return _TYPES[node.this]
    if written := written_parts(node):
        return written[-1]
    return node.sql("postgres").lower().split("(")[0].strip('"')
