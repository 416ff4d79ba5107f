"""What sources read: values, as CREATE SOURCE describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId
from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    INTEGER,
    TEXT,
    TIME_COLUMN,
    Column,
    RelationDesc,
    ScalarType,
)
from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.definitions.connections import Connection
from reclock.definitions.formats import BytesFormat, Format, SchemaFormat, TextFormat

PLACE_COLUMN = "place"
"""Which digit of a wide increment a row of a remap collection holds
(``reclock.reclocking.digits``)."""


@dataclass(frozen=True, slots=True)
class Reclocking:
    """The layout of a source type's bindings: the column of the ``partition`` (None if there is
    only one), what the progress relation calls that column and the ``offset``, and the columns of
    ``evidence`` that are stored beside the offset (docs/decisions/0003).

    Offsets beyond 64 bits (``is_wide``) are text in relations, and several rows for each binding
    (docs/decisions/0022).
    """

    partition: tuple[Column, ...]
    offset: str
    progress: tuple[str, ...]
    evidence: tuple[Column, ...] | None = None
    is_wide: bool = False
    is_shared: bool = False
    """Whether later sources may be guests of one: their relations are outputs of it that begin
    late."""
    unit: int = 1
    """How many offsets make one of the upstream's units, in which progress is shown."""
    counted: str = "offsets"
    """What offsets count, as messages call it."""

    @property
    def is_sparse(self) -> bool:
        """Whether most offsets have no record, as with sequence numbers and moments."""
        return self.is_wide or self.unit > 1

    @property
    def remap_desc(self) -> RelationDesc:
        """The remap collection. The diff of a partition's row says by how many offsets it advanced;
        of wide offsets, by how much each digit did."""
        return RelationDesc(
            (*self.partition, Column(PLACE_COLUMN, INTEGER, is_nullable=False))
            if self.is_wide
            else self.partition
        )

    @property
    def evidence_desc(self) -> RelationDesc | None:
        """The evidence: one row for each partition, with what was known when it was bound up to its
        offset."""
        if self.evidence is None:
            return None
        names = tuple(column.name for column in self.partition)
        return RelationDesc(
            (
                *self.partition,
                Column(self.offset, self._offset_type, is_nullable=False),
                *self.evidence,
            ),
            key=names,
        )

    @property
    def progress_desc(self) -> RelationDesc:
        partition = tuple(
            Column(name, column_type.type, False)
            for name, column_type in zip(self.progress, self.partition, strict=False)
        )
        columns = (
            Column(TIME_COLUMN, BIGINT, False),
            *partition,
            Column(self.progress[-1], self._offset_type, False),
        )
        return RelationDesc(columns, key=self.progress[:-1] or None)

    @property
    def _offset_type(self) -> ScalarType:
        return TEXT if self.is_wide else BIGINT

    def relation_value(self, offset: int) -> int | str:
        """An offset as relations hold it. ``int`` converts it back."""
        return str(offset) if self.is_wide else offset


def frontiers_desc(remap: RelationDesc) -> RelationDesc:
    """The frontiers that the bindings of a remap collection add up to: for each partition, the time
    of its last binding and its frontier.

    A progress relation is a view over this relation, with column names of its own.
    """
    is_wide = PLACE_COLUMN in remap.names
    partition = tuple(column for column in remap.columns if column.name != PLACE_COLUMN)
    frontier = Column("frontier", TEXT if is_wide else BIGINT, is_nullable=False)
    return RelationDesc((Column("bound_at", BIGINT, is_nullable=False), *partition, frontier))


COMPRESSIONS = ("AUTO", "GZIP", "NONE")
"""How objects may be compressed: those that end in ``.gz``, all, or none."""


def _of_objects(progress: str, counted: str) -> Reclocking:
    return Reclocking(
        partition=(Column("object_key", TEXT, is_nullable=False),),
        offset="length",
        progress=("key", progress),
        evidence=(
            Column("crc32", BIGINT, is_nullable=False),
            Column("version", TEXT, is_nullable=False),
        ),
        counted=counted,
    )


