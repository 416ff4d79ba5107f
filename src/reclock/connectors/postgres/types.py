"""PostgreSQL values in text form as Arrow columns. ``SETTINGS`` selects these forms."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from reclock.algebra.object_ids import TYPES
from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    JSONB,
    REAL,
    SMALLINT,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    ScalarType,
    TypeName,
    array,
    char,
    numeric,
)
from reclock.algebra.textual import TEXTUAL_TYPES
from reclock.algebra.textual.description import TextualType
from reclock.collections.schema import arrow_type
from reclock.errors import ReclockError
from reclock.formats.composites import of_texts

SETTINGS = {
    "client_encoding": "UTF8",
    "timezone": "UTC",
    "datestyle": "ISO",
    "bytea_output": "hex",
    "extra_float_digits": "3",
    "intervalstyle": "postgres",
}

_CHAR_OID, _NUMERIC_OID, _NUMERICS_OID = 1042, 1700, 1231
_LENGTH_AHEAD = 4
"""What the modifier of ``char(n)`` counts beside the characters."""
_ELEMENTS = [
    name
    for name, each in TYPES.items()
    if each.type.is_flat and name is not TypeName.NUMERIC and not each.type.is_range
]
"""Ranges come as texts: upstream, they may have bounds that ours have not (``infinity``)."""
_TYPES = {
    16: BOOLEAN,
    17: BYTEA,
    20: BIGINT,
    21: SMALLINT,
    23: INTEGER,
    114: JSONB,  # json
    700: REAL,
    701: DOUBLE,
    1082: DATE,
    1114: TIMESTAMP,
    1184: TIMESTAMPTZ,
    1186: INTERVAL,
    **{
        textual.oid: textual.type for textual in TEXTUAL_TYPES.values() if not textual.type.is_range
    },
    **{TYPES[name].array_oid: array(TYPES[name].type) for name in _ELEMENTS},
    199: array(JSONB),  # json[]
    1015: array(TEXT),  # varchar[]
}


def scalar_type(type_oid: int, modifier: int = -1) -> ScalarType:
    """The type of an upstream column in Reclock; text for a type that Reclock does not have. A
    ``numeric`` of up to 38 digits keeps its precision and scale, and a ``char(n)`` its length, which
    ``modifier`` encodes."""
    if type_oid == _NUMERICS_OID:
        element = scalar_type(_NUMERIC_OID, modifier)
        return TEXT if element == TEXT else array(element)
    if type_oid == _CHAR_OID and modifier > _LENGTH_AHEAD:
        return char(modifier - _LENGTH_AHEAD)
    if type_oid != _NUMERIC_OID:
        return _TYPES.get(type_oid, TEXT)
    if modifier < 4:
        return numeric()
    precision, scale = (modifier - 4) >> 16, (modifier - 4) & 0x7FF
    return numeric(precision, scale) if 0 < precision <= 38 and scale <= precision else TEXT


def is_kept_as(type_oid: int, type: ScalarType) -> bool:
    """Whether a column of ``type`` can take values of the upstream's type. It does not compare
    precisions: conversion checks each value."""
    upstream = scalar_type(type_oid)
    if upstream.element is not None and type.element is not None:
        return upstream.element.name is type.base.name
    return upstream.name is type.name or type.name is TypeName.TEXT


def to_array(texts: pa.Array, type: ScalarType) -> pa.Array:
    """The texts as values of ``type``. Raises ``ValueError`` for a value that ``type`` cannot hold
    (a numeric's ``NaN``, ``infinity``)."""
    if not type.is_flat:
        element = type.base
        return of_texts(
            texts.to_pylist(), type, lambda items: to_array(pa.array(items, pa.string()), element)
        )
    return _CONVERSIONS.get(type.name, lambda array: array.cast(arrow_type(type)))(texts)


def _boolean(texts: pa.Array) -> pa.Array:
    return pc.equal(texts, "t")


def _float(to: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    return lambda texts: pc.replace_substring(texts, "Infinity", "inf").cast(to)


def _bytea(texts: pa.Array) -> pa.Array:
    return pa.array(
        [
            None if text is None else bytes.fromhex(text.removeprefix("\\x"))
            for text in texts.to_pylist()
        ],
        pa.binary(),
    )


def _normal_forms(texts: pa.Array, description: TextualType) -> pa.Array:
    try:
        return pa.array(
            [None if text is None else description.normal_form(text) for text in texts.to_pylist()],
            pa.string(),
        )
    except ReclockError as error:
        raise ValueError(f"{error}: {error.detail}" if error.detail else str(error)) from error


_CONVERSIONS: dict[TypeName, Callable[[pa.Array], pa.Array]] = {
    TypeName.BOOLEAN: _boolean,
    TypeName.BYTEA: _bytea,
    **{
        name: partial(_normal_forms, description=textual) for name, textual in TEXTUAL_TYPES.items()
    },
    TypeName.REAL: _float(pa.float32()),
    TypeName.DOUBLE: _float(pa.float64()),
}
