"""``array_agg`` and ``string_agg``: the values of a group, in the order of ``ORDER BY`` and then
ascending.

The first argument is the value, the second one of ``string_agg`` the separator. Two arguments
follow for each expression of ``ORDER BY``: the expression, and one of ``DIRECTIONS``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reclock.algebra.relations import TEXT, ScalarType, array
from reclock.errors import InternalError, UnsupportedSql
from reclock.plan.functions.registry import Site, Types, Writer, aggregate
from reclock.plan.functions.sql_names import string
from reclock.plan.functions.typing import is_implicit

Signature = tuple[tuple[ScalarType, ...], ScalarType]

ASCENDING = "ASC NULLS LAST"
DIRECTIONS = (ASCENDING, "ASC NULLS FIRST", "DESC NULLS FIRST", "DESC NULLS LAST")


def direction(*, is_descending: bool, nulls_first: bool) -> str:
    """The one of ``DIRECTIONS`` with this order and place of NULLs."""
    return f"{'DESC' if is_descending else 'ASC'} NULLS {'FIRST' if nulls_first else 'LAST'}"


@dataclass(frozen=True, slots=True)
class _Key:
    sql: str
    direction: str

    @property
    def is_descending(self) -> bool:
        return self.direction.startswith("DESC")

    @property
    def nulls_first(self) -> bool:
        return self.direction.endswith("FIRST")


def _keys(site: Site, first: int) -> list[_Key]:
    """The sort keys of the rows: the arguments from ``first`` on, then the value."""
    keys = []
    for i in range(first, len(site.arguments), 2):
        word = site.constants.get(i + 1)
        if word not in DIRECTIONS:
            raise InternalError(f"no direction of an ordered aggregate: {word!r}")
        keys.append(_Key(site.arguments[i], str(word)))
    if all(key.sql != site.arguments[0] for key in keys):
        keys.append(_Key(site.arguments[0], ASCENDING))
    return keys


def _duckdb_order(site: Site, first: int) -> str:
    """ORDER BY of what is no constant, which DuckDB refuses there."""
    constants = {site.arguments[i] for i in site.constants}
    terms = [f"{key.sql} {key.direction}" for key in _keys(site, first) if key.sql not in constants]
    return f" ORDER BY {', '.join(terms)}" if terms else ""


def _sorted_by_spark(site: Site, keys: Sequence[_Key], filter: str) -> str:
    """The values in their order, as an array: of structs with the keys, which a comparison
    sorts."""
    fields = "".join(f", 'k{i}', {key.sql}" for i, key in enumerate(keys))
    rows = (
        f"collect_{'set' if site.is_distinct else 'list'}(named_struct('value', "
        f"{site.arguments[0]}{fields})){filter}"
    )
    branches = "".join(_comparison(f"k{i}", key) for i, key in enumerate(keys))
    return f"transform(array_sort({rows}, (l, r) -> CASE{branches} ELSE 0 END), row -> row.value)"


def _comparison(field: str, key: _Key) -> str:
    left, right = f"l.{field}", f"r.{field}"
    less, greater = (1, -1) if key.is_descending else (-1, 1)
    null = -1 if key.nulls_first else 1
    return (
        f" WHEN {left} IS NULL AND {right} IS NOT NULL THEN {null} WHEN {left} IS NOT "
        f"NULL AND {right} IS NULL THEN {-null}"
        f" WHEN {left} < {right} THEN {less} WHEN {left} > {right} THEN {greater}"
    )


def _collected(types: Types, constants: Mapping[int, object]) -> Signature | None:
    if not types or (types[0] is not None and types[0].element is not None):
        return None
    known = tuple(type or TEXT for type in types)
    return known, array(known[0])


def _joined(types: Types, constants: Mapping[int, object]) -> Signature | None:
    if len(types) < 2 or not all(is_implicit(type, TEXT) for type in types[:2]):
        return None
    return (TEXT, TEXT, *(type or TEXT for type in types[2:])), TEXT


def _write_collected(engine: str) -> Writer:
    """All values, including NULLs; NULL if there are none."""

    def write(site: Site) -> str:
        if engine == "duckdb":
            return f"list({'DISTINCT ' if site.is_distinct else ''}{site.arguments[0]}{_duckdb_order(site, 1)}){site.filter}"
        values = _sorted_by_spark(site, _keys(site, first=1), site.filter)
        return f"(CASE WHEN size({values}) > 0 THEN {values} END)"

    return write


def _write_joined(engine: str) -> Writer:
    """The texts that are not NULL; NULL if there are none. A NULL separator counts as empty."""

    def write(site: Site) -> str:
        separator = site.constants.get(1, 0)
        if not isinstance(separator, str | None):
            raise UnsupportedSql(
                "a separator of string_agg that is not a constant is not supported"
            )
        text, between = site.arguments[0], string(engine, separator or "")
        if engine == "duckdb":
            distinct = "DISTINCT " if site.is_distinct else ""
            return f"string_agg({distinct}{text}, {between}{_duckdb_order(site, 2)}){site.filter}"
        kept = (
            f"{site.filter[:-1]} AND {text} IS NOT NULL)"
            if site.filter
            else f" FILTER (WHERE {text} IS NOT NULL)"
        )
        values = _sorted_by_spark(site, _keys(site, first=2), kept)
        return f"(CASE WHEN size({values}) > 0 THEN array_join({values}, {between}) END)"

    return write


_IN_ORDER = "in ascending order or in that of `ORDER BY`"
aggregate(
    "array_agg",
    f"The values, {_IN_ORDER}.",
    _collected,
    duckdb=_write_collected("duckdb"),
    spark=_write_collected("spark"),
)
aggregate(
    "string_agg",
    f"The texts, {_IN_ORDER}, joined by a separator.",
    _joined,
    duckdb=_write_joined("duckdb"),
    spark=_write_joined("spark"),
)
