"""Functions that are defined in SQL, as expressions over ``argument1``, ``argument2``, …, so that
every engine computes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    ScalarType,
    numeric,
)
from reclock.plan.functions.registry import Types
from reclock.plan.functions.typing import exact

_DAY = "date_trunc('day', now())"
_PERIODS = """CASE WHEN argument1 > argument3 THEN CASE WHEN argument4 IS NULL THEN NULL
WHEN argument1 < argument4 THEN TRUE WHEN argument2 IS NULL THEN NULL ELSE FALSE END
WHEN argument1 < argument3 THEN CASE WHEN argument2 IS NULL THEN NULL
WHEN argument3 < argument2 THEN TRUE WHEN argument4 IS NULL THEN NULL ELSE FALSE END
WHEN argument1 = argument3 AND argument2 IS NOT NULL AND argument4 IS NOT NULL THEN TRUE END"""
"""Whether two periods overlap, by the earlier and the later end of each. A period without an end
has its other one as the earlier."""
_ENDS = """mz_periods_overlap(least(argument1, argument2),
CASE WHEN argument1 IS NOT NULL AND argument2 IS NOT NULL THEN greatest(argument1, argument2) END,
least(argument3, argument4),
CASE WHEN argument3 IS NOT NULL AND argument4 IS NOT NULL THEN greatest(argument3, argument4) END)"""
_OVERLAPPING = (TIME, TIMESTAMP, TIMESTAMPTZ)


_SHIFTED = """CASE WHEN date_trunc('day', argument2)::text = '00:00:00' THEN argument1
ELSE (argument1 AT TIME ZONE argument3 {0} date_trunc('day', argument2)) AT TIME ZONE argument3 END
{0} (argument2 - date_trunc('day', argument2))"""
"""Months and days by the calendar of the zone, and then the time."""


_PARTS = (*[INTEGER] * 5, DOUBLE)
_MADE = "make_timestamp(argument1, argument2, argument3, argument4, argument5, argument6)"


@dataclass(frozen=True, slots=True)
class SqlFunction:
    """An overload: the types of its arguments, and its definition."""

    types: tuple[ScalarType, ...]
    body: str


def _for_each_type(types: Iterable[ScalarType], body: str) -> list[SqlFunction]:
    return [SqlFunction((type,), body) for type in types]


def _overload(body: str, *types: ScalarType) -> list[SqlFunction]:
    return [SqlFunction(types, body)]


SQL_FUNCTIONS: Mapping[str, Sequence[SqlFunction]] = {
    "age": [
        SqlFunction((TIMESTAMP,), f"age(({_DAY})::timestamp, argument1)"),
        SqlFunction((TIMESTAMPTZ,), f"age({_DAY}, argument1)"),
    ],
    "bit_length": _for_each_type((TEXT, BYTEA), "octet_length(argument1) * 8"),
    "booleq": _overload("argument1 = argument2", BOOLEAN, BOOLEAN),
    "boolne": _overload("argument1 <> argument2", BOOLEAN, BOOLEAN),
    "casefold": _overload("lower(argument1)", TEXT),
    **{
        name: [
            SqlFunction((TIMESTAMPTZ, INTERVAL), f"argument1 {operator} argument2"),
            SqlFunction(
                (TIMESTAMPTZ, INTERVAL, TEXT),
                _SHIFTED.format(operator),
            ),
        ]
        for name, operator in (("date_add", "+"), ("date_subtract", "-"))
    },
    "div": _overload(
        "trunc((argument1 - argument1 % argument2) / argument2)", numeric(), numeric()
    ),
    "get_bit": _overload(
        "(get_byte(argument1, (argument2 / 8)::int) >> (argument2 % 8)::int) & 1", BYTEA, BIGINT
    ),
    "isfinite": _for_each_type(
        (DATE, TIMESTAMP, TIMESTAMPTZ, INTERVAL),
        "CASE WHEN argument1 IS NOT NULL THEN TRUE END",
    ),
    "log": _overload(
        "(ln(argument2::double precision) / ln(argument1::double precision))::numeric",
        numeric(),
        numeric(),
    ),
    "make_timestamp": _overload(
        "make_date(argument1, argument2, argument3) + make_time(argument4, argument5, argument6)",
        *_PARTS,
    ),
    "make_timestamptz": [
        SqlFunction(_PARTS, f"{_MADE}::timestamptz"),
        SqlFunction((*_PARTS, TEXT), f"{_MADE} AT TIME ZONE argument7"),
    ],
    "min_scale": _overload("length(rtrim(split_part(argument1::text, '.', 2), '0'))", numeric()),
    "mz_periods_overlap": [SqlFunction((type,) * 4, _PERIODS) for type in _OVERLAPPING],
    "overlaps": [SqlFunction((type,) * 4, _ENDS) for type in _OVERLAPPING],
    "quote_nullable": _overload("coalesce(quote_literal(argument1), 'NULL')", TEXT),
    "to_date": _overload("to_timestamp(argument1, argument2)::date", TEXT, TEXT),
    **dict.fromkeys(("statement_timestamp", "transaction_timestamp"), _overload("now()")),
}


def overload(name: str, types: Types) -> SqlFunction | None:
    """The overload of the function for arguments of these types, if there is one."""
    overloads = {function.types: function for function in SQL_FUNCTIONS.get(name, ())}
    chosen = exact(*((types, TEXT) for types in overloads))(types, {})
    return overloads[chosen[0]] if chosen is not None else None
