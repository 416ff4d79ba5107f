"""Floating-point numbers: no result is a negative zero.

As in PostgreSQL, overflow is an error: a result is infinite only if an operand is. So is underflow:
a result that is too small to differ from zero.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from reclock.algebra.relations import ScalarType
from reclock.plan.functions.sql_names import raised, type_sql

_OPERAND = re.compile(r'[\w."`]+|CAST\([^()]*( AS [A-Z]+)\)')
"""A column or a constant, which can be written twice at no cost."""


def positive_zero(engine: str, sql: str, type: ScalarType) -> str:
    """``sql`` of ``type`` with ``-0`` as ``0``: equal rows are one row in a collection."""
    return f"({sql} + CAST(0 AS {type_sql(engine, type)}))" if type.is_float else sql


def within_range(engine: str, result: str, *operands: str) -> str:
    """``result``, or an error if it is infinite although all ``operands`` are finite."""
    finite = "".join(f" AND NOT {is_infinite(engine, operand)}" for operand in operands)
    error = raised(engine, "22003", "'value out of range: overflow'")
    return f"(CASE WHEN {is_infinite(engine, result)}{finite} THEN {error} ELSE {result} END)"


def computed(engine: str, template: str, left: str, right: str, vanishes: str | None = None) -> str:
    """``template``, whose ``{0}`` and ``{1}`` are the operands, with overflow as an error.

    A zero is an error where ``vanishes``, a template too, is true: there the result is not zero.
    An operand that is computed is written, and computed, once.
    """

    def checked(left: str, right: str) -> str:
        result = template.format(left, right)
        if vanishes is None:
            return within_range(engine, result, left, right)
        error = raised(engine, "22003", "'value out of range: underflow'")
        underflow = f"WHEN {result} = 0 AND {vanishes.format(left, right)} THEN {error}"
        return f"(CASE {underflow} ELSE {within_range(engine, result, left, right)} END)"

    return with_operands(engine, left, right, checked)


def is_infinite(engine: str, sql: str) -> str:
    return f"isinf({sql})" if engine == "duckdb" else f"(abs({sql}) = CAST('Infinity' AS DOUBLE))"


def with_operands(engine: str, left: str, right: str, write: Callable[[str, str], str]) -> str:
    """What ``write`` makes of two operands, which it may repeat: one that is computed is written,
    and computed, once."""
    if _OPERAND.fullmatch(left) and _OPERAND.fullmatch(right):
        return write(left, right)
    pair = (
        f"{{'l': {left}, 'r': {right}}}"
        if engine == "duckdb"
        else f"named_struct('l', {left}, 'r', {right})"
    )
    return with_value(engine, pair, write("v.l", "v.r"))


def with_value(engine: str, sql: str, body: str, name: str = "v") -> str:
    """``body``, in which ``name`` is the value of ``sql``, which is written, and computed, once."""
    if engine == "duckdb":
        return f"list_extract(list_transform([{sql}], lambda {name}: {body}), 1)"
    return f"get(transform(array({sql}), {name} -> {body}), 0)"
