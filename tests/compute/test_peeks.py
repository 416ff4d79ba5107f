"""A read goes to the engine that its size asks for, and says which that was."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fixtures.lakes import DESC, FLIGHTS, put, update
from fixtures.plans import VALUES, cast, column, computed, get, rows, table

from reclock.algebra.relations import TEXT
from reclock.algebra.timestamps import Timestamp
from reclock.collections.arrangements import Arrangements
from reclock.collections.lake import Lake
from reclock.compute.engines.duckdb import DuckDbEngine
from reclock.compute.engines.engine import Answer, CollectionInput, Engine, Inputs, TableInput
from reclock.compute.reads.peeks import bytes_to_read, peek
from reclock.errors import UnsupportedSql
from reclock.plan.relational import Finishing, Plan


class Large(DuckDbEngine):
    """Stands for the engine of large reads."""

    name = "large"

    def __init__(self, roots: list[str], *, refuses: bool = False) -> None:
        super().__init__(roots)
        self._refuses = refuses

    def run(self, plan: Plan, finishing: Finishing, inputs: Inputs, as_of: Timestamp) -> Answer:
        if self._refuses:
            raise UnsupportedSql("not here")
        answer = super().run(plan, finishing, inputs, as_of)
        return Answer(self.name, answer.columns, answer.batches, answer.interrupt)


@pytest.fixture
def flights(tmp_path: Path) -> CollectionInput:
    collection = Lake(str(tmp_path)).create(FLIGHTS, DESC)
    put(collection, update("a", 1, 5), to=6)
    put(collection, update("b", 2, 8), to=9)
    return CollectionInput(collection.pin())


@pytest.fixture
def ask(tmp_path: Path, flights: CollectionInput) -> Callable[..., Answer]:
    def ask(threshold_bytes: int, at: int = 10, *, refuses: bool = False, **others: Any) -> Answer:
        large: Callable[[], Engine] = lambda: Large([str(tmp_path)], refuses=refuses)  # noqa: E731
        small = DuckDbEngine([str(tmp_path)])
        plan, inputs = get(FLIGHTS, DESC), {FLIGHTS: flights}
        return peek(
            plan,
            Finishing(),
            inputs,
            Timestamp(at),
            arrangements=Arrangements(0),
            small=small,
            large=large,
            threshold_bytes=threshold_bytes,
        )

    return ask


def test_only_files_with_times_that_are_read_count(
    flights: CollectionInput, ask: Callable[..., Answer]
) -> None:
    first, both = (
        bytes_to_read({FLIGHTS: flights, VALUES: TableInput(table())}, Timestamp(at))
        for at in (5, 8)
    )
    assert 0 < first < both == sum(file.size_bytes for file in flights.version.all_files)
    assert bytes_to_read({FLIGHTS: flights}, Timestamp(4)) == 0
    assert ask(both).engine == "duckdb"
    assert ask(both - 1).engine == "large"
    assert ask(both - 1, at=7).engine == "duckdb"
    assert sorted(rows(ask(both))) == sorted(rows(ask(0))) == [("a", 1), ("b", 2)]


def test_a_plan_that_the_large_engine_cannot_write_is_answered_by_the_small_one(
    ask: Callable[..., Answer],
) -> None:
    answer = ask(0, refuses=True)
    assert answer.engine == "duckdb"
    assert len(rows(answer)) == 2


def test_no_large_engine_is_started_for_a_small_read(tmp_path: Path) -> None:
    def large() -> Engine:
        raise AssertionError("started")

    plan = computed(get(), cast(column("i"), TEXT))
    inputs = {VALUES: TableInput(table())}
    arrangements, small = Arrangements(0), DuckDbEngine()
    answer = peek(
        plan,
        Finishing(),
        inputs,
        Timestamp(0),
        arrangements=arrangements,
        small=small,
        large=large,
        threshold_bytes=0,
    )
    assert len(rows(answer)) == len(table())
