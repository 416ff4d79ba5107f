"""Privileges and default privileges: GRANT and REVOKE."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.transaction.catalog_change import CatalogChange, defines
from reclock.catalog import acl
from reclock.catalog.acl import PUBLIC_ROLE_ID
from reclock.catalog.initial import SYSTEM_ROLE_ID
from reclock.catalog.objects import DefaultPrivilege, Kind, SystemPrivilege
from reclock.catalog.roles import Target, type_of
from reclock.sql.owned import name_of, role_name
from reclock.sql.statements.roles.privileges_plan import ChangeDefaultPrivileges, ChangePrivileges


@requires(ChangePrivileges)
def _(statement: ChangePrivileges, context: AuthorizationContext) -> Requirements:
    targets = tuple(target for target, _ in statement.privileges)
    return context.require(
        owner_of=tuple(target for target in targets if target is not None),
        superuser_to="grant or revoke privileges on the system" if None in targets else None,
    )


@defines(ChangePrivileges)
def _(statement: ChangePrivileges, change: CatalogChange) -> None:
    for target, privileges in statement.privileges:
        for grantee in statement.grantees:
            if target is None:
                _change_system(grantee, privileges, change, is_grant=statement.is_grant)
            else:
                _change_one(target, grantee, privileges, change, is_grant=statement.is_grant)


def _change_system(grantee: str, privileges: str, change: CatalogChange, *, is_grant: bool) -> None:
    before = change.tx.snapshot.get(Kind.SYSTEM_PRIVILEGE, (grantee, SYSTEM_ROLE_ID))
    old_privileges = before.privileges if before is not None else ""
    new_privileges = (
        acl.letters(old_privileges + privileges)
        if is_grant
        else acl.without(old_privileges, privileges)
    )
    if new_privileges:
        change.tx.put(SystemPrivilege(grantee, SYSTEM_ROLE_ID, new_privileges))
    elif before is not None:
        change.tx.delete(before)
    _audit_privileges(change, "system", "SYSTEM", grantee, privileges, is_grant=is_grant)


def _change_one(
    target: Target, grantee: str, privileges: str, change: CatalogChange, *, is_grant: bool
) -> None:
    assert target is not None
    owned_object: Any = change.tx.snapshot.get(*target)
    if not is_grant:
        new_privileges = acl.revoked(owned_object.privileges, grantee, privileges)
    elif grantee == owned_object.owner_role_id:
        new_privileges = owned_object.privileges  # an owner has them all without a grant
    else:
        new_privileges = acl.granted(
            owned_object.privileges, grantee, privileges, owned_object.owner_role_id
        )
    change.tx.update(replace(owned_object, privileges=new_privileges))
    _audit_privileges(
        change,
        type_of(owned_object),
        name_of(change.tx.snapshot, owned_object),
        grantee,
        privileges,
        is_grant=is_grant,
    )


def _audit_privileges(
    change: CatalogChange, type_: str, name: str, grantee: str, privileges: str, *, is_grant: bool
) -> None:
    verb, grantee_name = "grant" if is_grant else "revoke", role_name(change.tx.snapshot, grantee)
    change.audit(verb, type_, name, grantee=grantee_name, privileges=acl.names(privileges))


@requires(ChangeDefaultPrivileges)
def _(statement: ChangeDefaultPrivileges, context: AuthorizationContext) -> Requirements:
    is_for_all = PUBLIC_ROLE_ID in statement.owners
    return context.require(
        member_of=() if is_for_all else statement.owners,
        superuser_to="alter the default privileges of all roles" if is_for_all else None,
    )


@defines(ChangeDefaultPrivileges)
def _(statement: ChangeDefaultPrivileges, change: CatalogChange) -> None:
    for owner in statement.owners:
        for database_id, schema_id in statement.places:
            for grantee in statement.grantees:
                key = (owner, database_id, schema_id, statement.object_type, grantee)
                before = change.tx.snapshot.get(Kind.DEFAULT_PRIVILEGE, key)
                old_privileges = before.privileges if before is not None else ""
                new_privileges = (
                    acl.letters(old_privileges + statement.privileges)
                    if statement.is_grant
                    else acl.without(old_privileges, statement.privileges)
                )
                if new_privileges:
                    change.tx.put(DefaultPrivilege(*key, new_privileges))
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
