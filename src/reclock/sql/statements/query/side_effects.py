"""Functions with side effects: in the select list of a statement, called for each row as it is
returned.

The plan computes only their arguments, as an array of texts in the column's place. The session then
calls the functions.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from reclock.algebra.relations import BIGINT, BOOLEAN, TEXT, Column, RelationDesc, ScalarType
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, fold
from reclock.sql.planning.registry import plans
from reclock.sql.queries.expressions import function_name
from reclock.sql.statements.query.plan import plan_query_statement
from reclock.sql.statements.query.values import Effect, Select
from reclock.sql.syntax import nodes
from reclock.sql.syntax.consumption import tracked_copy

_FUNCTIONS: dict[str, tuple[int, int, ScalarType]] = {
    # name: how many arguments there must be, how many there may be, the type of the answer
    "pg_cancel_backend": (1, 1, BOOLEAN),
    "pg_terminate_backend": (1, 2, BOOLEAN),
    "set_config": (3, 3, TEXT),
    "nextval": (1, 1, BIGINT),
    "currval": (1, 1, BIGINT),
    "lastval": (0, 0, BIGINT),
    "setval": (2, 3, BIGINT),
}
_MARK = "reclock_effect_"


@plans(nodes.QueryStatement, returns_rows=True)
def plan_statement_of_query(
    node: nodes.QueryStatement, catalog: PlannerCatalog, session: SessionNames
) -> Select:
    """Plan a query that is a statement of its own."""
    calls: list[tuple[str, str]] = []
    if isinstance(node.this, exp.Select):
        marked = [_marked(item, calls) for item in node.this.expressions]
        if calls:
            query = tracked_copy(node.this)
            query.set("expressions", marked)
            node = tracked_copy(node)
            node.set("this", query)
    select = plan_query_statement(node, catalog, session)
    if not calls:
        return select
    columns, effects = list(select.desc.columns), []
    for index, column in enumerate(columns):
        if column.name.startswith(_MARK):
            function, name = calls[int(column.name.removeprefix(_MARK))]
            columns[index] = Column(name, _FUNCTIONS[function][2])
            effects.append(Effect(index, function))
    return replace(select, desc=RelationDesc(tuple(columns)), effects=tuple(effects))


def _marked(node: exp.Expr, calls: list[tuple[str, str]]) -> exp.Expr:
    """The select item, or one for the arguments of what it does, which is added to ``found`` with
    the name of its column."""
    item = node.this if isinstance(node, exp.Alias) else node
    function = (
        item.expression if isinstance(item, exp.Dot) and fold(item.this) == "pg_catalog" else item
    )
    if not isinstance(function, exp.Anonymous) or function_name(function) not in _FUNCTIONS:
        return node
    name, arguments = function_name(function), function.expressions
    least, most, _ = _FUNCTIONS[name]
    if not least <= len(arguments) <= most:
        return node  # there is no such function, as planning says
    calls.append((name, node.alias if isinstance(node, exp.Alias) else name))
    texts = [
        exp.Cast(this=tracked_copy(argument), to=exp.DataType.build("text"))
        for argument in arguments
    ]
    array = exp.Cast(this=exp.Array(expressions=texts), to=exp.DataType.build("text[]"))
    return exp.alias_(array, f"{_MARK}{len(calls) - 1}", copy=False)
