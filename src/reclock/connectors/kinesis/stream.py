"""What is known of a stream: its shards, and which offsets are of which stream of its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from reclock.connectors.connector import Bound

INCARNATION = 10**60
"""More than any sequence number: they have 56 digits. The offset of a sequence number is itself,
plus this for each earlier stream of the name."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard of the stream. ``ending`` is the greatest sequence number that a closed shard may
    have; None while it is open."""

    number: int
    parents: frozenset[int]
    ending: int | None

    @property
    def id(self) -> str:
        return shard_id(self.number)


@dataclass(frozen=True, slots=True)
class StreamDescription:
    """The stream at a probe: its creation time, its retention period, and its shards by number. The
    offsets of its records begin at ``base``."""

    created_at: int
    retention_ms: int
    shards: Mapping[int, Shard]
    base: int = 0

    def current(self, bound: Bound) -> Bound:
        """What is bound of the incarnation whose offsets begin at ``base``."""
        return {shard: evidence for shard, evidence in bound.items() if evidence[0] >= self.base}

    def is_other(self, bound: Bound) -> bool:
        """Whether it is not the stream that is bound there."""
        evidence = self.current(bound).values()
        return any(created_at != self.created_at for _, created_at, _, _ in evidence)

    def complete_at(self, bound: Bound, shard: int) -> int | None:
        """A moment at which no record beyond the shard's bound offset had arrived yet (its
        parents', if the shard is not bound); None if unknown."""
        current = self.current(bound)
        if shard in current:
            return int(current[shard][2])
        parents = self.shards[shard].parents if shard in self.shards else ()
        moments = [at for parent in parents if (at := self.complete_at(bound, parent)) is not None]
        return min(moments, default=None)


@dataclass(frozen=True, slots=True)
class Page:
    """Some records in order. A page ``is_tip`` if it reached the newest record, and ``is_end`` if
    its closed shard has no more."""

    records: Sequence[Mapping[str, Any]]
    is_tip: bool
    is_end: bool


@lru_cache
def connected(region: str, endpoint: str, **credentials: str) -> Any:
    """A client of the service, with these credentials or else those of the AWS provider chain. It
    retries throttled calls."""
    from boto3.session import Session
    from botocore.config import Config

    config = Config(
        retries={"mode": "adaptive", "max_attempts": 8}, connect_timeout=10, read_timeout=30
    )
    return Session().client(
        "kinesis", region_name=region, endpoint_url=endpoint or None, config=config, **credentials
    )


def shard_of(description: Mapping[str, Any]) -> Shard:
    parents = (description.get("ParentShardId"), description.get("AdjacentParentShardId"))
    ending = description["SequenceNumberRange"].get("EndingSequenceNumber")
    return Shard(
        number_of(description["ShardId"]),
        frozenset(number_of(parent) for parent in parents if parent),
        int(ending) if ending is not None else None,
    )


def base_of(bound: Bound) -> int:
    """Where the offsets of the newest bound stream begin."""
    newest = max((offset for offset, *_ in bound.values()), default=0)
    return int(newest - newest % INCARNATION)


def number_of(id: str) -> int:
    """``shardId-000000000012`` is 12."""
    return int(id.rpartition("-")[2])


def shard_id(number: int) -> str:
    return f"shardId-{number:012}"


def milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
