"""A call of a function that another dialect has is answered with what PostgreSQL has instead."""

from __future__ import annotations

import pytest
from fixtures.planning import World

from reclock.errors import UnknownFunction
from reclock.errors.functions_elsewhere import WRITTEN_INSTEAD

_ROW = (
    "SELECT now() AS moment, date '2026-01-01' AS earlier, date '2026-01-31' AS later, "
    "'{}' AS string, 'a' AS part, 1 AS value, 2 AS other, true AS condition, 60 AS seconds, "
    "ARRAY[1, 2] AS elements, '{}'::jsonb AS document"
)


@pytest.mark.parametrize("name", WRITTEN_INSTEAD)
def test_the_hint_is_an_expression_that_works(name: str, world: World) -> None:
    with pytest.raises(UnknownFunction) as error:
        world.plan(f"SELECT {name}(ARRAY[1], ARRAY[2], ARRAY[3], ARRAY[4])")
    assert WRITTEN_INSTEAD[name] in (error.value.hint or "")
    world.plan(f"SELECT {WRITTEN_INSTEAD[name]} FROM ({_ROW}) AS example")
