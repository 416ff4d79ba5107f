"""Calls of ``array_fill``."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.algebra.array_texts import MOST_DIMENSIONS
from reclock.algebra.relations import INTEGER, array
from reclock.errors import EvaluationError, TypeMismatch, UnsupportedSql
from reclock.plan.scalars import Call, Literal
from reclock.sql.queries.coercion import default_to_text, expect
from reclock.sql.queries.overloads import call, is_open
from reclock.sql.queries.planned import Planned, TypedExpr


def filled(value: Planned, sizes: Planned, bounds: Planned | None = None) -> TypedExpr:
    """There are as many dimensions as lengths, which are written out."""
    if is_open(value):
        raise TypeMismatch("could not determine polymorphic type because input has type unknown")
    if bounds is not None and any(first != Literal(1, INTEGER) for first in _items(bounds)):
        raise UnsupportedSql("arrays whose first index is not 1 are not supported")
    lengths = _items(sizes)
    if len(lengths) > MOST_DIMENSIONS:
        raise EvaluationError(
            f"number of array dimensions ({len(lengths)}) exceeds the maximum allowed "
            f"({MOST_DIMENSIONS})",
            sqlstate="54000",
        )
    if bounds is not None and len(_items(bounds)) != len(lengths):
        raise EvaluationError("wrong number of array subscripts", sqlstate="2202E")
    if not lengths:
        return Literal((), array(default_to_text(value).type))
    return call("array_fill", [value, *lengths])


def _items(value: Planned) -> Sequence[TypedExpr]:
    """The numbers of an array that is written out. Raises ``EvaluationError`` for NULL,
    ``UnsupportedSql`` for one that is computed."""
    numbers = expect(value, array(INTEGER), "dimension array")
    if isinstance(numbers, Literal):
        if numbers.value is None:
            message = "dimension array or low bound array cannot be null"
            raise EvaluationError(message, sqlstate="22004")
        return [Literal(number, INTEGER) for number in numbers.value]
    if isinstance(numbers, Call) and numbers.function == "array":
        return numbers.arguments
    raise UnsupportedSql(
        "array_fill of lengths that are computed is not supported",
        hint="write them out, as in ARRAY[a, b]",
    )
