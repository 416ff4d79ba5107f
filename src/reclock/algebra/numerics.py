"""The digits that numerics print after the decimal point.

A numeric has as many digits after the point as its type, which are those that the value was
written with only if the type is declared with a scale. Otherwise zeros at the end are no part of
the value, and a quotient shows as many digits as in PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal

from reclock.algebra.relations import ScalarType

_EXACT = Context(prec=100, rounding=ROUND_HALF_UP)
_SIGNIFICANT = 16
"""``NUMERIC_MIN_SIG_DIGITS``: the digits of a quotient that are significant at least."""


def printed(value: Decimal, type: ScalarType) -> Decimal:
    """``value`` with as many digits after the point as a numeric of ``type`` prints."""
    if type.least_digits is None or not value.is_finite():
        return value
    if not type.is_quotient:
        return _without_zeros(value, type.least_digits)
    size, scale = value.copy_abs(), type.scale or 0
    digits = (
        scale
        if size <= 1
        else next((digits for limit, digits in quotient_digits(type) if size < limit), scale)
    )
    return value.quantize(Decimal(1).scaleb(-digits), context=_EXACT)


def quotient_digits(type: ScalarType) -> Sequence[tuple[int, int]]:
    """Limits in ascending order, and how many digits after the point a quotient from 1 to each has.

    A quotient up to 1 has all digits of its type. PostgreSQL counts digits in groups of four
    (``select_div_scale`` in ``numeric.c``).
    """
    scale, least = type.scale or 0, type.least_digits or 0
    groups = range(10)
    return [
        (10 ** (4 * group + 4), min(scale, max(least, _SIGNIFICANT - 4 * group)))
        for group in groups
    ]


def _without_zeros(value: Decimal, least: int) -> Decimal:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    text = format(value, "f")
    while exponent < -least and text.endswith("0"):
        text, exponent = text[:-1], exponent + 1
    return Decimal(text.removesuffix("."))
