"""The definition of a system relation, and the state from which computed ones take their rows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from reclock.algebra.defined_types import DefinedName, EnumType
from reclock.algebra.ids import GlobalId
from reclock.algebra.index_keys import KeyOrder, KeyPart
from reclock.algebra.relations import Column, RelationDesc, ScalarType
from reclock.algebra.timestamps import Timestamp
from reclock.catalog.objects import AuditEvent, StorageUsage
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.consensus.frontiers.groups import GroupFrontier
from reclock.consensus.objects.pending_cleanup import PendingCleanup
from reclock.consensus.objects.registrations import RegisteredTable
from reclock.consensus.objects.statistics import Total
from reclock.consensus.objects.statuses import Status
from reclock.introspection.backends import Backend
from reclock.introspection.privacy import IntrospectionReader
from reclock.protocol.introspection import IntrospectionType, LogName, Row
from reclock.quality.docs_index import Entry

SUBSOURCE = "subsource"


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """An index, as its SQL in the catalog defines it."""

    on_id: GlobalId
    cluster_id: int
    key: tuple[KeyPart, ...]
    is_view_default: bool
    """Whether it is the default index that maintains a materialized view.

    Views of PostgreSQL have none. It is therefore hidden from clients that compare a relation's
    indexes with those that they created."""
    included: tuple[KeyPart, ...] = ()
    """The columns of INCLUDE."""
    is_unique: bool = False


@dataclass(frozen=True, slots=True)
class ConstraintFacts:
    """A constraint as ``pg_constraint`` describes it. Positions of columns count from 1."""

    oid: int
    name: str
    type: str
    """``p``, ``u``, ``f`` or ``c``; ``i`` for a unique index of expressions or of some rows, which
    is no constraint to PostgreSQL."""
    positions: tuple[int, ...]
    parts: tuple[str, ...]
    """Each column, or key of a unique index, as SQL."""
    is_deferrable: bool
    is_deferred: bool
    are_nulls_equal: bool
    is_enforced: bool
    condition: str | None
    """The condition of a CHECK, as SQL."""
    reference: Reference | None
    """The target of a foreign key."""
    expressions: str | None = None
    """The keys of a unique index that are no columns, as SQL; their positions are 0."""
    predicate: str | None = None
    """The condition of a unique index, as SQL."""
    comment: str | None = None
    orders: tuple[KeyOrder, ...] = ()
    """Of each key of an index."""
    included: tuple[int, ...] = ()
    """The positions of the columns of INCLUDE."""
    included_names: tuple[str, ...] = ()
    """These columns, as SQL."""

    @property
    def key(self) -> str:
        """The columns as SQL."""
        return ", ".join(self.parts)

    @property
    def has_index(self) -> bool:
        """Whether PostgreSQL would have an index for it."""
        return self.type in ("p", "u", "i")


@dataclass(frozen=True, slots=True)
class Reference:
    """The target of a foreign key.

    If the target table declares no such key, ``index_oid`` is 0 and ``key_positions`` are None.
    """

    table_oid: int
    positions: tuple[int, ...]
    key: str
    index_oid: int
    key_positions: tuple[int | None, ...]
    """The position of each column in the target's key, from 1."""
    match: str
    on_update: str
    on_delete: str


@dataclass(frozen=True, slots=True)
class SinkFacts:
    """A sink, as its SQL in the catalog defines it. A sink into a table has no envelope."""

    on_id: GlobalId
    cluster_id: int
    type: str
    envelope: str | None


@dataclass(frozen=True, slots=True)
class BrokenObject:
    """A broken object. ``part`` is what is broken of it: ``definition`` or ``collection``."""

    id: GlobalId
    name: str
    type: str
    part: str
    error: str
    hint: str | None


@dataclass(frozen=True, slots=True)
class SequenceFacts:
    """A sequence, the table and the position of the column that owns it, and the value that was
    taken last."""

    id: GlobalId
    type: ScalarType
    start: int
    increment: int
    minimum: int
    maximum: int
    cache: int
    is_cyclic: bool
    owner: tuple[GlobalId, int] | None
    is_identity: bool
    last_value: int | None


@dataclass(frozen=True, slots=True)
class FunctionFacts:
    """A function that a user defined. ``arguments`` are its parameters as they are declared,
    ``identity_arguments`` without defaults, ``result`` and ``source`` what it returns and its
    query, as SQL."""

    id: GlobalId
    name: str
    types: tuple[ScalarType, ...]
    names: tuple[str, ...]
    arguments: str
    identity_arguments: str
    result_type: ScalarType | None
    """None for records."""
    result: str
    is_set: bool
    is_strict: bool
    volatility: str
    source: str


@dataclass(frozen=True, slots=True)
class DomainCheckFacts:
    """A CHECK of a domain, with its condition as SQL."""

    oid: int
    name: str
    condition: str
    is_valid: bool
    comment: str | None


