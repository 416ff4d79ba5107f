"""Whole and decimal numbers as PostgreSQL reads them from text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from reclock.algebra.relations import TypeName

INTEGER_LIMITS: Mapping[TypeName, int] = {
    TypeName.SMALLINT: 2**15,
    TypeName.INTEGER: 2**31,
    TypeName.BIGINT: 2**63,
}
"""What the numbers of each type are below; the smallest is its negative."""


def read_integer(text: str) -> int:
    """The number that ``text``, without blanks around it, spells. Raises ``ValueError``."""
    if not re.fullmatch(r"[+-]?[0-9]{1,400}", text):
        raise ValueError(text)
    return int(text)


def read_decimal(text: str) -> Decimal:
    """The number that ``text``, without blanks around it, spells, with all its digits. Raises
    ``ValueError`` and ``decimal.InvalidOperation``."""
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text):
        raise ValueError(text)
    return Decimal(text)


def number_key(number: Decimal) -> str:
    """A text for each number, in whose order, by bytes, numbers are: the sign, the exponent and the
    digits; of a negative number, the complements of both."""
    if not number:
        return "1 "
    digits = "".join(map(str, number.as_tuple().digits)).rstrip("0")
    size = f"{number.adjusted() + 500_000:06d}{digits}"
    return f"0{size.translate(_COMPLEMENT)}~" if number < 0 else f"2{size} "


_COMPLEMENT = str.maketrans("0123456789", "9876543210")
