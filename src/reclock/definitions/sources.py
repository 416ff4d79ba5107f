"""What a source reads, and how its records are written: values, as CREATE SOURCE says them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId
from reclock.algebra.relations import BIGINT, BOOLEAN, INTEGER, TEXT, TIME_COLUMN, Column, RelationDesc, ScalarType
from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.definitions.connections import Connection

PLACE_COLUMN = "place"
"""Which digit of a wide increment a row of a remap collection is (``reclock.reclocking.digits``)."""


@dataclass(frozen=True, slots=True)
class Reclocking:
    """What the bindings of a source type look like: its ``partition`` (none if there is but one), what its progress relation calls
    that and the ``offset``, and the columns kept beside the offset as ``evidence``, if any is (see docs/decisions/0003).

    Offsets that 64 bits cannot hold (``is_wide``) are text in relations, and several rows a binding (see docs/decisions/0022).
    """

    partition: tuple[Column, ...]
    offset: str
    progress: tuple[str, ...]
    evidence: tuple[Column, ...] | None = None
    is_wide: bool = False
    is_shared: bool = False
    """Whether sources that are made later may be guests of one: their relations are outputs of it that come late."""
    unit: int = 1
    """How many offsets one of the upstream's own unit is, in which progress is shown."""

    @property
    def is_sparse(self) -> bool:
        """Whether most offsets hold nothing: sequence numbers, moments."""
        return self.is_wide or self.unit > 1

    @property
    def remap_desc(self) -> RelationDesc:
        """The remap collection: the diff of a partition is by how many offsets it advanced; of wide ones, each of its digits."""
        return RelationDesc((*self.partition, Column(PLACE_COLUMN, INTEGER, is_nullable=False)) if self.is_wide else self.partition)

    @property
    def evidence_desc(self) -> RelationDesc | None:
        """The evidence: one row a partition, what was known of it when it was bound up to its offset."""
        if self.evidence is None:
            return None
        names = tuple(column.name for column in self.partition)
        return RelationDesc((*self.partition, Column(self.offset, self._offset_type, is_nullable=False), *self.evidence), key=names)

    @property
    def progress_desc(self) -> RelationDesc:
        partition = tuple(
            Column(name, column_type.type, False) for name, column_type in zip(self.progress, self.partition, strict=False)
        )
        columns = (Column(TIME_COLUMN, BIGINT, False), *partition, Column(self.progress[-1], self._offset_type, False))
        return RelationDesc(columns, key=self.progress[:-1] or None)

    @property
    def _offset_type(self) -> ScalarType:
        return TEXT if self.is_wide else BIGINT

    def shown(self, offset: int) -> int | str:
        """An offset as relations hold it; ``int`` of it is the offset again."""
        return str(offset) if self.is_wide else offset


def frontiers_desc(remap: RelationDesc) -> RelationDesc:
    """What the bindings of a remap collection add up to: of each partition the time of its last binding, and its frontier.

    A progress relation is a view over this, with names of its own.
    """
    is_wide = PLACE_COLUMN in remap.names
    partition = tuple(column for column in remap.columns if column.name != PLACE_COLUMN)
    frontier = Column("frontier", TEXT if is_wide else BIGINT, is_nullable=False)
    return RelationDesc((Column("bound_at", BIGINT, is_nullable=False), *partition, frontier))


COMPRESSIONS = ("AUTO", "GZIP", "NONE")
"""How objects may be compressed: those called ``.gz``, all, none."""


@dataclass(frozen=True, slots=True)
class ObjectsConnector:
    """The objects of ``bucket`` whose keys match ``pattern`` (see ``reclock.connectors.objects.patterns``), compressed or not (see
    ``reclock.connectors.objects.compression``).

    The bucket is where the ``connection`` leads, or the environment's; ``queue``, if there is one, is told of what is new in it
    (see ``reclock.connectors.objects.notifications``).
    """

    bucket: str
    pattern: str
    compression: str = "AUTO"
    connection: Connection | None = None
    queue: str = ""

    is_monotonic: ClassVar[bool] = True
    lacks_history: ClassVar[str] = ""
    type_name: ClassVar[str] = "s3"
    updates_per_offset: ClassVar[int] = 1
    reclocking: ClassVar[Reclocking] = Reclocking(
        partition=(Column("object_key", TEXT, is_nullable=False),),
        offset="length",
        progress=("key", "byte_offset"),
        evidence=(Column("crc32", BIGINT, is_nullable=False), Column("version", TEXT, is_nullable=False)),
    )


