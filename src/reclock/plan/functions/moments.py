"""Dates, timestamps and intervals. A timestamp with time zone is decomposed and truncated in UTC,
unless ``AT TIME ZONE`` names another zone."""

from __future__ import annotations

from collections.abc import Mapping

from reclock.algebra.intervals import DAY_US
from reclock.algebra.moments import START_US
from reclock.algebra.relations import (
    BIGINT,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    ScalarType,
    TypeName,
    numeric,
)
from reclock.errors import InternalError, InvalidOption, UnsupportedSql
from reclock.plan.functions import intervals, times
from reclock.plan.functions.array_sql import innermost
from reclock.plan.functions.interval_functions import UNITS as INTERVAL_UNITS
from reclock.plan.functions.interval_functions import truncated_interval
from reclock.plan.functions.json_calls import checked, json_call
from reclock.plan.functions.registry import Site, Types, Writer, scalar
from reclock.plan.functions.sql_names import each_element, raised, type_sql
from reclock.plan.functions.typing import exact

Signature = tuple[tuple[ScalarType, ...], ScalarType]

UNITS = (
    "microseconds",
    "milliseconds",
    "second",
    "minute",
    "hour",
    "day",
    "week",
    "month",
    "quarter",
    "year",
    "decade",
    "century",
    "millennium",
)
"""The units to which ``date_trunc`` truncates a moment."""


def _years_in(size: int) -> str:
    """The number of the ``{size}`` years in which the year ``{{y}}`` is: there is no number 0, as
    there is no year 0."""
    return (
        f"(CASE WHEN {{y}} > 0 THEN ({{y}} + {size - 1}) {{div}} {size} "
        f"ELSE -(({size} - {{y}}) {{div}} {size}) END)"
    )


_BY_YEAR = {
    "year": "({y} - CAST({y} <= 0 AS INT))",
    "decade": "(({y} - 9 * CAST({y} < 0 AS INT)) {div} 10)",
    "century": _years_in(100),
    "millennium": _years_in(1000),
}
"""Fields of the year ``{y}``, of which 0 is the one before Christ; ``{div}`` drops the fraction."""


def _by_year(field: str) -> tuple[int, str, str]:
    body = _BY_YEAR[field]
    return (
        0,
        body.format(y="date_part('year', {0})", div="//"),
        body.format(y="year({0})", div="DIV"),
    )


def _julian(engine: str, moment: str, *, is_float: bool) -> str:
    """The Julian day of the moment, with the part of the day since midnight: as a double, or in 20
    digits."""
    date = f"CAST({moment} AS DATE)"
    if engine == "spark":
        day = f"(datediff({date}, DATE'1970-01-01') + 2440588)"
        us = f"(unix_micros(CAST({moment} AS TIMESTAMP)) - unix_micros(CAST({date} AS TIMESTAMP)))"
    else:
        day = f"(datediff('day', DATE '1970-01-01', {date}) + 2440588)"
        us = f"(epoch_us({moment}) - epoch_us({date}))"
    if is_float:
        return f"({day} + CAST({us} AS DOUBLE) / CAST({DAY_US} AS DOUBLE))"
    if engine == "spark":
        part = f"CAST({us} AS DECIMAL(31, 20)) / CAST({DAY_US} AS DECIMAL(11, 0))"
        return f"(CAST({day} AS DECIMAL(10, 0)) + CAST({part} AS DECIMAL(21, 20)))"
    digits = f"((CAST({us} AS HUGEINT) * {10**20} + {DAY_US // 2}) // {DAY_US})"
    return f"CAST(concat({day}, '.', lpad(CAST({digits} AS VARCHAR), 20, '0')) AS DECIMAL(38, 20))"


_OF_ZONE = ("timezone", "timezone_hour", "timezone_minute")
"""How far the session's zone is ahead of UTC, in seconds, and the hours and minutes of it. Here the
zone is UTC."""

