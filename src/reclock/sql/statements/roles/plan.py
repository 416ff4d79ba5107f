"""CREATE, ALTER and DROP ROLE; membership; SET ROLE."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from reclock.catalog.acl import PUBLIC_ROLE_ID
from reclock.catalog.kinds import identity, spec_of
from reclock.catalog.objects import (
    ROLE_ATTRIBUTES,
    Cluster,
    Database,
    DefaultPrivilege,
    Item,
    Kind,
    Role,
    Schema,
    SystemPrivilege,
)
from reclock.catalog.roles import memberships
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.consensus.credentials.verifiers import NewPassword, stored_password
from reclock.errors import (
    DuplicateObject,
    InvalidGrant,
    InvalidOption,
    ReservedName,
    RoleHasDependents,
    SystemObjectProtected,
    UnknownObject,
)
from reclock.sql.catalog.lookups import snapshot_of
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, fold, nearest
from reclock.sql.owned import described, role_name
from reclock.sql.planning.registry import Skipped, plans
from reclock.sql.statements.roles.privileges_syntax import MembershipStatement
from reclock.sql.statements.roles.syntax import (
    AlterRoleRenameStatement,
    AlterRoleStatement,
    CreateRoleStatement,
    DropRolesStatement,
)
from reclock.sql.syntax import nodes
from reclock.sql.syntax.consumption import consume
from reclock.sql.syntax.nodes import HIDDEN, Statement

_RESERVED = ("public", "none", "current_user", "current_role", "session_user")
_RESERVED_PREFIXES = ("mz_", "pg_")


def find_role(node: exp.Expr, catalog: PlannerCatalog, session: SessionNames) -> Role:
    """The role of this name; ``current_user`` and similar words mean the session's. Raises
    ``UnknownObject``."""
    snapshot = snapshot_of(catalog)
    name = fold(node)
    if not node.args.get("quoted"):
        name = {
            "current_user": session.current_user,
            "current_role": session.current_user,
            "session_user": session.session_user,
        }.get(name, name)
    role = snapshot.role_by_name(name)
    if role is None:
        raise UnknownObject(
            "role", name, hint=nearest(name, [role.name for role in snapshot.roles.values()])
        )
    return role


def role_ids(
    nodes: Sequence[exp.Expr], catalog: PlannerCatalog, session: SessionNames
) -> tuple[str, ...]:
    return tuple(dict.fromkeys(find_role(node, catalog, session).id for node in nodes))


def grantee_ids(
    nodes: Sequence[exp.Expr], catalog: PlannerCatalog, session: SessionNames
) -> tuple[str, ...]:
    """As ``role_ids``; PUBLIC stands for every role."""
    return tuple(
        dict.fromkeys(
            PUBLIC_ROLE_ID if fold(node) == "public" else find_role(node, catalog, session).id
            for node in nodes
        )
    )


def user_role(node: exp.Expr, catalog: PlannerCatalog, session: SessionNames) -> Role:
    """A role that may be changed. Raises ``SystemObjectProtected`` for the system's roles."""
    role = find_role(node, catalog, session)
    if role.id.startswith("s"):
        raise SystemObjectProtected(role.name)
    return role


def _new_name(node: exp.Expr, catalog: PlannerCatalog) -> str:
    name = fold(node)
    if name in _RESERVED or name.startswith(_RESERVED_PREFIXES):
        raise ReservedName(
            name,
            hint='names of roles do not begin with "mz_" or "pg_"'
            if name not in _RESERVED
            else None,
        )
    if snapshot_of(catalog).role_by_name(name) is not None:
        raise DuplicateObject("role", name)
    return name


# --- roles ---


@plans(CreateRoleStatement)
def create_role(
    node: CreateRoleStatement, catalog: PlannerCatalog, session: SessionNames
) -> CreateRole:
    return CreateRole(_new_name(node.this, catalog), _attributes(node, ()), _password(node))


@plans(AlterRoleStatement)
def alter_role(
    node: AlterRoleStatement, catalog: PlannerCatalog, session: SessionNames
) -> AlterRole:
    role = user_role(node.this, catalog, session)
    return AlterRole(
        role.id, role.name, _attributes(node, role.attributes), role.attributes, _password(node)
    )


def _password(node: Statement) -> NewPassword | None:
    """The verifier of the password that the statement hides. Raises ``InvalidOption`` for one that
    cannot be used."""
    password = node.args.get("password")
    if password is None:
        return None
    consume(password)
    return NewPassword(
        stored_password(password.meta.get(HIDDEN, ""))
        if isinstance(password, exp.Literal)
        else None
    )


def _attributes(node: nodes.Statement, before: Sequence[str]) -> tuple[str, ...]:
    words = {attribute.name.lower() for attribute in node.args.get("attributes") or ()}
    return tuple(
        attribute
        for attribute in ROLE_ATTRIBUTES
        if attribute in words or (attribute in before and f"no{attribute}" not in words)
    )