_BY_BYTE = _of_objects("byte_offset", "bytes")
_BY_ROW = _of_objects("row_offset", "rows")


@dataclass(frozen=True, slots=True)
class ObjectsConnector:
    """The objects of ``bucket`` whose keys match ``pattern``
    (``reclock.connectors.objects.patterns``), with a ``compression``
    (``reclock.connectors.objects.compression``).

    The bucket is at the ``connection``, or by default in the environment's object store. The bucket
    reports new objects to ``queue``, if there is one
    (``reclock.connectors.objects.notifications``). Offsets of an object are its bytes, or the rows
    of a Parquet file (``has_row_offsets``).
    """

    bucket: str
    pattern: str
    compression: str = "AUTO"
    connection: Connection | None = None
    queue: str = ""
    has_row_offsets: bool = False

    is_monotonic: ClassVar[bool] = True
    lacks_history: ClassVar[str] = ""
    type_name: ClassVar[str] = "s3"
    updates_per_offset: ClassVar[int] = 1

    @property
    def reclocking(self) -> Reclocking:
        return _BY_ROW if self.has_row_offsets else _BY_BYTE


@dataclass(frozen=True, slots=True)
class LoadGenerator:
    """Generated rows. ``kind`` is ``COUNTER``, ``AUCTION`` or ``TPCH``. It generates rows every
    ``tick_interval_ms``, or once if that is 0.

    A counter keeps its last ``max_cardinality`` numbers, if that is set. TPCH has a
    ``scale_factor``.
    """

    kind: str
    tick_interval_ms: int = 1000
    max_cardinality: int | None = None
    scale_factor: float = 0.01

    lacks_history: ClassVar[str] = ""
    type_name: ClassVar[str] = "load-generator"
    reclocking: ClassVar[Reclocking] = Reclocking(
        partition=(), offset="offset", progress=("offset",)
    )

    @property
    def is_monotonic(self) -> bool:
        return self.max_cardinality is None and not (self.kind == "TPCH" and self.tick_interval_ms)

    @property
    def updates_per_offset(self) -> int:
        if self.kind == "TPCH":
            return int(14_000_000 * self.scale_factor) + 1000  # the first tick inserts all tables
        return 2 if self.kind == "COUNTER" else 64


@dataclass(frozen=True, slots=True)
class KafkaConnector:
    """The messages of ``topic``. It begins at ``start_offsets`` (by partition, else at 0) or at the
    first message of ``start_timestamp``. If there are ``end_offsets``, exclusive, partitions
    without one are not read. An end timestamp is converted to offsets before the source is created.

    ``include`` names metadata and their columns, which follow those of the value. The key has
    ``key_format``. With the ``envelope`` ``UPSERT`` a message replaces the row of its key, and a
    message without a value deletes it. With ``DEBEZIUM`` a message has the row before and the row
    after a change.
    """

    connection: Connection
    topic: str
    start_offsets: tuple[int, ...] = ()
    start_timestamp: int | None = None
    key_format: TextFormat | BytesFormat | SchemaFormat | None = None
    include: tuple[tuple[str, str], ...] = ()
    envelope: str = "NONE"
    group: str | None = None
    end_offsets: tuple[int, ...] = ()
    end_timestamp: int | None = None

    lacks_history: ClassVar[str] = ""
    type_name: ClassVar[str] = "kafka"
    reclocking: ClassVar[Reclocking] = Reclocking(
        partition=(Column("partition", INTEGER, is_nullable=False),),
        offset="offset",
        progress=("partition", "offset"),
        evidence=(Column("topic_id", TEXT, is_nullable=False),),
    )

    @property
    def is_monotonic(self) -> bool:
        return self.envelope == "NONE"

    @property
    def updates_per_offset(self) -> int:
        return 1 if self.envelope == "NONE" else 2


