"""Statements about the session: SET and RESET of variables and of the role."""

from __future__ import annotations

from reclock.adapter.context.results import Result
from reclock.adapter.context.variables import READ_ONLY, ROLE
from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.statement_context import StatementContext, executes
from reclock.sql.statements.roles.plan import SetRole
from reclock.sql.statements.session.plan import ResetVariable, SetVariable


@requires(SetRole)
def _(statement: SetRole, context: AuthorizationContext) -> Requirements:
    return Requirements(context.users.session_id, member_of=(statement.id,) if statement.id is not None else ())


@executes(SetRole)
def _(statement: SetRole, context: StatementContext) -> Result:
    context.set_role(statement.id)
    context.variables.set(ROLE, statement.name)
    return Result(statement.tag)


@requires(SetVariable, ResetVariable)
def _(statement: SetVariable | ResetVariable, context: AuthorizationContext) -> Requirements:
    return context.require()


@executes(SetVariable)
def _(statement: SetVariable, context: StatementContext) -> Result:
    is_local = statement.is_local or statement.name == READ_ONLY
    if is_local and context.transactions.block is None:
        context.notice("SET LOCAL can only be used in transaction blocks")
        return Result(statement.tag)
    value = ",".join(statement.values) if statement.values is not None else None
    context.variables.set(statement.name, value, is_local=is_local)
    cluster = context.variables.get("cluster")
    if statement.name == "cluster" and cluster not in context.catalog.clusters:
        context.notice(f'cluster "{cluster}" does not exist')  # no error: it may be created before it is used
    return Result(statement.tag)


@executes(ResetVariable)
def _(statement: ResetVariable, context: StatementContext) -> Result:
    if statement.name is None:
        context.variables.reset()
        context.set_role(None)
    else:
        context.variables.set(statement.name, None)
    return Result(statement.tag)
