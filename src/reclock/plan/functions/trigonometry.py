"""Trigonometric and hyperbolic functions of doubles.

They come from each engine's library: their last binary digit is not promised.
"""

from __future__ import annotations

from reclock.algebra.relations import DOUBLE
from reclock.plan.functions.floats import computed
from reclock.plan.functions.registry import Site, Writer, scalar
from reclock.plan.functions.sql_names import raised
from reclock.plan.functions.typing import exact

_INFINITY = "CAST('Infinity' AS DOUBLE)"
_NEVER_INFINITE = f"abs({{0}}) = {_INFINITY}"
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
    ("asin", "Inverse sine.", "abs({0}) > 1", "asin({0})"),
    ("acos", "Inverse cosine.", "abs({0}) > 1", "acos({0})"),
    ("acosh", "Inverse hyperbolic cosine.", "{0} < 1", "acosh({0})"),
    ("atanh", "Inverse hyperbolic tangent.", "abs({0}) > 1", "atanh({0})"),
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
