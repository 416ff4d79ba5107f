"""How engines order values of types that they do not order as SQL does."""

from __future__ import annotations

from reclock.algebra.relations import ScalarType
from reclock.errors import UnsupportedSql
from reclock.plan.functions.json_calls import json_call
from reclock.plan.functions.sql_names import each_element


def in_order(engine: str, sql: str, type: ScalarType) -> str:
    """What the engine orders as SQL orders ``sql``, an array, a range or a value that needs nothing
    else. Equal values have equal results."""
    if type.is_range:
        return order_of_range(sql)
    if type.element is None:
        return sql
    if type.element.is_range and engine == "spark":
        raise UnsupportedSql("the order of arrays of ranges is not computed by Spark")
    return _ordered_array(engine, sql, type.element)


def order_of_range(sql: str) -> str:
    """What both engines order as SQL orders the range."""
    return json_call("range_order", sql)


def _ordered_array(engine: str, array: str, element: ScalarType) -> str:
    """NULL is the largest element."""
    if engine == "spark":
        return each_element(engine, array, "named_struct('n', e IS NULL, 'v', e)")
    return (
        each_element(engine, array, in_order(engine, "e", element)) if element.is_range else array
    )
