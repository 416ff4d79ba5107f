"""Scalar expressions as SQL of an engine, and which columns they read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import singledispatch
from itertools import groupby

from reclock.algebra.relations import BOOLEAN, array
from reclock.compute.expressions.eager_calls import shielded
from reclock.errors import InternalError
from reclock.plan import functions
from reclock.plan.functions import json_calls
from reclock.plan.functions.arrays import LOOKED_UP
from reclock.plan.functions.casts import write_cast
from reclock.plan.functions.floats import positive_zero, with_value
from reclock.plan.functions.registry import Site, write
from reclock.plan.functions.sql_names import case_sql, literal, struct
from reclock.plan.scalars import Aggregate, Call, Case, Cast, ColumnRef, Literal, Scalar
from reclock.plan.totality import could_error


@singledispatch
def to_sql(scalar: Scalar, engine: str, columns: Sequence[str]) -> str:
    """``scalar`` as SQL that is valid anywhere in an expression. ``columns`` spells the input's
    columns, in order."""
    raise InternalError(f"no scalar expression: {scalar!r}")


@to_sql.register
def _(scalar: ColumnRef, engine: str, columns: Sequence[str]) -> str:
    return columns[scalar.index]


@to_sql.register
def _(scalar: Literal, engine: str, columns: Sequence[str]) -> str:
    return literal(engine, scalar.value, scalar.type)


@to_sql.register
def _(scalar: Call, engine: str, columns: Sequence[str]) -> str:
    if scalar.function in _DECIDING and any(map(could_error, scalar.arguments[1:])):
        return _in_order(scalar, engine, columns)
    if scalar.function == "or":
        return f"({' OR '.join(to_sql(part, engine, columns) for part in _parts(scalar))})"
    written = _with_short_arguments(
        engine,
        _site(scalar, engine, columns),
        lambda site: write(functions.SCALARS, scalar.function, engine, site),
    )
    return positive_zero(engine, written, scalar.type)


@to_sql.register
def _(scalar: Cast, engine: str, columns: Sequence[str]) -> str:
    source = scalar.operand.type
    written = _with_short_arguments(
        engine,
        Site((to_sql(scalar.operand, engine, columns),), (source,), scalar.type),
        lambda site: write_cast(engine, site.arguments[0], source, scalar.type),
    )
    return positive_zero(engine, written, scalar.type)


def _with_short_arguments(engine: str, site: Site, write: Callable[[Site], str]) -> str:
    """A call that would repeat long arguments has names for them. In a chain of such calls, each
    would otherwise be a multiple of the one within."""
    sql = write(site)
    if len(sql) < _LONG or len(sql) < 2 * sum(map(len, site.arguments)):
        return sql
    long = {
        f"a{i}": argument
        for i, argument in enumerate(site.arguments)
        if i not in site.constants and len(argument) > _SHORT
    }
    if not long:
        return sql
    names = (
        f"{_ARGUMENTS}.a{i}" if f"a{i}" in long else argument
        for i, argument in enumerate(site.arguments)
    )
    body = write(replace(site, arguments=tuple(names)))
    if json_calls.PREFIX in body:
        return sql  # Spark has no calls of Python in a lambda, which is how it names a value
    return with_value(engine, struct(engine, long), body, _ARGUMENTS)


_LONG, _SHORT, _ARGUMENTS = 2000, 100, "mz_arguments"


@to_sql.register
def _(scalar: Case, engine: str, columns: Sequence[str]) -> str:
    scalar = shielded(scalar) if engine == "spark" else scalar
    written = [
        (to_sql(condition, engine, columns), to_sql(result, engine, columns))
        for condition, result in scalar.branches
    ]
    branches = "".join(f" WHEN {condition} THEN {result}" for condition, result in written)
    return case_sql(engine, f"{branches} ELSE {to_sql(scalar.otherwise, engine, columns)}")


_DECIDING = {"and": "FALSE", "or": "TRUE"}
"""The operators whose answer one argument can decide, each with that argument."""


def _parts(scalar: Call[Scalar]) -> list[Scalar]:
    """What a chain of AND or OR combines, in order. Of OR, comparisons of one value with constants
    that follow each other are one part, which an engine looks up."""
    if scalar.function != "or":
        return list(_operands(scalar))
    parts: list[Scalar] = []
    for value, run in groupby(_operands(scalar), _compared):
        equalities = list(run)
        if value is None or len(equalities) == 1:
            parts += equalities
        else:
            constants = tuple(map(_constant, equalities))
            parts.append(Call("= any", (value, Literal(constants, array(value.type))), BOOLEAN))
    return parts


def _compared(scalar: Scalar) -> Scalar | None:
    """The value that the scalar compares with a constant, if engines look such values up."""
    match scalar:
        case Call("=", (value, Literal(constant, type))):
            is_listed = type.name in LOOKED_UP and type == value.type and constant is not None
            return value if is_listed else None
        case _:
            return None


def _constant(equality: Scalar) -> object:
    assert isinstance(equality, Call)
    constant = equality.arguments[1]
    assert isinstance(constant, Literal)
    return constant.value


def _in_order(scalar: Call[Scalar], engine: str, columns: Sequence[str]) -> str:
    """AND or OR that evaluates no argument after one that decides, as in PostgreSQL: only a CASE
    keeps an engine from evaluating all of them."""
    operator, decided = scalar.function.upper(), _DECIDING[scalar.function]
    *parts, last = _parts(scalar)
    result, could_fail = to_sql(last, engine, columns), could_error(last)
    for part in reversed(parts):
        written = to_sql(part, engine, columns)
        both = f"({written} {operator} {result})"
        guarded = case_sql(engine, f" WHEN {written} IS {decided} THEN {decided} ELSE {both}")
        result = guarded if could_fail else both
        could_fail = could_fail or could_error(part)
    return result


def condition_to_sql(condition: Scalar, engine: str, columns: Sequence[str]) -> str:
    """``condition`` of a filter or join. There engines evaluate AND and OR in order themselves, and
    optimize them, but take the square of the time of long ones."""
    if not isinstance(condition, Call) or condition.function not in _DECIDING:
        return to_sql(condition, engine, columns)
    parts = [condition_to_sql(part, engine, columns) for part in _parts(condition)]
    written = f" {condition.function.upper()} ".join(parts)
    if condition.function == "or" and len(parts) > _MANY:
        return case_sql(engine, f" WHEN {written} THEN TRUE ELSE FALSE")
    return f"({written})"


_MANY = 64


def _operands(scalar: Call[Scalar]) -> Iterator[Scalar]:
    """Of a chain of one operator."""
    for argument in scalar.arguments:
        if isinstance(argument, Call) and argument.function == scalar.function:
            yield from _operands(argument)
        else:
            yield argument


def aggregate_to_sql(
    aggregate: Aggregate, engine: str, columns: Sequence[str], over: str = ""
) -> str:
    """``aggregate`` over the rows of a group, as SQL; or over those that `` OVER (…)`` says."""
    filter = (
        f" FILTER (WHERE {to_sql(aggregate.filter, engine, columns)})" if aggregate.filter else ""
    )
    site = _site(
        aggregate, engine, columns, is_distinct=aggregate.is_distinct, filter=filter, over=over
    )
    return positive_zero(
        engine, write(functions.AGGREGATES, aggregate.function, engine, site), aggregate.type
    )


def references(scalar: Scalar | Aggregate | None) -> frozenset[int]:
    """The input columns that the expression reads."""
    match scalar:
        case ColumnRef():
            return frozenset({scalar.index})
        case Cast():
            return references(scalar.operand)
        case Call():
            return _all(scalar.arguments)
        case Case():
            return _all([part for branch in scalar.branches for part in branch]) | references(
                scalar.otherwise
            )
        case Aggregate():
            return _all(scalar.arguments) | references(scalar.filter)
        case _:
            return frozenset()


def all_references(scalars: Sequence[Scalar | Aggregate]) -> frozenset[int]:
    """The input columns that any of the expressions reads."""
    return _all(scalars)


def _all(scalars: Sequence[Scalar | Aggregate]) -> frozenset[int]:
    return frozenset().union(*(references(scalar) for scalar in scalars))


def _site(
    call: Call | Aggregate,
    engine: str,
    columns: Sequence[str],
    *,
    is_distinct: bool = False,
    filter: str = "",
    over: str = "",
) -> Site:
    return Site(
        tuple(to_sql(argument, engine, columns) for argument in call.arguments),
        tuple(argument.type for argument in call.arguments),
        call.type,
        {
            index: argument.value
            for index, argument in enumerate(call.arguments)
            if isinstance(argument, Literal)
        },
        is_distinct,
        filter,
        over,
    )
