"""Statements that change the catalog, or the session's temporary objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reclock.adapter.context.registry import Registry
from reclock.adapter.context.results import Result
from reclock.adapter.planning.authorization import requirements
from reclock.adapter.statement_context import StatementContext
from reclock.adapter.statements.extras import missing_extras
from reclock.adapter.transaction.ddl_transaction import DdlStatement
from reclock.adapter.transaction.transaction import Transaction
from reclock.errors import UnsupportedSql
from reclock.sql.planning.registry import PlannedStatement


def change_catalog(
    statement: PlannedStatement, context: StatementContext, definition: DdlStatement | None = None
) -> Result:
    """Change the catalog at once, or in the block's transaction. Without a ``definition`` the
    statement itself is it."""
    if definition is None:
        check_permanent(statement, context)
        definition = definition_of(statement, context)
    return define_in_transaction(
        statement, context, lambda transaction: _define(statement, definition, transaction)
    )


completes: Registry[Callable[[Any, StatementContext], DdlStatement]] = Registry("a completion")
"""Registers how statements of a type are completed, such as by what only an upstream knows."""


def definition_of(statement: PlannedStatement, context: StatementContext) -> DdlStatement:
    """The definition that executing ``statement`` makes."""
    if type(statement) in completes:
        return completes[type(statement)](statement, context)
    return DdlStatement(context.parsed, context.planner, (context.catalog, statement))


def define_in_transaction(
    statement: PlannedStatement, context: StatementContext, work: Callable[[Transaction], Result]
) -> Result:
    """The result of ``work`` in a transaction that may define; then the notices of the
    statement."""
    result = context.transactions.change(statement.tag, work)
    send_notices(statement, context)
    return result


def send_notices(statement: PlannedStatement, context: StatementContext) -> None:
    """Send the client what planning noted, and what is missing here for what was created."""
    for notice in (*getattr(statement, "notices", ()), *missing_extras(statement)):
        context.notice(notice)


def check_permanent(statement: PlannedStatement, context: StatementContext) -> None:
    """Raises ``UnsupportedSql`` if a permanent object would depend on a temporary one, or the
    statement changes one."""
    owned = requirements(
        statement, context.catalog, context.users, context.variables.get("cluster")
    ).owner_of
    mentioned = {
        getattr(statement, "on", None),
        *getattr(statement, "depends_on", ()),
        *(target[1] for target in owned if target),
    }
    if any(isinstance(id, str) and id.startswith("t") for id in mentioned):
        raise UnsupportedSql(
            f"{statement.tag} cannot be of a temporary table or view",
            detail="a permanent object would depend on one that is dropped with the session",
        )


def _define(
    statement: PlannedStatement, definition: DdlStatement, transaction: Transaction
) -> Result:
    transaction.define(definition)
    return Result(statement.tag)