# field: digits after the point, then the whole number of such parts as DuckDB and as Spark write it
_FIELDS: Mapping[str, tuple[int, str, str]] = {
    "epoch": (6, "epoch_us({0})", "unix_micros(CAST({0} AS TIMESTAMP))"),
    "microseconds": (
        0,
        "date_part('microsecond', {0})",
        "CAST(extract(SECOND FROM {0}) * 1000000 AS BIGINT)",
    ),
    "milliseconds": (
        3,
        "date_part('microsecond', {0})",
        "CAST(extract(SECOND FROM {0}) * 1000000 AS BIGINT)",
    ),
    "second": (
        6,
        "date_part('microsecond', {0})",
        "CAST(extract(SECOND FROM {0}) * 1000000 AS BIGINT)",
    ),
    "minute": (0, "date_part('minute', {0})", "minute({0})"),
    "hour": (0, "date_part('hour', {0})", "hour({0})"),
    "day": (0, "date_part('day', {0})", "day({0})"),
    "dow": (0, "date_part('dow', {0})", "(dayofweek({0}) - 1)"),
    "isodow": (0, "date_part('isodow', {0})", "(weekday({0}) + 1)"),
    "doy": (0, "date_part('doy', {0})", "dayofyear({0})"),
    "week": (0, "date_part('week', {0})", "weekofyear({0})"),
    "month": (0, "date_part('month', {0})", "month({0})"),
    "quarter": (0, "date_part('quarter', {0})", "quarter({0})"),
    **{field: _by_year(field) for field in _BY_YEAR},
    "isoyear": (
        0,
        _BY_YEAR["year"].format(y="date_part('isoyear', {0})"),
        _BY_YEAR["year"].format(y="extract(YEAROFWEEK FROM {0})"),
    ),
    **dict.fromkeys(_OF_ZONE, (0, "0 * date_part('hour', {0})", "0 * hour({0})")),
}
_JULIAN = "julian"
_OF_DAY = ("microseconds", "milliseconds", "second", "minute", "hour")
"""Fields that ``extract`` finds in no date. ``date_part`` takes a date as its midnight."""
FIELDS = (*_FIELDS, _JULIAN)
"""The fields of a moment that ``extract`` and ``date_part`` return."""


def field(engine: str, name: str, moment: str) -> str:
    """SQL of the field ``name``, one of ``FIELDS``, of ``moment``: a whole number of its smallest
    parts."""
    _, duckdb, spark = _FIELDS[name]
    return (spark if engine == "spark" else duckdb).format(moment)


_SYNONYMS = {
    word: unit
    for unit, words in {
        "microseconds": "microsecond us usec usecs usecond useconds",
        "milliseconds": "millisecond ms msec msecs msecond mseconds",
        "second": "seconds s sec secs",
        "minute": "minutes m min mins",
        "hour": "hours h hr hrs",
        "day": "days d",
        "week": "weeks w",
        "month": "months mon mons",
        "quarter": "quarters qtr",
        "year": "years y yr yrs",
        "decade": "decades dec decs",
        "century": "centuries c cent",
        "millennium": "millennia mil mils",
    }.items()
    for word in words.split()
}


def _chosen(word: str, among: tuple[str, ...]) -> str:
    """The unit or field that ``word`` names. Raises ``InvalidOption`` if there is none."""
    unit = _SYNONYMS.get(word.lower(), word.lower())
    if unit not in among:
        raise InvalidOption(f'unit "{word}" not recognized', hint=f"one of {', '.join(among)}")
    return unit


_YEARS = {
    "decade": "{} * 10",
    "century": "({0} - CAST({0} > 0 AS INT)) * 100 + 1",
    "millennium": "({0} - CAST({0} > 0 AS INT)) * 1000 + 1",
}
"""The first years of longer units, by their numbers; 0 is the one before Christ."""


def _truncate(engine: str) -> Writer:
    def truncated(unit: str, site: Site) -> str:
        if site.result.name is TypeName.INTERVAL:
            return truncated_interval(engine, unit, site.arguments[1])
        if unit in _YEARS:
            year = _YEARS[unit].format(field(engine, unit, site.arguments[1]))
            function = "make_timestamp" if engine == "duckdb" else "make_timestamp_ntz"
            return (
                f"CAST({function}(CAST({year} AS INT), 1, 1, 0, 0, 0) AS "
                f"{type_sql(engine, site.result)})"
            )
        return (
            f"CAST(date_trunc('{unit.removesuffix('s')}', {site.arguments[1]}) AS "
            f"{type_sql(engine, site.result)})"
        )

    def write(site: Site) -> str:
        if isinstance(word := site.constants.get(0), str):
            return truncated(_unit(word, site.types[1]), site)
        units = INTERVAL_UNITS if site.types[1] == INTERVAL else UNITS
        return _by_word(engine, site, {unit: truncated(unit, site) for unit in units})

    return write


def _by_word(engine: str, site: Site, values: Mapping[str, str]) -> str:
    """The one of ``values``, by unit or field, that the first argument names, a text."""
    word = f"lower({site.arguments[0]})"
    cases = []
    for unit, value in values.items():
        words = [unit, *(word for word, synonym in _SYNONYMS.items() if synonym == unit)]
        cases.append(f"WHEN {word} IN ({', '.join(map(repr, words))}) THEN {value}")
    message = f"'unit \"', {site.arguments[0]}, '\" not recognized for type {site.types[1]}'"
    is_wrong = f"{word} IS NOT NULL AND {site.arguments[1]} IS NOT NULL"
    cases.append(f"WHEN {is_wrong} THEN {raised(engine, '22023', message)}")
    return f"(CASE {' '.join(cases)} END)"


