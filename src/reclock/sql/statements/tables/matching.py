"""Which rows UPDATE and DELETE concern, and beside other relations (FROM, USING): each row of the
table at most once."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from reclock.algebra.relations import ScalarType
from reclock.plan.relational import Plan
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.queries.context import Context
from reclock.sql.queries.query import plan_query
from reclock.sql.queries.scope import Scope
from reclock.sql.queries.tables import plan_from
from reclock.sql.syntax.consumption import tracked_copy

_MATCHED, _AGAIN = "mz_matched", "mz_again"


def matching(
    node: exp.Expr,
    table: RelationEntry,
    context: Context,
    values: Sequence[exp.Expr],
    hints: Sequence[ScalarType | None],
) -> Plan:
    """The rows of the table that meet WHERE, and behind their columns ``values``. Of several rows
    of the other relations that one row meets, one gives the values, as in PostgreSQL."""
    other_relations = [tracked_copy(other) for other in node.args.get("relations") or ()]
    where = (
        exp.Where(this=tracked_copy(node.args["where"]))
        if node.args.get("where") is not None
        else None
    )
    if not other_relations:
        from_ = exp.From(this=tracked_copy(node.this))
        select = exp.Select(expressions=[*_columns(node, table), *values], from_=from_, where=where)
    elif values:
        select = _with_values(node, table, other_relations, where, values)
    else:
        # where a name is ambiguous, it says so
        plan_query(_beside(node, other_relations, where, _columns(node, table)), context)
        inside = exp.Select(
            expressions=[exp.Literal.number(1)], where=where, **from_clause(other_relations)
        )
        exists = exp.Where(this=exp.Exists(this=inside))
        select = exp.Select(
            expressions=_columns(node, table),
            from_=exp.From(this=tracked_copy(node.this)),
            where=exists,
        )
    return plan_query(select, context, hints=hints).embedded


def returned_of_others(node: exp.Expr, context: Context) -> tuple[Scope, list[exp.Expr]]:
    """The columns of the other relations that RETURNING may name, and their names in the query;
    none without RETURNING."""
    other_relations = [tracked_copy(other) for other in node.args.get("relations") or ()]
    if not other_relations or not node.args.get("returning"):
        return Scope(), []
    scope = plan_from(exp.Select(**from_clause(other_relations)), context).scope
    return scope, [
        exp.Column(
            this=exp.to_identifier(column.name, quoted=True),
            table=exp.to_identifier(column.relation, quoted=True)
            if column.relation is not None
            else None,
        )
        for column in scope.columns
    ]


def _with_values(
    node: exp.Expr,
    table: RelationEntry,
    other_relations: list[exp.Expr],
    where: exp.Where | None,
    values: Sequence[exp.Expr],
) -> exp.Select:
    """A table may hold a row more than once, so one match is found for each different row, and then
    given to all of its copies."""
    names = [f"c{number}" for number in range(len(table.desc))]
    from_there = {number: value for number, value in enumerate(values) if value.find(exp.Column)}
    select_items = [
        exp.alias_(column, name) for column, name in zip(_columns(node, table), names, strict=True)
    ]
    select_items += [
        exp.alias_(tracked_copy(value), f"v{number}", copy=False)
        for number, value in from_there.items()
    ]
    inner = _beside(node, other_relations, where, select_items)
    inner.set("distinct", exp.Distinct(on=exp.Tuple(expressions=_columns(node, table))))
    matched = exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier(_MATCHED)))
    again = exp.Table(
        **{
            part: node.this.args.get(part) and tracked_copy(node.this.args[part])
            for part in ("this", "db", "catalog")
        },
        alias=exp.TableAlias(this=exp.to_identifier(_AGAIN)),
    )
    table_columns = [
        exp.column(exp.to_identifier(name, quoted=True), _AGAIN) for name in table.desc.names
    ]
    same = exp.and_(
        *(
            exp.NullSafeEQ(this=c.copy(), expression=exp.column(n, _MATCHED))
            for c, n in zip(table_columns, names, strict=True)
        )
    )
    value_columns = [
        exp.column(f"v{number}", _MATCHED) if number in from_there else tracked_copy(value)
        for number, value in enumerate(values)
    ]
    return exp.Select(
        expressions=[*table_columns, *value_columns],
        from_=exp.From(this=matched),
        joins=[exp.Join(this=again, on=same)],
    )


def _beside(
    node: exp.Expr,
    other_relations: list[exp.Expr],
    where: exp.Where | None,
    select_list: list[exp.Expr],
) -> exp.Select:
    return exp.Select(
        expressions=[tracked_copy(value) for value in select_list],
        where=where and tracked_copy(where),
        **from_clause([tracked_copy(node.this), *other_relations]),
    )


def from_clause(relations: list[exp.Expr]) -> dict[str, object]:
    """Relations that commas part; the parser has put what is joined to one of them behind it."""
    joins: list[exp.Expr] = []
    for relation in [tracked_copy(relation) for relation in relations]:
        behind = relation.args.get("joins") or []
        relation.set("joins", None)
        joins += [exp.Join(this=relation), *behind]
    return {"from_": exp.From(this=joins[0].this), "joins": joins[1:]}


def _columns(node: exp.Expr, table: RelationEntry) -> list[exp.Expr]:
    target = node.this
    alias = target.args["alias"].this if target.args.get("alias") else target.this
    return [
        exp.Column(this=exp.to_identifier(name, quoted=True), table=tracked_copy(alias))
        for name in table.desc.names
    ]
