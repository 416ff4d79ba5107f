"""``array_agg`` and ``string_agg``: the values of a group, in the order of ``ORDER BY`` and then
ascending.

The first argument is the value, the second one of ``string_agg`` the separator. Two arguments
follow for each expression of ``ORDER BY``: the expression, and one of ``DIRECTIONS``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from reclock.algebra.relations import BYTEA, TEXT, ScalarType, TypeName, array
from reclock.errors import InternalError, UnsupportedSql
from reclock.plan.functions.orders import in_order, sort_key
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


def _keys(engine: str, site: Site, first: int) -> list[_Key]:
    """The sort keys of the rows: the arguments from ``first`` on, then those before, of which equal
    intervals are in the order of their parts."""

    def sorted_by(place: int) -> str:
        return sort_key(engine, site.arguments[place], site.types[place])

    keys = []
    for i in range(first, len(site.arguments), 2):
        word = site.constants.get(i + 1)
        if word not in DIRECTIONS:
            raise InternalError(f"no direction of an ordered aggregate: {word!r}")
        keys.append(_Key(sorted_by(i), str(word)))
    arguments = []
    for place in range(first):
        if place not in site.constants:
            value, type = site.arguments[place], site.types[place]
            arguments.append(value if type.has_order_key else sorted_by(place))
            if type.has_intervals:
                arguments.append(in_order(engine, value, type))
    keyed = {key.sql for key in keys}
    return [*keys, *(_Key(sql, ASCENDING) for sql in arguments if sql not in keyed)]


def _duckdb_order(site: Site, first: int) -> str:
    """ORDER BY, without constants, which DuckDB refuses there."""
    constants = {site.arguments[i] for i in site.constants}
    terms = [
        f"{key.sql} {key.direction}"
        for key in _keys("duckdb", site, first)
        if key.sql not in constants
    ]
    return f" ORDER BY {', '.join(terms)}" if terms else ""


def _rows_by_spark(site: Site, first: int, **fields: str) -> str:
    """The rows in their order, as an array of structs: ``value``, ``fields``, and the keys, which a
    comparison sorts."""
    keys = _keys("spark", site, first)
    named = {"value": site.arguments[0], **fields}
    named |= {f"k{i}": key.sql for i, key in enumerate(keys)}
    struct = ", ".join(f"'{name}', {sql}" for name, sql in named.items())
    collected = f"collect_{'set' if site.is_distinct else 'list'}(named_struct({struct}))"
    branches = "".join(_comparison(f"k{i}", key) for i, key in enumerate(keys))
    rows = f"{collected}{site.filter}{site.over}"
    if not branches:  # constants are in any order
        return rows
    return f"array_sort({rows}, (l, r) -> CASE{branches} ELSE 0 END)"


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
    if not types or (types[0] is not None and types[0].name is TypeName.VECTOR):
        return None
    known = tuple(type or TEXT for type in types)
    return known, array(known[0])


def _joined(types: Types, constants: Mapping[int, object]) -> Signature | None:
    if len(types) < 2:
        return None
    joined = BYTEA if BYTEA in types[:2] else TEXT
    if not all(is_implicit(type, joined) for type in types[:2]):
        return None
    return (joined, joined, *(type or TEXT for type in types[2:])), joined


def _write_collected(engine: str) -> Writer:
    """All values, including NULLs; NULL if there are none."""

    def write(site: Site) -> str:
        if site.is_distinct and site.types[0].has_intervals:
            raise UnsupportedSql(
                "array_agg of DISTINCT intervals is not supported",
                hint="take them from a subquery with DISTINCT",
            )
        if engine == "duckdb":
            distinct = "DISTINCT " if site.is_distinct else ""
            values = f"list({distinct}{site.arguments[0]}{_duckdb_order(site, 1)})"
            return f"{values}{site.filter}{site.over}"
        rows = _rows_by_spark(site, 1)
        return f"(CASE WHEN size({rows}) > 0 THEN transform({rows}, row -> row.value) END)"

    return write


def _write_joined(engine: str) -> Writer:
    """The texts that are not NULL; NULL if there are none. A NULL separator counts as empty. Bytes
    are joined as hexadecimal digits, which have their order."""

    def write(site: Site) -> str:
        if site.result == BYTEA:
            return f"unhex({write(_in_digits(site))})"
        separator = site.constants.get(1, 0)
        if not isinstance(separator, str | None):
            return _joined_by_columns(engine, site)
        text, between = site.arguments[0], string(engine, separator or "")
        if engine == "duckdb":
            distinct = "DISTINCT " if site.is_distinct else ""
            joined = f"string_agg({distinct}{text}, {between}{_duckdb_order(site, 2)})"
            return f"{joined}{site.filter}{site.over}"
        rows = f"filter({_rows_by_spark(site, 2)}, row -> row.value IS NOT NULL)"
        joined = f"array_join(transform({rows}, row -> row.value), {between})"
        return f"(CASE WHEN size({rows}) > 0 THEN {joined} END)"

    return write


def _in_digits(site: Site) -> Site:
    is_bytes = [type == BYTEA for type in site.types]
    return replace(
        site,
        arguments=tuple(
            f"hex({sql})" if is_hex else sql
            for sql, is_hex in zip(site.arguments, is_bytes, strict=True)
        ),
        types=tuple(TEXT if type == BYTEA else type for type in site.types),
        result=TEXT,
        constants={
            place: value.hex().upper() if isinstance(value, bytes) else value
            for place, value in site.constants.items()
        },
    )


def _joined_by_columns(engine: str, site: Site) -> str:
    """The texts, each after the separator of its own row, but the first one."""
    if site.is_distinct:
        raise UnsupportedSql(
            "DISTINCT texts whose separator is not a constant are not supported in string_agg"
        )
    text, between = site.arguments[0], f"coalesce({site.arguments[1]}, '')"
    if engine == "duckdb":
        struct = f"{{'value': {text}, 'between': {between}}}"
        collected = f"list({struct}{_duckdb_order(site, 2)})"
        rows = (
            f"list_filter({collected}{site.filter}{site.over}, lambda row: row.value IS NOT NULL)"
        )
        parts, size = "list_transform({rows}, lambda row, place: {part})", "len"
        is_first, joined = "place = 1", "array_to_string"
    else:
        rows = f"filter({_rows_by_spark(site, 2, between=between)}, row -> row.value IS NOT NULL)"
        parts, size = "transform({rows}, (row, place) -> {part})", "size"
        is_first, joined = "place = 0", "array_join"
    part = f"CASE WHEN {is_first} THEN row.value ELSE concat(row.between, row.value) END"
    listed = parts.format(rows=rows, part=part)
    return f"(CASE WHEN {size}({rows}) > 0 THEN {joined}({listed}, '') END)"


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
    f"The texts, or bytes, {_IN_ORDER}, joined by a separator.",
    _joined,
    duckdb=_write_joined("duckdb"),
    spark=_write_joined("spark"),
)
