"""What executors read of topics."""

from __future__ import annotations

from dataclasses import dataclass

from reclock.connectors.kafka.incarnations import Incarnation

TASK_OFFSETS = 250_000
"""About how many messages one task reads."""

MESSAGE_BYTES = 1024
"""The assumed size of a message, which a broker tells only with the message itself."""


@dataclass(frozen=True, slots=True)
class TopicReadTask:
    """The topic's own offsets ``[lower, upper)`` of one partition, whose ``incarnation`` is
    this."""

    partition: int
    lower: int
    upper: int
    incarnation: Incarnation

    @property
    def size_bytes(self) -> int:
        """About how many bytes the messages have."""
        return (self.upper - self.lower) * MESSAGE_BYTES


@dataclass(frozen=True, slots=True)
class ReplaceRows:
    """The rows that the other tasks of the step read replace all rows of the output."""

    output: str = ""

    size_bytes = 0
