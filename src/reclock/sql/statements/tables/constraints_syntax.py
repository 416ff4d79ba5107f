"""Constraints in CREATE TABLE: PRIMARY KEY, UNIQUE, FOREIGN KEY and CHECK, of a column or of the
table."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import TokenType

from reclock.errors import UnsupportedSql
from reclock.sql.syntax.index_elements import (
    included_columns,
    index_elements,
    write_elements,
)
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.writing import clause, generates, joined, list_clause, when


class TableConstraint(exp.Expression):
    """``this`` is the name, if one is written, and ``kind`` is ``PRIMARY KEY``, ``UNIQUE``, ``UNIQUE
    INDEX``, ``FOREIGN KEY`` or ``CHECK``. A unique index has ``keys``, which are expressions, and
    perhaps ``where``. ``is_index`` marks a ``UNIQUE`` that CREATE UNIQUE INDEX made; such
    an index may have ``orders``, and any key ``include``.

    The constraint of a column is parsed to that of the table with this one column. ``on_delete``,
    ``on_update``, ``match`` and ``deferrable`` are words as written, upper case. ``comment`` is a
    string.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "this": False,
        "kind": True,
        "columns": False,
        "keys": False,
        "orders": False,
        "include": False,
        "where": False,
        "are_nulls_equal": False,
        "is_index": False,
        "target": False,
        "target_columns": False,
        "match": False,
        "on_delete": False,
        "on_update": False,
        "check": False,
        "deferrable": False,
        "is_not_enforced": False,
        "is_not_valid": False,
        "comment": False,
    }


_FOREIGN_KEY_WORDS = (("MATCH", "match"), ("ON DELETE", "on_delete"), ("ON UPDATE", "on_update"))
_ACTIONS = (("NO", "ACTION"), ("RESTRICT",), ("CASCADE",), ("SET", "NULL"), ("SET", "DEFAULT"))


def is_table_constraint(parser: StatementParser) -> bool:
    """Whether a constraint begins here, rather than a column, which may be called like one of its
    words."""
    first = parser.index + (2 if parser.token.token_type == TokenType.CONSTRAINT else 0)
    words = [token.text.upper() for token in parser.tokens[first : first + 2]]
    if words[:1] in (["PRIMARY KEY"], ["FOREIGN KEY"]):
        return True
    return words in (
        ["UNIQUE", "("],
        ["UNIQUE", "NULLS"],
        ["UNIQUE", "INDEX"],
        ["CHECK", "("],
        ["EXCLUDE", "("],
        ["EXCLUDE", "USING"],
    )


def constraint_name(parser: StatementParser) -> exp.Identifier | None:
    return parser.name() if parser.accept_token(TokenType.CONSTRAINT) else None


def table_constraint(parser: StatementParser) -> TableConstraint:
    name = constraint_name(parser)
    if parser.accept("EXCLUDE"):
        raise UnsupportedSql("EXCLUDE constraints are not supported")
    if parser.accept_token(TokenType.FOREIGN_KEY):
        columns = parser.wrapped_list(StatementParser.name)
        if not parser.accept_token(TokenType.REFERENCES):
            parser.raise_error("Expected REFERENCES")
        return commented(parser, _references(parser, name, columns))
    constraint = column_constraint(parser, name, None)
    return commented(parser, constraint or parser.raise_error("Expected a constraint"))


def commented(parser: StatementParser, constraint: TableConstraint) -> TableConstraint:
    """The constraint with the comment that follows it in a definition of the catalog.

    COMMENT ON CONSTRAINT stores the comment there, so that whatever becomes of the constraint
    becomes of its comment."""
    if parser.accept("COMMENT"):
        constraint.set("comment", parser.string() or parser.missing())
    return constraint


def column_constraint(
    parser: StatementParser, name: exp.Identifier | None, column: exp.Identifier | None
) -> TableConstraint | None:
    """The constraint that begins here, if one does, on ``column`` or else on the columns that it
    lists."""
    if parser.accept_token(TokenType.REFERENCES):
        return _references(parser, name, [column] if column is not None else [])
    if parser.accept("CHECK"):
        check = parser.wrapped(lambda parser: parser.value())
        return _attributes(parser, TableConstraint(this=name, kind="CHECK", check=check))
    if parser.accept_any(("PRIMARY KEY", "UNIQUE")):
        kind = parser.last_word
        if kind == "UNIQUE" and column is None and parser.accept("INDEX"):
            return _unique_index(parser, name)
        are_nulls_equal = kind == "UNIQUE" and parser.accept("NULLS", "NOT", "DISTINCT")
        if kind == "UNIQUE" and not are_nulls_equal:
            parser.accept("NULLS", "DISTINCT")
        columns, orders = ([column.copy()], None) if column is not None else _columns(parser)
        constraint = TableConstraint(
            this=name, kind=kind, columns=columns, are_nulls_equal=are_nulls_equal, orders=orders
        )
        constraint.set("include", None if column is not None else included_columns(parser))
        if kind == "UNIQUE" and column is None and parser.accept("AS", "INDEX"):
            constraint.set("is_index", True)
        elif orders is not None:
            parser.raise_error("Expected AS INDEX")
        return _attributes(parser, constraint)
    return None


