"""Constants in text: the value of a string in a type, as PostgreSQL parses it."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal, InvalidOperation, localcontext
from typing import Any

from reclock.algebra.array_shapes import check_dimensions, shape
from reclock.algebra.array_texts import Items, elements
from reclock.algebra.interval_reading import interval_of
from reclock.algebra.intervals import Interval
from reclock.algebra.list_texts import list_parts, map_parts
from reclock.algebra.moment_reading import read_moment
from reclock.algebra.number_texts import INTEGER_LIMITS, read_decimal, read_integer
from reclock.algebra.record_texts import record_fields
from reclock.algebra.relations import (
    BIGINT,
    DOUBLE,
    INTEGER,
    MAX_PRECISION,
    ScalarType,
    TypeName,
    array,
    numeric,
)
from reclock.algebra.textual import textual
from reclock.algebra.textual.ranges import moments_of_clock
from reclock.algebra.zones import UTC_CLOCK, LocalClock
from reclock.errors import (
    InvalidEnumLabel,
    InvalidText,
    MalformedArray,
    MalformedRecord,
    NumberOutOfRange,
    TooManyDigits,
    UnsupportedSql,
)
from reclock.plan.functions.text_casts import BEYOND

_BOOLEANS = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


Number = int | float | Decimal
Value = (
    Number
    | str
    | bytes
    | date
    | datetime
    | Interval
    | tuple["Value | None", ...]  # an array; booleans are integers to Python
)


def parse_text(text: str, type: ScalarType, clock: LocalClock = UTC_CLOCK) -> Value:
    """The value of ``text`` in ``type``. ``clock`` says what moments do not.

    Raises ``InvalidText``, ``InvalidEnumLabel``, ``InvalidJson``, ``MomentOutOfRange``,
    ``ZoneOutOfRange`` or ``NumberOutOfRange``.
    """
    if type.name is TypeName.TEXT:
        return text
    if type.enum is not None:
        if text not in type.enum.labels:
            raise InvalidEnumLabel(type.enum.name, text)
        return text
    if type.name is TypeName.TSTZRANGE:
        return moments_of_clock(clock).normal_form(text)
    if (description := textual(type)) is not None:
        return description.normal_form(text)
    if type.name is TypeName.VECTOR:
        return _vector(text, type)
    if type.name is TypeName.LIST:
        return _list(text, type, clock)
    if type.name is TypeName.MAP:
        return _map(text, type, clock)
    if type.element is not None:
        items, read_type = read_array(text, type, clock)
        check_dimensions(read_type if items else type, type)
        return items
    if type.name is TypeName.RECORD:
        return _record(text, type, clock)
    if type.is_moment:
        return read_moment(text, type, clock)
    stripped = text.strip()
    try:
        value = _READERS[type.name](stripped)
    except (ValueError, OverflowError, InvalidOperation) as error:
        if type.name in BEYOND and re.fullmatch(BEYOND[type.name], stripped):
            raise NumberOutOfRange(text, type.name) from error
        raise InvalidText(type.name, text) from error
    return fit(value, type) if type.is_number else value


def fit(value: Number, type: ScalarType) -> Number:
    """A number as a value of the numeric type ``type``, rounded as in PostgreSQL.

    Raises ``NumberOutOfRange``, and ``TooManyDigits`` if rounding would drop digits of an
    unconstrained numeric.
    """
    if type.is_float:
        try:
            as_float = float(value)
        except OverflowError:
            as_float = math.inf
        is_too_large = (
            type.name is TypeName.REAL and 3.4028235677973366e38 <= abs(as_float) < math.inf
        )
        if is_too_large or (
            math.isinf(as_float) and not (isinstance(value, float) and math.isinf(value))
        ):
            raise NumberOutOfRange(str(value), str(type))
        if type.name is TypeName.REAL:
            (as_float,) = struct.unpack("<f", struct.pack("<f", as_float))
        if value and not as_float:
            raise NumberOutOfRange(str(value), str(type))
        return as_float
    try:
        with localcontext() as context:
            context.prec = 1000
            exact = Decimal(value)
            if not exact.is_finite() or (abs(exact.adjusted()) > 400 and exact):
                raise NumberOutOfRange(str(value), str(type))
            if type.is_integer:
                rounding = "ROUND_HALF_EVEN" if isinstance(value, float) else "ROUND_HALF_UP"
                whole = int(exact.quantize(Decimal(1), rounding=rounding))
                if not -INTEGER_LIMITS[type.name] <= whole < INTEGER_LIMITS[type.name]:
                    raise NumberOutOfRange(str(value), str(type))
                return whole
            rounded = exact.quantize(
                Decimal(1).scaleb(-(type.scale or 0)), rounding="ROUND_HALF_UP"
            )
    except InvalidOperation as error:
        raise NumberOutOfRange(str(value), str(type)) from error
    if rounded.copy_abs() >= Decimal(10) ** ((type.precision or 38) - (type.scale or 0)):
        raise NumberOutOfRange(f"{exact:f}", str(type), hint=_range_hint(exact, type))
    if type.is_unconstrained and rounded != exact:
        raise TooManyDigits(f"{exact:f}", type.scale or 0)
    return rounded


def _range_hint(value: Decimal, type: ScalarType) -> str | None:
    if not type.is_unconstrained or value.adjusted() >= MAX_PRECISION:
        return None
    return (
        f"declare the column with a precision and scale that hold {value.adjusted() + 1} "
        "digits before the decimal point"
    )


def natural(value: Number, type: ScalarType) -> tuple[Decimal, ScalarType]:
    """A number of ``type`` as an unconstrained numeric of its own digits; a floating-point one has
    15 of them, a real 6.

    Raises ``NumberOutOfRange`` if it needs more than 38.
    """
    if type.is_float:
        value = Decimal(f"{value:.{6 if type.name is TypeName.REAL else 15}g}")
    exact = value if isinstance(value, Decimal) else Decimal(value)
    if not exact.is_finite():
        raise NumberOutOfRange(str(value), "numeric")
    if type.is_float:
        exact = exact.normalize()
    _, digits, exponent = exact.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    precision = max(len(digits) + max(0, exponent), scale, 1)
    if precision > MAX_PRECISION:
        raise NumberOutOfRange(f"{exact:.50g}", "numeric", hint="a numeric has 38 digits at most")
    type = numeric(precision, scale)
    return Decimal(fit(exact, type)), type


def number(text: str) -> tuple[Any, ScalarType]:
    """The value and type of a numeric constant: the smallest of integer, bigint and numeric that
    holds it.

    One that no numeric holds, such as ``1e100``, is a double if that keeps all digits that are
    written.
    """
    if text.removeprefix("-").isdigit():
        value = int(text) if len(text) < 400 else 10**400
        for type in (INTEGER, BIGINT):
            if -INTEGER_LIMITS[type.name] <= value < INTEGER_LIMITS[type.name]:
                return value, type
        if abs(value) >= 10**MAX_PRECISION:
            raise NumberOutOfRange(text[:50], "numeric", hint="a numeric has 38 digits at most")
        return Decimal(value), numeric(MAX_PRECISION, 0)
    try:
        exact = Decimal(text.replace("_", ""))
    except InvalidOperation as error:
        raise InvalidText("numeric", text) from error
    try:
        return natural(exact, numeric())
    except NumberOutOfRange:
        as_double = float(exact)
        if (
            len(exact.normalize().as_tuple().digits) > 15
            or math.isinf(as_double)
            or (exact and not as_double)
        ):
            raise
        return as_double, DOUBLE


def _boolean(text: str) -> bool:
    matches = {value for word, value in _BOOLEANS.items() if text and word.startswith(text.lower())}
    if len(matches) != 1:
        raise ValueError(text)
    return matches.pop()


def _float(text: str) -> float:
    if not re.fullmatch(
        r"(?i)[+-]?(\d+\.?\d*(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?|inf|infinity|nan)", text
    ):
        raise ValueError(text)
    value = float(text)
    if math.isinf(value) and "inf" not in text.lower():
        raise NumberOutOfRange(text, "double precision")
    if not value and re.match(r"[+-]?[0.]*[1-9]", text):
        raise NumberOutOfRange(text, "double precision")
    return value


def parse_number(text: str) -> Decimal:
    """The number that ``text`` spells, with all its digits. Raises ``InvalidText``,
    ``NumberOutOfRange`` for NaN and infinity."""
    check_is_finite(text)
    try:
        return read_decimal(text.strip())
    except (ValueError, InvalidOperation) as error:
        raise InvalidText(TypeName.NUMERIC, text) from error


def check_is_finite(text: str) -> None:
    """Raises ``NumberOutOfRange`` if it spells NaN or infinity, which no numeric is."""
    if re.fullmatch(r"(?i)\s*([+-]?inf(inity)?|s?nan)\s*", text):
        hint = "NaN and infinity are values of double precision only"
        raise NumberOutOfRange(text.strip(), "numeric", hint=hint)


def read_array(
    text: str, type: ScalarType, clock: LocalClock = UTC_CLOCK
) -> tuple[tuple[Value | None, ...], ScalarType]:
    """The value of ``text``, an array of the elements of ``type``, and its type, which has the
    dimensions of the value. Raises as ``parse_text``."""
    try:
        items = elements(text)
    except ValueError as error:
        raise MalformedArray(text) from error

    def value(item: str | Items | None) -> Value | None:
        if isinstance(item, list):
            return tuple(map(value, item))
        return None if item is None else parse_text(item, type.base, clock)

    read = tuple(map(value, items))
    dimensions = len(shape(items))
    return read, array(type.base, dimensions) if dimensions else type


def _list(text: str, type: ScalarType, clock: LocalClock) -> tuple[Value | None, ...]:
    assert type.element is not None
    try:
        parts = list_parts(text, type.element.is_list_or_map)
    except ValueError as error:
        raise InvalidText(str(type), text) from error
    return tuple(_part(part, type.element, clock) for part in parts)


def _map(text: str, type: ScalarType, clock: LocalClock) -> tuple[Value | None, ...]:
    """The entries in the order of their keys: of equal keys, the last one."""
    try:
        parts = dict(map_parts(text, type.value.is_list_or_map))
    except ValueError as error:
        raise InvalidText(str(type), text) from error
    return tuple((key, _part(parts[key], type.value, clock)) for key in sorted(parts))


def _record(text: str, type: ScalarType, clock: LocalClock) -> tuple[Value | None, ...]:
    """The fields in order. Raises ``UnsupportedSql`` unless a user defined the type."""
    if type.composite is None:
        raise UnsupportedSql("input of anonymous composite types is not implemented")
    try:
        parts = record_fields(text)
        if len(parts) != len(type.fields):
            raise ValueError(f"Too {'few' if len(parts) < len(type.fields) else 'many'} columns.")
    except ValueError as error:
        raise MalformedRecord(text, str(error)) from error
    return tuple(
        _part(part, field.type, clock) for part, field in zip(parts, type.fields, strict=True)
    )


def _part(text: str | None, type: ScalarType, clock: LocalClock) -> Value | None:
    return None if text is None else parse_text(text, type, clock)


def _vector(text: str, type: ScalarType) -> tuple[Value, ...]:
    """Numbers with blanks between them."""
    return tuple(parse_text(item, type.base) for item in text.split())


def _object_id(text: str) -> int:
    value = read_integer(text)
    if not 0 <= value < 2**32:
        raise ValueError(text)
    return value


def _bytea(text: str) -> bytes:
    if text.startswith("\\x"):
        return bytes.fromhex(text[2:])
    return _ESCAPED_BYTE.sub(_byte, text.encode())


_ESCAPED_BYTE = re.compile(rb"\\([0-3][0-7]{2}|.|$)", re.DOTALL)


def _byte(escaped: re.Match[bytes]) -> bytes:
    """``\\\\`` and ``\\ooo``, an octal number. Raises ``ValueError``."""
    code = escaped[1]
    if code == b"\\":
        return code
    if len(code) < 3:
        raise ValueError(escaped[0])
    return int(code, 8).to_bytes(1, "big")


_READERS: dict[TypeName, Callable[[str], Any]] = {
    TypeName.BOOLEAN: _boolean,
    TypeName.SMALLINT: read_integer,
    TypeName.INTEGER: read_integer,
    TypeName.BIGINT: read_integer,
    TypeName.REAL: _float,
    TypeName.DOUBLE: _float,
    TypeName.NUMERIC: read_decimal,
    TypeName.INTERVAL: interval_of,
    TypeName.BYTEA: _bytea,
    **dict.fromkeys((name for name in TypeName if ScalarType(name).is_object_id), _object_id),
}
