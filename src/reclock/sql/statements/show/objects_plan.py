"""SHOW SOURCES, SHOW VIEWS, …: the objects of a kind, with the columns that tell of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reclock.algebra.relations import BIGINT, BOOLEAN, TEXT, ScalarType
from reclock.catalog.objects import MATERIALIZED_VIEW, ItemType
from reclock.errors import NoSchemaSelected, SqlSyntaxError, UnknownObject
from reclock.sql.catalog.entries import ConnectionEntry, Entry, RelationEntry, Scope
from reclock.sql.catalog.lookups import snapshot_of
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SYSTEM_SCHEMAS, SessionNames, fold, parts
from reclock.sql.planning.registry import plans, require_experimental_mode
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.show.plan import Row, show_rows
from reclock.sql.statements.show.syntax import ShowObjectsStatement

_EXPERIMENTAL = ("CLUSTERS", "CLUSTER REPLICAS")


@plans(ShowObjectsStatement, returns_rows=True)
def show_objects(
    node: ShowObjectsStatement, catalog: PlannerCatalog, session: SessionNames
) -> Select:
    kind: str = node.args["kind"]
    if kind in _EXPERIMENTAL:
        require_experimental_mode(f"SHOW {kind}", catalog)
    within, cluster = node.args.get("within"), node.args.get("cluster")
    place = _Place(
        parts(within) if within is not None else None,
        catalog.cluster_id(fold(cluster)) if cluster is not None else None,
        catalog,
        session,
    )
    listing = _LISTINGS[kind]
    for clause, name in (("IN CLUSTER", cluster), ("FROM", within)):
        if name is not None and clause not in listing.clauses:
            raise SqlSyntaxError(f"SHOW {kind} takes no {clause}")
    return show_rows(listing.columns, listing.rows(place), node, ordered_by=listing.ordered_by)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where objects are listed: ``within`` is the name of FROM, ``cluster_id`` of IN CLUSTER."""

    within: tuple[str, ...] | None
    cluster_id: int | None
    catalog: PlannerCatalog
    session: SessionNames

    @property
    def scope(self) -> Scope:
        """The schema of FROM, or the first one of the search path that exists. Raises
        ``NoSchemaSelected``."""
        if self.within is None:
            session = self.session
            existing = self.catalog.existing_schemas(session.search_path, session.database)
            if not existing:
                raise NoSchemaSelected("show")
            return self.catalog.scope(existing[:1], session)
        if len(self.within) > 2:
            raise SqlSyntaxError("the name of a schema has at most two parts")
        return self.catalog.scope(self.within, self.session)

    def entries(self) -> Collection[Entry]:
        return self.catalog.within(self.scope).values()

    def relations(self, type: ItemType) -> Iterator[RelationEntry]:
        for entry in self.entries():
            if isinstance(entry, RelationEntry) and entry.type is type:
                yield entry

    def has_cluster(self, cluster_id: int) -> bool:
        return self.cluster_id in (None, cluster_id)


@dataclass(frozen=True, slots=True)
class _Listing:
    """The columns and rows of a kind of object. ``clauses`` are those that its SHOW takes."""

    columns: Mapping[str, ScalarType]
    rows: Callable[[_Place], Iterable[Row]]
    clauses: tuple[str, ...] = ("FROM",)
    ordered_by: tuple[int, ...] = (0,)


def _items(type: ItemType) -> _Listing:
    def rows(place: _Place) -> Iterator[Row]:
        return ((entry.name.item,) for entry in place.entries() if entry.type is type)

    return _Listing({"name": TEXT}, rows)


def _relations(type: ItemType) -> _Listing:
    return _Listing(
        {"name": TEXT}, lambda place: ((entry.name.item,) for entry in place.relations(type))
    )


def _roles(place: _Place) -> Iterator[Row]:
    roles = place.catalog.snapshot.roles.values() if place.catalog.snapshot is not None else ()
    return ((role.name,) for role in roles if not role.id.startswith("s"))


def _replicas(place: _Place) -> Iterator[Row]:
    for replica in snapshot_of(place.catalog).cluster_replicas.values():
        yield place.catalog.cluster_name(replica.cluster_id), replica.name, replica.size


def _schemas(place: _Place) -> Iterable[Row]:
    within, catalog = place.within, place.catalog
    database = within[0] if within is not None and len(within) == 1 else place.session.database
    if (within is not None and len(within) > 1) or database not in catalog.databases:
        raise UnknownObject("database", ".".join(within or (database,)))
    return sorted(
        {(name,) for of, name in catalog.schemas if of in (None, database)}
        | {(name,) for name in SYSTEM_SCHEMAS}
    )


