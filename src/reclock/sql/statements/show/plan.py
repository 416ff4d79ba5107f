"""SHOW: its rows are known at planning, so it becomes a query over constants, with a typed
filter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlglot import exp

from reclock.algebra.relations import BIGINT, BOOLEAN, TEXT, Column, RelationDesc, ScalarType
from reclock.errors import UnsupportedSql, quoted_name
from reclock.plan.relational import Constant, Filter, Finishing, Ordering, Plan
from reclock.plan.scalars import ColumnRef, Literal
from reclock.sql.catalog.entries import (
    QuarantinedEntry,
)
from reclock.sql.catalog.lookups import find_object
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, cluster_identifier, parts
from reclock.sql.parameters import NO_PARAMETERS
from reclock.sql.planning.registry import plans, require_experimental_mode
from reclock.sql.queries.expressions import ExprContext, condition
from reclock.sql.queries.limits import NoSubqueries
from reclock.sql.queries.overloads import call
from reclock.sql.queries.planned import scalar_of
from reclock.sql.queries.scope import Scope as ExpressionScope
from reclock.sql.statements.clusters.plan import create_cluster_text
from reclock.sql.statements.functions.signatures import object_parts
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.show.syntax import (
    ShowColumnsStatement,
    ShowCreateStatement,
)
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.parse import parse_one

Row = tuple[Any, ...]


@plans(ShowColumnsStatement, returns_rows=True)
def show_columns(
    node: ShowColumnsStatement, catalog: PlannerCatalog, session: SessionNames
) -> Select:
    entry = catalog.resolve(parts(node.this), session)
    rows = (
        (column.name, column.is_nullable, column.sql_type, i)
        for i, column in enumerate(entry.desc.columns)
    )
    columns = {"name": TEXT, "nullable": BOOLEAN, "type": TEXT, "position": BIGINT}
    return show_rows(columns, rows, node, ordered_by=(3,), visible=3)


@plans(ShowCreateStatement, returns_rows=True)
def show_create(
    node: ShowCreateStatement, catalog: PlannerCatalog, session: SessionNames
) -> Select:
    kind: str = node.args["kind"]
    if kind == "CLUSTER":
        require_experimental_mode("SHOW CREATE CLUSTER", catalog)
        return show_rows(
            {"name": TEXT, "create_cluster": TEXT}, [create_cluster_text(node.this, catalog)], node
        )
    entry = find_object(object_parts(node.this), kind, catalog, session, may_be_quarantined=True)
    text = entry.create_sql
    if text is None:
        raise UnsupportedSql(f"{quoted_name(entry.name)} is built in: it has no CREATE statement")
    if kind in ("MATERIALIZED VIEW", "SINK") and not isinstance(entry, QuarantinedEntry):
        statement = parse_one(text)
        if kind == "SINK":
            statement.set("continuation", None)  # which only the catalog's statements have
        else:
            index = catalog.indexes_on(entry.id)[0]
            statement.set("materialized", True)
            statement.set("cluster", cluster_identifier(catalog.cluster_name(index.cluster_id)))
        text = to_sql(statement)
    name = f"create_{kind.lower().replace(' ', '_')}"
    return show_rows({"name": TEXT, name: TEXT}, [(str(entry.name), text)], node)


def show_rows(
    columns: Mapping[str, ScalarType],
    rows: Iterable[Row],
    node: exp.Expr,
    *,
    ordered_by: Sequence[int] = (0,),
    visible: int | None = None,
) -> Select:
    """The rows that meet LIKE (on the name) or WHERE."""
    values = tuple(rows)
    nullable = [any(row[i] is None for row in values) for i in range(len(columns))]
    desc = RelationDesc(
        tuple(Column(name, type, nullable[i]) for i, (name, type) in enumerate(columns.items()))
    )
    plan: Plan = Constant(values, desc)
    like, where = node.args.get("like"), node.args.get("where")
    if like is not None:
        name = next(
            i for i, column in enumerate(desc.names) if column in ("name", "key_name", "replica")
        )
        is_like = call("like", [ColumnRef(name, TEXT), Literal(like.name, TEXT)])
        plan = Filter(plan, (scalar_of(is_like),))
    if where is not None:
        scope = ExpressionScope.of(RelationDesc(desc.columns[:visible]), None)
        expr_context = ExprContext(scope, NoSubqueries(NO_PARAMETERS), "WHERE")
        plan = Filter(plan, (scalar_of(condition(where, expr_context)),))
    finishing = Finishing(tuple(Ordering(i) for i in ordered_by), visible=visible)
    return Select(plan, finishing, RelationDesc(desc.columns[:visible]), tag="SHOW")
