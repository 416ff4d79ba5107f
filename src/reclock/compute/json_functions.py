"""Functions of JSON documents that the engines call, on columns of documents in normal form.

A result is NULL if an argument is. A function never fails, because Spark calls it also for rows
that a CASE excludes: a value that begins with `FAILURE` is an error, which the calling SQL raises.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pyarrow as pa

from reclock.algebra.json_documents import dumps, loads, normal_form, ordered
from reclock.algebra.textual import TEXTUAL_TYPES
from reclock.algebra.textual.description import TextualType
from reclock.errors import ReclockError
from reclock.plan.functions.json_calls import FAILURE, PREFIX, reader_name

_TEXT, _INTEGER, _DOUBLE, _BOOLEAN = pa.string(), pa.int32(), pa.float64(), pa.bool_()
_TEXTS = pa.list_(pa.string())
_MISSING = object()
_INDEX = re.compile(r"[ \t\n\r\v\f]*[-+]?[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class JsonFunction:
    """A function of single values, as a function of Arrow columns."""

    function: Callable[..., Any]
    parameters: tuple[pa.DataType, ...]
    result: pa.DataType

    def of_columns(self) -> Callable[..., pa.Array]:
        """The function for an engine, which looks at the number of parameters and their
        annotations."""

        def one(column: pa.Array) -> pa.Array:
            return self._computed(column)

        def two(left: pa.Array, right: pa.Array) -> pa.Array:
            return self._computed(left, right)

        return one if len(self.parameters) == 1 else two

    def _computed(self, *columns: pa.Array) -> pa.Array:
        function = self.function
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        return pa.array([None if None in row else function(*row) for row in rows], self.result)


def _reader(description: TextualType) -> Callable[[str], str]:
    def read(text: str) -> str:
        try:
            return description.normal_form(text)
        except ReclockError as error:
            return _failure(error.sqlstate, error.message)

    return read


def _failure(sqlstate: str, message: str) -> str:
    return f"{FAILURE}{sqlstate}:{message}"


# --- parts of documents ---


def _field(document: str, key: str) -> object:
    value = loads(document)
    return value.get(key, _MISSING) if isinstance(value, dict) else _MISSING


def _element(document: str, index: int) -> object:
    """A scalar is an array of one here, as PostgreSQL stores it."""
    value = loads(document)
    if isinstance(value, dict):
        return _MISSING
    return _at(value if isinstance(value, list) else [value], index)


def _path(document: str, path: Sequence[str | None]) -> object:
    value = loads(document)
    for step in path:
        if step is None:
            return _MISSING
        if isinstance(value, dict):
            value = value.get(step, _MISSING)
        elif isinstance(value, list) and _INDEX.fullmatch(step):
            value = _at(value, int(step))
        else:
            return _MISSING
    return value


def _at(items: Sequence[Any], index: int) -> object:
    return items[index] if -len(items) <= index < len(items) else _MISSING


def _as_document(value: Any) -> str | None:
    return None if value is _MISSING else dumps(value)


def _as_text(value: Any) -> str | None:
    """A string without its quotes; NULL for null."""
    if value is _MISSING or value is None:
        return None
    return value if isinstance(value, str) else dumps(value)


def _field_document(document: str, key: str) -> str | None:
    return _as_document(_field(document, key))


def _field_text(document: str, key: str) -> str | None:
    return _as_text(_field(document, key))


def _element_document(document: str, index: int) -> str | None:
    return _as_document(_element(document, index))


def _element_text(document: str, index: int) -> str | None:
    return _as_text(_element(document, index))


def _path_document(document: str, path: Sequence[str | None]) -> str | None:
    return _as_document(_path(document, path))


def _path_text(document: str, path: Sequence[str | None]) -> str | None:
    return _as_text(_path(document, path))


def _array_length(document: str) -> str:
    value = loads(document)
    if isinstance(value, list):
        return str(len(value))
    what = "non-array" if isinstance(value, dict) else "scalar"
    return _failure("22023", f"cannot get array length of a {what}")


def _keys(document: str) -> list[str]:
    value = loads(document)
    return list(value) if isinstance(value, dict) else []


def _items(document: str) -> list[str]:
    """The elements of an array, or the values of an object."""
    return [dumps(item) for item in _parts(document)]


def _item_texts(document: str) -> list[str | None]:
    return [_as_text(item) for item in _parts(document)]


def _parts(document: str) -> Sequence[Any]:
    value = loads(document)
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _rows_failure(document: str, function: str) -> str | None:
    """Why ``function`` has no rows of the document; None if it has."""
    value = loads(document)
    if function.startswith("jsonb_array_elements"):
        if isinstance(value, list):
            return None
        what = "an object" if isinstance(value, dict) else "a scalar"
        return _failure("22023", f"cannot extract elements from {what}")
    if isinstance(value, dict):
        return None
    what = "an array" if isinstance(value, list) else "a scalar"
    return _failure(
        "22023",
        f"cannot call {function} on {what if function == 'jsonb_object_keys' else 'a non-object'}",
    )


# --- containment and existence ---


def _contains(document: str, other: str) -> bool:
    value, part = loads(document), loads(other)
    if isinstance(value, list) and not isinstance(part, list | dict):
        return _has_scalar(value, part)
    return _holds(value, part)


def _holds(value: Any, part: Any) -> bool:
    """PostgreSQL's ``JsonbDeepContains``."""
    if isinstance(value, dict) and isinstance(part, dict):
        return all(name in value and _holds(value[name], member) for name, member in part.items())
    if isinstance(value, list) and isinstance(part, list):
        return all(
            any(isinstance(own, list | dict) and _holds(own, item) for own in value)
            if isinstance(item, list | dict)
            else _has_scalar(value, item)
            for item in part
        )
    return _is_same_scalar(value, part)


