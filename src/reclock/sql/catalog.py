"""What planning sees of the catalog: relations and indexes by name and id, schemas, clusters."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId
from reclock.algebra.index_keys import KeyPart
from reclock.algebra.relations import RelationDesc
from reclock.catalog.objects import ItemType
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.consensus.frontiers.claims import GroupFrontier
from reclock.definitions.connections import Connection
from reclock.errors import DuplicateObject, ObjectQuarantined, SystemObjectProtected, UnknownObject, UnknownRelation
from reclock.plan.relational import Plan
from reclock.sql.names import SEARCHED_SYSTEM_SCHEMAS, SYSTEM_SCHEMAS, QualifiedName, SessionNames
from reclock.sql.statements import SinkDefinition, SourceDefinition, TableDefinition
from reclock.sql.temporary import TEMPORARY_SCHEMA, TEMPORARY_SCHEMAS


@dataclass(frozen=True, slots=True)
class PlannerSettings:
    """What the environment's settings say to planning."""

    replica_sizes: tuple[str, ...] = ()
    experimental_mode: bool = True


Scope = tuple[str | None, str]
"""Database and schema; no database for a system schema."""


@dataclass(frozen=True, slots=True)
class RelationEntry:
    """Something a query can read. ``query`` is a view's definition, in which other views are still ``Get``s."""

    id: GlobalId
    collection: StorageCollectionId
    name: QualifiedName
    type: ItemType
    desc: RelationDesc
    query: Plan | None = None
    create_sql: str | None = None
    depends_on: frozenset[GlobalId] = frozenset()
    source: SourceDefinition | None = None
    table: TableDefinition | None = None
    builtin_view: str | None = None
    """The query of a view that the program defines."""

    @property
    def is_system(self) -> bool:
        return self.name.database is None and not self.is_temporary

    @property
    def is_temporary(self) -> bool:
        return self.name.is_temporary


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """An index, and the relation it is on."""

    id: GlobalId
    name: QualifiedName
    on: GlobalId
    key: tuple[KeyPart, ...]
    cluster_id: int
    create_sql: str
    type: ItemType = ItemType.INDEX

    @property
    def depends_on(self) -> frozenset[GlobalId]:
        return frozenset({self.on})

    @property
    def is_system(self) -> bool:
        return self.name.database is None


@dataclass(frozen=True, slots=True)
class SecretEntry:
    """A secret; ``reference`` is where its value is kept."""

    id: GlobalId
    name: QualifiedName
    reference: str
    create_sql: str
    type: ItemType = ItemType.SECRET
    depends_on: frozenset[GlobalId] = frozenset()
    is_system: bool = False


@dataclass(frozen=True, slots=True)
class ConnectionEntry:
    """How an upstream is reached; it stands on its secrets."""

    id: GlobalId
    name: QualifiedName
    connection: Connection
    create_sql: str
    depends_on: frozenset[GlobalId]
    type: ItemType = ItemType.CONNECTION
    is_system: bool = False


@dataclass(frozen=True, slots=True)
class SinkEntry:
    """A sink of the relation ``on``."""

    id: GlobalId
    name: QualifiedName
    on: GlobalId
    cluster_id: int
    sink: SinkDefinition
    create_sql: str
    type: ItemType = ItemType.SINK

    @property
    def depends_on(self) -> frozenset[GlobalId]:
        return frozenset({self.on}) | self.sink.uses

    @property
    def is_system(self) -> bool:
        return self.name.database is None


@dataclass(frozen=True, slots=True)
class QuarantinedEntry:
    """An item whose definition cannot be planned, and why; it stands on what is quarantined itself, if that is why."""

    id: GlobalId
    name: QualifiedName
    type: ItemType
    create_sql: str | None
    reason: str
    depends_on: frozenset[GlobalId] = frozenset()
    is_system: bool = False

    @property
    def refusal(self) -> ObjectQuarantined:
        """The error of a statement that needs the item."""
        return ObjectQuarantined(str(self.name), self.id, reason=self.reason)


Entry = RelationEntry | IndexEntry | SecretEntry | ConnectionEntry | SinkEntry | QuarantinedEntry


