"""Casts of moments in the time zone of the session, also of those in arrays and records."""

from __future__ import annotations

from collections.abc import Mapping

from reclock.algebra.relations import TEXT, ScalarType
from reclock.plan.functions.casts import write_cast
from reclock.plan.functions.registry import Site, Types, Writer, scalar

IN_ZONE = "cast in a time zone"


def _cast_in_zone(engine: str) -> Writer:
    def write(site: Site) -> str:
        zone = str(site.constants[0])
        return write_cast(engine, site.arguments[1], site.types[1], site.result, zone)

    return write


def _types_in_zone(
    types: Types, constants: Mapping[int, object]
) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
    """The name of the zone, the value, and a NULL of the type to which it is cast."""
    if len(types) != 3 or types[0] != TEXT or 0 not in constants:
        return None
    _, source, target = types
    return None if source is None or target is None else ((TEXT, source, target), target)


scalar(
    IN_ZONE,
    "A cast whose moments are read and written in a time zone.",
    _types_in_zone,
    duckdb=_cast_in_zone("duckdb"),
    spark=_cast_in_zone("spark"),
)
