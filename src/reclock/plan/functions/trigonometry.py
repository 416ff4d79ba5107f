"""Trigonometric and hyperbolic functions of doubles.

They come from each engine's library: their last binary digit is not promised.
"""

from __future__ import annotations

from reclock.algebra.relations import DOUBLE
from reclock.plan.functions.floats import computed, positive_zero, with_value
from reclock.plan.functions.registry import Site, Writer, scalar
from reclock.plan.functions.sql_names import raised
from reclock.plan.functions.typing import exact

_INFINITY = "CAST('Infinity' AS DOUBLE)"
_NEVER_INFINITE = f"abs({{0}}) = {_INFINITY}"
_BEYOND_ONE = "(abs({0}) > 1 AND NOT isnan({0}))"
_ONE = exact(((DOUBLE,), DOUBLE))


def _where(outside: str, template: str, engine: str) -> Writer:
    """``template``, and an error where its argument is ``outside`` of what the function is defined
    for."""

    def write(site: Site) -> str:
        error = raised(engine, "22003", "'input is out of range'")
        return f"(CASE WHEN {outside} THEN {error} ELSE {template} END)".format(*site.arguments)

    return write


for _name, _description, _outside, _template in (
    ("sin", "Sine.", _NEVER_INFINITE, "sin({0})"),
    ("cos", "Cosine.", _NEVER_INFINITE, "cos({0})"),
    ("tan", "Tangent.", _NEVER_INFINITE, "tan({0})"),
    (
        "cot",
        "Cotangent.",
        _NEVER_INFINITE,
        "(CASE WHEN {0} = 0 THEN " + _INFINITY + " ELSE 1 / tan({0}) END)",
    ),
    ("asin", "Inverse sine.", _BEYOND_ONE, "asin({0})"),
    ("acos", "Inverse cosine.", _BEYOND_ONE, "acos({0})"),
    ("acosh", "Inverse hyperbolic cosine.", "{0} < 1", "acosh({0})"),
    ("atanh", "Inverse hyperbolic tangent.", _BEYOND_ONE, "atanh({0})"),
):
    scalar(
        _name,
        _description,
        _ONE,
        duckdb=_where(_outside, _template, "duckdb"),
        spark=_where(_outside, _template, "spark"),
    )
for _name, _description in (
    ("atan", "Inverse tangent."),
    ("sinh", "Hyperbolic sine."),
    ("cosh", "Hyperbolic cosine."),
    ("tanh", "Hyperbolic tangent."),
    ("asinh", "Inverse hyperbolic sine."),
    ("radians", "Degrees as radians."),
):
    scalar(_name, _description, _ONE, f"{_name}({{0}})")


def _degrees(engine: str) -> Writer:
    return lambda site: computed(engine, "degrees({0})", site.arguments[0], site.arguments[0])


scalar("degrees", "Radians as degrees.", _ONE, duckdb=_degrees("duckdb"), spark=_degrees("spark"))
scalar(
    "atan2",
    "Inverse tangent of the quotient.",
    exact(((DOUBLE, DOUBLE), DOUBLE)),
    "atan2({0}, {1})",
)
scalar("pi", "π.", exact(((), DOUBLE)), "pi()")


# --- of degrees, exact for multiples of 30 and 45 ---

_HALF = "(180 - abs(180 - abs(v % 360)))"
"""The angle to the full turn, in one direction or the other: from 0 to 180 degrees."""


def _quarter_sine(angle: str) -> str:
    """The sine of up to 90 degrees."""
    one = f"1 - (1 - cos(radians(90 - {angle}))) / (1 - cos(radians(60))) / 2"
    return f"(CASE WHEN {angle} <= 30 THEN sin(radians({angle})) / sin(radians(30)) / 2 ELSE {one} END)"


_SINE = "sign(v % 360) * (CASE WHEN abs(v % 360) > 180 THEN -1 ELSE 1 END) * " + _quarter_sine(
    f"(90 - abs(90 - {_HALF}))"
)
_COSINE = f"(CASE WHEN {_HALF} > 90 THEN -1 ELSE 1 END) * " + _quarter_sine(f"abs(90 - {_HALF})")
_INVERSE_SINE = (
    "(CASE WHEN abs(v) <= 0.5 THEN asin(v) / asin(0.5) * 30 "
    "ELSE sign(v) * (90 - acos(abs(v)) / acos(0.5) * 60) END)"
)


def _quotient(above: str, below: str) -> str:
    return f"(CASE WHEN {below} = 0 THEN ({above}) * {_INFINITY} ELSE ({above}) / ({below}) END)"


def _of_degrees(engine: str, outside: str, result: str) -> Writer:
    error = raised(engine, "22003", "'input is out of range'")
    zero = positive_zero(engine, f"({result})", DOUBLE)
    body = f"CASE WHEN {outside} THEN {error} ELSE {zero} END"
    return lambda site: with_value(engine, site.arguments[0], body)


for _name, _description, _outside, _template in (
    ("sind", "Sine of degrees.", _NEVER_INFINITE, _SINE),
    ("cosd", "Cosine of degrees.", _NEVER_INFINITE, _COSINE),
    ("tand", "Tangent of degrees.", _NEVER_INFINITE, _quotient(_SINE, _COSINE)),
    ("cotd", "Cotangent of degrees.", _NEVER_INFINITE, _quotient(_COSINE, _SINE)),
    ("asind", "Inverse sine, in degrees.", _BEYOND_ONE, _INVERSE_SINE),
    ("acosd", "Inverse cosine, in degrees.", _BEYOND_ONE, f"90 - {_INVERSE_SINE}"),
    ("atand", "Inverse tangent, in degrees.", "FALSE", "atan(v) / atan(1) * 45"),
):
    scalar(
        _name,
        _description,
        _ONE,
        duckdb=_of_degrees("duckdb", _outside.format("v"), _template),
        spark=_of_degrees("spark", _outside.format("v"), _template),
    )
scalar(
    "atan2d",
    "Inverse tangent of the quotient, in degrees.",
    exact(((DOUBLE, DOUBLE), DOUBLE)),
    "(atan2({0}, {1}) / atan(1) * 45)",
)
