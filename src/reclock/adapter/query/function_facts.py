"""Functions that users defined, as PostgreSQL's clients read them."""

from __future__ import annotations

from collections.abc import Iterator

from reclock.introspection.relation import FunctionFacts
from reclock.sql.catalog.definitions import FunctionDefinition, FunctionParameter
from reclock.sql.catalog.entries import FunctionEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import quote
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.parse import parse_one


def function_facts(catalog: PlannerCatalog) -> Iterator[FunctionFacts]:
    """Every function."""
    for entry in catalog.entries():
        if isinstance(entry, FunctionEntry):
            yield _facts(entry)


def _facts(entry: FunctionEntry) -> FunctionFacts:
    function = entry.function
    declared = [_declared(parameter) for parameter in function.parameters]
    defaults = [
        "" if parameter.default is None else f" DEFAULT {to_sql(parameter.default)}"
        for parameter in function.parameters
    ]
    return FunctionFacts(
        entry.id,
        function.name,
        function.types,
        tuple(parameter.name for parameter in function.parameters),
        ", ".join(map("".join, zip(declared, defaults, strict=True))),
        ", ".join(declared),
        None if len(function.columns) > 1 else function.columns[0].type,
        _result(function),
        function.is_set,
        function.is_strict,
        function.volatility[0].lower(),
        to_sql(parse_one(entry.create_sql).args["query"]),
    )


def _declared(parameter: FunctionParameter) -> str:
    return f"{quote(parameter.name)} {parameter.type}" if parameter.name else str(parameter.type)


def _result(function: FunctionDefinition) -> str:
    if function.has_records:
        columns = (f"{quote(column.name)} {column.type}" for column in function.columns)
        return f"TABLE({', '.join(columns)})"
    return f"{'SETOF ' if function.is_set else ''}{function.columns[0].type}"
