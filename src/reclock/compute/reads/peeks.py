"""Peeks: point lookups are answered from memory, small reads by DuckDB in this process, large reads
by Spark."""

from __future__ import annotations

from collections.abc import Callable

from reclock.algebra.timestamps import Timestamp
from reclock.collections.arrangements import Arrangements
from reclock.compute.engines.engine import Answer, CollectionInput, Engine, Inputs
from reclock.compute.reads import lookups
from reclock.errors import UnsupportedSql
from reclock.plan.relational import Finishing, Plan


def bytes_to_read(inputs: Inputs, as_of: Timestamp, *, after: Timestamp | None = None) -> int:
    """Bytes of the Parquet files that may hold updates at times (``after`` one) up to ``as_of``."""
    stored = [input for input in inputs.values() if isinstance(input, CollectionInput)]
    return sum(file.size_bytes for input in stored for file in input.files(as_of, after=after))


def is_large(inputs: Inputs, as_of: Timestamp, threshold_bytes: int) -> bool:
    """Whether Spark should read ``inputs`` at ``as_of``."""
    return bytes_to_read(inputs, as_of) > threshold_bytes


def peek(
    plan: Plan,
    finishing: Finishing,
    inputs: Inputs,
    as_of: Timestamp,
    *,
    arrangements: Arrangements,
    small: Engine,
    large: Callable[[], Engine],
    threshold_bytes: int,
) -> Answer:
    """The plan's finished rows at ``as_of``, by the engine that the answer names.

    ``large`` is called only if more than ``threshold_bytes`` of Parquet must be read. A plan that
    the large engine does not support runs on the small one, which spills to disk.
    """
    answer, narrowed = lookups.look_up(plan, finishing, inputs, as_of, arrangements)
    if answer is not None:
        return answer
    if is_large(narrowed, as_of, threshold_bytes):
        try:
            return large().run(plan, finishing, inputs, as_of)
        except UnsupportedSql:
            pass
    return small.run(plan, finishing, narrowed, as_of)


def compare(
    plan: Plan,
    inputs: Inputs,
    as_of: Timestamp,
    after: Timestamp | None,
    earlier: Inputs,
    *,
    small: Engine,
    large: Callable[[], Engine],
    threshold_bytes: int,
) -> Answer:
    """As `Engine.compare`, by the small or the large engine as `peek` chooses."""
    if is_large(inputs, as_of, threshold_bytes):
        try:
            return large().compare(plan, inputs, as_of, after, earlier)
        except UnsupportedSql:
            pass
    return small.compare(plan, inputs, as_of, after, earlier)


def engine_of(
    plan: Plan,
    finishing: Finishing,
    inputs: Inputs,
    as_of: Timestamp,
    *,
    arrangements: Arrangements,
    threshold_bytes: int,
) -> str:
    """The name of the engine that would answer a peek now. The first lookup by a column still reads
    the collection."""
    answer, narrowed = lookups.look_up(plan, finishing, inputs, as_of, arrangements)
    if answer is not None:
        return lookups.NAME
    return "spark" if is_large(narrowed, as_of, threshold_bytes) else "duckdb"
