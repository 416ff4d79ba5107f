"""Roles, privileges and owners, as changes of one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from reclock.adapter.context.variables import checked
from reclock.adapter.transaction.ddl import Change, define, drop_item
from reclock.catalog import acl
from reclock.catalog.initial import SYSTEM_ROLE_ID
from reclock.catalog.kinds import Owned
from reclock.catalog.objects import DefaultPrivilege, Kind, Role, SystemConfiguration, SystemPrivilege
from reclock.catalog.roles import Target, acl_of, owned, type_of
from reclock.errors import RoleInUse
from reclock.sql.owned import name_of, role_name
from reclock.sql.statements.roles.plan import AlterRole, ChangeMembership, CreateRole, DropRoles, RenameRole
from reclock.sql.statements.roles.privileges_plan import (
    ChangeDefaultPrivileges,
    ChangeOwner,
    ChangePrivileges,
    DropOwned,
    ReassignOwned,
)
from reclock.sql.statements.session.plan import SetDefault

# --- roles ---


@define.register
def _(statement: CreateRole, change: Change) -> None:
    id = change.tx.allocate_user_role_id()
    change.tx.insert(Role(id, statement.name, statement.attributes))
    change.set_password(id, statement.password)
    change.audit("create", "role", statement.name, attributes=list(statement.attributes))


@define.register
def _(statement: AlterRole, change: Change) -> None:
    lost = [attribute for attribute in statement.before if attribute not in statement.attributes]
    if lost and _is_own(statement.id, change):
        raise RoleInUse(f"a session cannot take {lost[0].upper()} from its own role", hint="another superuser can")
    change.tx.update(replace(_role(statement.id, change), attributes=statement.attributes))
    change.set_password(statement.id, statement.password)
    change.audit("alter", "role", statement.name, attributes=list(statement.attributes))


@define.register
def _(statement: RenameRole, change: Change) -> None:
    change.tx.update(replace(_role(statement.id, change), name=statement.to))
    change.audit("alter", "role", statement.name, renamed_to=statement.to)


@define.register
def _(statement: DropRoles, change: Change) -> None:
    if any(_is_own(id, change) for id in statement.ids):
        raise RoleInUse("current user cannot be dropped")
    for id in statement.ids:
        role = _role(id, change)
        change.forget_password(role)
        change.tx.delete(role)
        change.audit("drop", "role", role.name)
    for member in list(change.tx.snapshot.roles.values()):
        kept = {of: grantor for of, grantor in member.membership.items() if of not in statement.ids}
        if kept != member.membership:
            change.tx.update(replace(member, membership=kept))


@define.register
def _(statement: ChangeMembership, change: Change) -> None:
    for member_id in statement.member_ids:
        for role_id in statement.role_ids:
            member = _role(member_id, change)
            membership = {of: grantor for of, grantor in member.membership.items() if of != role_id}
            if statement.is_grant:
                membership[role_id] = member.membership.get(role_id, change.users.current_id)
            change.tx.update(replace(member, membership=membership))
            verb = "grant" if statement.is_grant else "revoke"
            change.audit(verb, "role", role_name(change.tx.snapshot, role_id), member=member.name)


def _role(id: str, change: Change) -> Role:
    return change.tx.snapshot.roles[id]


def _is_own(id: str, change: Change) -> bool:
    return id in (change.users.session_id, change.users.current_id)


# --- variables ---


@define.register
def _(statement: SetDefault, change: Change) -> None:
    name, value = statement.variable, ",".join(statement.values) if statement.values is not None else None
    if name is not None:
        name, value = checked(name, value)
    if statement.role_id is None:
        for configuration in list(change.tx.snapshot.all(Kind.SYSTEM_CONFIGURATION).values()):
            if value is None and name in (None, configuration.name):
                change.tx.delete(configuration)
        if name is not None and value is not None:
            change.tx.put(SystemConfiguration(name, value))
        change.audit("alter", "system", "SYSTEM", variable=name, value=value)
        return
    role = _role(statement.role_id, change)
    kept = {other: of for other, of in role.configuration.items() if name not in (None, other)}
    if name is not None and value is not None:
        kept[name] = value
    change.tx.update(replace(role, configuration=kept))
    change.audit("alter", "role", role.name, variable=name, value=value)


# --- privileges ---


@define.register
def _(statement: ChangePrivileges, change: Change) -> None:
    for target, privileges in statement.privileges:
        for grantee in statement.grantees:
            if target is None:
                _change_system(grantee, privileges, change, is_grant=statement.is_grant)
            else:
                _change_one(target, grantee, privileges, change, is_grant=statement.is_grant)


def _change_system(grantee: str, privileges: str, change: Change, *, is_grant: bool) -> None:
    before = change.tx.snapshot.get(Kind.SYSTEM_PRIVILEGE, (grantee, SYSTEM_ROLE_ID))
    held = before.privileges if before is not None else ""
    after = acl.letters(held + privileges) if is_grant else acl.without(held, privileges)
    if after:
        change.tx.put(SystemPrivilege(grantee, SYSTEM_ROLE_ID, after))
    elif before is not None:
        change.tx.delete(before)
    _audit_privileges(change, "system", "SYSTEM", grantee, privileges, is_grant=is_grant)


def _change_one(target: Target, grantee: str, privileges: str, change: Change, *, is_grant: bool) -> None:
    assert target is not None
    thing: Any = change.tx.snapshot.get(*target)
    if not is_grant:
        after = acl.revoked(thing.privileges, grantee, privileges)
    elif grantee == thing.owner_role_id:
        after = thing.privileges  # an owner has them all without a grant
    else:
        after = acl.granted(thing.privileges, grantee, privileges, thing.owner_role_id)
    change.tx.update(replace(thing, privileges=after))
    _audit_privileges(change, type_of(thing), name_of(change.tx.snapshot, thing), grantee, privileges, is_grant=is_grant)


def _audit_privileges(change: Change, type_: str, name: str, grantee: str, privileges: str, *, is_grant: bool) -> None:
    verb, who = "grant" if is_grant else "revoke", role_name(change.tx.snapshot, grantee)
    change.audit(verb, type_, name, grantee=who, privileges=acl.names(privileges))


@define.register
def _(statement: ChangeDefaultPrivileges, change: Change) -> None:
    for owner in statement.owners:
        for database_id, schema_id in statement.places:
            for grantee in statement.grantees:
                key = (owner, database_id, schema_id, statement.object_type, grantee)
                before = change.tx.snapshot.get(Kind.DEFAULT_PRIVILEGE, key)
                held = before.privileges if before is not None else ""
                after = acl.letters(held + statement.privileges) if statement.is_grant else acl.without(held, statement.privileges)
                if after:
                    change.tx.put(DefaultPrivilege(*key, after))
                elif before is not None:
                    change.tx.delete(before)
        verb = "grant" if statement.is_grant else "revoke"
        change.audit(
            "alter",
            "default-privileges",
            role_name(change.tx.snapshot, owner),
            **{verb: acl.names(statement.privileges)},
            on=statement.object_type,
            grantees=[role_name(change.tx.snapshot, grantee) for grantee in statement.grantees],
        )


# --- owners ---


@define.register
def _(statement: ChangeOwner, change: Change) -> None:
    things = [change.tx.snapshot.get(*target) for target in (statement.target, *statement.parts)]
    _give([thing for thing in things if thing is not None], statement.to, change)


@define.register
def _(statement: ReassignOwned, change: Change) -> None:
    _give([thing for thing in owned(change.tx.snapshot) if thing.owner_role_id in statement.role_ids], statement.to, change)
    for member in list(change.tx.snapshot.roles.values()):
        granted = {of: statement.to if by in statement.role_ids else by for of, by in member.membership.items()}
        if granted != member.membership:
            change.tx.update(replace(member, membership=granted))
    for id in statement.role_ids:
        change.audit("alter", "role", _role(id, change).name, reassigned_owned_to=_role(statement.to, change).name)


def _give(things: Sequence[Owned], to: str, change: Change) -> None:
    for thing in things:
        privileges = acl.with_owner(thing.privileges, thing.owner_role_id, to)
        change.tx.update(replace(thing, owner_role_id=to, privileges=privileges))
        name = name_of(change.tx.snapshot, thing)
        change.audit("alter", type_of(thing), name, new_owner=role_name(change.tx.snapshot, to))


@define.register
def _(statement: DropOwned, change: Change) -> None:
    for id in statement.ids:
        drop_item(change, id)
    for role_id in statement.role_ids:
        for thing in list(owned(change.tx.snapshot)):
            left = acl.revoked(thing.privileges, role_id)
            if left != thing.privileges:
                change.tx.update(replace(thing, privileges=left))
        for grant in acl_of(change.tx.snapshot, None):
            if grant.grantee == role_id:
                change.tx.delete(SystemPrivilege(grant.grantee, grant.grantor, grant.privileges))
        for default in list(change.tx.snapshot.all(Kind.DEFAULT_PRIVILEGE).values()):
            if role_id in (default.role_id, default.grantee):
                change.tx.delete(default)
        change.audit("drop", "owned", _role(role_id, change).name)
