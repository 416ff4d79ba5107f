"""Values in PostgreSQL's text output: single values and whole columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reclock.algebra.array_shapes import shape
from reclock.algebra.intervals import Interval, interval_iso_text, interval_of
from reclock.algebra.numerics import printed, quotient_digits
from reclock.algebra.relations import MAX_PRECISION, TIMESTAMPTZ, ScalarType, TypeName
from reclock.algebra.text_style import PLAIN_TEXT, TextStyle
from reclock.algebra.textual.ranges import RANGE_TYPES
from reclock.algebra.zones import UTC_NAME
from reclock.errors import ProtocolViolation

_PLAIN = 1e-4, {pa.float32(): 1e6, pa.float64(): 1e10}
"""The range in which neither Arrow nor PostgreSQL prints numbers with an exponent."""
_ARROW_PLAIN_DIGITS = 6
"""Decimals of up to this scale are printed by Arrow without an exponent."""
_MICROSECOND = timedelta(microseconds=1)
_DAY_US = timedelta(days=1) // _MICROSECOND
_INTEGRAL = pa.decimal256(41, 0)
"""The type of the limits of ``quotient_digits``."""
_WIDE = MAX_PRECISION + 1
"""The digits of a rounded number: one more than before. Arrow makes 0 of what does not fit."""
_REAL_POWER, _DOUBLE_POWER = 1e6, 1e15
"""The powers from which on PostgreSQL prints an exponent: ``FLT_DIG`` and ``DBL_DIG`` digits
(``f2s.c`` and ``d2s.c``)."""


def decode_utf8(raw: bytes) -> str:
    """Text that a client sent. Raises ``ProtocolViolation`` with SQLSTATE 22021 if it is not
    UTF-8, or has a character 0."""
    if b"\0" in raw:
        raise _invalid_bytes("00")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(error) from None


def not_utf8(error: UnicodeDecodeError) -> ProtocolViolation:
    """The error of the client whose bytes could not be decoded."""
    return _invalid_bytes(error.object[error.start : error.start + 1].hex())


def _invalid_bytes(digits: str) -> ProtocolViolation:
    return ProtocolViolation(
        f'invalid byte sequence for encoding "UTF8": 0x{digits}', sqlstate="22021"
    )


def text_of(value: Any) -> str:
    """A value other than NULL."""
    match value:
        case bool():
            return "t" if value else "f"
        case float():
            return _float_text(value)
        case Decimal():
            return format(value, "f")
        case datetime():
            text = value.isoformat(" ").removesuffix("+00:00")
            text = text.rstrip("0") if "." in text else text
            return f"{text}+00" if value.tzinfo else text
        case dict() if not value or "f1" in value:  # of a composite type
            return _record_text(value, [text_of] * len(value))
        case Interval() | dict():
            return str(interval_of(value))
        case bytes():
            return "\\x" + value.hex()
        case list() | tuple():
            return _array_text(value, text_of, len(shape(value)))
        case _:
            return str(value)


def writer(type: ScalarType, style: TextStyle = PLAIN_TEXT) -> Callable[[Any], str]:
    """Writes values of ``type`` other than NULL in the style."""
    if type.name is TypeName.VECTOR:
        return lambda value: " ".join(map(str, value))
    if type.name is TypeName.LIST and type.element is not None:
        write_part = _part_writer(type.element, style, "")
        return lambda value: f"{{{','.join(map(write_part, value))}}}"
    if type.name is TypeName.MAP:
        write_part = _part_writer(type.value, style, "=>")
        return lambda value: f"{{{','.join(_entry(item, write_part) for item in value)}}}"
    if type.element is not None:
        write = writer(type.base, style)
        return lambda value: _array_text(value, write, type.dimensions)
    if type.name is TypeName.RECORD:
        writers = [writer(field.type, style) for field in type.fields]
        return lambda value: _record_text(value, writers)
    if type.name is TypeName.NUMERIC:
        return lambda value: format(printed(value, type), "f")
    if type.name is TypeName.INTERVAL and style.has_iso_intervals:
        return lambda value: interval_iso_text(interval_of(value))
    if type.name is TypeName.TIMESTAMPTZ and style.zone != UTC_NAME:
        info = ZoneInfo(style.zone)
        return lambda value: _local_text(value.astimezone(info))
    if type.name is TypeName.TSTZRANGE and style.zone != UTC_NAME:
        write = writer(TIMESTAMPTZ, style)
        return replace(RANGE_TYPES[type.name], write=write).normal_form
    return real_text if type.name is TypeName.REAL else text_of


def _local_text(value: datetime) -> str:
    """The local time with its offset from UTC: ``+01``, ``-03:30``."""
    text = value.replace(tzinfo=None).isoformat(" ")
    text = text.rstrip("0") if "." in text else text
    return text + _offset_text(value.utcoffset() or timedelta())


def _offset_text(ahead: timedelta) -> str:
    minutes, seconds = divmod(round(abs(ahead).total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{'-' if ahead < timedelta() else '+'}{hours:02d}"
    if minutes or seconds:
        text += f":{minutes:02d}"
    return f"{text}:{seconds:02d}" if seconds else text


def real_text(value: float) -> str:
    """A number of 32 bits."""
    return _float_text(float(str(np.float32(value))), _REAL_POWER)


def texts(values: pa.Array, type: ScalarType, style: TextStyle = PLAIN_TEXT) -> pa.Array:
    """`text_of` of each value, as strings, and NULL for NULL, in the style. Strings are texts
    already, whatever their type."""
    kind = values.type
    if type.name is TypeName.TSTZRANGE and style.zone != UTC_NAME:
        return _written(values, type, style)
    if pa.types.is_boolean(kind):
        return pc.if_else(values, _constant("t"), _constant("f"))
    if (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_date(kind)
    ):
        return values.cast(pa.large_string())
    if pa.types.is_timestamp(kind):
        is_local = kind.tz is not None and style.zone != UTC_NAME
        return _local_texts(values, type, style) if is_local else _timestamp_texts(values)
    if pa.types.is_floating(kind):
        size, (least, most) = pc.abs(values.cast(pa.float64())), _PLAIN
        is_plain = pc.or_(
            pc.equal(size, 0.0), pc.and_(pc.greater_equal(size, least), pc.less(size, most[kind]))
        )
        return _arrow_texts_except(values, pc.invert(is_plain), type)
    if pa.types.is_decimal(kind):
        return _numeric_texts(values, type)
    return _written(values, type, style)


def _constant(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def joined(parts: Sequence[str | bytes | pa.Array], count: int) -> pa.LargeBinaryArray:
    """``count`` rows, each the concatenation of its parts. A part that is no array is in every row;
    NULL is empty."""
    kind = pa.large_binary()
    raw = [part.encode() if isinstance(part, str) else part for part in parts]
    columns = [
        pa.scalar(part, kind) if isinstance(part, bytes) else part.cast(kind) for part in raw
    ]
    if not isinstance(columns[0], pa.Array):  # scalars alone would make one row
        columns[0] = pa.repeat(columns[0], count)
    return pc.binary_join_element_wise(
        *columns, pa.scalar(b"", kind), null_handling="replace", null_replacement=b""
    )


def _numeric_texts(values: pa.Array, type: ScalarType) -> pa.Array:
    """Values of another type than ``numeric`` may be decimals too: an engine's sums of integers."""
    texts = _all_digits(values)
    if type.least_digits is None or not type.scale:
        return texts
    if type.is_quotient:
        return _quotient_texts(values, texts, type)
    if type.least_digits:
        zeros = f"([.][0-9]{{{type.least_digits}}}[0-9]*?)0+$"
        return pc.replace_substring_regex(texts, zeros, r"\1")
    return pc.ascii_rtrim(pc.ascii_rtrim(texts, "0"), ".")