def _has_scalar(items: Sequence[Any], scalar: Any) -> bool:
    return any(_is_same_scalar(item, scalar) for item in items)


def _is_same_scalar(one: Any, other: Any) -> bool:
    """Python takes true for 1."""
    if isinstance(one, list | dict) or isinstance(other, list | dict):
        return False
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _exists(document: str, key: str) -> bool:
    value = loads(document)
    if isinstance(value, dict):
        return key in value
    return any(item == key for item in (value if isinstance(value, list) else [value]))


def _exists_any(document: str, keys: Sequence[str | None]) -> bool:
    return any(key is not None and _exists(document, key) for key in keys)


def _exists_all(document: str, keys: Sequence[str | None]) -> bool:
    return all(key is None or _exists(document, key) for key in keys)


# --- documents made of others ---


def _concat(document: str, other: str) -> str:
    left, right = loads(document), loads(other)
    if isinstance(left, dict) and isinstance(right, dict):
        return dumps(ordered({**left, **right}))
    return dumps([*_listed(left), *_listed(right)])


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _delete_keys(document: str, keys: Sequence[str | None]) -> str:
    value = loads(document)
    if isinstance(value, dict):
        return dumps({name: member for name, member in value.items() if name not in keys})
    if isinstance(value, list):
        names = [key for key in keys if key is not None]
        return dumps([item for item in value if not (isinstance(item, str) and item in names)])
    return _failure("22023", "cannot delete from scalar")


def _delete_key(document: str, key: str) -> str:
    return _delete_keys(document, [key])


def _delete_element(document: str, index: int) -> str:
    value = loads(document)
    if isinstance(value, dict):
        return _failure("22023", "cannot delete from object using integer index")
    if not isinstance(value, list):
        return _failure("22023", "cannot delete from scalar")
    return dumps(_without(value, index))


def _delete_path(document: str, path: Sequence[str | None]) -> str:
    value = loads(document)
    if not isinstance(value, list | dict):
        return _failure("22023", "cannot delete path in scalar")
    try:
        return dumps(_deleted(value, path, 0)) if path else document
    except _PathError as error:
        return str(error)


class _PathError(Exception):
    """Its text is a failure."""


