"""Regular expressions, in the syntax that the engines share: RE2's on DuckDB, Java's on Spark."""

from __future__ import annotations

from reclock.algebra.relations import BOOLEAN, TEXT
from reclock.plan.functions.registry import scalar
from reclock.plan.functions.typing import exact

_BOTH_TEXT = exact(((TEXT, TEXT), BOOLEAN))
scalar(
    "~",
    "Whether a regular expression matches.",
    _BOTH_TEXT,
    duckdb="regexp_matches({0}, {1})",
    spark="({0} RLIKE {1})",
)
scalar(
    "~*",
    "Whether a regular expression matches, ignoring case.",
    _BOTH_TEXT,
    duckdb="regexp_matches({0}, {1}, 'i')",
    spark="({0} RLIKE concat('(?i)', {1}))",
)
