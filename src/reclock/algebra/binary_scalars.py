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


def numeric_binary(value: Decimal) -> bytes:
    """Digits in groups of four: count, weight of the first, sign, digits after the point,
    groups."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    whole = "".join(map(str, digits)) + "0" * max(0, exponent)
    whole = whole.rjust(scale + 1, "0")
    before, after = (whole[:-scale], whole[-scale:]) if scale else (whole, "")
    before = before.rjust(-(-len(before) // 4) * 4, "0")
    after = after.ljust(-(-len(after) // 4) * 4, "0")
    text = before + after
    groups = [int(text[i : i + 4]) for i in range(0, len(text), 4)]
    weight = len(before) // 4 - 1
    while groups and groups[0] == 0:
        groups.pop(0)
        weight -= 1
    while groups and groups[-1] == 0:
        groups.pop()
    if not groups:
        weight, sign = 0, 0
    return struct.pack(
        f"!HhHH{len(groups)}H", len(groups), weight, 0x4000 if sign else 0, scale, *groups
    )


def read_numeric(raw: bytes) -> Decimal:
    """The number with all digits that were sent. Raises ``struct.error`` and ``ValueError``."""
    count, weight, sign, scale = struct.unpack_from("!HhHH", raw)
    groups = struct.unpack(f"!{count}H", raw[8:])
    if (
        sign not in (0, 0x4000)
        or any(group > 9999 for group in groups)
        or abs(weight) > 100
        or scale > 1000
    ):
        raise ValueError("not a number that is finite")
    with localcontext(prec=2000):
        value = sum(
            (Decimal(group).scaleb(4 * (weight - i)) for i, group in enumerate(groups)), Decimal(0)
        )
        number = value.quantize(Decimal(1).scaleb(-scale))
        return number.copy_negate() if sign else number
