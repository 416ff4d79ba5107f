"""Maps and lists, Materialize's types.

Engines hold a list as an array, and a map as an array of records of a key and its value, in the
order of the keys. So functions of lists are those of arrays, between casts that change nothing
(`sql/queries/list_calls.py`); a map's keys, values and entries are arrays too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reclock.algebra.relations import (
    INTEGER,
    TEXT,
    ScalarType,
    TypeName,
    array,
    entry,
    map_of,
)
from reclock.plan.functions.array_sql import size
from reclock.plan.functions.floats import with_value
from reclock.plan.functions.registry import Resolver, Site, Types, Writer, scalar
from reclock.plan.functions.sql_names import each_element, struct, type_sql
from reclock.plan.functions.typing import is_implicit

MAP_KEYS, MAP_VALUES, MAP_ENTRIES = "map keys", "map values", "map entries"
"""Functions that SQL cannot call."""

Signature = tuple[tuple[ScalarType, ...], ScalarType]


def _of_map(result: Callable[[ScalarType], ScalarType]) -> Resolver:
    """``result`` has the type of the map's values."""

    def resolve(types: Types, constants: Mapping[int, object]) -> Signature | None:
        type = types[0] if len(types) == 1 else None
        if type is None or type.name is not TypeName.MAP:
            return None
        return (type,), result(type.value)

    return resolve


for _name, _about, _result, _element in (
    (MAP_KEYS, "The keys of a map, in order.", lambda value: array(TEXT), "e.f1"),
    (MAP_VALUES, "The values of a map, in the order of its keys.", array, "e.f2"),
    (MAP_ENTRIES, "The keys of a map with their values.", lambda value: array(entry(value)), "e"),
):
    scalar(
        _name,
        _about,
        _of_map(_result),
        duckdb=each_element("duckdb", "{0}", _element),
        spark=each_element("spark", "{0}", _element),
    )


def _built(types: Types, constants: Mapping[int, object]) -> Signature | None:
    """An array or a list of records, whose first field is a text and the second a value."""
    type = types[0] if len(types) == 1 else None
    if type is None or type.name not in (TypeName.ARRAY, TypeName.LIST) or type.element is None:
        return None
    fields = type.element.fields
    if len(fields) != 2 or not is_implicit(fields[0].type, TEXT):
        return None
    return (array(entry(fields[1].type)),), map_of(fields[1].type)


def _write_built(engine: str) -> Writer:
    """The last of the entries with one key, in the order of the keys. Sorting by the key and then
    the place leaves that entry before another key."""
    following, ordered = {
        "duckdb": ("v[i + 1]", "list_sort(list_filter({}, lambda x: x.k IS NOT NULL))"),
        "spark": ("get(v, i + 1)", "array_sort(filter({}, x -> x.k IS NOT NULL))"),
    }[engine]
    placed = struct(engine, {"k": "e.f1", "i": "i", "v": "e.f2"})

    def over_entries(items: str, body: str, function: str) -> str:
        if engine == "duckdb":
            return f"list_{function}({items}, lambda e, i: {body})"
        return f"{function}({items}, (e, i) -> {body})"

    def write(site: Site) -> str:
        entries = ordered.format(over_entries(site.arguments[0], placed, "transform"))
        last = over_entries("v", f"{following}.k IS NULL OR {following}.k <> e.k", "filter")
        made = each_element(engine, last, struct(engine, {"f1": "e.k", "f2": "e.v"}))
        return f"CAST({with_value(engine, entries, made)} AS {type_sql(engine, site.result)})"

    return write


scalar(
    "map_build",
    "A map of a list of records of a key and its value: of equal keys, the last one.",
    _built,
    duckdb=_write_built("duckdb"),
    spark=_write_built("spark"),
)


def _longest_type(types: Types, constants: Mapping[int, object]) -> Signature | None:
    layer, type = constants.get(1), types[0] if len(types) == 2 else None
    if type is None or type.name is not TypeName.LIST or not isinstance(layer, int):
        return None
    return (type, INTEGER), INTEGER


def _write_longest(engine: str) -> Writer:
    """The length of the longest list at a layer, which is a constant."""
    is_known = {
        "duckdb": "list_filter({}, lambda e: e IS NOT NULL)",
        "spark": "filter({}, e -> e IS NOT NULL)",
    }[engine]

    def write(site: Site) -> str:
        lists, layer = site.arguments[0], site.constants[1]
        assert isinstance(layer, int)
        if layer == 1:
            return f"CAST({size(engine, lists)} AS {type_sql(engine, INTEGER)})"
        for _ in range(layer - 2):
            lists = f"flatten({is_known.format(lists)})"
        longest = "list_max" if engine == "duckdb" else "array_max"
        lengths = each_element(engine, is_known.format(lists), size(engine, "e"))
        return f"CAST({longest}({lengths}) AS {type_sql(engine, INTEGER)})"

    return write


scalar(
    "list_length_max",
    "The length of the longest list at a layer, from 1; NULL if it has none.",
    _longest_type,
    duckdb=_write_longest("duckdb"),
    spark=_write_longest("spark"),
)
