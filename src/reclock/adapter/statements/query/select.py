"""SELECT, and SHOW of objects, and EXPLAIN."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.adapter.context.results import Result, describes, text_desc, text_result
from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.query.explain import explain_query
from reclock.adapter.query.queries import QueryExecution
from reclock.adapter.statement_context import StatementContext, executes
from reclock.adapter.statements.query.side_effects import (
    call_advisory_lock,
    set_config,
    signal,
    sleep,
    with_effects,
)
from reclock.adapter.statements.sequences import call_sequence
from reclock.algebra.relations import RelationDesc
from reclock.sql.queries.session_functions import SEQUENCE_FUNCTIONS
from reclock.sql.statements.query.values import Explain, ExplainKind, Select


@requires(Select)
def _(statement: Select, context: AuthorizationContext) -> Requirements:
    return context.require(*context.reading(statement.depends_on))


@describes(Select)
def _(statement: Select) -> RelationDesc:
    return statement.desc


@executes(Select)
def _(statement: Select, context: StatementContext) -> Result:
    def call(function: str, arguments: Sequence[str]) -> str | bool | int:
        if function in SEQUENCE_FUNCTIONS:
            return call_sequence(function, arguments, context)
        if "_advisory_" in function:
            return call_advisory_lock(function, arguments, context)
        if function == "pg_sleep":
            return sleep(float(arguments[0]), context.cancellation)
        if function == "set_config":
            return set_config(
                context.variables, *arguments, in_block=context.transactions.block is not None
            )
        snapshot = context.environment.stores.catalog.sync()
        return signal(
            function,
            arguments[0],
            context.environment.runtime.backends,
            context.current_users(),
            snapshot,
            context.notice,
        )

    query = QueryExecution(context, statement, context.transactions.block, read_ts=context.read_ts)
    return with_effects(
        context.planned.run(query.run, context.variables.max_result_bytes), statement.effects, call
    )


@requires(Explain)
def _(statement: Explain, context: AuthorizationContext) -> Requirements:
    return context.of(statement.select)


@describes(Explain)
def _(statement: Explain) -> RelationDesc:
    return _lines_desc(statement)


@executes(Explain)
def _(statement: Explain, context: StatementContext) -> Result:
    query = QueryExecution(context, statement.select, context.transactions.block)
    lines = explain_query(query, statement)
    return text_result(statement.tag, _lines_desc(statement), lines)


def _lines_desc(statement: Explain) -> RelationDesc:
    return text_desc("Timestamp" if statement.kind is ExplainKind.TIMESTAMP else "Plan")