@dataclass(frozen=True, slots=True)
class DebeziumConnector:
    """The topics of tables, ``<prefix>.<schema>.<table>``, with the ``transaction_topic`` of their
    connector."""

    connection: Connection
    transaction_topic: str

    is_monotonic: ClassVar[bool] = False
    type_name: ClassVar[str] = "kafka"
    lacks_history: ClassVar[str] = "the transactions of a connector have no times of their own"
    updates_per_offset: ClassVar[int] = 2
    reclocking: ClassVar[Reclocking] = Reclocking(
        partition=(Column("partition", TEXT, is_nullable=False),),
        offset="offset",
        progress=("partition", "offset"),
        evidence=(Column("topic_id", TEXT, is_nullable=False),),
        is_shared=True,
    )

    @property
    def prefix(self) -> str:
        return self.transaction_topic.rpartition(".")[0]

    @property
    def brokers(self) -> frozenset[str]:
        """The addresses, as the connection spells them."""
        return frozenset(str(dict(self.connection.options)["BROKER"]).replace(" ", "").split(","))


@dataclass(frozen=True, slots=True)
class KinesisConnector:
    """The records of ``stream`` in ``region``, at ``endpoint`` or AWS's own, read with the
    credentials of the ``connection``, if there is one.

    They are read from the oldest record (``start`` is ``TRIM HORIZON``), from the creation of the
    source (``LATEST``), from the moment ``start_timestamp`` in milliseconds (``TIMESTAMP``), or, in
    the shards of ``start_numbers``, ``AT`` or ``AFTER`` a sequence number. ``include`` names
    metadata and their columns, which follow those of the record.
    """

    stream: str
    region: str
    endpoint: str = ""
    arn: str = ""
    start: str = "TRIM HORIZON"
    start_timestamp: int | None = None
    start_numbers: tuple[tuple[int, int], ...] = ()
    include: tuple[tuple[str, str], ...] = ()
    connection: Connection | None = None

    is_monotonic: ClassVar[bool] = True
    type_name: ClassVar[str] = "kinesis"
    lacks_history: ClassVar[str] = "records expire, and the times of their arrival are approximate"
    updates_per_offset: ClassVar[int] = 1
    reclocking: ClassVar[Reclocking] = Reclocking(
        partition=(Column("shard", BIGINT, is_nullable=False),),
        offset="sequence_number",
        progress=("shard_id", "sequence_number"),
        evidence=(
            Column("created_at", BIGINT, is_nullable=False),
            Column("complete_at", BIGINT, is_nullable=False),
            Column("is_ended", BOOLEAN, is_nullable=False),
        ),
        is_wide=True,
    )