def _unit(word: str, type: ScalarType | None) -> str:
    """The unit to which ``date_trunc`` truncates a moment or interval."""
    unit = _chosen(word, UNITS)
    if type is not None and type.name is TypeName.INTERVAL and unit not in INTERVAL_UNITS:
        raise UnsupportedSql(f'unit "{unit}" not supported for type {type}')
    return unit


def is_part_of_day(word: object) -> bool:
    """Whether ``word`` names a unit that is smaller than a day."""
    return isinstance(word, str) and _unit(word, TIMESTAMP) in _OF_DAY


def _resolve_truncation(
    types: Types, constants: Mapping[int, object]
) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
    if isinstance(word := constants.get(0), str):
        _unit(word, types[-1])
    return exact(*(((TEXT, type), type) for type in (TIMESTAMPTZ, TIMESTAMP, INTERVAL)))(
        types, constants
    )


def fields(type: ScalarType | None) -> tuple[str, ...]:
    """The fields that ``extract`` takes out of values of ``type``."""
    if type is None or type.name is TypeName.TIMESTAMPTZ:
        return FIELDS
    if type.name not in (TypeName.INTERVAL, TypeName.TIME):
        return tuple(field for field in FIELDS if field not in _OF_ZONE)
    return intervals.FIELDS if type.name is TypeName.INTERVAL else (*_OF_DAY, "epoch")


def _field_of(word: str, type: ScalarType | None) -> tuple[str, int]:
    """The field of a moment or interval that ``word`` means, and the digits after the point that it
    can have."""
    known = fields(type)
    name = _chosen(word, tuple(dict.fromkeys((*FIELDS, *intervals.FIELDS))))
    if name not in known:
        raise UnsupportedSql(f'unit "{name}" not supported for type {type}')
    return name, 20 if name == _JULIAN else _FIELDS[name][0] if name in _FIELDS else 0


def _extract(
    types: Types, constants: Mapping[int, object]
) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
    """``numeric`` with as many digits after the point as the field can have."""
    word = constants.get(0)
    name, digits = _field_of(word, types[-1]) if isinstance(word, str) else ("", 6)
    if types[-1:] == (DATE,):
        if name in _OF_DAY:
            raise UnsupportedSql(f'unit "{name}" not supported for type date')
        digits = 0
    return exact(
        *(((TEXT, type), numeric(38, digits)) for type in (TIMESTAMP, TIMESTAMPTZ, INTERVAL))
    )(types, constants)


def _date_part(
    types: Types, constants: Mapping[int, object]
) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
    if isinstance(word := constants.get(0), str):
        _field_of(word, types[-1])
    return exact(*(((TEXT, type), DOUBLE) for type in (TIMESTAMP, TIMESTAMPTZ, INTERVAL)))(
        types, constants
    )


def _part(engine: str) -> Writer:
    def part(word: str, site: Site) -> str:
        name, digits = _field_of(word, site.types[1])
        if name == _JULIAN:
            number = _julian(engine, site.arguments[1], is_float=site.result.is_float)
            value = f"CAST({number} AS {type_sql(engine, site.result)})"
            # concat passes over NULL
            return f"(CASE WHEN {site.arguments[1]} IS NOT NULL THEN {value} END)"
        if site.types[1].name is TypeName.INTERVAL:
            whole = intervals.field(engine, name, site.arguments[1])
        else:
            whole = field(engine, name, site.arguments[1])
        if site.result.is_float:
            return f"(CAST({whole} AS DOUBLE) / CAST({10**digits} AS DOUBLE))"
        exact_number = f"CAST({whole} AS DECIMAL(30, 0))"
        if digits:
            exact_number = (
                f"({exact_number} * CAST('{10**-digits:.{digits}f}' AS DECIMAL({digits}, "
                f"{digits})))"
            )
        return f"CAST({exact_number} AS {type_sql(engine, site.result)})"

    def write(site: Site) -> str:
        if isinstance(word := site.constants.get(0), str):
            return part(word, site)
        return _by_word(engine, site, {name: part(name, site) for name in fields(site.types[1])})

    return write


def _open_now(site: Site) -> str:
    raise InternalError("mz_now() has no time")


