"""PostgreSQL's binary format of numerics, dates and moments, both ways.

Source of the formats: the ``…send`` and ``…recv`` functions of PostgreSQL's
``src/backend/utils/adt``.
"""

from __future__ import annotations

import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, localcontext

DAY_ZERO = date(2000, 1, 1)
_MOMENT_ZERO = datetime(2000, 1, 1)
"""From when on PostgreSQL counts days and microseconds."""
_MICROSECOND = timedelta(microseconds=1)


def date_binary(value: date) -> bytes:
    return struct.pack("!i", (value - DAY_ZERO).days)


def read_date(raw: bytes) -> date:
    """Raises ``struct.error`` and ``OverflowError``."""
    return DAY_ZERO + timedelta(days=struct.unpack("!i", raw)[0])


def moment_binary(value: datetime) -> bytes:
    """A timestamp, with or without a zone."""
    naive = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    return struct.pack("!q", (naive - _MOMENT_ZERO) // _MICROSECOND)


def read_timestamp(raw: bytes) -> datetime:
    """Raises ``struct.error`` and ``OverflowError``."""
    return _MOMENT_ZERO + timedelta(microseconds=struct.unpack("!q", raw)[0])


def read_timestamptz(raw: bytes) -> datetime:
    """In UTC. Raises ``struct.error`` and ``OverflowError``."""
    return read_timestamp(raw).replace(tzinfo=UTC)


def numeric_binary(text: str) -> bytes:
    """Of a number in PostgreSQL's text form, without an exponent. Digits in groups of four: count,
    weight of the first, sign, digits after the point, groups."""
    before, _, after = text.removeprefix("-").partition(".")
    before, padded = before.zfill(_whole_groups(before)), after.ljust(_whole_groups(after), "0")
    digits = before + padded
    skipped = (len(digits) - len(digits.lstrip("0"))) // 4
    significant = digits[4 * skipped : _whole_groups(digits.rstrip("0"))]
    groups = [int(significant[i : i + 4]) for i in range(0, len(significant), 4)]
    weight = len(before) // 4 - 1 - skipped if groups else 0
    sign = 0x4000 if groups and text[0] == "-" else 0
    return struct.pack(f"!HhHH{len(groups)}H", len(groups), weight, sign, len(after), *groups)


def _whole_groups(digits: str) -> int:
    """The length of ``digits`` if the last group of four is filled up."""
    return -(-len(digits) // 4) * 4


_NOT_FINITE = {
    0xC000: Decimal("NaN"),
    0xD000: Decimal("Infinity"),
    0xF000: Decimal("-Infinity"),
}
"""What has a sign of its own, and no digits."""


def read_numeric(raw: bytes) -> Decimal:
    """The number with all digits that were sent. Raises ``struct.error`` and ``ValueError``."""
    count, weight, sign, scale = struct.unpack_from("!HhHH", raw)
    if sign in _NOT_FINITE:
        return _NOT_FINITE[sign]
    groups = struct.unpack(f"!{count}H", raw[8:])
    if (
        sign not in (0, 0x4000)
        or any(group > 9999 for group in groups)
        or abs(weight) > 100
        or scale > 1000
    ):
        raise ValueError("not a number, or one of too many digits")
    with localcontext(prec=2000):
        value = sum(
            (Decimal(group).scaleb(4 * (weight - i)) for i, group in enumerate(groups)), Decimal(0)
        )
        number = value.quantize(Decimal(1).scaleb(-scale))
        return number.copy_negate() if sign else number
