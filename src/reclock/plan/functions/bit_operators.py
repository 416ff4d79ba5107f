"""``& | # << >>`` on the bits of integers."""

from __future__ import annotations

from collections.abc import Mapping

from reclock.algebra.relations import INTEGER, ScalarType, TypeName
from reclock.plan.functions.registry import Site, Types, Writer, scalar
from reclock.plan.functions.sql_names import type_sql
from reclock.plan.functions.typing import common_type

Signature = tuple[tuple[ScalarType, ...], ScalarType]


def _of_bits(types: Types, constants: Mapping[int, object]) -> Signature | None:
    common = common_type(types)
    return (
        ((common, common), common)
        if common is not None and common.is_integer and len(types) == 2
        else None
    )


for _name, _description in (("&", "Bitwise AND."), ("|", "Bitwise OR.")):
    scalar(_name, _description, _of_bits, f"({{0}} {_name} {{1}})")
scalar("#", "Bitwise exclusive OR.", _of_bits, duckdb="xor({0}, {1})", spark="({0} ^ {1})")


_BITS = {TypeName.SMALLINT: 16, TypeName.INTEGER: 32, TypeName.BIGINT: 64}


def _resolve_bit_shift(types: Types, constants: Mapping[int, object]) -> Signature | None:
    if len(types) != 2 or types == (None, None):
        return None
    value, places = types[0] or INTEGER, types[1] or INTEGER
    if value.name not in _BITS or places.name not in (TypeName.SMALLINT, TypeName.INTEGER):
        return None
    return (value, INTEGER), value


def _shift_bits(operator: str, engine: str) -> Writer:
    """As PostgreSQL on x86 and ARM: only the low 5 bits of the places count, or 6 for a bigint;
    bits beyond are lost."""

    def write(site: Site) -> str:
        value, places = site.arguments
        bits, result = _BITS[site.result.name], type_sql(engine, site.result)
        if engine == "spark":  # as Java does, in 32 or 64 bits
            word = f"CAST({value} AS INT)" if bits == 16 else value
            shifted = f"{'shiftleft' if operator == '<<' else 'shiftright'}({word}, {places})"
            return (
                f"CAST(((({shifted} & 65535) ^ 32768) - 32768) AS {result})"
                if bits == 16
                else shifted
            )
        places = f"({places} & {max(bits, 32) - 1})"
        if operator == ">>":
            return f"CAST((CAST({value} AS BIGINT) >> CAST({places} AS BIGINT)) AS {result})"
        product = f"(CAST({value} AS HUGEINT) * (1::HUGEINT << CAST({places} AS HUGEINT)))"
        sign = f"{1 << (bits - 1)}::HUGEINT"
        return f"CAST((xor({product} & {(1 << bits) - 1}::HUGEINT, {sign}) - {sign}) AS {result})"

    return write


for _name, _description in (
    ("<<", "The bits shifted left by so many places; those beyond the type's are lost."),
    (">>", "The bits shifted right by so many places; the sign stays."),
):
    scalar(
        _name,
        _description,
        _resolve_bit_shift,
        duckdb=_shift_bits(_name, "duckdb"),
        spark=_shift_bits(_name, "spark"),
    )
