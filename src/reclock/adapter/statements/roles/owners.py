"""Owners: ALTER … OWNER, REASSIGN OWNED, DROP OWNED."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from reclock.adapter.planning.authorization import (
    AuthorizationContext,
    Need,
    Requirements,
    requires,
)
from reclock.adapter.transaction.catalog_change import CatalogChange, defines
from reclock.catalog import acl
from reclock.catalog.acl import Privilege
from reclock.catalog.kinds import Owned
from reclock.catalog.objects import Database, Item, Kind, Schema, SystemPrivilege
from reclock.catalog.roles import Target, acl_of, owned, type_of
from reclock.sql.owned import name_of, role_name
from reclock.sql.statements.roles.privileges_plan import ChangeOwner, DropOwned, ReassignOwned


@requires(ChangeOwner)
def _(statement: ChangeOwner, context: AuthorizationContext) -> Requirements:
    return context.require(
        *_placing(context, statement.target, statement.to),
        owner_of=(statement.target,),
        member_of=(statement.to,),
    )


@defines(ChangeOwner)
def _(statement: ChangeOwner, change: CatalogChange) -> None:
    things = [change.tx.snapshot.get(*target) for target in (statement.target, *statement.parts)]
    _give([item for item in things if item is not None], statement.to, change)


@requires(ReassignOwned)
def _(statement: ReassignOwned, context: AuthorizationContext) -> Requirements:
    return context.require(member_of=(*statement.role_ids, statement.to))


@defines(ReassignOwned)
def _(statement: ReassignOwned, change: CatalogChange) -> None:
    objects = owned(change.tx.snapshot)
    _give([o for o in objects if o.owner_role_id in statement.role_ids], statement.to, change)
    for member in list(change.tx.snapshot.roles.values()):
        granted = {
            of: statement.to if by in statement.role_ids else by
            for of, by in member.membership.items()
        }
        if granted != member.membership:
            change.tx.update(replace(member, membership=granted))
    for id in statement.role_ids:
        change.audit(
            "alter",
            "role",
            role_name(change.tx.snapshot, id),
            reassigned_owned_to=role_name(change.tx.snapshot, statement.to),
        )


def _give(objects: Sequence[Owned], to: str, change: CatalogChange) -> None:
    for object in objects:
        privileges = acl.with_owner(object.privileges, object.owner_role_id, to)
        change.tx.update(replace(object, owner_role_id=to, privileges=privileges))
        name = name_of(change.tx.snapshot, object)
        change.audit("alter", type_of(object), name, new_owner=role_name(change.tx.snapshot, to))


@requires(DropOwned)
def _(statement: DropOwned, context: AuthorizationContext) -> Requirements:
    return context.require(member_of=statement.role_ids)


@defines(DropOwned)
def _(statement: DropOwned, change: CatalogChange) -> None:
    for id in statement.ids:
        change.drop_item(id)
    for id, create_sql in statement.redefined:
        change.redefine(id, create_sql)
    for role_id in statement.role_ids:
        for object in list(owned(change.tx.snapshot)):
            remaining = acl.revoked(object.privileges, role_id)
            if remaining != object.privileges:
                change.tx.update(replace(object, privileges=remaining))
        for grant in acl_of(change.tx.snapshot, None):
            if grant.grantee == role_id:
                change.tx.delete(SystemPrivilege(grant.grantee, grant.grantor, grant.privileges))
        for default in list(change.tx.snapshot.all(Kind.DEFAULT_PRIVILEGE).values()):
            if role_id in (default.role_id, default.grantee):
                change.tx.delete(default)
        change.audit("drop", "owned", role_name(change.tx.snapshot, role_id))


def _placing(context: AuthorizationContext, target: Target, owner_id: str) -> Iterator[Need]:
    """The privilege that the new owner needs: the one to create such an object there."""
    match context.snapshot.get(*target) if target is not None else None:
        case Item(schema_id=schema_id):
            yield Need((Kind.SCHEMA, schema_id), Privilege.CREATE, owner_id)
        case Schema(database_id=int(database_id)):
            yield Need((Kind.DATABASE, database_id), Privilege.CREATE, owner_id)
        case Database():
            yield Need(None, Privilege.CREATEDB, owner_id)
        case _:
            pass
