"""Parquet: the columns that a file's schema gives a source, whether they fit the declared ones, and
rows of the declared types. A value that does not fit is an error, never NULL.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from itertools import accumulate, islice, pairwise
from typing import Any
from uuid import UUID as Uuid

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from reclock.algebra.array_shapes import shape
from reclock.algebra.json_documents import dumps
from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    JSONB,
    MAX_PRECISION,
    RANGES,
    REAL,
    SMALLINT,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    Column,
    RelationDesc,
    ScalarType,
    TypeName,
    array,
    numeric,
)
from reclock.algebra.textual import textual
from reclock.algebra.textual.times import time_text
from reclock.collections.schema import arrow_schema, arrow_type
from reclock.errors import ReclockError
from reclock.formats.values import Unreadable, limited

_UNIT_US = {"s": 1_000_000, "ms": 1000, "us": 1}
_UUID_BYTES = 16

_Test = Callable[[pa.DataType], bool]


def source_columns(schema: pa.Schema) -> tuple[Column, ...]:
    """The columns of a source over files of this schema, all nullable. Raises ``ValueError`` for a
    column of a type that no column of a source can have."""
    return tuple(Column(field.name, _column_type(field)) for field in schema)


def _column_type(field: pa.Field) -> ScalarType:
    type = scalar_type(field.type)
    if type is None:
        raise ValueError(f'column "{field.name}" has the type {field.type}')
    return type


def scalar_type(arrow_type: pa.DataType) -> ScalarType | None:
    """The type that holds every value of a file's type; None if there is none."""
    if isinstance(arrow_type, pa.BaseExtensionType):
        match arrow_type.extension_name:
            case "arrow.json":
                return JSONB
            case "arrow.uuid":
                return UUID
            case _:
                return scalar_type(arrow_type.storage_type)
    if kinds.is_dictionary(arrow_type):
        return scalar_type(arrow_type.value_type)
    if _is_list(arrow_type):
        element = scalar_type(arrow_type.value_type)
        return JSONB if element is None or element == JSONB else array(element)
    if kinds.is_struct(arrow_type) or kinds.is_map(arrow_type):
        return JSONB
    if kinds.is_decimal(arrow_type):
        fits = (
            arrow_type.precision <= MAX_PRECISION and 0 <= arrow_type.scale <= arrow_type.precision
        )
        return numeric(arrow_type.precision, arrow_type.scale) if fits else None
    if kinds.is_timestamp(arrow_type):
        return TIMESTAMP if arrow_type.tz is None else TIMESTAMPTZ
    return next((type for is_of, type in _SCALARS if is_of(arrow_type)), None)


_SCALARS: Sequence[tuple[_Test, ScalarType]] = (
    (kinds.is_boolean, BOOLEAN),
    (kinds.is_uint64, numeric(20, 0)),
    (lambda arrow_type: kinds.is_integer(arrow_type) and _fits(arrow_type, 16), SMALLINT),
    (lambda arrow_type: kinds.is_integer(arrow_type) and _fits(arrow_type, 32), INTEGER),
    (kinds.is_integer, BIGINT),
    (kinds.is_float64, DOUBLE),
    (kinds.is_floating, REAL),
    (lambda arrow_type: kinds.is_null(arrow_type) or _is_text(arrow_type), TEXT),
    (lambda arrow_type: _is_any(arrow_type, _BINARIES), BYTEA),
    (kinds.is_date, DATE),
    (kinds.is_time, TIME),
)
"""In this order, so that the first that applies is the narrowest."""


def _fits(arrow_type: pa.DataType, bits: int) -> bool:
    return int(arrow_type.bit_width) <= bits - bool(kinds.is_unsigned_integer(arrow_type))


def _is_list(arrow_type: pa.DataType) -> bool:
    return _is_any(arrow_type, _LISTS)


def _is_text(arrow_type: pa.DataType) -> bool:
    return _is_any(arrow_type, _TEXTS)


def _is_any(arrow_type: pa.DataType, kinds_of_it: Sequence[_Test]) -> bool:
    return any(is_of(arrow_type) for is_of in kinds_of_it)


_LISTS: Sequence[_Test] = (
    kinds.is_list,
    kinds.is_large_list,
    kinds.is_fixed_size_list,
    kinds.is_list_view,
    kinds.is_large_list_view,
)
_TEXTS: Sequence[_Test] = (kinds.is_string, kinds.is_large_string, kinds.is_string_view)
_BINARIES: Sequence[_Test] = (
    kinds.is_binary,
    kinds.is_large_binary,
    kinds.is_binary_view,
    kinds.is_fixed_size_binary,
)
_EXACT: Sequence[_Test] = (kinds.is_integer, kinds.is_decimal)

