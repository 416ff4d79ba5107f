"""Statements that change the catalog, each as a change of one transaction."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Set
from dataclasses import dataclass, replace
from functools import singledispatch
from uuid import uuid4

from reclock.adapter.context.users import Users
from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.catalog.objects import Item, ItemType, Kind, Role, Schema, SourceProgress
from reclock.catalog.roles import default_acl
from reclock.catalog.transaction import CatalogTransaction
from reclock.consensus.credentials.verifiers import NewPassword
from reclock.errors import InternalError, InvalidOption, ReclockError
from reclock.runtime.environment import Environment
from reclock.sql.names import QualifiedName
from reclock.sql.statements.connections.plan import NewSecret
from reclock.sql.statements.objects.plan import Drop, Rename
from reclock.sql.statements.schemas.plan import CreateSchema, DropSchemas
from reclock.sql.statements.sinks.plan import CreateSink
from reclock.sql.statements.sources.alter_plan import RetainHistory
from reclock.sql.statements.sources.plan import CreateSource
from reclock.sql.statements.tables.plan import CreateTable
from reclock.sql.statements.views.plan import CreateIndex, CreateView
from reclock.sql.syntax.parse import parse_one


@dataclass(frozen=True, slots=True)
class NewTable:
    """What is kept for a table that the same transaction makes and fills."""

    id: GlobalId
    incarnation: str


class Change:
    """One attempt to carry out a definition: a transaction, who makes it, and the moment, of the data timeline, that new items
    begin at."""

    def __init__(self, environment: Environment, users: Users, tx: CatalogTransaction, begins_at: Timestamp) -> None:
        self.users, self.tx, self.begins_at = users, tx, begins_at
        self.now = environment.stores.clock()
        self.new_table: NewTable | None = None
        self._passwords = environment.stores.passwords
        self._new_passwords: dict[str, str] = {}
        """Verifiers by the reference that the catalog is to have."""
        self._old_passwords: list[str] = []
        self._secrets = environment.stores.secrets
        self._holds, self._actor, self._lease_ms = (
            environment.stores.holds,
            environment.stores.actor,
            environment.stores.settings.read_hold_lease_ms,
        )
        self._old_secrets: list[str] = []

    def fork(self, users: Users) -> Change:
        """Another change, by ``users``, that goes on from here, while this one stays as it is."""
        other = copy.copy(self)
        other.users, other.tx = users, self.tx.fork()
        other._new_passwords, other._old_passwords = dict(self._new_passwords), list(self._old_passwords)
        other._old_secrets = list(self._old_secrets)
        return other

    def audit(self, event_type: str, object_type: str, name: QualifiedName | str, **details: object) -> None:
        """Who did it is the role the session began with, whatever SET ROLE says."""
        user = self.tx.snapshot.roles[self.users.session_id].name
        self.tx.audit(event_type, object_type, str(name), user=user, occurred_at=self.now, details=details)

    def set_password(self, role_id: str, password: NewPassword | None) -> None:
        """The catalog names the new verifier, which is kept beside it; None changes nothing."""
        if password is None:
            return
        role = self.tx.snapshot.roles[role_id]
        self.forget_password(role)
        reference = None
        if password.verifier is not None:
            reference = uuid4().hex
            self._new_passwords[reference] = password.verifier
        self.tx.update(replace(role, password=reference))

    def forget_password(self, role: Role) -> None:
        """Once the change is committed, the verifier that the role has now is not kept any more."""
        if role.password is not None:
            self._old_passwords.append(role.password)

    def keep_passwords(self) -> None:
        """Before the change is committed: a role that needs a password never lacks its verifier."""
        if self._new_passwords:
            self._passwords.put(self._new_passwords)

    def discard_passwords(self) -> None:
        """Once it is certain that the change was not committed."""
        if self._new_passwords:
            self._passwords.forget(self._new_passwords)

    def forget_passwords(self) -> None:
        """Once the change is committed."""
        if self._old_passwords:
            self._passwords.forget(self._old_passwords)

    def keep_secret(self, secret: NewSecret) -> None:
        """The value is kept before the catalog says so; if the change is not committed, nobody knows where."""
        self._secrets.put(secret.reference, secret.value)

    def forget_secret(self, item: Item) -> None:
        """Once the change is carried out, the value that the item has now is not kept any more."""
        try:
            self._old_secrets.append(parse_one(item.create_sql or "").args["reference"].name)
        except (ReclockError, AttributeError, KeyError):
            return  # its definition is broken: nobody knows under which reference its value is

    def forget_secrets(self, *, but: Set[str]) -> None:
        """After everything else, that may need them; those in ``but`` are still needed, and maintenance sees to them."""
        if old := {*self._old_secrets} - but:
            self._secrets.forget(old)

    def keep_readable(self, groups: Iterable[str], at: Timestamp) -> None:
        """What is defined finds them readable at ``at`` when it comes to hold them itself. Raises ``NotReadable``."""
        self._holds.acquire(groups, at, owner=self._actor, lease_ms=self._lease_ms)

    def schema_id(self, name: QualifiedName) -> int:
        snapshot = self.tx.snapshot
        database = snapshot.database_by_name(name.database) if name.database else None
        schema = snapshot.schema_by_name(database.id if database else None, name.schema)
        if schema is None:
            raise InternalError(f'schema of "{name}" is gone')
        return schema.id

    def item(self, name: QualifiedName) -> Item | None:
        return self.tx.snapshot.item_by_name(self.schema_id(name), name.item)

    def insert(
        self,
        name: QualifiedName,
        type_: ItemType,
        create_sql: str | None,
        progress: SourceProgress | None = None,
        *,
        owned_like: Item | None = None,
        replaced: Item | None = None,
        begins_at: Timestamp | None = None,
    ) -> GlobalId:
        """A new item of the current role, or of the owner of ``owned_like``, with the default privileges; or in the place of
        ``replaced``, with its owner and privileges. It begins now, unless something else is said."""
        (id_, incarnation), schema_id = self._identity_of_new(type_), self.schema_id(name)
        model = replaced or owned_like
        owner = model.owner_role_id if model is not None else self.users.current_id
        if replaced is not None:
            privileges = replaced.privileges
        else:
            database_id = self.tx.snapshot.schemas[schema_id].database_id
            privileges = default_acl(self.tx.snapshot, owner, type_, schema_id, database_id)
        begins_at = self.begins_at if begins_at is None else begins_at
        self.tx.insert(Item(id_, schema_id, name.item, type_, create_sql, owner, begins_at, progress, privileges, incarnation))
        return id_

    def _identity_of_new(self, type_: ItemType) -> tuple[GlobalId, str]:
        if type_ is not ItemType.TABLE or self.new_table is None:
            return self.tx.allocate_user_id(), uuid4().hex
        self.tx.adopt_user_id(self.new_table.id)
        return self.new_table.id, self.new_table.incarnation


@singledispatch
def define(statement: object, change: Change) -> None:
    """Enter the definition into the change's transaction. Raises what the transaction raises."""
    raise InternalError(f"{type(statement).__name__} is no definition")


