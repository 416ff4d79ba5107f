"""Records: structs of the engines. Engines compare them as PostgreSQL does, where two NULLs in one
place are equal and a NULL is larger than any value; only their own order is written for Spark. So
no operator and no delta rule knows records. In engines their fields are named by place: the names
are a part of the type alone.

The names of these functions are none that SQL can call.
"""

from __future__ import annotations

from collections.abc import Mapping

from reclock.algebra.relations import INTEGER, RecordField, ScalarType, record
from reclock.plan.functions.registry import Site, Types, Writer, scalar
from reclock.plan.functions.sql_names import field_names, struct, type_sql

RECORD_OF = "record of"
FIELD_OF = "field of"

Signature = tuple[tuple[ScalarType, ...], ScalarType]


def _of_values(types: Types, constants: Mapping[int, object]) -> Signature | None:
    known = [type for type in types if type is not None]
    fields = [RecordField(f"f{place}", type) for place, type in enumerate(known, 1)]
    return (tuple(known), record(fields)) if len(known) == len(types) else None


def _of_record(types: Types, constants: Mapping[int, object]) -> Signature | None:
    place = constants.get(1)
    if len(types) != 2 or types[0] is None or not isinstance(place, int):
        return None
    return (types[0], INTEGER), types[0].fields[place - 1].type


def _write_record(engine: str) -> Writer:
    def write(site: Site) -> str:
        fields = dict(zip(field_names(site.result), site.arguments, strict=True))
        return f"CAST({struct(engine, fields)} AS {type_sql(engine, site.result)})"

    return write


def _write_field(site: Site) -> str:
    return f"({site.arguments[0]}).f{site.constants[1]}"


scalar(
    RECORD_OF,
    "A record of these values.",
    _of_values,
    duckdb=_write_record("duckdb"),
    spark=_write_record("spark"),
)
scalar(FIELD_OF, "The field of a record at a place from 1.", _of_record, _write_field)
