"""SUBSCRIBE."""

from __future__ import annotations

from reclock.adapter.context.results import Result, describes
from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.query.subscription import Subscription
from reclock.adapter.statement_context import StatementContext, executes
from reclock.algebra.relations import RelationDesc
from reclock.errors import TransactionActive
from reclock.sql.statements.subscribe.plan import SubscribeQuery


@requires(SubscribeQuery)
def _(statement: SubscribeQuery, context: AuthorizationContext) -> Requirements:
    return context.of(statement.select)


@describes(SubscribeQuery)
def _(statement: SubscribeQuery) -> RelationDesc:
    return statement.desc


@executes(SubscribeQuery)
def _(statement: SubscribeQuery, context: StatementContext) -> Result:
    return subscribe(statement, context)


def subscribe(statement: SubscribeQuery, context: StatementContext) -> Result:
    """A subscription has a time of its own, without a timeout, and sees nothing of what a block has
    written or defined.

    Raises ``TransactionActive`` in a block that has written or defined anything.
    """
    block = context.transactions.block
    if block is not None and (block.writes or block.definitions):
        raise TransactionActive("SUBSCRIBE")
    context.cancellation.begin(0)
    return Subscription(context, statement).run()