@dataclass(frozen=True, slots=True)
class DomainFacts:
    """A domain. ``base`` is the type that it is over, as a column; the default is SQL."""

    id: GlobalId
    name: DefinedName
    base: Column
    is_not_null: bool
    default: str | None
    checks: tuple[DomainCheckFacts, ...]


@dataclass(frozen=True, slots=True)
class CompositeFacts:
    """A composite type, the item ``id``."""

    id: GlobalId
    type: ScalarType


@dataclass(frozen=True, slots=True)
class CatalogState:
    """Everything from which those system relations compute their rows that follow from the catalog:
    they are the same until it changes. Callables are called only by relations that need them."""

    catalog: CatalogSnapshot
    descs: Mapping[GlobalId, RelationDesc]
    indexes: Mapping[GlobalId, IndexFacts]
    connection_types: Mapping[GlobalId, str]
    source_types: Mapping[GlobalId, str]
    """What each source reads from; ``SUBSOURCE`` if it is part of another source."""
    sinks: Mapping[GlobalId, SinkFacts]
    queries: Callable[[], Mapping[GlobalId, str]]
    """The query of each view, as SQL."""
    defaults: Callable[[], Mapping[GlobalId, Mapping[str, str]]]
    """The defaults of each table's columns, or the expressions that compute them, as SQL."""
    constraints: Callable[[], Mapping[GlobalId, Sequence[ConstraintFacts]]]
    """The constraints that each table declares."""
    generated: Callable[[], Mapping[GlobalId, Mapping[str, str]]]
    """How each table's columns are generated: ``a`` for an identity that is ALWAYS, ``d`` for one BY
    DEFAULT, and ``s`` for computed columns."""
    maintenance: Callable[[], Mapping[GlobalId, str]]
    """How each index is maintained."""
    dependencies: Callable[[], Mapping[GlobalId, Set[GlobalId]]]
    """The direct dependencies of each object."""
    functions: Callable[[], Iterable[FunctionFacts]]
    enums: Callable[[], Iterable[EnumType]]
    domains: Callable[[], Iterable[DomainFacts]]
    composites: Callable[[], Iterable[CompositeFacts]]


@dataclass(frozen=True, slots=True)
class SystemState:
    """Everything from which system relations compute their rows, read once per statement.

    Callables are called only if the statement reads a relation that needs them.
    """

    of_catalog: CatalogState
    broken: Callable[[], Sequence[BrokenObject]]
    """Objects whose definition cannot be planned, or whose collection could not be created."""
    frontiers: Callable[[], Mapping[GlobalId, GroupFrontier]]
    """The frontier of each object's collection."""
    statuses: Callable[[], Sequence[Status]]
    status_history: Callable[[], Sequence[Status]]
    pending_cleanups: Callable[[], Sequence[PendingCleanup]]
    registrations: Callable[[], Iterable[RegisteredTable]]
    audit_events: Callable[[], Sequence[AuditEvent]]
    storage_usages: Callable[[], Sequence[StorageUsage]]
    sequences: Callable[[], Iterable[SequenceFacts]]
    settings: Callable[[], Iterable[tuple[str, str, str]]]
    """Name, default and description of each session variable."""
    statistics: Callable[[], Sequence[Total]]
    audits: Callable[[], Sequence[Entry]]
    """The audits in the data docs of this process's home, newest first."""
    backends: Callable[[], Sequence[Backend]]
    """The sessions of this process."""
    reader: IntrospectionReader
    now: Callable[[], Timestamp]
    log: Callable[[LogName], Iterable[Row]]
    """The rows of a log of the replica that the session targets."""

    @property
    def catalog(self) -> CatalogSnapshot:
        return self.of_catalog.catalog


Rows = Iterable[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Builtin:
    """A relation that the program defines. One of four says how: ``rows`` computes them from the
    state, ``catalog_rows`` from the catalog alone, ``query`` makes it a view of other relations,
    ``managed`` names a collection that storage writes."""

    schema: str
    name: str
    desc: RelationDesc
    rows: Callable[[SystemState], Rows] | None = None
    query: str | None = None
    managed: IntrospectionType | None = None
    catalog_rows: Callable[[CatalogState], Rows] | None = None

    @property
    def kind(self) -> str:
        """``source`` or ``view``."""
        return "source" if self.query is None else "view"

    @property
    def fingerprint(self) -> str:
        """A hash of the definition: opening the catalog compares it to notice a change."""
        return hashlib.sha256(
            f"{self.schema}.{self.name} {self.desc}{self.query or ''}".encode()
        ).hexdigest()[:16]


def desc(*key: str, **columns: ScalarType) -> RelationDesc:
    """A relation of these columns. ``key`` names a unique key: no two rows agree in all of it."""
    return RelationDesc(tuple(Column(name, kind) for name, kind in columns.items()), key or None)
