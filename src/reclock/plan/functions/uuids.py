"""Universally unique identifiers (``uuid``)."""

from __future__ import annotations

from reclock.algebra.relations import UUID
from reclock.plan.functions.registry import scalar
from reclock.plan.functions.typing import exact

scalar(
    "gen_random_uuid",
    "A random UUID of version 4, another for each row. Not in the definition of a view.",
    exact(((), UUID)),
    duckdb="CAST(uuid() AS VARCHAR)",
    spark="uuid()",
)