@dataclass(frozen=True, slots=True)
class LoadGenerator:
    """Rows from nowhere: ``kind`` is ``COUNTER``, ``AUCTION`` or ``TPCH``, and makes something every ``tick_interval_ms``, or
    once if that is 0.

    A counter keeps its last ``max_cardinality`` numbers, if that is given. ``scale_factor`` is that of TPCH.
    """

    kind: str
    tick_interval_ms: int = 1000
    max_cardinality: int | None = None
    scale_factor: float = 0.01

    lacks_history: ClassVar[str] = ""
    type_name: ClassVar[str] = "load-generator"
    reclocking: ClassVar[Reclocking] = Reclocking(partition=(), offset="offset", progress=("offset",))

    @property
    def is_monotonic(self) -> bool:
        return self.max_cardinality is None and not (self.kind == "TPCH" and self.tick_interval_ms)

    @property
    def updates_per_offset(self) -> int:
        if self.kind == "TPCH":
            return int(14_000_000 * self.scale_factor) + 1000  # all that there is comes with the first
        return 2 if self.kind == "COUNTER" else 64


@dataclass(frozen=True, slots=True)
class KafkaConnector:
    """The messages of ``topic``, from ``start_offsets`` by partition (else 0) or the first at ``start_timestamp`` on; up to
    ``end_offsets``, exclusive, if it has any: then partitions without one are not read. An ``end_timestamp`` becomes offsets
    before the source is made.

    ``include`` names metadata and the columns they become, after those of the value; the key has ``key_format``. With ``envelope``
    ``UPSERT`` a message replaces the row of its key, and one without a value deletes it; with ``DEBEZIUM`` it says which row goes
    and which comes.
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
    """The topics of tables, ``<prefix>.<schema>.<table>``, with the ``transaction_topic`` of their connector."""

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
        """The addresses, as they are spelled in the connection."""
        return frozenset(str(dict(self.connection.options)["BROKER"]).replace(" ", "").split(","))


@dataclass(frozen=True, slots=True)
class KinesisConnector:
    """The records of ``stream`` in ``region``, at ``endpoint`` if it is not that of AWS, read with the credentials of the
    ``connection``, if there is one.

    They are read from the oldest on (``start`` is ``TRIM HORIZON``), from when the source was made (``LATEST``), from the moment
    ``start_timestamp`` in milliseconds (``TIMESTAMP``), or those of the shards
    in ``start_numbers`` ``AT`` or ``AFTER`` a sequence number.
    ``include`` names metadata and the columns they become, after those of the record.
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
    """What is published in ``channel``, with the ``subscribe_key``; ``origin`` answers in place of PubNub, if it is given."""

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
        evidence=(Column("newest", BIGINT, is_nullable=False), Column("heard_at", BIGINT, is_nullable=False)),
        unit=100,
    )


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table as it was found in a publication, so that no other one of its ``name`` is taken for it (by ``oid``), and it is
    noticed if it was taken out and put back: then none of its ``entries`` there is left, of which there may be several, such as
    its own and its schema's."""

    name: str
    oid: int
    entries: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PostgresConnector:
    """The tables of ``publication`` at ``connection`` (which may be libpq's text, without a password), read through the slot."""

    connection: Connection | str
    publication: str
    slot: str
    known: tuple[PublishedTable, ...] = ()

    is_monotonic: ClassVar[bool] = False
    lacks_history: ClassVar[str] = "a replication slot tells nothing of what was before it was made"
    cannot_skip: ClassVar[str] = "a transaction is published whole; a table with a value that does not fit fails alone"
    type_name: ClassVar[str] = "postgres"
    updates_per_offset: ClassVar[int] = 2  # of a change: the reading counts changes, which LSNs say nothing about
    reclocking: ClassVar[Reclocking] = Reclocking(
        partition=(), offset="lsn", progress=("lsn",), evidence=(Column("system_id", TEXT, is_nullable=False),)
    )


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """Comma-separated values (RFC 4180). A quote, doubled inside, may enclose delimiters and newlines.

    With ``has_header`` the first record of every object names the declared columns, each once, in any order. An unquoted field
    equal to ``null_text`` is NULL. ``delimiter`` and ``quote`` are one ASCII character each; without ``quote`` none is special.
    """

    has_header: bool = True
    delimiter: str = ","
    null_text: str = ""
    quote: str | None = '"'


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """One JSON object a line. A field that is missing is NULL, one that is not declared is ignored."""


