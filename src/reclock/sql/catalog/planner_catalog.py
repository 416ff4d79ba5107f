"""One moment of the catalog, as planning reads it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId
from reclock.catalog.objects import ItemType
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.consensus.frontiers.claims import GroupFrontier
from reclock.errors import (
    DuplicateObject,
    NoSchemaSelected,
    SystemObjectProtected,
    UnknownObject,
    UnknownRelation,
    UnsupportedSql,
    quoted_name,
)
from reclock.plan.relational import Plan
from reclock.sql.catalog.entries import (
    Entry,
    FunctionEntry,
    IndexEntry,
    PlannerSettings,
    QuarantinedEntry,
    RelationEntry,
    Scope,
    SequenceEntry,
    SinkEntry,
)
from reclock.sql.names import (
    SEARCHED_SYSTEM_SCHEMAS,
    SYSTEM_SCHEMAS,
    QualifiedName,
    SessionNames,
    nearest,
    parts,
)
from reclock.sql.syntax.temporary import TEMPORARY_SCHEMA, TEMPORARY_SCHEMAS

_HAS_DEFINITION = (ItemType.INDEX, ItemType.SINK, ItemType.CONNECTION)
"""The types of items without columns whose definition SHOW CREATE prints."""


@dataclass(frozen=True, slots=True)
class RelationPlan:
    """A relation's rows in terms of stored collections, and the entries that say so."""

    plan: Plan
    read: tuple[Entry | None, ...]


