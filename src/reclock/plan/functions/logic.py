"""Comparison, boolean logic, and functions that choose among values."""

from __future__ import annotations

from collections.abc import Mapping

from reclock.algebra.relations import BIGINT, BOOLEAN, INET, TEXT, ScalarType, TypeName
from reclock.errors import UnsupportedSql
from reclock.plan.functions import intervals
from reclock.plan.functions.casts import write_cast
from reclock.plan.functions.orders import has_own_order, in_order
from reclock.plan.functions.registry import Site, Types, Writer, scalar
from reclock.plan.functions.sql_names import case_sql, raised, struct
from reclock.plan.functions.typing import common_type, exact, operand_type, same


def _write_comparison(engine: str, operator: str) -> Writer:
    def write(site: Site) -> str:
        type = intervals.compared_type(site.types[0])
        operands = tuple(intervals.compared(engine, sql, site.types[0]) for sql in site.arguments)
        if operator in ("<", "<=", ">", ">="):
            operands = tuple(in_order(engine, operand, type) for operand in operands)
        return f"({operands[0]} {operator} {operands[1]})"

    return write


for _operator, _relation in (
    ("=", "equal to"),
    ("<>", "different from"),
    ("<", "less than"),
    ("<=", "less than or equal to"),
    (">", "greater than"),
    (">=", "greater than or equal to"),
):
    scalar(
        _operator,
        f"Whether the first is {_relation} the second.",
        same(BOOLEAN, at_least=2, at_most=2),
        duckdb=_write_comparison("duckdb", _operator),
        spark=_write_comparison("spark", _operator),
    )

scalar(
    "is_not_distinct",
    "Whether both are equal, or both NULL.",
    same(BOOLEAN, at_least=2, at_most=2),
    duckdb=_write_comparison("duckdb", "IS NOT DISTINCT FROM"),
    spark=_write_comparison("spark", "<=>"),
)
scalar("is_null", "Whether the value is NULL.", same(BOOLEAN, at_most=1), "({0} IS NULL)")
scalar(
    "and",
    "True if both are; false if either is false.",
    exact(((BOOLEAN, BOOLEAN), BOOLEAN)),
    lambda site: f"({' AND '.join(site.arguments)})",
)
scalar(
    "or",
    "True if either is; false if both are false.",
    exact(((BOOLEAN, BOOLEAN), BOOLEAN)),
    lambda site: f"({' OR '.join(site.arguments)})",
)
scalar("not", "The opposite.", exact(((BOOLEAN,), BOOLEAN)), "(NOT {0})")
scalar(
    "is_true",
    "Whether the value is true, not false or NULL.",
    exact(((BOOLEAN,), BOOLEAN)),
    "({0} IS TRUE)",
)
scalar(
    "is_false",
    "Whether the value is false, not true or NULL.",
    exact(((BOOLEAN,), BOOLEAN)),
    "({0} IS FALSE)",
)

scalar("coalesce", "The first argument that is not NULL.", same(), "coalesce({all})")


def _write_nullif(engine: str) -> Writer:
    def write(site: Site) -> str:
        if not site.result.has_intervals:
            return write_cast(
                engine, f"nullif({', '.join(site.arguments)})", site.types[0], site.result
            )
        spans = [intervals.compared(engine, argument, site.result) for argument in site.arguments]
        return case_sql(engine, f" WHEN {' = '.join(spans)} THEN NULL ELSE {site.arguments[0]}")

    return write


def _with_order(engine: str, value: str, type: ScalarType) -> str:
    """A pair that the engine orders as SQL orders the value, which is its ``v``; NULL of NULL."""
    pair = struct(engine, {"o": in_order(engine, value, type), "v": value})
    return case_sql(engine, f" WHEN {value} IS NOT NULL THEN {pair}")


