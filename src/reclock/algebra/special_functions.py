"""Functions of doubles that the engines do not have, or not with PostgreSQL's errors. A result is
the text of a double."""

from __future__ import annotations

import math

from reclock.errors import EvaluationError

_OVERFLOW = "value out of range: overflow"
_LARGEST_FACTORIAL = 33
"""The last one that a numeric of 38 digits holds."""


def gamma(number: float) -> str:
    """Raises ``EvaluationError`` for a result that is no finite number, or is zero."""
    if math.isnan(number) or number == math.inf:
        return _text(number)
    try:
        result = math.gamma(number)
    except (OverflowError, ValueError) as error:
        raise EvaluationError(_OVERFLOW, sqlstate="22003") from error
    if result == 0:
        raise EvaluationError("value out of range: underflow", sqlstate="22003")
    return _text(result)


def lgamma(number: float) -> str:
    """Raises ``EvaluationError`` for a result that is infinite."""
    try:
        return _text(math.lgamma(number))
    except (OverflowError, ValueError) as error:
        raise EvaluationError(_OVERFLOW, sqlstate="22003") from error


def erf(number: float) -> str:
    return _text(math.erf(number))


def erfc(number: float) -> str:
    return _text(math.erfc(number))


def factorial(digits: str) -> str:
    """The product of the whole numbers up to one. Raises ``EvaluationError``."""
    number = int(digits)
    if number < 0:
        raise EvaluationError("factorial of a negative number is undefined", sqlstate="22003")
    if number > _LARGEST_FACTORIAL:
        raise EvaluationError("value overflows numeric format", sqlstate="22003")
    return str(math.factorial(number))


def _text(number: float) -> str:
    if math.isfinite(number):
        return repr(number)
    return "NaN" if math.isnan(number) else f"{'-' if number < 0 else ''}Infinity"
