"""The objects of a planner catalog."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reclock.algebra.defined_types import EnumType
from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.index_keys import KeyPart
from reclock.algebra.relations import RelationDesc, ScalarType
from reclock.catalog.objects import ItemType
from reclock.definitions.connections import Connection
from reclock.errors import ObjectQuarantined
from reclock.plan.relational import Plan
from reclock.sql.catalog.constraints import Constraint
from reclock.sql.catalog.definitions import (
    DomainDefinition,
    FunctionDefinition,
    SequenceDefinition,
    SinkDefinition,
    SourceDefinition,
    TableDefinition,
)
from reclock.sql.names import QualifiedName


@dataclass(frozen=True, slots=True)
class PlannerSettings:
    """The environment's settings that planning needs."""

    replica_sizes: tuple[str, ...] = ()
    experimental_mode: bool = True


Scope = tuple[str | None, str]
"""A database and a schema; a system schema has no database."""


@dataclass(frozen=True, slots=True)
class RelationEntry:
    """A relation that queries can read. ``query`` is a view's definition, in which other views are
    ``Get`` nodes."""

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
    follows_catalog: bool = False
    """Whether its rows are the same until the catalog changes. It is a system relation, then. A
    builtin view follows the catalog if all that it reads does."""
    may_be_negative: bool = False
    """See ``Get``."""
    asks_session: bool = False
    """Whether it is a view with functions about the session that reads it, such as ``now()``."""
    generated_key: tuple[str, ...] = ()
    """Columns in which no two rows of a load generator agree. They are no key of the collection."""

    @property
    def key(self) -> tuple[str, ...]:
        """Columns in which no two rows agree: an enforced primary key, or the key of a source or of
        a view's groups. Empty if there are none."""
        if self.table is None or not self.table.primary_key_is_enforced:
            return self.desc.key or ()
        return self.table.primary_key

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints that it declares, as a table or a source."""
        if self.table is not None:
            return self.table.constraints
        return self.source.checks if self.source is not None else ()

    @property
    def seen_by_dependents(self) -> object:
        """What the definitions of objects that depend on it are planned from. Of a table's
        definition, that is its key."""
        return (
            self if self.table is None else (replace(self, table=None, create_sql=None), self.key)
        )

    @property
    def is_system(self) -> bool:
        return self.name.database is None and not self.is_temporary

    @property
    def is_temporary(self) -> bool:
        return self.name.is_temporary


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """An index, and the relation it is on. ``types`` are those that its key names."""

    id: GlobalId
    name: QualifiedName
    on: GlobalId
    key: tuple[KeyPart, ...]
    cluster_id: int
    create_sql: str
    type: ItemType = ItemType.INDEX
    types: frozenset[GlobalId] = frozenset()
    included: tuple[KeyPart, ...] = ()
    """The columns of INCLUDE, for clients. An index has all columns of its relation."""
    is_unique: bool = False
    """Whether it was declared so, on a view with at most one row for each key."""

    @property
    def depends_on(self) -> frozenset[GlobalId]:
        return frozenset({self.on}) | self.types

    @property
    def is_system(self) -> bool:
        return self.name.database is None


@dataclass(frozen=True, slots=True)
class SecretEntry:
    """A secret. ``reference`` leads to its value."""

    id: GlobalId
    name: QualifiedName
    reference: str
    create_sql: str
    type: ItemType = ItemType.SECRET
    depends_on: frozenset[GlobalId] = frozenset()
    is_system: bool = False


@dataclass(frozen=True, slots=True)
class ConnectionEntry:
    """A connection. It depends on its secrets."""

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
        return frozenset({self.on, self.previous or self.on}) | self.sink.uses

    @property
    def previous(self) -> GlobalId | None:
        """The relation whose rows the target holds until the sink has switched to ``on``."""
        return None if self.sink.continues is None else self.sink.continues.previous

    @property
    def is_system(self) -> bool:
        return self.name.database is None


@dataclass(frozen=True, slots=True)
class SequenceEntry:
    """A sequence. Its state is kept under its ``incarnation``."""

    id: GlobalId
    name: QualifiedName
    sequence: SequenceDefinition
    incarnation: str
    create_sql: str
    type: ItemType = ItemType.SEQUENCE
    depends_on: frozenset[GlobalId] = frozenset()
    is_system: bool = False


@dataclass(frozen=True, slots=True)
class FunctionEntry:
    """A function that a user defined. It depends on what its body reads and calls. The item of its
    name is its signature."""

    id: GlobalId
    name: QualifiedName
    function: FunctionDefinition
    create_sql: str
    depends_on: frozenset[GlobalId]
    type: ItemType = ItemType.FUNCTION
    is_system: bool = False


@dataclass(frozen=True, slots=True)
class EnumEntry:
    """An enum that a user defined."""

    id: GlobalId
    name: QualifiedName
    enum: EnumType
    create_sql: str
    type: ItemType = ItemType.TYPE
    depends_on: frozenset[GlobalId] = frozenset()
    is_system: bool = False


@dataclass(frozen=True, slots=True)
class DomainEntry:
    """A domain that a user defined. It depends on the enum or domain that it is over."""

    id: GlobalId
    name: QualifiedName
    domain: DomainDefinition
    create_sql: str
    depends_on: frozenset[GlobalId] = frozenset()
    type: ItemType = ItemType.TYPE
    is_system: bool = False


@dataclass(frozen=True, slots=True)
class CompositeEntry:
    """A composite type that a user defined: records with its name. It depends on the types of its
    fields."""

    id: GlobalId
    name: QualifiedName
    composite: ScalarType
    create_sql: str
    depends_on: frozenset[GlobalId] = frozenset()
    type: ItemType = ItemType.TYPE
    is_system: bool = False


TypeEntry = EnumEntry | DomainEntry | CompositeEntry


@dataclass(frozen=True, slots=True)
class QuarantinedEntry:
    """An item whose definition cannot be planned, and why. If the reason is that an item on which
    it depends is quarantined, it depends on that one."""

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


Entry = (
    RelationEntry
    | IndexEntry
    | SecretEntry
    | ConnectionEntry
    | SinkEntry
    | SequenceEntry
    | FunctionEntry
    | EnumEntry
    | DomainEntry
    | CompositeEntry
    | QuarantinedEntry
)
