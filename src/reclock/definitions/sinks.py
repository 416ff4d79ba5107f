"""Targets, formats and envelopes of sinks: values, as CREATE SINK describes them."""

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
    """How a message describes a change."""

    DEBEZIUM = "DEBEZIUM"
    """The rows before and after a change."""
    UPSERT = "UPSERT"
    """The new row of a key, or no value if it was deleted."""


@dataclass(frozen=True, slots=True)
class Json:
    """Messages in JSON."""


ROW = "row"
"""The default name of a row's record in Avro."""


@dataclass(frozen=True, slots=True)
class Avro:
    """Messages in Avro, with their schemas in ``registry``. ``name`` is the full name of the
    record. With ``has_null_defaults``, nullable fields have the default NULL."""

    registry: Connection
    name: str
    has_null_defaults: bool = False


@dataclass(frozen=True, slots=True)
class Plain:
    """The value of the only column, which is never NULL, without an encoding. ``kind`` is ``TEXT``
    or ``BYTES``."""

    kind: str


COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
"""The compressions of a producer."""


@dataclass(frozen=True, slots=True)
class KafkaTarget:
    """Messages of ``topic``, keyed by the columns ``key``, if there are any. The sink stores its
    progress in ``progress_topic``.

    A new topic gets ``partitions`` and ``replicas``; -1 means the broker's default.
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
    headers: str = ""
    """The column with the headers of messages, if there is one. It is no part of the value."""

    type_name: ClassVar[str] = "kafka"


@dataclass(frozen=True, slots=True)
class TableRegistration:
    """The name of a sink's table in the catalog behind ``connection``. An empty part is that of the
    sink's own name."""

    connection: Connection
    namespace: str = ""
    table: str = ""


@dataclass(frozen=True, slots=True)
class DeltaTarget:
    """A plain Delta table of the current rows, in ``path`` below the root of sinks; with a
    ``registration``, other programs find it by name."""

    path: str
    registration: TableRegistration | None = None

    type_name: ClassVar[str] = "delta"


FILE_FORMATS = ("PARQUET", "CSV", "JSON")

FILE_BYTES = 256 << 20
"""About how many bytes a file has at most."""


@dataclass(frozen=True, slots=True)
class FilesTarget:
    """Files of changes, in ``path`` below the root of sinks: a folder for each time."""

    path: str
    format: str

    type_name: ClassVar[str] = "files"


@dataclass(frozen=True, slots=True)
class PostgresTarget:
    """A PostgreSQL table with the current row of each ``key``, upserted and deleted in place."""

    connection: Connection
    schema: str
    table: str
    key: tuple[str, ...]

    type_name: ClassVar[str] = "postgres"


@dataclass(frozen=True, slots=True)
class IcebergTarget:
    """An Iceberg table of the current rows, in the environment's own catalog if ``connection`` is
    None."""

    connection: Connection | None
    namespace: str
    table: str

    type_name: ClassVar[str] = "iceberg"


Target = KafkaTarget | DeltaTarget | FilesTarget | PostgresTarget | IcebergTarget


@dataclass(frozen=True, slots=True)
class SinkInput:
    """The relation of a sink: its plan, which reads collections only, and the indexes of the sink's
    cluster that hold its rows."""

    plan: Plan
    indexes: tuple[GlobalId, ...] = ()


@dataclass(frozen=True, slots=True)
class SinkSpec:
    """All that emitting a sink needs. ``plan`` reads collections only. ``indexes`` are those of the
    sink's cluster that hold parts of its answer.

    ``creator`` is the id under which the target knows the sink. ``previous`` is the relation whose
    rows the target holds until the sink has switched.
    """

    id: GlobalId
    name: str
    plan: Plan
    desc: RelationDesc
    target: Target
    with_snapshot: bool
    created_at: Timestamp
    creator: GlobalId
    indexes: tuple[GlobalId, ...] = ()
    previous: SinkInput | None = None
