"""How each engine reads text as a value of another type: strictly, the same forms in both. Text
that has none of them is an error, never NULL."""

from __future__ import annotations

from reclock.algebra import moment_reading
from reclock.algebra.relations import ScalarType, TypeName
from reclock.plan.functions.digits import has_more_digits, too_many_digits
from reclock.plan.functions.floats import with_value
from reclock.plan.functions.intervals import computed
from reclock.plan.functions.json_calls import checked, json_call
from reclock.plan.functions.sql_names import interval_struct, raised, string, type_sql
from reclock.plan.functions.typing import parameters

_T = TypeName
_MOMENTS = (_T.DATE, _T.TIMESTAMP, _T.TIMESTAMPTZ)
_TIME = r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
_DAY = r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_DECIMAL = r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,4})?"

# What text may look like, blanks around it aside.
_SPECIAL = "[nN][aA][nN]|[-+]?[iI][nN][fF]([iI][nN][iI][tT][yY])?"
_FORMS = {
    **dict.fromkeys((_T.SMALLINT, _T.INTEGER, _T.BIGINT), "[-+]?[0-9]+"),
    _T.NUMERIC: _DECIMAL,
    _T.REAL: f"{_DECIMAL}|{_SPECIAL}",
    _T.DOUBLE: f"{_DECIMAL}|{_SPECIAL}",
    _T.DATE: _DAY,
    _T.TIMESTAMP: f"{_DAY}([ T]{_TIME})?",
    _T.TIMESTAMPTZ: f"{_DAY}([ T]{_TIME} ?(Z|[-+][0-9]{{2}}(:?[0-9]{{2}})?)?)?",
}
BEYOND = {
    _T.NUMERIC: _SPECIAL,
    **dict.fromkeys(_MOMENTS, moment_reading.BEYOND),
}
"""Texts of values that PostgreSQL's types have and ours have not."""


def read_text(engine: str, sql: str, source: ScalarType, target: ScalarType) -> str:
    """A number or a moment, with blanks around it."""
    matches = matches_whole(engine, sql, f"\\s*({_FORMS[target.name]})\\s*")
    plain = f"trim({sql})" if engine == "duckdb" else f"trim(BOTH FROM {sql})"
    if target.name is _T.TIMESTAMPTZ:
        plain = _with_full_zone(engine, plain)
    if engine == "duckdb" and target.name is _T.TIMESTAMPTZ:
        value = f"make_timestamp(epoch_us(CAST({plain} AS TIMESTAMPTZ)))"
    else:
        value = f"CAST({plain} AS {type_sql(engine, target)})"
    lossy = ""
    if target.is_unconstrained:
        scale = parameters(target)[1]
        lossy = (
            f"WHEN {matches} AND {has_more_digits(engine, sql, scale)} THEN "
            f"{too_many_digits(engine, scale)} "
        )
    if target.is_integer:
        digits = f"TRY_CAST({plain} AS {type_sql(engine, target)})"
        value = (
            f"CASE WHEN {sql} IS NOT NULL THEN coalesce({digits}, "
            f"{_out_of_range(engine, sql, target)}) END"
        )
    return (
        f"(CASE {lossy}WHEN {sql} IS NULL OR {matches} THEN {value} ELSE "
        f"{_malformed(engine, sql, target)} END)"
    )


def _with_full_zone(engine: str, sql: str) -> str:
    """``+05`` and ``+0530`` after a time of day as ``+05:00`` and ``+05:30``, without a blank
    before."""
    group = "$" if engine == "spark" else "\\"
    zone = string(engine, r"(:[0-9]{2}(?:\.[0-9]+)?) ?([-+][0-9]{2})(?::?([0-9]{2}))?$")
    minutes = f"regexp_replace({sql}, {zone}, {string(engine, f'{group}1{group}2:{group}3')})"
    return f"regexp_replace({minutes}, ':$', ':00')"


def read_enum(engine: str, sql: str, source: ScalarType, target: ScalarType) -> str:
    assert target.enum is not None
    labels = ", ".join(string(engine, label) for label in target.enum.labels)
    message = string(engine, f'invalid input value for enum {target.enum.name}: "')
    error = raised(engine, "22P02", f"{message}, v, '\"'")
    is_label = f"v IN ({labels})" if labels else "FALSE"
    return with_value(engine, sql, f"CASE WHEN v IS NULL OR {is_label} THEN v ELSE {error} END")


def read_boolean(engine: str, sql: str, source: ScalarType, target: ScalarType) -> str:
    word = f"lower(trim({sql}))"
    true = "'t', 'tr', 'tru', 'true', 'y', 'ye', 'yes', 'on', '1'"
    false = "'f', 'fa', 'fal', 'fals', 'false', 'n', 'no', 'of', 'off', '0'"
    error = _malformed(engine, sql, target)
    known = f"WHEN {word} IN ({true}) THEN TRUE WHEN {word} IN ({false}) THEN FALSE"
    return f"(CASE WHEN {sql} IS NULL THEN NULL {known} ELSE {error} END)"


def read_bytes(engine: str, sql: str, source: ScalarType, target: ScalarType) -> str:
    return f"unhex({checked(engine, json_call('bytes_of_literal', sql))})"


def read_interval(engine: str, sql: str, source: ScalarType, target: ScalarType) -> str:
    parts = checked(engine, json_call("parts_of_interval", sql))
    return computed(
        engine,
        [parts],
        lambda v: interval_struct(engine, *(f"split_part({v}, ' ', {i})" for i in (1, 2, 3))),
    )


def matches_whole(engine: str, sql: str, pattern: str) -> str:
    """The condition that the pattern matches the whole text."""
    if engine == "spark":
        return f"({sql} RLIKE {string(engine, f'^(?:{pattern})' + chr(92) + 'z')})"
    return f"regexp_full_match({sql}, {string(engine, pattern)})"


def _malformed(engine: str, sql: str, target: ScalarType) -> str:
    """The error of a text that has no form of the type."""
    sqlstate = "22007" if target.is_moment else "22P02"
    message = string(engine, f'invalid input syntax for type {target.name.value}: "')
    error = raised(engine, sqlstate, f"{message}, {sql}, '\"'")
    if target.name not in BEYOND:
        return error
    is_beyond = matches_whole(engine, sql, f"\\s*({BEYOND[target.name]})\\s*")
    return f"CASE WHEN {is_beyond} THEN {_out_of_range(engine, sql, target)} ELSE {error} END"


def _out_of_range(engine: str, sql: str, target: ScalarType) -> str:
    if target.is_moment:
        message = string(engine, 'date/time field value out of range: "')
        return raised(engine, "22008", f"{message}, {sql}, '\"'")
    message = string(engine, f'" is out of range for type {target.name.value}')
    return raised(engine, "22003", f"'value \"', {sql}, {message}")