@dataclass(frozen=True, slots=True)
class TextFormat:
    """A message, or a line of an object, is one text, UTF-8."""


@dataclass(frozen=True, slots=True)
class BytesFormat:
    """A message, or a line of an object, as it is."""


@dataclass(frozen=True, slots=True)
class AvroFormat:
    """A message in Avro whose writer's schema the registry has; ``schema`` is the reader's, which the source was made with; without
    one a message is read as it was written.

    A value is a record; a ``is_document`` is any type, and becomes one text. ``client`` is how the registry is reached, once it is.
    """

    registry: Connection
    schema: str
    is_document: bool = False
    client: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class ProtobufFormat:
    """A ``message`` of Protobuf by the ``schema`` that the source was made with (see ``reclock.formats.protobuf_schemas``). With a
    ``registry`` it stands behind the id of its writer's schema, which the registry has; else alone.

    A value is a record; a ``is_document`` becomes one text. ``client`` is how the registry is reached, once it is.
    """

    registry: Connection | None
    schema: str
    message: str
    is_document: bool = False
    client: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


SchemaFormat = AvroFormat | ProtobufFormat
"""Formats whose columns are those of a schema, which is empty until it is known."""

RecordFormat = CsvFormat | JsonFormat
"""Formats of records with fields."""

LineFormat = RecordFormat | TextFormat | BytesFormat
"""Formats of what lines of objects hold."""

Format = RecordFormat | TextFormat | BytesFormat | SchemaFormat


Upstream = (
    ObjectsConnector | LoadGenerator | KafkaConnector | DebeziumConnector | KinesisConnector | PostgresConnector | PubNubConnector
)
"""What a source reads. Each has a ``type_name`` and its ``reclocking``, and says whether its rows are only inserted
(``is_monotonic``), how many updates one offset may yield, and why nobody can tell what it had at an earlier time, if that is so
(``lacks_history``); ``cannot_skip``, if it has one, says why no offsets can be given up. Rows of an output whose desc has a key
replace each other by it.
"""


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """A source, resolved: its id is its frontier group, ``name`` is for people, ``desc`` is the relation it fills.

    One with ``subsources`` fills theirs instead, by their names upstream.
    """

    id: GlobalId
    name: str
    connector: Upstream
    format: Format | None
    desc: RelationDesc
    subsources: Mapping[str, RelationDesc] = field(default_factory=dict)
    created_at: Timestamp = MINIMUM
    start: Timestamp | None = None
    """Where its history begins, if that is given by a backfill."""
    guests: tuple[GlobalId, ...] = ()
    """The sources that are bound with its transactions."""

    @property
    def all_ids(self) -> tuple[GlobalId, ...]:
        """Its own, and its guests': they do well or badly together."""
        return (self.id, *self.guests)

    @property
    def outputs(self) -> Mapping[str, RelationDesc]:
        """Every relation it fills, by its name upstream; ``""`` is its own."""
        return self.subsources or {"": self.desc}

    def output(self, name: str) -> StorageCollectionId:
        """The collection of the relation that it fills under that name."""
        return StorageCollectionId(self.id, CollectionType.RECLOCKED, name)


def collections_of(source: SourceSpec) -> list[tuple[StorageCollectionId, RelationDesc, bool]]:
    """The collections that a source has: id, desc and whether it is monotonic. They form one frontier group, ``source.id``."""
    reclocking = source.connector.reclocking
    outputs = [(source.output(name), desc, source.connector.is_monotonic) for name, desc in source.outputs.items()]
    bindings = (StorageCollectionId(source.id, CollectionType.REMAPPING), reclocking.remap_desc, False)
    if reclocking.evidence_desc is None:
        return [*outputs, bindings]
    return [*outputs, bindings, (StorageCollectionId(source.id, CollectionType.EVIDENCE), reclocking.evidence_desc, False)]
