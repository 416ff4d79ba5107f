"""SQL of arrays of several dimensions: arrays of arrays of the same lengths. One without elements
is an empty array, whatever its dimensions."""

from __future__ import annotations

from collections.abc import Callable

from reclock.algebra.relations import BIGINT, array
from reclock.plan.functions.sql_names import each_element, type_sql


def size(engine: str, items: str) -> str:
    """The length of an array."""
    return f"{'len' if engine == 'duckdb' else 'size'}({items})"


def lengths(engine: str, items: str, dimensions: int) -> list[str]:
    """The length of each dimension of an array that is not empty."""
    sizes = []
    for _ in range(dimensions):
        sizes.append(size(engine, items))
        items = f"list_extract({items}, 1)" if engine == "duckdb" else f"get({items}, 0)"
    return sizes


def listed(engine: str, *items: str) -> str:
    """An array of these expressions."""
    return f"{'list_value' if engine == 'duckdb' else 'array'}({', '.join(items)})"


def flattened(items: str, dimensions: int) -> str:
    """All elements of an array, as one of one dimension."""
    for _ in range(dimensions - 1):
        items = f"flatten({items})"
    return items


def innermost(engine: str, items: str, dimensions: int, change: Callable[[str], str]) -> str:
    """``items`` with ``change`` made to each of its arrays of one dimension."""
    if dimensions == 1:
        return change(items)
    return each_element(engine, items, innermost(engine, "e", dimensions - 1, change))


def of_one_shape(engine: str, arrays: str, dimensions: int, error: str) -> str:
    """``arrays``, a column or ``v``, an array of arrays, as an array of so many ``dimensions``:
    empty if all of them are NULL or empty, and ``error`` if their lengths differ."""
    sizes = listed(engine, *lengths(engine, "e", dimensions - 1))
    none = f"CAST({_EMPTY[engine]} AS {type_sql(engine, array(BIGINT))})"
    shapes = each_element(
        engine, arrays, f"CASE WHEN {size(engine, 'e')} > 0 THEN {sizes} ELSE {none} END"
    )
    distinct = f"{'list' if engine == 'duckdb' else 'array'}_distinct({shapes})"
    _, first = lengths(engine, arrays, 2)
    return (
        f"CASE WHEN {size(engine, distinct)} > 1 THEN {error} "
        f"WHEN {first} > 0 THEN {arrays} WHEN {arrays} IS NOT NULL THEN {_EMPTY[engine]} END"
    )


_EMPTY = {"duckdb": "[]", "spark": "array()"}
