"""Arrays of several dimensions: arrays of arrays of the same lengths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from reclock.algebra.relations import (
    INTEGER,
    TEXT,
    RecordField,
    ScalarType,
    TypeName,
    array,
    record,
)
from reclock.plan.functions.array_sql import (
    flattened,
    lengths,
    listed,
    of_one_shape,
    size,
)
from reclock.plan.functions.arrays import Signature, on_array
from reclock.plan.functions.floats import with_value
from reclock.plan.functions.intervals import computed
from reclock.plan.functions.registry import Site, Types, Writer, scalar
from reclock.plan.functions.sql_names import each_element, field_names, raised, struct, type_sql
from reclock.plan.functions.typing import common_type

FLATTENED, SHAPE, COLLECTED = "all elements", "elements and dimensions", "collected arrays"
"""Functions that SQL cannot call."""

# --- lengths ---


def _of_dimension(engine: str, answer: Callable[[str, ScalarType], str]) -> Writer:
    """``answer`` of the length of a dimension; NULL if the array is empty or has no such one."""

    def write(site: Site) -> str:
        type = site.types[0]

        def body(items: str, dimension: str) -> str:
            sizes = lengths(engine, items, type.dimensions)
            cases = " ".join(
                f"WHEN {place} THEN {answer(length, type)}" for place, length in enumerate(sizes, 1)
            )
            chosen = f"CASE WHEN {sizes[0]} > 0 THEN CASE {dimension} {cases} END END"
            return f"CAST({chosen} AS {type_sql(engine, INTEGER)})"

        return (
            body(*site.arguments)
            if type.dimensions == 1
            else computed(engine, site.arguments, body)
        )

    return write


def first_index(type: ScalarType) -> int:
    """That of vectors is 0."""
    return 0 if type.name is TypeName.VECTOR else 1


for _name, _description, _answer in (
    ("array_length", "The length of a dimension", lambda length, type: length),
    (
        "array_upper",
        "The last index of a dimension",
        lambda length, type: f"{length} - {1 - first_index(type)}",
    ),
    ("array_lower", "The first index of a dimension", lambda length, type: f"{first_index(type)}"),
):
    scalar(
        _name,
        f"{_description}, counted from 1; NULL if the array is empty or has no such dimension.",
        on_array(lambda element: (INTEGER,), lambda element: INTEGER),
        duckdb=_of_dimension("duckdb", _answer),
        spark=_of_dimension("spark", _answer),
    )


def _of_shape(engine: str, answer: Callable[[Sequence[str], ScalarType], str]) -> Writer:
    """``answer`` of the lengths of all dimensions; NULL if the array is empty."""

    def write(site: Site) -> str:
        type = site.types[0]

        def body(items: str) -> str:
            sizes = lengths(engine, items, type.dimensions)
            return f"CASE WHEN {sizes[0]} > 0 THEN {answer(sizes, type)} END"

        return computed(engine, site.arguments, body)

    return write


def _ranges(sizes: Sequence[str], type: ScalarType) -> str:
    first = first_index(type)
    parts = [f"'[{first}:', {length} - {1 - first}, ']'" for length in sizes]
    return f"concat({', '.join(parts)})"


scalar(
    "array_ndims",
    "The number of dimensions; NULL of an empty array.",
    on_array(lambda element: (), lambda element: INTEGER),
    duckdb=_of_shape("duckdb", lambda sizes, type: f"{len(sizes)}"),
    spark=_of_shape("spark", lambda sizes, type: f"{len(sizes)}"),
)
scalar(
    "array_dims",
    "The ranges of the indexes, such as `[1:3]` or `[1:3][1:2]`; NULL of an empty array.",
    on_array(lambda element: (), lambda element: TEXT),
    duckdb=_of_shape("duckdb", _ranges),
    spark=_of_shape("spark", _ranges),
)

# --- elements and dimensions ---


def _flat(types: Types, constants: Mapping[int, object]) -> Signature | None:
    type = types[0] if len(types) == 1 else None
    return ((type,), array(type.base)) if type is not None and type.dimensions else None


scalar(
    FLATTENED,
    "All elements of an array of several dimensions, in one of one dimension.",
    _flat,
    lambda site: flattened(site.arguments[0], site.types[0].dimensions),
)


def _shape_type(types: Types, constants: Mapping[int, object]) -> Signature | None:
    type = types[0] if len(types) == 1 else None
    if type is None or type.name is not TypeName.ARRAY:
        return None
    parts = (array(type.base), INTEGER, array(INTEGER))
    return (type,), record(RecordField(f"f{place}", part) for place, part in enumerate(parts, 1))


def _shape(engine: str) -> Writer:
    def write(site: Site) -> str:
        type, result = site.types[0], type_sql(engine, site.result)

        def body(items: str) -> str:
            sizes = lengths(engine, items, type.dimensions)
            is_empty, empty = f"{sizes[0]} = 0", listed(engine)
            parts = (
                flattened(items, type.dimensions),
                f"CASE WHEN {is_empty} THEN 0 ELSE {type.dimensions} END",
                f"CASE WHEN {is_empty} THEN {empty} ELSE {listed(engine, *sizes)} END",
            )
            fields = dict(zip(field_names(site.result), parts, strict=True))
            return f"CAST({struct(engine, fields)} AS {result})"

        return computed(engine, site.arguments, body)

    return write


scalar(
    SHAPE,
    "What arrays of different numbers of dimensions are compared by: elements, then dimensions.",
    _shape_type,
    duckdb=_shape("duckdb"),
    spark=_shape("spark"),
)

# --- arrays of arrays ---


def _of_arrays(types: Types, constants: Mapping[int, object]) -> Signature | None:
    type = types[0] if len(types) == 1 else None
    return ((type,), type) if type is not None and type.dimensions > 1 else None


def _collected(engine: str) -> Writer:
    def write(site: Site) -> str:
        null, empty, differ = (
            raised(engine, sqlstate, f"'cannot accumulate {arrays}'")
            for sqlstate, arrays in (
                ("22004", "null arrays"),
                ("2202E", "empty arrays"),
                ("2202E", "arrays of different dimensionality"),
            )
        )
        nulls, sizes = (
            each_element(engine, "v", sql) for sql in ("e IS NULL", f"{size(engine, 'e')} = 0")
        )
        contains = f"{'list' if engine == 'duckdb' else 'array'}_contains"
        whole = of_one_shape(engine, "v", site.result.dimensions, differ)
        return with_value(
            engine,
            site.arguments[0],
            f"CASE WHEN {contains}({nulls}, TRUE) THEN {null} "
            f"WHEN {contains}({sizes}, TRUE) THEN {empty} ELSE {whole} END",
        )

    return write


scalar(
    COLLECTED,
    "Collected arrays as an array of one more dimension; an error if their dimensions differ.",
    _of_arrays,
    duckdb=_collected("duckdb"),
    spark=_collected("spark"),
)


# --- concatenation ---


def _joined(types: Types, constants: Mapping[int, object]) -> Signature | None:
    """Arrays of any numbers of dimensions; the result has the larger one, and elements of the type
    that they have in common."""
    arrays = [type for type in types if type is not None]
    if len(types) != 2 or not arrays or not all(type.is_array for type in arrays):
        return None
    base = common_type([type.base for type in arrays])
    if base is None:
        return None
    result = array(base, max(type.dimensions for type in arrays))
    return tuple(array(base, (type or result).dimensions) for type in types), result


def _cat(engine: str) -> Writer:
    """NULL counts as an empty array. An array of one dimension less is an item of the other."""

    def write(site: Site) -> str:
        left, right = site.arguments
        is_nested = any("(" in argument for argument in site.arguments)
        if site.result.dimensions == 1 and not is_nested:
            return f"({_joined_lists(engine, left, right)})"
        pair = struct(engine, {"l": left, "r": right})
        if site.result.dimensions == 1:  # a chain of them would be as long as a power of its length
            return with_value(engine, pair, _joined_lists(engine, "v.l", "v.r"))
        parts = _parts_of_both(engine, site)
        return with_value(
            engine, pair, f"CASE WHEN v.l IS NOT NULL OR v.r IS NOT NULL THEN {parts} END"
        )

    return write


def _joined_lists(engine: str, left: str, right: str) -> str:
    both = f"{_CONCAT[engine]}({left}, {right})"
    return f"CASE WHEN {left} IS NULL THEN {right} WHEN {right} IS NULL THEN {left} ELSE {both} END"


def _parts_of_both(engine: str, site: Site) -> str:
    """``v.l`` and ``v.r``, of which one has several dimensions, in one array."""
    type, dimensions = type_sql(engine, site.result), site.result.dimensions
    error = raised(engine, "2202E", "'cannot concatenate incompatible arrays'")
    empty = listed(engine)

    def items(name: str, type_of_part: ScalarType) -> str:
        missing = dimensions - type_of_part.dimensions
        if not missing:
            return f"coalesce({name}, {empty})"
        whole = listed(engine, name) if missing == 1 else error
        return f"CASE WHEN {size(engine, name)} > 0 THEN {whole} ELSE {empty} END"

    left, right = (
        f"CAST({items(*part)} AS {type})" for part in zip(("v.l", "v.r"), site.types, strict=True)
    )
    lengths_of_both = [
        listed(engine, *lengths(engine, name, dimensions)[1:]) for name in ("v.l", "v.r")
    ]
    joined = with_value(
        engine,
        struct(engine, {"l": left, "r": right}),
        f"CASE WHEN {size(engine, 'v.l')} = 0 THEN v.r WHEN {size(engine, 'v.r')} = 0 THEN v.l "
        f"WHEN {' <> '.join(lengths_of_both)} THEN {error} ELSE {_CONCAT[engine]}(v.l, v.r) END",
    )
    names = sorted(("v.l", "v.r"), key=lambda name: site.types[name == "v.r"].dimensions)
    if site.types[0] == site.types[1]:
        return joined
    smaller, larger = (size(engine, name) for name in names)
    lost = raised(engine, "0A000", f"'the result may have fewer than {dimensions} dimensions'")
    return f"CASE WHEN {smaller} > 0 AND coalesce({larger}, 0) = 0 THEN {lost} ELSE {joined} END"


_CONCAT = {"duckdb": "list_concat", "spark": "concat"}

scalar(
    "array_cat",
    "The first array followed by the second.",
    _joined,
    duckdb=_cat("duckdb"),
    spark=_cat("spark"),
)
