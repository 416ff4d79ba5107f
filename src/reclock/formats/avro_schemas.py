"""The columns of records with an Avro schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import fastavro

from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    REAL,
    TEXT,
    TIMESTAMP,
    Column,
    ScalarType,
    numeric,
)
from reclock.errors import InvalidOption

_TYPES: Mapping[str, ScalarType] = {
    "boolean": BOOLEAN,
    "int": INTEGER,
    "long": BIGINT,
    "float": REAL,
    "double": DOUBLE,
    "bytes": BYTEA,
    "fixed": BYTEA,
    "date": DATE,
    "timestamp-millis": TIMESTAMP,
    "timestamp-micros": TIMESTAMP,
}
"""Values of all other types become text; records, arrays and maps become JSON."""


_NAMED = ("record", "error", "enum", "fixed")


def columns_of(schema: str) -> tuple[Column, ...]:
    """The columns of the schema's records. Raises ``InvalidOption`` for a schema that cannot be a
    relation."""
    of = parsed(schema)
    if not isinstance(of, dict) or of.get("type") != "record":
        raise InvalidOption("the schema of a value is a record's")
    return tuple(_column(field) for field in of["fields"])


def row_columns_of(schema: str) -> tuple[Column, ...]:
    """The columns of the rows in Debezium's events. Raises ``InvalidOption`` for a schema of other
    messages."""
    of = parsed(schema)
    for field in of.get("fields", ()) if isinstance(of, dict) else ():
        if field["name"] in ("before", "after"):
            for branch in field["type"] if isinstance(field["type"], list) else [field["type"]]:
                if isinstance(branch, dict) and branch["type"] == "record":
                    return tuple(_column(field) for field in branch["fields"])
    raise InvalidOption(
        "the schema does not tell what a row was before and after", hint="ENVELOPE NONE"
    )


def _column(field: Mapping[str, Any]) -> Column:
    of = field["type"]
    branches = [branch for branch in of if branch != "null"] if isinstance(of, list) else [of]
    is_nullable = isinstance(of, list) and "null" in of
    return Column(field["name"], _type(branches[0]) if len(branches) == 1 else TEXT, is_nullable)


def _type(of: Any) -> ScalarType:
    if isinstance(of, str):
        return _TYPES.get(of, TEXT)
    if of.get("logicalType") == "decimal":
        precision, scale = of["precision"], of.get("scale", 0)
        if precision > 38:
            raise InvalidOption(
                f"a decimal of {precision} digits does not fit", detail="numeric has 38 at most"
            )
        return numeric(precision, scale)
    return _TYPES.get(
        of.get("logicalType", ""),
        _TYPES.get(of["type"], TEXT) if isinstance(of["type"], str) else TEXT,
    )


@lru_cache(maxsize=256)
def inline_references(text: str, imports: tuple[tuple[str, str], ...] = ()) -> str:
    """The schema as one text, in which each type of its ``imports`` is defined at its first use.
    Each import comes after those that it needs. Raises ``InvalidOption``."""
    if not imports:
        return text
    known: dict[str, Any] = {}
    for _, imported in imports:
        _parse(imported, known)
    return json.dumps(_spelled_out(_parse(text, known), known, set()))


def _spelled_out(of: Any, named_types: Mapping[str, Any], defined: set[str]) -> object:
    """A parsed schema with full names, in which each of ``named_types`` is defined where it is
    first used, unless it is in ``defined``."""
    if isinstance(of, str):
        return (
            of
            if of in defined or of not in named_types
            else _spelled_out(named_types[of], named_types, defined)
        )
    if isinstance(of, list):
        return [_spelled_out(branch, named_types, defined) for branch in of]
    attributes = {name: value for name, value in of.items() if not name.startswith("__")}
    if of["type"] in _NAMED:
        if of["name"] in defined:
            return of["name"]
        defined.add(of["name"])
    if "fields" in of:
        attributes["fields"] = [
            {**field, "type": _spelled_out(field["type"], named_types, defined)}
            for field in of["fields"]
        ]
    for inner in ("items", "values"):
        if inner in of:
            attributes[inner] = _spelled_out(of[inner], named_types, defined)
    return attributes


@lru_cache(maxsize=256)
def parsed(schema: str) -> str | list[Any] | dict[str, Any]:
    """The schema in fastavro's form. Raises ``InvalidOption``."""
    return _parse(schema, {})


def _parse(schema: str, known: dict[str, Any]) -> str | list[Any] | dict[str, Any]:
    """The parsed schema, which may use the ``known`` types. Adds its own types to them."""
    try:
        return fastavro.parse_schema(json.loads(schema), known)
    except (
        ValueError,
        KeyError,
        TypeError,
        fastavro.schema.SchemaParseException,
        fastavro.schema.UnknownType,
    ) as error:
        raise InvalidOption("the schema is none of Avro's", detail=str(error)) from error
