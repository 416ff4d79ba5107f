"""The operators ``~`` and ``~*``.

A pattern that is a constant is translated to what both engines read in one way. Any other pattern is
read in the engine's own syntax: RE2's on DuckDB, Java's on Spark.
"""

from __future__ import annotations

from collections.abc import Mapping

from reclock.algebra.relations import BOOLEAN, TEXT, ScalarType
from reclock.plan.functions.registry import Resolver, Site, Types, Writer, scalar
from reclock.plan.functions.regular_expressions import regular_expression
from reclock.plan.functions.sql_names import string
from reclock.plan.functions.typing import exact

_PATTERN = 1
_BOTH_TEXT = exact(((TEXT, TEXT), BOOLEAN))


def _translatable(flags: str) -> Resolver:
    """Raises ``EvaluationError`` and ``UnsupportedSql`` as ``regular_expression`` does."""

    def resolve(
        types: Types, constants: Mapping[int, object]
    ) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
        signature = _BOTH_TEXT(types, constants)
        if signature is not None and isinstance(pattern := constants.get(_PATTERN), str):
            regular_expression(pattern, flags)
        return signature

    return resolve


def _match(engine: str, flags: str) -> Writer:
    def write(site: Site) -> str:
        text, pattern = site.arguments
        if isinstance(constant := site.constants.get(_PATTERN), str):
            pattern = string(engine, regular_expression(constant, flags).written(engine))
        else:
            pattern = f"('(?s{flags})' || {pattern})"
        return (
            f"regexp_matches({text}, {pattern})"
            if engine == "duckdb"
            else f"({text} RLIKE {pattern})"
        )

    return write


for _name, _flags, _how in (("~", "", ""), ("~*", "i", ", ignoring case")):
    scalar(
        _name,
        f"Whether a regular expression matches{_how}.",
        _translatable(_flags),
        duckdb=_match("duckdb", _flags),
        spark=_match("spark", _flags),
    )
