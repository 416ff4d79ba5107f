"""SET CONSTRAINTS: when the open block checks its foreign keys."""

from __future__ import annotations

from reclock.adapter.context.results import Result
from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.statement_context import StatementContext, executes
from reclock.errors import outside_block
from reclock.sql.statements.tables.set_constraints_plan import SetConstraints


@requires(SetConstraints)
def _(statement: SetConstraints, context: AuthorizationContext) -> Requirements:
    return context.require()


@executes(SetConstraints)
def _(statement: SetConstraints, context: StatementContext) -> Result:
    block = context.transactions.block
    if block is None:
        context.notice(outside_block("SET CONSTRAINTS"))
    else:
        block.set_constraints(statement.names, is_deferred=statement.is_deferred)
    return Result(statement.tag)
