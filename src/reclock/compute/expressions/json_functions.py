"""Functions of JSON documents that the engines call, on columns of documents in normal form.

A result is NULL if an argument is. A function never fails, because Spark calls it also for rows
that a CASE excludes: a value that begins with `FAILURE` is an error, which the calling SQL raises.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from reclock.algebra import ranges
from reclock.algebra.array_texts import elements
from reclock.algebra.interval_reading import parts_of_interval
from reclock.algebra.json_documents import dumps, loads, normal_form, order_key, ordered
from reclock.algebra.moment_formats import moment_of
from reclock.algebra.number_formats import double_text, number_text
from reclock.algebra.number_reading import number_of
from reclock.algebra.textual import TEXTUAL_TYPES
from reclock.algebra.textual.ranges import range_of
from reclock.compute.expressions.json_path_results import path_exists, path_items, path_match
from reclock.compute.expressions.json_paths import (
    INDEX,
    MISSING,
    delete_path,
    failure,
    insert_path,
    item_at,
    set_path,
    without,
)
from reclock.compute.expressions.network_functions import NETWORK_FUNCTIONS
from reclock.compute.expressions.python_functions import (
    BOOLEAN,
    DOUBLE,
    INTEGER,
    TEXT,
    TEXTS,
    PythonFunction,
    or_failure,
)
from reclock.compute.expressions.text_functions import TEXT_FUNCTIONS
from reclock.errors import UnsupportedSql
from reclock.plan.functions.json_calls import PREFIX, reader_name

_OF_PATH = (TEXT, TEXT, TEXT, BOOLEAN)


# --- parts of documents ---


def _field(document: str, key: str) -> object:
    value = loads(document)
    return value.get(key, MISSING) if isinstance(value, dict) else MISSING


def _element(document: str, index: int) -> object:
    """A scalar is an array of one here, as PostgreSQL stores it."""
    value = loads(document)
    if isinstance(value, dict):
        return MISSING
    return item_at(value if isinstance(value, list) else [value], index)


def _path(document: str, path: Sequence[str | None]) -> object:
    value = loads(document)
    for step in path:
        if step is None:
            return MISSING
        if isinstance(value, dict):
            value = value.get(step, MISSING)
        elif isinstance(value, list) and INDEX.fullmatch(step):
            value = item_at(value, int(step))
        else:
            return MISSING
    return value


def _as_document(value: Any) -> str | None:
    return None if value is MISSING else dumps(value)


def _as_text(value: Any) -> str | None:
    """A string without its quotes; NULL for null."""
    if value is MISSING or value is None:
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
    kind = "non-array" if isinstance(value, dict) else "scalar"
    return failure("22023", f"cannot get array length of a {kind}")


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
        kind = "an object" if isinstance(value, dict) else "a scalar"
        return failure("22023", f"cannot extract elements from {kind}")
    if isinstance(value, dict):
        return None
    kind = "an array" if isinstance(value, list) else "a scalar"
    return failure(
        "22023",
        f"cannot call {function} on {kind if function == 'jsonb_object_keys' else 'a non-object'}",
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


def _is_same_scalar(value: Any, other: Any) -> bool:
    """Python takes true for 1."""
    if isinstance(value, list | dict) or isinstance(other, list | dict):
        return False
    return isinstance(value, bool) == isinstance(other, bool) and bool(value == other)


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
    return failure("22023", "cannot delete from scalar")


def _delete_key(document: str, key: str) -> str:
    return _delete_keys(document, [key])


def _delete_element(document: str, index: int) -> str:
    value = loads(document)
    if isinstance(value, dict):
        return failure("22023", "cannot delete from object using integer index")
    if not isinstance(value, list):
        return failure("22023", "cannot delete from scalar")
    return dumps(without(value, index))


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
            return failure("22023", f"argument {2 * place + 1}: key must not be null")
        members[key] = _member(value)
    return dumps(ordered(members))


def _merged_objects(objects: Sequence[str | None]) -> str:
    """The last value of a key counts. NULL stands for a member whose name is NULL."""
    members: dict[str, Any] = {}
    for document in objects:
        if document is None:
            return failure("22023", "field name must not be null")
        members |= loads(document)
    return dumps(ordered(members))


def _object_of_texts(texts: Sequence[str | None]) -> str:
    """Of alternating keys and values."""
    if len(texts) % 2:
        return failure("2202E", "array must have even number of elements")
    return _object_of_keys(texts[::2], texts[1::2])


def _object_of_keys(keys: Sequence[str | None], values: Sequence[str | None]) -> str:
    """The last value of a key counts."""
    if len(keys) != len(values):
        return failure("2202E", "mismatched array dimensions")
    if None in keys:
        return failure("22004", "null value not allowed for object key")
    return dumps(
        ordered({key: value for key, value in zip(keys, values, strict=True) if key is not None})
    )


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
        return failure("22023", f"cannot cast jsonb {_kind(value)} to type {type}")
    number = Decimal(value)
    if type in _LARGEST:
        whole = number.to_integral_value(ROUND_HALF_UP)
        is_in_range = -_LARGEST[type] - 1 <= whole <= _LARGEST[type]
        return str(int(whole)) if is_in_range else failure("22003", f"{type} out of range")
    if type in _SMALLEST and number and not _SMALLEST[type] < number.copy_abs() < _INFINITE[type]:
        return failure("22003", f'"{document}" is out of range for type {type}')
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


def _array_elements(text: str) -> list[str | None]:
    """The elements of an array of one dimension, each after a "="; or a failure as the only one."""
    try:
        items = elements(text)
    except ValueError:
        return [failure("22P02", f'malformed array literal: "{text}"')]
    except UnsupportedSql as error:
        return [failure(error.sqlstate, error.message)]
    if any(isinstance(item, list) for item in items):
        message = f'array "{text}" has several dimensions: only a constant text can have them'
        return [failure("0A000", message)]
    return [None if item is None else f"={item}" for item in items]


_COMPARISONS_OF_RANGES: Mapping[str, Callable[[str, str], bool]] = {
    "contains": ranges.contains,
    "contains_value": ranges.contains_value,
    "overlaps": ranges.overlaps,
    "before": ranges.is_before,
    "after": ranges.is_after,
    "overleft": ranges.ends_within,
    "overright": ranges.begins_within,
    "adjacent": ranges.is_adjacent,
}
_FUNCTIONS: Mapping[str, PythonFunction] = {
    **{
        reader_name(textual.type): PythonFunction(or_failure(textual.normal_form), (TEXT,), TEXT)
        for textual in TEXTUAL_TYPES.values()
    },
    "field": PythonFunction(_field_document, (TEXT, TEXT), TEXT),
    "field_text": PythonFunction(_field_text, (TEXT, TEXT), TEXT),
    "element": PythonFunction(_element_document, (TEXT, INTEGER), TEXT),
    "element_text": PythonFunction(_element_text, (TEXT, INTEGER), TEXT),
    "path": PythonFunction(_path_document, (TEXT, TEXTS), TEXT),
    "path_text": PythonFunction(_path_text, (TEXT, TEXTS), TEXT),
    "array_length": PythonFunction(_array_length, (TEXT,), TEXT),
    "rows_failure": PythonFunction(_rows_failure, (TEXT, TEXT), TEXT),
    "keys": PythonFunction(_keys, (TEXT,), TEXTS),
    "items": PythonFunction(_items, (TEXT,), TEXTS),
    "item_texts": PythonFunction(_item_texts, (TEXT,), TEXTS),
    "contains": PythonFunction(_contains, (TEXT, TEXT), BOOLEAN),
    "exists": PythonFunction(_exists, (TEXT, TEXT), BOOLEAN),
    "exists_any": PythonFunction(_exists_any, (TEXT, TEXTS), BOOLEAN),
    "exists_all": PythonFunction(_exists_all, (TEXT, TEXTS), BOOLEAN),
    "concat": PythonFunction(_concat, (TEXT, TEXT), TEXT),
    "delete_key": PythonFunction(_delete_key, (TEXT, TEXT), TEXT),
    "delete_keys": PythonFunction(_delete_keys, (TEXT, TEXTS), TEXT),
    "delete_element": PythonFunction(_delete_element, (TEXT, INTEGER), TEXT),
    "delete_path": PythonFunction(delete_path, (TEXT, TEXTS), TEXT),
    "set": PythonFunction(set_path, (TEXT, TEXTS, TEXT, BOOLEAN), TEXT),
    "insert": PythonFunction(insert_path, (TEXT, TEXTS, TEXT, BOOLEAN), TEXT),
    "array_elements": PythonFunction(_array_elements, (TEXT,), TEXTS),
    "moment": PythonFunction(or_failure(moment_of), (TEXT, TEXT), TEXT),
    "parts_of_interval": PythonFunction(or_failure(parts_of_interval), (TEXT,), TEXT),
    "number_of": PythonFunction(or_failure(number_of), (TEXT, TEXT), TEXT),
    "path_items": PythonFunction(path_items, _OF_PATH, TEXT),
    "path_exists": PythonFunction(path_exists, _OF_PATH, TEXT),
    "path_match": PythonFunction(path_match, _OF_PATH, TEXT),
    "number_text": PythonFunction(or_failure(number_text), (TEXT, TEXT), TEXT),
    "double_text": PythonFunction(or_failure(double_text), (DOUBLE, TEXT), TEXT),
    "strip_nulls": PythonFunction(_strip_nulls, (TEXT,), TEXT),
    "pretty": PythonFunction(_pretty, (TEXT,), TEXT),
    "build_object": PythonFunction(_build_object, (TEXTS, TEXTS), TEXT),
    "build_array": PythonFunction(_build_array, (TEXTS,), TEXT),
    "merged_objects": PythonFunction(_merged_objects, (TEXTS,), TEXT),
    "object_of_texts": PythonFunction(_object_of_texts, (TEXTS,), TEXT),
    "object_of_keys": PythonFunction(_object_of_keys, (TEXTS, TEXTS), TEXT),
    "of_string": PythonFunction(dumps, (TEXT,), TEXT),
    "of_number": PythonFunction(normal_form, (TEXT,), TEXT),
    "of_strings": PythonFunction(_of_strings, (TEXTS,), TEXT),
    "of_double": PythonFunction(_of_double, (DOUBLE,), TEXT),
    "scalar": PythonFunction(_scalar, (TEXT, TEXT), TEXT),
    **{
        f"range_{name}": PythonFunction(function, (TEXT, TEXT), BOOLEAN)
        for name, function in _COMPARISONS_OF_RANGES.items()
    },
    "document_order": PythonFunction(order_key, (TEXT,), TEXT),
    "range_order": PythonFunction(ranges.order_key, (TEXT,), TEXT),
    "range_lower": PythonFunction(ranges.lower_value, (TEXT,), TEXT),
    "range_upper": PythonFunction(ranges.upper_value, (TEXT,), TEXT),
    "range_intersect": PythonFunction(ranges.intersection, (TEXT, TEXT), TEXT),
    "range_merge": PythonFunction(ranges.span, (TEXT, TEXT), TEXT),
    "range_union": PythonFunction(or_failure(ranges.union), (TEXT, TEXT), TEXT),
    "range_minus": PythonFunction(or_failure(ranges.difference), (TEXT, TEXT), TEXT),
    "range_of": PythonFunction(or_failure(range_of), (TEXT, TEXT, TEXT, TEXT), TEXT),
}
JSON_FUNCTIONS: Mapping[str, PythonFunction] = {
    PREFIX + name: function
    for name, function in {**_FUNCTIONS, **TEXT_FUNCTIONS, **NETWORK_FUNCTIONS}.items()
}
"""By the name under which the engines know them."""
