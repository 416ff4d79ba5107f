"""How engines order values of types that they do not order as SQL does."""

from __future__ import annotations

from reclock.algebra.defined_types import EnumType
from reclock.algebra.relations import ScalarType, TypeName, array
from reclock.errors import UnsupportedSql
from reclock.plan.functions.array_sql import flattened, lengths
from reclock.plan.functions.floats import with_value
from reclock.plan.functions.intervals import compared, compared_type
from reclock.plan.functions.json_calls import json_call
from reclock.plan.functions.sql_names import case_sql, each_element, field_names, string, struct


def sort_key(engine: str, sql: str, type: ScalarType) -> str:
    """What the engine orders as SQL orders ``sql``, intervals by their spans."""
    return in_order(engine, compared(engine, sql, type), compared_type(type))


def in_order(engine: str, sql: str, type: ScalarType) -> str:
    """What the engine orders as SQL orders ``sql``: NULL is the largest element of an array, and
    the largest field of a record. Equal values have equal results."""
    if type.has_order_key:
        kind = "range" if type.is_range else "network" if type.is_network else "document"
        return json_call(f"{kind}_order", sql)
    if type.enum is not None:
        return _place_of_label(engine, sql, type.enum)
    if type.dimensions > 1:
        return with_value(engine, sql, _by_elements(engine, "v", type))
    if not type.is_nested or (engine == "duckdb" and not has_own_order(type)):
        return sql
    if type.element is not None:
        if has_keys(type.element) and engine == "spark":
            raise UnsupportedSql(f"the order of arrays of {type.element} is not computed by Spark")
        return each_element(engine, sql, _part_in_order(engine, "e", type.element))
    fields = zip(field_names(type), type.fields, strict=True)
    parts = {name: _part_in_order(engine, f"({sql}).{name}", field.type) for name, field in fields}
    return case_sql(engine, f" WHEN {sql} IS NOT NULL THEN {struct(engine, parts)}")


def _by_elements(engine: str, items: str, type: ScalarType) -> str:
    """Arrays of the same number of dimensions are ordered by all their elements, and then by the
    length of each dimension."""
    elements = in_order(engine, flattened(items, type.dimensions), array(type.base))
    parts = {"v": elements}
    for place, length in enumerate(lengths(engine, items, type.dimensions)):
        parts[f"n{place}"] = length
    return f"CASE WHEN {items} IS NOT NULL THEN {struct(engine, parts)} END"


def _place_of_label(engine: str, sql: str, type: EnumType) -> str:
    """The place of the label among those of its type."""
    places = [
        f"WHEN {string(engine, label)} THEN {place}" for place, label in enumerate(type.labels)
    ]
    return case_sql(engine, f" {sql} {' '.join(places)}") if places else sql


def has_keys(type: ScalarType) -> bool:
    """Whether the order of the type, or of a part of it, is that of keys that Python computes."""
    if type.name is TypeName.RECORD:
        return any(has_keys(field.type) for field in type.fields)
    return type.has_order_key if type.element is None else has_keys(type.element)


def has_own_order(type: ScalarType) -> bool:
    """Whether DuckDB orders values of the type, or of a part of it, otherwise than SQL."""
    if type.name is TypeName.RECORD:
        return any(has_own_order(field.type) for field in type.fields)
    if type.element is not None:
        return type.dimensions > 1 or has_own_order(type.element)
    return type.has_order_key or type.enum is not None


def _part_in_order(engine: str, sql: str, type: ScalarType) -> str:
    part = in_order(engine, sql, type)
    return part if engine == "duckdb" else struct(engine, {"n": f"{sql} IS NULL", "v": part})
