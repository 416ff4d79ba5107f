"""Constants in text: the value of a string in a type, as PostgreSQL parses it."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation, localcontext
from typing import Any

from reclock.algebra.array_texts import elements
from reclock.algebra.interval_reading import interval_of
from reclock.algebra.intervals import Interval
from reclock.algebra.relations import (
    BIGINT,
    DOUBLE,
    INTEGER,
    MAX_PRECISION,
    ScalarType,
    TypeName,
    numeric,
)
from reclock.algebra.textual import textual
from reclock.algebra.written_moments import iso_form
from reclock.errors import (
    InvalidMoment,
    InvalidText,
    MomentOutOfRange,
    NumberOutOfRange,
    TooManyDigits,
    ZoneOutOfRange,
)
from reclock.plan.functions.casts import BEYOND
from reclock.plan.functions.zones import offset, zone_name

_LIMITS = {TypeName.SMALLINT: 2**15, TypeName.INTEGER: 2**31, TypeName.BIGINT: 2**63}
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
_DATE = re.compile(r"(\d{4,})-(\d{1,2})-(\d{1,2})")
_MOST_HOURS_AHEAD = 15
"""PostgreSQL reads no larger offset of a time zone."""
_ERA = re.compile(r"(?<=\d)\s*AD$", re.IGNORECASE)
_MOMENT = re.compile(
    r"(?P<date>\d{4,}-\d{1,2}-\d{1,2})(?:(?: +"
    r"| *T *)(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d+))?)?)?"
    r"\s*(?P<zone>[+-]\d{1,2}(?::?\d\d)?|[A-Za-z]\w*(?:/[\w+-]+)*)?"
)


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


def parse_text(text: str, type: ScalarType) -> Value:
    """The value of ``text`` in ``type``.

    Raises ``InvalidText``, ``InvalidJson``, ``MomentOutOfRange``, ``ZoneOutOfRange`` or
    ``NumberOutOfRange``.
    """
    if type.name is TypeName.TEXT:
        return text
    if (description := textual(type)) is not None:
        return description.normal_form(text)
    if type.element is not None:
        return _array(text, type)
    stripped = text.strip()
    if type.is_moment and stripped.lower() == "epoch":
        stripped = "1970-01-01"
    try:
        value = _READERS[type.name](stripped)
    except (ValueError, OverflowError, InvalidOperation) as error:
        is_beyond = type.name in BEYOND and re.fullmatch(BEYOND[type.name], stripped)
        if not type.is_moment:
            if is_beyond:
                raise NumberOutOfRange(text, type.name) from error
            raise InvalidText(type.name, text) from error
        if is_beyond or ((match := _matched(stripped)) and _has_zone(match["zone"])):
            raise MomentOutOfRange(text) from error
        raise InvalidMoment(type.name, text) from error
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
                if not -_LIMITS[type.name] <= whole < _LIMITS[type.name]:
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
            if -_LIMITS[type.name] <= value < _LIMITS[type.name]:
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


def _integer(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,400}", text):
        raise ValueError(text)
    return int(text)


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
    if re.fullmatch(r"(?i)\s*([+-]?inf(inity)?|nan)\s*", text):
        hint = "NaN and infinity are values of double precision only"
        raise NumberOutOfRange(text.strip(), "numeric", hint=hint)
    try:
        return _numeric(text.strip())
    except (ValueError, InvalidOperation) as error:
        raise InvalidText(TypeName.NUMERIC, text) from error


def _numeric(text: str) -> Decimal:
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text):
        raise ValueError(text)
    return Decimal(text)


def _date(text: str) -> date:
    moment = _moment(text)[0]
    return moment.date()


def _matched(text: str) -> re.Match[str] | None:
    text = _ERA.sub("", text)
    return _MOMENT.fullmatch(text) or _MOMENT.fullmatch(iso_form(text) or "")


def _moment(text: str) -> tuple[datetime, timedelta | None]:
    match = _matched(text)
    if not match or not (day := _DATE.fullmatch(match["date"])):
        raise ValueError(text)
    microseconds = round(Decimal("0." + (match["fraction"] or "0")) * 10**6)
    clock = timedelta(seconds=int(match["second"] or 0), microseconds=microseconds)
    if int(match["second"] or 0) > 60:
        raise ValueError(text)
    moment = (
        datetime(
            int(day[1]),
            int(day[2]),
            int(day[3]),
            int(match["hour"] or 0),
            int(match["minute"] or 0),
        )
        + clock
    )
    zone = match["zone"]
    if zone is None:
        return moment, None
    if zone[0] not in "+-":
        return moment, offset(zone, moment)
    digits = zone[1:].replace(":", "")
    hours, minutes = (int(digits[:-2]), int(digits[-2:])) if len(digits) > 2 else (int(digits), 0)
    if hours > _MOST_HOURS_AHEAD or minutes > 59:
        raise ZoneOutOfRange(text)
    ahead = timedelta(hours=hours, minutes=minutes)
    return moment, -ahead if zone[0] == "-" else ahead


def _has_zone(name: str | None) -> bool:
    """Whether what stands in the place of a zone is none, an offset, or the name of a zone."""
    return name is None or name[0] in "+-" or zone_name(name) is not None


def _timestamptz(text: str) -> datetime:
    moment, ahead = _moment(text)
    return (moment - (ahead or timedelta(0))).replace(tzinfo=UTC)


def _array(text: str, type: ScalarType) -> tuple[Any, ...]:
    assert type.element is not None
    try:
        items = elements(text)
    except ValueError as error:
        raise InvalidText(str(type), text) from error
    return tuple(None if item is None else parse_text(item, type.element) for item in items)


def _object_id(text: str) -> int:
    value = _integer(text)
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
    TypeName.SMALLINT: _integer,
    TypeName.INTEGER: _integer,
    TypeName.BIGINT: _integer,
    TypeName.REAL: _float,
    TypeName.DOUBLE: _float,
    TypeName.NUMERIC: _numeric,
    TypeName.DATE: _date,
    TypeName.TIMESTAMP: lambda text: _moment(text)[0],
    TypeName.TIMESTAMPTZ: _timestamptz,
    TypeName.INTERVAL: interval_of,
    TypeName.BYTEA: _bytea,
    **dict.fromkeys((name for name in TypeName if ScalarType(name).is_object_id), _object_id),
}
