"""``INSERT INTO t (c.field, c[2])``: values of parts of columns, whose other parts are NULL."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from reclock.algebra.relations import ScalarType
from reclock.errors import DuplicateColumn, SqlSyntaxError, UnsupportedSql
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.names import fold
from reclock.sql.queries.type_names import type_syntax
from reclock.sql.statements.tables.assigned_parts import with_part
from reclock.sql.statements.tables.assignments_syntax import InsertedPart
from reclock.sql.statements.tables.generated import is_default
from reclock.sql.statements.tables.modify_syntax import InsertStatement
from reclock.sql.statements.tables.targets import target_columns
from reclock.sql.syntax.consumption import tracked_copy
from reclock.sql.syntax.places import at


def has_inserted_parts(node: InsertStatement) -> bool:
    """Whether the statement names a field or an element of a column."""
    return any(isinstance(column, InsertedPart) for column in node.args.get("columns") or ())


def with_whole_columns(node: InsertStatement, table: RelationEntry) -> InsertStatement:
    """The statement that inserts the same rows as values of whole columns. Raises ``UnknownColumn``,
    ``DuplicateColumn``, ``TypeMismatch``."""
    node = tracked_copy(node)
    targets: list[exp.Expr] = node.args["columns"]
    _reject_whole_and_part(targets)
    types = [
        table.desc.types[i] for target in targets for i in target_columns([_name(target)], table)
    ]
    query = node.args["query"]
    values = query.unnest() if isinstance(query, exp.Subquery) else query
    if isinstance(values, exp.Values):
        for row in values.expressions:
            _check_width(row, targets)
            row.set("expressions", _whole_values(targets, types, row.expressions))
    else:
        node.set("query", _selected(targets, types, query))
    node.set("columns", list({fold(_name(target)): _name(target) for target in targets}.values()))
    return node


def _name(target: exp.Expr) -> exp.Identifier:
    name = target.this if isinstance(target, InsertedPart) else target
    assert isinstance(name, exp.Identifier)
    return name


def _reject_whole_and_part(targets: Sequence[exp.Expr]) -> None:
    """Raises ``DuplicateColumn`` for a column that is named twice, unless each time by a part."""
    are_parts: dict[str, bool] = {}
    for target in targets:
        name, is_part = fold(_name(target)), isinstance(target, InsertedPart)
        if name in are_parts and not (is_part and are_parts[name]):
            with at(_name(target)):
                raise DuplicateColumn(name)
        are_parts[name] = is_part


def _check_width(row: exp.Expr, targets: Sequence[exp.Expr]) -> None:
    if not isinstance(row, exp.Tuple):
        raise SqlSyntaxError("a row of VALUES is written in parentheses")
    if len(row.expressions) > len(targets):
        with at(row.expressions[len(targets)]):
            raise SqlSyntaxError("INSERT has more expressions than target columns")
    if len(row.expressions) < len(targets):
        with at(_name(targets[len(row.expressions)])):
            raise SqlSyntaxError("INSERT has more target columns than expressions")


def _whole_values(
    targets: Sequence[exp.Expr], types: Sequence[ScalarType], values: Sequence[exp.Expr]
) -> list[exp.Expr]:
    """A value for each column, in the order in which ``targets`` name them first."""
    whole: dict[str, exp.Expr] = {}
    for target, type, value in zip(targets, types, values, strict=True):
        name = fold(_name(target))
        if not isinstance(target, InsertedPart):
            whole[name] = value
            continue
        parts: Sequence[exp.Expr] = target.args["parts"]
        with at(target.this):
            if is_default(value):
                kind = "a subfield" if isinstance(parts[-1], exp.Identifier) else "an array element"
                raise UnsupportedSql(f"cannot set {kind} to DEFAULT")
            before = whole.get(name) or exp.Cast(this=exp.Null(), to=type_syntax(type))
            whole[name] = with_part(before, name, type, parts, value)
    return list(whole.values())


def _selected(
    targets: Sequence[exp.Expr], types: Sequence[ScalarType], query: exp.Expr
) -> exp.Expr:
    """The query's rows, as values of whole columns."""
    names = [exp.to_identifier(f"column{i + 1}") for i in range(len(targets))]
    alias = exp.TableAlias(this=exp.to_identifier("row"), columns=names)
    values: list[exp.Expr] = [exp.column(name.copy()) for name in names]
    return exp.select(*_whole_values(targets, types, values), copy=False).from_(
        exp.Subquery(this=query, alias=alias), copy=False
    )
