"""Authorization: what each statement requires of the role, checked before the statement runs.

The rules are Materialize's. In addition, reaching into a database requires USAGE on it. Every role
sees what exists: SHOW and the system relations require no privilege. Each family of statements
registers its own rules with ``requires``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from reclock.adapter.context.registry import Registry
from reclock.adapter.context.users import Users
from reclock.algebra.ids import GlobalId
from reclock.catalog.acl import Privilege
from reclock.catalog.objects import Kind, Schema
from reclock.catalog.roles import Target, held_privileges, is_superuser, memberships, owns
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.errors import InternalError, PermissionDenied, quoted_name
from reclock.sql.catalog.entries import FunctionEntry, RelationEntry, TypeEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName
from reclock.sql.owned import described, role_name
from reclock.sql.planning.registry import PlannedStatement


@dataclass(frozen=True, slots=True)
class Need:
    """``role_id`` must hold ``privilege`` on ``target``."""

    target: Target
    privilege: Privilege
    role_id: str


@dataclass(frozen=True, slots=True)
class Requirements:
    """All that a statement requires of the role ``role_id``. ``superuser_to`` says what only a
    superuser may do."""

    role_id: str
    needs: tuple[Need, ...] = ()
    owner_of: tuple[Target, ...] = ()
    member_of: tuple[str, ...] = ()
    superuser_to: str | None = None


def authorize(
    statement: PlannedStatement, catalog: PlannerCatalog, users: Users, cluster: str
) -> None:
    """Check that ``users`` may execute ``statement`` with this active cluster. Raises
    ``PermissionDenied``."""
    snapshot = _snapshot(catalog)
    required = requirements(statement, catalog, users, cluster)
    if is_superuser(snapshot, required.role_id):
        return
    roles = memberships(snapshot, required.role_id)
    if required.superuser_to is not None:
        raise PermissionDenied(
            f"permission denied to {required.superuser_to}", detail="only superusers may do that"
        )
    for target in required.owner_of:
        if not owns(snapshot, roles, target):
            raise PermissionDenied(f"must be owner of {described(snapshot, target)}")
    for role_id in required.member_of:
        if role_id not in roles:
            raise PermissionDenied(f'must be a member of role "{role_name(snapshot, role_id)}"')
    for need in required.needs:
        if need.privilege not in held_privileges(snapshot, need.role_id, need.target):
            raise PermissionDenied(
                f"permission denied for {described(snapshot, need.target)}",
                detail=(
                    f'role "{role_name(snapshot, need.role_id)}" needs {need.privilege.name} on it'
                ),
            )


def requirements(
    statement: PlannedStatement, catalog: PlannerCatalog, users: Users, cluster: str
) -> Requirements:
    """What executing ``statement`` requires. Raises ``InternalError`` for a statement that
    registered no rule."""
    return AuthorizationContext(catalog, _snapshot(catalog), users, cluster).of(statement)


@dataclass(frozen=True, slots=True)
class AuthorizationContext:
    """The role, its active cluster and the catalog that a statement is authorized at."""

    catalog: PlannerCatalog
    snapshot: CatalogSnapshot
    users: Users
    cluster: str

    def of(self, statement: PlannedStatement) -> Requirements:
        """What ``statement`` requires."""
        return requires[type(statement)](statement, self)

    def require(
        self,
        *needs: Need,
        owner_of: tuple[Target, ...] = (),
        member_of: tuple[str, ...] = (),
        superuser_to: str | None = None,
    ) -> Requirements:
        """Requirements of the current role."""
        return Requirements(
            self.users.current_id, tuple(dict.fromkeys(needs)), owner_of, member_of, superuser_to
        )

    def need(self, target: Target, privilege: Privilege) -> Need:
        """``privilege`` on ``target``, for the current role."""
        return Need(target, privilege, self.users.current_id)

    def reading(self, ids: Iterable[GlobalId]) -> Iterator[Need]:
        """SELECT on the relations that a query names, and EXECUTE on the functions; what a view
        reads, its owner must be able to read, and what a function reads, its caller.

        System relations need no privilege and no cluster.
        """
        user_ids = [id for id in sorted(ids) if not id.startswith("s")]
        if user_ids and self.cluster in self.catalog.clusters:
            yield self.need((Kind.CLUSTER, self.catalog.clusters[self.cluster]), Privilege.USAGE)
        waiting = [(id, self.users.current_id) for id in user_ids]
        queued = set(waiting)
        while waiting:
            id, role_id = waiting.pop(0)
            entry = self.catalog.entry(id)
            if isinstance(entry, TypeEntry):  # which everybody may use
                continue
            is_function = isinstance(entry, FunctionEntry)
            privilege = Privilege.EXECUTE if is_function else Privilege.SELECT
            yield from self.on_item(id, privilege, role_id)
            is_view = isinstance(entry, RelationEntry) and entry.query is not None
            if entry is not None and (is_function or is_view):
                reader = role_id if is_function else self.snapshot.items[id].owner_role_id
                inputs = [
                    (input, reader)
                    for input in sorted(entry.depends_on)
                    if not input.startswith("s")
                ]
                waiting += [input for input in inputs if input not in queued]
                queued.update(inputs)

    def on_item(
        self, id: GlobalId, privilege: Privilege, role_id: str | None = None
    ) -> Iterator[Need]:
        """``privilege`` on an item, and USAGE of its schema and database; for the current role
        unless ``role_id`` is another."""
        role_id = self.users.current_id if role_id is None else role_id
        item = self.snapshot.items[id]
        yield from self._within(self.snapshot.schemas[item.schema_id], role_id)
        yield Need((Kind.ITEM, id), privilege, role_id)

    def using(self, ids: Iterable[GlobalId]) -> Iterator[Need]:
        """USAGE of connections and secrets."""
        for id in sorted(ids):
            yield from self.on_item(id, Privilege.USAGE)

    def creating(self, name: QualifiedName) -> Iterator[Need]:
        """CREATE in the schema of ``name``; nothing for a temporary object."""
        if name.is_temporary:
            return
        database = (
            self.snapshot.database_by_name(name.database) if name.database is not None else None
        )
        schema = self.snapshot.schema_by_name(
            database.id if database is not None else None, name.schema
        )
        if schema is None:
            raise InternalError(f"schema of {quoted_name(name)} is gone")
        yield from self._within(schema, self.users.current_id, Privilege.CREATE)

    def _within(
        self, schema: Schema, role_id: str, privilege: Privilege = Privilege.USAGE
    ) -> Iterator[Need]:
        if schema.database_id is not None:
            yield Need((Kind.DATABASE, schema.database_id), Privilege.USAGE, role_id)
        yield Need((Kind.SCHEMA, schema.id), privilege, role_id)


requires: Registry[Callable[[Any, AuthorizationContext], Requirements]] = Registry(
    "a rule of authorization"
)
"""Registers what statements of a type require."""


def _snapshot(catalog: PlannerCatalog) -> CatalogSnapshot:
    assert catalog.snapshot is not None
    return catalog.snapshot


def authorize_any(
    id: GlobalId, privileges: Sequence[Privilege], catalog: PlannerCatalog, users: Users
) -> None:
    """Raises ``PermissionDenied`` unless the role has one of the privileges on the item."""
    snapshot = _snapshot(catalog)
    letters = held_privileges(snapshot, users.current_id, (Kind.ITEM, id))
    if not any(privilege in letters for privilege in privileges):
        raise PermissionDenied(
            f"permission denied for {described(snapshot, (Kind.ITEM, id))}",
            detail=(
                f'role "{role_name(snapshot, users.current_id)}" needs {privileges[0].name} on it'
            ),
        )