_HELD: Mapping[TypeName, Sequence[_Test]] = {
    TypeName.BOOLEAN: (kinds.is_boolean,),
    TypeName.SMALLINT: _EXACT,
    TypeName.INTEGER: _EXACT,
    TypeName.BIGINT: _EXACT,
    TypeName.NUMERIC: _EXACT,
    TypeName.REAL: (kinds.is_float16, kinds.is_float32),
    TypeName.DOUBLE: (kinds.is_floating,),
    TypeName.TEXT: (*_TEXTS, *_BINARIES),
    TypeName.BYTEA: _BINARIES,
    TypeName.DATE: (kinds.is_date,),
    TypeName.TIMESTAMP: (kinds.is_timestamp,),
    TypeName.TIMESTAMPTZ: (kinds.is_timestamp,),
    TypeName.TIME: (*_TEXTS, kinds.is_time),
    TypeName.UUID: (*_TEXTS, lambda arrow_type: arrow_type == pa.binary(_UUID_BYTES)),
    TypeName.JSONB: (*_TEXTS, *_LISTS, kinds.is_struct, kinds.is_map),
    **dict.fromkeys(RANGES, _TEXTS),
}
"""What a column of a type may be in a file. Whether each value fits is seen when it is read."""


def mismatch(schema: pa.Schema, desc: RelationDesc) -> str | None:
    """How the schema differs from the declared columns; None if each is there, once, with a type
    whose values can be those of the column. Other columns do not matter."""
    problems = []
    for column in desc.columns:
        places = schema.get_all_field_indices(column.name)
        if len(places) != 1:
            how = "is missing" if not places else f"is there {len(places)} times"
            problems.append(f'column "{column.name}" {how}')
        elif not _can_hold(column.type, schema.field(places[0]).type):
            stored_type = _stored(schema.field(places[0]).type)
            problems.append(
                f'column "{column.name}" of type {column.sql_type}: found {stored_type}'
            )
    if not problems:
        return None
    found_names = ", ".join(f'"{name}"' for name in schema.names)
    parts = [*problems, f"columns of the file: {found_names or 'none'}"]
    missing = {column.name for column in desc.columns} - set(schema.names)
    if {name.lower() for name in missing} & {name.lower() for name in schema.names}:
        parts.append("upper and lower case count; CREATE SOURCE keeps those of a quoted name")
    return "; ".join(parts)


def _can_hold(type: ScalarType, arrow_type: pa.DataType) -> bool:
    """Whether values of the file's type may be values of ``type``."""
    arrow_type = _stored(arrow_type)
    if kinds.is_null(arrow_type):
        return True
    if type.element is not None:
        return _is_list(arrow_type) and _can_hold(type.element, arrow_type.value_type)
    return _is_any(arrow_type, _HELD.get(type.name, ()))


def _stored(arrow_type: pa.DataType) -> pa.DataType:
    """The type without an extension or a dictionary around it."""
    if isinstance(arrow_type, pa.BaseExtensionType):
        return _stored(arrow_type.storage_type)
    return _stored(arrow_type.value_type) if kinds.is_dictionary(arrow_type) else arrow_type


def typed_rows(rows: pa.Table, desc: RelationDesc) -> pa.Table:
    """``rows``, whose columns ``mismatch`` accepts, as rows of ``desc``, in order. Raises
    ``Unreadable`` if one does not fit."""
    arrays = [_column_values(rows[column.name].combine_chunks(), column) for column in desc.columns]
    return pa.table(arrays, schema=arrow_schema(desc, with_updates=False))


def _column_values(values: pa.Array, column: Column) -> pa.Array:
    try:
        converted = _converted(values, column.type)
    except _CONVERSION_ERRORS as error:
        raise Unreadable(f'column "{column.name}" of type {column.sql_type}: {error}') from None
    if converted.null_count and not column.is_nullable:
        raise Unreadable(f'column "{column.name}": null value violates its NOT NULL constraint')
    return limited(converted, column)


_CONVERSION_ERRORS = (pa.ArrowException, ValueError, OverflowError, ReclockError)


def _converted(values: pa.Array, type: ScalarType) -> pa.Array:
    """The values as ``arrow_type(type)``. Raises one of ``_CONVERSION_ERRORS``."""
    if isinstance(values.type, pa.BaseExtensionType):
        return _converted(values.storage, type)
    if kinds.is_dictionary(values.type):
        return _converted(values.dictionary_decode(), type)
    target = arrow_type(type)
    if kinds.is_null(values.type):
        return pa.nulls(len(values), target)
    if type.element is not None:
        return _lists(values, type)
    if type.name is TypeName.NUMERIC:
        return _numerics(values, type)
    if kinds.is_timestamp(target):
        return _microseconds(values).cast(target)
    if (description := textual(type)) is not None:
        texts = _texts(values, type)
        forms = [None if text is None else description.normal_form(text) for text in texts]
        return pa.array(forms, target)
    return pc.cast(values, target)


