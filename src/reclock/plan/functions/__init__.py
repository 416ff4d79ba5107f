"""Scalar functions, operators and aggregates: their types, and how each engine writes them."""

from reclock.plan.functions import (  # noqa: F401  (each registers its functions)
    aggregates,
    arithmetic,
    array_dimensions,
    array_parts,
    arrays,
    bit_operators,
    blanks,
    buckets,
    byte_strings,
    characters,
    collected,
    documents,
    domains,
    formats,
    interval_functions,
    json_path_functions,
    jsonb,
    logic,
    maps,
    mathematics,
    moments,
    normal_forms,
    patterns,
    ranges,
    records,
    regexp_functions,
    regressions,
    special_functions,
    text,
    time_zones,
    times,
    trigonometry,
    uuids,
    zoned_casts,
)
from reclock.plan.functions.casts import resolve_cast
from reclock.plan.functions.registry import (
    AGGREGATES,
    SCALARS,
    Resolved,
    resolve_aggregate,
    resolve_scalar,
)
from reclock.plan.functions.typing import common_type, is_implicit, operand_type

__all__ = [
    "AGGREGATES",
    "SCALARS",
    "Resolved",
    "common_type",
    "is_implicit",
    "operand_type",
    "resolve_aggregate",
    "resolve_cast",
    "resolve_scalar",
]