@define.register
def _(statement: CreateSource, change: Change) -> None:
    start = statement.source.start
    if start is not None and start > change.now:
        raise InvalidOption(f"a source cannot START at {start}, which is in the future", detail=f"it is {change.now}")
    id_ = change.insert(statement.name, ItemType.SOURCE, statement.create_sql, begins_at=start)
    progress = SourceProgress(id_, statement.source.progress_desc)
    change.insert(statement.progress_name, ItemType.SOURCE_PROGRESS, None, progress, begins_at=start)
    change.audit("create", "source", statement.name, id=id_, create_sql=statement.create_sql)
    for subsource in statement.subsources:
        sub_id = change.insert(subsource.name, ItemType.SOURCE, subsource.create_sql, begins_at=start)
        change.audit("create", "source", subsource.name, id=sub_id, create_sql=subsource.create_sql)
    if statement.index is not None:
        define(statement.index, change)


@define.register
def _(statement: CreateTable, change: Change) -> None:
    id_ = change.insert(statement.name, ItemType.TABLE, statement.create_sql)
    change.audit("create", "table", statement.name, id=id_, create_sql=statement.create_sql)


@define.register
def _(statement: CreateView, change: Change) -> None:
    old = change.item(statement.name)
    for replaced in statement.replaces:
        drop_item(change, replaced)
    id_ = change.insert(statement.name, ItemType.VIEW, statement.create_sql, replaced=old)
    change.audit("create", "view", statement.name, id=id_, create_sql=statement.create_sql)
    if statement.index is not None:
        define(statement.index, change)


@define.register
def _(statement: CreateIndex, change: Change) -> None:
    on = change.item(statement.on_name)
    id_ = change.insert(statement.name, ItemType.INDEX, statement.create_sql, owned_like=on)
    change.audit("create", "index", statement.name, id=id_, create_sql=statement.create_sql)


@define.register
def _(statement: CreateSink, change: Change) -> None:
    if statement.as_of is not None:
        change.keep_readable(statement.inputs, statement.as_of)
    id_ = change.insert(statement.name, ItemType.SINK, statement.create_sql, begins_at=statement.as_of)
    change.audit("create", "sink", statement.name, id=id_, create_sql=statement.create_sql)


@define.register
def _(statement: Drop, change: Change) -> None:
    for id_ in statement.ids:
        drop_item(change, id_)


@define.register
def _(statement: CreateSchema, change: Change) -> None:
    owner = change.users.current_id
    privileges = default_acl(change.tx.snapshot, owner, "schema", None, statement.database_id)
    change.tx.insert(Schema(change.tx.allocate_schema_id(), statement.database_id, statement.name, owner, privileges))
    change.audit("create", "schema", statement.name)


@define.register
def _(statement: DropSchemas, change: Change) -> None:
    for id_ in statement.items:
        drop_item(change, id_)
    for default in list(change.tx.snapshot.all(Kind.DEFAULT_PRIVILEGE).values()):
        if default.schema_id in statement.ids:
            change.tx.delete(default)
    for schema in [change.tx.snapshot.schemas[id] for id in statement.ids]:
        change.tx.delete(schema)
        change.audit("drop", "schema", schema.name)


@define.register
def _(statement: Rename, change: Change) -> None:
    for id_, create_sql in statement.create_sql:
        item = change.tx.snapshot.items[id_]
        name = statement.to.item if id_ == statement.id else item.name
        change.tx.update(replace(item, name=name, create_sql=create_sql))
    change.audit("alter", statement.kind, statement.name, renamed_to=str(statement.to))


@define.register
def _(statement: RetainHistory, change: Change) -> None:
    item = change.tx.snapshot.items[statement.id]
    change.tx.update(replace(item, create_sql=statement.create_sql))
    change.audit("alter", "source", statement.name, retain_history=statement.duration)


def drop_item(change: Change, id_: GlobalId) -> None:
    """It goes, and the audit log has it."""
    snapshot = change.tx.snapshot
    item = snapshot.items[id_]
    schema = snapshot.schemas[item.schema_id]
    database = snapshot.databases[schema.database_id].name if schema.database_id is not None else None
    change.tx.delete(item)
    if item.type is ItemType.SECRET:
        change.forget_secret(item)
    change.audit("drop", item.type.value, QualifiedName(database, schema.name, item.name), id=id_)
