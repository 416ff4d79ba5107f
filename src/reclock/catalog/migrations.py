"""The runner of ``catalog_migrations``: from any older layout to the current one, in memory."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, cast

from reclock.catalog.encoding import Rows, canonical
from reclock.catalog.objects import APPEND_ONLY, Kind
from reclock.errors import CatalogCorrupt, CatalogVersionUnsupported, InternalError, MigrationFailed

PACKAGE = "catalog_migrations"
OLDEST_VERSION = 1

Objects = list[dict[str, Any]]
"""Stored objects as JSON: ``{"kind": …, "key": {…}, "value": {…}}``."""

Migration = Callable[[Objects], Objects]

_STEP = re.compile(r"v(\d{4})_\w+")


@cache
def ladder() -> Mapping[int, Migration]:
    """The migrations by target version, in order. Raises ``InternalError`` if there is a gap or a
    stray module."""
    package = importlib.import_module(PACKAGE)
    steps: dict[int, Migration] = {}
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda module: module.name):
        match = _STEP.fullmatch(module.name)
        version = len(steps) + OLDEST_VERSION + 1
        if match is None or int(match[1]) != version:
            raise InternalError(
                f'"{PACKAGE}.{module.name}" is in the place of the migration to version {version} should'
            )
        steps[version] = cast(
            Migration, importlib.import_module(f"{PACKAGE}.{module.name}").migrate
        )
    return steps


def migrate(
    rows: Rows,
    *,
    from_version: int,
    to_version: int,
    events: Rows | None = None,
    steps: Mapping[int, Migration] | None = None,
) -> dict[tuple[str, str], str]:
    """Migrate ``rows`` from layout ``from_version`` to layout ``to_version``, with the version
    object. Migrations see ``events``, the objects of append-only kinds, which stay as they are.

    Raises ``CatalogVersionUnsupported`` if no migrations lead there, ``MigrationFailed`` if one
    does not succeed.
    """
    steps = ladder() if steps is None else steps
    path = range(from_version + 1, to_version + 1)
    if from_version > to_version or any(version not in steps for version in path):
        raise CatalogVersionUnsupported(version=from_version, supported=to_version)
    stored = {**rows, **(events or {})}
    objects = [_object(kind, key, value) for (kind, key), value in stored.items()]
    for version in path:
        try:
            objects = _with_version(steps[version](objects), version)
        except Exception as failure:  # a migration may fail in any way; nothing of it is kept
            raise MigrationFailed(
                version, detail=f"{type(failure).__name__}: {failure}"
            ) from failure
    return _rows(
        [stored_object for stored_object in objects if stored_object["kind"] not in APPEND_ONLY],
        to_version,
    )


def _object(kind: str, key: str, value: str) -> dict[str, Any]:
    try:
        return {"kind": kind, "key": json.loads(key), "value": json.loads(value)}
    except ValueError as invalid:
        raise CatalogCorrupt(
            kind, key, detail=f"its key or value is not JSON: {invalid}"
        ) from invalid


def _with_version(objects: Objects, version: int) -> Objects:
    key = {"key": "version"}
    other_objects = [
        stored_object
        for stored_object in objects
        if (stored_object["kind"], stored_object["key"]) != (Kind.CONFIG, key)
    ]
    return [{"kind": Kind.CONFIG.value, "key": key, "value": {"value": version}}, *other_objects]


def _rows(objects: Objects, version: int) -> dict[tuple[str, str], str]:
    rows = {
        (stored_object["kind"], canonical(stored_object["key"])): canonical(stored_object["value"])
        for stored_object in objects
    }
    if len(rows) != len(objects):
        raise MigrationFailed(version, detail="two objects have the same kind and key")
    return rows
