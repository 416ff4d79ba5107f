"""What a system relation is, and what those that are computed are made of."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from reclock.algebra.ids import GlobalId
from reclock.algebra.index_keys import KeyPart
from reclock.algebra.relations import Column, RelationDesc, ScalarType
from reclock.algebra.timestamps import Timestamp
from reclock.catalog.objects import AuditEvent, StorageUsage
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.consensus.frontiers.groups import GroupFrontier
from reclock.consensus.objects.pending_cleanup import PendingCleanup
from reclock.consensus.objects.statistics import Total
from reclock.consensus.objects.statuses import Status
from reclock.introspection.backends import Backend
from reclock.introspection.privacy import IntrospectionReader
from reclock.protocol.introspection import IntrospectionType, LogName, Row

SUBSOURCE = "subsource"


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """What the catalog's text says about an index."""

    on_id: GlobalId
    cluster_id: int
    key: tuple[KeyPart, ...]
    is_view_default: bool
    """Whether it is the default index by which a materialized view is kept. PostgreSQL's views have none, so clients that
    compare indexes with what they asked for do not see it."""


@dataclass(frozen=True, slots=True)
class ConstraintFacts:
    """A constraint as ``pg_constraint`` has it. Positions count the columns of a table from 1."""

    oid: int
    name: str
    type: str
    """``p``, ``u``, ``f`` or ``c``."""
    positions: tuple[int, ...]
    key: str
    """The columns as SQL."""
    is_deferrable: bool
    is_deferred: bool
    are_nulls_equal: bool
    condition: str | None
    """Of a CHECK, as SQL."""
    reference: Reference | None
    """Of a foreign key."""

    @property
    def has_index(self) -> bool:
        """Whether PostgreSQL would keep an index for it."""
        return self.type in ("p", "u")


@dataclass(frozen=True, slots=True)
class Reference:
    """What a foreign key refers to. ``index_oid`` is 0 and ``key_positions`` are None where the table declares no such key."""

    table_oid: int
    positions: tuple[int, ...]
    key: str
    index_oid: int
    key_positions: tuple[int | None, ...]
    """The place of each column in the key, from 1."""
    match: str
    on_update: str
    on_delete: str


@dataclass(frozen=True, slots=True)
class SinkFacts:
    """The same about a sink; a table has no envelope."""

    on_id: GlobalId
    cluster_id: int
    type: str
    envelope: str | None


@dataclass(frozen=True, slots=True)
class BrokenObject:
    """``what`` is broken of the object: its ``definition`` or its ``collection``."""

    id: GlobalId
    name: str
    type: str
    what: str
    error: str
    hint: str | None


@dataclass(frozen=True, slots=True)
class SystemState:
    """Everything the system relations are made of, read once for a statement. The calls are made only if a relation needs them."""

    catalog: CatalogSnapshot
    descs: Mapping[GlobalId, RelationDesc]
    indexes: Mapping[GlobalId, IndexFacts]
    connection_types: Mapping[GlobalId, str]
    source_types: Mapping[GlobalId, str]
    """What sources are from; ``SUBSOURCE``, if from another."""
    sinks: Mapping[GlobalId, SinkFacts]
    broken: Callable[[], Sequence[BrokenObject]]
    """Those whose definition cannot be planned, and those whose collection could not be made."""
    frontiers: Callable[[], Mapping[GlobalId, GroupFrontier]]
    """How far the collection of each object is."""
    statuses: Callable[[], Sequence[Status]]
    status_history: Callable[[], Sequence[Status]]
    pending_cleanups: Callable[[], Sequence[PendingCleanup]]
    audit_events: Callable[[], Sequence[AuditEvent]]
    storage_usages: Callable[[], Sequence[StorageUsage]]
    queries: Callable[[], Mapping[GlobalId, str]]
    """What views are made of, as SQL."""
    defaults: Callable[[], Mapping[GlobalId, Mapping[str, str]]]
    """The defaults of tables' columns, as SQL."""
    constraints: Callable[[], Mapping[GlobalId, Sequence[ConstraintFacts]]]
    """What tables declare."""
    settings: Callable[[], Iterable[tuple[str, str, str]]]
    """Name, default and description of each session variable."""
    maintenance: Callable[[], Mapping[GlobalId, str]]
    """How each index follows what it stands on."""
    dependencies: Callable[[], Mapping[GlobalId, Set[GlobalId]]]
    """What each object directly stands on."""
    statistics: Callable[[], Sequence[Total]]
    backends: Callable[[], Sequence[Backend]]
    """The sessions of this process."""
    reader: IntrospectionReader
    now: Callable[[], Timestamp]
    log: Callable[[LogName], Iterable[Row]]
    """A log of the replica that the session targets."""


Rows = Iterable[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Builtin:
    """A relation that the program defines: by a function from the state to rows, or, a view, by a ``query`` over others; or as a
    collection that storage manages."""

    schema: str
    name: str
    desc: RelationDesc
    rows: Callable[[SystemState], Rows] | None = None
    query: str | None = None
    managed: IntrospectionType | None = None

    @property
    def kind(self) -> str:
        """``source`` or ``view``."""
        return "source" if self.query is None else "view"

    @property
    def fingerprint(self) -> str:
        """Changes with the definition, so that opening notices."""
        return hashlib.sha256(f"{self.schema}.{self.name} {self.desc}{self.query or ''}".encode()).hexdigest()[:16]


def desc(*key: str, **columns: ScalarType) -> RelationDesc:
    """Columns of these types; ``key`` names those that no two rows agree in."""
    return RelationDesc(tuple(Column(name, kind) for name, kind in columns.items()), key or None)
