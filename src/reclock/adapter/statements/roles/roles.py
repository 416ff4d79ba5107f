"""Roles, memberships, and the defaults of variables for roles and the system."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from reclock.adapter.context.results import Result
from reclock.adapter.context.variable_values import text_of_values
from reclock.adapter.context.variables import ROLE, checked
from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.statement_context import StatementContext, executes
from reclock.adapter.transaction.catalog_change import CatalogChange, defines
from reclock.catalog.acl import Privilege
from reclock.catalog.objects import Kind, Role, SystemConfiguration
from reclock.catalog.roles import is_superuser
from reclock.errors import RoleInUse
from reclock.sql.owned import role_name
from reclock.sql.statements.roles.plan import (
    AlterRole,
    ChangeMembership,
    CreateRole,
    DropRoles,
    RenameRole,
    SetRole,
)
from reclock.sql.statements.session.plan import SetDefault


def _managing_roles(context: AuthorizationContext, superuser_to: str | None) -> Requirements:
    """CREATEROLE; changes of superusers are reserved to superusers."""
    return context.require(context.need(None, Privilege.CREATEROLE), superuser_to=superuser_to)


def _if_superusers(
    context: AuthorizationContext, role_ids: Iterable[str], action: str
) -> str | None:
    return action if any(is_superuser(context.snapshot, id) for id in role_ids) else None


@requires(CreateRole)
def _(statement: CreateRole, context: AuthorizationContext) -> Requirements:
    return _managing_roles(
        context, "create superusers" if "superuser" in statement.attributes else None
    )


@defines(CreateRole)
def _(statement: CreateRole, change: CatalogChange) -> None:
    id = change.tx.allocate_user_role_id()
    change.tx.insert(Role(id, statement.name, statement.attributes))
    change.set_password(id, statement.password)
    change.audit("create", "role", statement.name, attributes=list(statement.attributes))


@requires(AlterRole)
def _(statement: AlterRole, context: AuthorizationContext) -> Requirements:
    if statement.id == context.users.session_id and statement.attributes == statement.before:
        return context.require()  # only the role's own password
    is_superuser_role = "superuser" in (*statement.attributes, *statement.before)
    return _managing_roles(context, "alter superusers" if is_superuser_role else None)


@defines(AlterRole)
def _(statement: AlterRole, change: CatalogChange) -> None:
    lost = [attribute for attribute in statement.before if attribute not in statement.attributes]
    if lost and _is_own(statement.id, change):
        raise RoleInUse(
            f"a session cannot take {lost[0].upper()} from its own role",
            hint="another superuser can",
        )
    change.tx.update(replace(_role(statement.id, change), attributes=statement.attributes))
    change.set_password(statement.id, statement.password)
    change.audit("alter", "role", statement.name, attributes=list(statement.attributes))


@requires(RenameRole)
def _(statement: RenameRole, context: AuthorizationContext) -> Requirements:
    return _managing_roles(context, _if_superusers(context, [statement.id], "rename superusers"))


@defines(RenameRole)
def _(statement: RenameRole, change: CatalogChange) -> None:
    change.tx.update(replace(_role(statement.id, change), name=statement.to))
    change.audit("alter", "role", statement.name, renamed_to=statement.to)


@requires(DropRoles)
def _(statement: DropRoles, context: AuthorizationContext) -> Requirements:
    return _managing_roles(context, _if_superusers(context, statement.ids, "drop superusers"))


@defines(DropRoles)
def _(statement: DropRoles, change: CatalogChange) -> None:
    if any(_is_own(id, change) for id in statement.ids):
        raise RoleInUse("current user cannot be dropped")
    for id in statement.ids:
        role = _role(id, change)
        change.replace_password(role)
        change.tx.delete(role)
        change.audit("drop", "role", role.name)
    for member in list(change.tx.snapshot.roles.values()):
        membership = {
            of: grantor for of, grantor in member.membership.items() if of not in statement.ids
        }
        if membership != member.membership:
            change.tx.update(replace(member, membership=membership))


@requires(ChangeMembership)
def _(statement: ChangeMembership, context: AuthorizationContext) -> Requirements:
    return _managing_roles(context, _if_superusers(context, statement.role_ids, "grant superusers"))


@defines(ChangeMembership)
def _(statement: ChangeMembership, change: CatalogChange) -> None:
    for member_id in statement.member_ids:
        for role_id in statement.role_ids:
            member = _role(member_id, change)
            membership = {of: grantor for of, grantor in member.membership.items() if of != role_id}
            if statement.is_grant:
                membership[role_id] = member.membership.get(role_id, change.users.current_id)
            change.tx.update(replace(member, membership=membership))
            verb = "grant" if statement.is_grant else "revoke"
            change.audit(verb, "role", role_name(change.tx.snapshot, role_id), member=member.name)


def _role(id: str, change: CatalogChange) -> Role:
    return change.tx.snapshot.roles[id]


def _is_own(id: str, change: CatalogChange) -> bool:
    return id in (change.users.session_id, change.users.current_id)


@requires(SetDefault)
def _(statement: SetDefault, context: AuthorizationContext) -> Requirements:
    if statement.role_id is None:
        return context.require(superuser_to="change the system's configuration")
    if statement.role_id in (context.users.current_id, context.users.session_id):
        return context.require()
    return _managing_roles(
        context, _if_superusers(context, [statement.role_id], "alter superusers")
    )


@defines(SetDefault)
def _(statement: SetDefault, change: CatalogChange) -> None:
    name, value = statement.variable, None
    if name is not None:
        values = statement.values
        name, value = checked(name, None if values is None else text_of_values(name, values))
    if statement.role_id is None:
        for configuration in list(change.tx.snapshot.all(Kind.SYSTEM_CONFIGURATION).values()):
            if value is None and name in (None, configuration.name):
                change.tx.delete(configuration)
        if name is not None and value is not None:
            change.tx.put(SystemConfiguration(name, value))
        change.audit("alter", "system", "SYSTEM", variable=name, value=value)
        return
    role = _role(statement.role_id, change)
    configuration = {
        variable: default
        for variable, default in role.configuration.items()
        if name not in (None, variable)
    }
    if name is not None and value is not None:
        configuration[name] = value
    change.tx.update(replace(role, configuration=configuration))
    change.audit("alter", "role", role.name, variable=name, value=value)


@requires(SetRole)
def _(statement: SetRole, context: AuthorizationContext) -> Requirements:
    return Requirements(
        context.users.session_id, member_of=(statement.id,) if statement.id is not None else ()
    )


@executes(SetRole)
def _(statement: SetRole, context: StatementContext) -> Result:
    context.set_role(statement.id)
    context.variables.set(ROLE, statement.name)
    return Result(statement.tag)
