"""Where a sink writes to, and how: values, as CREATE SINK says them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.definitions.connections import Connection
from reclock.plan.relational import Plan


class Envelope(StrEnum):
    """What a message says of a row."""

    DEBEZIUM = "DEBEZIUM"
    """The row before and the row after a change."""
    UPSERT = "UPSERT"
    """The row that a key has from now on; no value if it has none."""


@dataclass(frozen=True, slots=True)
class Json:
    """Messages in JSON."""


ROW = "row"
"""What the record of a row is called in Avro, where nothing else is said."""


@dataclass(frozen=True, slots=True)
class Avro:
    """Messages in Avro, whose schemas are kept by ``registry``: a record of this full ``name``, whose fields default to NULL where
    they may be and it ``has_null_defaults``."""

    registry: Connection
    name: str
    has_null_defaults: bool = False


@dataclass(frozen=True, slots=True)
class Plain:
    """One column that is never NULL, as it is; ``kind`` is ``TEXT`` or ``BYTES``."""

    kind: str


COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
"""How a producer may compress."""


@dataclass(frozen=True, slots=True)
class KafkaTarget:
    """Messages of ``topic``, keyed by the columns ``key`` if there are any. Progress is kept in ``progress_topic``.

    A topic that is not there gets ``partitions`` and ``replicas``; with -1, as many as the broker gives.
    """

    connection: Connection
    topic: str
    progress_topic: str
    key: tuple[str, ...]
    envelope: Envelope
    format: Json | Avro
    key_format: Json | Avro | Plain
    partitions: int = -1
    replicas: int = -1
    compression: str = "lz4"

    type_name: ClassVar[str] = "kafka"


@dataclass(frozen=True, slots=True)
class DeltaTarget:
    """A plain Delta table of the rows as they are, in ``path`` below the root of sinks."""

    path: str

    type_name: ClassVar[str] = "delta"


Target = KafkaTarget | DeltaTarget


@dataclass(frozen=True, slots=True)
class SinkSpec:
    """All that emitting takes. ``plan`` reads collections only; ``indexes`` are those of its cluster that hold what it answers."""

    id: GlobalId
    name: str
    plan: Plan
    desc: RelationDesc
    target: Target
    with_snapshot: bool
    created_at: Timestamp
    indexes: tuple[GlobalId, ...] = ()
