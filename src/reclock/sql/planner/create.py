"""CREATE: definitions, and the normalised text the catalog keeps of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from sqlglot import exp

from reclock.algebra.ids import GlobalId
from reclock.algebra.index_keys import DEFAULT_SUFFIX
from reclock.algebra.relations import RelationDesc
from reclock.catalog.objects import ItemType
from reclock.compute.rendering import check_supported
from reclock.definitions.sources import ObjectsConnector
from reclock.errors import (
    DependentObjects,
    DuplicateObject,
    InvalidOption,
    SqlSyntaxError,
    SystemObjectProtected,
    UnsupportedSql,
    WrongObjectType,
)
from reclock.plan.build import compute
from reclock.plan.properties import unique_key
from reclock.plan.relational import Plan, collections
from reclock.plan.rules import optimize
from reclock.plan.scalars import ColumnRef
from reclock.sql import nodes
from reclock.sql.catalog import Entry, PlannerCatalog
from reclock.sql.consumption import tracked_copy
from reclock.sql.dialect import to_sql
from reclock.sql.names import QualifiedName, SessionNames, cluster_identifier, fold, identifier, parts
from reclock.sql.parse import parse_one
from reclock.sql.planner.columns import check_columns, check_stored
from reclock.sql.planner.drop import closure
from reclock.sql.planner.guests import check_guest
from reclock.sql.planner.index_keys import index_key
from reclock.sql.planner.query import definition_context, plan_query
from reclock.sql.planner.sources import define_source, upstream_name
from reclock.sql.planner.views import expand
from reclock.sql.statements import CreateIndex, CreateSource, CreateSubsource, CreateView, Skipped, SourceDefinition

_KINDS = {ItemType.SOURCE_PROGRESS: "progress relation"}


def kind_of(entry: Entry) -> str:
    return _KINDS.get(entry.type, entry.type.value)


# --- sources ---


def create_source(node: nodes.CreateSourceStatement, catalog: PlannerCatalog, session: SessionNames) -> CreateSource | Skipped:
    name = catalog.locate(parts(node.this), session)
    skipped = skip_existing(node, name, ItemType.SOURCE, catalog)
    if skipped is not None:
        return skipped
    normal = tracked_copy(node)
    source = define_source(normal, catalog, session)
    check_guest(source, catalog)
    progress = node.args.get("progress")
    if progress is not None:
        progress_name = catalog.locate(parts(progress), session) if len(parts(progress)) > 1 else name.sibling(fold(progress.this))
        if progress_name.scope != name.scope:
            raise InvalidOption(
                "a progress relation belongs to the schema of its source", hint=f"write {identifier(progress_name.item).sql()}"
            )
        if progress_name == name:
            raise DuplicateObject("source", str(name))
        _check_free(progress_name, catalog)
    else:
        progress_name = catalog.free_name(name.sibling(f"{name.item}_progress"), also_taken=[name.item])
    index = None
    if node.args.get("materialized"):
        taken = [name.item, progress_name.item]
        index = _default_index(name, source.desc, None, chosen_cluster(node, catalog, session), catalog, taken)
    for argument in ("exists", "materialized", "cluster"):
        normal.set(argument, None)
    normal.set("this", name.to_table())
    normal.set("progress", progress_name.to_table())
    if isinstance(source.connector, ObjectsConnector):
        normal.args["connector"].set("pattern", exp.Literal.string(source.connector.pattern))
    subsources = _subsources(node, name, source, catalog, session)
    if source.subsources:
        normal.set("all_tables", None)
        described = {upstream_name(table): table for table in normal.args.get("tables") or ()}
        tables = []
        for table, subsource in zip(source.subsources, subsources, strict=True):
            part = described.get(table) or nodes.SubsourceOf(this=identifier(table))
            is_default = subsource.name == name.sibling(table.rpartition(".")[2])
            part.set("alias", None if is_default else subsource.name.to_table())
            tables.append(part)
        normal.set("tables", tables)
    return CreateSource(name, stored(normal), source, progress_name, index, subsources, source.depends_on)


def create_subsource(node: nodes.CreateSubsourceStatement, catalog: PlannerCatalog, session: SessionNames) -> NoReturn:
    """The text of a subsource is for reading alone."""
    raise UnsupportedSql("a subsource is made by its source", hint="CREATE SOURCE … FOR TABLES (…)")


def _subsources(
    node: nodes.CreateSourceStatement,
    source_name: QualifiedName,
    source: SourceDefinition,
    catalog: PlannerCatalog,
    session: SessionNames,
) -> tuple[CreateSubsource, ...]:
    """Each is called as its table is upstream, unless the statement says otherwise."""
    aliases = {upstream_name(table): table.args.get("alias") for table in node.args.get("tables") or ()}
    created: list[CreateSubsource] = []
    for table, desc in source.subsources.items():
        alias = aliases.get(table)
        if alias is None:
            name = source_name.sibling(table.rpartition(".")[2])
        else:
            name = catalog.locate(parts(alias), session) if len(parts(alias)) > 1 else source_name.sibling(fold(alias.this))
        if name == source_name or name in [other.name for other in created]:
            raise DuplicateObject("source", str(name))
        _check_free(name, catalog)
        text = nodes.CreateSubsourceStatement(this=name.to_table(), source=source_name.to_table(), table=exp.Literal.string(table))
        created.append(CreateSubsource(name, stored(text), desc))
    return tuple(created)


# --- views ---


@dataclass(frozen=True, slots=True)
class DefinedView:
    plan: Plan
    desc: RelationDesc
    depends_on: frozenset[GlobalId]
    query: exp.Expr


def create_view(node: nodes.CreateViewStatement, catalog: PlannerCatalog, session: SessionNames) -> CreateView | Skipped:
    name = catalog.locate(parts(node.this), session)
    replaces: tuple[GlobalId, ...] = ()
    old = catalog.within(name.scope).get(name.item)
    if node.args.get("replace") and old is not None:
        if old.type is not ItemType.VIEW:
            raise WrongObjectType(str(name), "view", kind_of(old))
        ids, dependents = closure({old.id}, catalog)
        if dependents:
            raise DependentObjects("view", str(name), dependents)
        replaces = ids
    else:
        skipped = skip_existing(node, name, ItemType.VIEW, catalog)
        if skipped is not None:
            return skipped
    normal = tracked_copy(node)
    view = define_view(normal, catalog, session)
    if set(replaces) & view.depends_on:
        raise DependentObjects("view", str(name), [str(name)])
    index = None
    if node.args.get("materialized"):
        _check_maintainable(view.plan, catalog)
        index = _default_index(name, view.desc, None, chosen_cluster(node, catalog, session), catalog, [name.item], gone=replaces)
    for argument in ("exists", "replace", "materialized", "cluster"):
        normal.set(argument, None)
    normal.set("this", name.to_table())
    return CreateView(name, stored(normal), view.plan, view.desc, view.depends_on, replaces, index)


def define_view(node: nodes.CreateViewStatement, catalog: PlannerCatalog, session: SessionNames) -> DefinedView:
    """The view's plan. The relations that ``node`` names are then qualified in it."""
    context = definition_context(catalog, session)
    plan = plan_query(node.args["query"], context).embedded
    names = [fold(column) for column in node.args.get("columns") or ()]
    if len(names) > len(plan.desc):
        raise SqlSyntaxError(f"CREATE VIEW specifies {len(names)} column names, but the query has {len(plan.desc)} columns")
    names += plan.desc.names[len(names) :]
    check_columns(names, has_time=True)
    plan = optimize(compute(plan, [ColumnRef(i, type) for i, type in enumerate(plan.desc.types)], names))
    key = unique_key(plan)
    desc = RelationDesc(plan.desc.columns, tuple(names[i] for i in key) if key else None)
    for table, qualified in context.named:
        full = qualified.to_table()
        for part in ("this", "db", "catalog"):
            table.set(part, full.args.get(part))
    return DefinedView(plan, desc, frozenset(context.depends_on), node.args["query"])


