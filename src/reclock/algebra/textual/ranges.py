"""The types of ranges: ``[a,b)`` if their values are discrete, otherwise with the bounds as given.
Bounds are written as values of their type are, with quotes around a timestamp. Zeros at the end of
a numeric are no part of it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation, localcontext
from functools import partial
from typing import Any

from reclock.algebra import ranges
from reclock.algebra.binary_scalars import (
    date_binary,
    moment_binary,
    numeric_binary,
    read_date,
    read_numeric,
    read_timestamp,
    read_timestamptz,
)
from reclock.algebra.moment_reading import read_moment
from reclock.algebra.number_texts import INTEGER_LIMITS, read_decimal, read_integer
from reclock.algebra.range_texts import WrittenRange, parse_literal, with_flags
from reclock.algebra.relations import (
    BIGINT,
    DATE,
    DATERANGE,
    INT4RANGE,
    INT8RANGE,
    INTEGER,
    MAX_PRECISION,
    NUMRANGE,
    TIMESTAMP,
    TIMESTAMPTZ,
    TSRANGE,
    TSTZRANGE,
    ScalarType,
    TypeName,
    numeric,
)
from reclock.algebra.textual.description import TextualType
from reclock.algebra.zones import LocalClock
from reclock.errors import EvaluationError, InvalidText, MomentOutOfRange, NumberOutOfRange


@dataclass(frozen=True, slots=True)
class RangeType:
    """A type of ranges, and how the values of its bounds are read and written."""

    type: ScalarType
    bound: ScalarType
    read: Callable[[str], Any]
    """Raises a ``ReclockError``."""
    write: Callable[[Any], str]
    to_binary: Callable[[Any], bytes]
    from_binary: Callable[[bytes], Any]
    successor: Callable[[Any], Any] | None = None
    """The next value, of a discrete type. Raises a ``ReclockError`` if there is none."""

    def normal_form(self, text: str) -> str:
        written = parse_literal(text)
        return ranges.EMPTY if written is None else self.canonical(written)

    def canonical(self, written: WrittenRange) -> str:
        """The range in normal form. Raises a ``ReclockError`` for a bound that is no value, and if
        the bounds are in the wrong order."""
        lower = None if written.lower is None else self.read(written.lower)
        upper = None if written.upper is None else self.read(written.upper)
        return self._between(lower, upper, written.includes_lower, written.includes_upper)

    def _between(self, lower: Any, upper: Any, includes_lower: bool, includes_upper: bool) -> str:
        if lower is not None and upper is not None:
            if lower > upper:
                raise EvaluationError(
                    "range lower bound must be less than or equal to range upper bound"
                )
            if lower == upper and not (includes_lower and includes_upper):
                return ranges.EMPTY
        if self.successor is not None:
            if lower is not None and not includes_lower:
                lower, includes_lower = self.successor(lower), True
            if upper is not None and includes_upper:
                upper, includes_upper = self.successor(upper), False
        return ranges.between(
            None if lower is None else ranges.value(self.write(lower)),
            None if upper is None else ranges.value(self.write(upper)),
            includes_lower=includes_lower,
            includes_upper=includes_upper,
        ).text()

    def binary(self, text: str) -> bytes:
        """The flags, and each bound with its length."""
        if text == ranges.EMPTY:
            return bytes([_IS_EMPTY])
        lower, upper = ranges.lower_value(text), ranges.upper_value(text)
        flags = _INCLUDES_LOWER * (text[0] == "[") | _INCLUDES_UPPER * (text[-1] == "]")
        flags |= _NO_LOWER * (lower is None) | _NO_UPPER * (upper is None)
        bounds = [self.to_binary(self.read(bound)) for bound in (lower, upper) if bound is not None]
        return bytes([flags]) + b"".join(len(raw).to_bytes(4, "big") + raw for raw in bounds)

    def of_binary(self, raw: bytes) -> str:
        (flags,), at = struct.unpack_from("!B", raw), 1
        if flags & _IS_EMPTY:
            return ranges.EMPTY
        bounds: list[Any] = []
        for is_absent in (flags & _NO_LOWER, flags & _NO_UPPER):
            if is_absent:
                bounds.append(None)
                continue
            (length,) = struct.unpack_from("!I", raw, at)
            bounds.append(self.from_binary(raw[at + 4 : at + 4 + length]))
            at += 4 + length
        if at != len(raw):
            raise ValueError("bytes after the bounds")
        lower, upper = bounds
        return self._between(
            lower, upper, bool(flags & _INCLUDES_LOWER), bool(flags & _INCLUDES_UPPER)
        )


_IS_EMPTY, _INCLUDES_LOWER, _INCLUDES_UPPER, _NO_LOWER, _NO_UPPER = 1, 2, 4, 8, 16
"""The flags of the binary format (``rangetypes.h``)."""


def _read_integer(text: str, type: ScalarType) -> int:
    try:
        number = read_integer(text.strip())
    except ValueError as error:
        raise InvalidText(type.name, text) from error
    if not -INTEGER_LIMITS[type.name] <= number < INTEGER_LIMITS[type.name]:
        raise NumberOutOfRange(text, type.name)
    return number


def _next_integer(number: int, type: ScalarType) -> int:
    if number + 1 == INTEGER_LIMITS[type.name]:
        raise EvaluationError(f"{type.name} out of range", sqlstate="22003")
    return number + 1


def _read_numeric(text: str) -> Decimal:
    if text.strip().lower().lstrip("+-") in ("nan", "inf", "infinity"):
        raise NumberOutOfRange(text, TypeName.NUMERIC)
    try:
        return _within_numeric(read_decimal(text.strip()))
    except (ValueError, InvalidOperation) as error:
        raise InvalidText(TypeName.NUMERIC, text) from error


def _within_numeric(number: Decimal) -> Decimal:
    """Raises ``NumberOutOfRange`` for a number of more digits than a numeric has."""
    if not number:
        return Decimal(0)
    if not number.is_finite():
        raise NumberOutOfRange(str(number), TypeName.NUMERIC)
    with localcontext(prec=1000):
        number = number.normalize()
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    if max(len(digits) + max(0, exponent), -exponent) > MAX_PRECISION:
        hint = f"a numeric has {MAX_PRECISION} digits at most"
        raise NumberOutOfRange(f"{number:.50g}", TypeName.NUMERIC, hint=hint)
    return number


def _moment_text(moment: datetime) -> str:
    text = moment.isoformat(" ").removesuffix("+00:00")
    text = text.rstrip("0") if "." in text else text
    return f"{text}+00" if moment.tzinfo else text


def _next_day(day: date) -> date:
    try:
        return day + timedelta(days=1)
    except OverflowError:
        raise MomentOutOfRange(message="date out of range") from None


def _of_integers(type: ScalarType, bound: ScalarType, form: str) -> RangeType:
    return RangeType(
        type,
        bound,
        read=partial(_read_integer, type=bound),
        write=str,
        to_binary=partial(struct.pack, form),
        from_binary=lambda raw: struct.unpack(form, raw)[0],
        successor=partial(_next_integer, type=bound),
    )


def _of_timestamps(
    type: ScalarType, bound: ScalarType, from_binary: Callable[[bytes], datetime]
) -> RangeType:
    return RangeType(
        type,
        bound,
        read=partial(read_moment, type=bound),
        write=_moment_text,
        to_binary=moment_binary,
        from_binary=from_binary,
    )


RANGE_TYPES: Mapping[TypeName, RangeType] = {
    range_type.type.name: range_type
    for range_type in (
        _of_integers(INT4RANGE, INTEGER, "!i"),
        _of_integers(INT8RANGE, BIGINT, "!q"),
        RangeType(
            NUMRANGE,
            numeric(),
            read=_read_numeric,
            write=lambda number: format(number, "f"),
            to_binary=lambda value: numeric_binary(format(value, "f")),
            from_binary=lambda raw: _within_numeric(read_numeric(raw)),
        ),
        RangeType(
            DATERANGE,
            DATE,
            read=partial(read_moment, type=DATE),
            write=str,
            to_binary=date_binary,
            from_binary=read_date,
            successor=_next_day,
        ),
        _of_timestamps(TSRANGE, TIMESTAMP, read_timestamp),
        _of_timestamps(TSTZRANGE, TIMESTAMPTZ, read_timestamptz),
    )
}


def moments_of_clock(clock: LocalClock) -> RangeType:
    """``tstzrange`` as a session reads it: bounds that do not name their zone are local times."""
    read = partial(read_moment, type=TIMESTAMPTZ, clock=clock)
    return replace(RANGE_TYPES[TypeName.TSTZRANGE], read=read)


def range_of(type_name: str, lower: str, upper: str, flags: str) -> str:
    """The range of the type between two bounds, with PostgreSQL's flags, such as ``[)``. The bounds
    are texts of values; an empty one is no bound. Raises as `RangeType.canonical`, and for other
    flags."""
    return RANGE_TYPES[TypeName(type_name)].canonical(
        with_flags(lower or None, upper or None, flags)
    )


def _textual(type: ScalarType, oid: int, array_oid: int) -> TextualType:
    kind = RANGE_TYPES[type.name]
    return TextualType(
        type,
        oid=oid,
        array_oid=array_oid,
        size=-1,
        category="R",
        functions=(3834, 3835, 3836, 3837),
        normal_form=kind.normal_form,
        to_binary=kind.binary,
        from_binary=kind.of_binary,
    )


RANGES = (
    _textual(INT4RANGE, 3904, 3905),
    _textual(NUMRANGE, 3906, 3907),
    _textual(TSRANGE, 3908, 3909),
    _textual(TSTZRANGE, 3910, 3911),
    _textual(DATERANGE, 3912, 3913),
    _textual(INT8RANGE, 3926, 3927),
)
