"""Special functions, which Python computes."""

from __future__ import annotations

from reclock.algebra.relations import BIGINT, DOUBLE, numeric
from reclock.plan.functions.json_calls import checked, json_call
from reclock.plan.functions.registry import Writer, scalar
from reclock.plan.functions.sql_names import type_sql
from reclock.plan.functions.typing import exact

_FACTORIAL = numeric(38, 0)


def _double(engine: str, function: str) -> Writer:
    return lambda site: f"CAST({checked(engine, json_call(function, *site.arguments))} AS DOUBLE)"


def _factorial(engine: str) -> Writer:
    text = "VARCHAR" if engine == "duckdb" else "STRING"
    return lambda site: (
        f"CAST({checked(engine, json_call('factorial', f'CAST({site.arguments[0]} AS {text})'))} "
        f"AS {type_sql(engine, _FACTORIAL)})"
    )


for _name, _description in (
    ("gamma", "Gamma function."),
    ("lgamma", "Natural logarithm of the absolute value of the gamma function."),
    ("erf", "Error function."),
    ("erfc", "One less the error function, without loss of precision for large numbers."),
):
    scalar(
        _name,
        _description,
        exact(((DOUBLE,), DOUBLE)),
        duckdb=_double("duckdb", _name),
        spark=_double("spark", _name),
    )
scalar(
    "factorial",
    "The product of the whole numbers from 1 to the number, which is 33 at most.",
    exact(((BIGINT,), _FACTORIAL)),
    duckdb=_factorial("duckdb"),
    spark=_factorial("spark"),
)
