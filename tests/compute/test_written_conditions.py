"""How conditions are written for engines."""

from __future__ import annotations

import pytest
from fixtures.plans import call, column

from reclock.compute.expressions.sql import to_sql
from reclock.plan.scalars import ColumnRef

VALUE = column("i")
assert isinstance(VALUE, ColumnRef)
NAMES = [f"c{place}" for place in range(VALUE.index + 1)]


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_comparisons_of_one_value_with_constants_are_one_lookup(engine: str) -> None:
    listed = call("or", call("=", VALUE, 1), call("=", VALUE, 2))
    name = NAMES[-1]
    assert to_sql(listed, engine, NAMES) == f"(({name} IN (1, 2)))"
    with_another = call("or", listed, call(">", VALUE, 3))
    assert f"({name} IN (1, 2)) OR " in to_sql(with_another, engine, NAMES)
