"""The kinds of object the durable catalog holds. Each object is a frozen key and a frozen value,
stored as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.catalog.acl import Acl, check_letters


class Kind(StrEnum):
    """The object kinds of the reference; the name of a kind is its tag on disk."""

    AUDIT_LOG = "audit_log"
    CLUSTER = "cluster"
    CLUSTER_REPLICA = "cluster_replica"
    CLUSTER_INTROSPECTION_SOURCE_INDEX = "cluster_introspection_source_index"
    COMMENT = "comment"
    CONFIG = "config"
    DATABASE = "database"
    DEFAULT_PRIVILEGE = "default_privilege"
    ID_ALLOCATOR = "id_allocator"
    ITEM = "item"
    ROLE = "role"
    SCHEMA = "schema"
    SETTING = "setting"
    SKIPPED_RANGE = "skipped_range"
    STORAGE_USAGE = "storage_usage"
    SYSTEM_CONFIGURATION = "system_configuration"
    SYSTEM_OBJECT_MAPPING = "system_object_mapping"
    SYSTEM_PRIVILEGE = "system_privilege"
    TIMESTAMP = "timestamp"


APPEND_ONLY = frozenset({Kind.AUDIT_LOG, Kind.STORAGE_USAGE})
"""Kinds that are written and listed, never changed, and never kept in memory. Old measurements of
storage usage are deleted."""


class ItemType(StrEnum):
    SOURCE = "source"
    SOURCE_PROGRESS = "source_progress"
    TABLE = "table"
    VIEW = "view"
    INDEX = "index"
    SINK = "sink"
    SECRET = "secret"  # noqa: S105  (a word, no password)
    CONNECTION = "connection"
    SEQUENCE = "sequence"
    FUNCTION = "function"
    TYPE = "type"


MATERIALIZED_VIEW = "materialized_view"
"""What is listed as the type of a view with an index."""


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """A change that a user made to the environment. ``details`` is JSON-like."""

    id: int
    event_type: str
    object_type: str
    object_name: str
    details: dict[str, object]
    user: str
    occurred_at: Timestamp


@dataclass(frozen=True, slots=True)
class Cluster:
    """A set of replicas. ``size`` is None for a virtual cluster."""

    id: int
    name: str
    size: str | None
    owner_role_id: str
    privileges: Acl = ()


@dataclass(frozen=True, slots=True)
class ClusterReplica:
    id: int
    cluster_id: int
    name: str
    size: str | None


@dataclass(frozen=True, slots=True)
class ClusterIntrospectionSourceIndex:
    """The index of one introspection relation in one cluster."""

    cluster_id: int
    name: str
    index_id: GlobalId


@dataclass(frozen=True, slots=True)
class Comment:
    """What users say about an object: its kind is ``cluster``, ``database``, ``item``, ``role`` or
    ``schema``. A ``column`` of a relation, or the object itself if that is empty."""

    object_kind: str
    object_id: str
    column: str
    text: str

    @property
    def target(self) -> tuple[Kind, str | int]:
        """Kind and key of the object."""
        kind = Kind(self.object_kind)
        has_text_key = kind in (Kind.ITEM, Kind.ROLE)
        return kind, self.object_id if has_text_key else int(self.object_id)


@dataclass(frozen=True, slots=True)
class Config:
    """A number: the ``version`` of the catalog's layout, ``epoch``, ``deploy_generation``;
    ``sealed`` while it is converted."""

    key: str
    value: int


@dataclass(frozen=True, slots=True)
class Database:
    id: int
    name: str
    owner_role_id: str
    privileges: Acl = ()


@dataclass(frozen=True, slots=True)
class DefaultPrivilege:
    """Privileges (letters) on objects that ``role_id``, or any role if it is PUBLIC, will create.
    None means any place."""

    role_id: str
    database_id: int | None
    schema_id: int | None
    object_type: str
    grantee: str
    privileges: str

    def __post_init__(self) -> None:
        check_letters(self.privileges)


@dataclass(frozen=True, slots=True)
class IdAllocator:
    """The next id of one namespace; it only grows."""

    name: str
    next_id: int


@dataclass(frozen=True, slots=True)
class SourceProgress:
    """The definition of a source's progress relation. ``desc`` follows from the source's type."""

    source_id: GlobalId
    desc: RelationDesc


@dataclass(frozen=True, slots=True)
class Item:
    """A source, table, view, index, sink, progress relation, secret, connection, sequence,
    function or type. The name of a function is its signature, as in ``add(integer, integer)``.

    ``create_sql`` is the normalised statement; it is None for a progress relation, which has
    ``progress`` instead. ``created_at`` is a time of the data timeline: the item's collections
    begin there. ``incarnation`` is a UUID that no other item of any catalog has. The item's
    collections carry it; collections of another incarnation are not the item's, even under its id.
    It is empty for an item from before catalog version 4, whose collections carry none.
    """

    id: GlobalId
    schema_id: int
    name: str
    type: ItemType
    create_sql: str | None
    owner_role_id: str
    created_at: Timestamp
    progress: SourceProgress | None = None
    privileges: Acl = ()
    incarnation: str = ""


ROLE_ATTRIBUTES = ("superuser", "login")
"""Superusers may do everything; roles without ``login`` only hold privileges for their members."""


@dataclass(frozen=True, slots=True)
class Role:
    """``attributes`` are of ``ROLE_ATTRIBUTES``. ``membership`` maps each role that this one is a
    member of to the grantor. ``configuration`` holds the role's session defaults.

    ``password`` is None for a role without a password. Otherwise it is the reference of the
    verifier in consensus, and a role without that verifier cannot log in. A role from before
    catalog version 4 has its own id here until the first open has found out whether it has a
    password.
    """

    id: str
    name: str
    attributes: tuple[str, ...] = ()
    membership: dict[str, str] = field(default_factory=dict)
    configuration: dict[str, str] = field(default_factory=dict)
    password: str | None = None


@dataclass(frozen=True, slots=True)
class Schema:
    """``database_id`` is None for the system schemas (``mz_catalog``, ``mz_internal``,
    ``pg_catalog``, ``information_schema``)."""

    id: int
    database_id: int | None
    name: str
    owner_role_id: str
    privileges: Acl = ()


@dataclass(frozen=True, slots=True)
class Setting:
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class SkippedRange:
    """Bound offsets ``[lower, upper)`` of a source's partition that yield no row, because a person
    decided to skip them. Without it, a rebuild of the source would read them."""

    source_id: GlobalId
    partition: str
    lower: int
    upper: int


@dataclass(frozen=True, slots=True)
class StorageUsage:
    """The bytes of one collection's files at ``collected_at``."""

    id: int
    collection: str
    size_bytes: int
    collected_at: Timestamp


@dataclass(frozen=True, slots=True)
class SystemConfiguration:
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class SystemObjectMapping:
    """A builtin object's id, and the fingerprint of its definition, by which ``open`` notices a
    changed builtin."""

    schema_name: str
    object_type: str
    object_name: str
    id: GlobalId
    fingerprint: str


@dataclass(frozen=True, slots=True)
class SystemPrivilege:
    """Privileges (letters) on the environment as a whole."""

    grantee: str
    grantor: str
    privileges: str

    def __post_init__(self) -> None:
        check_letters(self.privileges)


@dataclass(frozen=True, slots=True)
class TimelineFloor:
    """The oracle of ``timeline`` refuses to start below ``floor``: a lost consensus must not turn
    the clock back."""

    timeline: str
    floor: Timestamp