def _all_digits(values: pa.Array) -> pa.Array:
    """The texts of decimals with all digits of their scale. Arrow prints those below a millionth,
    also zero, with an exponent."""
    kind = values.type
    texts = values.cast(pa.large_string())
    if kind.scale <= _ARROW_PLAIN_DIGITS:
        return texts
    is_zero = pc.equal(values, pa.scalar(Decimal(0), kind))
    zero = Decimal(0).scaleb(-kind.scale)
    texts = pc.if_else(is_zero, _constant(format(zero, "f")), texts)
    limit = pa.scalar(Decimal(1).scaleb(-_ARROW_PLAIN_DIGITS), kind)
    is_tiny = pc.and_not(pc.less(pc.abs(values), limit), is_zero)
    return _arrow_texts_except(values, is_tiny, ScalarType(TypeName.NUMERIC), texts)


def _quotient_texts(values: pa.Array, texts: pa.Array, type: ScalarType) -> pa.Array:
    """``texts``, which have all digits, but larger quotients rounded as `algebra.numerics.printed`
    says."""
    size = pc.abs(values)
    is_rounded = pc.greater(size, pa.scalar(Decimal(1), _INTEGRAL)).fill_null(False)
    for limit, digits in quotient_digits(type):
        if not is_rounded.true_count:
            break
        is_printed = pc.and_(is_rounded, pc.less(size, pa.scalar(Decimal(limit), _INTEGRAL)))
        is_printed = is_printed.fill_null(False)
        is_rounded = pc.and_not(is_rounded, is_printed)
        wide = values.filter(is_printed).cast(pa.decimal256(_WIDE, type.scale or 0))
        rounded = pc.round(wide, ndigits=digits, round_mode="half_towards_infinity")
        short = rounded.cast(pa.decimal256(_WIDE, digits)).cast(pa.large_string())
        texts = pc.replace_with_mask(texts, is_printed, short)
    return texts


def _written(values: pa.Array, type: ScalarType, style: TextStyle = PLAIN_TEXT) -> pa.Array:
    write = writer(type, style)
    return pa.array(
        [None if value is None else write(value) for value in values.to_pylist()], pa.large_string()
    )


