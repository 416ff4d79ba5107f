"""WITH MUTUALLY RECURSIVE: queries that read each other, with Materialize's syntax and meaning."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from sqlglot import exp

from reclock.algebra.relations import Column, RelationDesc, ScalarType
from reclock.errors import (
    InvalidOption,
    SqlSyntaxError,
    TypeMismatch,
    UnknownColumn,
    UnknownRelation,
    UnsupportedSql,
)
from reclock.plan.build import compute
from reclock.plan.relational import MutualRecursion, Plan, WorkTable
from reclock.plan.scalars import ColumnRef
from reclock.sql.names import fold
from reclock.sql.queries.assignment import assign
from reclock.sql.queries.context import Context
from reclock.sql.queries.expressions import reject_unsupported
from reclock.sql.queries.recursion import unused_id
from reclock.sql.queries.type_names import column_limit, reject_domain, scalar_type
from reclock.sql.syntax import nodes


def with_bindings(clause: nodes.MutuallyRecursive, context: Context) -> Context:
    """The context with the queries of the block, each of which sees all of them. If one names the
    rows around, all are planned for each of these.

    Raises ``SqlSyntaxError``, ``InvalidOption``, and ``TypeMismatch`` if a query does not have the
    columns that are declared.
    """
    reject_unsupported(clause, "expressions", "limit", "limit_action")
    if context.around is not None:
        with suppress(UnsupportedSql, UnknownColumn, UnknownRelation):
            plain = with_bindings(clause, replace(context, around=None))
            return replace(plain, around=context.around)
    outer = () if context.around is None else context.around.plan.desc.columns
    inner, first = context, unused_id(context)
    descs: dict[str, RelationDesc] = {}
    for place, cte in enumerate(clause.expressions):
        name = fold(cte.args["alias"].this)
        if name in descs:
            raise SqlSyntaxError(f'WITH query name "{name}" specified more than once')
        descs[name] = RelationDesc((*_declared(name, cte.args["alias"].columns), *outer))
        table = WorkTable(first + place, name, descs[name], is_binding=True)
        inner = inner.with_cte(name, table, len(outer))
    limit = clause.args.get("limit")
    block = MutualRecursion(
        tuple(
            _value(name, desc, cte.this, inner, len(outer))
            for (name, desc), cte in zip(descs.items(), clause.expressions, strict=True)
        ),
        tuple(range(first, first + len(descs))),
        tuple(descs),
        result=0,
        most_iterations=(
            context.session.max_recursion_iterations if limit is None else _limit(limit)
        ),
        returns_at_limit=clause.args.get("limit_action") == "RETURN",
        desc=next(iter(descs.values())),
    )
    for place, (name, desc) in enumerate(descs.items()):
        binding = replace(block, result=place, desc=desc)
        context = context.with_cte(name, binding, len(outer))
    return context


def _declared(query: str, columns: Sequence[exp.ColumnDef]) -> list[Column]:
    declared: list[Column] = []
    for column in columns:
        name, kind = fold(column.this), column.args["kind"]
        if name in [other.name for other in declared]:
            raise SqlSyntaxError(
                f'column "{name}" of WITH query "{query}" specified more than once'
            )
        reject_domain(kind, "WITH MUTUALLY RECURSIVE")
        declared.append(Column(name, scalar_type(kind), limit=column_limit(kind)))
    return declared


def _limit(node: exp.Expr) -> int:
    limit = int(node.name[:18])
    if limit == 0:
        raise InvalidOption("recursion limit must be greater than 0")
    return limit


def _value(
    name: str, desc: RelationDesc, node: exp.Expr, context: Context, outer_width: int
) -> Plan:
    """The query, in the declared types. Its last ``outer_width`` columns say which row around each
    row is for."""
    declared = desc.types[: len(desc) - outer_width]
    plan = context.queries.plan(node, context, declared).embedded
    columns = [ColumnRef(place, type) for place, type in enumerate(plan.desc.types)]
    if len(columns) == len(desc):
        try:
            values = [
                assign(value, column) for value, column in zip(columns, desc.columns, strict=True)
            ]
            return compute(plan, values, desc.names)
        except TypeMismatch:
            pass
    returned = plan.desc.types[: len(columns) - outer_width]
    raise TypeMismatch(
        f'WITH MUTUALLY RECURSIVE query "{name}" declared types ({_names(declared)}), but query '
        f"returns types ({_names(returned)})"
    )


def _names(types: Sequence[ScalarType]) -> str:
    return ", ".join(str(type) for type in types)
