"""The rules of each kind of object: its type, key, unique name, references, and the allocator of
its id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

from reclock.catalog.acl import PUBLIC_ROLE_ID
from reclock.catalog.objects import (
    APPEND_ONLY,
    AuditEvent,
    Cluster,
    ClusterIntrospectionSourceIndex,
    ClusterReplica,
    Comment,
    Config,
    Database,
    DefaultPrivilege,
    IdAllocator,
    Item,
    Kind,
    Role,
    Schema,
    Setting,
    SkippedRange,
    StorageUsage,
    SystemConfiguration,
    SystemObjectMapping,
    SystemPrivilege,
    TimelineFloor,
)
from reclock.errors import CatalogError

CatalogObject = (
    AuditEvent
    | Cluster
    | ClusterIntrospectionSourceIndex
    | ClusterReplica
    | Comment
    | Config
    | Database
    | DefaultPrivilege
    | IdAllocator
    | Item
    | Role
    | Schema
    | Setting
    | SkippedRange
    | StorageUsage
    | SystemConfiguration
    | SystemObjectMapping
    | SystemPrivilege
    | TimelineFloor
)

Key = Any
"""The key of an object in memory: the value of its only key field, or a tuple of several."""

Reference = tuple[Kind, Key]


@dataclass(frozen=True, slots=True)
class KindSpec:
    """``unique`` names the fields that no two objects share. ``references`` returns the objects
    that this one needs. ``allocated`` returns the allocator and number of this object's id."""

    kind: Kind
    type: type
    key: tuple[str, ...]
    value: tuple[str, ...]
    key_of: Callable[[Any], Key]
    unique: tuple[str, ...]
    name_of: Callable[[Any], Any]
    references: Callable[[Any], Iterable[Reference]]
    allocated: Callable[[Any], tuple[str, int]] | None

    @property
    def is_append_only(self) -> bool:
        return self.kind in APPEND_ONLY


def _spec(
    kind: Kind,
    type_: type,
    key: str,
    *,
    unique: str = "",
    references: Callable[[Any], Iterable[Reference]] = lambda _: (),
    allocated: Callable[[Any], tuple[str, int]] | None = None,
) -> KindSpec:
    key_fields, unique_fields = tuple(key.split()), tuple(unique.split())
    value = tuple(f.name for f in fields(type_) if f.name not in key_fields)
    name_of = attrgetter(*unique_fields) if unique_fields else lambda _: None
    return KindSpec(
        kind,
        type_,
        key_fields,
        value,
        attrgetter(*key_fields),
        unique_fields,
        name_of,
        references,
        allocated,
    )


def _prefixed(id: str) -> tuple[str, int]:
    """The allocator and number of a global id. Raises ``CatalogError`` for a transient or malformed
    one."""
    names = {"u": "user", "s": "system"}
    if id[:1] not in names or not id[1:].isdecimal():
        raise CatalogError(f'"{id}" is not an id that the catalog can hold')
    return names[id[0]], int(id[1:])


def _role_id(role: Role) -> tuple[str, int]:
    space, number = _prefixed(role.id)
    return f"{space}_role", number


def _grant(*role_ids: str) -> list[Reference]:
    return [(Kind.ROLE, role_id) for role_id in role_ids if role_id != PUBLIC_ROLE_ID]


Owned = Cluster | Database | Item | Schema
"""An object with an owner and privileges."""


def _roles(owned: Owned) -> list[Reference]:
    """The owner, and the roles in the privileges."""
    return [
        (Kind.ROLE, owned.owner_role_id),
        *_grant(*(role for item in owned.privileges for role in (item.grantee, item.grantor))),
    ]


def _schema_references(schema: Schema) -> list[Reference]:
    database = [] if schema.database_id is None else [(Kind.DATABASE, schema.database_id)]
    return [*database, *_roles(schema)]


def _item_references(item: Item) -> list[Reference]:
    source = [] if item.progress is None else [(Kind.ITEM, item.progress.source_id)]
    return [(Kind.SCHEMA, item.schema_id), *_roles(item), *source]


def _default_privilege_references(privilege: DefaultPrivilege) -> list[Reference]:
    references = _grant(privilege.role_id, privilege.grantee)
    if privilege.database_id is not None:
        references.append((Kind.DATABASE, privilege.database_id))
    if privilege.schema_id is not None:
        references.append((Kind.SCHEMA, privilege.schema_id))
    return references


