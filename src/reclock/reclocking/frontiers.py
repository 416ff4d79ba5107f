"""Source frontiers: how far an upstream has been read, per partition, in the upstream's own unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reclock.errors import InternalError

Partition = int | str | tuple[()]
"""The upstream's own partition key; ``()`` where there is but one. The partitions of one source are of one type."""

SourceFrontier = Mapping[Any, int]
"""``Partition`` → the next offset to read (exclusive); a partition not mentioned is at 0."""


def is_at_least(frontier: SourceFrontier, other: SourceFrontier) -> bool:
    """Whether ``frontier`` has reached everything that ``other`` has."""
    return all(frontier.get(partition, 0) >= offset for partition, offset in other.items())


def check_frontier(frontier: SourceFrontier) -> None:
    """Raises ``InternalError`` unless every offset is at least 0."""
    for partition, offset in frontier.items():
        if offset < 0:
            raise InternalError(f'source frontier of partition "{partition}" is {offset}')