def _numerics(values: pa.Array, type: ScalarType) -> pa.Array:
    """Arrow compares the widths of the types where it converts integers, hence the detour."""
    if kinds.is_integer(values.type):
        values = pc.cast(values, pa.decimal256(76, type.scale or 0))
    return pc.cast(values, arrow_type(type))


def _microseconds(values: pa.Array) -> pa.Array:
    """Moments or times as counts of microseconds; nanoseconds are rounded to the nearest, halves
    up. Raises ``pa.ArrowInvalid`` beyond 64 bits."""
    unit = values.type.unit
    bits = pa.int32() if kinds.is_time32(values.type) else pa.int64()
    counts = pc.cast(pc.cast(values, bits), pa.int64())
    if unit != "ns":
        return pc.multiply_checked(counts, _UNIT_US[unit])
    whole = pc.divide(counts, 1000)  # towards zero
    rest = pc.subtract(counts, pc.multiply(whole, 1000))
    up = pc.cast(pc.greater_equal(rest, 500), pa.int64())
    down = pc.cast(pc.less(rest, -500), pa.int64())
    return pc.subtract(pc.add(whole, up), down)


def _texts(values: pa.Array, type: ScalarType) -> list[str | None]:
    """What spells the values of a textual ``type``."""
    if _is_text(values.type):
        texts: list[str | None] = values.to_pylist()
        return texts
    if kinds.is_time(values.type):
        return [None if us is None else time_text(us) for us in _microseconds(values).to_pylist()]
    if type == UUID:
        return [None if raw is None else str(Uuid(bytes=raw)) for raw in values.to_pylist()]
    return [None if value is None else dumps(value) for value in _documents(values)]


def _lists(values: pa.Array, type: ScalarType) -> pa.Array:
    assert type.element is not None
    offsets = pa.array([0, *accumulate(_lengths(values))], pa.int32())
    elements = _converted(pc.list_flatten(values), type.element)
    lists = pa.ListArray.from_arrays(offsets, elements, arrow_type(type), mask=values.is_null())
    if type.dimensions == 1:
        return lists
    rows = lists.to_pylist()
    return pa.array([row and (row if shape(row) else []) for row in rows], lists.type)


def _lengths(lists: pa.Array) -> list[int]:
    lengths: list[int] = pc.fill_null(pc.list_value_length(lists), 0).to_pylist()
    return lengths


def _documents(values: pa.Array) -> list[Any]:
    """The values as those of JSON documents: numbers are exact, bytes are hexadecimal as a
    ``bytea``, moments are ISO 8601."""
    if isinstance(values.type, pa.BaseExtensionType):
        return _documents(values.storage)
    if kinds.is_dictionary(values.type):
        return _documents(values.dictionary_decode())
    if kinds.is_map(values.type):
        return _maps(values)
    if kinds.is_struct(values.type):
        members = [_documents(member) for member in values.flatten()]
        names = [field.name for field in values.type]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*members, strict=True)]
        return _with_nulls(rows, values)
    if _is_list(values.type):
        items = iter(_documents(pc.list_flatten(values)))
        lists = [list(islice(items, length)) for length in _lengths(values)]
        return _with_nulls(lists, values)
    type = scalar_type(values.type)
    if type is None:
        raise ValueError(f"a value of type {values.type} is no part of a document")
    return [_json_value(value) for value in _converted(values, type).to_pylist()]


def _maps(values: pa.Array) -> list[Any]:
    """Of several items with one key, the last counts. Keys are texts."""
    starts = values.offsets.to_pylist()
    first, last = starts[0], starts[-1]
    keys, items = (_documents(part[first:last]) for part in (values.keys, values.items))
    pairs = [
        (key if isinstance(key, str) else dumps(key), item)
        for key, item in zip(keys, items, strict=True)
    ]
    maps = [dict(pairs[start - first : end - first]) for start, end in pairwise(starts)]
    return _with_nulls(maps, values)


def _with_nulls(rows: Sequence[Any], values: pa.Array) -> list[Any]:
    """The rows, with None where a value is NULL."""
    return [
        None if is_null else row
        for row, is_null in zip(rows, values.is_null().to_pylist(), strict=True)
    ]


def _json_value(value: Any) -> Any:
    match value:
        case float():
            return Decimal(repr(value)) if math.isfinite(value) else _UNWRITTEN[str(value)]
        case bytes():
            return f"\\x{value.hex()}"
        case date():
            return value.isoformat()
        case _:
            return value


_UNWRITTEN = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
"""What JSON has no number for, as PostgreSQL's ``to_jsonb`` writes it."""
