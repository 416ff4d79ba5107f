"""The roles of a session: the one it began with, and the one whose privileges it has now."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from reclock.catalog.snapshot import CatalogSnapshot
from reclock.errors import InvalidAuthorization
from reclock.sql.names import SessionNames


@dataclass(frozen=True, slots=True)
class Users:
    """Ids of roles, whose names may change during a session. ``SET ROLE`` changes
    ``current_id``."""

    session_id: str
    current_id: str

    @classmethod
    def of(cls, name: str, snapshot: CatalogSnapshot) -> Self:
        """The roles of a new session. Raises ``InvalidAuthorization`` if the role does not exist or
        may not log in."""
        role = snapshot.role_by_name(name)
        if role is None:
            raise InvalidAuthorization(f'role "{name}" does not exist')
        if "login" not in role.attributes:
            raise InvalidAuthorization(
                f'role "{name}" is not permitted to log in',
                hint=f'ALTER ROLE "{name}" LOGIN allows it',
            )
        return cls(role.id, role.id)

    def check(self, snapshot: CatalogSnapshot) -> None:
        """Raises ``InvalidAuthorization`` if one of the roles was dropped."""
        for id in (self.session_id, self.current_id):
            if id not in snapshot.roles:
                raise InvalidAuthorization(
                    "the role of this session was dropped",
                    hint="RESET ROLE, or begin another session",
                )

    def set_role(self, id: str | None) -> Self:
        """The roles after SET ROLE; None goes back to the role that the session began with."""
        return replace(self, current_id=self.session_id if id is None else id)

    def named(
        self, names: SessionNames, snapshot: CatalogSnapshot, search_path: tuple[str, ...]
    ) -> SessionNames:
        """``names`` with this search path and the values of ``session_user`` and
        ``current_user``."""
        session, current = (snapshot.roles.get(id) for id in (self.session_id, self.current_id))
        return replace(
            names,
            search_path=search_path,
            session_user=session.name if session else "",
            current_user=current.name if current else "",
        )