# --- indexes ---


def create_index(node: nodes.CreateIndexStatement, catalog: PlannerCatalog, session: SessionNames) -> CreateIndex | Skipped:
    entry = catalog.resolve(parts(node.args["on"]), session)
    if entry.is_system:
        raise SystemObjectProtected(str(entry.name))
    if entry.query is not None:
        _check_maintainable(entry.query, catalog)
    cluster = chosen_cluster(node, catalog, session)
    keys = node.args.get("keys")
    if not keys:
        return _default_index(entry.name, entry.desc, entry.id, cluster, catalog)
    key = index_key(keys, entry.desc, entry.name)
    if node.this is not None:
        name = entry.name.sibling(fold(node.this))
        skipped = skip_existing(node, name, ItemType.INDEX, catalog)
        if skipped is not None:
            return skipped
    else:
        columns = "_".join(part.column.name for part in key)
        name = catalog.free_name(entry.name.sibling(f"{entry.name.item}_{columns}_idx"))
    return _index(name, entry.name, entry.desc, entry.id, keys, cluster, catalog)


def _check_maintainable(plan: Plan, catalog: PlannerCatalog) -> None:
    """Raises ``UnsupportedSql`` if the rows come from a system relation: these have no changes that an index could follow. Or if
    no engine can compute them: the index would wait for ever."""
    plan = expand(plan, catalog)
    check_supported(plan)
    for id in sorted(collections(plan), key=str):
        if id.is_system:
            name = catalog.relation(id.source_id).name
            hint = "make a plain view, or SUBSCRIBE to the query"
            raise UnsupportedSql(f'an index on a view over the system relation "{name}" is not supported', hint=hint)