@dataclass(frozen=True, slots=True)
class PubNubConnector:
    """The messages of ``channel``, read with the ``subscribe_key`` from PubNub, or from the server
    at ``origin``."""

    subscribe_key: str
    channel: str
    origin: str = ""

    is_monotonic: ClassVar[bool] = True
    type_name: ClassVar[str] = "pubnub"
    lacks_history: ClassVar[str] = "a channel forgets what was published within minutes"
    updates_per_offset: ClassVar[int] = 1
    reclocking: ClassVar[Reclocking] = Reclocking(
        partition=(Column("region", BIGINT, is_nullable=False),),
        offset="timetoken_ns",
        progress=("region", "timetoken"),
        evidence=(
            Column("newest", BIGINT, is_nullable=False),
            Column("heard_at", BIGINT, is_nullable=False),
        ),
        unit=100,
    )


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table of a publication. ``oid`` distinguishes it from a later table of the same ``name``.
    ``entries`` are the publication's entries for it, such as its own and its schema's: if none of
    them is left, the table was removed from the publication, even if it was added again."""

    name: str
    oid: int
    entries: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PostgresConnector:
    """The tables of ``publication`` at ``connection`` (which may be a libpq string without a
    password), read through the slot."""

    connection: Connection | str
    publication: str
    slot: str
    known: tuple[PublishedTable, ...] = ()

    is_monotonic: ClassVar[bool] = False
    lacks_history: ClassVar[str] = "a replication slot tells nothing of what was before it was made"
    cannot_skip: ClassVar[str] = (
        "a transaction is published whole; a table with a value that does not fit fails alone"
    )
    type_name: ClassVar[str] = "postgres"
    updates_per_offset: ClassVar[int] = 2  # LSNs do not count changes; the reading does
    reclocking: ClassVar[Reclocking] = Reclocking(
        partition=(),
        offset="lsn",
        progress=("lsn",),
        evidence=(Column("system_id", TEXT, is_nullable=False),),
    )


Upstream = (
    ObjectsConnector
    | LoadGenerator
    | KafkaConnector
    | DebeziumConnector
    | KinesisConnector
    | PostgresConnector
    | PubNubConnector
)
"""What a source reads. Each upstream has a ``type_name``, its ``reclocking``, whether its rows are
only inserted (``is_monotonic``), how many updates one offset may yield (``updates_per_offset``),
why its state at an earlier time is unknown (``lacks_history``), if it is, and why offsets cannot be
skipped (``cannot_skip``), if they cannot. If the desc of an output has a key, rows with the same
key replace each other."""


def cannot_resnapshot(upstream: Upstream | None) -> str:
    """Why RESNAPSHOT cannot read the upstream anew; empty if it can."""
    match upstream:
        case KafkaConnector(end_offsets=(_, *_)):
            return "its END OFFSET is one of the topic as it was"
        case PostgresConnector() | KafkaConnector() | DebeziumConnector() | KinesisConnector():
            return ""
        case _:
            return "only publications, topics and streams can be read anew"


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """A source with all names resolved. Its id is that of its frontier group, ``name`` is for
    messages, and ``desc`` is the relation that it fills. A source with ``subsources`` fills these
    instead, by their upstream names."""

    id: GlobalId
    name: str
    connector: Upstream
    format: Format | None
    desc: RelationDesc
    subsources: Mapping[str, RelationDesc] = field(default_factory=dict)
    created_at: Timestamp = MINIMUM
    start: Timestamp | None = None
    """The beginning of its history, if it has a backfill."""
    guests: tuple[GlobalId, ...] = ()
    """The sources that are bound with this source's transactions."""
    reject_limit: int = 0
    """How many records of a step that do not decode are given up without a decision."""

    @property
    def all_ids(self) -> tuple[GlobalId, ...]:
        """The ids of the source and its guests, which stall together."""
        return (self.id, *self.guests)

    @property
    def outputs(self) -> Mapping[str, RelationDesc]:
        """Every relation that it fills, by its upstream name; ``""`` is the source's own."""
        return self.subsources or {"": self.desc}

    def output(self, name: str) -> StorageCollectionId:
        """The id of the collection that holds this output."""
        return StorageCollectionId(self.id, CollectionType.RECLOCKED, name)


def may_be_negative(connector: Upstream) -> bool:
    """Whether a row that is not there can be removed from its relations: an event of Debezium says
    what the row was, and the event that inserted it may be gone from the topic."""
    return isinstance(connector, DebeziumConnector) or (
        isinstance(connector, KafkaConnector) and connector.envelope == "DEBEZIUM"
    )


def collections_of(source: SourceSpec) -> list[tuple[StorageCollectionId, RelationDesc, bool]]:
    """The collections of a source: id, desc, and whether it is monotonic. They form one frontier
    group, ``source.id``."""
    reclocking = source.connector.reclocking
    outputs = [
        (source.output(name), desc, source.connector.is_monotonic)
        for name, desc in source.outputs.items()
    ]
    bindings = (
        StorageCollectionId(source.id, CollectionType.REMAPPING),
        reclocking.remap_desc,
        False,
    )
    if reclocking.evidence_desc is None:
        return [*outputs, bindings]
    return [
        *outputs,
        bindings,
        (StorageCollectionId(source.id, CollectionType.EVIDENCE), reclocking.evidence_desc, False),
    ]