def _deleted(value: Any, path: Sequence[str | None], at: int) -> object:
    """``value`` without what ``path`` from position ``at`` on names."""
    step, is_last = path[at], at == len(path) - 1
    if not isinstance(value, list | dict):
        return value
    if step is None:
        raise _PathError(_failure("22004", f"path element at position {at + 1} is null"))
    if isinstance(value, dict):
        if step not in value:
            return value
        if is_last:
            return {name: member for name, member in value.items() if name != step}
        return {**value, step: _deleted(value[step], path, at + 1)}
    if not _INDEX.fullmatch(step):
        what = f'path element at position {at + 1} is not an integer: "{step}"'
        raise _PathError(_failure("22P02", what))
    index = int(step)
    if is_last:
        return _without(value, index)
    if not -len(value) <= index < len(value):
        return value
    items = list(value)
    items[index] = _deleted(items[index], path, at + 1)
    return items


def _without(items: list[Any], index: int) -> list[Any]:
    if not -len(items) <= index < len(items):
        return items
    place = index % len(items)
    return [*items[:place], *items[place + 1 :]]


def _strip_nulls(document: str) -> str:
    return dumps(_stripped(loads(document)))


def _stripped(value: Any) -> object:
    if isinstance(value, dict):
        return {name: _stripped(member) for name, member in value.items() if member is not None}
    return [_stripped(item) for item in value] if isinstance(value, list) else value


def _pretty(document: str) -> str:
    return _indented(loads(document), "\n")


def _indented(value: Any, line: str) -> str:
    inner = line + "    "
    if isinstance(value, dict):
        members = [
            f"{inner}{dumps(name)}: {_indented(member, inner)}" for name, member in value.items()
        ]
        return f"{{{','.join(members)}{line}}}"
    if isinstance(value, list):
        return f"[{','.join(inner + _indented(item, inner) for item in value)}{line}]"
    return dumps(value)


def _build_object(keys: Sequence[str | None], values: Sequence[str | None]) -> str:
    """Values are documents; NULL is null."""
    members: dict[str, Any] = {}
    for place, (key, value) in enumerate(zip(keys, values, strict=True)):
        if key is None:
            return _failure("22023", f"argument {2 * place + 1}: key must not be null")
        members[key] = _member(value)
    return dumps(ordered(members))


def _object_of_pairs(pairs: Sequence[str]) -> str:
    """The last value of a key counts."""
    members: dict[str, Any] = {}
    for key, value in map(loads, pairs):
        if key is None:
            return _failure("22023", "field name must not be null")
        members[key] = value
    return dumps(ordered(members))


def _build_array(values: Sequence[str | None]) -> str:
    return dumps([_member(value) for value in values])


def _member(document: str | None) -> object:
    return None if document is None else loads(document)


# --- SQL values as documents, and back ---


def _of_double(number: float) -> str:
    """Its shortest digits; a string if it is no finite number."""
    if math.isfinite(number):
        return normal_form(repr(number))
    return '"NaN"' if math.isnan(number) else f'"{"-" if number < 0 else ""}Infinity"'


def _of_strings(texts: Sequence[str | None]) -> str:
    return dumps(list(texts))


def _scalar(document: str, type: str) -> str | None:
    """The text of a number or a boolean as SQL type ``type`` prints it, or a failure.

    A number is rounded to an integer half away from zero. JSON's null is NULL.
    """
    value = loads(document)
    if value is None:
        return None
    if isinstance(value, bool) != (type == "boolean") or not isinstance(value, int | Decimal):
        return _failure("22023", f"cannot cast jsonb {_kind(value)} to type {type}")
    number = Decimal(value)
    if type in _LARGEST:
        whole = number.to_integral_value(ROUND_HALF_UP)
        is_in_range = -_LARGEST[type] - 1 <= whole <= _LARGEST[type]
        return str(int(whole)) if is_in_range else _failure("22003", f"{type} out of range")
    if type in _SMALLEST and number and not _SMALLEST[type] < number.copy_abs() < _INFINITE[type]:
        return _failure("22003", f'"{document}" is out of range for type {type}')
    return document