def _default_index(
    on_name: QualifiedName,
    desc: RelationDesc,
    on: GlobalId | None,
    cluster_id: int,
    catalog: PlannerCatalog,
    also_taken: Iterable[str] = (),
    gone: Sequence[GlobalId] = (),
) -> CreateIndex:
    """By the relation's unique key if it has one, else by all columns."""
    wanted = on_name.sibling(f"{on_name.item}{DEFAULT_SUFFIX}")
    old = catalog.within(wanted.scope).get(wanted.item)
    name = wanted if old is not None and old.id in gone else catalog.free_name(wanted, also_taken)
    keys = [identifier(column) for column in desc.key or desc.names]
    return _index(name, on_name, desc, on, keys, cluster_id, catalog)


def _index(
    name: QualifiedName,
    on_name: QualifiedName,
    desc: RelationDesc,
    on: GlobalId | None,
    keys: Sequence[exp.Expr],
    cluster_id: int,
    catalog: PlannerCatalog,
) -> CreateIndex:
    check_stored(desc.columns)
    node = nodes.CreateIndexStatement(
        this=identifier(name.item),
        cluster=cluster_identifier(catalog.cluster_name(cluster_id)),
        on=on_name.to_table(),
        keys=[identifier(fold(key)) if isinstance(key, exp.Identifier) else key.copy() for key in keys],
    )
    return CreateIndex(name, stored(node), on, on_name, cluster_id, frozenset({on} if on else ()))


# --- what all have in common ---


def chosen_cluster(node: exp.Expr, catalog: PlannerCatalog, session: SessionNames) -> int:
    """The cluster of IN CLUSTER, or the active one. Raises ``UnknownObject``."""
    cluster = node.args.get("cluster")
    return catalog.cluster_id(fold(cluster) if cluster is not None else session.cluster)


def skip_existing(node: nodes.Statement, name: QualifiedName, type: ItemType, catalog: PlannerCatalog) -> Skipped | None:
    """Whether IF NOT EXISTS leaves nothing to do. Raises ``DuplicateObject`` if the name is taken otherwise."""
    old = catalog.within(name.scope).get(name.item)
    if old is not None and node.args.get("exists") and old.type is type:
        return Skipped(f"CREATE {type.value.upper()}", f'{kind_of(old)} "{name}" already exists, skipping')
    _check_free(name, catalog)
    return None


def _check_free(name: QualifiedName, catalog: PlannerCatalog) -> None:
    old = catalog.within(name.scope).get(name.item)
    if old is not None:
        raise DuplicateObject(kind_of(old), str(name))


def stored(node: nodes.Statement) -> str:
    """The text of a definition, which reads as what was planned."""
    text = to_sql(node)
    try:
        is_same = parse_one(text) == node
    except SqlSyntaxError:
        is_same = False
    if not is_same:
        raise UnsupportedSql("this definition cannot be kept as text", detail=text, hint="write it in a plainer form")
    return text