def _columns(parser: StatementParser) -> tuple[list[exp.Identifier], str | None]:
    """The columns of a key, with the orders of an index."""
    start = parser.token
    columns, orders = index_elements(parser)
    names = [column for column in columns if isinstance(column, exp.Identifier)]
    if len(names) != len(columns):
        parser.reject("a key has columns alone", start)
    return names, orders


def _unique_index(parser: StatementParser, name: exp.Identifier | None) -> TableConstraint:
    are_nulls_equal = parser.accept("NULLS", "NOT", "DISTINCT")
    elements, orders = index_elements(parser)
    keys = [exp.column(key) if isinstance(key, exp.Identifier) else key for key in elements]
    constraint = TableConstraint(
        this=name,
        kind="UNIQUE INDEX",
        keys=keys,
        orders=orders,
        are_nulls_equal=are_nulls_equal,
    )
    constraint.set("include", included_columns(parser))
    if parser.accept_token(TokenType.WHERE):
        constraint.set("where", parser.wrapped(StatementParser.value))
    return _attributes(parser, constraint)


def expressions_of(constraint: TableConstraint) -> list[exp.Expr]:
    """What the constraint computes from columns: the condition of a CHECK, the keys and the condition
    of a unique index."""
    arguments = constraint.args
    parts = [arguments.get("check"), *(arguments.get("keys") or ()), arguments.get("where")]
    return [part for part in parts if part is not None]


def _references(
    parser: StatementParser, name: exp.Identifier | None, columns: list[exp.Identifier]
) -> TableConstraint:
    target = parser.object_name()
    target_columns = (
        parser.wrapped_list(StatementParser.name) if parser.sees_token(TokenType.L_PAREN) else None
    )
    constraint = TableConstraint(
        this=name,
        kind="FOREIGN KEY",
        columns=[column.copy() for column in columns],
        target=target,
        target_columns=target_columns,
    )
    while True:
        if not constraint.args.get("match") and parser.accept("MATCH"):
            constraint.set("match", _one_of(parser, (("FULL",), ("SIMPLE",))))
        elif not constraint.args.get("on_delete") and parser.accept("ON", "DELETE"):
            constraint.set("on_delete", _one_of(parser, _ACTIONS))
        elif not constraint.args.get("on_update") and parser.accept("ON", "UPDATE"):
            constraint.set("on_update", _one_of(parser, _ACTIONS))
        else:
            return _attributes(parser, constraint)


def _one_of(parser: StatementParser, phrases: tuple[tuple[str, ...], ...]) -> str:
    words = next((words for words in phrases if parser.accept(*words)), None)
    if words is None:
        parser.raise_error(f"Expected {', '.join(' '.join(words) for words in phrases)}")
    return " ".join(words)


def _attributes(parser: StatementParser, constraint: TableConstraint) -> TableConstraint:
    """When it is checked, and whether: what is the default is not kept."""
    while True:
        if parser.accept("NOT", "ENFORCED"):
            constraint.set("is_not_enforced", True)
        elif parser.accept("NOT", "VALID"):
            constraint.set("is_not_valid", True)
        elif parser.accept("ENFORCED"):
            pass
        elif parser.accept("INITIALLY", "DEFERRED"):
            constraint.set("deferrable", "DEFERRABLE INITIALLY DEFERRED")
        elif parser.accept("DEFERRABLE"):
            constraint.set("deferrable", constraint.args.get("deferrable") or "DEFERRABLE")
        elif not (parser.accept("NOT", "DEFERRABLE") or parser.accept("INITIALLY", "IMMEDIATE")):
            return constraint


@generates(TableConstraint)
def _write_table_constraint(write: Generator, node: exp.Expression) -> str:
    words = (clause(write, keyword, node, name) for keyword, name in _FOREIGN_KEY_WORDS)
    target_columns = list_clause(write, "", node, "target_columns")
    check, keys = write.sql(node, "check"), "keys" if node.args.get("keys") else "columns"
    return joined(
        clause(write, "CONSTRAINT", node, "this"),
        node.args["kind"],
        when(node, "are_nulls_equal", "NULLS NOT DISTINCT"),
        f"({check})" if check else write_elements(write, node, keys),
        when(node, "is_index", "AS INDEX"),
        f"WHERE ({write.sql(node, 'where')})" if node.args.get("where") is not None else "",
        joined(clause(write, "REFERENCES", node, "target"), target_columns, *words),
        node.args.get("deferrable") or "",
        when(node, "is_not_enforced", "NOT ENFORCED"),
        when(node, "is_not_valid", "NOT VALID"),
        clause(write, "COMMENT", node, "comment"),
    )
