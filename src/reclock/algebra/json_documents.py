"""JSON documents: the normal form in which Reclock stores them, and back.

In the normal form, equal documents are equal texts. It is PostgreSQL's text of a ``jsonb`` value,
except that numbers have no zeros at the end of their fraction: object keys are unique and ordered
by length, then by bytes; one space follows each comma and colon; a number has all its digits and
no exponent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any, NoReturn

from reclock.algebra.number_texts import number_key
from reclock.errors import InvalidJson

_MOST_INT_DIGITS = 4000
"""Python refuses to convert longer texts to ``int``; a ``Decimal`` takes any."""
_MOST_DIGITS, _MOST_FRACTION = 131_072, 16_383
"""The digits of PostgreSQL's longest numeric, before and after the decimal point."""
_NULL_CHARACTER = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""In a normal form, where every other backslash is escaped."""


def normal_form(text: str) -> str:
    """``text`` in normal form. Raises ``InvalidJson``."""
    try:
        document = dumps(_STRICT.decode(text))
        if "\\u" in text:
            document.encode()
    except json.JSONDecodeError as error:
        rest = text[error.pos : error.pos + 20].strip(" \t\r\n")
        is_cut = not rest or error.msg.startswith("Unterminated string")
        ended = "The input string ended unexpectedly."
        raise InvalidJson(ended if is_cut else f'The error is at "{rest}".') from None
    except UnicodeEncodeError:
        detail = "Unicode high surrogate must be paired with a low surrogate."
        raise InvalidJson(detail) from None
    except RecursionError:
        raise InvalidJson(message="JSON document is nested too deeply", sqlstate="54001") from None
    if _NULL_CHARACTER.search(document):
        message = "unsupported Unicode escape sequence"
        detail = "\\u0000 cannot be converted to text."
        raise InvalidJson(detail, message=message, sqlstate="22P05")
    return document


def member_forms(text: str, names: Sequence[str]) -> list[str | None]:
    """The members of the object ``text`` with these names, in normal form; None if missing or null.

    Raises ``InvalidJson``.
    """
    members = loads(normal_form(text))
    if not isinstance(members, dict):
        raise InvalidJson("It is not an object.")
    return [None if members.get(name) is None else dumps(members[name]) for name in names]


@lru_cache(4096)
def loads(document: str) -> Any:
    """The value of a document in normal form; the caller must not change it.

    Numbers are ``int`` or ``Decimal``. Objects have their keys in the order of the text.
    """
    return _NORMAL.decode(document)


def order_key(document: str) -> str:
    """A text for each document in normal form, in whose order, by bytes, documents are in
    PostgreSQL's.

    An array or an object with fewer elements is less. Where neither has more, an array is less than
    an object, and a scalar, which counts as an array of one element, less than that.
    """
    value = loads(document)
    if isinstance(value, dict | list):
        kind, key = _key(value)
        return f"{'1' if kind == _ARRAY else '2'}{key[:_COUNT]}1{key[_COUNT:]}"
    return f"1{1:0{_COUNT}d}0{''.join(_key(value))}"


_COUNT = 10
"""The digits of a number of elements in a key."""
_ARRAY = "4"
_ESCAPED = str.maketrans({"\x01": "\x02\x01", "\x02": "\x02\x02"})


def _key(value: Any) -> tuple[str, str]:
    """The place of the kind of value among all kinds, and the order of the value among its kind."""
    match value:
        case None:
            return "0", ""
        case str():
            return "1", f"{value.translate(_ESCAPED)}\x01"
        case bool():
            return "3", f"{value:d}"
        case int() | Decimal():
            return "2", number_key(Decimal(value))
        case list():
            return _ARRAY, f"{len(value):0{_COUNT}d}{''.join(map(''.join, map(_key, value)))}"
        case _:
            pairs = (part for pair in value.items() for part in pair)
            return "5", f"{len(value):0{_COUNT}d}{''.join(map(''.join, map(_key, pairs)))}"


def dumps(value: Any) -> str:
    """The normal form of a value whose objects have their keys in order, as those of ``loads``."""
    try:
        return _ENCODER.encode(value)
    except _HasDecimal:  # the encoder would write it as a float
        return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, Decimal):
        return number_text(value)
    if isinstance(value, dict):
        return f"{{{', '.join([f'{encode_basestring(name)}: {_text(value[name])}' for name in value])}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    encoded: str = _ENCODER.encode(value)
    return encoded


class _HasDecimal(Exception):
    pass


def _refuse(value: Any) -> NoReturn:
    raise _HasDecimal


def ordered(members: dict[str, Any]) -> dict[str, Any]:
    """The members of an object in the order of the normal form."""
    return dict(sorted(members.items(), key=_key_order)) if len(members) > 1 else members


def number_text(number: Decimal) -> str:
    """All digits of a finite number, without zeros at the end of the fraction."""
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _key_order(member: tuple[str, Any]) -> tuple[int, bytes]:
    name = member[0].encode()
    return len(name), name


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The last of the members with one key counts."""
    return ordered(dict(pairs))


def _int(text: str) -> int | Decimal:
    return int(text) if len(text) <= _MOST_INT_DIGITS else _decimal(text)


def _decimal(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:  # an exponent of more than 18 digits
        raise _too_large() from None
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    if not number:
        return Decimal(0)
    if number.adjusted() >= _MOST_DIGITS or -exponent > _MOST_FRACTION:
        raise _too_large()
    return number


def _too_large() -> InvalidJson:
    return InvalidJson(message="value overflows numeric format", sqlstate="22003")


def _no_number(name: str) -> NoReturn:
    raise InvalidJson(f'Token "{name}" is invalid.')


_STRICT = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_int, parse_float=_decimal, parse_constant=_no_number
)
_ENCODER = json.JSONEncoder(ensure_ascii=False, check_circular=False, default=_refuse)
_NORMAL = json.JSONDecoder(parse_int=_int, parse_float=Decimal)
