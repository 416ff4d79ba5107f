"""Planned statements about roles, privileges and owners."""

from __future__ import annotations

from dataclasses import dataclass

from reclock.algebra.ids import GlobalId
from reclock.catalog.kinds import Reference
from reclock.catalog.roles import Target
from reclock.consensus.credentials.verifiers import NewPassword


@dataclass(frozen=True, slots=True)
class CreateRole:
    """``attributes`` are of ``catalog.objects.ROLE_ATTRIBUTES``."""

    name: str
    attributes: tuple[str, ...]
    password: NewPassword | None = None
    tag: str = "CREATE ROLE"


@dataclass(frozen=True, slots=True)
class AlterRole:
    """The role has ``attributes`` afterwards, instead of those it had ``before``."""

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
class SetDefault:
    """The default of a variable in later sessions: of a role, or of all (no role). No values is RESET; no variable, of all."""

    role_id: str | None
    variable: str | None
    values: tuple[str, ...] | None

    @property
    def tag(self) -> str:
        return "ALTER SYSTEM" if self.role_id is None else "ALTER ROLE"


@dataclass(frozen=True, slots=True)
class ChangeMembership:
    """Each of ``member_ids`` becomes, or is no more, a member of each of ``role_ids``."""

    is_grant: bool
    role_ids: tuple[str, ...]
    member_ids: tuple[str, ...]

    @property
    def tag(self) -> str:
        return "GRANT ROLE" if self.is_grant else "REVOKE ROLE"


@dataclass(frozen=True, slots=True)
class ChangePrivileges:
    """``privileges`` are letters for each target. ``grantees`` are roles' ids or ``PUBLIC_ROLE_ID``."""

    is_grant: bool
    privileges: tuple[tuple[Target, str], ...]
    grantees: tuple[str, ...]

    @property
    def tag(self) -> str:
        return "GRANT" if self.is_grant else "REVOKE"


@dataclass(frozen=True, slots=True)
class ChangeDefaultPrivileges:
    """Of objects of ``object_type`` that ``owners`` (or all, ``PUBLIC_ROLE_ID``) make later, in each of ``places``: database and
    schema, None being any."""

    is_grant: bool
    owners: tuple[str, ...]
    places: tuple[tuple[int | None, int | None], ...]
    object_type: str
    privileges: str
    grantees: tuple[str, ...]
    tag: str = "ALTER DEFAULT PRIVILEGES"


@dataclass(frozen=True, slots=True)
class ChangeOwner:
    """``target`` is what was named; its ``parts``, indexes and a progress relation, follow."""

    target: Reference
    parts: tuple[Reference, ...]
    to: str
    kind: str

    @property
    def tag(self) -> str:
        return f"ALTER {self.kind.upper()}"


@dataclass(frozen=True, slots=True)
class ReassignOwned:
    role_ids: tuple[str, ...]
    to: str
    tag: str = "REASSIGN OWNED"


@dataclass(frozen=True, slots=True)
class DropOwned:
    """``ids`` are the items that go, dependents first; privileges of the roles go too."""

    role_ids: tuple[str, ...]
    ids: tuple[GlobalId, ...]
    notices: tuple[str, ...] = ()
    tag: str = "DROP OWNED"


RoleStatement = (
    CreateRole
    | AlterRole
    | RenameRole
    | DropRoles
    | SetDefault
    | ChangeMembership
    | ChangePrivileges
    | ChangeDefaultPrivileges
    | ChangeOwner
    | ReassignOwned
    | DropOwned
)