@dataclass(slots=True)
class PlannerCatalog:
    """One moment of the catalog. It is built once, and then only read."""

    clusters: Mapping[str, int] = field(default_factory=dict)
    databases: frozenset[str] = frozenset()
    schemas: frozenset[Scope] = frozenset()
    snapshot: CatalogSnapshot | None = None
    settings: PlannerSettings = field(default_factory=PlannerSettings)
    planned: dict[Hashable, Any] = field(default_factory=dict, compare=False)
    """Cached plans of statements at this moment."""
    builtin_plans: dict[GlobalId, Plan] = field(default_factory=dict, compare=False)
    """The plans of builtin views that were read. They depend on system relations only, so later
    catalogs share them."""
    relation_plans: dict[GlobalId, RelationPlan] = field(default_factory=dict, compare=False)
    """The plans of relations that have indexes. Catalogs share them; each checks that the entries
    are its own."""
    rows: dict[Hashable, Any] = field(default_factory=dict, compare=False)
    """Cached rows of system relations that follow the catalog."""
    _entries: dict[GlobalId, Entry] = field(default_factory=dict)
    _names: dict[Scope, dict[str, Entry]] = field(default_factory=dict)
    _indexes: dict[GlobalId, list[IndexEntry]] = field(default_factory=dict)
    """By the relation that they are on."""
    _functions: dict[tuple[Scope, str], list[FunctionEntry]] = field(default_factory=dict)
    """By their name without parameters."""
    _types: set[GlobalId] = field(default_factory=set)

    def add(self, entry: Entry) -> None:
        """Add an entry, while the catalog is built. Raises ``DuplicateObject``."""
        names = self._names.setdefault(entry.name.scope, {})
        if entry.name.item in names:
            raise DuplicateObject(entry.type, str(entry.name))
        names[entry.name.item] = entry
        self._entries[entry.id] = entry
        if isinstance(entry, IndexEntry):
            self._indexes.setdefault(entry.on, []).append(entry)
        if isinstance(entry, FunctionEntry):
            key = entry.name.scope, entry.function.name
            self._functions.setdefault(key, []).append(entry)
        if entry.type is ItemType.TYPE:
            self._types.add(entry.id)

    def redefine(self, entry: RelationEntry) -> None:
        """Put an entry in the place of that with its id and name, while the catalog is built."""
        self._names[entry.name.scope][entry.name.item] = entry
        self._entries[entry.id] = entry

    def at(
        self, snapshot: CatalogSnapshot, settings: PlannerSettings, dropped: Set[GlobalId]
    ) -> PlannerCatalog:
        """A catalog of a later moment with the entries of this one, without ``dropped``. Entries
        can be added to it."""
        catalog = replace(
            self,
            snapshot=snapshot,
            settings=settings,
            planned={},
            rows={},
            _entries=dict(self._entries),
            _names={scope: dict(names) for scope, names in self._names.items()},
            _indexes={on: list(indexes) for on, indexes in self._indexes.items()},
            _functions={name: list(entries) for name, entries in self._functions.items()},
            _types=self._types - dropped,
        )
        for id in dropped:
            entry = catalog._entries.pop(id)
            catalog.relation_plans.pop(id, None)
            del catalog._names[entry.name.scope][entry.name.item]
            if isinstance(entry, IndexEntry):
                catalog._indexes[entry.on].remove(entry)
            if isinstance(entry, FunctionEntry):
                catalog._functions[entry.name.scope, entry.function.name].remove(entry)
        return catalog

    @property
    def newest_id(self) -> GlobalId | None:
        """The id of the item that was added last; None if there is no item."""
        newest = next(reversed(self._entries.values()), None)
        return None if newest is None or newest.is_system else newest.id

    # --- by id ---

    def entry(self, id: GlobalId) -> Entry | None:
        return self._entries.get(id)

    def relation(self, id: GlobalId) -> RelationEntry:
        """The relation with this id. Raises ``UnknownRelation``, ``ObjectQuarantined``."""
        entry = self._entries.get(id)
        if isinstance(entry, QuarantinedEntry):
            raise entry.refusal
        if not isinstance(entry, RelationEntry):
            raise UnknownRelation(id)
        return entry

    def entries(self) -> Iterable[Entry]:
        return self._entries.values()

    def relations(self) -> Iterator[RelationEntry]:
        return (entry for entry in self._entries.values() if isinstance(entry, RelationEntry))

    def indexes(self) -> Iterator[IndexEntry]:
        """All indexes, in the order of ids."""
        return (entry for entry in self._entries.values() if isinstance(entry, IndexEntry))

    def indexes_on(self, relation: GlobalId) -> Sequence[IndexEntry]:
        return self._indexes.get(relation, ())

    def in_cluster(self, cluster_id: int) -> list[IndexEntry | SinkEntry]:
        """The indexes and the sinks of a cluster, each in the order of ids."""
        entries: list[IndexEntry | SinkEntry] = [*self.indexes(), *self.sinks()]
        return [entry for entry in entries if entry.cluster_id == cluster_id]

    def sinks(self) -> Iterator[SinkEntry]:
        return (entry for entry in self._entries.values() if isinstance(entry, SinkEntry))

    def sequences(self, owner: QualifiedName | None = None) -> list[SequenceEntry]:
        """All sequences, or those that columns of the table ``owner`` own."""
        table = None if owner is None else parts(owner.to_table())
        return [
            entry
            for entry in self._entries.values()
            if isinstance(entry, SequenceEntry)
            and (table is None or (entry.sequence.owner or [()])[0] == table)
        ]

    def quarantined(self) -> list[QuarantinedEntry]:
        """The items whose definitions cannot be planned, in the order of their ids."""
        return [entry for entry in self._entries.values() if isinstance(entry, QuarantinedEntry)]

    def dependents(self, id: GlobalId) -> list[Entry]:
        """The items that depend directly on ``id``, in order of id."""
        item = self._entries.get(id)
        if isinstance(item, SequenceEntry):
            return [entry for entry in self.relations() if _takes_from(entry, item)]
        return [entry for entry in self._entries.values() if id in entry.depends_on]

    def is_subsource(self, id: GlobalId) -> bool:
        """Whether the item is one of several relations of a source, and so a part of it."""
        entry = self._entries.get(id)
        return isinstance(entry, RelationEntry) and bool(entry.collection.output)

    def source_of_subsource(self, id: GlobalId) -> Entry | None:
        """The source that the subsource is a part of; None if the item is no subsource."""
        entry = self._entries.get(id)
        if not isinstance(entry, RelationEntry) or not entry.collection.output:
            return None
        return self._entries.get(entry.collection.source_id)

    def source_read_by(self, id: GlobalId) -> Entry | None:
        """The source whose subsources the item reads, directly or through other items, or is one
        of. None if there is none, or if there are several."""
        pending, visited = [id], {id}
        sources: dict[GlobalId, Entry] = {}
        while pending:
            item = pending.pop()
            if (source := self.source_of_subsource(item)) is not None:
                sources[source.id] = source
            elif (entry := self._entries.get(item)) is not None:
                pending += entry.depends_on - visited
                visited |= entry.depends_on
        return next(iter(sources.values())) if len(sources) == 1 else None

    def by_object(self, groups: Mapping[str, GroupFrontier]) -> dict[GlobalId, GroupFrontier]:
        """The frontier of each object with a collection (of a sink, its frontier group's), if its
        group is among them."""
        groups_by_id = {
            entry.id: entry.collection.group if isinstance(entry, RelationEntry) else entry.id
            for entry in self._entries.values()
        }
        return {id: groups[group] for id, group in groups_by_id.items() if group in groups}

    def kept_in(self, collection: StorageCollectionId) -> Entry | None:
        """The item whose rows are in ``collection``."""
        if not collection.output and collection.collection is not CollectionType.REMAPPING:
            return self._entries.get(collection.source_id)
        return next((entry for entry in self.relations() if entry.collection == collection), None)

    def within(self, scope: Scope) -> Mapping[str, Entry]:
        """The items of one schema by name."""
        return self._names.get(scope, {})

    def namesakes(self, name: str, scopes: Set[Scope] | None = None) -> frozenset[GlobalId]:
        """The ids of all items with this name in these schemas, or in whatever schema."""
        return frozenset(
            items[name].id
            for scope, items in self._names.items()
            if name in items and (scopes is None or scope in scopes)
        )

    @property
    def has_types(self) -> bool:
        """Whether users defined types."""
        return bool(self._types)

    # --- by name ---

    def find(self, parts: Sequence[str], session: SessionNames) -> Entry | None:
        """The object that a written name means: a qualified name in its schema, else in the first
        schema of the search path that has it."""
        for scope in self._scopes(parts, session):
            entry = self.within(scope).get(parts[-1])
            if entry is not None:
                return entry
        return None

    def find_key(
        self, parts: Sequence[str], session: SessionNames
    ) -> tuple[RelationEntry, int] | None:
        """The table, and the place among its constraints, of the key or unique index of that
        written name, found as ``find`` does: in PostgreSQL, each has an index of its name."""
        for scope in self._scopes(parts, session):
            for entry in self.within(scope).values():
                if isinstance(entry, RelationEntry):
                    for place, constraint in enumerate(entry.constraints):
                        if constraint.is_unique and constraint.name == parts[-1]:
                            return entry, place
        return None

    def functions(self, parts: Sequence[str], session: SessionNames) -> Sequence[FunctionEntry]:
        """The functions of that written name: a qualified one in its schema, else in the first
        schema of the search path that has any."""
        if not self._functions:
            return ()
        named = (self._functions.get((scope, parts[-1])) for scope in self._scopes(parts, session))
        return next(filter(None, named), ())

    def resolve(self, parts: Sequence[str], session: SessionNames) -> RelationEntry:
        """The relation of that name. Raises ``UnknownRelation``, with the nearest names as a hint,
        ``ObjectQuarantined``."""
        entry = self.find(parts, session)
        if isinstance(entry, QuarantinedEntry):
            raise entry.refusal
        if isinstance(entry, RelationEntry):
            return entry
        raise UnknownRelation(".".join(parts), hint=self._suggestion(parts, session))

    def locate(self, parts: Sequence[str], session: SessionNames) -> QualifiedName:
        """The full name of a new object. Raises if its schema does not exist, or is a system
        schema."""
        *qualifiers, item = parts
        database = qualifiers[0] if len(qualifiers) == 2 else session.database
        schema = qualifiers[-1] if qualifiers else next(iter(session.search_path), None)
        if schema is None:
            raise NoSchemaSelected()
        if schema in SYSTEM_SCHEMAS:
            raise SystemObjectProtected(schema)
        if schema in TEMPORARY_SCHEMAS:
            return QualifiedName(None, TEMPORARY_SCHEMA, item)
        if database not in self.databases:
            raise UnknownObject("database", database, hint=nearest(database, self.databases))
        if (database, schema) not in self.schemas:
            raise UnknownObject(
                "schema",
                schema,
                hint=nearest(schema, (name for of, name in self.schemas if of == database)),
            )
        return QualifiedName(database, schema, item)

    def existing_schemas(self, search_path: Sequence[str], database: str) -> tuple[str, ...]:
        """The schemas of a search path that a session in ``database`` can use, each once."""
        return tuple(
            name
            for name in dict.fromkeys(search_path)
            if name in TEMPORARY_SCHEMAS
            or (None, name) in self.schemas
            or (database, name) in self.schemas
        )

    def scope(self, parts: Sequence[str], session: SessionNames) -> Scope:
        """The schema of a written name of one or two parts. Raises ``UnknownObject``."""
        for scope in (
            (None, parts[-1]),
            (parts[0] if len(parts) == 2 else session.database, parts[-1]),
        ):
            if scope in self.schemas:
                return scope
        raise UnknownObject(
            "schema", ".".join(parts), hint=nearest(parts[-1], {name for _, name in self.schemas})
        )

    def cluster_id(self, name: str) -> int:
        if name not in self.clusters:
            raise UnknownObject("cluster", name, hint=nearest(name, self.clusters))
        return self.clusters[name]

    def cluster_name(self, id: int) -> str:
        return next(name for name, cluster_id in self.clusters.items() if cluster_id == id)

    def free_name(self, preferred: QualifiedName, also_taken: Iterable[str] = ()) -> QualifiedName:
        """``wanted``, or ``wanted`` with the first number 1, 2, … that makes it unused."""
        used_names = self.within(preferred.scope).keys() | set(also_taken)
        name, number = preferred.item, 0
        while name in used_names:
            number += 1
            name = f"{preferred.item}{number}"
        return preferred.sibling(name)

    def _scopes(self, parts: Sequence[str], session: SessionNames) -> list[Scope]:
        *qualifiers, _ = parts
        if not qualifiers:
            return [
                *((None, name) for name in (*SEARCHED_SYSTEM_SCHEMAS, TEMPORARY_SCHEMA)),
                *((session.database, name) for name in session.search_path),
            ]
        if qualifiers[-1] in SYSTEM_SCHEMAS:
            if len(qualifiers) == 2 and qualifiers[0] != session.database:
                written = ".".join(parts)
                raise UnsupportedSql(
                    f'cross-database references are not implemented: "{written}"',
                    hint=f'system schemas are of the session\'s database, "{session.database}"',
                )
            return [(None, qualifiers[-1])]
        if qualifiers[-1] in TEMPORARY_SCHEMAS:
            return [(None, TEMPORARY_SCHEMA)]
        return [(qualifiers[0] if len(qualifiers) == 2 else session.database, qualifiers[-1])]

    def _suggestion(self, parts: Sequence[str], session: SessionNames) -> str | None:
        scopes = self._scopes(parts, session)
        if len(parts) > 1 and scopes[0] not in self.schemas:
            written = ".".join(parts[:-1])
            return f'there is no schema "{written}"'
        other = self.find(parts, session)
        if other is not None:
            reason = f'"{parts[-1]}" is of type {other.type.value}, which a query cannot read'
            if other.type not in _HAS_DEFINITION:
                return reason
            return f"{reason}; SHOW CREATE {other.type.value.upper()} {other.name} shows it"
        if len(parts) == 1 and {(None, parts[0]), (session.database, parts[0])} & self.schemas:
            return f"{quoted_name(parts[0])} is a schema; the name of a relation is expected"
        return nearest(
            parts[-1],
            [
                name
                for scope in scopes
                for name, entry in self.within(scope).items()
                if isinstance(entry, RelationEntry)
            ],
        )


def _takes_from(entry: RelationEntry, sequence: SequenceEntry) -> bool:
    """Whether a column of the table has a value of the sequence by default. The sequence may be
    younger than the table."""
    if entry.table is None:
        return False
    name = parts(sequence.name.to_table())
    return any(column.sequence == name for column in entry.table.generated.values())
