"""The normal forms of Unicode."""

from __future__ import annotations

from reclock.algebra.relations import BOOLEAN, TEXT
from reclock.plan.functions.json_calls import checked, json_call
from reclock.plan.functions.registry import Writer, scalar
from reclock.plan.functions.typing import exact


def _normalized(engine: str) -> Writer:
    return lambda site: checked(engine, json_call("normalized", *site.arguments))


def _is_normalized(engine: str) -> Writer:
    return lambda site: (
        f"CAST({checked(engine, json_call('is_normalized', *site.arguments))} AS BOOLEAN)"
    )


scalar(
    "normalize",
    "The text in a normal form of Unicode: `NFC`, `NFD`, `NFKC` or `NFKD`.",
    exact(((TEXT, TEXT), TEXT)),
    duckdb=_normalized("duckdb"),
    spark=_normalized("spark"),
)
scalar(
    "is_normalized",
    "Whether the text is in a normal form of Unicode.",
    exact(((TEXT, TEXT), BOOLEAN)),
    duckdb=_is_normalized("duckdb"),
    spark=_is_normalized("spark"),
)
