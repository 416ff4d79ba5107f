"""Privileges, and the roles that have them."""

from __future__ import annotations

from reclock.errors.names import quoted_name
from reclock.errors.root import ReclockError


class SystemObjectProtected(ReclockError):
    """System schemas and their relations cannot be changed by a statement."""

    sqlstate = "42501"

    def __init__(self, name: str) -> None:
        super().__init__(f"{quoted_name(name)} is a system object and cannot be changed")
        self.name = name


class PermissionDenied(ReclockError):
    """The role of the session lacks a privilege, does not own the object, or is not a superuser."""

    sqlstate = "42501"


class InvalidGrant(ReclockError):
    """A GRANT that makes no sense: a privilege that objects of the type do not have, or roles that
    would contain each other."""

    sqlstate = "0LP01"


class InvalidAuthorization(ReclockError):
    """The role for a new session does not exist or may not log in."""

    sqlstate = "28000"


class RoleHasDependents(ReclockError):
    """A role cannot be dropped while it owns something, or privileges name it."""

    sqlstate = "2BP01"

    def __init__(self, name: str, dependents: list[str]) -> None:
        super().__init__(
            f"role {quoted_name(name)} cannot be dropped because some objects depend on it",
            detail="; ".join(dependents),
            hint="REASSIGN OWNED BY and DROP OWNED BY free a role of what depends on it",
        )
        self.name, self.dependents = name, dependents


class RoleInUse(ReclockError):
    """A session cannot drop its own role, or take from it what would lock everyone out."""

    sqlstate = "55006"
