"""The stored form of catalog objects: a kind, and a key and a value as canonical JSON text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from reclock.algebra.relations import ScalarType
from reclock.algebra.timestamps import Timestamp
from reclock.catalog.kinds import SPECS, CatalogObject, spec_of
from reclock.catalog.objects import Kind
from reclock.errors import CatalogCorrupt

Rows = Mapping[tuple[str, str], str]
"""The stored objects of one moment: (kind, key) → value."""


_STORED_OF_TYPES = {"name", "precision", "scale"}
_NEVER_STORED: Any = {
    "progress": {
        "desc": {
            "columns": {
                "__all__": {
                    "limit": True,
                    "type": {field.name for field in fields(ScalarType)} - _STORED_OF_TYPES,
                }
            }
        }
    }
}
"""Attributes that no column of a progress relation has: a text's length, and what belongs to other
types than those of numbers, texts and moments."""

_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)


@dataclass(frozen=True, slots=True)
class CatalogUpdate:
    """One stored update: the object of this kind, key and value appears (diff 1) or is retracted
    (diff -1) at ``ts``."""

    kind: str
    key: str
    value: str
    ts: Timestamp
    diff: int


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """A decoded update: ``object`` appears (diff 1) or is retracted (diff -1) at ``ts``."""

    object: CatalogObject
    ts: Timestamp
    diff: int


def canonical(value: Any) -> str:
    """JSON text that is equal for equal values: sorted keys, no blanks."""
    return _ENCODER.encode(value)


@cache
def _adapter(type_: type) -> TypeAdapter[Any]:
    return TypeAdapter(type_)


def encode(catalog_object: CatalogObject) -> tuple[str, str, str]:
    """Kind, key and value of the object as stored."""
    spec = spec_of(catalog_object)
    fields = _adapter(spec.type).dump_python(catalog_object, mode="json", exclude=_NEVER_STORED)
    key = {name: fields[name] for name in spec.key}
    value = {name: fields[name] for name in spec.value}
    return spec.kind.value, canonical(key), canonical(value)


def decode(kind: str, key: str, value: str) -> CatalogObject:
    """The object with this stored form. Raises ``CatalogCorrupt`` unless the text is exactly what
    ``encode`` writes."""
    if kind not in SPECS:
        raise CatalogCorrupt(kind, key, detail="there is no object kind of this name")
    spec = SPECS[Kind(kind)]
    fields = {
        **_fields(kind, key, key, spec.key, "key"),
        **_fields(kind, key, value, spec.value, "value"),
    }
    try:
        catalog_object: CatalogObject = _adapter(spec.type).validate_json(
            canonical(fields), strict=True
        )
    except (ValidationError, ValueError) as invalid:
        raise CatalogCorrupt(kind, key, detail=_explain(invalid)) from invalid
    if encode(catalog_object) != (kind, key, value):
        raise CatalogCorrupt(
            kind,
            key,
            detail="its JSON is not canonical: fields are missing, unknown or out of order",
        )
    return catalog_object


def encode_change(change: ObjectChange) -> CatalogUpdate:
    return CatalogUpdate(*encode(change.object), change.ts, change.diff)


def decode_update(update: CatalogUpdate) -> ObjectChange:
    """Raises ``CatalogCorrupt``."""
    if update.diff not in (1, -1):
        raise CatalogCorrupt(
            update.kind,
            update.key,
            detail=f"an update has diff {update.diff}, only 1 and -1 are written",
        )
    return ObjectChange(decode(update.kind, update.key, update.value), update.ts, update.diff)


def encode_rows(catalog_objects: Iterable[CatalogObject]) -> dict[tuple[str, str], str]:
    encoded = (encode(catalog_object) for catalog_object in catalog_objects)
    return {(kind, key): value for kind, key, value in encoded}


def decode_rows(rows: Rows) -> list[CatalogObject]:
    """Raises ``CatalogCorrupt`` at the first row that does not decode."""
    return [decode(kind, key, value) for (kind, key), value in rows.items()]


def rows_of(snapshot: Iterable[CatalogUpdate]) -> dict[tuple[str, str], str]:
    """A consolidated snapshot by key. Raises ``CatalogCorrupt`` unless each key occurs exactly
    once."""
    rows: dict[tuple[str, str], str] = {}
    for update in snapshot:
        if update.diff != 1:
            raise CatalogCorrupt(
                update.kind,
                update.key,
                detail=f"it is there {update.diff} times, the diffs of its updates say",
            )
        if (update.kind, update.key) in rows:
            raise CatalogCorrupt(update.kind, update.key, detail="it has two values at once")
        rows[update.kind, update.key] = update.value
    return rows


def difference(before: Rows, after: Rows, at: Timestamp) -> list[CatalogUpdate]:
    """The updates at ``at`` that turn ``before`` into ``after``, retractions first; none for
    unchanged rows."""
    removed = [(row, value) for row, value in before.items() if after.get(row) != value]
    added = [(row, value) for row, value in after.items() if before.get(row) != value]
    retractions = [CatalogUpdate(kind, key, value, at, -1) for (kind, key), value in removed]
    return retractions + [CatalogUpdate(kind, key, value, at, 1) for (kind, key), value in added]


def _fields(kind: str, key: str, text: str, names: tuple[str, ...], part: str) -> dict[str, Any]:
    try:
        fields = json.loads(text)
    except ValueError as invalid:
        raise CatalogCorrupt(kind, key, detail=f"its {part} is not JSON: {invalid}") from invalid
    if not isinstance(fields, dict) or set(fields) != set(names):
        raise CatalogCorrupt(
            kind,
            key,
            detail=f"its {part} must be a JSON object with exactly the fields {', '.join(names)}",
        )
    return fields


def _explain(invalid: ValueError) -> str:
    if not isinstance(invalid, ValidationError):
        return str(invalid)
    problems = invalid.errors(include_input=False, include_url=False)
    return "; ".join(
        f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in problems
    )
