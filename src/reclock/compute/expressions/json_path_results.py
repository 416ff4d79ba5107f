"""Results of paths (``jsonpath``) as the engines take them: texts, or failures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reclock.algebra.json_documents import dumps, loads
from reclock.algebra.json_path_syntax import parsed_path
from reclock.compute.expressions.json_path_items import ALWAYS_RAISED, found_items, has_items
from reclock.compute.expressions.json_paths import failure
from reclock.errors import JsonPathError, ReclockError


def _failed(error: ReclockError, *, is_silent: bool) -> str | None:
    """The failure, or None if it is passed over."""
    if is_silent and error.sqlstate not in ALWAYS_RAISED:
        return None
    return failure(error.sqlstate, error.message)


def path_items(document: str, path: str, variables: str, is_silent: bool) -> str | None:
    """The items as an array; if errors are passed over, those before the error."""
    items: list[Any] = []
    try:
        for item in found_items(parsed_path(path), loads(document), loads(variables)):
            items.append(item)
    except ReclockError as error:
        if (failed := _failed(error, is_silent=is_silent)) is not None:
            return failed
    return dumps(items)


def _answer(test: Callable[[], bool | None], *, is_silent: bool) -> str | None:
    try:
        answer = test()
    except ReclockError as error:
        return _failed(error, is_silent=is_silent)
    return None if answer is None else dumps(answer)


def path_exists(document: str, path: str, variables: str, is_silent: bool) -> str | None:
    def test() -> bool:
        return has_items(parsed_path(path), loads(document), loads(variables))

    return _answer(test, is_silent=is_silent)


def path_match(document: str, path: str, variables: str, is_silent: bool) -> str | None:
    def test() -> bool | None:
        items = list(found_items(parsed_path(path), loads(document), loads(variables)))
        if len(items) != 1 or not (items[0] is None or isinstance(items[0], bool)):
            raise JsonPathError("single boolean result is expected", "22038")
        return items[0]

    return _answer(test, is_silent=is_silent)
