"""SHOW of variables. A SHOW of objects is a query."""

from __future__ import annotations

import pyarrow as pa

from reclock.adapter.context.results import Result, describes, text_desc, text_result
from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.statement_context import StatementContext, executes
from reclock.algebra.relations import TEXT, Column, RelationDesc
from reclock.sql.statements.session.plan import ShowVariable

_SHOW_ALL = RelationDesc((Column("name", TEXT), Column("setting", TEXT), Column("description", TEXT)))


@requires(ShowVariable)
def _(statement: ShowVariable, context: AuthorizationContext) -> Requirements:
    return context.require()


@describes(ShowVariable)
def _(statement: ShowVariable) -> RelationDesc:
    return _SHOW_ALL if statement.name is None else text_desc(statement.name.lower())


@executes(ShowVariable)
def _(statement: ShowVariable, context: StatementContext) -> Result:
    if statement.name is not None:
        return text_result(statement.tag, text_desc(statement.name.lower()), [context.variables.get(statement.name)])
    rows = [dict(zip(_SHOW_ALL.names, variable, strict=True)) for variable in context.variables]
    return Result(statement.tag, _SHOW_ALL, pa.Table.from_pylist(rows).to_batches())
