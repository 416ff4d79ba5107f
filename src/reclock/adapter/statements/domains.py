"""Domains: CREATE DOMAIN and ALTER DOMAIN."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from reclock.adapter.context.results import Result
from reclock.adapter.query.queries import run_query
from reclock.adapter.statement_context import StatementContext, executes
from reclock.adapter.statements.definition import change_catalog
from reclock.adapter.transaction.ddl_transaction import DdlStatement
from reclock.adapter.transaction.transaction import Transaction
from reclock.errors import DomainViolation
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.types.domains_plan import AlterDomain
from reclock.sql.statements.types.domains_syntax import AlterDomainStatement


@executes(AlterDomain)
def _(statement: AlterDomain, context: StatementContext) -> Result:
    if statement.undo is None:
        _validate(statement, context)
        return change_catalog(statement, context)
    result = change_catalog(statement, context)
    try:
        _validate(statement, context)
    except DomainViolation:
        if context.transactions.explicit_block is None:
            _carry_out(statement.undo, context)
        raise
    return result


def _validate(statement: AlterDomain, context: StatementContext) -> None:
    """Raises ``DomainViolation`` if a stored value breaks the new constraint."""
    for validation in statement.validations:
        if context.transactions.run(partial(_has_rows, validation.violations, context)):
            raise validation.error


def _has_rows(query: Select, context: StatementContext, transaction: Transaction) -> bool:
    return any(True for _ in run_query(context, query, transaction).rows())


def _carry_out(node: AlterDomainStatement, context: StatementContext) -> None:
    """Change the domain again, as a statement of its own."""
    parsed = replace(context.parsed, node=node)
    catalog, _ = context.transactions.present()
    planned = context.planner.plan(parsed, catalog)
    present = replace(context, catalog=catalog, parsed=parsed)
    change_catalog(planned, present, DdlStatement(parsed, context.planner, (catalog, planned)))
