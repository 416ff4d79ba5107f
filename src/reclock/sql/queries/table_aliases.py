"""Aliases of relations in FROM, and of their columns."""

from __future__ import annotations

from sqlglot import exp

from reclock.errors import InvalidColumnReference, UnsupportedSql
from reclock.plan.build import project
from reclock.sql.names import fold
from reclock.sql.queries.scope import Scope, ScopeColumn, ScopedPlan
from reclock.sql.syntax.dialect import to_sql


def aliased(relation: ScopedPlan, node: exp.Expr) -> ScopedPlan:
    alias = node.args.get("alias")
    if alias is None:
        return relation
    name = fold(alias.this) if alias.this else None
    renamed = [
        fold(column) if isinstance(column, exp.Identifier) else _no_column_definition(column)
        for column in alias.columns
    ]
    if any(column.is_merged_away for column in relation.scope.columns):
        relation = _without_merged_away(relation)
    columns = relation.scope.columns
    if len(renamed) > len(columns):
        raise InvalidColumnReference(
            f'table "{name}" has {len(columns)} columns available but {len(renamed)} '
            "columns specified"
        )
    names = [*renamed, *(column.name for column in columns[len(renamed) :])]
    is_relation = isinstance(node, exp.Table)
    is_one = len({column.relation for column in columns}) == 1  # or else it has several keys
    scope = Scope(
        tuple(
            ScopeColumn(
                name,
                renamed_to,
                column.type,
                origin=column.origin,
                position=i,
                is_key=column.is_key and is_one,
                is_value=column.is_value,
                declared_name=column.field_name if is_relation and column.origin else None,
            )
            for i, (renamed_to, column) in enumerate(zip(names, columns, strict=True))
        )
    )
    return ScopedPlan(relation.plan, scope)


def _without_merged_away(relation: ScopedPlan) -> ScopedPlan:
    """A parenthesized join with an alias: no name reaches the columns that USING merged."""
    columns = relation.scope.columns
    visible = [i for i, column in enumerate(columns) if not column.is_merged_away]
    return ScopedPlan(project(relation.plan, visible), Scope(tuple(columns[i] for i in visible)))


def _no_column_definition(node: exp.Expr) -> str:
    raise UnsupportedSql(f"column definition {to_sql(node)[:80]} is not supported in an alias")
