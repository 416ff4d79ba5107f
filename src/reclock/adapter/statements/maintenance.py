"""VACUUM and ANALYZE, which have no effect."""

from __future__ import annotations

from reclock.adapter.context.results import Result
from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.statement_context import StatementContext, executes
from reclock.adapter.statements.definition import send_notices
from reclock.errors import NotInTransaction
from reclock.sql.statements.maintenance.plan import Maintenance


@requires(Maintenance)
def _(statement: Maintenance, context: AuthorizationContext) -> Requirements:
    return context.require()


@executes(Maintenance)
def _(statement: Maintenance, context: StatementContext) -> Result:
    if context.transactions.block is not None and not statement.is_allowed_in_blocks:
        raise NotInTransaction(statement.tag)
    send_notices(statement, context)
    return Result(statement.tag)
