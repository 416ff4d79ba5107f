"""Source frontiers: how far an upstream has been read, by partition, in the upstream's own unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reclock.errors import InternalError

Partition = int | str | tuple[()]
"""The upstream's own partition key; ``()`` if there is only one. The partitions of one source have
one type."""

SourceFrontier = Mapping[Any, int]
"""The next offset to read of each ``Partition`` (exclusive); 0 for absent partitions."""


def is_at_least(frontier: SourceFrontier, other: SourceFrontier) -> bool:
    """Whether ``frontier`` is at or beyond ``other`` in every partition."""
    return all(frontier.get(partition, 0) >= offset for partition, offset in other.items())


def check_frontier(frontier: SourceFrontier) -> None:
    """Raises ``InternalError`` unless every offset is at least 0."""
    for partition, offset in frontier.items():
        if offset < 0:
            raise InternalError(f'source frontier of partition "{partition}" is {offset}')