scalar(
    "date_trunc",
    "The moment or interval truncated to a unit, such as `'hour'`.",
    _resolve_truncation,
    duckdb=_truncate("duckdb"),
    spark=_truncate("spark"),
)
scalar(
    "extract",
    "A field of a moment or interval, such as `year` or `epoch`.",
    _extract,
    duckdb=_part("duckdb"),
    spark=_part("spark"),
)
scalar(
    "date_part",
    "As `extract`, as a double.",
    _date_part,
    duckdb=_part("duckdb"),
    spark=_part("spark"),
)
scalar(
    "mz_now",
    "The time at which the query is answered, in milliseconds since 1970. In a maintained view it is "
    "compared with a value of the row, which then comes or goes as time passes.",
    exact(((), BIGINT)),
    duckdb=_open_now,
    spark=_open_now,
)
scalar(
    "mz_timestamp",
    "The milliseconds since 1970 of a moment, as `mz_now` counts them. Comparisons with `mz_now` "
    "call it.",
    exact(((TIMESTAMP,), BIGINT), ((TIMESTAMPTZ,), BIGINT)),
    duckdb="((epoch_us({0}) - (epoch_us({0}) % 1000 + 1000) % 1000) // 1000)",  # epoch_ms rounds
    spark="unix_millis(CAST({0} AS TIMESTAMP))",
)


ROUNDED = "rounded moment"


def _rounded(engine: str) -> Writer:
    """Halves are rounded away from the year 2000, as PostgreSQL does."""

    def body(moment: str, digits: str) -> str:
        us, divided = f"(epoch_us({moment}) - {START_US})", "//"
        if engine == "spark":
            us = f"(unix_micros(CAST({moment} AS TIMESTAMP)) - {START_US})"
            divided = "DIV"
        step = f"CAST(power(10, 6 - {digits}) AS BIGINT)"
        whole = f"((abs({us}) + {step} {divided} 2) {divided} {step} * {step})"
        return f"{START_US} + (CASE WHEN {us} < 0 THEN -{whole} ELSE {whole} END)"

    def of_one(moment: str, digits: str, type: ScalarType) -> str:
        if type == TIME:
            return times.rounded(engine, moment, digits)
        us = intervals.computed(engine, (moment, digits), body)
        if engine == "duckdb":
            return f"make_timestamp({us})"
        return f"CAST(timestamp_micros({us}) AS {type_sql(engine, type)})"

    def write(site: Site) -> str:
        (moment, digits), type = site.arguments, site.result
        if not type.dimensions:
            return of_one(moment, digits, type)
        element = of_one("e", digits, type.base)
        return innermost(
            engine, moment, type.dimensions, lambda row: each_element(engine, row, element)
        )

    return write


def _moments(types: Types, constants: Mapping[int, object]) -> Signature | None:
    """A moment, or an array of moments, and the number of digits."""
    if len(types) != 2 or types[0] is None or types[0].base not in (TIMESTAMP, TIMESTAMPTZ, TIME):
        return None
    return exact(((types[0], INTEGER), types[0]))(types, constants)


scalar(
    ROUNDED,
    "The moment rounded to so many digits after the seconds.",
    _moments,
    duckdb=_rounded("duckdb"),
    spark=_rounded("spark"),
)


def _to_timestamp(engine: str, of_seconds: str) -> Writer:
    def write(site: Site) -> str:
        if len(site.arguments) == 1:
            return of_seconds.format(*site.arguments)
        moment = checked(engine, json_call("moment", *site.arguments))
        return f"CAST({moment} AS {type_sql(engine, TIMESTAMPTZ)})"

    return write


scalar(
    "to_timestamp",
    "The moment so many seconds after 1970, or the one that a text spells in a format, such as "
    "`'DD.MM.YYYY HH24:MI'`. `to_date` is its day.",
    exact(((DOUBLE,), TIMESTAMPTZ), ((TEXT, TEXT), TIMESTAMPTZ)),
    duckdb=_to_timestamp("duckdb", "make_timestamp(CAST(round_even({0} * 1000000, 0) AS BIGINT))"),
    spark=_to_timestamp("spark", "timestamp_micros(CAST(rint({0} * 1000000) AS BIGINT))"),
)


def _made_date(engine: str) -> Writer:
    error = raised(engine, "22008", "'date field value out of range: ', {0}, '-', {1}, '-', {2}")
    template = (
        f"(CASE WHEN {{0}} NOT BETWEEN 1 AND 9999 THEN {error} ELSE make_date({{0}}, {{1}}, "
        f"{{2}}) END)"
    )
    return lambda site: template.format(*site.arguments)


scalar(
    "make_date",
    "The date of a year, from 1 to 9999, a month and a day.",
    exact(((INTEGER, INTEGER, INTEGER), DATE)),
    duckdb=_made_date("duckdb"),
    spark=_made_date("spark"),
)
