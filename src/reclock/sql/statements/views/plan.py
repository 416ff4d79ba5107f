"""CREATE: definitions, and the normalised text the catalog keeps of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.index_keys import DEFAULT_SUFFIX, KeyPart
from reclock.algebra.relations import RelationDesc
from reclock.algebra.zones import known_session_zone
from reclock.catalog.objects import Item, ItemType
from reclock.compute.rendering import check_supported
from reclock.errors import (
    SqlSyntaxError,
    SystemObjectProtected,
    UnknownObject,
    UnsupportedSql,
    WrongObjectType,
    quoted_name,
)
from reclock.plan.build import compute
from reclock.plan.properties import unique_key
from reclock.plan.relational import Plan, collections
from reclock.plan.rules import optimize
from reclock.plan.scalars import ColumnRef
from reclock.plan.temporal import check_maintainable
from reclock.sql.catalog.entries import Entry, FunctionEntry, IndexEntry, RelationEntry
from reclock.sql.catalog.lookups import find_object
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import (
    QualifiedName,
    SessionNames,
    cluster_identifier,
    fold,
    identifier,
    parts,
)
from reclock.sql.planning.definitions import chosen_cluster, definition_text, kind_of, skip_existing
from reclock.sql.planning.registry import Skipped, plans, plans_item
from reclock.sql.queries.casts import reject_words_of_time
from reclock.sql.queries.columns import check_columns, check_stored
from reclock.sql.queries.defined_functions import number_names, qualify_names
from reclock.sql.queries.index_keys import included, index_key, index_predicate
from reclock.sql.queries.query import definition_context, plan_query
from reclock.sql.queries.session_views import check_shared, questions
from reclock.sql.queries.views import expand
from reclock.sql.session_zone import planned_in
from reclock.sql.statements.tables.alter_plan import AlterTable
from reclock.sql.statements.tables.unique_indexes import add_unique_index
from reclock.sql.statements.views.replacement import (
    NO_REPLACEMENT,
    DefinitionReplacement,
    catalog_after,
    materialized_in,
    plan_replacement,
)
from reclock.sql.statements.views.syntax import (
    CreateIndexStatement,
    CreateViewStatement,
    RefreshViewStatement,
)
from reclock.sql.syntax.consumption import tracked_copy
from reclock.sql.syntax.index_elements import key_orders

# --- sources ---


# --- views ---


@dataclass(frozen=True, slots=True)
class DefinedView:
    plan: Plan
    desc: RelationDesc
    depends_on: frozenset[GlobalId]
    query: exp.Expr


@plans(CreateViewStatement)
def create_view(
    node: CreateViewStatement, catalog: PlannerCatalog, session: SessionNames
) -> CreateView | Skipped:
    name = catalog.locate(parts(node.this), session)
    old = catalog.within(name.scope).get(name.item)
    is_replaced = bool(node.args.get("replace")) and old is not None
    if old is not None and is_replaced:
        if old.type is not ItemType.VIEW:
            raise WrongObjectType(str(name), "view", kind_of(old))
    else:
        skipped = skip_existing(node, name, ItemType.VIEW, catalog)
        if skipped is not None:
            return skipped
    normal = tracked_copy(node)
    view = define_view(normal, catalog, session)
    replacement = NO_REPLACEMENT
    if old is not None and is_replaced:
        replacement = _replacement(old, view, catalog)
    index = None
    if node.args.get("materialized"):
        _check_maintainable(view.plan, catalog)
        index = default_index(
            name,
            view.desc,
            None,
            chosen_cluster(node, catalog, session),
            catalog,
            [name.item],
            replaced=replacement.dropped,
        )
    for argument in ("exists", "replace", "materialized", "cluster"):
        normal.set(argument, None)
    normal.set("this", name.to_table())
    return CreateView(
        name, definition_text(normal), view.plan, view.desc, view.depends_on, replacement, index
    )


def _replacement(old: Entry, view: DefinedView, catalog: PlannerCatalog) -> DefinitionReplacement:
    """Raises ``DependentObjects`` and others if an object that depends on the old view, or its index,
    cannot follow."""
    new = RelationEntry(
        old.id,
        StorageCollectionId(old.id),
        old.name,
        ItemType.VIEW,
        view.desc,
        view.plan,
        None,
        view.depends_on,
    )
    replacement = plan_replacement(old, new, catalog)
    check_recreated(new, replacement, catalog)
    return replacement


def check_recreated(
    new: RelationEntry | FunctionEntry, replacement: DefinitionReplacement, catalog: PlannerCatalog
) -> None:
    """Raises if an object that depends on the old view or function cannot be planned over the new
    one, or cannot be maintained any more."""
    if replacement.recreated:
        after = catalog_after(new, replacement, catalog)
        for dependent in materialized_in(after, replacement):
            if dependent.query is not None:
                _check_maintainable(dependent.query, after)


def define_view(
    node: CreateViewStatement, catalog: PlannerCatalog, session: SessionNames
) -> DefinedView:
    """The view's plan. The relations that ``node`` names are then qualified in it, and the time zone
    is written in it if the plan depends on one other than UTC."""
    context = definition_context(catalog, session)
    number_names(node)
    with planned_in(_zone_of(node, session)) as zone:
        plan = plan_query(node.args["query"], context).embedded
    reject_words_of_time(node.args["query"])
    node.set("zone", exp.Literal.string(zone.name) if zone.is_asked else None)
    names = [fold(column) for column in node.args.get("columns") or ()]
    if len(names) > len(plan.desc):
        raise SqlSyntaxError("CREATE VIEW specifies more column names than columns")
    names += plan.desc.names[len(names) :]
    check_columns(names, is_view=True)
    plan = optimize(
        compute(plan, [ColumnRef(i, type) for i, type in enumerate(plan.desc.types)], names)
    )
    key = unique_key(plan)
    desc = RelationDesc(plan.desc.columns, tuple(names[i] for i in key) if key else None)
    qualify_names(node, context)
    return DefinedView(plan, desc, frozenset(context.depends_on), node.args["query"])


def _zone_of(node: CreateViewStatement, session: SessionNames) -> str:
    """Raises ``InvalidOption``."""
    written = node.args.get("zone")
    return session.zone if written is None else known_session_zone(written.name)


# --- indexes ---


@plans(CreateIndexStatement)
def create_index(
    node: CreateIndexStatement, catalog: PlannerCatalog, session: SessionNames
) -> CreateIndex | AlterTable | Skipped:
    entry = catalog.resolve(parts(node.args["on"]), session)
    if node.args.get("unique") and entry.query is None:
        return add_unique_index(node, catalog, session)
    if entry.is_system:
        raise SystemObjectProtected(str(entry.name))
    if entry.query is not None:
        _check_maintainable(entry.query, catalog)
    cluster = chosen_cluster(node, catalog, session)
    keys = node.args.get("keys")
    if not keys:
        return default_index(entry.name, entry.desc, entry.id, cluster, catalog)
    key = index_key(keys, entry.desc, entry.name)
    if node.args.get("unique"):
        _check_unique(key, entry)
    include = node.args.get("include") or []
    key += included(include, entry.desc)
    predicate, method = node.args.get("where"), node.args.get("method")
    if predicate is not None:
        index_predicate(predicate, entry.desc, entry.name)
    if method is not None and fold(method) not in _OTHER_METHODS:
        raise UnknownObject("access method", fold(method))
    if node.this is not None:
        name = entry.name.sibling(fold(node.this))
        skipped = skip_existing(node, name, ItemType.INDEX, catalog)
        if skipped is not None:
            return skipped
    else:
        columns = "_".join(part.column.name for part in key)
        name = catalog.free_name(entry.name.sibling(f"{entry.name.item}_{columns}_idx"))
    notices = []
    if predicate is not None:
        notices.append(
            f'index "{name.item}" has all rows of "{entry.name.item}", not only those of WHERE'
        )
    if method is not None:
        notices.append(
            f'index "{name.item}" finds rows by equality: there is no access method "{fold(method)}"'
        )
    orders = node.args.get("orders")
    index = _index(
        name,
        entry.name,
        entry.desc,
        entry.id,
        keys,
        cluster,
        catalog,
        orders,
        include,
        node.args.get("unique"),
    )
    return replace(index, notices=tuple(notices))


def _check_unique(key: Sequence[KeyPart], view: RelationEntry) -> None:
    """Raises ``UnsupportedSql`` for a unique index on a view that might have rows with one key."""
    if _is_unique(key, view):
        return
    known = f"it is known to be unique by {', '.join(view.desc.key)}" if view.desc.key else ""
    raise UnsupportedSql(
        f'view "{view.name.item}" is not known to be unique by this key',
        hint=known or "leave out UNIQUE; REFRESH MATERIALIZED VIEW CONCURRENTLY needs no index",
    )


def _is_unique(key: Sequence[KeyPart], relation: RelationEntry) -> bool:
    """Whether at most one row of the relation has each key, by what is known of its query."""
    names = {part.column.name for part in key if part.position is not None}
    unique = relation.desc.key
    return bool(unique) and names.issuperset(unique or ())


_OTHER_METHODS = frozenset({"brin", "gin", "gist", "spgist"})
"""PostgreSQL's access methods that find rows by more than equality. An index here has their columns
as its key."""


def _check_maintainable(plan: Plan, catalog: PlannerCatalog) -> None:
    """Raises ``UnsupportedSql`` if the rows come from a system relation: these have no changes that
    an index could follow. Or if they depend on the session. Or if no engine can compute them: the
    index would wait for ever."""
    plan = expand(plan, catalog)
    check_shared(plan)
    check_supported(plan)
    check_maintainable(plan)
    for id in sorted(collections(plan), key=str):
        if id.is_system:
            name = catalog.relation(id.source_id).name
            hint = "make a plain view, or SUBSCRIBE to the query"
            raise UnsupportedSql(
                f"an index on a view over the system relation {quoted_name(name)} is not supported",
                hint=hint,
            )


def _index(
    name: QualifiedName,
    on_name: QualifiedName,
    desc: RelationDesc,
    on: GlobalId | None,
    keys: Sequence[exp.Expr],
    cluster_id: int,
    catalog: PlannerCatalog,
    orders: str | None = None,
    include: Sequence[exp.Identifier] = (),
    unique: str | None = None,
) -> CreateIndex:
    check_stored(desc.columns)
    node = CreateIndexStatement(
        this=identifier(name.item),
        unique=unique,
        cluster=cluster_identifier(catalog.cluster_name(cluster_id)),
        on=on_name.to_table(),
        keys=[
            identifier(fold(key)) if isinstance(key, exp.Identifier) else key.copy() for key in keys
        ],
        orders=orders,
        include=[identifier(fold(column)) for column in include] or None,
    )
    return CreateIndex(
        name, definition_text(node), on, on_name, cluster_id, frozenset({on} if on else ())
    )


# --- what all have in common ---


@dataclass(frozen=True, slots=True)
class CreateIndex:
    """``on`` is None if the relation is made by the same statement."""

    name: QualifiedName
    create_sql: str
    on: GlobalId | None
    on_name: QualifiedName
    cluster_id: int
    depends_on: frozenset[GlobalId]
    notices: tuple[str, ...] = ()
    tag: str = "CREATE INDEX"


@dataclass(frozen=True, slots=True)
class CreateView:
    """``replacement`` says what goes when the view comes; ``index`` comes with CREATE MATERIALIZED
    VIEW."""

    name: QualifiedName
    create_sql: str
    plan: Plan
    desc: RelationDesc
    depends_on: frozenset[GlobalId]
    replacement: DefinitionReplacement = NO_REPLACEMENT
    index: CreateIndex | None = None

    @property
    def tag(self) -> str:
        return "CREATE VIEW" if self.index is None else "CREATE MATERIALIZED VIEW"


@plans(RefreshViewStatement)
def refresh_view(
    node: RefreshViewStatement, catalog: PlannerCatalog, session: SessionNames
) -> Skipped:
    """Nothing is to be done. Raises as ``find`` does if the name is not one of a materialized
    view."""
    view = find_object(parts(node.this), "MATERIALIZED VIEW", catalog, session)
    return Skipped(
        "REFRESH MATERIALIZED VIEW",
        f'materialized view "{view.name.item}" is always kept up to date',
    )


def default_index(
    on_name: QualifiedName,
    desc: RelationDesc,
    on: GlobalId | None,
    cluster_id: int,
    catalog: PlannerCatalog,
    also_taken: Iterable[str] = (),
    replaced: Sequence[GlobalId] = (),
) -> CreateIndex:
    """An index by the relation's unique key if it has one, otherwise by all columns. Its name may be
    that of one of the ``replaced`` items."""
    preferred = on_name.sibling(f"{on_name.item}{DEFAULT_SUFFIX}")
    old = catalog.within(preferred.scope).get(preferred.item)
    is_free = old is not None and old.id in replaced
    name = preferred if is_free else catalog.free_name(preferred, also_taken)
    keys = [identifier(column) for column in desc.key or desc.names]
    return _index(name, on_name, desc, on, keys, cluster_id, catalog)


@plans_item(CreateViewStatement)
def view_entry(
    node: CreateViewStatement, item: Item, name: QualifiedName, catalog: PlannerCatalog
) -> RelationEntry:
    view = define_view(node, catalog, SessionNames())
    collection = StorageCollectionId(item.id)
    return RelationEntry(
        item.id,
        collection,
        name,
        item.type,
        view.desc,
        view.plan,
        item.create_sql,
        view.depends_on,
        asks_session=bool(questions(view.plan)),
    )


@plans_item(CreateIndexStatement)
def index_entry(
    node: CreateIndexStatement, item: Item, name: QualifiedName, catalog: PlannerCatalog
) -> IndexEntry:
    on = catalog.resolve(parts(node.args["on"]), SessionNames())
    keys = node.args["keys"]
    key = index_key(keys, on.desc, on.name, key_orders(node, len(keys)))
    cluster_id = catalog.cluster_id(fold(node.args["cluster"]))
    entry = IndexEntry(item.id, name, on.id, key, cluster_id, item.create_sql or "")
    return replace(
        entry,
        included=included(node.args.get("include") or (), on.desc),
        is_unique=node.args.get("unique") is not None and _is_unique(key, on),
    )
