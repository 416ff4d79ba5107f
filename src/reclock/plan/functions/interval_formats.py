"""``to_char`` of intervals and times of day: each pattern of a constant format is a part of the
interval, which both engines can compute."""

from __future__ import annotations

from dataclasses import dataclass

from reclock.algebra.relations import TEXT
from reclock.errors import InvalidFormattedMoment
from reclock.plan.functions.intervals import parts
from reclock.plan.functions.sql_names import literal, type_sql


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of months ``{m}``, days ``{d}`` and microseconds ``{u}``, filled up with zeros to
    ``digits``. ``//`` truncates. ``counts_sign``: a minus takes the place of a digit."""

    of: str
    digits: int
    counts_sign: bool = False


_HALF_DAY_HOURS = "({u} // 3600000000 % 12)"
FRACTIONS = frozenset({"MS", "US", *(f"FF{n}" for n in range(1, 7))})
"""The patterns whose zeros FM leaves as they are."""
_FRACTION = "{u} % 1000000"
_PARTS = {
    "CC": _Part("{m} // 1200", 2),
    "YYYY": _Part("{m} // 12", 4),
    "YYY": _Part("{m} // 12 % 1000", 3),
    "YY": _Part("{m} // 12 % 100", 2),
    "Y": _Part("{m} // 12 % 10", 1),
    "MM": _Part("{m} % 12", 2),
    "DDD": _Part("{m} * 30 + {d}", 3, counts_sign=True),
    "DD": _Part("{d}", 2, counts_sign=True),
    "HH24": _Part("{u} // 3600000000", 2),
    "HH12": _Part(f"CASE {_HALF_DAY_HOURS} WHEN 0 THEN 12 ELSE {_HALF_DAY_HOURS} END", 2),
    "MI": _Part("{u} // 60000000 % 60", 2),
    "SS": _Part("{u} // 1000000 % 60", 2),
    "SSSS": _Part("{u} // 1000000", 0),
    "MS": _Part(f"{_FRACTION} // 1000", 3, counts_sign=True),
    "US": _Part(_FRACTION, 6, counts_sign=True),
    **{
        f"FF{n}": _Part(f"{_FRACTION} // {10 ** (6 - n)}", n, counts_sign=True) for n in range(1, 7)
    },
}
_PARTS |= {"HH": _PARTS["HH12"], "SSSSS": _PARTS["SSSS"]}


def number_of_interval(engine: str, pattern: str, interval: str, *, is_padded: bool) -> str:
    """The digits of a pattern. ``interval`` is a name. Raises ``InvalidFormattedMoment`` for a part
    that intervals do not have."""
    part = _PARTS.get(pattern.upper())
    if part is None:
        raise not_of_intervals()
    fields = parts(interval)
    value = part.of.format(m=_wide(fields.months), d=_wide(fields.days), u=fields.microseconds)
    whole = f"({value.replace('//', 'DIV') if engine == 'spark' else value})"
    text = type_sql(engine, TEXT)
    if not part.digits or not (is_padded or pattern.upper() in FRACTIONS):
        return f"CAST({whole} AS {text})"
    digits = f"CAST(abs({whole}) AS {text})"
    sign = f"CASE WHEN {whole} < 0 THEN '-' ELSE '' END"
    width = f"greatest(length({digits}), {part.digits})"
    if part.counts_sign:
        fewer = f"CASE WHEN {whole} < 0 THEN {part.digits - 1} ELSE {part.digits} END"
        width = f"greatest(length({digits}), {fewer})"
    return f"concat({sign}, lpad({digits}, CAST({width} AS INT), '0'))"


def half_of_day(engine: str, interval: str, halves: tuple[str, ...]) -> str:
    """Which half of its day the time of the interval is in."""
    before, after = (literal(engine, half, TEXT) for half in halves)
    hours = f"{parts(interval).microseconds} // 3600000000 % 24"
    hours = hours.replace("//", "DIV") if engine == "spark" else hours
    return f"(CASE WHEN {hours} >= 12 THEN {after} ELSE {before} END)"


def not_of_intervals() -> InvalidFormattedMoment:
    return InvalidFormattedMoment(
        "invalid format specification for an interval value",
        hint="Intervals are not tied to specific calendar dates.",
    )


def _wide(sql: str) -> str:
    return f"CAST({sql} AS BIGINT)"
