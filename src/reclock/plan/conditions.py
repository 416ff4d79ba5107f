"""Conditions whose truth is known without an engine: comparisons of exact values, and logic over
them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from reclock.algebra.relations import ScalarType, TypeName
from reclock.errors import InternalError
from reclock.plan.scalar_trees import walk
from reclock.plan.scalars import Call, ColumnRef, Literal, Scalar

_COMPARISONS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_LOGIC = ("and", "or", "not", "is_null", "is_true", "is_false")
_EXACT = (
    TypeName.SMALLINT,
    TypeName.INTEGER,
    TypeName.BIGINT,
    TypeName.NUMERIC,
    TypeName.BOOLEAN,
    TypeName.DATE,
)
"""Types that Python compares as SQL does."""


def is_simple(condition: Scalar) -> bool:
    """Whether ``is_satisfied`` knows the condition's truth."""
    return all(
        isinstance(part, ColumnRef | Literal) or (isinstance(part, Call) and _is_simple_call(part))
        for part in walk(condition)
    )


def is_satisfied(condition: Scalar, row: Sequence[Any]) -> bool | None:
    """The truth of a simple condition for a row; None where it is NULL."""
    match condition:
        case ColumnRef(index):
            return row[index]  # type: ignore[no-any-return]
        case Literal(value):
            return value  # type: ignore[no-any-return]
        case Call("and" | "or" as function, arguments):
            values = [is_satisfied(argument, row) for argument in arguments]
            decisive = function == "or"
            return decisive if decisive in values else None if None in values else not decisive
        case Call("is_null", (argument,)):
            return is_satisfied(argument, row) is None
        case Call("is_true" | "is_false" as function, (argument,)):
            return is_satisfied(argument, row) is (function == "is_true")
        case Call("not", (argument,)):
            value = is_satisfied(argument, row)
            return None if value is None else not value
        case Call(function, arguments):
            left, right = (is_satisfied(argument, row) for argument in arguments)
            return None if left is None or right is None else _COMPARISONS[function](left, right)
        case _:
            raise InternalError(f"the truth of a condition is not known: {condition}")


def _is_simple_call(call: Call) -> bool:
    if call.function in _LOGIC:
        return True
    return (
        call.function in _COMPARISONS
        and len(call.arguments) == 2
        and _are_comparable(*(a.type for a in call.arguments))
    )


def _are_comparable(left: ScalarType, right: ScalarType) -> bool:
    """Text is not: its comparison with ``char(n)`` is not Python's."""
    return left.name in _EXACT and (left == right or (left.is_integer and right.is_integer))
