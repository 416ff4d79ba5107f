"""Who may execute what: for every planned statement what it takes, decided before it runs.

The rules are Materialize's. Beyond them, USAGE of a database is needed to reach into it. What exists is visible to everyone: SHOW
and the system relations need no privilege.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import assert_never

from reclock.adapter.context.users import Users
from reclock.algebra.ids import GlobalId
from reclock.catalog.acl import PUBLIC_ROLE_ID, Privilege
from reclock.catalog.objects import Database, Item, Kind, Schema
from reclock.catalog.roles import Target, held, is_superuser, memberships, owns
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.errors import InternalError, PermissionDenied
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName
from reclock.sql.owned import described, role_name
from reclock.sql.planning.registry import PlannedStatement, Skipped
from reclock.sql.statements.clusters.plan import (
    AlterCluster,
    CreateCluster,
    CreateClusterReplica,
    DropClusterReplicas,
    DropClusters,
    RenameCluster,
)
from reclock.sql.statements.connections.plan import AlterSecret, CreateConnection, CreateSecret, ValidateConnection
from reclock.sql.statements.copy.plan import CopyFrom, CopyTo
from reclock.sql.statements.objects.plan import Drop, Rename
from reclock.sql.statements.query.values import Explain, Select
from reclock.sql.statements.roles.plan import AlterRole, ChangeMembership, CreateRole, DropRoles, RenameRole, SetRole
from reclock.sql.statements.roles.privileges_plan import (
    ChangeDefaultPrivileges,
    ChangeOwner,
    ChangePrivileges,
    DropOwned,
    ReassignOwned,
)
from reclock.sql.statements.schemas.plan import CreateSchema, DropSchemas
from reclock.sql.statements.session.plan import ResetVariable, SetDefault, SetVariable, ShowVariable
from reclock.sql.statements.sinks.plan import CreateSink
from reclock.sql.statements.sources.alter_plan import (
    ResnapshotSource,
    RestartPartition,
    RetainHistory,
    RetrySource,
    SkipRange,
    WaiveCheck,
)
from reclock.sql.statements.sources.plan import CreateSource
from reclock.sql.statements.subscribe.plan import SubscribeQuery
from reclock.sql.statements.tables.modify_plan import Modify, Truncate
from reclock.sql.statements.tables.plan import CreateTable
from reclock.sql.statements.transactions.plan import TransactionControl
from reclock.sql.statements.views.plan import CreateIndex, CreateView


@dataclass(frozen=True, slots=True)
class Need:
    """``role_id`` must hold ``privilege`` on ``target``."""

    target: Target
    privilege: Privilege
    role_id: str


@dataclass(frozen=True, slots=True)
class Requirements:
    """All that a statement takes. ``superuser_to`` says what only a superuser may do. ``role_id`` is who must be it all."""

    role_id: str
    needs: tuple[Need, ...] = ()
    owner_of: tuple[Target, ...] = ()
    member_of: tuple[str, ...] = ()
    superuser_to: str | None = None


def authorize(statement: PlannedStatement, catalog: PlannerCatalog, users: Users, cluster: str) -> None:
    """Whether ``users`` may execute ``statement`` with this active cluster. Raises ``PermissionDenied``."""
    snapshot = _snapshot(catalog)
    required = requirements(statement, catalog, users, cluster)
    if is_superuser(snapshot, required.role_id):
        return
    roles = memberships(snapshot, required.role_id)
    if required.superuser_to is not None:
        raise PermissionDenied(f"permission denied to {required.superuser_to}", detail="only superusers may do that")
    for target in required.owner_of:
        if not owns(snapshot, roles, target):
            raise PermissionDenied(f"must be owner of {described(snapshot, target)}")
    for role_id in required.member_of:
        if role_id not in roles:
            raise PermissionDenied(f'must be a member of role "{role_name(snapshot, role_id)}"')
    for need in required.needs:
        if need.privilege not in held(snapshot, need.role_id, need.target):
            raise PermissionDenied(
                f"permission denied for {described(snapshot, need.target)}",
                detail=f'role "{role_name(snapshot, need.role_id)}" needs {need.privilege.name} on it',
            )


def requirements(statement: PlannedStatement, catalog: PlannerCatalog, users: Users, cluster: str) -> Requirements:
    """What executing ``statement`` takes. A new kind of statement must say it here."""
    return Rules(catalog, _snapshot(catalog), users, cluster).of(statement)


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules for one session at one moment of the catalog."""

    catalog: PlannerCatalog
    snapshot: CatalogSnapshot
    users: Users
    cluster: str

    def of(self, statement: PlannedStatement) -> Requirements:
        match statement:
            case Select():
                return self._require(*self._reading(statement.depends_on))
            case Explain() | CopyTo() | SubscribeQuery():
                return self.of(statement.select)
            case CopyFrom():
                return self._require(*self._on(statement.table, Privilege.INSERT))
            case Modify():
                return self._require(*self._modifying(statement))
            case Truncate():
                return self._require(*(need for part in statement.parts for need in self._on(part.table, Privilege.DELETE)))
            case CreateSource() | CreateView():
                replaced = tuple((Kind.ITEM, id) for id in (statement.replaces if isinstance(statement, CreateView) else ()))
                needs = [*self._creating(statement.name), *self._arranging(statement.index)]
                if isinstance(statement, CreateSource):
                    needs += self._using(statement.depends_on)
                return self._require(*needs, owner_of=replaced)
            case CreateConnection():
                return self._require(*self._creating(statement.name), *self._using(statement.depends_on))
            case ValidateConnection():
                return self._require(*self._using([statement.id]))
            case AlterSecret():
                return self._require(owner_of=((Kind.ITEM, statement.id),))
            case CreateSecret():
                return self._require(*self._creating(statement.name))
            case CreateTable():
                read = self._reading(statement.query.depends_on) if statement.query is not None else ()
                return self._require(*self._creating(statement.name), *read)
            case CreateIndex():
                on: tuple[Target, ...] = ((Kind.ITEM, statement.on),) if statement.on is not None else ()
                return self._require(*self._creating(statement.name), *self._arranging(statement), owner_of=on)
            case CreateSink():
                there = replace(self, cluster=self.catalog.cluster_name(statement.cluster_id))
                needs = [*self._creating(statement.name), *there._reading([statement.on]), *self._using(statement.sink.uses)]
                return self._require(*needs, Need((Kind.CLUSTER, statement.cluster_id), Privilege.CREATE, self.users.current_id))
            case CreateSchema():
                need = Need((Kind.DATABASE, statement.database_id), Privilege.CREATE, self.users.current_id)
                return self._require(need)
            case DropSchemas():
                return self._require(owner_of=tuple((Kind.SCHEMA, id) for id in statement.ids))
            case Drop():
                return self._require(owner_of=tuple((Kind.ITEM, id) for id in sorted(statement.named)))
            case CreateCluster():
                return self._require(Need(None, Privilege.CREATECLUSTER, self.users.current_id))
            case AlterCluster() | RenameCluster():
                return self._require(owner_of=((Kind.CLUSTER, statement.id),))
            case DropClusters():
                return self._require(owner_of=tuple((Kind.CLUSTER, id) for id in statement.ids))
            case CreateClusterReplica():
                return self._require(owner_of=((Kind.CLUSTER, statement.cluster_id),))
            case DropClusterReplicas():
                return self._require(owner_of=tuple((Kind.CLUSTER, cluster_id) for cluster_id, _ in statement.replicas))
            case RetrySource() | ResnapshotSource() | WaiveCheck() | SkipRange() | RestartPartition() | RetainHistory() | Rename():
                return self._require(owner_of=((Kind.ITEM, statement.id),))
            case AlterRole() if statement.id == self.users.session_id and statement.attributes == statement.before:
                return self._require()  # nothing but the own password
            case CreateRole() | AlterRole() | RenameRole() | DropRoles() | ChangeMembership():
                return self._require(
                    Need(None, Privilege.CREATEROLE, self.users.current_id), superuser_to=self._reserved(statement)
                )
            case SetDefault():
                if statement.role_id is None:
                    return self._require(superuser_to="change the system's configuration")
                if statement.role_id in (self.users.current_id, self.users.session_id):
                    return self._require()
                reserved = "alter superusers" if is_superuser(self.snapshot, statement.role_id) else None
                return self._require(Need(None, Privilege.CREATEROLE, self.users.current_id), superuser_to=reserved)
            case ChangePrivileges():
                targets = tuple(target for target, _ in statement.privileges)
                return self._require(
                    owner_of=tuple(target for target in targets if target is not None),
                    superuser_to="grant or revoke privileges on the system" if None in targets else None,
                )
            case ChangeDefaultPrivileges():
                is_for_all = PUBLIC_ROLE_ID in statement.owners
                return self._require(
                    member_of=() if is_for_all else statement.owners,
                    superuser_to="alter the default privileges of all roles" if is_for_all else None,
                )
            case ChangeOwner():
                return self._require(
                    *self._placing(statement.target, statement.to), owner_of=(statement.target,), member_of=(statement.to,)
                )
            case ReassignOwned():
                return self._require(member_of=(*statement.role_ids, statement.to))
            case DropOwned():
                return self._require(member_of=statement.role_ids)
            case SetRole():
                return Requirements(self.users.session_id, member_of=(statement.id,) if statement.id is not None else ())
            case Skipped() | ShowVariable() | SetVariable() | ResetVariable() | TransactionControl():
                return self._require()
            case _:
                raise AssertionError(f"no rule for {statement!r}")

    def _require(
        self,
        *needs: Need,
        owner_of: tuple[Target, ...] = (),
        member_of: tuple[str, ...] = (),
        superuser_to: str | None = None,
    ) -> Requirements:
        return Requirements(self.users.current_id, tuple(dict.fromkeys(needs)), owner_of, member_of, superuser_to)

    # --- rows ---

    def _reading(self, ids: Iterable[GlobalId]) -> Iterator[Need]:
        """SELECT on what is named; of a view's parts, by its owner. System relations are everyone's, and need no cluster."""
        reads = [id for id in sorted(ids) if not id.startswith("s")]
        if reads and self.cluster in self.catalog.clusters:
            yield Need((Kind.CLUSTER, self.catalog.clusters[self.cluster]), Privilege.USAGE, self.users.current_id)
        waiting = [(id, self.users.current_id) for id in reads]
        seen = set(waiting)
        while waiting:
            id, role_id = waiting.pop(0)
            yield from self._on(id, Privilege.SELECT, role_id)
            entry = self.catalog.entry(id)
            if isinstance(entry, RelationEntry) and entry.query is not None:
                owner = self.snapshot.items[id].owner_role_id
                below = [(part, owner) for part in sorted(entry.depends_on) if not part.startswith("s")]
                waiting += [each for each in below if each not in seen]
                seen.update(below)

    def _modifying(self, statement: Modify) -> Iterator[Need]:
        """What is updated or deleted is read to be found; RETURNING reads."""
        reads = set(statement.depends_on)
        if statement.removes or statement.returning is not None:
            reads.add(statement.table)
        yield from self._on(statement.table, Privilege[statement.kind])
        yield from self._reading(reads)

    def _on(self, id: GlobalId, privilege: Privilege, role_id: str | None = None) -> Iterator[Need]:
        role_id = self.users.current_id if role_id is None else role_id
        item = self.snapshot.items[id]
        yield from self._within(self.snapshot.schemas[item.schema_id], role_id)
        yield Need((Kind.ITEM, id), privilege, role_id)

    def _within(self, schema: Schema, role_id: str, privilege: Privilege = Privilege.USAGE) -> Iterator[Need]:
        if schema.database_id is not None:
            yield Need((Kind.DATABASE, schema.database_id), Privilege.USAGE, role_id)
        yield Need((Kind.SCHEMA, schema.id), privilege, role_id)

    # --- definitions ---

    def _creating(self, name: QualifiedName) -> Iterator[Need]:
        if name.is_temporary:
            return
        database = self.snapshot.database_by_name(name.database) if name.database is not None else None
        schema = self.snapshot.schema_by_name(database.id if database is not None else None, name.schema)
        if schema is None:
            raise InternalError(f'schema of "{name}" is gone')
        yield from self._within(schema, self.users.current_id, Privilege.CREATE)

    def _using(self, ids: Iterable[GlobalId]) -> Iterator[Need]:
        for id in sorted(ids):
            yield from self._on(id, Privilege.USAGE)

    def _arranging(self, index: CreateIndex | None) -> Iterator[Need]:
        if index is not None:
            yield Need((Kind.CLUSTER, index.cluster_id), Privilege.CREATE, self.users.current_id)

    def _placing(self, target: Target, owner_id: str) -> Iterator[Need]:
        """The new owner could have made it there itself."""
        match self.snapshot.get(*target) if target is not None else None:
            case Item(schema_id=schema_id):
                yield Need((Kind.SCHEMA, schema_id), Privilege.CREATE, owner_id)
            case Schema(database_id=int(database_id)):
                yield Need((Kind.DATABASE, database_id), Privilege.CREATE, owner_id)
            case Database():
                yield Need(None, Privilege.CREATEDB, owner_id)
            case _:
                pass

    # --- roles ---

    def _reserved(
        self,
        statement: CreateRole | AlterRole | RenameRole | DropRoles | ChangeMembership,
    ) -> str | None:
        """What is done to superusers only superusers do."""
        match statement:
            case CreateRole():
                return "create superusers" if "superuser" in statement.attributes else None
            case AlterRole():
                return "alter superusers" if "superuser" in (*statement.attributes, *statement.before) else None
            case RenameRole():
                return "rename superusers" if is_superuser(self.snapshot, statement.id) else None
            case DropRoles():
                return "drop superusers" if any(is_superuser(self.snapshot, id) for id in statement.ids) else None
            case ChangeMembership():
                return "grant superusers" if any(is_superuser(self.snapshot, id) for id in statement.role_ids) else None
            case _:
                assert_never(statement)


def _snapshot(catalog: PlannerCatalog) -> CatalogSnapshot:
    assert catalog.snapshot is not None
    return catalog.snapshot
