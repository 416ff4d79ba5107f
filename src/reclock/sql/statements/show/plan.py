"""SHOW: its rows are known at planning, so it becomes a query over constants, with a typed
filter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlglot import exp

from reclock.algebra.relations import BIGINT, BOOLEAN, TEXT, Column, RelationDesc, ScalarType
from reclock.catalog.objects import ItemType
from reclock.errors import SqlSyntaxError, UnsupportedSql
from reclock.plan.relational import Constant, Filter, Finishing, Ordering, Plan
from reclock.plan.scalars import ColumnRef, Literal
from reclock.sql.catalog.entries import (
    ConnectionEntry,
    IndexEntry,
    QuarantinedEntry,
    RelationEntry,
    Scope,
)
from reclock.sql.catalog.lookups import find_object, snapshot_of
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SYSTEM_SCHEMAS, SessionNames, cluster_identifier, fold, parts
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
    ShowObjectsStatement,
)
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.parse import parse_one

Row = tuple[Any, ...]

_KEYS = {
    "cluster_name": TEXT,
    "on_name": TEXT,
    "key_name": TEXT,
    "seq_in_index": BIGINT,
    "column_name": TEXT,
    "expression": TEXT,
    "nullable": BOOLEAN,
}


@plans(ShowObjectsStatement, returns_rows=True)
def show_objects(
    node: ShowObjectsStatement, catalog: PlannerCatalog, session: SessionNames
) -> Select:
    kind: str = node.args["kind"]
    if kind in ("CLUSTERS", "CLUSTER REPLICAS"):
        require_experimental_mode(f"SHOW {kind}", catalog)
    within = parts(node.args["within"]) if node.args.get("within") is not None else None
    cluster = node.args.get("cluster")
    cluster_id = catalog.cluster_id(fold(cluster)) if cluster is not None else None
    if cluster is not None and kind not in ("INDEXES", "MATERIALIZED VIEWS", "SINKS"):
        raise SqlSyntaxError(f"SHOW {kind} takes no IN CLUSTER")
    if kind == "INDEXES":
        return show_rows(
            _KEYS, _indexes(within, cluster_id, catalog, session), node, ordered_by=(0, 1, 2, 3)
        )
    if kind in ("DATABASES", "CLUSTERS", "CLUSTER REPLICAS", "ROLES") and within is not None:
        raise SqlSyntaxError(f"SHOW {kind} takes no FROM")
    if kind == "DATABASES":
        return show_rows({"name": TEXT}, ((name,) for name in catalog.databases), node)
    if kind == "ROLES":
        roles = catalog.snapshot.roles.values() if catalog.snapshot is not None else ()
        return show_rows(
            {"name": TEXT}, ((role.name,) for role in roles if not role.id.startswith("s")), node
        )
    if kind == "CLUSTERS":
        return show_rows({"name": TEXT}, ((name,) for name in catalog.clusters), node)
    if kind == "CLUSTER REPLICAS":
        replicas = snapshot_of(catalog).cluster_replicas.values()
        sizes = (
            (catalog.cluster_name(replica.cluster_id), replica.name, replica.size)
            for replica in replicas
        )
        return show_rows(
            {"cluster": TEXT, "replica": TEXT, "size": TEXT}, sizes, node, ordered_by=(0, 1)
        )
    if kind == "SCHEMAS":
        return show_rows({"name": TEXT}, _schemas(within, catalog, session), node)
    scope = _scope(within, catalog, session)
    if kind == "SECRETS":
        return show_rows(
            {"name": TEXT},
            (
                (name,)
                for name, entry in catalog.within(scope).items()
                if entry.type is ItemType.SECRET
            ),
            node,
        )
    if kind == "CONNECTIONS":
        connections = [
            entry for entry in catalog.within(scope).values() if isinstance(entry, ConnectionEntry)
        ]
        named = ((entry.name.item, entry.connection.type_name) for entry in connections)
        return show_rows({"name": TEXT, "type": TEXT}, named, node)
    relations = [
        entry for entry in catalog.within(scope).values() if isinstance(entry, RelationEntry)
    ]
    match kind:
        case "SOURCES":
            rows: Iterable[Row] = (
                (entry.name.item, _source_type(entry))
                for entry in relations
                if entry.type is ItemType.SOURCE
            )
            return show_rows({"name": TEXT, "type": TEXT}, rows, node)
        case "TABLES":
            return show_rows(
                {"name": TEXT},
                ((entry.name.item,) for entry in relations if entry.type is ItemType.TABLE),
                node,
            )
        case "FUNCTIONS" | "TYPES" | "SEQUENCES":
            rows = (
                (entry.name.item,)
                for entry in catalog.within(scope).values()
                if entry.type.value.upper() == kind.removesuffix("S")
            )
            return show_rows({"name": TEXT}, rows, node)
        case "SINKS":
            rows = (
                (
                    entry.name.item,
                    entry.sink.target.type_name,
                    catalog.cluster_name(entry.cluster_id),
                )
                for entry in catalog.sinks()
                if entry.name.scope == scope and cluster_id in (None, entry.cluster_id)
            )
            return show_rows({"name": TEXT, "type": TEXT, "cluster_name": TEXT}, rows, node)
        case "VIEWS":
            return show_rows(
                {"name": TEXT},
                ((entry.name.item,) for entry in relations if entry.type is ItemType.VIEW),
                node,
            )
        case "MATERIALIZED VIEWS":
            rows = {
                (entry.name.item, catalog.cluster_name(index.cluster_id))
                for entry in relations
                if entry.type is ItemType.VIEW
                for index in catalog.indexes_on(entry.id)
                if cluster_id in (None, index.cluster_id)
            }
            return show_rows({"name": TEXT, "cluster": TEXT}, rows, node)
        case _:
            rows = ((entry.name.item, entry.type.value) for entry in catalog.within(scope).values())
            return show_rows({"name": TEXT, "type": TEXT}, rows, node)


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
        raise UnsupportedSql(f'"{entry.name}" is built in: it has no CREATE statement')
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


def _source_type(entry: RelationEntry) -> str:
    return entry.source.connector.type_name if entry.source is not None else "subsource"


def _scope(within: tuple[str, ...] | None, catalog: PlannerCatalog, session: SessionNames) -> Scope:
    if within is not None and len(within) > 2:
        raise SqlSyntaxError("the name of a schema has at most two parts")
    return catalog.scope(within if within is not None else session.search_path[:1], session)


def _schemas(
    within: tuple[str, ...] | None, catalog: PlannerCatalog, session: SessionNames
) -> Iterable[Row]:
    database = within[0] if within is not None and len(within) == 1 else session.database
    if (within is not None and len(within) > 1) or database not in catalog.databases:
        from reclock.errors import UnknownObject

        raise UnknownObject("database", ".".join(within or (database,)))
    return sorted(
        {(name,) for of, name in catalog.schemas if of in (None, database)}
        | {(name,) for name in SYSTEM_SCHEMAS}
    )


def _indexes(
    within: tuple[str, ...] | None,
    cluster_id: int | None,
    catalog: PlannerCatalog,
    session: SessionNames,
) -> Iterable[Row]:
    if within is not None:
        indexes: Iterable[IndexEntry] = catalog.indexes_on(catalog.resolve(within, session).id)
    else:
        scope = _scope(None, catalog, session)
        indexes = [entry for entry in catalog.indexes() if entry.name.scope == scope]
    for index in indexes:
        if cluster_id not in (None, index.cluster_id):
            continue
        on = catalog.relation(index.on)
        for number, part in enumerate(index.key, 1):
            written = (None, part.sql) if part.position is None else (part.column.name, None)
            cluster_name = catalog.cluster_name(index.cluster_id)
            yield (
                cluster_name,
                on.name.item,
                index.name.item,
                number,
                *written,
                part.column.is_nullable,
            )


def show_rows(
    columns: dict[str, ScalarType],
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
