"""Variables of the session: SET, RESET and SHOW. A SHOW of objects is a query."""

from __future__ import annotations

import pyarrow as pa

from reclock.adapter.context.results import Result, describes, text_desc, text_result
from reclock.adapter.context.variable_values import standard_level, text_of_values
from reclock.adapter.context.variables import READ_ONLY
from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.statement_context import StatementContext, executes
from reclock.algebra.relations import TEXT, Column, RelationDesc
from reclock.errors import outside_block
from reclock.sql.statements.session.plan import ResetVariable, SetVariable, ShowVariable

_SHOW_ALL = RelationDesc(
    (Column("name", TEXT), Column("setting", TEXT), Column("description", TEXT))
)


@requires(SetVariable, ResetVariable, ShowVariable)
def _(
    statement: SetVariable | ResetVariable | ShowVariable, context: AuthorizationContext
) -> Requirements:
    return context.require()


@executes(SetVariable)
def _(statement: SetVariable, context: StatementContext) -> Result:
    is_local = statement.is_local or statement.name == READ_ONLY
    if is_local and context.transactions.block is None:
        context.notice(outside_block("SET LOCAL"))
        return Result(statement.tag)
    name, values = statement.name, statement.values
    value = None if values is None else text_of_values(name, values)
    context.transactions.set_mode(name, value, is_local=is_local)
    existing = {"cluster": context.catalog.clusters, "database": context.catalog.databases}
    if name in existing and context.variables.get(name) not in existing[name]:
        # no error: it may be created before it is used
        context.notice(f'{name} "{context.variables.get(name)}" does not exist')
    return Result(statement.tag)


@executes(ResetVariable)
def _(statement: ResetVariable, context: StatementContext) -> Result:
    if statement.name is None:
        context.variables.reset()
        context.set_role(None)
    else:
        context.variables.set(statement.name, None)
    return Result(statement.tag)


@describes(ShowVariable)
def _(statement: ShowVariable) -> RelationDesc:
    return _SHOW_ALL if statement.name is None else text_desc(statement.name.lower())


@executes(ShowVariable)
def _(statement: ShowVariable, context: StatementContext) -> Result:
    if statement.name is not None:
        value = context.variables.get(statement.name)
        shown = standard_level(value) if statement.is_standard else value
        return text_result(statement.tag, text_desc(statement.name.lower()), [shown])
    rows = [dict(zip(_SHOW_ALL.names, variable, strict=True)) for variable in context.variables]
    return Result(statement.tag, _SHOW_ALL, pa.Table.from_pylist(rows).to_batches())
