"""Values that are others for each row: unique identifiers (``uuid``) and random numbers."""

from __future__ import annotations

from reclock.algebra.relations import DOUBLE, UUID
from reclock.plan.functions.registry import scalar
from reclock.plan.functions.typing import exact

RANDOM_FUNCTIONS = frozenset({"gen_random_uuid", "random"})

scalar(
    "gen_random_uuid",
    "A random UUID of version 4, another for each row. Not in the definition of a view.",
    exact(((), UUID)),
    duckdb="CAST(uuid() AS VARCHAR)",
    spark="uuid()",
)
scalar(
    "random",
    "A random number from 0 to less than 1, another for each row. Not in the definition of a view.",
    exact(((), DOUBLE)),
    duckdb="random()",
    spark="rand()",
)