def _arrow_texts_except(
    values: pa.Array,
    differing: pa.Array,
    type: ScalarType,
    arrow_texts: pa.Array | None = None,
    style: TextStyle = PLAIN_TEXT,
) -> pa.Array:
    """The texts that Arrow prints, except where ``differing`` is true: PostgreSQL's there."""
    texts = values.cast(pa.large_string()) if arrow_texts is None else arrow_texts
    differing = differing.fill_null(False)
    return (
        pc.replace_with_mask(texts, differing, _written(values.filter(differing), type, style))
        if differing.true_count
        else texts
    )


def _timestamp_texts(values: pa.Array) -> pa.Array:
    """The texts of timestamps, in UTC. Arrow prints all six digits of the fraction, so trailing zeros
    are removed."""
    texts = (
        values.cast(pa.timestamp("us", values.type.tz))
        .cast(pa.timestamp("us"))
        .cast(pa.large_string())
    )
    stripped = pc.utf8_rtrim(pc.utf8_rtrim(texts, "0"), ".")
    return (
        pc.binary_join_element_wise(stripped, _constant("+00"), _constant(""))
        if values.type.tz
        else stripped
    )


def _local_texts(values: pa.Array, type: ScalarType, style: TextStyle) -> pa.Array:
    """The local times of a zone, with their offsets, which are looked up once a day of UTC that has
    one offset only."""
    info = ZoneInfo(style.zone)
    us = values.cast(pa.timestamp("us")).cast(pa.int64()).fill_null(0).to_numpy()
    days, day_of_value = np.unique(us // _DAY_US, return_inverse=True)
    offsets = [_offset_of_day(int(day), info) for day in days]
    ahead_us = np.array([(offset or timedelta()) // _MICROSECOND for offset in offsets])
    offset_texts = pa.array(
        [None if offset is None else _offset_text(offset) for offset in offsets], pa.large_string()
    ).take(pa.array(day_of_value))
    local = pa.array(us + ahead_us[day_of_value], mask=values.is_null().to_numpy(False))
    local_texts = pc.binary_join_element_wise(
        _timestamp_texts(local.cast(pa.timestamp("us"))), offset_texts, _constant("")
    )
    return _arrow_texts_except(values, offset_texts.is_null(), type, local_texts, style)


def _offset_of_day(day: int, zone: ZoneInfo) -> timedelta | None:
    """The offset from UTC on a day of UTC, counted from 1970, or None if it changes, or the local
    time is no ``datetime``."""
    try:
        begin = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=day)
        end = begin + timedelta(days=1) - _MICROSECOND
        first, last = (moment.astimezone(zone).utcoffset() for moment in (begin, end))
    except OverflowError:
        return None
    return first if first == last else None


def _array_text(items: Sequence[Any], write: Callable[[Any], str], dimensions: int) -> str:
    """An array of so many dimensions; ``write`` is of its elements."""
    if dimensions > 1:
        texts = [_array_text(item, write, dimensions - 1) for item in items]
    else:
        texts = ["NULL" if item is None else _element(write(item)) for item in items]
    return f"{{{','.join(texts)}}}"


def _part_writer(type: ScalarType, style: TextStyle, marks: str) -> Callable[[Any], str]:
    """Writes an element of a list, or a value of a map, in quotes if it has one of ``marks``."""
    write = writer(type, style)

    def write_part(value: Any) -> str:
        if value is None:
            return "NULL"
        return write(value) if type.is_list_or_map else _element(write(value), marks)

    return write_part


def _entry(entry: Mapping[str, Any] | Sequence[Any], write: Callable[[Any], str]) -> str:
    """The key and the value of a map's entry."""
    key, value = entry.values() if isinstance(entry, Mapping) else entry
    return f"{_element(key, '=>')}=>{write(value)}"


def _element(text: str, marks: str = "") -> str:
    """An element of an array, quoted where it would be read differently otherwise, and where it has
    one of ``marks``."""
    if (
        text
        and text.upper() != "NULL"
        and not any(
            character in '{}",\\' or character in marks or character.isspace() for character in text
        )
    ):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _record_text(record: Mapping[str, Any], writers: Sequence[Callable[[Any], str]]) -> str:
    fields = zip(record.values(), writers, strict=True)
    texts = ["" if value is None else _field(write(value)) for value, write in fields]
    return f"({','.join(texts)})"


def _field(text: str) -> str:
    """A field of a record, quoted where it would be read differently otherwise."""
    if text and not any(character in '()",\\' or character.isspace() for character in text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '""') + '"'


def _float_text(value: float, power: float = _DOUBLE_POWER) -> str:
    """The shortest digits that read back as the same, with an exponent from ``power`` on."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    text = repr(value).removesuffix(".0")
    if "e" not in text and abs(value) >= power:
        whole, _, fraction = text.lstrip("-").partition(".")
        mantissa = f"{whole[0]}.{whole[1:]}{fraction}".rstrip("0").rstrip(".")
        return f"{'-' if value < 0 else ''}{mantissa}e+{len(whole) - 1:02d}"
    return text
