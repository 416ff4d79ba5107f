"""The rights of a role: membership, ownership and grants, by PostgreSQL's rules."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from reclock.catalog.acl import LETTERS, PUBLIC_ROLE_ID, Acl, AclItem, letters
from reclock.catalog.kinds import Owned, Reference
from reclock.catalog.objects import Item, Kind, Schema, SystemPrivilege
from reclock.catalog.snapshot import CatalogSnapshot

Target = Reference | None
"""The object that privileges are on: a cluster, database, schema or item. None is the environment
as a whole."""

OWNED_KINDS = (Kind.CLUSTER, Kind.DATABASE, Kind.SCHEMA, Kind.ITEM)

APPLICABLE: Mapping[str, str] = {
    "table": "arwd",
    "source": "r",
    "source_progress": "r",
    "view": "r",
    "index": "",
    "sink": "",
    "secret": "U",
    "connection": "U",
    "sequence": "rwU",
    "function": "X",
    "type": "",
    "schema": "UC",
    "database": "UC",
    "cluster": "UC",
    "system": "RBN",
}
"""The privileges that can be granted on each type of object."""


def memberships(snapshot: CatalogSnapshot, role_id: str) -> frozenset[str]:
    """The role, and every role it is a member of, directly or through others."""
    members: set[str] = set()
    waiting = [role_id]
    while waiting:
        id = waiting.pop()
        role = snapshot.roles.get(id)
        if id not in members and role is not None:
            members.add(id)
            waiting += role.membership
    return frozenset(members)


def is_superuser(snapshot: CatalogSnapshot, role_id: str) -> bool:
    """Whether the role itself has the attribute, which is not inherited."""
    role = snapshot.roles.get(role_id)
    return role is not None and "superuser" in role.attributes


def type_of(owned: Owned) -> str:
    """``source``, ``view``, …, ``schema``, ``database`` or ``cluster``."""
    return owned.type.value if isinstance(owned, Item) else type(owned).__name__.lower()


def owned(snapshot: CatalogSnapshot) -> Iterator[Owned]:
    """Every object with an owner, in order of id within each kind."""
    for kind in OWNED_KINDS:
        yield from snapshot.sorted(kind)


def is_system(owned: Owned) -> bool:
    """Whether the object belongs to the system, so that nobody can change it. The default cluster
    does not."""
    return isinstance(owned, Schema) and owned.database_id is None


def acl_of(snapshot: CatalogSnapshot, target: Target) -> Acl:
    """The grants on ``target``."""
    if target is None:
        grants: Mapping[object, SystemPrivilege] = snapshot.all(Kind.SYSTEM_PRIVILEGE)
        return tuple(
            AclItem(grant.grantee, grant.privileges, grant.grantor) for grant in grants.values()
        )
    owned: Owned | None = snapshot.get(*target)
    return () if owned is None else owned.privileges


def shown_acl(owned: Owned) -> Acl:
    """The privileges of its owner, which need no grant, and then the grants on it."""
    letters_of_owner = APPLICABLE[type_of(owned)]
    item = (
        AclItem(owned.owner_role_id, letters_of_owner, owned.owner_role_id)
        if letters_of_owner
        else None
    )
    return owned.privileges if item is None else (item, *owned.privileges)


def held_privileges(snapshot: CatalogSnapshot, role_id: str, target: Target) -> str:
    """The privileges that the role has on ``target``: its own, inherited and PUBLIC's; all of them
    if it owns ``target``."""
    roles = memberships(snapshot, role_id)
    if is_superuser(snapshot, role_id) or owns(snapshot, roles, target):
        return LETTERS
    grantees = roles | {PUBLIC_ROLE_ID}
    return letters(
        "".join(item.privileges for item in acl_of(snapshot, target) if item.grantee in grantees)
    )


def owns(snapshot: CatalogSnapshot, roles: Collection[str], target: Target) -> bool:
    """Whether one of ``roles`` is the owner. Superusers own the environment as a whole."""
    owned: Owned | None = snapshot.get(*target) if target is not None else None
    return owned is not None and owned.owner_role_id in roles


def default_acl(
    snapshot: CatalogSnapshot,
    owner_role_id: str,
    type_: str,
    schema_id: int | None,
    database_id: int | None,
) -> Acl:
    """The default privileges (ALTER DEFAULT PRIVILEGES) of a new object of this owner, type and
    place, granted by the owner. Everybody may execute a new function."""
    object_type = "table" if type_ in ("table", "source", "source_progress", "view") else type_
    collected: dict[str, str] = {PUBLIC_ROLE_ID: "X"} if type_ == "function" else {}
    for default in snapshot.sorted(Kind.DEFAULT_PRIVILEGE):
        if (
            default.object_type == object_type
            and default.role_id in (owner_role_id, PUBLIC_ROLE_ID)
            and default.schema_id in (None, schema_id)
            and default.database_id in (None, database_id)
            and default.grantee != owner_role_id
        ):
            collected[default.grantee] = collected.get(default.grantee, "") + default.privileges
    applicable = APPLICABLE[type_]
    grants = {
        grantee: letters(set(privileges) & set(applicable))
        for grantee, privileges in collected.items()
    }
    return tuple(
        AclItem(grantee, privileges, owner_role_id)
        for grantee, privileges in grants.items()
        if privileges
    )