def _write_extreme(engine: str, function: str) -> Writer:
    """NULLs are ignored, as in PostgreSQL. Spark needs two arguments, so the first is written
    twice."""

    def write(site: Site) -> str:
        first = site.arguments[:1] if engine == "spark" else ()
        arguments = (*first, *site.arguments)
        type = site.result
        if type.is_nested and engine == "spark":
            raise UnsupportedSql(f"{function} of arrays and records is not computed by Spark")
        if type.is_nested and type.has_intervals:
            raise UnsupportedSql(f"{function} of arrays or records of intervals is not supported")
        if type.name is TypeName.RECORD and has_own_order(type):
            raise UnsupportedSql(
                f"{function} of records with ranges, documents or enums is not supported"
            )
        if has_own_order(type):
            pairs = [_with_order(engine, argument, type) for argument in arguments]
        elif type.name is TypeName.INTERVAL:
            pairs = [intervals.with_span(engine, argument) for argument in arguments]
        else:
            return f"{function}({', '.join(arguments)})"
        return f"({function}({', '.join(pairs)})).v"

    return write


def _first_or_null(
    types: Types, constants: Mapping[int, object]
) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
    """Two arguments that can be compared. The first keeps its type if operators compare it with the
    second as it is: as in PostgreSQL, that is so within `_COMPARED_AS_THEY_ARE`."""
    compared, result = operand_type(types), common_type(types)
    if result is not None and result.is_network:  # as which PostgreSQL compares networks
        compared, result = INET, INET
    first = types[0] if types else None
    if first is not None and any(
        {type.name for type in types if type is not None} <= family
        for family in _COMPARED_AS_THEY_ARE
    ):
        result = first
    return (
        ((compared, compared), result)
        if compared is not None and result is not None and len(types) == 2
        else None
    )


_COMPARED_AS_THEY_ARE = (
    {TypeName.SMALLINT, TypeName.INTEGER, TypeName.BIGINT},
    {TypeName.REAL, TypeName.DOUBLE},
    {TypeName.DATE, TypeName.TIMESTAMP},
    {TypeName.TEXT, TypeName.BPCHAR},
)

scalar(
    "nullif",
    "NULL if both are equal, else the first.",
    _first_or_null,
    duckdb=_write_nullif("duckdb"),
    spark=_write_nullif("spark"),
)
for _name, _adjective in (("greatest", "largest"), ("least", "smallest")):
    scalar(
        _name,
        f"The {_adjective} of the arguments that are not NULL.",
        same(),
        duckdb=_write_extreme("duckdb", _name),
        spark=_write_extreme("spark", _name),
    )


def _of_rows(
    types: Types, constants: Mapping[int, object]
) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
    """A count of rows and a value; returns the value."""
    return ((BIGINT, types[1]), types[1]) if len(types) == 2 and types[1] is not None else None


def _only_row(engine: str) -> Writer:
    message = "'more than one row returned by a subquery used as an expression'"
    failure = raised(engine, "21000", message)
    return lambda site: (
        f"CASE WHEN {site.arguments[0]} > 1 THEN {failure} ELSE {site.arguments[1]} END"
    )


def _checked_count(engine: str, sqlstate: str, clause: str) -> Writer:
    failure = raised(engine, sqlstate, f"'{clause} must not be negative'")
    return lambda site: (
        f"CASE WHEN {site.arguments[0]} < 0 THEN {failure} ELSE {site.arguments[0]} END"
    )


for _clause, _sqlstate in (("LIMIT", "2201W"), ("OFFSET", "2201X")):
    scalar(
        f"{_clause} of",
        f"A number of rows in {_clause}; a negative one is an error.",
        exact(((BIGINT,), BIGINT)),
        duckdb=_checked_count("duckdb", _sqlstate, _clause),
        spark=_checked_count("spark", _sqlstate, _clause),
    )


# The value of the only one of so many rows: of several, it raises. Its name is none that SQL can
# call.
scalar(
    "only row",
    "The value of a subquery that returns one row; more than one is an error.",
    _of_rows,
    duckdb=_only_row("duckdb"),
    spark=_only_row("spark"),
)


def _identifier(engine: str) -> Writer:
    failure = raised(engine, "22004", "'null values cannot be formatted as an SQL identifier'")
    return lambda site: (
        f"CASE WHEN {site.arguments[0]} IS NULL THEN {failure} ELSE {site.arguments[0]} END"
    )


IDENTIFIER = "identifier of"
scalar(
    IDENTIFIER,
    "The name that ``format`` writes as an identifier; NULL is an error.",
    exact(((TEXT,), TEXT)),
    duckdb=_identifier("duckdb"),
    spark=_identifier("spark"),
)
