"""The text in which clients see a value, where a cast to text gives another one: ``t`` for
``true``, an address without the prefix of all its bits, and the blanks of ``char(n)``."""

from __future__ import annotations

from collections.abc import Mapping

from reclock.algebra.relations import TEXT, ScalarType, TypeName, array
from reclock.plan.functions.casts import printed
from reclock.plan.functions.registry import Site, Types, Writer, scalar
from reclock.plan.functions.sql_names import each_element

PRINTED = "printed"


def is_printed_otherwise(type: ScalarType | None) -> bool:
    """Whether clients see values of the type, or of its elements, in another text than that of a
    cast."""
    return type is not None and type.base.name in (
        TypeName.BOOLEAN,
        TypeName.BPCHAR,
        TypeName.INET,
    )


def _one(
    types: Types, constants: Mapping[int, object]
) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
    type = types[0] if len(types) == 1 else None
    if type is None or not is_printed_otherwise(type):
        return None
    return (type,), TEXT if type.element is None else array(TEXT)


def _printed(engine: str) -> Writer:
    def write(site: Site) -> str:
        [value], [type] = site.arguments, site.types
        if type.element is None:
            return printed(engine, value, type)
        return each_element(engine, value, printed(engine, "e", type.element))

    return write


# Its name is none that SQL can call.
scalar(
    PRINTED,
    "The text in which clients see a value; of an array, that of each element.",
    _one,
    duckdb=_printed("duckdb"),
    spark=_printed("spark"),
)
