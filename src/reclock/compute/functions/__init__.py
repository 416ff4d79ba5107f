"""Scalar functions, operators and aggregates: the types they take, what they answer, and how each engine writes them."""

from reclock.compute.functions import aggregates, arithmetic, arrays, formats, json, logic, mathematics, moments, patterns, text  # noqa: F401  (they register)
from reclock.compute.functions.casts import resolve_cast
from reclock.compute.functions.registry import AGGREGATES, SCALARS, Resolved, resolve_aggregate, resolve_scalar
from reclock.compute.functions.typing import common_type, is_implicit

__all__ = ["AGGREGATES", "SCALARS", "Resolved", "common_type", "is_implicit", "resolve_aggregate", "resolve_cast", "resolve_scalar"]