@dataclass(slots=True)
class PlannerCatalog:
    """One moment of the catalog. It is filled once, then only read."""

    clusters: Mapping[str, int] = field(default_factory=dict)
    databases: frozenset[str] = frozenset()
    schemas: frozenset[Scope] = frozenset()
    snapshot: CatalogSnapshot | None = None
    settings: PlannerSettings = field(default_factory=PlannerSettings)
    planned: dict[Hashable, Any] = field(default_factory=dict, compare=False)
    """For whoever plans statements at this moment: what it has planned before."""
    _builtin_plans: dict[GlobalId, Plan] = field(default_factory=dict)
    _entries: dict[GlobalId, Entry] = field(default_factory=dict)
    _names: dict[Scope, dict[str, Entry]] = field(default_factory=dict)

    @classmethod
    def from_snapshot(
        cls,
        snapshot: CatalogSnapshot,
        builtins: Sequence[RelationEntry] = (),
        previous: Self | None = None,
        settings: PlannerSettings | None = None,
    ) -> Self:
        """The catalog of ``snapshot``. An item is planned again only if it, or what it stands on, changed since ``previous``."""
        from reclock.sql.planner.items import fill  # the planner reads this module

        if previous is not None and previous.snapshot is snapshot:
            return previous
        databases = {database.id: database.name for database in snapshot.databases.values()}
        schemas = {schema.id: (databases.get(schema.database_id or 0), schema.name) for schema in snapshot.schemas.values()}
        catalog = cls(
            clusters={cluster.name: cluster.id for cluster in snapshot.clusters.values()},
            databases=frozenset(databases.values()),
            schemas=frozenset(schemas.values()) | {(None, name) for name in SYSTEM_SCHEMAS},
            snapshot=snapshot,
            settings=settings or PlannerSettings(),
            _builtin_plans=previous._builtin_plans if previous is not None else {},
        )
        for builtin in builtins:
            catalog.add(builtin)
        fill(catalog, snapshot, schemas, previous)
        return catalog

    def add(self, entry: Entry) -> None:
        """For filling. Raises ``DuplicateObject``."""
        names = self._names.setdefault(entry.name.scope, {})
        if entry.name.item in names:
            raise DuplicateObject(entry.type, str(entry.name))
        names[entry.name.item] = entry
        self._entries[entry.id] = entry

    # --- by id ---

    def entry(self, id: GlobalId) -> Entry | None:
        return self._entries.get(id)

    def relation(self, id: GlobalId) -> RelationEntry:
        """Raises ``UnknownRelation`` for an id that is no relation's, ``ObjectQuarantined``."""
        entry = self._entries.get(id)
        if isinstance(entry, QuarantinedEntry):
            raise entry.refusal
        if not isinstance(entry, RelationEntry):
            raise UnknownRelation(id)
        return entry

    def builtin_plan(self, entry: RelationEntry) -> Plan:
        """What a builtin view is made of, planned when it is first asked for: it stands on system relations alone."""
        from reclock.sql.planner.query import builtin_plan  # the planner reads this module

        plan = self._builtin_plans.get(entry.id)
        if plan is None:
            plan = self._builtin_plans[entry.id] = builtin_plan(entry, self)
        return plan

    def entries(self) -> Iterable[Entry]:
        return self._entries.values()

    def relations(self) -> Iterator[RelationEntry]:
        return (entry for entry in self._entries.values() if isinstance(entry, RelationEntry))

    def indexes(self, on: GlobalId | None = None) -> Iterator[IndexEntry]:
        """All indexes, or those on one relation."""
        return (entry for entry in self._entries.values() if isinstance(entry, IndexEntry) and on in (None, entry.on))

    def in_cluster(self, cluster_id: int) -> list[IndexEntry | SinkEntry]:
        """The indexes and the sinks of a cluster, each in the order of ids."""
        kept: list[IndexEntry | SinkEntry] = [*self.indexes(), *self.sinks()]
        return [entry for entry in kept if entry.cluster_id == cluster_id]

    def sinks(self) -> Iterator[SinkEntry]:
        return (entry for entry in self._entries.values() if isinstance(entry, SinkEntry))

    def quarantined(self) -> list[QuarantinedEntry]:
        """The items whose definitions cannot be planned, in the order of their ids."""
        return [entry for entry in self._entries.values() if isinstance(entry, QuarantinedEntry)]

    def dependents(self, id: GlobalId) -> list[Entry]:
        """The items that directly stand on ``id``, in the order of their ids."""
        return [entry for entry in self._entries.values() if id in entry.depends_on]

    def progress_of(self, source_id: GlobalId) -> RelationEntry | None:
        for entry in self.dependents(source_id):
            if isinstance(entry, RelationEntry) and entry.type is ItemType.SOURCE_PROGRESS:
                return entry
        return None

    def is_subsource(self, id: GlobalId) -> bool:
        """Whether the item is a relation that a source fills beside others, and so a part of that source."""
        entry = self._entries.get(id)
        return isinstance(entry, RelationEntry) and bool(entry.collection.output)

    def by_object(self, groups: Mapping[str, GroupFrontier]) -> dict[GlobalId, GroupFrontier]:
        """How far each object is that has a collection, or, a sink, a frontier alone: as far as its group, if that is there."""
        found = {
            entry.id: entry.collection.group if isinstance(entry, RelationEntry) else entry.id for entry in self._entries.values()
        }
        return {id: groups[group] for id, group in found.items() if group in groups}

    def kept_in(self, collection: StorageCollectionId) -> Entry | None:
        """The item whose rows are kept in ``collection``."""
        if not collection.output and collection.collection is not CollectionType.REMAPPING:
            return self._entries.get(collection.source_id)
        return next((entry for entry in self.relations() if entry.collection == collection), None)

    def within(self, scope: Scope) -> Mapping[str, Entry]:
        """The items of one schema by name."""
        return self._names.get(scope, {})

    # --- by name ---

    def find(self, parts: Sequence[str], session: SessionNames) -> Entry | None:
        """What a written name means: qualified, in its schema; else in the first schema in reach that has it."""
        for scope in self._scopes(parts, session):
            entry = self.within(scope).get(parts[-1])
            if entry is not None:
                return entry
        return None

    def resolve(self, parts: Sequence[str], session: SessionNames) -> RelationEntry:
        """The relation of that name. Raises ``UnknownRelation``, with the nearest names as a hint, ``ObjectQuarantined``."""
        entry = self.find(parts, session)
        if isinstance(entry, QuarantinedEntry):
            raise entry.refusal
        if isinstance(entry, RelationEntry):
            return entry
        raise UnknownRelation(".".join(parts), hint=self._suggestion(parts, session))

    def locate(self, parts: Sequence[str], session: SessionNames) -> QualifiedName:
        """The full name of something to be made. Raises if its schema is not there or is a system schema."""
        *qualifiers, item = parts
        database = qualifiers[0] if len(qualifiers) == 2 else session.database
        schema = qualifiers[-1] if qualifiers else next(iter(session.search_path), "")
        if schema in SYSTEM_SCHEMAS:
            raise SystemObjectProtected(schema)
        if schema in TEMPORARY_SCHEMAS:
            return QualifiedName(None, TEMPORARY_SCHEMA, item)
        if database not in self.databases:
            raise UnknownObject("database", database, hint=nearest(database, self.databases))
        if (database, schema) not in self.schemas:
            raise UnknownObject("schema", schema, hint=nearest(schema, (name for of, name in self.schemas if of == database)))
        return QualifiedName(database, schema, item)

    def scope(self, parts: Sequence[str], session: SessionNames) -> Scope:
        """The schema of a written name of one or two parts. Raises ``UnknownObject``."""
        for scope in ((None, parts[-1]), (parts[0] if len(parts) == 2 else session.database, parts[-1])):
            if scope in self.schemas:
                return scope
        raise UnknownObject("schema", ".".join(parts), hint=nearest(parts[-1], {name for _, name in self.schemas}))

    def cluster_id(self, name: str) -> int:
        if name not in self.clusters:
            raise UnknownObject("cluster", name, hint=nearest(name, self.clusters))
        return self.clusters[name]

    def cluster_name(self, id: int) -> str:
        return next(name for name, cluster_id in self.clusters.items() if cluster_id == id)

    def free_name(self, wanted: QualifiedName, also_taken: Iterable[str] = ()) -> QualifiedName:
        """``wanted``, or with the first of 1, 2, … behind it that makes it free."""
        taken = self.within(wanted.scope).keys() | set(also_taken)
        name, number = wanted.item, 0
        while name in taken:
            number += 1
            name = f"{wanted.item}{number}"
        return wanted.sibling(name)

    def _scopes(self, parts: Sequence[str], session: SessionNames) -> list[Scope]:
        *qualifiers, _ = parts
        if not qualifiers:
            return [
                *((None, name) for name in (*SEARCHED_SYSTEM_SCHEMAS, TEMPORARY_SCHEMA)),
                *((session.database, name) for name in session.search_path),
            ]
        if qualifiers[-1] in SYSTEM_SCHEMAS:
            return [(None, qualifiers[-1])]
        if qualifiers[-1] in TEMPORARY_SCHEMAS:
            return [(None, TEMPORARY_SCHEMA)]
        return [(qualifiers[0] if len(qualifiers) == 2 else session.database, qualifiers[-1])]

    def _suggestion(self, parts: Sequence[str], session: SessionNames) -> str | None:
        scopes = self._scopes(parts, session)
        if len(parts) > 1 and scopes[0] not in self.schemas:
            written = ".".join(parts[:-1])
            return f'there is no schema "{written}"'
        found = self.find(parts, session)
        if found is not None:
            return f'"{parts[-1]}" is of type {found.type.value}, which a query cannot read'
        return nearest(
            parts[-1], [name for scope in scopes for name, entry in self.within(scope).items() if isinstance(entry, RelationEntry)]
        )


def nearest(name: str, among: Iterable[str]) -> str | None:
    """A hint that names what ``name`` may have been meant to be."""
    near = difflib.get_close_matches(name, list(among), n=3, cutoff=0.6)
    return "did you mean " + " or ".join(f'"{candidate}"' for candidate in near) + "?" if near else None