_SPECS = (
    _spec(Kind.AUDIT_LOG, AuditEvent, "id", allocated=lambda event: ("audit_log", event.id)),
    _spec(
        Kind.CLUSTER,
        Cluster,
        "id",
        unique="name",
        references=_roles,
        allocated=lambda cluster: ("cluster", cluster.id),
    ),
    _spec(
        Kind.CLUSTER_REPLICA,
        ClusterReplica,
        "id",
        unique="cluster_id name",
        references=lambda replica: ((Kind.CLUSTER, replica.cluster_id),),
        allocated=lambda replica: ("cluster_replica", replica.id),
    ),
    _spec(
        Kind.CLUSTER_INTROSPECTION_SOURCE_INDEX,
        ClusterIntrospectionSourceIndex,
        "cluster_id name",
        unique="index_id",
        references=lambda index: ((Kind.CLUSTER, index.cluster_id),),
        allocated=lambda index: _prefixed(index.index_id),
    ),
    _spec(
        Kind.COMMENT,
        Comment,
        "object_kind object_id column",
        references=lambda comment: (comment.target,),
    ),
    _spec(Kind.CONFIG, Config, "key"),
    _spec(
        Kind.DATABASE,
        Database,
        "id",
        unique="name",
        references=_roles,
        allocated=lambda database: ("database", database.id),
    ),
    _spec(
        Kind.DEFAULT_PRIVILEGE,
        DefaultPrivilege,
        "role_id database_id schema_id object_type grantee",
        references=_default_privilege_references,
    ),
    _spec(Kind.ID_ALLOCATOR, IdAllocator, "name"),
    _spec(
        Kind.ITEM,
        Item,
        "id",
        unique="schema_id name",
        references=_item_references,
        allocated=lambda item: _prefixed(item.id),
    ),
    _spec(
        Kind.ROLE,
        Role,
        "id",
        unique="name",
        references=lambda role: _grant(*role.membership, *role.membership.values()),
        allocated=_role_id,
    ),
    _spec(
        Kind.SCHEMA,
        Schema,
        "id",
        unique="database_id name",
        references=_schema_references,
        allocated=lambda schema: ("schema", schema.id),
    ),
    _spec(Kind.SETTING, Setting, "name"),
    _spec(
        Kind.SKIPPED_RANGE,
        SkippedRange,
        "source_id partition lower",
        references=lambda skipped: ((Kind.ITEM, skipped.source_id),),
    ),
    _spec(
        Kind.STORAGE_USAGE, StorageUsage, "id", allocated=lambda usage: ("storage_usage", usage.id)
    ),
    _spec(Kind.SYSTEM_CONFIGURATION, SystemConfiguration, "name"),
    _spec(
        Kind.SYSTEM_OBJECT_MAPPING,
        SystemObjectMapping,
        "schema_name object_type object_name",
        unique="id",
        allocated=lambda mapping: _prefixed(mapping.id),
    ),
    _spec(
        Kind.SYSTEM_PRIVILEGE,
        SystemPrivilege,
        "grantee grantor",
        references=lambda privilege: _grant(privilege.grantee, privilege.grantor),
    ),
    _spec(Kind.TIMESTAMP, TimelineFloor, "timeline"),
)

SPECS: Mapping[Kind, KindSpec] = {spec.kind: spec for spec in _SPECS}
_BY_TYPE: Mapping[type, KindSpec] = {spec.type: spec for spec in _SPECS}


DEPENDENT = (Kind.COMMENT, Kind.SKIPPED_RANGE)
"""Kinds that say something about another object, and are deleted with it."""


def spec_of(catalog_object: CatalogObject) -> KindSpec:
    """The rules of the object's kind."""
    return _BY_TYPE[type(catalog_object)]


def identity(catalog_object: CatalogObject) -> Reference:
    """Kind and key, which identify the object in the whole catalog."""
    spec = spec_of(catalog_object)
    return spec.kind, spec.key_of(catalog_object)


def key_order(key: Key) -> tuple[Any, ...]:
    """The sort key of a key: None first, numbers by value, ids such as ``u10`` after ``u9``."""
    parts = key if isinstance(key, tuple) else (key,)
    return tuple(_part_order(part) for part in parts)


def _part_order(part: Any) -> tuple[str, int, str]:
    match part:
        case None:
            return ("", -1, "")
        case int():
            return ("", part, "")
        case _:
            text = str(part)
            return (
                (text[:1], int(text[1:]), text)
                if text[1:].isdecimal() and text[1:].isascii()
                else (text[:1], -1, text)
            )


def label(catalog_object: CatalogObject) -> str:
    """The name of the object in messages: its name, or its key if it has none."""
    name = getattr(catalog_object, "name", None)
    return name if isinstance(name, str) else str(spec_of(catalog_object).key_of(catalog_object))