_LARGEST = {"smallint": 2**15 - 1, "integer": 2**31 - 1, "bigint": 2**63 - 1}
_INFINITE = {
    "real": Decimal("3.4028235677973366e38"),
    "double precision": Decimal("1.7976931348623158e308"),
}
_SMALLEST = {
    "real": Decimal("7.006492321624085e-46"),
    "double precision": Decimal("2.4703282292062328e-324"),
}
"""Numbers from where on the nearest floating-point number is infinite, and up to where it is 0."""


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case dict():
            return "object"
        case list():
            return "array"
        case _:
            return "numeric"


_FUNCTIONS: Mapping[str, JsonFunction] = {
    **{
        reader_name(each.type): JsonFunction(_reader(each), (_TEXT,), _TEXT)
        for each in TEXTUAL_TYPES.values()
    },
    "field": JsonFunction(_field_document, (_TEXT, _TEXT), _TEXT),
    "field_text": JsonFunction(_field_text, (_TEXT, _TEXT), _TEXT),
    "element": JsonFunction(_element_document, (_TEXT, _INTEGER), _TEXT),
    "element_text": JsonFunction(_element_text, (_TEXT, _INTEGER), _TEXT),
    "path": JsonFunction(_path_document, (_TEXT, _TEXTS), _TEXT),
    "path_text": JsonFunction(_path_text, (_TEXT, _TEXTS), _TEXT),
    "array_length": JsonFunction(_array_length, (_TEXT,), _TEXT),
    "rows_failure": JsonFunction(_rows_failure, (_TEXT, _TEXT), _TEXT),
    "keys": JsonFunction(_keys, (_TEXT,), _TEXTS),
    "items": JsonFunction(_items, (_TEXT,), _TEXTS),
    "item_texts": JsonFunction(_item_texts, (_TEXT,), _TEXTS),
    "contains": JsonFunction(_contains, (_TEXT, _TEXT), _BOOLEAN),
    "exists": JsonFunction(_exists, (_TEXT, _TEXT), _BOOLEAN),
    "exists_any": JsonFunction(_exists_any, (_TEXT, _TEXTS), _BOOLEAN),
    "exists_all": JsonFunction(_exists_all, (_TEXT, _TEXTS), _BOOLEAN),
    "concat": JsonFunction(_concat, (_TEXT, _TEXT), _TEXT),
    "delete_key": JsonFunction(_delete_key, (_TEXT, _TEXT), _TEXT),
    "delete_keys": JsonFunction(_delete_keys, (_TEXT, _TEXTS), _TEXT),
    "delete_element": JsonFunction(_delete_element, (_TEXT, _INTEGER), _TEXT),
    "delete_path": JsonFunction(_delete_path, (_TEXT, _TEXTS), _TEXT),
    "strip_nulls": JsonFunction(_strip_nulls, (_TEXT,), _TEXT),
    "pretty": JsonFunction(_pretty, (_TEXT,), _TEXT),
    "build_object": JsonFunction(_build_object, (_TEXTS, _TEXTS), _TEXT),
    "build_array": JsonFunction(_build_array, (_TEXTS,), _TEXT),
    "object_of_pairs": JsonFunction(_object_of_pairs, (_TEXTS,), _TEXT),
    "of_string": JsonFunction(dumps, (_TEXT,), _TEXT),
    "of_number": JsonFunction(normal_form, (_TEXT,), _TEXT),
    "of_strings": JsonFunction(_of_strings, (_TEXTS,), _TEXT),
    "of_double": JsonFunction(_of_double, (_DOUBLE,), _TEXT),
    "scalar": JsonFunction(_scalar, (_TEXT, _TEXT), _TEXT),
}
JSON_FUNCTIONS: Mapping[str, JsonFunction] = {
    PREFIX + name: each for name, each in _FUNCTIONS.items()
}
"""By the name under which the engines know them."""
