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
from reclock.sql.syntax.consumption import consume, tracked_copy

_LOCKED = ((("bigint",), 1), (("integer", "integer"), 2))
_FUNCTIONS: dict[str, tuple[tuple[tuple[tuple[str, ...], int], ...], ScalarType]] = {
    # name: overloads (types of arguments, how many must be there), the type of the answer
    "pg_cancel_backend": (((("integer",), 1),), BOOLEAN),
    "pg_terminate_backend": (((("integer", "bigint"), 1),), BOOLEAN),
    "pg_sleep": (((("double precision",), 1),), TEXT),
    "set_config": (((("text", "text", "boolean"), 3),), TEXT),
    "nextval": (((("text",), 1),), BIGINT),
    "currval": (((("text",), 1),), BIGINT),
    "lastval": ((((), 0),), BIGINT),
    "setval": (((("text", "bigint", "boolean"), 2),), BIGINT),
    "pg_advisory_unlock_all": ((((), 0),), TEXT),
    **{
        f"pg_{'' if waits else 'try_'}advisory_{scope}lock{mode}": (
            _LOCKED,
            TEXT if waits else BOOLEAN,
        )
        for waits in (True, False)
        for scope in ("", "xact_")
        for mode in ("", "_shared")
    },
    "pg_advisory_unlock": (_LOCKED, BOOLEAN),
    "pg_advisory_unlock_shared": (_LOCKED, BOOLEAN),
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
            columns[index] = Column(name, _FUNCTIONS[function][1])
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
    types = _argument_types(name, len(arguments))
    if types is None:
        return node  # there is no such function, as planning says
    alias = node.args["alias"] if isinstance(node, exp.Alias) else None
    if alias is not None:
        consume(alias)
    calls.append((name, name if alias is None else fold(alias)))
    texts = [
        _cast(
            tracked_copy(argument) if type == "text" else _cast(tracked_copy(argument), type),
            "text",
        )
        for argument, type in zip(arguments, types, strict=False)
    ]
    array = _cast(exp.Array(expressions=texts), "text[]")
    return exp.alias_(array, f"{_MARK}{len(calls) - 1}", copy=False)


def _argument_types(name: str, count: int) -> tuple[str, ...] | None:
    """The types of the overload that takes so many arguments."""
    overloads, _ = _FUNCTIONS[name]
    fitting = (types for types, required in overloads if required <= count <= len(types))
    return next(fitting, None)


def _cast(value: exp.Expr, type: str) -> exp.Expr:
    return exp.Cast(this=value, to=exp.DataType.build(type))
