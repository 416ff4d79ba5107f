"""Long lists of values in statements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batches(values: Iterable[T], size: int = 5_000) -> Iterator[list[T]]:
    """The values in lists short enough for one statement (SQLite binds at most 32,766)."""
    rest = iter(values)
    while batch := list(islice(rest, size)):
        yield batch
