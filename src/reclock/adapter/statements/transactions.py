"""BEGIN, COMMIT, ROLLBACK, savepoints and the modes of transactions."""

from __future__ import annotations

from reclock.adapter.context.results import Result
from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.statement_context import StatementContext, executes
from reclock.sql.statements.transactions.plan import TransactionControl


@requires(TransactionControl)
def _(statement: TransactionControl, context: AuthorizationContext) -> Requirements:
    return context.require()


@executes(TransactionControl)
def _(statement: TransactionControl, context: StatementContext) -> Result:
    return Result(context.transactions.control(statement))
