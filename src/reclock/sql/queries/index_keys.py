"""The keys of indexes: columns of a relation, and expressions over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from reclock.algebra.index_keys import DEFAULT_ORDER, EXPRESSION, KeyOrder, KeyPart
from reclock.algebra.relations import BOOLEAN, RelationDesc
from reclock.errors import DuplicateColumn, UnknownColumn
from reclock.plan.build import compute
from reclock.plan.relational import Constant
from reclock.plan.scalars import ColumnRef, Scalar
from reclock.sql.catalog.constraints import Constraint
from reclock.sql.names import QualifiedName, fold, nearest, quote
from reclock.sql.parameters import NO_PARAMETERS, Parameters
from reclock.sql.queries.coercion import expect
from reclock.sql.queries.columns import check_stored
from reclock.sql.queries.expressions import ExprContext, scalar, typed
from reclock.sql.queries.limits import NoSubqueries
from reclock.sql.queries.planned import scalar_of
from reclock.sql.queries.scope import Scope
from reclock.sql.syntax.dialect import to_sql


def index_key(
    written: Sequence[exp.Expr],
    desc: RelationDesc,
    on: QualifiedName,
    orders: Sequence[KeyOrder] = (),
) -> tuple[KeyPart, ...]:
    """The key's columns and expressions, with the ``orders`` of each. Raises ``UnknownColumn``,
    ``DuplicateColumn``, and errors of the expressions."""
    parts = [
        _column(fold(node), desc)
        if isinstance(node, exp.Identifier)
        else _expression(node, desc, on)
        for node in written
    ]
    column_positions([part.column.name for part in parts if part.position is not None], desc)
    orders = orders or [DEFAULT_ORDER] * len(parts)
    return tuple(replace(part, order=order) for part, order in zip(parts, orders, strict=True))


def included(written: Sequence[exp.Identifier], desc: RelationDesc) -> tuple[KeyPart, ...]:
    """The columns of INCLUDE. Raises ``UnknownColumn``."""
    return tuple(_column(fold(name), desc) for name in written)


def index_predicate(written: exp.Expr, desc: RelationDesc, on: QualifiedName) -> Scalar:
    """The condition of a partial index, over the columns of the relation."""
    context = ExprContext(Scope.of(desc, on.item, on), _only_columns(), "index predicate")
    return scalar_of(expect(scalar(written, context), BOOLEAN, "argument of WHERE"))


def indexed_values(
    constraint: Constraint, desc: RelationDesc, parameters: Parameters = NO_PARAMETERS
) -> tuple[list[Scalar], Scalar | None]:
    """The keys of a unique index over the columns of ``desc``, and its condition. Those that a
    statement writes may have its ``parameters``."""
    context = ExprContext(Scope.of(desc, None), _only_columns(parameters), "index keys")
    keys = [scalar_of(typed(key, context)) for key in constraint.keys]
    if constraint.predicate is None:
        return keys, None
    condition = expect(scalar(constraint.predicate, context), BOOLEAN, "argument of WHERE")
    return keys, scalar_of(condition)


def _only_columns(parameters: Parameters = NO_PARAMETERS) -> NoSubqueries:
    return NoSubqueries(parameters, hint="write an expression over columns")


def column_positions(names: Sequence[str], desc: RelationDesc) -> tuple[int, ...]:
    """The positions of the columns, each named once. Raises ``UnknownColumn``,
    ``DuplicateColumn``."""
    for i, name in enumerate(names):
        if name in names[:i]:
            raise DuplicateColumn(name)
    return tuple(_position(name, desc) for name in names)


def _position(name: str, desc: RelationDesc) -> int:
    if name not in desc.names:
        raise UnknownColumn(name, hint=nearest(name, desc.names))
    return desc.names.index(name)


def _column(name: str, desc: RelationDesc) -> KeyPart:
    position = _position(name, desc)
    return KeyPart(desc.columns[position], quote(name), position)


def _expression(node: exp.Expr, desc: RelationDesc, on: QualifiedName) -> KeyPart:
    value = typed(node, ExprContext(Scope.of(desc, on.item, on), _only_columns(), "index keys"))
    if isinstance(value, ColumnRef):
        return _column(desc.names[value.index], desc)
    [column] = compute(Constant((), desc), [scalar_of(value)], [EXPRESSION]).desc.columns
    check_stored([column])
    return KeyPart(column, key_text(node))


def key_text(key: exp.Expr) -> str:
    """The key of an index as PostgreSQL writes it: what is no column and no call, in parentheses."""
    is_plain = isinstance(key, exp.Column | exp.Anonymous | exp.Paren)
    return to_sql(key) if is_plain else f"({to_sql(key)})"
