"""SET CONSTRAINTS, which changes nothing."""

from __future__ import annotations

from reclock.adapter.context.results import Result
from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.statement_context import StatementContext, executes
from reclock.sql.statements.tables.set_constraints_plan import SetConstraints


@requires(SetConstraints)
def _(statement: SetConstraints, context: AuthorizationContext) -> Requirements:
    return context.require()


@executes(SetConstraints)
def _(statement: SetConstraints, context: StatementContext) -> Result:
    return Result(statement.tag)
