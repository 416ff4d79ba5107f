"""Compacts a catalog up to its newest upper until its counter has reached a number.

What it reads meanwhile is always one moment of the catalog: the counter says how many schemas the
actors have made.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from catalog.actor_worker import state_of

from reclock.catalog.objects import Kind
from reclock.catalog.snapshot import CatalogSnapshot


def count(snapshot: CatalogSnapshot) -> int:
    counter = snapshot.get(Kind.SETTING, "counter")
    made = sum(schema.name.startswith("actor") for schema in snapshot.schemas.values())
    assert made == (int(counter.value) if counter else 0)
    return made


def compact_often(
    begin_together: Callable[[], None], implementation: str, url: str, home: Path, target: int
) -> tuple[int, int]:
    """How many compactions there were, and how many updates they deleted."""
    joined = state_of(implementation, url, home)
    state, follower = joined(), joined()
    begin_together()
    compactions = deleted = 0
    while count(state.sync()) < target:
        deleted += state.compact(state.upper)
        compactions += 1
        count(joined().snapshot())
        if compactions % 3 == 0:
            count(follower.sync())
    return compactions, deleted