@plans(AlterRoleRenameStatement)
def rename_role(
    node: AlterRoleRenameStatement, catalog: PlannerCatalog, session: SessionNames
) -> RenameRole:
    role = user_role(node.this, catalog, session)
    return RenameRole(role.id, role.name, _new_name(node.args["to"], catalog))


@plans(DropRolesStatement)
def drop_roles(
    node: DropRolesStatement, catalog: PlannerCatalog, session: SessionNames
) -> DropRoles | Skipped:
    snapshot = snapshot_of(catalog)
    roles, notices = dict[str, Role](), list[str]()
    for name in node.args["names"]:
        if node.args.get("exists") and snapshot.role_by_name(fold(name)) is None:
            notices.append(f'role "{fold(name)}" does not exist, skipping')
            continue
        role = user_role(name, catalog, session)
        roles[role.id] = role
    if not roles:
        return Skipped("DROP ROLE", "; ".join(notices))
    for role in roles.values():
        dependents = list(_dependents(snapshot, role.id, roles))
        if dependents:
            raise RoleHasDependents(role.name, dependents)
    return DropRoles(tuple(roles), tuple(notices))


def _dependents(snapshot: CatalogSnapshot, role_id: str, dropped: dict[str, Role]) -> Iterator[str]:
    """The objects that prevent a role from being dropped, in PostgreSQL's words. Memberships do
    not."""
    referrers = snapshot.referrers(Kind.ROLE, role_id)
    for object in sorted(
        referrers, key=lambda object: (spec_of(object).kind, str(spec_of(object).key_of(object)))
    ):
        match object:
            case Cluster() | Database() | Schema() | Item():
                description = described(snapshot, identity(object))
                if object.owner_role_id == role_id:
                    yield f"owner of {description}"
                if any(item.grantee == role_id for item in object.privileges):
                    yield f"privileges for {description}"
            case SystemPrivilege():
                yield "privileges for SYSTEM"
            case DefaultPrivilege():
                yield f"default privileges of objects of {role_name(snapshot, object.role_id)}"
            case Role() if object.id not in dropped:
                yield from (
                    (
                        f'grantor of the membership of role "{object.name}" in role '
                        f'"{role_name(snapshot, of)}"'
                    )
                    for of, grantor in object.membership.items()
                    if grantor == role_id and of not in dropped
                )
            case _:
                pass


# --- membership ---


@plans(MembershipStatement)
def change_membership(
    node: MembershipStatement, catalog: PlannerCatalog, session: SessionNames
) -> ChangeMembership:
    snapshot = snapshot_of(catalog)
    is_grant = node.args["verb"] == "GRANT"
    roles = role_ids(node.args["roles"], catalog, session)
    members = tuple(user_role(member, catalog, session).id for member in node.args["members"])
    for role in roles:
        if role.startswith("s"):
            raise SystemObjectProtected(role_name(snapshot, role))
        for member in members:
            if is_grant and member in memberships(snapshot, role):
                raise InvalidGrant(
                    f'role "{role_name(snapshot, role)}" is a member of role '
                    f'"{role_name(snapshot, member)}"'
                )
    return ChangeMembership(is_grant, roles, members)


# --- SET ROLE ---


def set_role(name: str, catalog: PlannerCatalog) -> SetRole:
    """SET ROLE to a role that exists. Raises ``InvalidOption``, as for any value of a variable."""
    if name == "none":
        return SetRole(None, name)
    try:
        role = find_role(exp.to_identifier(name, quoted=True), catalog, SessionNames())
    except UnknownObject as error:
        raise InvalidOption(error.message, hint=error.hint) from error
    return SetRole(role.id, role.name)


@dataclass(frozen=True, slots=True)
class SetRole:
    """Give the session the privileges of this role; None means its own."""

    id: str | None
    name: str
    tag: str = "SET"


@dataclass(frozen=True, slots=True)
class CreateRole:
    """``attributes`` are of ``catalog.objects.ROLE_ATTRIBUTES``."""

    name: str
    attributes: tuple[str, ...]
    password: NewPassword | None = None
    tag: str = "CREATE ROLE"


@dataclass(frozen=True, slots=True)
class AlterRole:
    """Give the role ``attributes``, in place of ``before``."""

    id: str
    name: str
    attributes: tuple[str, ...]
    before: tuple[str, ...]
    password: NewPassword | None = None
    tag: str = "ALTER ROLE"


@dataclass(frozen=True, slots=True)
class RenameRole:
    id: str
    name: str
    to: str
    tag: str = "ALTER ROLE"


@dataclass(frozen=True, slots=True)
class DropRoles:
    ids: tuple[str, ...]
    notices: tuple[str, ...] = ()
    tag: str = "DROP ROLE"


@dataclass(frozen=True, slots=True)
class ChangeMembership:
    """Add or remove each of ``member_ids`` as a member of each of ``role_ids``."""

    is_grant: bool
    role_ids: tuple[str, ...]
    member_ids: tuple[str, ...]

    @property
    def tag(self) -> str:
        return "GRANT ROLE" if self.is_grant else "REVOKE ROLE"
