"""Calls with an argument that names a time zone."""

from __future__ import annotations

from reclock.algebra.relations import TEXT, TIMESTAMPTZ
from reclock.algebra.zones import numeric_offset
from reclock.errors import InvalidOption
from reclock.plan.scalars import Literal
from reclock.sql.queries.coercion import default_to_text, expect
from reclock.sql.queries.local_times import truncated
from reclock.sql.queries.overloads import call
from reclock.sql.queries.planned import Planned, TypedExpr


def truncated_in_zone(unit: Planned, moment: Planned, zone: Planned) -> TypedExpr:
    """``date_trunc(unit, moment, zone)``."""
    at = expect(moment, TIMESTAMPTZ, "argument of date_trunc")
    local = call("timezone", [zone, at])
    word = expect(unit, TEXT, "argument of date_trunc")
    return truncated(word, at, local, lambda start: call("timezone", [zone, start]))


def zone_of_parts(zone: Planned) -> TypedExpr:
    """The zone of ``make_timestamptz`` as ``AT TIME ZONE`` reads it.

    A number says there how far the zone is ahead of UTC, as it does after a moment; ``AT TIME
    ZONE`` reads the opposite. Raises ``InvalidOption`` for a number without a sign or beyond the
    offsets of moments.
    """
    text = default_to_text(zone)
    if not isinstance(text, Literal) or not isinstance(text.value, str):
        return text
    if text.value[:1].isdigit():
        raise InvalidOption(
            f'invalid input syntax for type numeric time zone: "{text.value}"',
            hint='Numeric time zones must have "-" or "+" as first character.',
        )
    if not text.value.startswith(("+", "-")):
        return text
    if numeric_offset(text.value) is None:
        raise InvalidOption(f'numeric time zone "{text.value}" out of range')
    return Literal(text.value.translate(str.maketrans("+-", "-+")), TEXT)
