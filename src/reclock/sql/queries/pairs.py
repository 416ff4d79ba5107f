"""``information_schema._pg_expandarray``, which JDBC drivers call for the columns of an index: each
element ``x`` with its place ``n``.

There are no composite values: a pair is an array of two numbers, and ``(pair).n`` is the second
one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reclock.algebra.relations import INTEGER, array
from reclock.plan.scalars import Literal
from reclock.sql.queries.coercion import cast
from reclock.sql.queries.planned import Elements, Planned, TypedExpr

NAME = "_pg_expandarray"
_PLACES = {"x": 1, "n": 2}


def pairs(
    call: Callable[[str, Sequence[Planned]], TypedExpr], values: Sequence[Planned]
) -> TypedExpr:
    """One pair for each row. Raises ``UnknownFunction``."""
    numbers = call("elements", values)
    places = call(
        "series", [Literal(1, INTEGER), call("array_length", [*values, Literal(1, INTEGER)])]
    )
    return call("array", [cast(Elements(numbers), INTEGER), Elements(places)])


def part(
    call: Callable[[str, Sequence[Planned]], TypedExpr], pair: Planned, field: str
) -> TypedExpr | None:
    """``(pair).field``, or None if there is no such field."""
    if pair.type != array(INTEGER) or field not in _PLACES:
        return None
    return call("subscript", [pair, Literal(_PLACES[field], INTEGER)])