def _connections(place: _Place) -> Iterator[Row]:
    for entry in place.entries():
        if isinstance(entry, ConnectionEntry):
            yield entry.name.item, entry.connection.type_name


def _sources(place: _Place) -> Iterator[Row]:
    for entry in place.relations(ItemType.SOURCE):
        source = entry.source
        yield entry.name.item, "subsource" if source is None else source.connector.type_name


def _sinks(place: _Place) -> Iterator[Row]:
    scope, catalog = place.scope, place.catalog
    for entry in catalog.sinks():
        if entry.name.scope == scope and place.has_cluster(entry.cluster_id):
            cluster_name = catalog.cluster_name(entry.cluster_id)
            yield entry.name.item, entry.sink.target.type_name, cluster_name


def _materialized_views(place: _Place) -> Iterable[Row]:
    return {
        (entry.name.item, place.catalog.cluster_name(index.cluster_id))
        for entry in place.relations(ItemType.VIEW)
        for index in place.catalog.indexes_on(entry.id)
        if place.has_cluster(index.cluster_id)
    }


def _indexes(place: _Place) -> Iterator[Row]:
    """The columns of each index of the relation that FROM names, or of all in the schema."""
    catalog = place.catalog
    if place.within is not None:
        indexes = catalog.indexes_on(catalog.resolve(place.within, place.session).id)
    else:
        indexes = [entry for entry in catalog.indexes() if entry.name.scope == place.scope]
    for index in indexes:
        if place.has_cluster(index.cluster_id):
            cluster_name, on = catalog.cluster_name(index.cluster_id), catalog.relation(index.on)
            for number, part in enumerate(index.key, 1):
                key: tuple[Any, Any] = (
                    (None, part.sql) if part.position is None else (part.column.name, None)
                )
                names = (cluster_name, on.name.item, index.name.item)
                yield *names, number, *key, part.column.is_nullable


def _objects(place: _Place) -> Iterator[Row]:
    """All objects, each with its type as ``mz_objects`` names it."""
    for entry in place.entries():
        is_materialized = entry.type is ItemType.VIEW and place.catalog.indexes_on(entry.id)
        yield entry.name.item, MATERIALIZED_VIEW if is_materialized else entry.type.value


_NAME_AND_TYPE = {"name": TEXT, "type": TEXT}

_LISTINGS: Mapping[str, _Listing] = {
    "DATABASES": _Listing(
        {"name": TEXT}, lambda place: ((name,) for name in place.catalog.databases), ()
    ),
    "CLUSTERS": _Listing(
        {"name": TEXT}, lambda place: ((name,) for name in place.catalog.clusters), ()
    ),
    "CLUSTER REPLICAS": _Listing(
        {"cluster": TEXT, "replica": TEXT, "size": TEXT}, _replicas, (), ordered_by=(0, 1)
    ),
    "ROLES": _Listing({"name": TEXT}, _roles, ()),
    "SCHEMAS": _Listing({"name": TEXT}, _schemas),
    "SECRETS": _items(ItemType.SECRET),
    "FUNCTIONS": _items(ItemType.FUNCTION),
    "TYPES": _items(ItemType.TYPE),
    "SEQUENCES": _items(ItemType.SEQUENCE),
    "TABLES": _relations(ItemType.TABLE),
    "VIEWS": _relations(ItemType.VIEW),
    "CONNECTIONS": _Listing(_NAME_AND_TYPE, _connections),
    "SOURCES": _Listing(_NAME_AND_TYPE, _sources),
    "SINKS": _Listing({**_NAME_AND_TYPE, "cluster_name": TEXT}, _sinks, ("FROM", "IN CLUSTER")),
    "MATERIALIZED VIEWS": _Listing(
        {"name": TEXT, "cluster": TEXT}, _materialized_views, ("FROM", "IN CLUSTER")
    ),
    "INDEXES": _Listing(
        {
            "cluster_name": TEXT,
            "on_name": TEXT,
            "key_name": TEXT,
            "seq_in_index": BIGINT,
            "column_name": TEXT,
            "expression": TEXT,
            "nullable": BOOLEAN,
        },
        _indexes,
        ("FROM", "IN CLUSTER"),
        ordered_by=(0, 1, 2, 3),
    ),
    "OBJECTS": _Listing(_NAME_AND_TYPE, _objects),
}
