"""Stored text in the form that people read and write, in a dump and on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from reclock.algebra.timestamps import Timestamp
from reclock.catalog.encoding import CatalogUpdate, canonical
from reclock.catalog.kinds import key_order
from reclock.catalog.objects import Kind
from reclock.errors import InvalidOption


def dump(upper: Timestamp, stored: Iterable[CatalogUpdate]) -> str:
    """The contents below ``upper`` as one JSON object, with a line for each stored object, in order
    of kinds and keys.

    ``copies`` says how many copies of the object are stored, if not one.
    """
    objects: dict[str, list[dict[str, Any]]] = {kind.value: [] for kind in Kind}
    for update in stored:
        entry = {"key": to_json(update.key), "value": to_json(update.value)}
        objects.setdefault(update.kind, []).append(
            entry if update.diff == 1 else {**entry, "copies": update.diff}
        )
    kinds = (
        f"  {_line(kind)}: {_lines(sorted(objects[kind], key=_order))}" for kind in sorted(objects)
    )
    return "{" + f'"upper": {upper}, "objects": {{\n' + ",\n".join(kinds) + "\n}}"


def _lines(entries: list[dict[str, Any]]) -> str:
    return (
        "[\n" + ",\n".join(f"    {_line(entry)}" for entry in entries) + "\n  ]"
        if entries
        else "[]"
    )


def _line(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _order(entry: dict[str, Any]) -> tuple[Any, ...]:
    key = entry["key"]
    return key_order(tuple(key.values()) if isinstance(key, dict) else key)


def to_json(text: str) -> object:
    """A stored key or value as the JSON object that it encodes; as text if it is not a canonical
    JSON object."""
    try:
        value = json.loads(text)
        return value if isinstance(value, dict) and canonical(value) == text else text
    except ValueError:
        return text


def from_json(name: str, json_text: str) -> str:
    """The stored text that ``to_json`` shows as ``json_text``. Raises ``InvalidOption``, which
    calls it ``name``."""
    hint = 'write it as "reclock catalog dump" prints it, in quotes for the shell'
    try:
        value = json.loads(json_text)
        text = value if isinstance(value, str) else canonical(value)
    except ValueError as invalid:
        raise InvalidOption(f"{name} is not JSON", detail=str(invalid), hint=hint) from None
    if not isinstance(value, dict | str):
        raise InvalidOption(f"{name} is not a JSON object", detail=f"it is {text}", hint=hint)
    return text
