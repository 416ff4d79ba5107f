"""Changes at a path of keys and indexes in a JSON document, and what they are made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from reclock.algebra.json_documents import dumps, loads, ordered
from reclock.plan.functions.json_calls import FAILURE

MISSING = object()
INDEX = re.compile(r"[ \t\n\r\v\f]*[-+]?[0-9]{1,9}")


def failure(sqlstate: str, message: str) -> str:
    return f"{FAILURE}{sqlstate}:{message}"


def item_at(items: Sequence[Any], index: int) -> object:
    return items[index] if -len(items) <= index < len(items) else MISSING


Change = Callable[[Any, Any], object]
"""Makes another object or array of one, at a key or an index."""


def delete_path(document: str, path: Sequence[str | None]) -> str:
    def delete(value: Any, step: Any) -> object:
        if isinstance(value, list):
            return without(value, step)
        return {name: member for name, member in value.items() if name != step}

    if document in ("{}", "[]"):
        return document
    return _changed_at(document, path, delete, "cannot delete path in scalar")


def set_path(document: str, path: Sequence[str | None], new: str, may_create: bool) -> str:
    def put(value: Any, step: Any) -> object:
        if isinstance(value, dict):
            return ordered({**value, step: loads(new)}) if step in value or may_create else value
        if -len(value) <= step < len(value):
            items = list(value)
            items[step] = loads(new)
            return items
        if not may_create:
            return value
        return [loads(new), *value] if step < 0 else [*value, loads(new)]

    return _changed_at(document, path, put, "cannot set path in scalar")


def insert_path(document: str, path: Sequence[str | None], new: str, is_after: bool) -> str:
    def insert(value: Any, step: Any) -> object:
        if isinstance(value, dict):
            if step in value:
                raise _PathError(failure("22023", "cannot replace existing key"))
            return ordered({**value, step: loads(new)})
        is_there = -len(value) <= step < len(value)
        place = max(0, len(value) + step) if step < 0 else min(step, len(value))
        place += is_after and is_there
        return [*value[:place], loads(new), *value[place:]]

    return _changed_at(document, path, insert, "cannot set path in scalar")


class _PathError(Exception):
    """Its text is a failure."""


def _changed_at(document: str, path: Sequence[str | None], change: Change, of_scalar: str) -> str:
    """The document after ``change`` of the object or array in which the path ends, if all steps
    before the last one are there."""
    value = loads(document)
    if not isinstance(value, list | dict):
        return failure("22023", of_scalar)
    try:
        return dumps(_changed(value, path, 0, change)) if path else document
    except _PathError as error:
        return str(error)


def _changed(value: Any, path: Sequence[str | None], at: int, change: Change) -> object:
    if not isinstance(value, list | dict):
        return value
    step: Any = path[at]
    if step is None:
        raise _PathError(failure("22004", f"path element at position {at + 1} is null"))
    if isinstance(value, list):
        if not INDEX.fullmatch(step):
            problem = f'path element at position {at + 1} is not an integer: "{step}"'
            raise _PathError(failure("22P02", problem))
        step = int(step)
    if at == len(path) - 1:
        return change(value, step)
    inner = item_at(value, step) if isinstance(value, list) else value.get(step, MISSING)
    if inner is MISSING:
        return value
    other = value.copy()
    other[step] = _changed(inner, path, at + 1, change)
    return other


def without(items: list[Any], index: int) -> list[Any]:
    if not -len(items) <= index < len(items):
        return items
    place = index % len(items)
    return [*items[:place], *items[place + 1 :]]
