"""The change that a DDL statement makes to the catalog, in one transaction."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4, uuid5

from reclock.adapter.context.registry import Registry
from reclock.adapter.context.users import Users
from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.catalog.objects import Comment, Item, ItemType, Kind, Role, SourceProgress
from reclock.catalog.roles import default_acl
from reclock.catalog.transaction import CatalogTransaction
from reclock.consensus.credentials.verifiers import NewPassword
from reclock.errors import InternalError, ReclockError, quoted_name
from reclock.runtime.environment import Environment
from reclock.sql.names import QualifiedName
from reclock.sql.planning.registry import PlannedStatement
from reclock.sql.statements.connections.plan import NewSecret
from reclock.sql.statements.views.plan import CreateIndex
from reclock.sql.syntax.parse import parse_one


@dataclass(frozen=True, slots=True)
class NewTable:
    """The identity that is reserved for a table that the same transaction creates and fills."""

    id: GlobalId
    incarnation: str


class CatalogChange:
    """One attempt to change the catalog: a transaction of the catalog, the role that makes it, and
    the time of the data timeline at which new items begin. Nothing is written before
    ``prepare_commit``."""

    def __init__(
        self, environment: Environment, users: Users, tx: CatalogTransaction, begins_at: Timestamp
    ) -> None:
        self.users, self.tx, self.begins_at = users, tx, begins_at
        self.now = environment.stores.clock()
        self.new_table: NewTable | None = None
        self.seed = uuid4()
        """Of the incarnations of the sequences that the statement creates."""
        self._passwords = environment.stores.passwords
        self._new_passwords: dict[str, str] = {}
        """Verifiers, by the reference that the catalog will hold."""
        self._old_passwords: list[str] = []
        self._secrets = environment.stores.secrets
        self._holds = environment.stores.holds
        self._actor = environment.stores.actor
        self._lease_ms = environment.stores.settings.read_hold_lease_ms
        self._new_secrets: list[NewSecret] = []
        self._old_secrets: list[str] = []
        self._new_holds: list[tuple[frozenset[str], Timestamp]] = []
        self._sequences = environment.stores.sequences
        self._old_sequences: list[str] = []

    def fork(self, users: Users) -> CatalogChange:
        """A copy by ``users`` that continues from here; this change stays as it is."""
        fork = copy.copy(self)
        fork.users, fork.tx = users, self.tx.fork()
        fork._new_passwords = dict(self._new_passwords)
        fork._old_passwords = list(self._old_passwords)
        fork._new_secrets, fork._old_secrets = list(self._new_secrets), list(self._old_secrets)
        fork._new_holds = list(self._new_holds)
        fork._old_sequences = list(self._old_sequences)
        return fork

    def audit(
        self, event_type: str, object_type: str, name: QualifiedName | str, **details: object
    ) -> None:
        """Record an event in the audit log, by the role that the session began with, whatever SET
        ROLE says."""
        user = self.tx.snapshot.roles[self.users.session_id].name
        self.tx.audit(
            event_type, object_type, str(name), user=user, occurred_at=self.now, details=details
        )

    def set_password(self, role_id: str, password: NewPassword | None) -> None:
        """Make the role refer to the new verifier, which is stored outside the catalog. None
        changes nothing."""
        if password is None:
            return
        role = self.tx.snapshot.roles[role_id]
        self.replace_password(role)
        reference = None
        if password.verifier is not None:
            reference = uuid4().hex
            self._new_passwords[reference] = password.verifier
        self.tx.update(replace(role, password=reference))

    def replace_password(self, role: Role) -> None:
        """Delete the verifier that the role has now, once the change is committed."""
        if role.password is not None:
            self._old_passwords.append(role.password)

    def prepare_commit(self) -> None:
        """Store the new verifiers and secrets, so that what refers to them never lacks them, and
        take the read holds of new objects. Raises ``NotReadable``."""
        if self._new_passwords:
            self._passwords.put(self._new_passwords)
        for secret in self._new_secrets:
            self._secrets.put(secret.reference, secret.value)
        for groups, at in self._new_holds:
            self._holds.acquire(groups, at, owner=self._actor, lease_ms=self._lease_ms)

    def undo_preparation(self) -> None:
        """Delete the new verifiers and secrets. Call it once it is certain that the change was not
        committed."""
        if self._new_passwords:
            self._passwords.forget(self._new_passwords)
        if self._new_secrets:
            self._secrets.forget({secret.reference for secret in self._new_secrets})

    def delete_old_passwords(self) -> None:
        """Delete the old verifiers. Call it once the change is committed."""
        if self._old_passwords:
            self._passwords.forget(self._old_passwords)

    def store_secret(self, secret: NewSecret) -> None:
        """Store the value before the commit."""
        self._new_secrets.append(secret)

    def replace_secret(self, item: Item) -> None:
        """Delete the value that the item has now, once the change is committed."""
        try:
            self._old_secrets.append(parse_one(item.create_sql or "").args["reference"].name)
        except (ReclockError, AttributeError, KeyError):
            return  # the definition is broken, so the reference of its value is unknown

    def delete_old_secrets(self, *, still_needed: Set[str]) -> None:
        """Delete the old values. Call it last; maintenance deletes the values that are
        ``still_needed`` later."""
        if old := {*self._old_secrets} - still_needed:
            self._secrets.forget(old)

    def delete_old_sequences(self) -> None:
        """Delete the positions of the sequences that are dropped. Call it once the change is
        committed."""
        if self._old_sequences:
            self._sequences.forget(self._old_sequences)

    def hold_readable(self, groups: Iterable[str], at: Timestamp) -> None:
        """Hold ``groups`` at ``at`` from the commit on, until the new object takes its own read
        hold."""
        self._new_holds.append((frozenset(groups), at))

    def schema_id(self, name: QualifiedName) -> int:
        snapshot = self.tx.snapshot
        database = snapshot.database_by_name(name.database) if name.database else None
        schema = snapshot.schema_by_name(database.id if database else None, name.schema)
        if schema is None:
            raise InternalError(f"schema of {quoted_name(name)} is gone")
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
        has_comments: bool = True,
        begins_at: Timestamp | None = None,
    ) -> GlobalId:
        """Create an item and return its id.

        Its owner is the current role, or the owner of ``owned_like``, and it has the default
        privileges. An item in the place of ``replaced`` takes its owner, privileges and, unless
        ``has_comments`` is False, comments. It begins now unless ``begins_at`` says otherwise.
        """
        (id_, incarnation), schema_id = self._identity_of_new(type_, name), self.schema_id(name)
        model = replaced or owned_like
        owner = model.owner_role_id if model is not None else self.users.current_id
        if replaced is not None:
            privileges = replaced.privileges
        else:
            database_id = self.tx.snapshot.schemas[schema_id].database_id
            privileges = default_acl(self.tx.snapshot, owner, type_, schema_id, database_id)
        begins_at = self.begins_at if begins_at is None else begins_at
        self.tx.insert(
            Item(
                id_,
                schema_id,
                name.item,
                type_,
                create_sql,
                owner,
                begins_at,
                progress,
                privileges,
                incarnation,
            )
        )
        if replaced is not None and has_comments:
            comments: list[Comment] = list(self.tx.base.all(Kind.COMMENT).values())
            for comment in comments:
                if comment.target == (Kind.ITEM, replaced.id):
                    self.tx.put(replace(comment, object_id=id_))
        return id_

    def replace_item(
        self, id_: GlobalId, create_sql: str, renamed: Mapping[str, str] | None = None
    ) -> None:
        """Give an item another definition and another id. It keeps owner, privileges and comments;
        ``renamed`` has the new name of each column whose comment it keeps."""
        snapshot = self.tx.snapshot
        item: Item = snapshot.items[id_]
        schema = snapshot.schemas[item.schema_id]
        databases = snapshot.databases
        database = databases[schema.database_id].name if schema.database_id is not None else None
        comments: list[Comment] = [
            comment
            for comment in snapshot.all(Kind.COMMENT).values()
            if comment.target == (Kind.ITEM, id_)
        ]
        self.tx.delete(item)
        name = QualifiedName(database, schema.name, item.name)
        new_id = self.insert(name, item.type, create_sql, replaced=item, has_comments=False)
        for comment in comments:
            column = comment.column
            if column and renamed is not None:
                if column not in renamed:
                    continue
                column = renamed[column]
            self.tx.put(replace(comment, object_id=new_id, column=column))

    def copy_column_comments(
        self, sources: Collection[GlobalId], target: GlobalId, columns: Collection[str]
    ) -> None:
        """Give ``columns`` of the item ``target`` the comments of columns of the same names."""
        comments: list[Comment] = list(self.tx.snapshot.all(Kind.COMMENT).values())
        for comment in comments:
            kind, id_ = comment.target
            if kind is Kind.ITEM and id_ in sources and comment.column in columns:
                self.tx.put(replace(comment, object_id=target))

    def insert_sequence(self, name: QualifiedName, create_sql: str) -> None:
        """Create a sequence."""
        id_ = self.insert(name, ItemType.SEQUENCE, create_sql)
        self.audit("create", "sequence", name, id=id_, create_sql=create_sql)

    def redefine(self, id_: GlobalId, create_sql: str) -> None:
        """Give an item another definition."""
        self.tx.update(replace(self.tx.snapshot.items[id_], create_sql=create_sql))

    def insert_index(self, index: CreateIndex) -> None:
        """Create an index, owned by the owner of its relation."""
        on = self.item(index.on_name)
        id_ = self.insert(index.name, ItemType.INDEX, index.create_sql, owned_like=on)
        self.audit("create", "index", index.name, id=id_, create_sql=index.create_sql)

    def drop_item(self, id_: GlobalId) -> None:
        """Delete an item and record it in the audit log."""
        snapshot = self.tx.snapshot
        item = snapshot.items[id_]
        schema = snapshot.schemas[item.schema_id]
        database = (
            snapshot.databases[schema.database_id].name if schema.database_id is not None else None
        )
        self.tx.delete(item)
        if item.type is ItemType.SECRET:
            self.replace_secret(item)
        if item.type is ItemType.SEQUENCE:
            self._old_sequences.append(item.incarnation)
        self.audit("drop", item.type.value, QualifiedName(database, schema.name, item.name), id=id_)

    def _identity_of_new(self, type_: ItemType, name: QualifiedName) -> tuple[GlobalId, str]:
        if type_ is ItemType.SEQUENCE:  # may be used before the commit, under this incarnation
            return self.tx.allocate_user_id(), uuid5(self.seed, name.item).hex
        if type_ is not ItemType.TABLE or self.new_table is None:
            return self.tx.allocate_user_id(), uuid4().hex
        self.tx.adopt_user_id(self.new_table.id)
        return self.new_table.id, self.new_table.incarnation


defines: Registry[Callable[[Any, CatalogChange], None]] = Registry("a definition")
"""Registers how statements of a type change the catalog."""


def define(statement: PlannedStatement, change: CatalogChange) -> None:
    """Enter the definition into the change's transaction. Raises what the transaction raises."""
    defines[type(statement)](statement, change)
